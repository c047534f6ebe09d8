//! PostgreSQL and Redis servers for the tests, run by `tools/servers`.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use super::cluster_store::{ClusterStore, run_sql};

/// The passwords of PostgreSQL and Redis, on servers that require them.
pub(crate) const PASSWORDS: [&str; 2] = ["canary-store@password", "canary-shared@password"];

static SHARED: OnceLock<Servers> = OnceLock::new();
static STARTED: AtomicUsize = AtomicUsize::new(0);
static CLUSTER_STORES: AtomicUsize = AtomicUsize::new(0);

/// One PostgreSQL and one Redis, or several of them. They end when this is dropped, and also when the process ends in any way.
#[derive(Debug)]
pub(crate) struct Servers {
    script: Mutex<ServerScript>,
    postgres: String,
    redis: String,
    /// The URLs of further servers, by name: `standby`, `replica`, `sentinel1` and so on.
    more: Vec<(&'static str, String)>,
    /// The timeouts of the services that use them.
    timeouts: [&'static str; 2],
}

/// The defaults, for tests that break the servers.
const TIMEOUTS: [&str; 2] = ["2s", "1s"];
/// For tests that do not: a server on a busy machine is slow, and not broken.
const LONG_TIMEOUTS: [&str; 2] = ["10s", "10s"];

const SENTINELS: [&str; 3] = ["sentinel1", "sentinel2", "sentinel3"];
/// The name that the Sentinels know the master by.
const MASTER_NAME: &str = "desk";
/// A Sentinel looks for replicas every ten seconds, and for a master that came back a little less often.
const REPLICA_TIMEOUT: Duration = Duration::from_secs(40);

/// The script that runs them, and the pipes to it.
#[derive(Debug)]
struct ServerScript {
    child: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl ServerScript {
    fn start(more: &[&str]) -> Self {
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let directory = std::env::temp_dir().join(format!("deskpass-servers-{}-{number}", std::process::id()));
        let mut command = Command::new(tool("servers"));
        command.arg(directory).args(["postgres", "redis"]).args(more).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("tools/servers starts");
        let (orders, answers) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, orders, answers }
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "tools/servers gave up; tools/services installs what it needs");
        line.trim().to_owned()
    }

    /// Reads the address of a started server.
    fn address(&mut self) -> String {
        self.answer().split(' ').next().unwrap().to_owned()
    }
}

impl Drop for ServerScript {
    fn drop(&mut self) {
        drop(self.orders.take());
        let _ = self.child.wait();
    }
}

/// A program in `tools/`, which is not part of the product.
pub(crate) fn tool(name: &str) -> PathBuf {
    root().join("tools").join(name)
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

impl Servers {
    /// The servers that all tests of this process share, each with a store of its own.
    pub(crate) fn shared() -> &'static Self {
        SHARED.get_or_init(|| Self { timeouts: LONG_TIMEOUTS, ..Self::private() })
    }

    /// Servers for one test, which may break them.
    pub(crate) fn private() -> Self {
        Self::private_with(&[])
    }

    /// Servers for one test, with a standby of PostgreSQL: a commit is acknowledged when both servers have it.
    pub(crate) fn replicated() -> Self {
        Self::private_with(&["standby"])
    }

    /// Servers for one test: PostgreSQL with a standby, and Redis with a replica behind three Sentinels.
    pub(crate) fn with_sentinels() -> Self {
        let servers = Self::private_with(&["standby", "replica", "sentinel1", "sentinel2", "sentinel3"]);
        servers.await_replica();
        servers
    }

    fn private_with(more: &[&'static str]) -> Self {
        let mut script = ServerScript::start(more);
        let (postgres, redis) = (script.address(), script.address());
        let more = more.iter().map(|name| (*name, script.address())).collect();
        Self { script: Mutex::new(script), postgres, redis, more, timeouts: TIMEOUTS }
    }

    /// Servers that require the passwords in [`PASSWORDS`].
    pub(crate) fn with_passwords() -> Self {
        let servers = Self::private();
        let hba = run_sql(&servers.postgres, "SHOW hba_file").remove(0);
        run_sql(&servers.postgres, &format!("ALTER ROLE postgres PASSWORD '{}'", PASSWORDS[0]));
        run_sql(&servers.postgres, &format!("COPY (SELECT 'host all all 127.0.0.1/32 scram-sha-256') TO '{hba}'"));
        run_sql(&servers.postgres, "SELECT pg_reload_conf()");
        servers.redis_command(&["CONFIG", "SET", "requirepass", PASSWORDS[1]]);
        let [store, shared] = PASSWORDS.map(|password| password.replace('@', "%40"));
        let postgres = servers.postgres.replacen("//postgres@", &format!("//postgres:{store}@"), 1);
        let redis = servers.redis.replacen("//", &format!("//:{shared}@"), 1);
        Self { postgres, redis, ..servers }
    }

    /// Runs a Redis command.
    pub(crate) fn redis_command(&self, words: &[&str]) {
        let mut redis = redis::Client::open(&*self.redis).unwrap().get_connection().unwrap();
        redis::cmd(words[0]).arg(&words[1..]).query::<redis::Value>(&mut redis).unwrap();
    }

    /// Runs SQL on PostgreSQL, outside of every test's schema.
    pub(crate) fn postgres_command(&self, sql: &str) {
        run_sql(&self.postgres, sql);
    }

    /// A schema and a prefix that no other test uses.
    pub(crate) fn cluster_store(&self) -> ClusterStore {
        let name = format!("t_{}", CLUSTER_STORES.fetch_add(1, Ordering::Relaxed));
        run_sql(&self.postgres, &format!("CREATE SCHEMA {name}"));
        let store = format!("{}?options=-csearch_path%3D{name}", self.postgres);
        ClusterStore { store, shared: self.redis.clone(), prefix: name, timeouts: self.timeouts }
    }

    /// Sends SIGKILL to Redis.
    pub(crate) fn kill_redis(&self) {
        self.order("stop redis");
    }

    /// Starts Redis at the same address, empty.
    pub(crate) fn start_redis(&self) {
        self.order("start redis");
    }

    /// Sends SIGSTOP to Redis: connections stay open without responses.
    pub(crate) fn pause_redis(&self) {
        self.order("pause redis");
    }

    pub(crate) fn resume_redis(&self) {
        self.order("resume redis");
    }

    /// Deletes all data in Redis.
    pub(crate) fn flush_redis(&self) {
        self.redis_command(&["FLUSHALL"]);
    }

    /// Stops PostgreSQL immediately, as if the machine had crashed.
    pub(crate) fn stop_postgres(&self) {
        self.order("stop postgres");
    }

    /// Starts PostgreSQL at the same address, with the committed data.
    pub(crate) fn start_postgres(&self) {
        self.order("start postgres");
    }

    /// Sends SIGSTOP to all PostgreSQL processes.
    pub(crate) fn pause_postgres(&self) {
        self.order("pause postgres");
    }

    pub(crate) fn resume_postgres(&self) {
        self.order("resume postgres");
    }

    /// A schema and a prefix that no other test uses; of the server that was the primary at first.
    pub(crate) fn place(&self) -> ClusterStore {
        self.cluster_store()
    }

    /// Host and port of the server that was the standby at first.
    pub(crate) fn standby_address(&self) -> String {
        self.address_of("standby")
    }

    /// Makes the standby a primary, on which commits wait for nobody. The other server does not learn of it: its commits wait for
    /// a standby that is gone.
    pub(crate) fn promote_standby(&self) {
        self.order("promote standby");
    }

    /// Host and port of a further server.
    pub(crate) fn address_of(&self, name: &str) -> String {
        let url = &self.more.iter().find(|(known, _)| *known == name).expect("a server that was started").1;
        let address = url.split("//").nth(1).unwrap().rsplit('@').next().unwrap();
        address.split('/').next().unwrap().to_owned()
    }

    /// The `shared.url` that leads to the master through the Sentinels.
    pub(crate) fn sentinel_url(&self) -> String {
        let sentinels = SENTINELS.map(|name| self.address_of(name));
        format!("redis-sentinel://{}/{MASTER_NAME}", sentinels.join(","))
    }

    /// Host and port of the Redis that all Sentinels call master; nothing while they disagree.
    pub(crate) fn redis_master(&self) -> Option<String> {
        let named = SENTINELS.map(|name| {
            let question = ["SENTINEL", "get-master-addr-by-name", MASTER_NAME];
            let (host, port): (String, u16) = try_redis(&self.address_of(name), &question)?;
            Some(format!("{host}:{port}"))
        });
        let [first, ..] = &named;
        named.iter().all(|other| other == first).then(|| first.clone()).flatten()
    }

    /// Deletes all data in the Redis that the Sentinels call master.
    pub(crate) fn flush_master(&self) {
        let master = self.redis_master();
        let _ = master.and_then(|master| try_redis::<redis::Value>(&master, &["FLUSHALL"]));
    }

    /// Waits until all Sentinels name one master, which has its replica.
    pub(crate) fn await_replica(&self) {
        let began = std::time::Instant::now();
        while !self.has_replica() {
            assert!(began.elapsed() < REPLICA_TIMEOUT, "Redis has no replica within {REPLICA_TIMEOUT:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn has_replica(&self) -> bool {
        let Some(master) = self.redis_master() else { return false };
        let known = |name: &&str| {
            let replicas: Option<Vec<redis::Value>> =
                try_redis(&self.address_of(name), &["SENTINEL", "replicas", MASTER_NAME]);
            let others: Option<Vec<redis::Value>> =
                try_redis(&self.address_of(name), &["SENTINEL", "sentinels", MASTER_NAME]);
            replicas.is_some_and(|all| !all.is_empty()) && others.is_some_and(|all| all.len() + 1 == SENTINELS.len())
        };
        let state: Option<String> = try_redis(&master, &["INFO", "replication"]);
        state.is_some_and(|state| state.contains("state=online")) && SENTINELS.iter().all(known)
    }

    /// Sends a command to the script and waits until it is done: a verb and the name of a server.
    pub(crate) fn order(&self, order: &str) {
        let mut script = self.script.lock().unwrap();
        writeln!(script.orders.as_ref().unwrap(), "{order}").unwrap();
        script.answer();
    }
}

/// The answer of a Redis or a Sentinel to a command, if it answers.
fn try_redis<V: redis::FromRedisValue>(address: &str, words: &[&str]) -> Option<V> {
    let client = redis::Client::open(format!("redis://{address}")).unwrap();
    let mut connection = client.get_connection_with_timeout(Duration::from_secs(1)).ok()?;
    connection.set_read_timeout(Some(Duration::from_secs(1))).ok()?;
    redis::cmd(words[0]).arg(&words[1..]).query(&mut connection).ok()
}

/// Returns whether Redis responds to a PING within a short timeout.
#[cfg(test)]
fn answers(place: &ClusterStore) -> bool {
    let Ok(mut redis) = TcpStream::connect(place.shared.strip_prefix("redis://").unwrap()) else { return false };
    redis.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    redis.write_all(b"PING\r\n").unwrap();
    let mut answer = [0; 7];
    redis.read_exact(&mut answer).is_ok() && &answer == b"+PONG\r\n"
}

#[test]
fn redis_is_killed_paused_emptied_and_started_again() {
    let servers = Servers::private();
    let place = servers.cluster_store();
    assert!(answers(&place));
    servers.pause_redis();
    assert!(!answers(&place));
    servers.resume_redis();
    assert!(answers(&place));
    servers.flush_redis();
    servers.kill_redis();
    assert!(!answers(&place));
    servers.start_redis();
    assert!(answers(&place));
}

#[test]
fn postgres_keeps_what_was_committed_over_an_immediate_stop() {
    let servers = Servers::private();
    let place = servers.cluster_store();
    place.query("CREATE TABLE kept (a BIGINT, b TEXT, c TEXT)");
    place.query("INSERT INTO kept VALUES (1, 'x', NULL)");
    for _ in 0..2 {
        servers.stop_postgres();
        assert!(TcpStream::connect(place.postgres_address()).is_err());
        servers.start_postgres();
        assert_eq!(place.query("SELECT a, b, c FROM kept"), ["1|x|-"]);
    }
    servers.pause_postgres();
    let asked = std::thread::spawn({
        let place = place.clone();
        move || place.query("SELECT 1")
    });
    std::thread::sleep(Duration::from_millis(200));
    assert!(!asked.is_finished());
    servers.resume_postgres();
    assert_eq!(asked.join().unwrap(), ["1"]);
}

#[test]
fn cluster_stores_are_isolated_and_servers_end_with_their_owner() {
    let servers = Servers::private();
    let (one, other) = (servers.cluster_store(), servers.cluster_store());
    one.query("CREATE TABLE mine (a BIGINT)");
    let tables = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()";
    assert_eq!(one.query(tables), ["mine"]);
    assert!(other.query(tables).is_empty());
    drop(servers);
    assert!(!answers(&one));
    assert!(TcpStream::connect(one.postgres_address()).is_err());
}

#[test]
fn a_commit_is_on_the_standby_before_it_is_acknowledged() {
    let servers = Servers::replicated();
    let place = servers.place();
    let promoted = ClusterStore {
        store: place.store.replace(&place.postgres_address(), &servers.standby_address()),
        ..place.clone()
    };
    place.query("CREATE TABLE kept (a BIGINT)");
    for round in 0..50 {
        place.query(&format!("INSERT INTO kept VALUES ({round})"));
    }
    servers.stop_postgres();
    servers.promote_standby();
    assert_eq!(promoted.query("SELECT count(*) FROM kept"), ["50"]);
    promoted.query("INSERT INTO kept VALUES (50)");
    servers.order("follow postgres");
    promoted.query("INSERT INTO kept VALUES (51)");
    servers.order("stop standby");
    servers.order("promote postgres");
    assert_eq!(place.query("SELECT count(*) FROM kept"), ["52"]);
}

#[test]
fn sentinels_promote_the_replica() {
    let servers = Servers::with_sentinels();
    let first = servers.redis_master().unwrap();
    assert!(servers.sentinel_url().ends_with("/desk"));
    servers.kill_redis();
    let began = std::time::Instant::now();
    while servers.redis_master().is_none_or(|master| master == first) {
        assert!(began.elapsed() < REPLICA_TIMEOUT, "no failover");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(servers.redis_master(), Some(servers.address_of("replica")));
    servers.start_redis();
    servers.await_replica();
}
