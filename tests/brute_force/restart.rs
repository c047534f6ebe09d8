//! Failed attempts outlive the process and the client's connection.

use std::path::Path;

use serde_json::json;

use super::{PAUSE, WRONG, guess_wrong, shut};
use crate::harness::{Client, ClusterStore, PASSWORD, Process, Servers, query, request, until};

/// The number of failed attempts on record.
const COUNTED: &str = "SELECT in_a_row FROM guess WHERE employee_key = 'agent01' AND trial = 'password'";

fn guess(password: &str) -> Vec<u8> {
    let body = json!({ "employee_id": "agent01", "password": password }).to_string();
    request("POST", "/api/agents/login", &[("content-type", "application/json")], body.as_bytes())
}

on_every_store! {
    async fn counts_outlive_a_restart(app) {
        let mut client = app.client().await;
        client.first_password("agent01").await;
        guess_wrong(&mut client, 4).await;
        let app = app.restart().await;
        let mut client = app.client().await;
        guess_wrong(&mut client, 1).await;
        shut(&client.agent_login("agent01", PASSWORD).await);
        let app = app.restart().await;
        let mut client = app.client().await;
        assert_eq!(shut(&client.agent_login("agent01", PASSWORD).await), 900);
        app.clock.advance(PAUSE);
        client.partial_sign_in("agent01").await;
    }

    async fn a_guess_counts_when_the_client_hangs_up(app) {
        let mut client = app.client().await;
        client.first_password("agent01").await;
        for count in 1..=5 {
            let mut impatient = app.client().await;
            impatient.start(&guess(WRONG)).await;
            // An attempt counts once the service has received it, so the client waits for that before it hangs up.
            until("a guess was not counted", async || app.query(COUNTED) == [count.to_string()]).await;
            drop(impatient);
        }
        assert_eq!(shut(&client.agent_login("agent01", PASSWORD).await), 900);
        app.clock.advance(PAUSE);
        // A right password resets the count, also when the client does not wait for the response.
        let mut impatient = app.client().await;
        impatient.start(&guess(PASSWORD)).await;
        until("a guess was not counted", async || app.query(COUNTED) != ["5"]).await;
        drop(impatient);
        until("a right guess was not noticed", async || app.query(COUNTED).is_empty()).await;
        guess_wrong(&mut client, 4).await;
        client.partial_sign_in("agent01").await;
    }
}

/// Kills the service during attempts; every attempt that was checked stays counted.
async fn killed_over_guesses(start: impl Fn() -> Process, on_record: impl Fn() -> Vec<String>) {
    let node = start();
    Client::connect(&node.address).await.first_password("agent01").await;
    // The attempts are answered before the kill.
    let mut client = Client::connect(&node.address).await;
    guess_wrong(&mut client, 2).await;
    node.kill();
    let node = start();
    // The attempts are on record, and the service is killed before a client reads the response.
    let mut asked = Vec::new();
    for _ in 0..3 {
        let mut client = Client::connect(&node.address).await;
        client.start(&guess(WRONG)).await;
        asked.push(client);
    }
    until("no guess was counted", async || on_record() != ["2"]).await;
    node.kill();
    let node = start();
    let mut client = Client::connect(&node.address).await;
    let counted: usize = on_record()[0].parse().unwrap();
    assert!((3..=5).contains(&counted), "{counted}");
    guess_wrong(&mut client, 5 - counted).await;
    assert!((1..=900).contains(&shut(&client.agent_login("agent01", PASSWORD).await)));
    assert_eq!(on_record(), ["5"]);
    drop(asked);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_gives_no_guess_back() {
    let directory = tempfile::tempdir().unwrap();
    let data: &Path = directory.path();
    killed_over_guesses(|| Process::serve(data, &[]), || query(&data.join("deskpass.db"), COUNTED)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_gives_no_guess_back_scaled_out() {
    let place: ClusterStore = Servers::shared().cluster_store();
    killed_over_guesses(|| Process::node(&place, &[]), || place.query(COUNTED)).await;
}
