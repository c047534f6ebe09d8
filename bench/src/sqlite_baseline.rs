//! The minimal baseline for sign-ins: the same rows, written directly to SQLite, in groups that share a commit.

use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use deskpass_core::{LoginMethod, LoginSource, Role, Timestamp};
use fastrand::Rng;
use rusqlite::{CachedStatement, Connection, params};

use crate::error::BenchError;
use crate::load::CONNECTIONS;
use crate::plan::SIGN_IN_EMPLOYEES;
use crate::requests::AGENT;
use crate::seed::{self, CORP, LIFETIME};
use crate::server::cpu;
use crate::stats::{Cost, Round, nanoseconds, now};

/// The number of sign-ins that share a commit: as many as the service has waiting when every connection has one in flight.
const COMMIT_BATCH: usize = CONNECTIONS;

/// The address of all sign-ins.
pub(crate) const ADDRESS: &str = "127.0.0.1";

/// A store that only this thread writes to.
#[derive(Debug)]
pub(crate) struct SqliteBaseline {
    connection: Connection,
    rng: Rng,
}

impl SqliteBaseline {
    /// Opens a store that the service has created. Committed data is on disk, and the page cache has the same size, as in the service.
    pub(crate) fn open(directory: &Path) -> Result<Self, BenchError> {
        let connection = seed::open(directory)?;
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -8192;
             PRAGMA wal_autocheckpoint = 3000",
        )?;
        Ok(Self { connection, rng: Rng::with_seed(2) })
    }

    /// Commits groups for the duration of a round. The latencies are those of whole groups.
    pub(crate) fn round(&mut self, length: Duration) -> Result<Round, BenchError> {
        let mut statements = Statements::prepare(&self.connection)?;
        let (used, start) = (cpu("self")?, now());
        let (mut latencies, mut last) = (Vec::new(), start);
        while last - start < length {
            self.connection.execute_batch("BEGIN IMMEDIATE")?;
            let at = seed::now();
            for _ in 0..COMMIT_BATCH {
                statements.sign_in(&mut self.rng, at)?;
            }
            self.connection.execute_batch("COMMIT")?;
            let done = now();
            latencies.push(nanoseconds(done - last));
            last = done;
        }
        // Here the benchmark process itself is measured.
        let spent = cpu("self")?.saturating_sub(used);
        Ok(Round::of(latencies.len() * COMMIT_BATCH, Cost { elapsed: last - start, cpu: spent, own: spent }, latencies))
    }
}

struct Statements<'a> {
    session: CachedStatement<'a>,
    employee: CachedStatement<'a>,
    log: CachedStatement<'a>,
}

impl<'a> Statements<'a> {
    fn prepare(connection: &'a Connection) -> Result<Self, BenchError> {
        Ok(Self {
            session: connection.prepare_cached(
                "INSERT INTO session (digest, corp_id, employee_key, role_id, login_method, login_source, created_at,
                 expires_at, proven, ip_address, user_agent, seen_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0, ?9, ?10, ?7)",
            )?,
            employee: connection.prepare_cached(
                "UPDATE employee SET last_login_at = ?3, last_login_ip = ?4 WHERE corp_id = ?1 AND employee_key = ?2",
            )?,
            log: connection.prepare_cached(
                "INSERT INTO login_log (id, at, event, corp_id, employee_key, role_id, login_method, login_source,
                 ip_address, peer_address, user_agent, detail, chain, seq, hash, decided_address, seen_seq, seen_hash,
                 reference) VALUES (?1, ?2, 'sign_in', ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?9, '', ?10, ?11, ?12, ?8, ?11, ?13,
                 ?14)",
            )?,
        })
    }

    /// Writes the rows of one sign-in.
    fn sign_in(&mut self, rng: &mut Rng, at: Timestamp) -> Result<(), BenchError> {
        let SignInRow { digest, id, role, method, source, began, ends, event, chain } = SignInRow::drawn(rng, at);
        let ChainColumns { chain, seq, hash, seen_hash, reference } = chain;
        self.session.execute(params![digest, CORP, id, role, method, source, began, ends, ADDRESS, AGENT])?;
        self.employee.execute(params![CORP, id, began, ADDRESS])?;
        let row = params![
            event, began, CORP, id, role, method, source, ADDRESS, AGENT, chain, seq, hash, seen_hash, reference
        ];
        self.log.execute(row)?;
        Ok(())
    }
}

/// The values of one sign-in.
#[derive(Debug)]
pub(crate) struct SignInRow {
    pub(crate) digest: String,
    pub(crate) id: String,
    pub(crate) role: i64,
    pub(crate) method: &'static str,
    pub(crate) source: &'static str,
    pub(crate) began: i64,
    pub(crate) ends: i64,
    pub(crate) event: String,
    pub(crate) chain: ChainColumns,
}

/// The columns that chain the rows of the audit log, with values of the usual length.
#[derive(Debug)]
pub(crate) struct ChainColumns {
    pub(crate) chain: i64,
    pub(crate) seq: i64,
    pub(crate) hash: String,
    pub(crate) seen_hash: String,
    pub(crate) reference: String,
}

impl ChainColumns {
    /// The next place, in one of eight chains that the service does not have.
    fn drawn(rng: &mut Rng) -> Self {
        static NEXT: AtomicI64 = AtomicI64::new(1);
        let seq = NEXT.fetch_add(1, Ordering::Relaxed);
        let reference = format!("{:08X}", rng.u32(..));
        Self { chain: 100 + rng.i64(..8), seq, hash: digest(rng), seen_hash: digest(rng), reference }
    }
}

impl SignInRow {
    /// A random employee with a new token.
    pub(crate) fn drawn(rng: &mut Rng, at: Timestamp) -> Self {
        let (began, ends) = (at.millis(), (at + LIFETIME).millis());
        Self {
            digest: digest(rng),
            id: seed::employee(rng.usize(..SIGN_IN_EMPLOYEES)),
            role: Role::User.id(),
            method: LoginMethod::Bind.name(),
            source: LoginSource::H5.name(),
            began,
            ends,
            event: format!("{began:012x}{:020x}", rng.u64(..)),
            chain: ChainColumns::drawn(rng),
        }
    }
}

/// A text as long and as random as a digest's text.
fn digest(rng: &mut Rng) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    (0..43).filter_map(|_| rng.choice(LETTERS)).map(|letter| char::from(*letter)).collect()
}
