//! The service that the HTTP layer uses: the flows of `auth`, and the settings and state of this deployment.

pub(crate) mod clock;
pub(crate) mod current;
pub(crate) mod disk_space;
mod draining;
mod flows;
pub(crate) mod installation;
pub(crate) mod logout_client;
pub(crate) mod metrics;
pub(crate) mod own_pages;
pub(crate) mod platform;
mod policy;
pub(crate) mod readiness;
mod reload;
pub(crate) mod reload_status;
pub(crate) mod reply_backend;
pub(crate) mod resolver;
pub(crate) mod storage;
pub(crate) mod sync_runs;
mod token_cache;

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use deskpass_auth::{Auth, Error, KeyVerdict};
use deskpass_core::{Clock, Digest, Entropy, HostNames, InvalidId, MAX_CLOCK_SKEW, MachineClock, Networks, Reference};
use deskpass_platform::SettingsError;
use deskpass_simulator::Simulator;
use deskpass_store::{OpenError, Store, StoreError};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::app::clock::clock_difference;
use crate::app::draining::Draining;
use crate::app::installation::{NewData, OtherPlatform};
use crate::app::own_pages::{OwnPages, OwnPagesProblem};
use crate::app::platform::VerifyFileProblem;
use crate::app::readiness::ReadinessCache;
use crate::app::reload::{look, maximum_held_refusals, maximum_sockets, maximum_streams};
use crate::app::reload_status::ReloadStatus;
use crate::app::reply_backend::ReplyBackend;
use crate::app::sync_runs::SyncRuns;
use crate::body_memory::all_blocks;
use crate::client_limiter::ClientLimiter;
use crate::config::Settings;
use crate::failure_log::FailureLog;
use crate::server_tls::{ServerTls, TlsError};
use crate::site::{Brand, LogoError, PageSwitches, Site};
use crate::telemetry::Metrics;
use crate::unlisted_hosts::UnlistedHosts;
use crate::untrusted_proxies::UntrustedProxies;

/// The state that every handler has access to. Clones share it.
#[derive(Clone, Debug)]
pub struct App(Arc<AppInner>);

/// The shared state of [`App`].
#[derive(Debug)]
pub struct AppInner {
    /// The flows.
    pub auth: Auth,
    /// The settings of the service.
    pub settings: Settings,
    /// The proxies whose `X-Forwarded-For` is trusted.
    pub(crate) trusted: Networks,
    /// The host names that the service answers under.
    pub(crate) hosts: HostNames,
    /// The networks that may read the operators' routes.
    pub(crate) operators: Networks,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) readiness: ReadinessCache,
    /// The simulated platform, in development mode.
    pub(crate) simulator: Option<Simulator>,
    /// The file with which the platform verifies the domain: its name and its content.
    pub(crate) verify_file: Option<(String, String)>,
    /// The back end that receives the replies of employees.
    pub(crate) reply_backend: Option<Arc<ReplyBackend>>,
    /// The operator's own pages.
    pub(crate) own_pages: OwnPages,
    /// The pages and their assets.
    pub(crate) site: Arc<Site>,
    /// What the pages were made with.
    look: (Brand, PageSwitches),
    /// The certificate, if the service speaks TLS.
    pub(crate) tls: Option<Arc<ServerTls>>,
    /// The result of the last reload.
    pub(crate) reload_status: Arc<ReloadStatus>,
    /// Proxies that send `X-Forwarded-For` but are missing from the settings.
    pub(crate) untrusted_proxies: Arc<UntrustedProxies>,
    /// Host names of requests that are missing from the settings.
    pub(crate) unlisted_hosts: Arc<UnlistedHosts>,
    /// The synchronisation that an operator started.
    pub(crate) sync_runs: Arc<SyncRuns>,
    /// Limits the lines about failed requests.
    pub(crate) failure_log: Arc<FailureLog>,
    /// Limits the event streams of sign-ins, per client.
    pub(crate) event_stream_limiter: ClientLimiter,
    /// Limits the refusals that are held back.
    pub(crate) held_refusal_limiter: ClientLimiter,
    /// Limits the sockets, per client.
    pub(crate) socket_limiter: ClientLimiter,
    /// Limits the memory of bodies in progress, per client.
    pub(crate) body_limiter: ClientLimiter,
    draining: Draining,
    /// The service with the newest settings, once there was a reload.
    successors: OnceLock<watch::Receiver<App>>,
    /// The id of this node, for what it shares with others.
    node: [u8; 32],
    /// Synchronizes the caches of the store with other nodes; stops when the service is dropped.
    cache_sync: Option<Arc<JoinSet<()>>>,
}

/// Why the service could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The store could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The shared store cannot be used with these settings.
    #[error("cannot use shared.url: {0}")]
    Shared(StoreError),
    /// The store was opened but does not work.
    #[error("the store failed: {0}")]
    Store(#[from] Error),
    /// The id of the home corporation is invalid.
    #[error("platform.corp_id {0}")]
    CorpId(#[from] InvalidId),
    /// The settings of the platform are invalid.
    #[error("invalid platform settings: {0}")]
    Platform(#[from] SettingsError),
    /// Replies cannot be sent.
    #[error("messages.reply_url cannot be used: {0}")]
    Replies(SettingsError),
    /// The logo cannot be used.
    #[error("branding.logo {0}")]
    Logo(#[from] LogoError),
    /// The platform's verification file cannot be used.
    #[error("platform.verify_file {}: {why}", path.display())]
    VerifyFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: VerifyFileProblem,
    },
    /// The operator's own pages cannot be served.
    #[error("pages.directory {}: {why}", path.display())]
    OwnPages {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        why: OwnPagesProblem,
    },
    /// The certificate of the server cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The clocks of this machine and of the database are too far apart.
    #[error(
        "this machine's clock and the database's are {0} s apart, so sessions would begin and end at the wrong time; \
         synchronise both with NTP"
    )]
    Clock(u64),
    /// The encryption key is not the key that the data was written with.
    #[error(
        "encryption_key is not the key that the data in {0} was written with: restore that key in the settings; to \
         change it, list the new key and that key, and run `deskpass key rotate`. If it is permanently lost, run \
         `deskpass audit restart --key-is-lost` to continue with the new key"
    )]
    Key(String),
    /// The encryption key was replaced by another one.
    #[error(
        "encryption_key is not the key that the data in {0} was written with, but an older one that `deskpass key \
         rotate` replaced: put the new key into the settings"
    )]
    ReplacedKey(String),
    /// The data belongs to another platform than the settings.
    #[error(transparent)]
    OtherPlatform(#[from] OtherPlatform),
    /// The system does not start more threads.
    #[error("cannot start the threads that hash passwords: {0}; raise the limit of threads for this user")]
    Threads(std::io::Error),
    /// The listening socket of the service manager cannot be used.
    #[error("cannot use the socket that the service manager passed: {0}")]
    PassedSocket(std::io::Error),
    /// The address cannot be bound.
    #[error("cannot listen on {address}: {source}; choose another address with --listen")]
    Listen {
        /// The address to listen on.
        address: std::net::SocketAddr,
        /// The error of the system.
        source: std::io::Error,
    },
}

impl App {
    /// Opens the service with the machine's clock, as far as that can be trusted: the service never starts before the newest
    /// record, and at most a day after it unless an independent clock confirms the time.
    pub async fn open(settings: Settings) -> Result<Self, StartError> {
        Self::open_with(settings, NewData::Claim).await
    }

    /// The same for a command, which does not decide the platform of new data unless it is to create that.
    pub(crate) async fn open_with(settings: Settings, new_data: NewData) -> Result<Self, StartError> {
        let machine = MachineClock::real();
        let store = storage::open_store(&settings, machine.wall()).await?;
        let mut record = store.latest_recorded_time().await.map_err(Error::from)?;
        if let Some(common) = store.database_time().await.map_err(Error::from)? {
            let apart = clock_difference(machine.wall(), common.at);
            if apart > MAX_CLOCK_SKEW {
                return Err(StartError::Clock(apart.as_secs()));
            }
            if common.on_other_machine {
                // The clock of another node may have been wrong when it wrote the record.
                record = record.map(|record| record.min(common.at));
            }
        }
        if settings.development.enabled {
            let start = record.map(|record| clock::development_start_time(machine.wall(), record));
            if record.zip(start).is_some_and(|(record, start)| start.since(record) > clock::DAY) {
                tracing::info!("no recorded time for more than a day: development mode trusts the machine's clock");
            }
            record = start;
        }
        let app = Self::with(settings, store, Clock::after_record(machine, record), new_data).await?;
        if record.is_none() {
            app.auth.store.record_time(app.auth.clock.now()).await.map_err(Error::from)?;
        }
        app.review_clock().await;
        Ok(app)
    }

    /// Opens the service with the given clock.
    pub async fn open_at(settings: Settings, clock: Clock) -> Result<Self, StartError> {
        Self::open_at_with(settings, clock, NewData::Claim).await
    }

    /// The same for a command.
    pub(crate) async fn open_at_with(settings: Settings, clock: Clock, new_data: NewData) -> Result<Self, StartError> {
        let store = storage::open_store(&settings, clock.now()).await?;
        Self::with(settings, store, clock, new_data).await
    }

    async fn with(settings: Settings, store: Store, clock: Clock, new_data: NewData) -> Result<Self, StartError> {
        installation::require_platform(&store, &settings, new_data).await??;
        let entropy = Entropy::system();
        let shared = Arc::new(storage::open_shared(&settings).map_err(StartError::Shared)?);
        let cache_sync = shared.bus().map(|bus| store.sync_with_nodes(bus));
        let node = entropy.bytes().map_err(Error::from)?;
        let token_cache = token_cache::SharedTokenCache::new(Arc::clone(&shared), clock.clone(), &settings, node);
        let platform = platform::messenger(&settings, clock.clone(), Arc::new(token_cache))?;
        let simulator = settings.development.enabled.then(|| platform::simulator(&settings, clock.clone(), entropy));
        let (verify_file, own_pages) = (platform::verify_file(&settings)?, OwnPages::open(&settings)?);
        let reply_backend = ReplyBackend::open(&settings.messages).map_err(StartError::Replies)?.map(Arc::new);
        let tls = ServerTls::open(&settings.server)?.map(Arc::new);
        let (brand, switches) = look(&settings, &*platform)?;
        let (metrics, observer) = metrics::start(&store, &*platform);
        let auth = flows::open(&settings, store, shared, platform, clock, observer).await?;
        if settings.development.enabled {
            auth.seed_dev_users().await?;
        }
        Ok(Self(Arc::new(AppInner {
            trusted: settings.trusted_proxies.iter().copied().collect(),
            hosts: settings.hosts(),
            operators: settings.server.operator_networks.iter().copied().collect(),
            metrics,
            readiness: ReadinessCache::default(),
            simulator,
            verify_file,
            own_pages,
            site: Site::with(&brand, switches),
            look: (brand, switches),
            tls,
            reload_status: Arc::new(ReloadStatus::new(auth.clock.now())),
            reply_backend,
            untrusted_proxies: Arc::default(),
            unlisted_hosts: Arc::default(),
            sync_runs: Arc::default(),
            failure_log: Arc::default(),
            event_stream_limiter: maximum_streams(&settings, &ClientLimiter::default()),
            held_refusal_limiter: maximum_held_refusals(&settings, &ClientLimiter::default()),
            socket_limiter: maximum_sockets(&settings, &ClientLimiter::default()),
            body_limiter: all_blocks(),
            draining: Draining::new(),
            successors: OnceLock::new(),
            node,
            cache_sync: cache_sync.map(Arc::new),
            auth,
            settings,
        })))
    }

    /// The service with the newest settings: what was withdrawn while a body came slowly must not count.
    pub(crate) fn newest(&self) -> Self {
        self.successors.get().map_or_else(|| self.clone(), |newest| newest.borrow().clone())
    }

    /// Follows the reloads from now on, since another service is about to replace this one. It must not keep its successors alive:
    /// a slow request keeps this one.
    pub(crate) fn follow(&self, newest: watch::Receiver<Self>) {
        // There is one reload at a time, and only the running service is replaced.
        let _ = self.successors.set(newest);
    }

    /// Requires the encryption key that the data was written with: records of another key cannot be verified, so in production
    /// the server does not start. In development mode it logs the problem and continues.
    pub(crate) async fn require_encryption_key(&self) -> Result<(), StartError> {
        if self.settings.development.enabled {
            return Ok(());
        }
        match self.auth.verify_encryption_key().await? {
            KeyVerdict::Known => Ok(()),
            KeyVerdict::Replaced => Err(StartError::ReplacedKey(self.settings.data_location())),
            KeyVerdict::Unknown => Err(StartError::Key(self.settings.data_location())),
        }
    }

    /// The reference of a sign-in that returns from the platform with this code. Browsers load the page twice now and then, on
    /// any node: whichever answer they show, it has the reference of the audit row. The key keeps clients from choosing one.
    pub(crate) fn code_reference(&self, code: &str) -> Reference {
        Reference::of(&Digest::of(&[b"deskpass reference", &self.settings.sealing_key(), code.as_bytes()]))
    }

    /// Marks this process as shutting down: readiness reports it, and waiting requests end.
    pub(crate) fn start_draining(&self) {
        self.draining.start();
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.has_started()
    }

    /// Completes when this process starts to shut down, so that waiting requests stop waiting.
    pub(crate) fn draining_started(&self) -> impl Future<Output = ()> + Send + use<> {
        self.draining.started()
    }
}

impl Deref for App {
    type Target = AppInner;
    fn deref(&self) -> &AppInner {
        &self.0
    }
}
