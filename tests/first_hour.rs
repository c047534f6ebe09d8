//! The first hour of an operator: the commands of its document, run with bash exactly as written, in production mode against the
//! simulated platform.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::tutorial::search_path;

/// The Chinese one has the same commands, as the test of translations makes sure.
const DOCUMENT: &str = include_str!("../docs/first-hour.md");

/// The commands of the document, in the order of its blocks.
fn commands(document: &str) -> String {
    let blocks = document.split("```sh\n").skip(1);
    blocks.map(|block| block.split_once("```").expect("the end of the block").0).collect()
}

/// Two ports that are free now.
fn free_ports() -> [u16; 2] {
    let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

/// Runs the script; whatever it started ends with it. Returns whether it succeeded, and its output.
fn bash(script: &str, directory: &Path) -> (bool, String) {
    let script = format!("exec 2>&1\nset -euo pipefail\ntrap 'kill $(jobs -p) 2> /dev/null || true' EXIT\n{script}\n");
    let mut bash = Command::new("bash");
    // Without the environment of the test run: no proxies, no settings of curl or of the service.
    bash.env_clear().env("PATH", search_path()).env("HOME", directory).env("LANG", "C.UTF-8");
    let output = bash.arg("-c").arg(script).current_dir(directory).stdin(Stdio::null()).output().expect("bash runs");
    (output.status.success(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn an_operator_gets_through_the_first_hour_with_the_document_alone() {
    let directory = tempfile::tempdir().unwrap();
    let [desk, platform] = free_ports().map(|port| format!(":{port}"));
    let script = commands(DOCUMENT).replace(":8080", &desk).replace(":8090", &platform);
    // The document leaves the default address to the service; the test needs a free port.
    let script = script.replace("deskpass serve ", &format!("deskpass serve --listen 127.0.0.1{desk} "));
    let (success, output) = bash(&script, directory.path());
    let log = std::fs::read_to_string(directory.path().join("service.log")).unwrap_or_default();
    assert!(success, "{output}\n{log}");
    assert!(output.contains("the settings are valid (production mode)"), "{output}");
    assert!(output.contains("left_platform") && output.contains("receipt: "), "{output}");
    assert!(!output.contains("dpa_") && !log.contains("dpa_"), "a token was printed: {output}\n{log}");
}
