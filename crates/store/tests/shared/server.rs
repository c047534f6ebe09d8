//! A private Redis for a test, as a real process.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use deskpass_core::{EncryptionKeys, Timestamp};
use deskpass_store::{RedisSettings, SharedState, StoreError};
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

/// Shared state with a number in place of the progress of a code.
pub(crate) type Desk = SharedState<u32>;

/// A server that stops when this value is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    child: Option<Child>,
    directory: TempDir,
    pub(crate) port: u16,
    arguments: Vec<String>,
}

impl Server {
    /// Starts a server on a port of its own.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        let mut server = Self { child: None, directory: tempfile::tempdir().unwrap(), port: free_port(), arguments };
        server.begin();
        server
    }

    /// Starts it again, empty, after it was killed.
    pub(crate) fn begin(&mut self) {
        let mut command = Command::new("redis-server");
        command.args(["--save", "", "--appendonly", "no", "--bind", "127.0.0.1", "--daemonize", "no"]);
        command.arg("--dir").arg(self.directory.path());
        if !self.arguments.iter().any(|argument| argument == "--tls-port") {
            command.arg("--port").arg(self.port.to_string());
        }
        command.args(self.arguments.iter().map(|argument| argument.replace("{port}", &self.port.to_string())));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = lines.by_ref().map_while(Result::ok).any(|line| line.contains("Ready to accept connections"));
        assert!(ready, "redis-server did not start");
        // Drains the output, so that the server does not block on a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        self.child = Some(child);
    }

    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Sends a signal to the server, to pause or resume it.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.as_ref().unwrap().id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(crate) fn cli(&self, arguments: &[&str]) -> String {
        let output = Command::new("redis-cli").arg("-p").arg(self.port.to_string()).args(arguments).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

pub(crate) fn free_port() -> u16 {
    // Cluster nodes also take the port ten thousand above.
    std::iter::repeat_with(|| TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port())
        .find(|port| *port < 50_000 && TcpListener::bind(("127.0.0.1", port + 10_000)).is_ok())
        .unwrap()
}

/// The settings of a node for a server.
pub(crate) fn settings(url: &str) -> RedisSettings {
    let (url, prefix) = (url.to_owned(), "test".to_owned());
    let (keys, timeout) = (EncryptionKeys::one([1; 32]), Duration::from_secs(1));
    RedisSettings { url, prefix, keys, timeout, max_sign_ins: 50_000, ca_file: None }
}

/// A node that waits long: a server on a busy machine is slow, and not broken.
pub(crate) fn patient_node(url: &str) -> Desk {
    SharedState::redis(RedisSettings { timeout: Duration::from_secs(10), ..settings(url) }).unwrap()
}

/// A node.
pub(crate) fn node(url: &str) -> Desk {
    SharedState::redis(settings(url)).unwrap()
}

pub(crate) fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// Polls until a condition holds, for the asynchronous work of a real process.
pub(crate) async fn eventually<F: Future<Output = bool>>(what: &str, within: Duration, mut ask: impl FnMut() -> F) {
    let deadline = Instant::now() + within;
    while !ask().await {
        assert!(Instant::now() < deadline, "{what}: not within {within:?}");
        sleep(Duration::from_millis(20)).await;
    }
}

/// Waits until a node works with its server.
pub(crate) async fn works(node: &Desk, within: Duration) {
    eventually("the shared store works", within, || async { node.probe().await.is_ok() }).await;
}

/// The result of a call, which must end in time.
pub(crate) async fn in_time<T>(call: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    tokio::time::timeout(Duration::from_millis(2_500), call).await.expect("no request waits longer, whatever is broken")
}
