//! Clients that do not read what they are sent.

use std::process::Stdio;
use std::time::{Duration, Instant};

use deskpass_core::{Clock, Timestamp, TotpStep};
use serde_json::{Value, json};

use super::{MIB, resident};
use crate::harness::{Client, Frame, Process, TestSocket, binary, until, with_settings};

const CROWD: u64 = 40;

/// Long messages, as many as fit into a body.
fn batch() -> Value {
    let card = json!({ "to": { "employee_id": "user01" }, "msg_type": "byod_card", "content": "a".repeat(60_000) });
    json!({ "messages": vec![card; 16] })
}

/// A key that may send, created by an administrator with a device.
async fn make_key(client: &mut Client) -> String {
    let clock = Clock::steady(Timestamp::from_millis(0));
    let admin = client.sign_in("admin01").await;
    let (device, _) = client.bind_device(&admin, &clock).await;
    let code = device.seed.code_at(TotpStep::from_number(TotpStep::at(clock.now()).number() + 1));
    let body = json!({ "name": "assistant", "scopes": ["messages"] });
    let made = client.admin_request(&admin, &code, "POST", "/api/admin/service-keys", &body).await.data();
    made["key"].as_str().unwrap().to_owned()
}

/// Reads all messages; returns the number of cards when no more arrive.
fn reading(mut socket: TestSocket) -> tokio::task::JoinHandle<(TestSocket, usize)> {
    tokio::spawn(async move {
        let mut cards = 0;
        loop {
            let message = socket.message().await;
            if message["content"] == "enough" {
                return (socket, cards);
            }
            cards += 1;
        }
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_never_read_cost_nothing_and_slow_no_other_down() {
    let data = tempfile::tempdir().unwrap();
    let mut command = binary();
    command.args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data"]).arg(data.path()).stderr(Stdio::null());
    with_settings(&mut command, [("sockets.max_per_employee", "1000")]);
    let process = Process::spawn(command);
    let mut client = Client::connect(&process.address).await;
    let key = make_key(&mut client).await;
    let token = client.sign_in("user01").await;
    let mut good = TestSocket::open(&process.address, "employee", &token).await;
    good.event("ready").await;
    // As much as is kept for reconnecting clients, so that it does not count below.
    let good = reading(good);
    let (body, enough) =
        (batch(), json!({ "to": { "employee_id": "user01" }, "msg_type": "byod_card", "content": "enough" }));
    for _ in 0..75 {
        client.send_messages(&key, &body).await.data();
    }
    client.send_messages(&key, &enough).await.data();
    let (good, cards) = good.await.unwrap();
    assert_eq!(cards, 75 * 16);
    let before = resident(process.id());

    let mut stuck = Vec::new();
    for _ in 0..CROWD {
        stuck.push(TestSocket::open_with_small_buffer(&process.address, &token).await);
    }
    let good = reading(good);
    let (mut most, mut slowest) = (before, Duration::ZERO);
    for _ in 0..40 {
        let since = Instant::now();
        client.send_messages(&key, &body).await.data();
        slowest = slowest.max(since.elapsed());
        most = most.max(resident(process.id()));
    }
    client.send_messages(&key, &enough).await.data();
    let (mut good, cards) = good.await.unwrap();
    assert_eq!(cards, 40 * 16, "a client that reads gets everything");
    assert!(slowest < Duration::from_secs(2), "a batch took {slowest:?}");
    let grown = most.saturating_sub(before);
    assert!(grown <= 32 * MIB, "{} MiB more", grown / MIB);

    until("clients that do not read are gone", async || client.metric("deskpass_sockets").await == Some(1)).await;
    assert_eq!(client.metric("deskpass_sockets_closed_total{code=\"1013\"}").await, Some(CROWD));
    good.is_quiet().await;
    drop(stuck);
}

on_every_store! {
    /// A client that falls behind is closed with a reason, and resumes where it was.
    async fn a_client_that_was_too_slow_comes_back_and_has_lost_nothing(app) {
        let (key, _) = app.service_key("messages").await;
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        let mut slow = TestSocket::open_with_small_buffer(&app.address, &token).await;
        let card = |content: usize, length: usize| json!({ "to": { "employee_id": "user01" }, "msg_type": "byod_card", "content": content, "extra_data": "a".repeat(length) });
        // More than the kernel buffers for a client that does not read, and then more than such a client may lag behind.
        let long = (0..80).step_by(16).map(|start| (start..start + 16, 60_000));
        for (places, length) in long.chain((80..380).step_by(100).map(|start| (start..start + 100, 1))) {
            let many: Vec<_> = places.map(|content| card(content, length)).collect();
            client.send_messages(&key, &json!({ "messages": many })).await.data();
        }
        let (mut last, mut next) = (String::new(), 0);
        let parting = loop {
            match slow.any().await {
                Frame::Text(text) => {
                    text["id"].as_str().unwrap().clone_into(&mut last);
                    if text["msg_type"] != "session" {
                        assert_eq!(text["content"], next);
                        next += 1;
                    }
                }
                Frame::Ping(_) | Frame::Pong(_) => {}
                other => break other,
            }
        };
        assert_eq!(parting, Frame::Close(1013, "too_slow".into()), "after {next}");
        assert!(next < 380 - 256, "{next} were read");
        let mut again = TestSocket::resume(&app.address, "employee", &token, Some(&last)).await;
        assert_eq!(again.event("ready").await["content"]["resumed"], true);
        for content in next..380 {
            assert_eq!(again.message().await["content"], content);
        }
        again.is_quiet().await;
    }
}
