//! A service that messages are posted to, and a breakable connection to it.

use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::harness::{Client, ClusterStore, Operator, Process, Servers, StoreBackend, binary, free_address};

/// The storage of a service and its key.
pub(super) enum Home {
    Directory(tempfile::TempDir),
    Cluster(ClusterStore),
}

/// A service in a process of its own, and a key for posting messages.
pub(super) struct App {
    pub(super) home: Home,
    key: String,
    pub(super) process: Process,
}

impl App {
    pub(super) fn start() -> Self {
        let home = match StoreBackend::current() {
            StoreBackend::Embedded => Home::Directory(tempfile::tempdir().unwrap()),
            StoreBackend::ScaledOut => Home::Cluster(Servers::shared().cluster_store()),
        };
        let operator = home.operator();
        operator.succeed(&["migrate", "--create"]);
        let shown = operator.succeed(&["service-key", "create", "help desk", "--scope", "messages"]);
        let key = shown.lines().find_map(|line| line.trim().strip_prefix("service key: ")).expect("a key").to_owned();
        let process = home.serve(&free_address());
        Self { home, key, process }
    }

    /// An address on this service.
    pub(super) fn at(&self, path: &str) -> String {
        format!("http://{}{path}", self.process.address)
    }

    pub(super) async fn client(&self) -> Client {
        Client::connect(&self.process.address).await
    }

    /// Posts recommendations to one person, each of which is a number.
    pub(super) async fn recommend(&self, employee: &str, numbers: std::ops::Range<u32>) {
        for number in numbers {
            self.send(employee, json!({ "msg_type": "dynamic_recommend", "content": number })).await;
        }
    }

    /// Posts a message to one person.
    pub(super) async fn send(&self, employee: &str, mut message: Value) -> Value {
        message["to"] = json!({ "employee_id": employee });
        let bearer = format!("Bearer {}", self.key);
        self.client().await.post("/api/messages", &[("authorization", &bearer)], &message).await.data()
    }
}

impl Home {
    fn operator(&self) -> Operator<'_> {
        match self {
            Self::Directory(directory) => Operator::In(directory.path()),
            Self::Cluster(place) => Operator::At(place),
        }
    }

    pub(super) fn serve(&self, address: &str) -> Process {
        match self {
            Self::Directory(directory) => {
                let mut command = binary();
                command.args(["serve", "--dev", "--listen", address]).current_dir(directory.path());
                Process::spawn(command)
            }
            Self::Cluster(place) => Process::node(place, &[("listen", address)]),
        }
    }
}

/// A proxy to a service whose connections can be cut and redirected to another one.
pub(super) struct BreakableConnection {
    pub(super) address: String,
    to: watch::Sender<Option<String>>,
}

impl BreakableConnection {
    pub(super) async fn to(address: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let here = listener.local_addr().unwrap().to_string();
        let (to, led) = watch::channel(Some(address.to_owned()));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(carry(stream, led.clone()));
            }
        });
        Self { address: here, to }
    }

    /// Cuts all open connections and accepts no new ones.
    pub(super) fn cut(&self) {
        self.to.send_replace(None);
    }

    pub(super) fn lead_to(&self, address: &str) {
        self.to.send_replace(Some(address.to_owned()));
    }
}

async fn carry(mut near: TcpStream, mut led: watch::Receiver<Option<String>>) {
    let to = led.borrow_and_update().clone();
    let Some(to) = to else { return };
    let Ok(mut far) = TcpStream::connect(to).await else { return };
    tokio::select! {
        _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
        _ = led.changed() => {}
    }
}
