//! The store of a scaled-out service: a schema in PostgreSQL and a prefix in Redis.

use std::cell::RefCell;
use std::sync::{Arc, LazyLock, mpsc};

use tokio::runtime::Runtime;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error, NoTls, SimpleQueryMessage};
use url::Url;

use super::FaultProxy;

/// A store for one test. All nodes with these settings form one cluster.
#[derive(Clone, Debug)]
pub(crate) struct ClusterStore {
    pub(crate) store: String,
    pub(crate) shared: String,
    pub(crate) prefix: String,
    /// The timeouts of PostgreSQL and Redis.
    pub(crate) timeouts: [&'static str; 2],
}

impl ClusterStore {
    /// The settings that select this store.
    pub(crate) fn settings(&self) -> [(&'static str, &str); 5] {
        let [store, shared] = self.timeouts;
        [
            ("store.url", &self.store),
            ("store.timeout", store),
            ("shared.url", &self.shared),
            ("shared.prefix", &self.prefix),
            ("shared.timeout", shared),
        ]
    }

    /// The same store, reached through proxies. Its own queries go through them, too.
    pub(crate) fn through(&self, postgres: Option<&FaultProxy>, redis: Option<&FaultProxy>) -> Self {
        let led = |address: &str, proxy: Option<&FaultProxy>| {
            let Some(proxy) = proxy else { return address.to_owned() };
            let (mut url, (host, port)) = (Url::parse(address).unwrap(), proxy.address().rsplit_once(':').unwrap());
            url.set_host(Some(host)).unwrap();
            url.set_port(port.parse().ok()).unwrap();
            url.into()
        };
        Self { store: led(&self.store, postgres), shared: led(&self.shared, redis), ..self.clone() }
    }

    /// Host and port of PostgreSQL and of Redis.
    pub(crate) fn addresses(&self) -> [String; 2] {
        [&self.store, &self.shared].map(|address| {
            let url = Url::parse(address).unwrap();
            format!("{}:{}", url.host_str().unwrap(), url.port().unwrap())
        })
    }

    /// The rows that a query returns, each row's columns joined by `|`.
    pub(crate) fn query(&self, sql: &str) -> Vec<String> {
        // The counterpart of SQLite's insertion order, as long as no row was updated.
        run_sql(&self.store, &sql.replace("rowid", "ctid"))
    }

    /// Runs SQL on a connection of its own, which stays open until the returned client is dropped.
    pub(crate) async fn hold(&self, sql: &str) -> Client {
        let (client, connection) = tokio_postgres::connect(&self.store, NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute(sql).await.unwrap();
        client
    }

    /// Every row of every table, as text.
    pub(crate) fn rows(&self) -> Vec<String> {
        let tables = self.query("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()");
        tables.iter().flat_map(|table| run_sql(&self.store, &format!("SELECT t::text FROM {table} t"))).collect()
    }

    /// Every key under the prefix in Redis, with its value.
    pub(crate) fn records(&self) -> Vec<(String, Vec<u8>)> {
        let mut redis = redis::Client::open(&*self.shared).unwrap().get_connection().unwrap();
        let keys: Vec<String> = redis::cmd("KEYS").arg(format!("{}*", self.prefix)).query(&mut redis).unwrap();
        let mut value = |key: &str| -> Vec<u8> {
            let plain = redis::cmd("GET").arg(key).query::<Option<Vec<u8>>>(&mut redis);
            let whatever_else = |_| redis::cmd("DUMP").arg(key).query(&mut redis).unwrap();
            plain.unwrap_or_else(whatever_else).unwrap_or_default()
        };
        keys.into_iter().map(|key| (key.clone(), value(&key))).collect()
    }

    /// The records of one ephemeral store in Redis, such as `code`.
    pub(crate) fn store_records(&self, name: &str) -> Vec<(String, Vec<u8>)> {
        let part = format!(":{name}:");
        self.records().into_iter().filter(|(key, _)| key.contains(&part)).collect()
    }

    /// Restores records in Redis, for a minute.
    pub(crate) fn restore_records(&self, records: &[(String, Vec<u8>)]) {
        let mut redis = redis::Client::open(&*self.shared).unwrap().get_connection().unwrap();
        for (key, value) in records {
            redis::cmd("SET").arg(key).arg(value).arg("PX").arg(60_000).query::<()>(&mut redis).unwrap();
        }
    }

    /// Deletes the records of one ephemeral store in Redis.
    pub(crate) fn forget_records(&self, name: &str) {
        let mut redis = redis::Client::open(&*self.shared).unwrap().get_connection().unwrap();
        for (key, _) in self.store_records(name) {
            redis::cmd("DEL").arg(key).query::<()>(&mut redis).unwrap();
        }
    }

    /// Sends a message to all nodes, as a node does.
    pub(crate) fn publish(&self, message: &str) {
        let mut redis = redis::Client::open(&*self.shared).unwrap().get_connection().unwrap();
        redis::cmd("PUBLISH").arg(format!("{}:1:bus", self.prefix)).arg(message).query::<()>(&mut redis).unwrap();
    }

    /// Host and port of PostgreSQL.
    pub(crate) fn postgres_address(&self) -> String {
        let url = Url::parse(&self.store).unwrap();
        format!("{}:{}", url.host_str().unwrap(), url.port().unwrap())
    }
}

/// The runtime of the connections below.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(1).enable_all().build().unwrap()
});

thread_local! {
    /// The connection that this thread used last, and its URL: a test usually asks the same database again.
    static CONNECTION: RefCell<Option<(String, Arc<Client>)>> = const { RefCell::new(None) };
}

/// Runs SQL on a server and returns its rows. On a runtime of its own, since tests call it inside their futures.
pub(super) fn run_sql(url: &str, sql: &str) -> Vec<String> {
    let kept = CONNECTION.take().filter(|(kept, client)| kept == url && !client.is_closed()).map(|(_, client)| client);
    let (send, receive) = mpsc::channel();
    RUNTIME.spawn(ask(url.to_owned(), sql.to_owned(), kept, send));
    let (client, found) = receive.recv().unwrap_or_else(|_| panic!("{url} does not answer {sql}"));
    CONNECTION.set(Some((url.to_owned(), client)));
    let found = found.unwrap_or_else(|error| panic!("{sql}: {error:?}")).into_iter();
    let row = |message| if let SimpleQueryMessage::Row(row) = message { Some(text(&row)) } else { None };
    found.filter_map(row).collect()
}

type Found = Result<Vec<SimpleQueryMessage>, Error>;

async fn ask(url: String, sql: String, kept: Option<Arc<Client>>, answer: mpsc::Sender<(Arc<Client>, Found)>) {
    if let Some(client) = kept {
        let found = client.simple_query(&sql).await;
        // A server that was stopped meanwhile has ended the connection, and has not seen the query.
        let stopped = [SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN];
        let ended = |error: &Error| error.code().is_none_or(|code| stopped.contains(code));
        if !found.as_ref().is_err_and(ended) {
            let _ = answer.send((client, found));
            return;
        }
    }
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    tokio::spawn(connection);
    let found = client.simple_query(&sql).await;
    let _ = answer.send((Arc::new(client), found));
}

fn text(row: &tokio_postgres::SimpleQueryRow) -> String {
    (0..row.len()).map(|at| row.get(at).unwrap_or("-")).collect::<Vec<_>>().join("|")
}
