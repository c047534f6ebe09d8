//! The simulator: its configuration, its state, and the routing of requests.

use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use deskpass_core::{Clock, Entropy, HostNames};
use http::Request;

use crate::control::{self, Control};
use crate::events::{self, EventControl};
use crate::language::PageLanguage;
use crate::platforms::{self, PlatformRoute};
use crate::state::{MAX_BODY_BYTES, SimulatorInner, SimulatorReply};
use crate::{SimulatorConfig, guard, page, people, reply};

/// The simulated platform. Clones share the same state.
#[derive(Clone)]
pub struct Simulator(Arc<SimulatorInner>);

impl fmt::Debug for Simulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The state contains codes and tokens.
        f.debug_struct("Simulator").field("config", &self.0.config).finish_non_exhaustive()
    }
}

impl Simulator {
    /// Creates a simulator with an empty state.
    #[must_use]
    pub fn new(config: SimulatorConfig, clock: Clock, entropy: Entropy) -> Self {
        let base = config.base.trim_end_matches('/').to_owned();
        let config = SimulatorConfig { base, ..config };
        Self(Arc::new(SimulatorInner { config, clock, entropy, state: Mutex::default(), hosts: None }))
    }

    /// Generates this many members, so that the directory is as large as that of a real corporation.
    #[must_use]
    pub fn with_people(self, count: u32) -> Self {
        self.0.state().book.set_members(usize::try_from(count).unwrap_or(usize::MAX));
        self
    }

    /// Restricts the simulator to these hosts, and accepts requests from pages of other sites only for sign-in. Without it, the
    /// service that contains the simulator must check them.
    #[must_use]
    pub fn restricted_to_hosts(self, hosts: HostNames) -> Self {
        let SimulatorInner { config, clock, entropy, .. } = &*self.0;
        let (config, clock, entropy) = (config.clone(), clock.clone(), *entropy);
        let state = Mutex::new(std::mem::take(&mut *self.0.state()));
        Self(Arc::new(SimulatorInner { config, clock, entropy, state, hosts: Some(hosts) }))
    }

    /// Handles one request; its path may still begin with the base.
    pub async fn handle(&self, peer: IpAddr, request: Request<Bytes>) -> SimulatorReply {
        let refusal = self.0.hosts.as_ref().and_then(|hosts| guard::refuse(hosts, &request));
        if let Some(refusal) = refusal {
            return SimulatorReply::Response(refusal);
        }
        let config = &self.0.config;
        let Some(route) = RequestTarget::for_path(config, request.uri().path()) else {
            return SimulatorReply::Response(reply::not_found());
        };
        if !route.methods().contains(&request.method().as_str()) {
            return SimulatorReply::Response(reply::wrong_method(route.methods()));
        }
        if request.body().len() > MAX_BODY_BYTES {
            return SimulatorReply::Response(reply::too_large());
        }
        SimulatorReply::Response(match route {
            RequestTarget::Platform(route) => return platforms::handle(&self.0, route, peer, &request).await,
            RequestTarget::Index => {
                let origin = page::origin(request.headers());
                page::index(config, request.headers(), &platforms::examples(config, &origin))
            }
            RequestTarget::Phone => page::phone(&self.0, PageLanguage::of(request.headers()), request.uri()),
            RequestTarget::People => people::all(&self.0, &request),
            RequestTarget::Person(id) => people::one(&self.0, id, &request).await,
            RequestTarget::Events(control) => events::handle(&self.0, control, &request).await,
            RequestTarget::Control(control) => control::handle(config.kind, &mut self.0.state(), control, &request),
        })
    }
}

/// What a request is addressed to.
#[derive(Clone, Copy)]
enum RequestTarget<'a> {
    Index,
    /// The page of a phone.
    Phone,
    People,
    /// The person with this id.
    Person(&'a str),
    Events(EventControl),
    Platform(PlatformRoute),
    Control(Control),
}

impl<'a> RequestTarget<'a> {
    fn for_path(config: &SimulatorConfig, path: &'a str) -> Option<Self> {
        // Also without the base, as on the real hosts.
        let path = path.strip_prefix(config.base.as_str()).unwrap_or(path);
        if path.is_empty() {
            return Some(Self::Index);
        }
        match path.strip_prefix('/')? {
            "" => Some(Self::Index),
            path => match platforms::route(config.kind, path) {
                Some(route) => Some(Self::Platform(route)),
                None => Self::for_tester(path),
            },
        }
    }

    /// What the platform does not have.
    fn for_tester(path: &'a str) -> Option<Self> {
        match path {
            "phone" => Some(Self::Phone),
            "people" => Some(Self::People),
            "events" => Some(Self::Events(EventControl::Log)),
            "events/send" => Some(Self::Events(EventControl::Send)),
            "events/retry" => Some(Self::Events(EventControl::Retry)),
            path => match path.strip_prefix("people/").filter(|id| !id.is_empty()) {
                Some(id) => Some(Self::Person(id)),
                None => Control::from_name(path).map(Self::Control),
            },
        }
    }

    fn methods(self) -> &'static [&'static str] {
        match self {
            Self::Index | Self::Phone => &["GET"],
            Self::People | Self::Person(_) => people::METHODS,
            Self::Events(control) => control.methods(),
            Self::Platform(route) => route.methods(),
            Self::Control(control) => control.methods(),
        }
    }
}
