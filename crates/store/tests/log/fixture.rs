//! A store with a log, and direct access to its database for tampering.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use deskpass_core::{
    ClientAddress, ClientInfo, Digest, EmployeeKey, EncryptionKeys, LoginMethod, LoginSource, Person, Reference, Role,
    Roles, Timestamp, UserAgent,
};
use deskpass_store::{
    AuditEvent, ChainKeys, ChangeAuthor, KeySwitch, Location, LogEntry, LogFault, LogFaultKind, LogVerdict,
    LogVerification, Mode, NewEmployee, PostgresSettings, Receipt, Store, VerifyError, verify_log,
};
use rusqlite::types::ValueRef;
use tempfile::TempDir;
use tokio_postgres::{NoTls, SimpleQueryMessage};

use crate::stores;
pub(crate) use crate::stores::on_every_store;

/// A start time whose rows have identifiers well within twelve digits.
pub(crate) const START: i64 = 1_750_000_000_000;
const MIGRATIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations");
/// The migrations from this one on create the log marker and what came after it.
const MARKER_MIGRATION: &str = "0010";

/// The nodes of a service.
pub(crate) struct Fixture {
    nodes: Vec<Store>,
    pub(crate) location: Location,
    ids: AtomicU64,
    _directory: TempDir,
}

impl Fixture {
    pub(crate) async fn embedded() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let location = Location::Embedded(directory.path().join("data"));
        Self { nodes: vec![open(&location).await], location, ids: AtomicU64::new(0), _directory: directory }
    }

    pub(crate) async fn scaled_out() -> Self {
        Self::scaled_out_with(stores::settings(stores::schema().await)).await
    }

    pub(crate) async fn scaled_out_with(settings: PostgresSettings) -> Self {
        let location = Location::Postgres(settings);
        let nodes = vec![open(&location).await, open(&location).await];
        Self { nodes, location, ids: AtomicU64::new(0), _directory: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn store(&self) -> &Store {
        &self.nodes[0]
    }

    /// A node by number, round robin where there are several.
    pub(crate) fn node(&self, number: usize) -> Store {
        self.nodes[number % self.nodes.len()].clone()
    }

    /// Restores the tables of the version before the log marker.
    pub(crate) async fn make_older(&self) {
        self.undo_since(MARKER_MIGRATION).await;
    }

    /// Restores the tables of the version before a migration, by undoing what the migrations since then added.
    pub(crate) async fn undo_since(&self, first: &str) {
        let mut files: Vec<_> = std::fs::read_dir(MIGRATIONS).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        let since = files.iter().filter(|path| path.file_name().unwrap() >= first);
        for path in since.rev() {
            for line in std::fs::read_to_string(path).unwrap().lines().rev() {
                let undo = match *line.split_whitespace().collect::<Vec<_>>() {
                    ["CREATE", "TABLE", table, ..] => format!("DROP TABLE {table}"),
                    ["CREATE", "INDEX", index, ..] => format!("DROP INDEX {index}"),
                    ["ALTER", "TABLE", table, "ADD", "COLUMN", column, ..] => {
                        format!("ALTER TABLE {table} DROP COLUMN {column}")
                    }
                    ["INSERT", "INTO", "chore", ..] => "DELETE FROM chore WHERE name <> 'sweep'".to_owned(),
                    _ => continue,
                };
                self.sql(&undo).await;
            }
        }
        self.sql(&format!("DELETE FROM migration WHERE id >= {first}")).await;
    }

    /// Stops the nodes.
    pub(crate) fn stop(&mut self) {
        self.nodes.clear();
    }

    /// Stops the nodes and starts them again, which migrates the tables.
    pub(crate) async fn reopen(&mut self) {
        let nodes = self.nodes.len();
        self.nodes.clear();
        for _ in 0..nodes {
            self.nodes.push(open(&self.location).await);
        }
    }

    pub(crate) async fn employ(&self, corp: &str, id: &str, department: &str) {
        let person = Person {
            key: EmployeeKey::from_parts(corp, id),
            employee_id: id.to_owned(),
            name: id.to_owned(),
            department: department.to_owned(),
            department_id: deskpass_core::entered_department_id(department),
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

    /// An audit event this long after the start.
    pub(crate) fn entry(&self, millis: i64) -> LogEntry {
        let number = self.ids.fetch_add(1, Ordering::Relaxed);
        let chance = Digest::of(&[&number.to_be_bytes()]);
        let random = u64::from_be_bytes(chance.bytes()[..8].try_into().unwrap());
        let here = [192, 0, 2, 1].into();
        LogEntry {
            id: format!("{:012x}{random:020x}", START + millis),
            at: at(millis),
            event: AuditEvent::SignIn,
            about: EmployeeKey::from_parts("ww", "user01"),
            role: Some(Role::User),
            method: Some(LoginMethod::Qrcode),
            source: Some(LoginSource::H5),
            visitor: ClientInfo {
                address: ClientAddress { logged: here, decided: here, peer: [10, 0, 0, 1].into() },
                user_agent: UserAgent::from_header(b"browser"),
                // Every other row is as the previous version writes it.
                reference: (number % 2 == 1).then(|| Reference::new(u32::try_from(number).unwrap())),
            },
            actor: None,
            reason: None,
            detail: String::new(),
            key: key(),
        }
    }

    /// Writes one row for each time.
    pub(crate) async fn write(&self, moments: impl IntoIterator<Item = i64>) {
        for millis in moments {
            self.store().record(self.entry(millis)).await.unwrap();
        }
    }

    /// Removes all rows before this time.
    pub(crate) async fn prune(&self, millis: i64) -> usize {
        let mut gone = 0;
        loop {
            match self.store().prune_log(at(millis), key(), 7).await.unwrap() {
                0 => return gone,
                step => gone += step,
            }
        }
    }

    /// Writes one row for each time, as a node with these keys.
    pub(crate) async fn write_with(&self, keys: &ChainKeys, moments: impl IntoIterator<Item = i64>) {
        for millis in moments {
            let entry = LogEntry { key: keys.clone(), ..self.entry(millis) };
            self.store().record(entry).await.unwrap();
        }
    }

    /// Replaces the key of the log by the first of these keys.
    pub(crate) async fn switch_key(&self, keys: &ChainKeys, millis: i64) -> KeySwitch {
        let entry = LogEntry { key: keys.clone(), event: AuditEvent::KeyRotated, ..self.entry(millis) };
        self.store().switch_key(entry).await.unwrap()
    }

    pub(crate) async fn verify(&self) -> LogVerdict {
        self.verify_with(&key(), None).await.unwrap()
    }

    /// Verifies the log twice: with as many rows in a snapshot as usual, and with one. Both find the same faults.
    pub(crate) async fn verify_with(
        &self,
        key: &ChainKeys,
        receipt: Option<&Receipt>,
    ) -> Result<LogVerdict, VerifyError> {
        let [whole, by_row] = [5_000, 1].map(|rows| {
            let ours = |check: &str| check == "ours";
            let verification = LogVerification::new(&self.location, Mode::Development, key, ours);
            verify_log(LogVerification { receipt, batch_rows: rows, ..verification })
        });
        let (whole, by_row) = (whole.await, by_row.await);
        if let (Ok(whole), Ok(by_row)) = (&whole, &by_row) {
            assert_eq!((&whole.faults, whole.more, whole.unchained), (&by_row.faults, by_row.more, by_row.unchained));
        }
        assert_eq!(whole.is_ok(), by_row.is_ok());
        whole
    }

    /// The faults: kind, chain, first and last number.
    pub(crate) async fn faults(&self) -> Vec<(LogFaultKind, i64, i64, i64)> {
        self.verify().await.faults.iter().map(summary).collect()
    }

    /// Runs statements directly on the database; returns the rows of the last one.
    pub(crate) async fn sql(&self, text: &str) -> Vec<Vec<Option<String>>> {
        run_sql(&self.location, text).await
    }

    pub(crate) fn is_embedded(&self) -> bool {
        matches!(self.location, Location::Embedded(_))
    }

    /// A row in the middle of a chain: chain, number and identifier.
    pub(crate) async fn middle(&self) -> (i64, i64, String) {
        let text = "SELECT l.chain, l.seq, l.id FROM login_log l JOIN log_chain c ON c.chain = l.chain
            WHERE l.seq = (c.pruned_seq + c.seq) / 2 AND c.seq - c.pruned_seq >= 3 ORDER BY l.chain LIMIT 1";
        let row = self.sql(text).await.remove(0);
        let number = |column: usize| row[column].as_ref().unwrap().parse().unwrap();
        (number(0), number(1), row[2].clone().unwrap())
    }
}

/// Runs statements directly on a database; returns the rows of the last one.
pub(crate) async fn run_sql(location: &Location, text: &str) -> Vec<Vec<Option<String>>> {
    match location {
        Location::Embedded(directory) => {
            let connection = rusqlite::Connection::open(directory.join("deskpass.db")).unwrap();
            connection.busy_timeout(Duration::from_secs(10)).unwrap();
            let mut statement = connection.prepare(text).unwrap();
            let columns = statement.column_count();
            let mut rows = statement.query([]).unwrap();
            let mut all = Vec::new();
            while let Some(row) = rows.next().unwrap() {
                all.push((0..columns).map(|column| shown(row.get_ref(column).unwrap())).collect());
            }
            all
        }
        Location::Postgres(server) => {
            let (client, connection) = tokio_postgres::connect(&server.url, NoTls).await.unwrap();
            let driver = tokio::spawn(connection);
            let messages = client.simple_query(text).await.unwrap();
            drop(client);
            driver.await.unwrap().unwrap();
            let row = |message| match message {
                SimpleQueryMessage::Row(row) => {
                    Some((0..row.len()).map(|column| row.get(column).map(str::to_owned)).collect())
                }
                _ => None,
            };
            messages.into_iter().filter_map(row).collect()
        }
    }
}

fn shown(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(text) | ValueRef::Blob(text) => Some(String::from_utf8_lossy(text).into_owned()),
    }
}

pub(crate) fn summary(fault: &LogFault) -> (LogFaultKind, i64, i64, i64) {
    (fault.what, fault.chain, fault.first, fault.last)
}

async fn open(location: &Location) -> Store {
    Store::open_with(location.clone(), Mode::Development, 100, at(0), Some(key())).await.unwrap()
}

pub(crate) fn key() -> ChainKeys {
    ChainKeys::new(&EncryptionKeys::one([7; 32]))
}

/// The time this long after the start.
pub(crate) fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(START + millis)
}
