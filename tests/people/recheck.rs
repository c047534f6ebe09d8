//! The re-check: finds people who left without an event, locks nobody because of an error, and not very many at once.

use std::time::Duration;

use deskpass_auth::SyncOptions;
use deskpass_platform::PlatformKind;
use serde_json::json;

use super::{Desk, FRESH, control, synchronise};
use crate::harness::{Client, Messenger, StoreBackend, message_text, platform_kind, until};
use crate::notices::{inbox, settled};

/// More than the period of the re-check.
const LATER: Duration = Duration::from_secs(60 * 60 + 1);

impl Desk {
    /// Runs the re-check; returns how many people were checked.
    async fn recheck(&self) -> usize {
        self.marked().await;
        Box::pin(self.app.auth().recheck()).await.unwrap()
    }

    /// Waits until the service, which marks the people with sessions when it starts, has released the lease that it holds meanwhile.
    async fn marked(&self) {
        let now = self.app.clock.now().millis();
        let is_marked = format!(
            "SELECT count(*) FROM chore WHERE name = 'recheck' AND until <= {now} AND state LIKE '%\"marked_at\":_%' \
             AND state NOT LIKE '%\"marked_at\":null%'"
        );
        until("people with sessions are marked", async || self.app.query(&is_marked) == ["1"]).await;
    }

    /// How many people had this outcome.
    async fn checked(&mut self, outcome: &str) -> u64 {
        self.metric(&format!("deskpass_people_checked_total{{outcome=\"{outcome}\"}}")).await
    }
}

on_every_platform! {
    async fn a_person_who_left_without_an_event_is_found() {
        let mut desk = Desk::without_events().await;
        let [gone, here] = [desk.client.sign_in_by_phone("user01").await, desk.client.sign_in_by_phone("agent01").await];
        desk.change("user01", &json!({ "state": "left" })).await;
        desk.app.clock.advance(LATER);
        assert_eq!(desk.recheck().await, 2);
        assert_eq!((desk.refusal(&gone).await, desk.left("user01")), ("left".to_owned(), "left".to_owned()));
        assert_eq!(desk.rows("user01"), ["employee_left|recheck; left; 1 session(s) ended"]);
        assert!(desk.client.is_valid(&here).await);
        assert_eq!((desk.checked("left").await, desk.checked("active").await), (1, 1));
        assert_eq!(desk.metric("deskpass_people_left_total{source=\"recheck\"}").await, 1);
        // Who was checked is not checked again before a period has passed.
        assert_eq!(desk.recheck().await, 0);
    }

    async fn an_error_of_the_platform_locks_nobody_out() {
        let (mut desk, messenger) = (Desk::without_events().await, Messenger::current());
        let token = desk.client.sign_in_by_phone("user01").await;
        desk.change("user01", &json!({ "state": "left" })).await;
        for fault in [
            json!({ "http_status": 500, "body": "" }),
            json!({ "http_status": 200, "body": "<html>maintenance</html>" }),
            json!({ "http_status": 200, "body": "{}" }),
            json!({ "drop": true }),
        ] {
            let mut fault = fault;
            (fault["api"], fault["times"]) = (json!(messenger.profile), json!(0));
            desk.client.set_fault(&fault).await;
            // Beyond the time for which a failing platform is not called.
            desk.app.clock.advance(LATER);
            desk.recheck().await;
            assert!(desk.client.is_valid(&token).await && desk.left("user01") == "-", "{fault}");
            control(&mut desk.client, "DELETE", "faults", &json!(null)).await;
        }
        assert!(desk.checked("failed").await >= 3);
        desk.app.clock.advance(LATER);
        assert_eq!(desk.recheck().await, 1);
        assert_eq!(desk.left("user01"), "left");
    }

    /// Where calls are metered, a sign-in counts as a check.
    async fn a_metered_platform_is_asked_less() {
        let desk = Desk::without_events().await;
        let mut client = desk.app.client().await;
        client.sign_in_by_phone("user01").await;
        client.sign_in_by_phone("agent01").await;
        let before = client.calls(Messenger::current().profile).await;
        desk.recheck().await;
        let asked = client.calls(Messenger::current().profile).await - before;
        let expected = if platform_kind() == PlatformKind::Dingtalk { 0 } else { 2 };
        assert_eq!(asked, expected);
    }
}

on_every_store! {
    /// The platform sends nothing when an account is disabled.
    async fn a_disabled_account_is_found_within_a_period() {
        let mut desk = Desk::start().await;
        let token = desk.client.sign_in_by_phone("user01").await;
        assert_eq!(desk.recheck().await, 1);
        assert!(desk.change("user01", &json!({ "state": "disabled" })).await.is_empty());
        assert_eq!(desk.recheck().await, 0);
        assert!(desk.client.is_valid(&token).await);
        desk.app.clock.advance(LATER);
        assert_eq!(desk.recheck().await, 1);
        assert_eq!((desk.refusal(&token).await, desk.left("user01")), ("left".to_owned(), "suspended".to_owned()));
        // Enabled again, they sign in as before.
        assert_eq!(desk.scan_error("user01").await, "disabled");
        desk.change("user01", &json!({ "state": "active" })).await;
        desk.app.clock.advance(FRESH);
        desk.client.sign_in_by_phone("user01").await;
        assert_eq!(desk.rows("user01"), ["employee_left|recheck; suspended; 1 session(s) ended", "employee_returned|sign_in"]);
    }

    /// An administrator of the platform may delete members, who are unknown then.
    async fn a_deleted_member_is_found_and_one_who_never_was_visible_is_not() {
        let mut desk = Desk::without_events().await;
        let deleted = desk.client.sign_in_by_phone("user01").await;
        // The application never saw more of this person than the identifier.
        let hidden = desk.client.sign_in_by_phone("hidden01").await;
        control(&mut desk.client, "PUT", "switches", &json!({ "left_are_deleted": true })).await;
        desk.change("user01", &json!({ "state": "left" })).await;
        assert_eq!(desk.recheck().await, 2);
        assert_eq!((desk.refusal(&deleted).await, desk.left("user01")), ("left".to_owned(), "out_of_range".to_owned()));
        assert!(desk.client.is_valid(&hidden).await);
    }

    /// The platform names a department only where the application may see it: in a range of single members, of nobody.
    async fn a_deleted_member_without_a_department_is_found() {
        let (mut desk, profile) = (Desk::without_events().await, Messenger::current().profile);
        control(&mut desk.client, "PUT", "people", &json!({ "members": 1 })).await;
        let record = json!({ "errcode": 0, "errmsg": "ok", "userid": "user01", "name": "Uma User", "status": 1 });
        desk.client.set_fault(&json!({ "api": profile, "body": record.to_string(), "times": 0 })).await;
        let shown = desk.client.sign_in_by_phone("user01").await;
        control(&mut desk.client, "DELETE", "faults", &json!(null)).await;
        // Nothing is known of this person at the sign-in, so that the re-check is the first to see the record.
        desk.client.set_fault(&json!({ "api": profile, "errcode": 48002, "times": 0 })).await;
        let unknown = desk.client.sign_in_by_phone("member00001").await;
        control(&mut desk.client, "DELETE", "faults", &json!(null)).await;
        let seen = || desk.app.query("SELECT seen FROM employee WHERE employee_key IN ('member00001', 'user01') ORDER BY employee_key");
        assert_eq!(seen(), ["0", "1"]);
        assert_eq!(desk.recheck().await, 2);
        assert_eq!(seen(), ["1", "1"]);
        let named = "SELECT count(*) FROM employee WHERE employee_key IN ('member00001', 'user01') AND department_id <> ''";
        assert_eq!(desk.app.query(named), ["0"]);
        control(&mut desk.client, "PUT", "switches", &json!({ "left_are_deleted": true })).await;
        for who in ["user01", "member00001"] {
            desk.change(who, &json!({ "state": "left" })).await;
        }
        desk.app.clock.advance(LATER);
        assert_eq!(desk.recheck().await, 2);
        for (who, token) in [("user01", &shown), ("member00001", &unknown)] {
            assert_eq!((desk.refusal(token).await, desk.left(who)), ("left".to_owned(), "out_of_range".to_owned()));
        }
    }

    /// As the sessions of a node of an earlier version are, which knows no mark.
    async fn a_session_without_the_mark_is_found() {
        let mut desk = Desk::without_events().await;
        desk.client.sign_in_by_phone("user01").await;
        // The service looks for them when it starts.
        desk.marked().await;
        desk.app.query("UPDATE employee SET watched = 0");
        assert_eq!(desk.recheck().await, 0);
        let marked = async || {
            Box::pin(desk.app.auth().watch_people_with_sessions()).await.unwrap();
            desk.app.query("SELECT count(*) FROM employee WHERE watched = 1")
        };
        assert_eq!(marked().await, ["0"], "all nodes do it once an hour");
        desk.app.clock.advance(LATER);
        let lease = desk.app.auth().clock.now() + Duration::from_mins(10);
        desk.app.query(&format!("UPDATE chore SET until = {} WHERE name = 'recheck'", lease.millis()));
        assert_eq!(marked().await, ["0"], "another node is at it");
        desk.app.query("UPDATE chore SET until = 0 WHERE name = 'recheck'");
        assert_eq!(marked().await, ["1"]);
        assert_eq!(desk.recheck().await, 1);
    }

    /// A mistake in the application's range must not lock the help desk in the morning.
    async fn a_narrowed_range_does_not_lock_everyone_who_signs_in() {
        let mut desk = Desk::without_events().await;
        control(&mut desk.client, "PUT", "people", &json!({ "members": 8 })).await;
        let member = |number: usize| format!("member{number:05}");
        let mut tokens = Vec::new();
        for number in 1..=8 {
            tokens.push(desk.client.sign_in_by_phone(&member(number)).await);
            desk.change(&member(number), &json!({ "state": "hidden" })).await;
        }
        settled(&desk.app).await;
        control(&mut desk.client, "DELETE", "inbox", &json!(null)).await;
        // Some may always leave.
        for number in 1..=5 {
            assert_eq!(desk.scan_error(&member(number)).await, "disabled");
            assert_eq!(desk.left(&member(number)), "out_of_range");
        }
        for number in 6..=8 {
            let token = desk.client.sign_in_by_phone(&member(number)).await;
            assert!(desk.client.is_valid(&token).await && desk.client.is_valid(&tokens[number - 1]).await);
        }
        let forgotten = "SELECT count(*) FROM employee WHERE left_at IS NULL AND employee_key LIKE 'member%' AND department_id = ''";
        assert_eq!(desk.app.query(forgotten), ["0"], "what is not believed changes nothing");
        assert_eq!(desk.metric("deskpass_leavers_halted").await, 1);
        settled(&desk.app).await;
        let told: Vec<_> = inbox(&mut desk.client).await.iter().map(message_text).collect();
        assert_eq!(told.iter().filter(|text| text.contains("6 people seem to have left at once")).count(), 1, "{told:?}");
        // The re-check believes it no more.
        assert_eq!((desk.recheck().await, desk.checked("held").await), (3, 3));
        let report = synchronise(&desk.app, SyncOptions { force: true, ..SyncOptions::default() }).await;
        assert_eq!(report.left.len(), 3, "{report:?}");
    }

    /// More often than a fact, many leavers at once are a mistake in the application's range.
    async fn very_many_leavers_at_once_are_not_believed_until_an_operator_says_so() {
        let mut desk = Desk::without_events().await;
        control(&mut desk.client, "PUT", "people", &json!({ "members": 6 })).await;
        let mut tokens = Vec::new();
        for number in 1..=6 {
            let who = format!("member{number:05}");
            tokens.push(desk.client.sign_in_by_phone(&who).await);
            desk.change(&who, &json!({ "state": "left" })).await;
        }
        settled(&desk.app).await;
        control(&mut desk.client, "DELETE", "inbox", &json!(null)).await;
        assert_eq!((desk.recheck().await, desk.checked("held").await), (6, 6));
        assert_eq!(desk.metric("deskpass_leavers_halted").await, 1);
        let still_valid = async |client: &mut Client| {
            let mut valid = 0;
            for token in &tokens {
                valid += usize::from(client.is_valid(token).await);
            }
            valid
        };
        assert_eq!(still_valid(&mut desk.client).await, 6);
        // Administrators are told, once.
        desk.app.clock.advance(LATER);
        assert_eq!(desk.recheck().await, 6);
        settled(&desk.app).await;
        let told = inbox(&mut desk.client).await;
        assert_eq!((told.len(), &told[0]["touser"]), (1, &json!(["admin01"])), "{told:?}");
        let text = message_text(&told[0]);
        assert!(text.contains("6 people seem to have left at once") && text.contains("6 名员工似乎同时离职"), "{text}");
        // The synchronisation believes it no more than the re-check.
        let report = synchronise(&desk.app, SyncOptions::default()).await;
        assert!(report.halted && report.left.len() == 6, "{report:?}");
        assert_eq!(still_valid(&mut desk.client).await, 6);
        let report = synchronise(&desk.app, SyncOptions { force: true, ..SyncOptions::default() }).await;
        assert!(!report.halted && report.left.len() == 6, "{report:?}");
        assert_eq!(still_valid(&mut desk.client).await, 0);
        assert_eq!(desk.metric("deskpass_leavers_halted").await, 0);
        assert_eq!(desk.metric("deskpass_people_left_total{source=\"sync\"}").await, 6);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_nodes_one_checks() {
    StoreBackend::ScaledOut
        .run(Box::pin(async {
            let desk = Desk::without_events().await;
            let other = desk.app.second_node().await;
            let mut client = desk.app.client().await;
            for who in ["user01", "agent01", "security01"] {
                client.sign_in_by_phone(who).await;
            }
            let mut checked = 0;
            // A node that has just started may hold the lease for a moment.
            until("one of them checks", async || {
                let both = tokio::join!(Box::pin(desk.app.auth().recheck()), Box::pin(other.auth().recheck()));
                checked += both.0.unwrap() + both.1.unwrap();
                checked > 0
            })
            .await;
            assert_eq!(checked, 3);
            assert_eq!(desk.app.query("SELECT count(*) FROM employee WHERE checked_at IS NOT NULL"), ["3"]);
        }))
        .await;
}
