//! The store of a scaled-out service: a schema in PostgreSQL and a prefix in Redis.

use tokio_postgres::{NoTls, SimpleQueryMessage};
use url::Url;

/// A store for one test. All nodes with these settings form one cluster.
#[derive(Clone, Debug)]
pub(crate) struct ClusterStore {
    pub(crate) store: String,
    pub(crate) shared: String,
    pub(crate) prefix: String,
}

impl ClusterStore {
    /// The settings that select this store.
    pub(crate) fn settings(&self) -> [(&'static str, &str); 3] {
        [("store.url", &self.store), ("shared.url", &self.shared), ("shared.prefix", &self.prefix)]
    }

    /// The rows that a query returns, each row's columns joined by `|`.
    pub(crate) fn query(&self, sql: &str) -> Vec<String> {
        // The counterpart of SQLite's insertion order, as long as no row was updated.
        run_sql(&self.store, &sql.replace("rowid", "ctid"))
    }

    /// Runs SQL on a connection of its own, which stays open until the returned client is dropped.
    pub(crate) async fn hold(&self, sql: &str) -> tokio_postgres::Client {
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

    /// Host and port of PostgreSQL.
    pub(crate) fn postgres_address(&self) -> String {
        let url = Url::parse(&self.store).unwrap();
        format!("{}:{}", url.host_str().unwrap(), url.port().unwrap())
    }
}

/// Runs SQL on a server and returns its rows. On a thread of its own, since tests call it inside their futures.
pub(super) fn run_sql(url: &str, sql: &str) -> Vec<String> {
    let ask = async {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        tokio::spawn(connection);
        client.simple_query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"))
    };
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let found = std::thread::scope(|scope| scope.spawn(|| runtime().block_on(ask)).join());
    let found = found.unwrap_or_else(|panic| std::panic::resume_unwind(panic)).into_iter();
    let row = |message| if let SimpleQueryMessage::Row(row) = message { Some(text(&row)) } else { None };
    found.filter_map(row).collect()
}

fn text(row: &tokio_postgres::SimpleQueryRow) -> String {
    (0..row.len()).map(|at| row.get(at).unwrap_or("-")).collect::<Vec<_>>().join("|")
}
