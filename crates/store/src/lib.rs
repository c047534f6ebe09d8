//! The store: an SQL database for durable data, and a cache for recently read data.
//!
//! Functions are named after what they mean, not after the SQL they run; only this crate accesses the database.

#[macro_use]
mod macros;
#[macro_use]
mod database;
mod access_rules;
mod agents;
mod backup_file;
mod cache;
mod change_author;
mod clock;
mod cursor;
mod data_platform;
mod deny_list;
mod directory;
mod due_time;
mod error;
mod ip_rules;
mod links;
mod locks;
mod login_log;
mod oidc;
mod people;
mod plan_table;
mod platform_directory;
mod query_plans;
mod questions;
mod seal;
mod service_keys;
mod sessions;
mod shared;
mod sign_ins;
mod single_use;
mod statistics;
mod sweep;
mod temporary_admin;
mod tls;

use std::sync::Arc;

use deskpass_core::Timestamp;
use futures_util::FutureExt as _;
use tokio::task::JoinSet;

use crate::cache::{Cache, Freshness};
use crate::database::Database;
use crate::sessions::LastUseBuffer;
use crate::statistics::StatisticsBuffer;

pub use access_rules::{AccessRules, ServiceKey};
pub use agents::{
    Agent, AgentPage, AgentSelection, AttemptKind, Device, DeviceBinding, ListedAgent, NewPassword, Notice,
    NoticeAbout, NoticeSubject, PartialSessionLookup, PartialSessionRecord, PasswordPrecondition, PendingDevice,
    StoredCredentials, UsedTotpStep,
};
pub use backup_file::{BackupFileError, BackupHeader, BackupPassword, KeyDerivation};
pub use cache::{CachedPerson, Invalidation, SessionWithPerson};
pub use change_author::{Actor, ChangeAuthor, ChangeError, Revocation};
pub use clock::{ClockRepair, DatabaseTime, read_latest_recorded_time};
pub use cursor::{Cursor, InvalidCursor};
pub use data_platform::{read_corporations_with_roles, read_data_platform, read_latest_event};
pub use database::{
    BackupError, BackupReport, BackupSettings, CopyError, CopyProgress, CopyReport, DataPlatform, DirectReadError,
    Location, Mode, OpenError, Operation, OperationReport, PlatformMismatch, PostgresSettings, PostgresStatus,
    RestoreError, RestoreReport, RestoreSettings, RestoredSessions, SameKey, SchemaFit, StoreLoad, backup, copy,
    inspect_postgres, newest_version, restart_log, restore,
};
pub use deny_list::EndReason;
pub use directory::{
    ConfirmOutcome, DepartmentFilter, DisableOutcome, DueRole, GrantUntilOutcome, HolderAlarm, HolderOutcome,
    HolderReport, ListedPerson, NewEmployee, PageStart, PeopleCount, PeopleFilter, PeopleOrder, PeoplePage,
    PeopleSelection, RevokeOutcome, RoleOrigin, RuleEvaluation, RuleRolesOutcome, RuleSubject, SetEmailOutcome,
    SetRolesOutcome, SubjectPage, UnconfirmedHolder, read_has_administrator,
};
pub(crate) use error::Result;
pub use error::{Remedy, StoreError, StoreErrorKind};
pub use links::IdentityLink;
pub use login_log::{
    AuditEvent, ChainKeys, InvalidReceipt, KeyCheckState, KeyForgetting, KeyState, KeySwitch, KnownKeys, LogEntry,
    LogFault, LogFaultKind, LogFilter, LogPage, LogRow, LogVerdict, LogVerification, Receipt, VerifyError,
    is_key_of_log, key_check_state, read_key_state, read_log, verify_log,
};
#[doc(hidden)]
pub use login_log::{ChainBuilder, ChainPlace};
pub use oidc::{
    AccessTokenRecord, EndedGrant, GrantClient, GrantOutcome, GrantRecord, KeyCondition, LogoutBacklog, LogoutNotice,
    NewGrant, OidcClient, RefreshOutcome, RefreshRequest, StoredSigningKey, read_oidc_clients,
};
pub use people::{
    Chore, ClaimedEvent, Leaving, LeftOutcome, PendingEvent, ReceivedEvent, Reception, RenameOutcome, RenameStage,
    Renaming,
};
pub use platform_directory::{DirectoryChange, DirectoryTree, KnownDepartment, KnownTagMember, MemberDepartments};
pub use seal::{Seal, SealError};
pub use sessions::{
    BeginOutcome, EndedBatch, EndedByRestore, ListedSession, NewSession, Precondition, RoleLockout, SessionFilter,
    SessionLookup, SessionPage, SessionSelection, SignInNetwork,
};
pub use shared::{
    Bus, CodeClaim, DeliveryCount, DeliveryQuery, EphemeralStore, Expiring, FreshMessages, IncomingMessages, Lease,
    LimitSubject, MessageFeed, MessageLog, OAuthFlow, OpenQuestions, PendingConfirmation, PlatformCode, PlatformToken,
    PointerKind, PostOutcome, RateLimits, RecordWatch, RedisSettings, RedisStatus, RejectedMessage, SharedState,
    SignInPointer, StartPosition, StoredMessage, Subscriber, inspect_redis,
};
pub use sign_ins::{DisownEffects, DisownRequest, ListedSignIn, SignInListLimits};
pub use statistics::{HourlyCounts, SignInStep};
pub use tls::InvalidCaFile;

/// The store of one service. Clones share it.
#[derive(Clone, Debug)]
pub struct Store {
    database: Arc<Database>,
    cache: Arc<Cache>,
    last_uses: Arc<LastUseBuffer>,
    statistics: Arc<StatisticsBuffer>,
}

impl Store {
    /// Opens the store at `location`, creates it if it does not exist, and migrates its tables. A directory is locked for
    /// this process until the store is dropped. The log's marker is made together with its table, and only with the key
    /// of the log's hash chains: so every service passes the key.
    pub async fn open_with(
        location: Location,
        mode: Mode,
        cache_entries: usize,
        now: Timestamp,
        key: Option<ChainKeys>,
    ) -> Result<Self, OpenError> {
        let freshness = match location {
            Location::Embedded(_) => Freshness::permanent(),
            Location::Postgres(_) => Freshness::expired(),
        };
        let cache = Arc::new(Cache::new(cache_entries, freshness));
        let database = Database::open(location, mode, Arc::clone(&cache), now, key).await?;
        Ok(Self { database: Arc::new(database), cache, last_uses: Arc::default(), statistics: Arc::default() })
    }

    /// The version of the tables: [`newest_version`], or a later one that this program can use.
    pub async fn schema_version(&self) -> Result<i64> {
        self.database.read(database::schema_version).await
    }

    /// Notifies other nodes of changes immediately, and listens for their notifications, as long as the returned set is
    /// kept. It only reduces the delay: every node polls for changes anyway.
    #[must_use]
    pub fn sync_with_nodes(&self, bus: &Bus) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        let Some(changed) = self.database.shared().map(|shared| Arc::clone(&shared.changed)) else { return tasks };
        let (sender, receiver, database) = (bus.clone(), bus.clone(), Arc::clone(&self.database));
        let announce = async move {
            loop {
                changed.notified().await;
                sender.nudge();
            }
        };
        let listen = async move {
            loop {
                receiver.nudged().notified().await;
                if let Some(shared) = database.shared() {
                    shared.reader.wake();
                }
            }
        };
        tasks.spawn(announce.boxed());
        tasks.spawn(listen.boxed());
        tasks
    }

    /// Checks whether the store accepts writes now. It writes, so it detects a full disk.
    pub async fn probe(&self, now: Timestamp) -> Result<()> {
        self.database.write(move |tx| database::probe_write(tx, now)).await
    }

    /// Calls `listener` immediately for every change, on any node, that may affect a signed-in user; for changes on this
    /// node before their caller gets the result. There is one listener.
    pub fn listen(&self, listener: impl Fn(Invalidation<'_>) + Send + Sync + 'static) {
        // Only the first call has an effect.
        let _ = self.cache.listener.set(Box::new(listener));
    }

    /// Calls `listener` with a report of each operation of the database. There is one listener.
    pub fn observe_operations(&self, listener: impl Fn(OperationReport) + Send + Sync + 'static) {
        self.database.observer.set(Box::new(listener));
    }

    /// How busy the database is.
    #[must_use]
    pub fn load(&self) -> StoreLoad {
        self.database.load()
    }

    /// Waits until this node has processed all changes that other nodes made before this call.
    pub async fn wait_until_caught_up(&self) {
        if let Some(shared) = self.database.shared() {
            shared.reader.wait_until_caught_up().await;
        }
    }

    /// Whether the cache can be trusted now.
    #[must_use]
    pub fn is_cache_trusted(&self) -> bool {
        self.cache.freshness.is_valid()
    }

    /// The number of cached sessions.
    #[must_use]
    pub fn cached_sessions(&self) -> usize {
        self.cache.sessions.len()
    }
}
