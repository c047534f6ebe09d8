//! A store with an agent in it, on either database.

use std::sync::atomic::{AtomicUsize, Ordering};

use deskpass_core::{
    ClientAddress, ClientInfo, Digest, EmployeeKey, EncryptionKeys, LeftReason, LoginMethod, LoginSource, Person,
    PlatformVouching, Role, Roles, Session, Timestamp, TotpStep, UserAgent,
};
use deskpass_store::{
    AttemptKind, AuditEvent, ChainKeys, ChangeAuthor, DeviceBinding, Leaving, Location, LogEntry, Mode, NewEmployee,
    NewPassword, NewSession, Notice, NoticeSubject, PartialSessionRecord, PasswordPrecondition, PendingDevice,
    Precondition, SessionLookup, SignInNetwork, Store, UsedTotpStep,
};
use tempfile::TempDir;

use crate::stores;
pub(crate) use crate::stores::on_every_store;

pub(crate) const HOUR: i64 = 3_600_000;
pub(crate) const DAY: i64 = 24 * HOUR;
/// How far the clock of a node may be ahead of the database's, in milliseconds.
pub(crate) const SKEW: i64 = 30_000;

/// The nodes of a service with the agent `agent01`.
pub(crate) struct Fixture {
    nodes: Vec<Store>,
    location: Location,
    _directory: TempDir,
}

impl Fixture {
    pub(crate) async fn embedded() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let location = Location::Embedded(directory.path().join("data"));
        let node = open(location.clone()).await;
        Self { nodes: vec![node], location, _directory: directory }.with_agent().await
    }

    pub(crate) async fn scaled_out() -> Self {
        let location = Location::Postgres(stores::settings(stores::schema().await));
        let nodes = vec![open(location.clone()).await, open(location.clone()).await];
        Self { nodes, location, _directory: tempfile::tempdir().unwrap() }.with_agent().await
    }

    async fn with_agent(self) -> Self {
        self.employ("agent01").await;
        assert!(self.store().add_agent(ChangeAuthor::NoSession, agent01(), Role::Agent, at(0), None).await.unwrap());
        self
    }

    pub(crate) async fn employ(&self, id: &str) {
        self.employ_in("ww", id).await;
    }

    pub(crate) async fn employ_in(&self, corp: &str, id: &str) {
        let person = Person {
            key: EmployeeKey::from_parts(corp, id),
            employee_id: id.to_uppercase(),
            name: format!("Name of {id}"),
            department: String::new(),
            department_id: String::new(),
            avatar: String::new(),
            roles: Roles::NONE.with(Role::User),
            role_ends: Vec::new(),
            disabled: false,
            left: None,
            seen: false,
            unconfirmed: false,
            subject: None,
            email: None,
        };
        assert!(
            self.store()
                .add_employee(ChangeAuthor::NoSession, NewEmployee { person, at: at(0), entry: None })
                .await
                .unwrap()
        );
    }

    /// The location of the data.
    pub(crate) fn location(&self) -> &Location {
        &self.location
    }

    pub(crate) fn store(&self) -> &Store {
        &self.nodes[0]
    }

    /// A node by number, round robin where there are several.
    pub(crate) fn node(&self, number: usize) -> Store {
        self.nodes[number % self.nodes.len()].clone()
    }

    /// Gives `agent01` their first password.
    pub(crate) async fn set_password(&self, hash: &str) {
        assert_eq!(
            self.store()
                .set_password(ChangeAuthor::NoSession, password(hash, PasswordPrecondition::NoPassword, at(0)))
                .await
                .unwrap(),
            Some(0)
        );
    }

    /// Binds a device of `agent01`, at step 10, with these recovery codes.
    pub(crate) async fn bind(&self, sealed: &str, codes: &[Digest]) {
        assert!(
            self.store().begin_device(ChangeAuthor::NoSession, agent01(), pending(sealed, 100), at(0)).await.unwrap()
        );
        assert!(self.store().bind_device(ChangeAuthor::NoSession, binding(sealed, codes)).await.unwrap());
    }

    /// Begins a partial session of `agent01`, whose password has this hash.
    pub(crate) async fn half(&self, name: &str, hash: &str) -> bool {
        let notice = notice(name, NoticeSubject::PasswordUsed);
        self.store().begin_partial_session(half(name), hash.to_owned(), AttemptKind::Password, notice).await.unwrap()
    }

    /// Begins a session of `agent01` without a precondition.
    pub(crate) async fn session(&self, name: &str, method: LoginMethod, default_role: Option<Role>) {
        let new_session = new_session(name, method, default_role, Precondition::None);
        assert_eq!(self.store().begin_session(new_session).await.unwrap(), deskpass_store::BeginOutcome::Begun);
    }

    pub(crate) async fn lives(&self, name: &str) -> bool {
        matches!(self.store().session(&digest(name)).await.unwrap(), SessionLookup::Session(_))
    }
}

async fn open(location: Location) -> Store {
    Store::open_with(location, Mode::Development, 100, at(0), None).await.unwrap()
}

pub(crate) fn agent01() -> EmployeeKey {
    EmployeeKey::from_parts("ww", "agent01")
}

pub(crate) fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

pub(crate) fn digest(name: &str) -> Digest {
    Digest::of(&[name.as_bytes()])
}

pub(crate) fn notice(id: &str, subject: NoticeSubject) -> Notice {
    let (id, employee, address) = (id.to_owned(), agent01(), "192.0.2.1".to_owned());
    Notice { id, employee, subject, address, user_agent: String::new(), at: at(1), about: None, tries: 0 }
}

pub(crate) fn password(hash: &str, precondition: PasswordPrecondition, now: Timestamp) -> NewPassword {
    NewPassword {
        employee: agent01(),
        hash: hash.to_owned(),
        precondition,
        keep: None,
        keep_browser: None,
        at: now,
        deny_until: at(DAY),
        notice: notice(&format!("{hash} is set"), NoticeSubject::PasswordChanged),
        entry: entry(),
    }
}

/// A device that waits to be bound until this time.
pub(crate) fn pending(sealed: &str, until: i64) -> PendingDevice {
    PendingDevice { sealed: sealed.to_owned(), until: at(until), by: None }
}

pub(crate) fn binding(sealed: &str, codes: &[Digest]) -> DeviceBinding {
    DeviceBinding {
        employee: agent01(),
        sealed: sealed.to_owned(),
        step: TotpStep::from_number(10),
        proven: true,
        recovery_codes: codes.to_vec(),
        at: at(50),
        notice: notice(&format!("{sealed} is bound"), NoticeSubject::DeviceBound),
        admin_notices: Vec::new(),
        entry: entry(),
    }
}

pub(crate) fn used(sealed: &str, number: i64) -> UsedTotpStep {
    let (employee, sealed, step) = (agent01(), sealed.to_owned(), TotpStep::from_number(number));
    UsedTotpStep { employee, sealed, step, at: at(60), vouched: false }
}

pub(crate) fn half(name: &str) -> PartialSessionRecord {
    PartialSessionRecord { digest: digest(name), employee: agent01(), expires_at: at(600_000) }
}

pub(crate) fn new_session(
    name: &str,
    method: LoginMethod,
    default_role: Option<Role>,
    precondition: Precondition,
) -> NewSession {
    let session = Session {
        employee: agent01(),
        current_role: Role::User,
        method,
        source: LoginSource::H5,
        vouched: PlatformVouching::None,
        default_role,
        created_at: at(1_000),
        expires_at: at(8 * HOUR),
    };
    let entry = LogEntry { at: session.created_at, method: Some(method), ..entry() };
    let (default_role_from_record, held_roles) = (false, Roles::NONE.with(Role::User));
    let network = SignInNetwork { name: "192.0.2.0/24".to_owned(), notice: None, notify_on_first_sign_in: false };
    let (digest, deny_until) = (digest(name), at(DAY));
    NewSession {
        digest,
        session,
        default_role_from_record,
        held_roles,
        asked_at: None,
        precondition,
        at_most: None,
        deny_until,
        network,
        entry,
    }
}

/// An employee who leaves at this time.
pub(crate) fn leaving(employee: &EmployeeKey, why: LeftReason, now: i64) -> Leaving {
    let (event, about) = (AuditEvent::EmployeeLeft, employee.clone());
    let entry = LogEntry { event, about, at: at(now), ..entry() };
    Leaving { employee: employee.clone(), why, asked_at: None, left_at: at(now), deny_until: at(DAY), entry }
}

/// A unique row for the log.
pub(crate) fn entry() -> LogEntry {
    static ROWS: AtomicUsize = AtomicUsize::new(0);
    let here = [192, 0, 2, 1].into();
    let address = ClientAddress { logged: here, decided: here, peer: here };
    LogEntry {
        id: format!("{:032x}", ROWS.fetch_add(1, Ordering::Relaxed)),
        at: at(0),
        event: AuditEvent::SignIn,
        about: agent01(),
        role: Some(Role::User),
        method: None,
        source: Some(LoginSource::H5),
        visitor: ClientInfo { address, user_agent: UserAgent::default(), reference: None },
        actor: None,
        reason: None,
        detail: String::new(),
        key: ChainKeys::new(&EncryptionKeys::one([7; 32])),
    }
}
