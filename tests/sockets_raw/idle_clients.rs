//! Many clients that only wait for messages.

use std::process::Stdio;

use super::{MIB, resident};
use crate::harness::{Client, Process, TestSocket, binary, with_settings};

/// Sockets that are opened before the memory is measured, for what the service allocates once, and those that are measured.
const FIRST: usize = 100;
const MEASURED: usize = 600;

/// Ten kilobytes each. With the buffers of the requests that opened them, they would take twice as much.
const MAX_GROWTH: usize = 6 * MIB;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cost_little_memory() {
    let data = tempfile::tempdir().unwrap();
    let mut command = binary();
    command.args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data"]).arg(data.path()).stderr(Stdio::null());
    with_settings(&mut command, [("sockets.max_per_employee", "1000"), ("server.max_connections_per_address", "1000")]);
    let process = Process::spawn(command);
    let token = Client::connect(&process.address).await.sign_in("user01").await;
    let (mut open, mut before) = (Vec::new(), 0);
    for number in 0..FIRST + MEASURED {
        if number == FIRST {
            before = resident(process.id());
        }
        let mut socket = TestSocket::open(&process.address, "employee", &token).await;
        socket.event("ready").await;
        open.push(socket);
    }
    let grown = resident(process.id()).saturating_sub(before);
    assert!(grown <= MAX_GROWTH, "{} KB each", grown / MEASURED / 1_000);
}
