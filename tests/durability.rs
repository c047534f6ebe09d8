//! Durability after SIGKILL: no acknowledged change is lost, and no ended session comes back.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::harness::{Client, Process, query, request};

/// The client's knowledge of a token.
#[derive(Clone, Debug)]
enum Known {
    /// Its sign-in was acknowledged, and no logout was requested. The last acknowledged role, and the last requested role.
    Live { acknowledged: String, asked: String },
    /// Its logout was acknowledged.
    Ended,
    /// Its logout was requested; the response never came.
    Unclear,
}

/// Counts acknowledgements and signals when there are enough.
#[derive(Debug)]
struct Trigger {
    left: AtomicUsize,
    now: Notify,
}

impl Trigger {
    fn acknowledged(&self) {
        if self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.now.notify_one();
        }
    }
}

/// Signs in, switches and signs out until the service is gone; returns the state of its tokens.
async fn customer(address: String, seed: usize, trigger: Arc<Trigger>) -> Vec<(String, Known)> {
    let mut known = Vec::new();
    let mut client = Client::connect(&address).await;
    for turn in seed.. {
        let Some(token) = sign_in(&mut client).await else { break };
        trigger.acknowledged();
        known.push((token.clone(), Known::Live { acknowledged: "admin".into(), asked: "admin".into() }));
        let last = known.len() - 1;
        if turn % 3 != 0 {
            let role = ["agent", "user"][turn % 2];
            known[last].1 = Known::Live { acknowledged: "admin".into(), asked: role.into() };
            if post(&mut client, "/api/auth/switch-role", &token, &json!({ "role": role })).await.is_none() {
                break;
            }
            trigger.acknowledged();
            known[last].1 = Known::Live { acknowledged: role.into(), asked: role.into() };
        }
        if turn % 2 == 0 {
            known[last].1 = Known::Unclear;
            if post(&mut client, "/api/auth/logout", &token, &json!({})).await.is_none() {
                break;
            }
            trigger.acknowledged();
            known[last].1 = Known::Ended;
        }
    }
    known
}

async fn sign_in(client: &mut Client) -> Option<String> {
    let body = json!({ "employee_id": "admin01" }).to_string();
    let answer = client
        .try_send(&request("POST", "/api/auth/bind", &[("content-type", "application/json")], body.as_bytes()))
        .await?;
    Some(answer.data()["token"].as_str()?.to_owned())
}

async fn post(client: &mut Client, path: &str, token: &str, body: &Value) -> Option<Value> {
    let (bearer, body) = (format!("Bearer {token}"), body.to_string());
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    Some(client.try_send(&request("POST", path, &headers, body.as_bytes())).await?.data())
}

/// Starts clients, kills the service after `acknowledgements` of their requests, and returns the clients' knowledge.
async fn kill_under_load(data: &Path, acknowledgements: usize) -> Vec<(String, Known)> {
    let process = Process::serve(data, &[]);
    let trigger = Arc::new(Trigger { left: AtomicUsize::new(acknowledgements), now: Notify::new() });
    let mut customers = JoinSet::new();
    for seed in 0..12 {
        customers.spawn(customer(process.address.clone(), seed, Arc::clone(&trigger)));
    }
    trigger.now.notified().await;
    process.kill();
    customers.join_all().await.into_iter().flatten().collect()
}

async fn check(address: &str, known: &[(String, Known)]) {
    let mut client = Client::connect(address).await;
    for (token, known) in known {
        let verified = client.verify(token).await;
        match known {
            Known::Live { acknowledged, asked } => {
                assert_eq!(verified["valid"], true, "an acknowledged sign-in was lost");
                let role = verified["current_role"].as_str().unwrap();
                assert!(role == acknowledged || role == asked, "an acknowledged switch was lost: {role}, {known:?}");
            }
            Known::Ended => assert_eq!(verified["valid"], false, "an acknowledged logout was undone"),
            Known::Unclear => {}
        }
    }
}

/// The number of kills; `make torture` sets a higher one.
fn kills() -> usize {
    std::env::var("TORTURE_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(20)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigkill_at_any_moment_loses_nothing_acknowledged() {
    let directory = tempfile::tempdir().unwrap();
    let (mut all, mut random) = (Vec::new(), 0x2545_F491_4F6C_DD1D_u64);
    for round in 1..=kills() {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let known = kill_under_load(directory.path(), 1 + usize::try_from(random % 400).unwrap()).await;
        // The service starts first: reading the file from here would recover it.
        let process = Process::serve(directory.path(), &[]);
        check(&process.address, &known).await;
        process.kill();
        let database = directory.path().join("deskpass.db");
        assert_eq!(query(&database, "PRAGMA integrity_check"), ["ok"]);
        let sign_ins = query(&database, "SELECT count(*) FROM login_log WHERE event = 'sign_in'");
        all.extend(known);
        println!("kill {round}: {} tokens known, {} sign-ins on record", all.len(), sign_ins[0]);
    }
    let process = Process::serve(directory.path(), &[]);
    check(&process.address, &all).await;
    assert!(all.iter().any(|(_, known)| matches!(known, Known::Ended)));
    assert!(all.iter().any(|(_, known)| matches!(known, Known::Live { .. })));
    let (code, _) = process.terminate();
    assert_eq!(code, Some(0));
}

/// The records set a lower bound for the time: a machine whose clock was set back does not repeat that time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn time_does_not_begin_before_what_is_on_record() {
    let later = "(SELECT MAX(expires_at) FROM session)";
    for recorded in [
        format!("UPDATE probe SET at = {later}"),
        // The probe time is cleared, since a row far after it would not count.
        format!("UPDATE probe SET at = 0; UPDATE login_log SET at = {later}, id = printf('%012x', {later})"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let process = Process::serve(directory.path(), &[]);
        let token = Client::connect(&process.address).await.sign_in("user01").await;
        process.kill();
        let process = Process::serve(directory.path(), &[]);
        assert!(Client::connect(&process.address).await.is_valid(&token).await);
        process.kill();
        let connection = rusqlite::Connection::open(directory.path().join("deskpass.db")).unwrap();
        connection.execute_batch(&recorded).unwrap();
        drop(connection);
        let process = Process::serve(directory.path(), &[]);
        let mut client = Client::connect(&process.address).await;
        assert_eq!(client.me(&token).await.refused(401, 1001).reason(), "expired", "{recorded}");
        let fresh = client.sign_in("user01").await;
        assert!(client.is_valid(&fresh).await);
    }
}
