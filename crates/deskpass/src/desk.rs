//! The desk as the HTTP floor sees it: the flows below, and what this deployment is.

pub(crate) mod clock;
pub(crate) mod nodes;
pub(crate) mod platform;
mod vault;

use std::num::NonZeroUsize;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use deskpass_auth::{AgentPolicy, AnonymousRefusals, Auth, BindPolicy, Error, Fallback, Locker, Policy, Sockets};
use deskpass_core::{Clock, CorpId, Entropy, InvalidId, MachineClock, Networks, Role, Timestamp};
use deskpass_store::{ChainKey, OpenError, Store, StoreError};
use deskpass_wecom::SettingsError;
use deskpass_wecom_sim::Simulator;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use crate::config::{BindMode, DefaultRole, PasswordFallback, Settings};
use crate::http::Readiness;
use crate::tally::Tally;
use crate::telemetry::Metrics;
use crate::untrusted::UntrustedProxies;

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
    /// The platform in a box; development mode has one.
    pub(crate) simulator: Option<Simulator>,
    /// The file by which the platform verifies the domain: its name and what is in it.
    pub(crate) verify_file: Option<(String, String)>,
    /// Proxies that the settings do not list.
    pub(crate) untrusted: UntrustedProxies,
    /// Those who watch a sign-in as it happens.
    pub(crate) watching: Tally,
    /// Those who hold a socket.
    pub(crate) connected: Tally,
    draining: watch::Sender<bool>,
    /// Ends with the desk.
    _in_step: Option<JoinSet<()>>,
}

/// Why the desk could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The store could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// What nodes share cannot be used as the settings say.
    #[error("shared.url cannot be used: {0}")]
    Shared(StoreError),
    /// The store was opened but does not work.
    #[error("the store does not work: {0}")]
    Store(#[from] Error),
    /// The home corporation's id is not one.
    #[error("platform.corp_id {0}")]
    CorpId(#[from] InvalidId),
    /// The platform cannot be talked to as the settings say.
    #[error("the platform's settings do not work: {0}")]
    Platform(#[from] SettingsError),
    /// The platform's verification file cannot be used.
    #[error("platform.verify_file {}: {why}", path.display())]
    VerifyFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: VerifyFileProblem,
    },
    /// The clock of this machine is wrong, or that of the database.
    #[error(
        "this machine's clock and the database's are {0} s apart, and sessions would begin and end at the wrong time; have \
         both set by NTP"
    )]
    Clock(u64),
    /// The key is not the one that the data was written with.
    #[error(
        "encryption_key is not the one that the data in {0} was written with: put that key back into the settings. If it is lost for \
         good, `deskpass audit restart --key-is-lost` goes on with the new one"
    )]
    Key(String),
    /// The system says no.
    #[error("cannot start the threads that hash passwords: {0}; raise the limit of threads for this user")]
    Threads(std::io::Error),
    /// The network says no.
    #[error("cannot listen on {address}: {source}; choose another address with --listen")]
    Listen {
        /// Where it was to listen.
        address: std::net::SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
}

/// What is wrong with the platform's verification file.
#[derive(Debug, thiserror::Error)]
pub enum VerifyFileProblem {
    /// It is called something else.
    #[error("its name must be WW_verify_….txt, as the platform gave it")]
    Name,
    /// It is no such file.
    #[error("it is too large to be such a file")]
    TooLarge,
    /// The file system says no.
    #[error("it cannot be read: {0}")]
    Unreadable(#[from] std::io::Error),
}

/// How far a node's clock may be from the database's.
pub(crate) const CLOCKS_APART: Duration = Duration::from_secs(30);

/// How far two moments are apart.
pub(crate) fn apart(one: Timestamp, other: Timestamp) -> Duration {
    one.since(other).max(other.since(one))
}

impl Desk {
    /// Opens the desk with the machine's clock, as far as that can be trusted: it never starts before the newest record, and
    /// not more than a day after it unless an independent clock confirms that.
    ///
    /// # Errors
    /// When the store cannot be opened.
    pub async fn open(settings: Settings) -> Result<Self, StartError> {
        let machine = MachineClock::real();
        let store = nodes::open_store(&settings, machine.wall()).await?;
        let mut record = store.newest_moment().await.map_err(Error::from)?;
        if let Some(common) = store.common_time().await.map_err(Error::from)? {
            let apart = apart(machine.wall(), common.at);
            if apart > CLOCKS_APART {
                return Err(StartError::Clock(apart.as_secs()));
            }
            if common.elsewhere {
                // Another node's clock may have been wrong when it wrote.
                record = record.map(|record| record.min(common.at));
            }
        }
        if settings.development {
            let believed = record.map(|record| clock::believed_in_development(machine.wall(), record));
            if record.zip(believed).is_some_and(|(record, believed)| believed.since(record) > clock::DAY) {
                tracing::info!("off for more than a day; development mode believes the machine's clock");
            }
            record = believed;
        }
        let desk = Self::with(settings, store, Clock::after_record(machine, record)).await?;
        if record.is_none() {
            desk.auth.store.note_time(desk.auth.clock.now()).await.map_err(Error::from)?;
        }
        desk.review_clock().await;
        Ok(desk)
    }

    /// Opens the desk with another clock.
    ///
    /// # Errors
    /// When the store cannot be opened.
    pub async fn open_at(settings: Settings, clock: Clock) -> Result<Self, StartError> {
        let store = nodes::open_store(&settings, clock.now()).await?;
        Self::with(settings, store, clock).await
    }

    async fn with(settings: Settings, store: Store, clock: Clock) -> Result<Self, StartError> {
        let (policy, entropy) = (policy(&settings)?, Entropy::system());
        let shared = Arc::new(nodes::open_shared(&settings).map_err(StartError::Shared)?);
        let in_step = shared.bus().map(|bus| store.keep_in_step(bus));
        let node = entropy.bytes().map_err(Error::from)?;
        let vault = vault::Common::new(Arc::clone(&shared), clock.clone(), &settings, node);
        let platform = platform::client_with(&settings, clock.clone(), Arc::new(vault))?;
        let simulator = settings.development.then(|| platform::simulator(&settings, clock.clone(), entropy));
        let verify_file = platform::verify_file(&settings)?;
        let locker = Locker::new(&settings.sealing_key(), entropy).map_err(StartError::Threads)?;
        let chain = ChainKey::new(&settings.sealing_key());
        let (anonymous, noticed) = (AnonymousRefusals::default(), Notify::new());
        let sockets = Arc::<Sockets>::default();
        let (concerned, order) = (Arc::clone(&sockets), Arc::clone(&shared));
        store.listen(move |touched| concerned.doubt(touched, order.mail.newest()));
        let auth = Auth { store, shared, platform, clock, entropy, locker, chain, anonymous, noticed, sockets, policy };
        if settings.development {
            auth.seed_dev_users().await?;
        }
        Ok(Self(Arc::new(Inner {
            trusted: settings.trusted_proxies.iter().copied().collect(),
            operators: settings.server.operator_networks.iter().copied().collect(),
            metrics: Metrics::new(),
            readiness: Readiness::default(),
            simulator,
            verify_file,
            untrusted: UntrustedProxies::default(),
            // Never so many that nobody else can connect; whoever is one too many asks now and then instead.
            watching: Tally::new(settings.server.max_connections / 4, settings.server.max_connections_per_address),
            connected: Tally::new(settings.server.max_connections / 2, settings.sockets.max_per_address),
            draining: watch::Sender::new(false),
            _in_step: in_step,
            auth,
            settings,
        })))
    }

    /// What is written with another key than before cannot be verified, so in production nothing is. In development mode the server
    /// tells of it and goes on.
    ///
    /// # Errors
    /// When the key is another one, or the store fails.
    pub(crate) async fn expect_key(&self) -> Result<(), StartError> {
        if self.settings.development || self.auth.knows_key().await? {
            return Ok(());
        }
        Err(StartError::Key(self.settings.place()))
    }

    /// What the person who asks and the log have in common.
    pub(crate) fn reference(&self) -> String {
        format!("{:08x}", self.auth.entropy.bytes::<4>().map_or(0, u32::from_be_bytes))
    }

    /// Tells readiness that this process is about to go.
    pub(crate) fn drain(&self) {
        self.draining.send_replace(true);
    }

    pub(crate) fn is_draining(&self) -> bool {
        *self.draining.borrow()
    }

    /// Completes when this process is about to go: what waits for something to happen stops waiting.
    pub(crate) fn drained(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut draining = self.draining.subscribe();
        async move { drop(draining.wait_for(|draining| *draining).await) }
    }
}

impl Deref for Desk {
    type Target = Inner;
    fn deref(&self) -> &Inner {
        &self.0
    }
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
        default_role: match settings.default_role {
            DefaultRole::User => Some(Role::User),
            DefaultRole::Agent => Some(Role::Agent),
            DefaultRole::Supervisor => Some(Role::Supervisor),
            DefaultRole::Security => Some(Role::Security),
            DefaultRole::None => None,
        },
        bind,
        matrix: settings.access.matrix.clone(),
        names_at_once: settings.development,
        agents: AgentPolicy {
            fallback: match settings.agents.password_fallback {
                PasswordFallback::Always => Fallback::Always,
                PasswordFallback::Outage => Fallback::Outage,
                PasswordFallback::Off => Fallback::Off,
            },
            trusting: settings.development,
        },
        log_retention: settings.audit.retention,
        sockets_per_employee: settings.sockets.max_per_employee,
    })
}
