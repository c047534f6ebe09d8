//! The simulator: one world, what has happened in it, and which way a request goes.

use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use deskpass_core::{Clock, Entropy, HostNames};
use http::{Request, Response};

use crate::World;
use crate::api::{self, Api};
use crate::authorize::{self, Link};
use crate::calls::Calls;
use crate::codes::Codes;
use crate::control::{self, Control};
use crate::faults::Faults;
use crate::guard;
use crate::inbox::Inbox;
use crate::page;
use crate::reply;
use crate::switches::Switches;
use crate::tokens::Tokens;

/// No body of a request is larger.
pub(crate) const BODY_BYTES: usize = 64 * 1024;

/// What becomes of a request.
#[derive(Debug)]
pub enum Answer {
    /// An answer.
    Response(Response<Bytes>),
    /// None: the connection is to be closed without a word.
    HangUp,
}

/// The simulated platform. Clones are the same world.
#[derive(Clone)]
pub struct Simulator(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) world: World,
    pub(crate) clock: Clock,
    pub(crate) entropy: Entropy,
    state: Mutex<State>,
    /// The hosts that are answered to, where nobody else sees to that.
    hosts: Option<HostNames>,
}

/// What has happened so far.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) tokens: Tokens,
    pub(crate) codes: Codes,
    pub(crate) inbox: Inbox,
    pub(crate) faults: Faults,
    pub(crate) switches: Switches,
    pub(crate) calls: Calls,
}

impl Inner {
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Simulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What has happened holds codes and tokens.
        f.debug_struct("Simulator").field("world", &self.0.world).finish_non_exhaustive()
    }
}

impl Simulator {
    /// A fresh world in which nothing has happened yet.
    #[must_use]
    pub fn new(world: World, clock: Clock, entropy: Entropy) -> Self {
        let base = world.base.trim_end_matches('/').to_owned();
        let world = World { base, ..world };
        Self(Arc::new(Inner { world, clock, entropy, state: Mutex::default(), hosts: None }))
    }

    /// The same world, which answers only to these hosts, and to pages of other sites only where people sign in. Without
    /// it, that is left to the service that the platform is a part of.
    #[must_use]
    pub fn at_hosts(self, hosts: HostNames) -> Self {
        let Inner { world, clock, entropy, .. } = &*self.0;
        let (world, clock, entropy) = (world.clone(), clock.clone(), *entropy);
        Self(Arc::new(Inner { world, clock, entropy, state: Mutex::default(), hosts: Some(hosts) }))
    }

    /// Answers one request; its path may still begin with the base.
    pub async fn answer(&self, peer: IpAddr, request: Request<Bytes>) -> Answer {
        let refusal = self.0.hosts.as_ref().and_then(|hosts| guard::refuse(hosts, &request));
        if let Some(refusal) = refusal {
            return Answer::Response(refusal);
        }
        let Some(door) = Door::at(&self.0.world.base, request.uri().path()) else {
            return Answer::Response(reply::not_found());
        };
        if !door.methods().contains(&request.method().as_str()) {
            return Answer::Response(reply::wrong_method(door.methods()));
        }
        if request.body().len() > BODY_BYTES {
            return Answer::Response(reply::too_large());
        }
        Answer::Response(match door {
            Door::Api(api) => return api::answer(&self.0, api, peer, &request).await,
            Door::Index => page::index(&self.0.world, request.headers()),
            Door::Authorize(link) => authorize::answer(&self.0, link, &request),
            Door::Control(control) => control::answer(&mut self.0.state(), control, &request),
        })
    }
}

/// Where a request goes.
#[derive(Clone, Copy)]
enum Door {
    Index,
    Authorize(Link),
    Api(Api),
    Control(Control),
}

impl Door {
    fn at(base: &str, path: &str) -> Option<Self> {
        // Also without the base, as at the real hosts.
        let path = path.strip_prefix(base).unwrap_or(path);
        if path.is_empty() {
            return Some(Self::Index);
        }
        match path.strip_prefix('/')? {
            "" => Some(Self::Index),
            "connect/oauth2/authorize" => Some(Self::Authorize(Link::InClient)),
            "wwlogin/sso/login" => Some(Self::Authorize(Link::Desktop)),
            path => match path.strip_prefix("cgi-bin/") {
                Some(name) => Api::named(name).map(Self::Api),
                None => Control::named(path).map(Self::Control),
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
