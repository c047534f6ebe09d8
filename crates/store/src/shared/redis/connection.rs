//! The connection to Redis. It reconnects after a loss, and callers wait only for a short time.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use redis::aio::MultiplexedConnection;
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionInfo, ErrorKind, FromRedisValue, RedisError, RedisResult,
    ServerErrorKind, cmd,
};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::address::{RedisAddress, Topology, with_address};
use crate::{Result, StoreError};

/// The timeout of one connection attempt. Callers wait for the first attempt only.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// The timeout of a Sentinel's answer.
const SENTINEL_TIMEOUT: Duration = Duration::from_millis(300);
const RETRY_INTERVAL: Duration = Duration::from_millis(200);
/// The interval at which the Sentinels are asked whether the master is still the same.
const MASTER_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// The delay after a loss, to protect a server that accepts connections and closes them again.
const RECONNECT_DELAY: Duration = Duration::from_millis(20);

/// The connection to Redis. Clones share its state.
#[derive(Clone, Debug)]
pub(super) struct RedisConnection {
    address: Arc<RedisAddress>,
    /// The timeout of a call, in total.
    timeout: Duration,
    state: Arc<watch::Sender<ConnectionState>>,
}

#[derive(Clone, Debug)]
enum ConnectionState {
    /// The first attempt, or the first since the connection was lost: callers wait for it.
    Trying,
    /// Not connected; callers fail immediately.
    Down(Arc<str>),
    /// Connected, with the generation of the connection.
    Up(RedisTransport, u64),
}

/// The host and the port of a master.
type MasterAddress = (String, u16);

/// One connection, or one per server of a cluster.
#[derive(Clone)]
enum RedisTransport {
    One(MultiplexedConnection),
    Cluster(ClusterConnection),
}

debug_only!(RedisTransport);

impl RedisTransport {
    async fn ask<V: FromRedisValue>(&mut self, command: &Cmd) -> RedisResult<V> {
        match self {
            Self::One(connection) => command.query_async(connection).await,
            Self::Cluster(connection) => command.query_async(connection).await,
        }
    }
}

/// A call to Redis: one or more commands with a common deadline.
#[derive(Debug)]
pub(super) struct RedisCall<'a> {
    connection: &'a RedisConnection,
    transport: RedisTransport,
    generation: u64,
    deadline: Instant,
}

impl RedisConnection {
    pub(super) fn new(address: Arc<RedisAddress>, timeout: Duration) -> Self {
        Self { address, timeout, state: Arc::new(watch::Sender::new(ConnectionState::Trying)) }
    }

    pub(super) async fn call(&self) -> Result<RedisCall<'_>> {
        let deadline = Instant::now() + self.timeout;
        let mut states = self.state.subscribe();
        let settled = timeout_at(deadline, states.wait_for(|state| !matches!(state, ConnectionState::Trying))).await;
        match settled.map(|state| state.map(|state| state.clone())) {
            Ok(Ok(ConnectionState::Up(transport, generation))) => {
                Ok(RedisCall { connection: self, transport, generation, deadline })
            }
            Ok(Ok(ConnectionState::Down(why))) => Err(self.unavailable(&why)),
            Ok(Ok(ConnectionState::Trying) | Err(_)) | Err(_) => Err(self.unavailable(&"timed out")),
        }
    }

    /// Waits until there is a connection, for a limited time.
    pub(super) async fn wait_until_up(&self, at_most: Duration) {
        let mut states = self.state.subscribe();
        let _ = timeout(at_most, states.wait_for(|state| matches!(state, ConnectionState::Up(..)))).await;
    }

    pub(super) fn is_up(&self) -> bool {
        matches!(*self.state.borrow(), ConnectionState::Up(..))
    }

    /// Waits until the Sentinels name another master than this one. The old one may still run and take writes, for as long as the
    /// Sentinels have not made it a replica: with several nodes, some would use the one and some the other.
    async fn master_replaced(&self, master: Option<MasterAddress>) {
        let (Some(master), Topology::Sentinel { sentinels, name, .. }) = (master, &self.address.topology) else {
            return pending().await;
        };
        loop {
            sleep(MASTER_CHECK_INTERVAL).await;
            if named_master(&self.address, sentinels, name).await.is_ok_and(|named| named != master) {
                return;
            }
        }
    }

    fn unavailable(&self, why: &dyn std::fmt::Display) -> StoreError {
        StoreError::shared(format!("Redis at {}: {why}", self.address))
    }

    /// Marks a connection as lost, unless a newer one has replaced it.
    fn mark_lost(&self, lost: u64, next: ConnectionState) {
        self.state.send_if_modified(|state| match state {
            ConnectionState::Up(_, generation) if *generation == lost => {
                *state = next;
                true
            }
            _ => false,
        });
    }

    /// Connects, and again whenever the connection is lost. Runs until it is dropped.
    pub(super) async fn run(self, write_check: Cmd) {
        let mut states = self.state.subscribe();
        for generation in 1_u64.. {
            let connected = timeout(CONNECT_TIMEOUT, connect(&self.address, self.timeout, &write_check)).await;
            match connected
                .map_err(|_| "timed out".to_owned())
                .and_then(|transport| transport.map_err(|error| error.to_string()))
            {
                Ok((transport, master)) => {
                    if let ConnectionState::Down(_) =
                        self.state.send_replace(ConnectionState::Up(transport, generation))
                    {
                        tracing::info!(address = %self.address, "Redis responds again");
                    }
                    tokio::select! {
                        // This receiver's task owns the sender, so the channel does not close.
                        _ = states.wait_for(|state| !matches!(state, ConnectionState::Up(..))) => {
                            tracing::warn!(address = %self.address, "the connection to Redis was lost");
                        }
                        () = self.master_replaced(master) => {
                            tracing::warn!(address = %self.address, "the Sentinels name another master of Redis");
                            self.mark_lost(generation, ConnectionState::Trying);
                        }
                    }
                    sleep(RECONNECT_DELAY).await;
                }
                Err(why) => {
                    if let ConnectionState::Trying = self.state.send_replace(ConnectionState::Down(why.as_str().into()))
                    {
                        tracing::warn!(address = %self.address, why, "Redis does not respond");
                    }
                    sleep(RETRY_INTERVAL).await;
                }
            }
        }
    }
}

impl RedisCall<'_> {
    /// Sends one command and waits for its answer.
    pub(super) async fn ask<V: FromRedisValue>(&self, command: &Cmd) -> Result<V> {
        let mut transport = self.transport.clone();
        match timeout_at(self.deadline, transport.ask(command)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => {
                if is_connection_error(&error) {
                    self.connection.mark_lost(self.generation, ConnectionState::Trying);
                }
                Err(self.connection.unavailable(&error))
            }
            Err(_) => {
                self.connection.mark_lost(self.generation, ConnectionState::Down("timed out".into()));
                Err(self.connection.unavailable(&"timed out"))
            }
        }
    }
}

/// Returns whether a new connection may help: this one is broken, or its server is no longer the master.
fn is_connection_error(error: &RedisError) -> bool {
    let elsewhere = [
        ServerErrorKind::ReadOnly,
        ServerErrorKind::BusyLoading,
        ServerErrorKind::MasterDown,
        ServerErrorKind::ClusterDown,
        ServerErrorKind::TryAgain,
    ];
    error.is_io_error()
        || error.is_unrecoverable_error()
        // A master that was cut off from its replicas (`min-replicas-to-write`): the others may have another one.
        || error.code() == Some("NOREPLICAS")
        || matches!(error.kind(), ErrorKind::Server(kind) if elsewhere.contains(&kind))
}

/// Returns a connection, and the master that it is to, if Sentinels have named it.
async fn connect(
    address: &RedisAddress,
    timeout: Duration,
    write_check: &Cmd,
) -> RedisResult<(RedisTransport, Option<MasterAddress>)> {
    if let Topology::Cluster(nodes) = &address.topology {
        // The retries are for redirections, when slots move. The library also repeats a command whose connection was
        // lost and which may have run: so each of ours may run twice.
        let builder = ClusterClient::builder(nodes.clone()).retries(2).connection_timeout(timeout).max_retry_wait(50);
        let builder = address.certificates().into_iter().fold(builder, redis::cluster::ClusterClientBuilder::certs);
        let connection = builder.response_timeout(timeout).build()?.get_async_connection().await?;
        return Ok((RedisTransport::Cluster(connection), None));
    }
    let (client, master) = match &address.topology {
        Topology::Sentinel { sentinels, name, master } => {
            let named = named_master(address, sentinels, name).await?;
            (address.client(with_address(master, named.0.clone(), named.1))?, Some(named))
        }
        Topology::Single(_) | Topology::Cluster(_) => (server(address, 0).await?, None),
    };
    let mut transport = RedisTransport::One(connection(&client).await?);
    // Rejects a server that takes no writes.
    transport.ask::<()>(write_check).await?;
    Ok((transport, master))
}

pub(super) async fn connection(client: &Client) -> RedisResult<MultiplexedConnection> {
    // Every use has its own deadline.
    let config = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
    client.get_multiplexed_async_connection_with_config(&config).await
}

/// Returns the server to connect to. In a cluster, `turn` rotates through the servers.
pub(super) async fn server(address: &RedisAddress, turn: usize) -> RedisResult<Client> {
    match &address.topology {
        Topology::Single(info) => address.client(info.clone()),
        Topology::Cluster(nodes) => {
            let node = nodes.iter().cycle().nth(turn.checked_rem(nodes.len()).unwrap_or_default());
            address.client(node.cloned().ok_or((ErrorKind::InvalidClientConfig, "no servers"))?)
        }
        Topology::Sentinel { sentinels, name, master } => {
            let (host, port) = named_master(address, sentinels, name).await?;
            address.client(with_address(master, host, port))
        }
    }
}

/// Asks the Sentinels for the master.
async fn named_master(
    address: &RedisAddress,
    sentinels: &[[ConnectionInfo; 2]],
    name: &str,
) -> RedisResult<MasterAddress> {
    let asked = sentinels.iter().map(|sentinel| timeout(SENTINEL_TIMEOUT, ask(address, sentinel, name)));
    let answers: Vec<_> = join_all(asked).await.into_iter().flatten().flatten().collect();
    let master = agreed_master(&answers, sentinels.len());
    Ok(master
        .cloned()
        .ok_or((ErrorKind::MasterNameNotFoundBySentinel, "no majority of the Sentinels names a master"))?)
}

/// Returns the master that more than half of all Sentinels name. Those that do not answer count: a minority that was cut
/// off may still name the old master.
fn agreed_master(answers: &[MasterAddress], sentinels: usize) -> Option<&MasterAddress> {
    answers.iter().find(|one| answers.iter().filter(|other| other == one).count() * 2 > sentinels)
}

/// Asks a Sentinel for the master, first without a password and then with one.
async fn ask(address: &RedisAddress, [plain, known]: &[ConnectionInfo; 2], name: &str) -> RedisResult<MasterAddress> {
    match ask_as(address, plain, name).await {
        Err(error) if !error.is_io_error() => ask_as(address, known, name).await,
        answers => answers,
    }
}

async fn ask_as(address: &RedisAddress, sentinel: &ConnectionInfo, name: &str) -> RedisResult<MasterAddress> {
    let mut transport = connection(&address.client(sentinel.clone())?).await?;
    cmd("SENTINEL").arg("get-master-addr-by-name").arg(name).query_async(&mut transport).await
}

/// Creates the command for a script with one key, so that it runs on the server of that key. It sends the whole text,
/// because a server that has just become master knows no scripts.
pub(super) fn script(text: &str, key: &str) -> Cmd {
    let mut eval = cmd("EVAL");
    eval.arg(text).arg(1).arg(key);
    eval
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::sync::atomic::{AtomicU16, Ordering};

    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::mpsc;

    use super::*;

    /// A server that answers every command: as a Sentinel with the port of the master, otherwise with OK, as a master would.
    /// Returns its port. It sends that port for each command `SET`.
    async fn fake_server(master: Arc<AtomicU16>, writes: mpsc::UnboundedSender<u16>) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                drop(tokio::spawn(answer(stream, port, Arc::clone(&master), writes.clone())));
            }
        }));
        port
    }

    /// Each command is an array of strings: lines with their number and their lengths, which are skipped, and their texts.
    async fn answer(stream: TcpStream, port: u16, master: Arc<AtomicU16>, writes: mpsc::UnboundedSender<u16>) {
        let mut lines = BufReader::new(stream);
        let mut line = String::new();
        while lines.read_line(&mut line).await.is_ok_and(|length| length > 0) {
            let answer = match line.trim_end() {
                "SENTINEL" => {
                    let master = master.load(Ordering::SeqCst).to_string();
                    format!("*2\r\n$9\r\n127.0.0.1\r\n${}\r\n{master}\r\n", master.len())
                }
                "SET" => {
                    writes.send(port).unwrap();
                    "+OK\r\n".to_owned()
                }
                "HELLO" | "CLIENT" | "SELECT" | "PING" => "+OK\r\n".to_owned(),
                _ => String::new(),
            };
            lines.get_mut().write_all(answer.as_bytes()).await.unwrap();
            line.clear();
        }
    }

    /// The old master still runs and takes writes.
    #[tokio::test]
    async fn a_connection_follows_the_master_that_the_sentinels_name() {
        let (master, (writes, mut written)) = (Arc::new(AtomicU16::new(0)), mpsc::unbounded_channel());
        let start = || fake_server(Arc::clone(&master), writes.clone());
        let (sentinel, old, new) = (start().await, start().await, start().await);
        master.store(old, Ordering::SeqCst);
        let address = RedisAddress::parse(&format!("redis-sentinel://127.0.0.1:{sentinel}/desk"), None).unwrap();
        let connection = RedisConnection::new(Arc::new(address), Duration::from_secs(10));
        let mut check = cmd("SET");
        check.arg("key").arg("value");
        let running = tokio::spawn(connection.clone().run(check));
        assert_eq!(written.recv().await, Some(old));
        master.store(new, Ordering::SeqCst);
        assert_eq!(timeout(Duration::from_secs(30), written.recv()).await.unwrap(), Some(new));
        running.abort();
    }

    #[test]
    fn a_majority_of_all_sentinels_names_the_master() {
        let master = |name: char| (name.to_string(), 6379);
        for (answers, sentinels, agreed) in [
            ("a", 1, Some('a')),
            ("a", 2, None),
            ("ab", 2, None),
            ("aa", 2, Some('a')),
            ("", 3, None),
            ("a", 3, None),
            ("ab", 3, None),
            ("aa", 3, Some('a')),
            ("baa", 3, Some('a')),
            ("aabb", 4, None),
            ("aa", 5, None),
        ] {
            let named: Vec<_> = answers.chars().map(master).collect();
            let expected = agreed.map(master);
            assert_eq!(agreed_master(&named, sentinels), expected.as_ref(), "{answers:?} of {sentinels}");
        }
    }
}
