//! Events of the platform: what each of them changes, once, and what is asked of the platform afterwards.

use std::time::Duration;

use deskpass_auth::SyncOptions;
use deskpass_platform::PlatformKind;
use serde_json::json;

use super::refused_events::{event, sealed};
use super::{Desk, FRESH, change, control, department, event_settings, reason_of_event, receiver, synchronise};
use crate::harness::{Messenger, TestApp, platform_kind, request, until};

const SECOND: Duration = Duration::from_secs(1);

on_every_platform! {
    both stores:
    async fn who_leaves_is_signed_out_before_the_platform_has_its_answer_and_may_come_back() {
        let (mut desk, why) = (Desk::start().await, reason_of_event());
        let token = desk.client.sign_in_by_phone("user01").await;
        let mut socket = desk.app.socket("employee", &token).await;
        assert_eq!(desk.change("user01", &json!({ "state": "left" })).await.len(), 1);
        assert_eq!(desk.refusal(&token).await, "left");
        socket.ends_with(4401, "left").await;
        desk.handled().await;
        assert_eq!(desk.left("user01"), why);
        assert_eq!(desk.rows("user01"), [format!("employee_left|event; {why}; 1 session(s) ended")]);
        assert_eq!(desk.metric("deskpass_people_left_total{source=\"event\"}").await, 1);
        // A leaver is gone from the directory of DingTalk; elsewhere the record says so.
        let word = if platform_kind() == PlatformKind::Dingtalk { "not_a_member" } else { "disabled" };
        assert_eq!(desk.scan_error("user01").await, word);

        desk.app.clock.advance(FRESH);
        assert_eq!(desk.change("user01", &json!({ "state": "active" })).await.len(), 1);
        desk.handled().await;
        assert_eq!((desk.left("user01"), desk.rows("user01").remove(1)), ("-".to_owned(), "employee_returned|event".to_owned()));
        let again = desk.client.sign_in_by_phone("user01").await;
        assert!(desk.client.is_valid(&again).await);
        assert_eq!(desk.refusal(&token).await, "left", "what ended stays ended");
    }
}

on_every_platform! {
    async fn the_address_is_checked_when_it_is_entered() {
        // Without keys the service accepts nothing.
        let mut bare = Desk::without_events().await;
        let json = [("content-type", "application/json")];
        let enter = |at: &TestApp| request("PUT", "/sim/events", &json, receiver(&at.address).to_string().as_bytes());
        let refused = bare.client.send(&enter(&bare.app)).await;
        assert!(refused.status == 400 && refused.body.contains("status 403"), "{refused:?}");
        assert_eq!(bare.events("not_configured").await, 1);
        let mut desk = Desk::start().await;
        assert_eq!(desk.events("accepted").await, 1);
        // Other keys than those of the service.
        let mut wrong = receiver(&desk.app.address);
        let key = if platform_kind() == PlatformKind::Feishu { "encrypt_key" } else { "token" };
        wrong[key] = json!("another");
        let refused = desk.client.send(&request("PUT", "/sim/events", &json, wrong.to_string().as_bytes())).await;
        assert!(refused.status == 400 && refused.body.contains("status 403"), "{refused:?}");
        assert_eq!(desk.events("signature").await, 1);
    }

    /// The platform is asked after each event, since it may be late or wrong.
    async fn an_event_that_arrives_ten_times_is_handled_once_and_lifted_again_if_it_was_wrong() {
        let mut desk = Desk::start().await;
        let token = desk.client.sign_in_by_phone("user01").await;
        let event = desk.send(&json!({ "change": "left", "userid": "user01", "times": 10 })).await;
        let attempts = event["attempts"].as_array().unwrap();
        assert!(attempts.len() == 10 && attempts.iter().all(|attempt| attempt["accepted"] == true), "{event}");
        assert_eq!(desk.refusal(&token).await, "left");
        // Another node may have received it, so the platform is asked again when no clock can be wrong about which came first.
        until("the platform is asked again", async || {
            desk.app.clock.advance(SECOND * 10);
            desk.pending() == 0
        })
        .await;
        let rows = ["employee_left|event; left; 1 session(s) ended", "employee_returned|event"];
        assert_eq!((desk.rows("user01"), desk.left("user01")), (rows.map(str::to_owned).to_vec(), "-".to_owned()));
        assert_eq!(desk.app.query("SELECT count(*) FROM platform_event"), ["1"]);
        // With the check of the address.
        assert_eq!((desk.events("accepted").await, desk.events("repeated").await), (2, 9));
        desk.client.sign_in_by_phone("user01").await;
    }

    async fn a_leaver_stays_locked_out_while_the_platform_cannot_be_asked() {
        let (mut desk, profile) = (Desk::start().await, Messenger::current().profile);
        desk.client.sign_in_by_phone("user01").await;
        let before = desk.client.calls(profile).await;
        desk.client.set_fault(&json!({ "api": profile, "http_status": 500, "body": "", "times": 0 })).await;
        desk.send(&json!({ "change": "left", "userid": "user01" })).await;
        until("the platform is asked", async || desk.client.calls(profile).await > before).await;
        assert_eq!(desk.left("user01"), "left");
        control(&mut desk.client, "DELETE", "faults", &json!(null)).await;
        until("the platform is asked again", async || {
            desk.app.clock.advance(SECOND * 10);
            desk.left("user01") == "-"
        })
        .await;
        assert_eq!(desk.rows("user01").len(), 2);
    }

    async fn a_record_follows_what_changed() {
        let mut desk = Desk::start().await;
        desk.client.sign_in_by_phone("user01").await;
        let told = desk.change("user01", &json!({ "name": "Uma Night", "department": "Night Shift" })).await;
        if platform_kind() == PlatformKind::Wecom {
            // Such events are sent to the contacts assistant, whose address may be the same.
            assert!(told.is_empty(), "{told:?}");
            desk.send(&json!({ "change": "changed", "userid": "user01" })).await;
        }
        desk.handled().await;
        if platform_kind() == PlatformKind::Dingtalk {
            // Calls are metered there, so one synchronisation follows all changes.
            synchronise(&desk.app, SyncOptions::default()).await;
        }
        let record = desk.app.query("SELECT name, department FROM employee WHERE employee_key = 'user01'");
        assert_eq!(record, ["Uma Night|Night Shift"]);
        // Events about people who are not known here change nothing.
        for event in ["joined", "changed", "left"] {
            let event = desk.send(&json!({ "change": event, "userid": "stranger01" })).await;
            assert_eq!(event["accepted"], true, "{event}");
        }
        // A leaver without a record may be about to sign in for the first time, so that event is kept for a while.
        until("events are handled", async || {
            desk.app.clock.advance(SECOND * 60);
            desk.pending() == 0
        })
        .await;
        assert_eq!(desk.app.query("SELECT count(*) FROM employee WHERE employee_key = 'stranger01'"), ["0"]);
    }

    async fn who_drops_out_of_the_range_is_locked_out() {
        let mut desk = Desk::start().await;
        let token = desk.client.sign_in_by_phone("user01").await;
        let told = desk.change("user01", &json!({ "state": "hidden" })).await;
        if platform_kind() == PlatformKind::Dingtalk {
            // The platform says nothing about its range.
            assert!(told.is_empty() && desk.client.is_valid(&token).await, "{told:?}");
            return;
        }
        assert_eq!(desk.refusal(&token).await, "left");
        desk.handled().await;
        assert_eq!((desk.left("user01"), desk.rows("user01").len()), ("out_of_range".to_owned(), 1));
        desk.app.clock.advance(FRESH);
        desk.change("user01", &json!({ "state": "active" })).await;
        desk.handled().await;
        desk.client.sign_in_by_phone("user01").await;
    }

    async fn who_has_another_identifier_keeps_the_roles() {
        let (mut desk, kind) = (Desk::start().await, platform_kind());
        if kind == PlatformKind::Dingtalk {
            // Identifiers do not change there.
            return;
        }
        let token = desk.client.sign_in("supervisor01").await;
        let told = desk.change("supervisor01", &json!({ "userid": "supervisor02" })).await;
        if kind == PlatformKind::Wecom {
            assert!(told.is_empty(), "{told:?}");
            desk.send(&json!({ "change": "renamed", "userid": "supervisor01", "to": "supervisor02" })).await;
        }
        desk.handled().await;
        assert_eq!((desk.refusal(&token).await, desk.left("supervisor01")), ("left".to_owned(), "renamed".to_owned()));
        let renamed = "employee_renamed|event; supervisor01 -> supervisor02; 1 session(s) ended";
        assert_eq!(desk.rows("supervisor01"), [renamed]);
        let token = desk.client.sign_in_by_phone("supervisor02").await;
        assert_eq!(desk.roles(&token).await, ["supervisor", "user"]);
        let former = json!({ "employee_id": "supervisor01" });
        desk.client.post("/api/dev/login", &[], &former).await.refused(403, 1003);
    }

    async fn a_change_of_departments_is_followed_by_a_synchronisation() {
        let mut desk = Desk::start().await;
        desk.send(&json!({ "change": "department_changed", "id": department(4) })).await;
        desk.handled().await;
        let synchronised = async || Box::pin(desk.app.auth().synchronise_if_due()).await.unwrap();
        assert_eq!(synchronised().await, None, "more changes may follow");
        desk.app.clock.advance(Duration::from_mins(2));
        assert!(synchronised().await.is_some_and(|report| report.departments >= 6));
        assert_eq!(synchronised().await, None, "once");
    }
}

on_every_store! {
    async fn an_event_that_cannot_be_stored_is_sent_again() {
        let mut desk = Desk::start().await;
        let token = desk.client.sign_in("user01").await;
        let lock = desk.app.block_writes().await;
        let told = change(&mut desk.client, "user01", &json!({ "state": "left" })).await;
        let status = told[0]["attempts"][0]["status"].as_u64().unwrap();
        assert!(told[0]["accepted"] == false && status >= 500, "{told:?}");
        assert!(desk.events("unavailable").await == 1 && desk.client.is_valid(&token).await);
        lock.release().await;
        let again = control(&mut desk.client, "POST", "events/retry", &json!(null)).await;
        assert_eq!(again["events"][0]["accepted"], true, "{again}");
        // The first attempt may be stored after its answer, and the second one then changes nothing.
        until("the leaver is signed out", async || !desk.client.is_valid(&token).await).await;
        assert_eq!(desk.refusal(&token).await, "left");
        assert_eq!(desk.rows("user01").len(), 1);
    }

    async fn the_people_of_a_corporation_that_is_no_longer_connected_leave() {
        let mut desk = Desk::start().await;
        let (theirs, ours) = (desk.app.sign_in_at_partner().await, desk.client.sign_in("user01").await);
        desk.send(&json!({ "change": "corporation_removed", "id": "wwpartner" })).await;
        desk.handled().await;
        assert_eq!(desk.refusal(&theirs).await, "left");
        assert!(desk.client.is_valid(&ours).await);
        let left = desk.app.query("SELECT corp_id, left_why FROM employee WHERE left_at IS NOT NULL");
        assert_eq!(left, ["wwpartner|corporation_removed"]);
        // Nobody sends away the own corporation.
        desk.send(&json!({ "change": "corporation_removed", "id": Messenger::current().corp_id })).await;
        desk.handled().await;
        assert!(desk.client.is_valid(&ours).await);
    }

    /// Their record is still under the former identifier, since the platform cannot be asked about the new one.
    async fn who_leaves_under_a_new_identifier_is_locked_out_under_the_former_one() {
        let (mut desk, profile) = (Desk::start().await, Messenger::current().profile);
        let token = desk.client.sign_in("user01").await;
        desk.client.set_fault(&json!({ "api": profile, "http_status": 500, "body": "", "times": 0 })).await;
        desk.send(&json!({ "change": "renamed", "userid": "user01", "to": "user02" })).await;
        assert!(desk.client.is_valid(&token).await);
        desk.send(&json!({ "change": "left", "userid": "user02" })).await;
        assert_eq!((desk.refusal(&token).await, desk.left("user01")), ("left".to_owned(), "left".to_owned()));
    }

    /// Without a permission to see the status, the events are all there is.
    async fn who_comes_back_within_a_minute_is_admitted_by_the_event_alone() {
        let mut desk = Desk::start().await;
        desk.client.sign_in_by_phone("user01").await;
        let silent = json!({ "errcode": 0, "errmsg": "ok", "userid": "user01", "name": "U" });
        desk.client.set_fault(&json!({ "api": "user/get", "body": silent.to_string(), "times": 0 })).await;
        for (event, left) in [("left", "left"), ("joined", "-"), ("left", "left")] {
            desk.send(&json!({ "change": event, "userid": "user01" })).await;
            desk.handled().await;
            assert_eq!(desk.left("user01"), left, "{event}");
            desk.app.clock.advance(SECOND * 20);
        }
    }

    /// Of a departure and a return, the one that happened later counts, in whatever order and however late they arrive.
    async fn an_event_counts_from_when_it_happened() {
        let mut desk = Desk::start().await;
        desk.client.sign_in_by_phone("user01").await;
        let silent = json!({ "errcode": 0, "errmsg": "ok", "userid": "user01", "name": "U" });
        desk.client.set_fault(&json!({ "api": "user/get", "body": silent.to_string(), "times": 0 })).await;
        let began = desk.app.clock.now().millis() / 1_000;
        for (name, minute, arrives, left) in [
            ("unsubscribe", 0, 0, "out_of_range"),
            ("subscribe", -30, 1, "out_of_range"),
            ("subscribe", 2, 30, "-"),
            ("unsubscribe", 31, 50, "out_of_range"),
            ("subscribe", 30, 51, "out_of_range"),
            ("subscribe", 32, 52, "-"),
            // The departure arrives after the return that followed it.
            ("unsubscribe", 29, 53, "-"),
            ("unsubscribe", 33, 54, "out_of_range"),
            ("subscribe", 40, 55, "-"),
            ("subscribe", 20, 56, "-"),
            ("unsubscribe", 39, 57, "-"),
        ] {
            let now = began + arrives * 60;
            desk.app.clock.advance(Duration::from_millis(u64::try_from(now * 1_000 - desk.app.clock.now().millis()).unwrap_or(0)));
            let text = event(name, began + minute * 60);
            assert_eq!(desk.client.send(&sealed(&text, now)).await.status, 200);
            desk.handled().await;
            assert_eq!(desk.left("user01"), left, "{name} of minute {minute} at {arrives}");
        }
    }

    /// A node that stops before it has handled an event leaves it to the next one.
    async fn an_event_outlives_a_restart() {
        let mut desk = Desk::start().await;
        desk.client.sign_in_by_phone("user01").await;
        desk.client.set_fault(&json!({ "api": "user/get", "http_status": 500, "body": "", "times": 0 })).await;
        desk.send(&json!({ "change": "left", "userid": "user01" })).await;
        let app = desk.app.restart_with(crate::harness::development(&event_settings())).await;
        // The simulated platform has forgotten its faults, and knows the person as a member.
        until("the event is handled", async || {
            app.clock.advance(SECOND * 10);
            app.query("SELECT count(*) FROM employee WHERE left_at IS NOT NULL") == ["0"]
        })
        .await;
        assert_eq!(app.query("SELECT count(*) FROM login_log WHERE event = 'employee_returned'"), ["1"]);
    }
}
