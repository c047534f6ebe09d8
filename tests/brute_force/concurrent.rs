//! Simultaneous guesses, on one node and on two.

use std::collections::BTreeMap;

use serde_json::json;
use tokio::task::JoinSet;

use super::{PAUSE, WRONG, shut};
use crate::harness::{Client, PASSWORD, Response, StoreBackend, TestApp};

const CROWD: usize = 200;

/// The credentials that each client of a crowd sends.
#[derive(Clone)]
enum Brings {
    /// A wrong password, under one of the spellings of a name.
    Password,
    /// A wrong code, to one of the endpoints that ask for codes.
    Code { wrong: String, half: String, whole: String },
}

impl Brings {
    async fn ask(self, at: usize, mut client: Client) -> Response {
        let Self::Code { wrong, half, whole } = self else {
            return client.agent_login(["agent01", "AGENT01"][at % 2], WRONG).await;
        };
        let body = json!({ "code": wrong });
        match at % 3 {
            0 => client.post_as(&half, "/api/auth/otp-verify", &body).await,
            1 => client.post_as(&whole, "/api/auth/otp-verify", &body).await,
            _ => client.post_with_otp(&whole, "/api/admin/agents/agent01/unlock", Some(&wrong)).await,
        }
    }
}

/// Sends all requests at once, and counts the response codes.
async fn at_once(desks: &[&TestApp], brings: &Brings) -> BTreeMap<u64, usize> {
    let mut clients = Vec::new();
    for at in 0..CROWD {
        clients.push(desks[at % desks.len()].client().await);
    }
    let mut crowd = JoinSet::new();
    for (at, client) in clients.into_iter().enumerate() {
        crowd.spawn(brings.clone().ask(at, client));
    }
    let mut codes = BTreeMap::new();
    for answer in crowd.join_all().await {
        *codes.entry(answer.code()).or_default() += 1;
    }
    codes
}

async fn passwords(desks: &[&TestApp]) {
    let mut client = desks[0].client().await;
    client.first_password("agent01").await;
    for _ in 0..2 {
        let codes = at_once(desks, &Brings::Password).await;
        assert_eq!(codes.get(&1011), Some(&5), "{codes:?}");
        assert!(codes.keys().all(|code| matches!(code, 1006 | 1011 | 1013)), "{codes:?}");
        assert_eq!(shut(&client.agent_login("agent01", PASSWORD).await), 900);
        desks[0].clock.advance(PAUSE);
    }
    assert_eq!(desks[0].query("SELECT in_a_row FROM guess WHERE trial = 'password'"), ["10"]);
    client.partial_sign_in("agent01").await;
}

async fn codes(desks: &[&TestApp]) {
    let device = desks[0].agent_with_device("admin01").await;
    let mut client = desks[0].client().await;
    let (half, whole) = (client.partial_sign_in("admin01").await, client.sign_in("admin01").await);
    let brings = Brings::Code { wrong: device.wrong_code(), half, whole: whole.clone() };
    let codes = at_once(desks, &brings).await;
    assert_eq!(codes, BTreeMap::from([(1008, 5), (1013, CROWD - 5)]));
    let right = json!({ "code": device.next_code() });
    assert_eq!(shut(&client.post_as(&whole, "/api/auth/otp-verify", &right).await), 870);
}

on_every_store! {
    async fn of_two_hundred_passwords_at_once_five_are_looked_at(app) {
        passwords(&[&app]).await;
    }

    async fn of_two_hundred_codes_at_once_five_are_looked_at(app) {
        codes(&[&app]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_hundred_passwords_at_once_on_two_nodes_five_are_looked_at() {
    let test = async {
        let one = TestApp::start().await;
        let other = one.second_node().await;
        passwords(&[&one, &other]).await;
    };
    StoreBackend::ScaledOut.run(Box::pin(test)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_hundred_codes_at_once_on_two_nodes_five_are_looked_at() {
    let test = async {
        let one = TestApp::start().await;
        let other = one.second_node().await;
        codes(&[&one, &other]).await;
    };
    StoreBackend::ScaledOut.run(Box::pin(test)).await;
}
