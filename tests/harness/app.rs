//! A service inside the test's own process: real sockets, real disk, a clock that the test advances.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use deskpass::config::{self, Override, Settings, Sources};
use deskpass::server::{Server, listen};
use deskpass_auth::Auth;
use deskpass_core::{Clock, EmployeeId, EmployeeKey, Person, Role, Roles, Timestamp};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::{Client, ClusterStore, Messenger, StoreBackend, platform_kind};

/// A running service.
#[derive(Debug)]
pub(crate) struct TestApp {
    pub(crate) address: String,
    pub(crate) clock: Clock,
    app: deskpass::App,
    settings: Settings,
    stop: Option<oneshot::Sender<()>>,
    stopped: Option<JoinHandle<()>>,
    home: TestStorage,
}

/// The data of a service.
#[derive(Debug)]
struct TestStorage {
    directory: TempDir,
    /// The cluster store of a scaled-out service, used instead of the directory.
    place: Option<ClusterStore>,
}

impl TestStorage {
    fn at(place: Option<ClusterStore>) -> Self {
        Self { directory: tempfile::tempdir().unwrap(), place }
    }

    /// The same settings, pointed at this data.
    fn apply_to(&self, given: Settings) -> Settings {
        let given = Settings { data: self.directory.path().to_owned(), ..given };
        let Some(place) = &self.place else { return given };
        let led = settings(&[&[("development.enabled", "true")], &place.settings()[..]].concat());
        let store = config::Store { connections: given.store.connections, ..led.store };
        Settings { store, shared: led.shared, ..given }
    }
}

/// Settings as from a file and flags.
pub(crate) fn settings(given: &[(&'static str, &str)]) -> Settings {
    let overrides = given.iter().map(|(key, value)| Override { key, value: (*value).to_owned(), flag: "a test" });
    let nothing = |_: &Path| Err(std::io::ErrorKind::NotFound.into());
    let sources = Sources { file: None, environment: Vec::new(), overrides: overrides.collect(), read: &nothing };
    config::load(&sources).unwrap()
}

/// Development mode. The time zone is not that of the machine which runs the suite.
const DEVELOPMENT: [(&str, &str); 2] = [("development.enabled", "true"), ("notices.time_zone", "Asia/Shanghai")];

/// The settings of development mode on the platform of the test, and more.
pub(crate) fn development(more: &[(&'static str, &str)]) -> Settings {
    let kind = [("platform.kind", platform_kind().name())];
    settings(&[&DEVELOPMENT[..], &kind[..], more].concat())
}

/// Made-up values of the settings that production requires.
pub(crate) const PRODUCTION: [(&str, &str); 4] = [
    ("platform.corp_id", "wwdeskpass"),
    ("platform.secret", "canary-corp-secret"),
    ("public_url", "https://desk.example.com"),
    ("encryption_key", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="),
];

/// The settings that production requires, on the platform of the test.
pub(crate) fn production_pairs() -> Vec<(&'static str, &'static str)> {
    let application = Messenger::current().application();
    let own = PRODUCTION.into_iter().filter(|(key, _)| application.iter().all(|(given, _)| given != key));
    own.chain(application.iter().copied()).collect()
}

impl TestApp {
    /// A service in development mode.
    pub(crate) async fn start() -> Self {
        Self::with(development(&[])).await
    }

    /// A service in production mode. It has no agent id.
    pub(crate) async fn production() -> Self {
        let given: Vec<_> = production_pairs().into_iter().filter(|(key, _)| *key != "platform.agent_id").collect();
        let given = settings(&given);
        Self::with(Settings { server: config::Server { settle: Duration::ZERO, ..given.server }, ..given }).await
    }

    /// A service with these settings, on a free port, on a fresh store of the test's kind.
    pub(crate) async fn with(settings: Settings) -> Self {
        Box::pin(Self::open(settings, TestStorage::at(StoreBackend::current().cluster_store()), new_clock())).await
    }

    /// A service with these settings that looks programs up at this name server. A restart forgets it.
    pub(crate) async fn with_name_server(settings: Settings, name_server: SocketAddr) -> Self {
        let home = TestStorage::at(StoreBackend::current().cluster_store());
        let configured = |server: Server| server.with_name_server(name_server);
        Box::pin(Self::open_as(settings, home, new_clock(), "127.0.0.1:0", configured)).await
    }

    /// A service in development mode with this clock.
    pub(crate) async fn with_clock(clock: Clock) -> Self {
        let settings = development(&[]);
        Box::pin(Self::open(settings, TestStorage::at(StoreBackend::current().cluster_store()), clock)).await
    }

    /// A service with these settings and this clock, on data that `prepare` puts into the directory, or into the cluster store.
    pub(crate) async fn on_data(
        settings: Settings,
        clock: Clock,
        prepare: impl AsyncFnOnce(&Path, Option<&ClusterStore>),
    ) -> Self {
        let home = TestStorage::at(StoreBackend::current().cluster_store());
        prepare(home.directory.path(), home.place.as_ref()).await;
        Box::pin(Self::open(settings, home, clock)).await
    }

    /// A service with these settings on a store that other nodes may share.
    pub(crate) async fn at(place: &ClusterStore, settings: Settings) -> Self {
        Box::pin(Self::open(settings, TestStorage::at(Some(place.clone())), new_clock())).await
    }

    /// A service with these settings and this clock on a store that others may share.
    pub(crate) async fn at_time(place: &ClusterStore, settings: Settings, clock: Clock) -> Self {
        Box::pin(Self::open(settings, TestStorage::at(Some(place.clone())), clock)).await
    }

    /// Another node of the same cluster, with the same settings and the same clock. Only for the scaled-out store.
    pub(crate) async fn second_node(&self) -> Self {
        let home = TestStorage::at(Some(self.cluster_store().clone()));
        Box::pin(Self::open(self.settings.clone(), home, self.clock.clone())).await
    }

    /// Another node of the same cluster, with other settings and the same clock. Only for the scaled-out store.
    pub(crate) async fn second_node_with(&self, settings: Settings) -> Self {
        let home = TestStorage::at(Some(self.cluster_store().clone()));
        Box::pin(Self::open(settings, home, self.clock.clone())).await
    }

    /// Another node of the same cluster, with the same settings and another clock. Only for the scaled-out store.
    pub(crate) async fn second_node_at(&self, clock: Clock) -> Self {
        let home = TestStorage::at(Some(self.cluster_store().clone()));
        Box::pin(Self::open(self.settings.clone(), home, clock)).await
    }

    async fn open(settings: Settings, home: TestStorage, clock: Clock) -> Self {
        Box::pin(Self::open_on(settings, home, clock, "127.0.0.1:0")).await
    }

    async fn open_on(settings: Settings, home: TestStorage, clock: Clock, address: &str) -> Self {
        Box::pin(Self::open_as(settings, home, clock, address, |server| server)).await
    }

    async fn open_as(
        settings: Settings,
        home: TestStorage,
        clock: Clock,
        address: &str,
        configured: impl FnOnce(Server) -> Server,
    ) -> Self {
        let given = home.apply_to(settings);
        let (settings, listener) = listen(given.clone().with_listen_address(address.parse().unwrap())).await.unwrap();
        let address = settings.listen.to_string();
        let app = deskpass::App::open_at(settings, clock.clone()).await.unwrap();
        let server = configured(Server::new(app.clone(), listener));
        let (stop, stopping) = oneshot::channel();
        let stopped = tokio::spawn(server.run(async { drop(stopping.await) }));
        Self { address, clock, app, settings: given, stop: Some(stop), stopped: Some(stopped), home }
    }

    /// Stops the service and opens it again on the same data.
    pub(crate) async fn restart(mut self) -> Self {
        self.stop().await;
        let Self { clock, app, settings, home, .. } = self;
        drop(app);
        Box::pin(Self::open(settings, home, clock)).await
    }

    /// Stops the service and opens it again on the same data, at the same address: pages that are open find it again.
    pub(crate) async fn restart_in_place(mut self) -> Self {
        self.stop().await;
        let Self { address, clock, app, settings, home, .. } = self;
        drop(app);
        Box::pin(Self::open_on(settings, home, clock, &address)).await
    }

    /// Stops the service and opens it again on the same data with other settings.
    pub(crate) async fn restart_with(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self.restart().await
    }

    /// Stops the service and returns the error of opening it again with other settings.
    pub(crate) async fn reopen_error(self, given: &[(&'static str, &str)]) -> String {
        let Self { clock, app, home, .. } = self;
        drop(app);
        Box::pin(deskpass::App::open_at(home.apply_to(settings(given)), clock)).await.unwrap_err().to_string()
    }

    /// Asks the service to stop and waits until it has.
    pub(crate) async fn stop(&mut self) {
        drop(self.stop.take());
        if let Some(stopped) = self.stopped.take() {
            stopped.await.unwrap();
        }
    }

    /// Signals the service to stop, without waiting.
    pub(crate) fn ask_to_stop(&mut self) {
        drop(self.stop.take());
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(&self.address).await
    }

    pub(crate) fn auth(&self) -> &Auth {
        &self.app.auth
    }

    pub(crate) fn key(&self, employee: &str) -> EmployeeKey {
        self.auth().resolve_key(None, &EmployeeId::parse(employee).unwrap())
    }

    /// Adds an employee of the home corporation.
    pub(crate) async fn add(&self, employee: &str, role: Role) {
        self.add_named(employee, employee, role).await;
    }

    /// Adds an employee of the home corporation with a name.
    pub(crate) async fn add_named(&self, employee: &str, name: &str, role: Role) {
        self.add_person(self.key(employee), employee, name, role).await;
    }

    /// Signs in a namesake of user01 in a connected corporation; returns the token.
    pub(crate) async fn sign_in_at_partner(&self) -> String {
        self.add_person(EmployeeKey::from_parts("wwpartner", "user01"), "user01", "Namesake", Role::User).await;
        let body = serde_json::json!({ "employee_id": "user01", "corp_id": "wwpartner" });
        let entered = self.client().await.post("/api/dev/login", &[], &body).await.data();
        entered["token"].as_str().unwrap().to_owned()
    }

    async fn add_person(&self, key: EmployeeKey, employee: &str, name: &str, role: Role) {
        let (name, roles) = (name.to_owned(), Roles::NONE.with(role));
        let person = Person { name, roles, ..Person::new(key, employee) };
        self.auth().operator().add_employee(person).await.unwrap();
    }

    /// The database file of an embedded service.
    pub(crate) fn database(&self) -> PathBuf {
        assert!(self.home.place.is_none(), "this desk has no file");
        self.home.directory.path().join("deskpass.db")
    }

    /// The cluster store of a scaled-out service.
    pub(crate) fn cluster_store(&self) -> &ClusterStore {
        self.home.place.as_ref().expect("an embedded desk is alone")
    }

    /// Blocks writes to the service's database until the lock is released; reads go on.
    pub(crate) async fn block_writes(&self) -> WriteLock {
        let Some(place) = &self.home.place else {
            let connection = rusqlite::Connection::open(self.database()).unwrap();
            connection.execute_batch("BEGIN IMMEDIATE").unwrap();
            return WriteLock::File(connection);
        };
        let lock = "BEGIN; LOCK TABLE employee, session, login_log IN SHARE ROW EXCLUSIVE MODE";
        WriteLock::Server(place.hold(lock).await)
    }

    /// The rows that a query returns from the service's database, each row's columns joined by `|`.
    pub(crate) fn query(&self, sql: &str) -> Vec<String> {
        match &self.home.place {
            Some(place) => place.query(sql),
            None => query(&self.database(), sql),
        }
    }
}

/// A lock that blocks writes to the database.
#[derive(Debug)]
pub(crate) enum WriteLock {
    File(rusqlite::Connection),
    Server(tokio_postgres::Client),
}

impl WriteLock {
    /// Releases the lock and returns once it is released.
    pub(crate) async fn release(self) {
        match self {
            Self::File(connection) => connection.execute_batch("ROLLBACK").unwrap(),
            Self::Server(client) => client.batch_execute("ROLLBACK").await.unwrap(),
        }
    }
}

/// The clock of a new service; every service begins at the same time.
fn new_clock() -> Clock {
    Clock::manual(Timestamp::from_millis(1_800_000_000_000))
}

/// The rows that a query returns from a database, each row's columns joined by `|`.
pub(crate) fn query(database: &Path, sql: &str) -> Vec<String> {
    let connection = rusqlite::Connection::open(database).unwrap();
    let mut statement = connection.prepare(sql).unwrap();
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| {
        let column = |at| row.get::<_, rusqlite::types::Value>(at);
        let texts = (0..columns).map(|at| column(at).map(text)).collect::<Result<Vec<_>, _>>()?;
        Ok(texts.join("|"))
    });
    rows.unwrap().map(Result::unwrap).collect()
}

fn text(value: rusqlite::types::Value) -> String {
    match value {
        rusqlite::types::Value::Text(text) => text,
        rusqlite::types::Value::Integer(number) => number.to_string(),
        rusqlite::types::Value::Null => "-".to_owned(),
        other => format!("{other:?}"),
    }
}
