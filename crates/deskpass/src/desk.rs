//! The desk as the HTTP floor sees it: the flows below, and what this deployment is.

use std::num::NonZeroUsize;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use deskpass_auth::{Auth, BindPolicy, Error, Policy};
use deskpass_core::{Clock, CorpId, Entropy, InvalidId, Networks, Timestamp};
use deskpass_store::{Mode, OpenError, Store};

use crate::config::{BindMode, Settings};
use crate::http::Readiness;
use crate::telemetry::Metrics;

/// Everything a handler can ask for. Clones are the same desk.
#[derive(Clone, Debug)]
pub struct Desk(Arc<Inner>);

/// What [`Desk`] shares.
#[derive(Debug)]
pub struct Inner {
    /// The flows.
    pub auth: Auth,
    /// The settings it was opened with.
    pub settings: Settings,
    /// Whose word about addresses counts.
    pub(crate) trusted: Networks,
    /// Who may read the operators' routes.
    pub(crate) operators: Networks,
    pub(crate) metrics: Metrics,
    pub(crate) readiness: Readiness,
    draining: AtomicBool,
}

/// Why the desk could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The store could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The store was opened but does not work.
    #[error("the store does not work: {0}")]
    Store(#[from] Error),
    /// The home corporation's id is not one.
    #[error("platform.corp_id {0}")]
    CorpId(#[from] InvalidId),
    /// The network says no.
    #[error("cannot listen on {address}: {source}; choose another address with --listen")]
    Listen {
        /// Where it was to listen.
        address: std::net::SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
}

impl Desk {
    /// Opens the desk with the machine's clock, which never starts before the newest recorded event.
    ///
    /// # Errors
    /// When the store cannot be opened.
    pub async fn open(settings: Settings) -> Result<Self, StartError> {
        let wall = Clock::steady(Timestamp::from_millis(0));
        let store = open_store(&settings, &wall)?;
        let newest = store.newest_moment().await.map_err(Error::from)?.unwrap_or(wall.now());
        let ahead = newest.since(wall.now());
        if ahead.as_secs() > 60 {
            tracing::warn!(
                seconds = ahead.as_secs(),
                "the machine's clock is behind the newest record; going on from that"
            );
        }
        Self::with(settings, store, Clock::steady(newest)).await
    }

    /// Opens the desk with another clock.
    ///
    /// # Errors
    /// When the store cannot be opened.
    pub async fn open_at(settings: Settings, clock: Clock) -> Result<Self, StartError> {
        let store = open_store(&settings, &clock)?;
        Self::with(settings, store, clock).await
    }

    async fn with(settings: Settings, store: Store, clock: Clock) -> Result<Self, StartError> {
        let auth = Auth { store, clock, entropy: Entropy::system(), policy: policy(&settings)? };
        if settings.development {
            auth.seed_dev_users().await?;
        }
        Ok(Self(Arc::new(Inner {
            trusted: settings.trusted_proxies.iter().copied().collect(),
            operators: settings.server.operator_networks.iter().copied().collect(),
            metrics: Metrics::new(),
            readiness: Readiness::default(),
            draining: AtomicBool::new(false),
            auth,
            settings,
        })))
    }

    /// Tells readiness that this process is about to go.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::SeqCst)
    }
}

impl Deref for Desk {
    type Target = Inner;
    fn deref(&self) -> &Inner {
        &self.0
    }
}

fn open_store(settings: &Settings, clock: &Clock) -> Result<Store, OpenError> {
    let mode = if settings.development { Mode::Development } else { Mode::Production };
    Store::open(&settings.data, mode, settings.session.cache_entries, clock.now())
}

fn policy(settings: &Settings) -> Result<Policy, InvalidId> {
    let bind = match settings.bind.mode {
        BindMode::Open if settings.development => BindPolicy::Open,
        BindMode::Open => BindPolicy::OpenTo(settings.bind.networks.iter().copied().collect()),
        BindMode::Proof => BindPolicy::Proof,
        BindMode::Off => BindPolicy::Off,
    };
    Ok(Policy {
        home: CorpId::parse(&settings.platform.corp_id)?,
        lifetime: settings.session.lifetime,
        max_per_employee: settings.session.max_per_employee.map(NonZeroUsize::get),
        bind,
    })
}
