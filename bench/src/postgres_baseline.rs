//! The minimal baseline on PostgreSQL: the service's statements on the same number of connections, without anything else.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use deskpass_core::{Access, Secret};
use fastrand::Rng;
use tokio::task::JoinSet;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Statement};

use crate::backends::{SharedBackend, connect};
use crate::error::BenchError;
use crate::requests::{AGENT, WordList};
use crate::seed::{self, CORP};
use crate::server::{NODE_CONNECTIONS, cpu};
use crate::sqlite_baseline::{ADDRESS, ChainColumns, SignInRow};
use crate::stats::{Cost, Round, nanoseconds, now};

/// The length of a digest's text.
const DIGEST_WIDTH: usize = 43;

const EMPLOYEE: &str = "UPDATE employee SET last_login_at = $3, last_login_ip = $4
    WHERE corp_id = $1 AND employee_key = $2 AND disabled_at IS NULL AND left_at IS NULL";
const SESSION: &str =
    "INSERT INTO session (digest, corp_id, employee_key, role_id, login_method, login_source, created_at,
    expires_at, proven, lent_role_id, ip_address, user_agent, seen_at)
    SELECT $1, $2, $3, $4, $5, $6, $7, $8, 0, NULL, $9, $10, $7
    WHERE NOT EXISTS (SELECT 1 FROM denied_token WHERE digest = $1) ON CONFLICT (digest) DO NOTHING";
const LOG: &str = "INSERT INTO login_log (id, at, event, corp_id, employee_key, role_id, login_method, login_source,
    ip_address, peer_address, user_agent, detail, chain, seq, hash, decided_address, seen_seq, seen_hash, reference)
    VALUES ($1, $2, 'sign_in', $3, $4, $5, $6, $7, $8, $8, $9, '', $10, $11, $12, $8, $11, $13, $14)";
/// Finds a session with its person, as the service does.
pub(crate) const FIND: &str = "SELECT e.corp_id, e.employee_key, e.employee_id, e.name, e.department, e.avatar, e.disabled_at,
    r.role_id, e.last_login_at, e.last_login_ip, e.department_id, e.subject, e.email, e.email_source, e.left_at, e.left_why,
    CASE WHEN r.by_hand = 0 AND r.by_rule = 0 THEN r.until END, e.seen, s.role_id, s.login_method, s.login_source,
    s.created_at, s.expires_at, s.proven, s.lent_role_id
    FROM session s JOIN employee e ON e.corp_id = s.corp_id AND e.employee_key = s.employee_key
    LEFT JOIN user_role r ON r.corp_id = e.corp_id AND r.employee_key = e.employee_key
    WHERE s.digest = $1 AND NOT EXISTS (SELECT 1 FROM denied_token WHERE digest = $1)";

/// The repeated work.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// The writes of a sign-in, in one transaction.
    SignIns,
    /// The read of an uncached session, for each of these digests in turn.
    LookUps(Arc<Digests>),
}

/// Digests of tokens, and the current position.
#[derive(Debug)]
pub(crate) struct Digests {
    words: WordList,
    used: AtomicUsize,
}

impl Digests {
    pub(crate) fn of(tokens: &WordList) -> Result<Self, BenchError> {
        let mut words = WordList::new(DIGEST_WIDTH, tokens.len());
        for token in (0..tokens.len()).filter_map(|at| tokens.text(at)) {
            let token = Secret::<Access>::parse(token).map_err(|_| "not a token")?;
            words.push(&token.digest().to_text());
        }
        Ok(Self { words, used: AtomicUsize::new(0) })
    }

    pub(crate) fn next(&self) -> &str {
        let at = self.used.fetch_add(1, Ordering::Relaxed) % self.words.len().max(1);
        self.words.text(at).unwrap_or_default()
    }
}

/// PostgreSQL with as many connections as a node has.
#[derive(Debug)]
pub(crate) struct PostgresBaseline {
    workers: Vec<Worker>,
    work: Work,
}

impl PostgresBaseline {
    pub(crate) async fn open(backend: &SharedBackend, work: Work) -> Result<Self, BenchError> {
        let mut workers = Vec::with_capacity(NODE_CONNECTIONS);
        for seed in (2..).take(NODE_CONNECTIONS) {
            workers.push(Worker::open(backend, seed).await?);
        }
        Ok(Self { workers, work })
    }

    /// Does the work for the duration of a round.
    pub(crate) async fn round(&mut self, length: Duration) -> Result<Round, BenchError> {
        let (used, start) = (cpu("self")?, now());
        let workers = self.workers.drain(..);
        let mut busy: JoinSet<_> = workers.map(|worker| worker.until(start + length, self.work.clone())).collect();
        let mut latencies = Vec::new();
        while let Some(done) = busy.join_next().await {
            let (worker, times) = done??;
            latencies.extend(times);
            self.workers.push(worker);
        }
        // Here the benchmark process itself is measured.
        let spent = cpu("self")?.saturating_sub(used);
        Ok(Round::of(latencies.len(), Cost { elapsed: start.elapsed(), cpu: spent, own: spent }, latencies))
    }
}

/// A connection with its prepared statements.
#[derive(Debug)]
struct Worker {
    client: Client,
    rng: Rng,
    employee: Statement,
    session: Statement,
    log: Statement,
    find: Statement,
}

impl Worker {
    async fn open(backend: &SharedBackend, seed: u64) -> Result<Self, BenchError> {
        let client = connect(&backend.store).await?;
        let (employee, session, log) =
            (client.prepare(EMPLOYEE).await?, client.prepare(SESSION).await?, client.prepare(LOG).await?);
        let find = client.prepare(FIND).await?;
        Ok(Self { client, rng: Rng::with_seed(seed), employee, session, log, find })
    }

    async fn until(mut self, end: Instant, work: Work) -> Result<(Self, Vec<u32>), BenchError> {
        let (mut latencies, mut last) = (Vec::new(), now());
        while last < end {
            match &work {
                Work::SignIns => self.sign_in().await?,
                Work::LookUps(digests) => self.look_up(digests.next()).await?,
            }
            let done = now();
            latencies.push(nanoseconds(done - last));
            last = done;
        }
        Ok((self, latencies))
    }

    async fn sign_in(&mut self) -> Result<(), BenchError> {
        let SignInRow { digest, id, role, method, source, began, ends, event, chain } =
            SignInRow::drawn(&mut self.rng, seed::now());
        let ChainColumns { chain, seq, hash, seen_hash, reference } = chain;
        let client = &self.client;
        client.batch_execute("BEGIN").await?;
        let known = client.execute(&self.employee, &[&CORP, &id, &began, &ADDRESS]).await?;
        let begun = client
            .execute(&self.session, &[&digest, &CORP, &id, &role, &method, &source, &began, &ends, &ADDRESS, &AGENT])
            .await?;
        let row: [&(dyn ToSql + Sync); 14] = [
            &event, &began, &CORP, &id, &role, &method, &source, &ADDRESS, &AGENT, &chain, &seq, &hash, &seen_hash,
            &reference,
        ];
        let noted = client.execute(&self.log, &row).await?;
        client.batch_execute("COMMIT").await?;
        if (known, begun, noted) == (1, 1, 1) { Ok(()) } else { Err("PostgreSQL alone wrote no session".into()) }
    }

    async fn look_up(&self, digest: &str) -> Result<(), BenchError> {
        let found = self.client.query(&self.find, &[&digest]).await?;
        if found.is_empty() { Err("PostgreSQL alone found no session".into()) } else { Ok(()) }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use deskpass_core::Entropy;

    use super::*;
    use crate::seed::TOKEN_WIDTH;

    #[test]
    fn every_token_has_its_turn_and_then_the_first_again() {
        let tokens = [0, 1].map(|_| Secret::<Access>::generate(&Entropy::system()).unwrap());
        let mut words = WordList::new(TOKEN_WIDTH, 2);
        for token in &tokens {
            words.push(token.expose());
        }
        let digests = Digests::of(&words).unwrap();
        let [one, other] = tokens.map(|token| token.digest().to_text());
        assert_eq!([(); 3].map(|()| digests.next()), [&*one, &*other, &*one]);
        assert!(Digests::of(&WordList::one("no token")).is_err());
    }
}
