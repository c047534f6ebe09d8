//! The encryption key is replaced while the service runs: no device, password, recovery code or row of the log is lost.

mod command;
mod kills;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use deskpass::config::Settings;
use deskpass_core::{EncryptionKeys, KeyBytes, key_id};
use deskpass_store::{
    ChainKeys, KeyForgetting, KeySwitch, Location, LogVerdict, LogVerification, Mode, PostgresSettings, Receipt,
    verify_log,
};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::harness::{Client, ClusterStore, Device, PASSWORD, STEP, Servers, StoreBackend, TestApp, settings};

const OLD: KeyBytes = [1; 32];
const NEW: KeyBytes = [2; 32];
const VERIFY: &str = "/api/auth/otp-verify";

/// The setting for these keys.
fn key_list(keys: &[KeyBytes]) -> String {
    keys.iter().map(|key| STANDARD.encode(key)).collect::<Vec<_>>().join(",")
}

fn with_keys(keys: &[KeyBytes]) -> Settings {
    settings(&[("development.enabled", "true"), ("encryption_key", &key_list(keys))])
}

/// Moves the data to the first key, as `deskpass key rotate` does; returns how many devices moved.
async fn rotate(app: &TestApp) -> (KeySwitch, u64) {
    let operator = app.auth().operator();
    let (switched, mut after, mut moved) = (operator.switch_key().await.unwrap(), None, 0);
    loop {
        let batch = operator.reseal_devices(after, 2).await.unwrap();
        moved += batch.moved;
        if batch.next.is_none() {
            return (switched, moved);
        }
        after = batch.next;
    }
}

fn postgres(place: &ClusterStore) -> Location {
    Location::Postgres(PostgresSettings::new(place.store.clone()))
}

/// Verifies the log with these keys; it must be intact.
async fn verified(app: &TestApp, keys: &[KeyBytes], receipt: Option<&Receipt>) -> LogVerdict {
    let location = match StoreBackend::current() {
        StoreBackend::Embedded => Location::Embedded(app.database().parent().unwrap().to_owned()),
        StoreBackend::ScaledOut => postgres(app.cluster_store()),
    };
    let keys = ChainKeys::new(&EncryptionKeys::new(keys[0], keys[1..].iter().copied()));
    let verification = LogVerification::new(&location, Mode::Development, &keys, |_| true);
    let verdict = verify_log(LogVerification { receipt, ..verification }).await.unwrap();
    assert!(verdict.faults.is_empty() && verdict.fitting == verdict.rows, "{verdict:?}");
    verdict
}

/// Signs in with the usual password and a code of the device; returns the token.
async fn sign_in_whole(client: &mut Client, employee: &str, code: &str) -> String {
    let half = client.partial_sign_in(employee).await;
    let whole = client.post_as(&half, VERIFY, &json!({ "code": code })).await.data();
    whole["token"].as_str().unwrap().to_owned()
}

async fn set_up_password(client: &mut Client, employee: &str, code: &str) -> Value {
    let body = json!({ "employee_id": employee, "setup_code": code, "new_password": PASSWORD });
    client.post("/api/agents/password/setup", &[], &body).await.data()
}

fn password_hash(app: &TestApp, employee: &str) -> String {
    app.query(&format!("SELECT password_hash FROM agent WHERE employee_key = '{employee}'")).remove(0)
}

on_every_store! {
    async fn what_the_old_key_protects_is_valid_before_during_and_after() {
        let mut app = TestApp::with(with_keys(&[OLD])).await;
        let (device, other) = (app.agent_with_device("agent01").await, app.agent_with_device("admin01").await);
        let setup_code = app.auth().operator().reset_password(app.key("supervisor01")).await.unwrap().code.text();
        let device_code = app.auth().operator().reset_device(app.key("security01")).await.unwrap().code.text();
        let receipt = verified(&app, &[OLD], None).await.receipt;
        assert!(!password_hash(&app, "agent01").contains("keyid"), "as nodes of the previous version read it");

        for keys in [[OLD, NEW], [NEW, OLD]] {
            app = app.restart_with(with_keys(&keys)).await;
            sign_in_whole(&mut app.client().await, "agent01", &device.next_code()).await;
        }
        assert!(!password_hash(&app, "agent01").contains("keyid"), "the data keeps its key until it is told to change");
        sign_in_whole(&mut app.client().await, "agent01", &device.recovery_codes[0]).await;
        verified(&app, &[OLD], Some(&receipt)).await;
        assert_eq!(app.auth().key_status().await.unwrap().devices_left(), 2);
        assert_eq!(rotate(&app).await, (KeySwitch::Switched, 2));
        assert_eq!(rotate(&app).await, (KeySwitch::Already, 0), "again, with nothing left to do");
        sign_in_whole(&mut app.client().await, "agent01", &device.next_code()).await;
        assert!(password_hash(&app, "agent01").contains(",keyid="), "it moved at its use");
        let between = verified(&app, &[NEW], Some(&receipt)).await.receipt;

        // The old key is removed from the settings.
        app = app.restart_with(with_keys(&[NEW])).await;
        let status = app.auth().key_status().await.unwrap();
        assert_eq!((status.devices_left(), status.passwords_left()), (0, 1), "{status:?}");
        let mut client = app.client().await;
        for (employee, device) in [("agent01", &device), ("admin01", &other)] {
            sign_in_whole(&mut client, employee, &device.next_code()).await;
            sign_in_whole(&mut client, employee, &device.recovery_codes[1]).await;
        }
        assert_eq!(app.auth().key_status().await.unwrap().passwords_left(), 0);
        set_up_password(&mut client, "supervisor01", &setup_code).await;
        client.partial_sign_in("supervisor01").await;
        let token = client.sign_in("security01").await;
        let setup = client.post_as(&token, "/api/auth/otp-setup", &json!({ "setup_code": device_code })).await.data();
        let third = Device::scan(&setup, &app.clock);
        client.post_as(&token, "/api/auth/otp-bind", &json!({ "code": third.code() })).await.data();
        for receipt in [&receipt, &between] {
            verified(&app, &[NEW], Some(receipt)).await;
        }
        assert_eq!(app.query("SELECT COUNT(*) FROM login_log WHERE event = 'key_rotated'"), ["1"]);
    }

    async fn codes_are_accepted_while_devices_are_encrypted_anew() {
        let app = TestApp::with(with_keys(&[OLD])).await;
        let mut client = app.client().await;
        let mut owners = Vec::new();
        for employee in ["agent01", "admin01", "supervisor01", "security01"] {
            let token = client.sign_in(employee).await;
            let (device, _) = client.bind_device(&token, &app.clock).await;
            owners.push((employee, token, device));
        }
        let secrets = app.query("SELECT employee_key, otp_secret FROM agent WHERE otp_secret IS NOT NULL");
        let app = app.restart_with(with_keys(&[NEW, OLD])).await;
        assert_eq!(rotate(&app).await, (KeySwitch::Switched, 4));
        for _ in 0..StoreBackend::current().rounds(25) {
            for row in &secrets {
                let (employee, sealed) = row.split_once('|').unwrap();
                app.query(&format!("UPDATE agent SET otp_secret = '{sealed}' WHERE employee_key = '{employee}'"));
            }
            app.clock.advance(STEP);
            let mut asked = JoinSet::new();
            for (employee, token, device) in &owners {
                let (mut client, token, code) = (app.client().await, token.clone(), device.code());
                let employee = *employee;
                asked.spawn(async move {
                    let answer = client.post_as(&token, VERIFY, &json!({ "code": code })).await;
                    assert_eq!(answer.status, 200, "{employee}: {answer:?}");
                });
            }
            let ((_, moved), _) = tokio::join!(rotate(&app), asked.join_all());
            assert_eq!(moved, 4);
        }
        verified(&app, &[NEW], None).await;
    }

    async fn a_device_that_is_bound_meanwhile_stays() {
        let app = TestApp::with(with_keys(&[OLD])).await;
        let mut client = app.client().await;
        let token = client.sign_in("agent01").await;
        let (mut device, _) = client.bind_device(&token, &app.clock).await;
        let app = app.restart_with(with_keys(&[NEW, OLD])).await;
        let mut client = app.client().await;
        for _ in 0..StoreBackend::current().rounds(10) {
            let rebind = async {
                let unbind = json!({ "code": device.next_code() });
                client.post_as(&token, "/api/auth/otp-unbind", &unbind).await.data();
                client.bind_device(&token, &app.clock).await.0
            };
            (device, _) = tokio::join!(rebind, rotate(&app));
            client.post_as(&token, VERIFY, &json!({ "code": device.next_code() })).await.data();
        }
        let app = app.restart_with(with_keys(&[NEW])).await;
        app.client().await.post_as(&token, VERIFY, &json!({ "code": device.next_code() })).await.data();
    }

    async fn a_new_key_that_is_not_used_yet_can_be_taken_back() {
        let app = TestApp::with(with_keys(&[OLD])).await;
        app.client().await.first_password("agent01").await;
        let app = app.restart_with(with_keys(&[NEW, OLD])).await;
        let device = app.agent_with_device("admin01").await;
        app.client().await.partial_sign_in("agent01").await;
        let app = app.restart_with(with_keys(&[OLD])).await;
        app.client().await.partial_sign_in("agent01").await;
        sign_in_whole(&mut app.client().await, "admin01", &device.next_code()).await;
        sign_in_whole(&mut app.client().await, "admin01", &device.recovery_codes[0]).await;
    }

    async fn an_old_key_makes_no_credentials_once_it_is_removed_and_forgotten() {
        let app = TestApp::with(with_keys(&[OLD])).await;
        let device = app.agent_with_device("agent01").await;
        let old = app.query("SELECT otp_secret, password_hash FROM agent WHERE employee_key = 'agent01'").remove(0);
        let (secret, hash) = old.split_once('|').unwrap();
        let app = app.restart_with(with_keys(&[NEW, OLD])).await;
        rotate(&app).await;
        let app = app.restart_with(with_keys(&[NEW])).await;
        let renewed = app.query("SELECT otp_secret FROM agent WHERE employee_key = 'agent01'").remove(0);
        let set = |column: &str, value: &str| {
            app.query(&format!("UPDATE agent SET {column} = '{value}' WHERE employee_key = 'agent01'"));
        };
        set("otp_secret", secret);
        let half = app.client().await.partial_sign_in("agent01").await;
        let code = json!({ "code": device.next_code() });
        let refused = app.client().await.post_as(&half, VERIFY, &code).await;
        assert_eq!(refused.status, 500, "sealed with a key that was replaced: {refused:?}");
        set("otp_secret", &renewed);
        sign_in_whole(&mut app.client().await, "agent01", &device.next_code()).await;
        set("password_hash", hash);
        let forgotten = app.auth().operator().forget_key(key_id(&OLD)).await.unwrap();
        assert_eq!(forgotten, KeyForgetting::Forgotten);
        app.client().await.agent_login("agent01", PASSWORD).await.refused(401, 1011);
        assert_eq!(app.query("SELECT COUNT(*) FROM login_log WHERE event = 'key_forgotten'"), ["1"]);
        verified(&app, &[NEW], None).await;
    }

    async fn of_many_sign_ins_that_move_a_password_all_succeed() {
        let app = TestApp::with(with_keys(&[OLD])).await;
        app.client().await.first_password("agent01").await;
        let before = password_hash(&app, "agent01");
        let app = app.restart_with(with_keys(&[NEW, OLD])).await;
        assert_eq!(rotate(&app).await, (KeySwitch::Switched, 0));
        for _ in 0..StoreBackend::current().rounds(10) {
            app.query(&format!("UPDATE agent SET password_hash = '{before}' WHERE employee_key = 'agent01'"));
            let mut sign_ins = JoinSet::new();
            for _ in 0..3 {
                let mut client = app.client().await;
                sign_ins.spawn(async move { client.agent_login("agent01", PASSWORD).await.status });
            }
            assert_eq!(sign_ins.join_all().await, [200; 3]);
            assert!(password_hash(&app, "agent01").contains(",keyid="));
            app.client().await.agent_login("agent01", "three horses crossed a bridge").await.refused(401, 1011);
            app.client().await.partial_sign_in("agent01").await;
        }
    }
}

/// Nodes are restarted one after the other: each combination that occurs works together.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_with_both_keys_in_either_order_are_one_service() {
    let place = Servers::shared().cluster_store();
    let one = TestApp::at(&place, with_keys(&[OLD, NEW])).await;
    let other = one.second_node_with(with_keys(&[NEW, OLD])).await;
    let behind = one.second_node_with(with_keys(&[OLD])).await;
    let device = one.agent_with_device("agent01").await;
    let [mut first, mut second] = [one.client().await, other.client().await];
    for client in [&mut first, &mut second] {
        sign_in_whole(client, "agent01", &device.next_code()).await;
    }
    // A sign-in that began on one node and is in Redis is completed on the other.
    for (from, to) in [(&one, &other), (&other, &one)] {
        let code = from.client().await.qrcode().await;
        let ticket = code["ticket"].as_str().unwrap();
        let [here, there] =
            [from.client().await.scan_status(ticket).await, to.client().await.scan_status(ticket).await];
        assert_eq!(here["status"], there["status"]);
    }
    assert_eq!(behind.client().await.get("/api/ready", &[]).await.status, 200);
    assert_eq!(rotate(&other).await.0, KeySwitch::Switched);
    for client in [&mut first, &mut second] {
        sign_in_whole(client, "agent01", &device.next_code()).await;
    }
    // A node that lacks the new key refuses what it cannot record, and says so where a balancer looks.
    one.clock.advance(STEP);
    let mut lost = behind.client().await;
    assert_eq!(lost.get("/api/ready", &[]).await.status, 503);
    let refused = lost.post("/api/dev/login", &[], &json!({ "employee_id": "user01" })).await;
    assert_eq!(refused.status, 503, "{refused:?}");
    let keys = ChainKeys::new(&EncryptionKeys::one(NEW));
    let location = postgres(&place);
    let verdict = verify_log(LogVerification::new(&location, Mode::Development, &keys, |_| true)).await.unwrap();
    assert!(verdict.faults.is_empty(), "{verdict:?}");
}
