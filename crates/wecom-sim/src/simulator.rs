//! The simulator: one world, what has happened in it, and which way a request goes.

use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use deskpass_core::{Clock, Entropy, HostNames};
use http::{Request, Response};

use crate::SimulatorConfig;
use crate::api::{self, Api};
use crate::authorize::{self, AuthorizeLink};
use crate::calls::Calls;
use crate::codes::Codes;
use crate::control::{self, Control};
use crate::faults::Faults;
use crate::guard;
use crate::inbox::Inbox;
use crate::page;
use crate::reply;
use crate::switches::Switches;
use crate::tokens::IssuedTokens;

/// No body of a request is larger.
pub(crate) const MAX_BODY_BYTES: usize = 64 * 1024;

/// What becomes of a request.
#[derive(Debug)]
pub enum SimulatorReply {
    /// An answer.
    Response(Response<Bytes>),
    /// None: the connection is to be closed without a word.
    HangUp,
}

/// The simulated platform. Clones are the same world.
#[derive(Clone)]
pub struct Simulator(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) config: SimulatorConfig,
    pub(crate) clock: Clock,
    pub(crate) entropy: Entropy,
    state: Mutex<SimulatorState>,
    /// The hosts that are answered to, where nobody else sees to that.
    hosts: Option<HostNames>,
}

/// What has happened so far.
#[derive(Debug, Default)]
pub(crate) struct SimulatorState {
    pub(crate) tokens: IssuedTokens,
    pub(crate) codes: Codes,
    pub(crate) inbox: Inbox,
    pub(crate) faults: Faults,
    pub(crate) switches: Switches,
    pub(crate) calls: Calls,
}

impl Inner {
    pub(crate) fn state(&self) -> MutexGuard<'_, SimulatorState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Simulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What has happened holds codes and tokens.
        f.debug_struct("Simulator").field("config", &self.0.config).finish_non_exhaustive()
    }
}

impl Simulator {
    /// A fresh world in which nothing has happened yet.
    #[must_use]
    pub fn new(config: SimulatorConfig, clock: Clock, entropy: Entropy) -> Self {
        let base = config.base.trim_end_matches('/').to_owned();
        let config = SimulatorConfig { base, ..config };
        Self(Arc::new(Inner { config, clock, entropy, state: Mutex::default(), hosts: None }))
    }

    /// The same world, which answers only to these hosts, and to pages of other sites only where people sign in. Without
    /// it, that is left to the service that the platform is a part of.
    #[must_use]
    pub fn restricted_to_hosts(self, hosts: HostNames) -> Self {
        let Inner { config, clock, entropy, .. } = &*self.0;
        let (config, clock, entropy) = (config.clone(), clock.clone(), *entropy);
        Self(Arc::new(Inner { config, clock, entropy, state: Mutex::default(), hosts: Some(hosts) }))
    }

    /// Answers one request; its path may still begin with the base.
    pub async fn handle(&self, peer: IpAddr, request: Request<Bytes>) -> SimulatorReply {
        let refusal = self.0.hosts.as_ref().and_then(|hosts| guard::refuse(hosts, &request));
        if let Some(refusal) = refusal {
            return SimulatorReply::Response(refusal);
        }
        let Some(route) = Route::for_path(&self.0.config.base, request.uri().path()) else {
            return SimulatorReply::Response(reply::not_found());
        };
        if !route.methods().contains(&request.method().as_str()) {
            return SimulatorReply::Response(reply::wrong_method(route.methods()));
        }
        if request.body().len() > MAX_BODY_BYTES {
            return SimulatorReply::Response(reply::too_large());
        }
        SimulatorReply::Response(match route {
            Route::Api(api) => return api::handle(&self.0, api, peer, &request).await,
            Route::Index => page::index(&self.0.config, request.headers()),
            Route::Authorize(link) => authorize::handle(&self.0, link, &request),
            Route::Control(control) => control::handle(&mut self.0.state(), control, &request),
        })
    }
}

/// Where a request goes.
#[derive(Clone, Copy)]
enum Route {
    Index,
    Authorize(AuthorizeLink),
    Api(Api),
    Control(Control),
}

impl Route {
    fn for_path(base: &str, path: &str) -> Option<Self> {
        // Also without the base, as at the real hosts.
        let path = path.strip_prefix(base).unwrap_or(path);
        if path.is_empty() {
            return Some(Self::Index);
        }
        match path.strip_prefix('/')? {
            "" => Some(Self::Index),
            "connect/oauth2/authorize" => Some(Self::Authorize(AuthorizeLink::InClient)),
            "wwlogin/sso/login" => Some(Self::Authorize(AuthorizeLink::Desktop)),
            path => match path.strip_prefix("cgi-bin/") {
                Some(name) => Api::from_name(name).map(Self::Api),
                None => Control::from_name(path).map(Self::Control),
            },
        }
    }

    fn methods(self) -> &'static [&'static str] {
        match self {
            Self::Index | Self::Authorize(_) => &["GET"],
            Self::Api(api) => api.methods(),
            Self::Control(control) => control.methods(),
        }
    }
}
