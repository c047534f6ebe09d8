//! Three real nodes, each with proxies of its own to the servers and a time of day of its own.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::sentinel_front::SentinelFronts;
use crate::harness::{
    ClusterStore, FakeClock, FaultProxy, Process, Servers, binary, finished, free_address, with_settings,
};

pub(super) const NODES: usize = 3;
/// The servers of PostgreSQL, of which one is the primary.
const POSTGRES: [&str; 2] = ["postgres", "standby"];
/// The servers of Redis, of which one is the master.
const REDIS: [&str; 2] = ["redis", "replica"];
const START_ATTEMPTS: usize = 10;

/// A setting and its value.
type Setting = (&'static str, String);

/// One node.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) address: String,
    /// To the servers of PostgreSQL.
    pub(super) postgres: [FaultProxy; 2],
    /// To the servers of Redis.
    pub(super) redis: [FaultProxy; 2],
    pub(super) clock: FakeClock,
    place: ClusterStore,
    settings: Vec<Setting>,
    log: PathBuf,
    process: Mutex<Option<Process>>,
    _sentinels: SentinelFronts,
}

impl Node {
    /// A node that does not run yet. Its log goes to this directory.
    async fn new(number: usize, servers: &Servers, place: &ClusterStore, settings: &[Setting], logs: &Path) -> Self {
        let [first, other] = postgres_addresses(place, servers);
        let postgres = [FaultProxy::to(&first).await, FaultProxy::to(&other).await];
        let masters = redis_addresses(place, servers);
        let redis = [FaultProxy::to(&masters[0]).await, FaultProxy::to(&masters[1]).await];
        let replaced: Vec<_> = masters.into_iter().zip(redis.iter().map(|proxy| proxy.address().to_owned())).collect();
        let (hosts, name) = sentinels(servers);
        let fronts = SentinelFronts::of(&hosts, &replaced).await;
        let led = format!("{},{}", postgres[0].address(), postgres[1].address());
        let place = ClusterStore {
            store: place.store.replace(&first, &led),
            shared: format!("redis-sentinel://{}/{name}", fronts.addresses.join(",")),
            ..place.clone()
        };
        Self {
            address: free_address(),
            postgres,
            redis,
            clock: FakeClock::by("+0"),
            place,
            settings: settings.to_vec(),
            log: logs.join(format!("node{number}.log")),
            process: Mutex::default(),
            _sentinels: fronts,
        }
    }

    fn command(&self) -> Command {
        let mut command = binary();
        command.arg("serve").current_dir(std::env::temp_dir());
        let given = self.settings.iter().map(|(key, value)| (*key, value.as_str()));
        with_settings(
            &mut command,
            [("listen", self.address.as_str())].into_iter().chain(self.place.settings()).chain(given),
        );
        self.clock.on(&mut command);
        // A pipe that nobody reads would stop the node.
        command.stderr(OpenOptions::new().create(true).append(true).open(&self.log).unwrap());
        command
    }

    /// Starts the node and waits until it is ready.
    pub(super) async fn start(&self) {
        for _ in 0..START_ATTEMPTS {
            let command = self.command();
            // The servers may have changed roles a moment ago.
            if let Ok(process) = tokio::task::spawn_blocking(move || Process::spawn(command)).await {
                *self.process.lock().unwrap() = Some(process);
                return;
            }
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        panic!("a node does not start: {}", self.log.display());
    }

    /// Sends SIGKILL.
    pub(super) fn kill(&self) {
        let process = self.process.lock().unwrap().take();
        process.into_iter().for_each(Process::kill);
    }

    /// Sends SIGSTOP.
    pub(super) fn pause(&self) {
        self.process.lock().unwrap().iter().for_each(Process::pause);
    }

    pub(super) fn resume(&self) {
        self.process.lock().unwrap().iter().for_each(Process::resume);
    }
}

/// The nodes, and the servers that they share.
#[derive(Debug)]
pub(super) struct Nodes {
    pub(super) all: Vec<Node>,
    servers: Servers,
    /// The store as the operator reaches it: without proxies, on the server that was the primary at first.
    place: ClusterStore,
    settings: Vec<Setting>,
    /// The place of the primary in [`POSTGRES`].
    primary: Mutex<usize>,
    /// The place of the master in [`REDIS`].
    master: Mutex<usize>,
}

impl Nodes {
    /// Nodes that do not run yet, with these settings. Their logs go to this directory.
    pub(super) async fn new(settings: Vec<Setting>, logs: &Path) -> Self {
        let servers = tokio::task::spawn_blocking(Servers::with_sentinels).await.unwrap();
        let place = servers.cluster_store();
        let mut all = Vec::new();
        for number in 0..NODES {
            all.push(Node::new(number, &servers, &place, &settings, logs).await);
        }
        Self { all, servers, place, settings, primary: Mutex::default(), master: Mutex::default() }
    }

    /// The proxies of a node to the primary and to the master.
    pub(super) fn proxies_in_use(&self, at: usize) -> [&FaultProxy; 2] {
        let (primary, master) = (*self.primary.lock().unwrap(), *self.master.lock().unwrap());
        let node = &self.all[at];
        [&node.postgres[primary], &node.redis[master]]
    }

    /// Runs a command of the operator, on both servers of PostgreSQL; returns whether it succeeded, and its output.
    pub(super) fn operate(&self, arguments: &[&str]) -> (bool, String) {
        let [first, other] = postgres_addresses(&self.place, &self.servers);
        let place = ClusterStore {
            store: self.place.store.replace(&first, &format!("{first},{other}")),
            shared: self.servers.sentinel_url(),
            ..self.place.clone()
        };
        let mut command = binary();
        command.args(arguments).current_dir(std::env::temp_dir());
        let given = self.settings.iter().map(|(key, value)| (*key, value.as_str()));
        with_settings(&mut command, place.settings().into_iter().chain(given));
        let output = finished(&mut command);
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        (output.status.success(), text)
    }

    /// The rows that a query returns from the primary.
    pub(super) fn query(&self, sql: &str) -> Vec<String> {
        let addresses = postgres_addresses(&self.place, &self.servers);
        let primary = *self.primary.lock().unwrap();
        let store = self.place.store.replace(&addresses[0], &addresses[primary]);
        ClusterStore { store, ..self.place.clone() }.query(sql)
    }

    /// Stops the primary at once, promotes the standby, and makes the old primary its standby.
    pub(super) fn fail_over(&self) {
        self.await_standby();
        let mut primary = self.primary.lock().unwrap();
        let (old, new) = (POSTGRES[*primary], POSTGRES[1 - *primary]);
        // In this order: a server that goes on as a primary would have to be fenced off.
        self.servers.order(&format!("stop {old}"));
        self.servers.order(&format!("promote {new}"));
        *primary = 1 - *primary;
        self.servers.order(&format!("follow {old}"));
    }

    /// Waits until the standby has everything that is visible on the primary. A commit that a node gave up while it waited for the
    /// standby is visible before the standby has it, and would seem to be undone by a failover at this moment.
    fn await_standby(&self) {
        let position = self.query("SELECT pg_current_wal_flush_lsn()").remove(0);
        let reached = format!("SELECT count(*) FROM pg_stat_replication WHERE flush_lsn >= '{position}'");
        wait("the standby has everything", || self.query(&reached) == ["1"]);
    }

    /// Kills the master of Redis, waits until the Sentinels have promoted its replica, and starts it again as a replica.
    pub(super) fn fail_over_redis(&self) {
        let addresses = redis_addresses(&self.place, &self.servers);
        let Some(master) = self.servers.redis_master() else { return };
        let Some(at) = addresses.iter().position(|address| *address == master) else { return };
        self.servers.order(&format!("stop {}", REDIS[at]));
        let promoted = || self.servers.redis_master().is_some_and(|now| now != master);
        wait("another Redis is the master", promoted);
        *self.master.lock().unwrap() = 1 - at;
        self.servers.order(&format!("start {}", REDIS[at]));
        self.servers.await_replica();
    }

    /// Deletes all data in Redis.
    pub(super) fn flush_redis(&self) {
        self.servers.flush_master();
    }
}

/// Waits for what the servers do by themselves. It blocks the thread.
fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_mins(1), "{what}: not within a minute");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn postgres_addresses(place: &ClusterStore, servers: &Servers) -> [String; 2] {
    [place.postgres_address(), servers.standby_address()]
}

fn redis_addresses(place: &ClusterStore, servers: &Servers) -> [String; 2] {
    let [_, first] = place.addresses();
    [first, servers.address_of(REDIS[1])]
}

/// The Sentinels, and the name of the master.
fn sentinels(servers: &Servers) -> (Vec<String>, String) {
    let url = servers.sentinel_url();
    let (_, rest) = url.split_once("//").unwrap();
    let (hosts, name) = rest.split_once('/').unwrap();
    (hosts.split(',').map(str::to_owned).collect(), name.to_owned())
}
