//! A real Prometheus, with the files of `deploy/prometheus`; only the address of the node and the intervals differ.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use super::servers::root;
use super::{encoded, free_address, until};

/// A running Prometheus, which scrapes one node. It ends with the test.
#[derive(Debug)]
pub(crate) struct Prometheus {
    child: Child,
    address: String,
    _directory: TempDir,
}

/// The folder with the files for operators.
pub(crate) fn deployed(name: &str) -> PathBuf {
    root().join("deploy").join(name)
}

/// Runs promtool on an input; returns what it says.
pub(crate) fn promtool(arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new("promtool");
    command.args(arguments).current_dir(deployed("prometheus"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("promtool; tools/services installs it");
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    // promtool may write before it has read everything.
    let writing = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    // A command that reads nothing closes its input early.
    drop(writing.join().unwrap());
    output
}

impl Prometheus {
    /// Starts a Prometheus and waits until it has scraped the node.
    pub(crate) async fn scraping(node: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let config = std::fs::read_to_string(deployed("prometheus/prometheus.yml")).unwrap();
        let node = format!("[\"{node}\"]");
        let ours = [
            ("scrape_interval: 15s", "scrape_interval: 1s"),
            ("evaluation_interval: 15s", "evaluation_interval: 1s"),
            (r#"["10.0.0.11:8080", "10.0.0.12:8080"]"#, &*node),
        ];
        let config = ours.iter().fold(config, |text, (given, ours)| {
            assert!(text.contains(given), "no {given:?} in the file");
            text.replace(given, ours)
        });
        let file = directory.path().join("prometheus.yml");
        std::fs::write(&file, config).unwrap();
        std::fs::copy(deployed("prometheus/rules.yml"), directory.path().join("rules.yml")).unwrap();
        let (address, log) = (free_address(), File::create(directory.path().join("log")).unwrap());
        let mut command = Command::new("prometheus");
        command.arg(format!("--config.file={}", file.display()));
        command.arg(format!("--storage.tsdb.path={}", directory.path().join("data").display()));
        command.arg(format!("--web.listen-address={address}"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let child = command.spawn().expect("prometheus; tools/services installs it");
        let mut prometheus = Self { child, address, _directory: directory };
        until("Prometheus has scraped the node", async || {
            assert_eq!(prometheus.child.try_wait().unwrap(), None, "Prometheus ended");
            prometheus.values("up == 1").is_some_and(|values| !values.is_empty())
        })
        .await;
        prometheus
    }

    /// The values of a query; `None` while Prometheus does not answer.
    pub(crate) fn values(&self, query: &str) -> Option<Vec<f64>> {
        let answer = self.get(&format!("/api/v1/query?query={}", encoded(query)))?;
        assert_eq!(answer["status"], "success", "{query}: {answer}");
        let series = answer["data"]["result"].as_array()?;
        Some(series.iter().map(|series| series["value"][1].as_str().unwrap().parse().unwrap()).collect())
    }

    /// The JSON at a path of the API.
    pub(crate) fn get(&self, path: &str) -> Option<Value> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        // Version 1.0: the response ends with the connection.
        write!(stream, "GET {path} HTTP/1.0\r\nhost: localhost\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
