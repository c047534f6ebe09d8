//! What a refusal on the phone stops, what a phone shows, and who learns that a person could not be asked.

use serde_json::{Value, json};

use super::{
    Asked, CREATE_KEY, PAUSE, Subject, ask_caller, assert_invalid, keys, notices_to, open, rows_of, supervisor,
    verify_caller,
};
use crate::harness::{Response, StoreBackend, TestApp, development};
use crate::notices::settled;

const PATH: &str = "/api/verifications";
const RESET_OTP: &str = "/api/admin/agents/agent01/reset-otp";

#[track_caller]
fn assert_not_verified(answer: &Response) {
    assert_eq!(answer.refused(403, 1003).reason(), "caller_not_verified");
}

#[track_caller]
fn assert_paused(answer: &Response) {
    assert_eq!(answer.refused(403, 1003).reason(), "approvals_paused");
}

on_every_store! {
    /// A person who holds the token cannot ask until the owner gives in.
    async fn after_a_refusal_the_session_gets_no_approvals_for_ten_minutes(app) {
        let mut client = app.client().await;
        let (token, other) = (client.sign_in("admin01").await, client.sign_in("admin01").await);
        let given = CREATE_KEY.approved(&mut client, &token, "admin01").await;
        let asked = Asked::of(&CREATE_KEY.ask(&mut client, &token).await);
        let secret = open(&mut client, "admin01").await;
        Subject::Approval.pick_wrong(&mut client, &secret, &asked).await.refused(403, 1003);
        let paused = CREATE_KEY.ask(&mut client, &token).await;
        assert_paused(&paused);
        assert_eq!(paused.header("retry-after"), Some("600"));
        assert_invalid(&CREATE_KEY.send(&mut client, &token, &given).await);
        assert_eq!((keys(&app), rows_of(&app, "administration_refused")), (0, vec!["admin01|approvals_paused|".to_owned()]));
        // The owner goes on in another session.
        let approval = CREATE_KEY.approved(&mut client, &other, "admin01").await;
        CREATE_KEY.send(&mut client, &other, &approval).await.data();
        settled(&app).await;
        let told = notices_to(&mut client, "security01").await;
        assert!(told.len() == 1 && told[0].contains("an approval was refused on the phone of admin01"), "{told:?}");
        app.clock.advance(PAUSE);
        CREATE_KEY.ask(&mut client, &token).await.data();
    }

    /// "I did not call IT" counts more than what was said before.
    async fn a_verification_ends_with_a_refusal_and_with_a_new_question() {
        let app = TestApp::with(development(&[("verification.before_resets", "true")])).await;
        let mut client = app.client().await;
        let (admin, device) = app.administrator().await;
        let same_person = client.sign_in("admin01").await;
        let code = device.next_code();
        verify_caller(&mut client, &admin, "agent01").await;
        assert_not_verified(&client.post_with_otp(&same_person, RESET_OTP, Some(&code)).await);
        ask_caller(&mut client, &admin, "agent01").await.data();
        assert_not_verified(&client.post_with_otp(&admin, RESET_OTP, Some(&code)).await);
        app.clock.advance(PAUSE);
        verify_caller(&mut client, &admin, "agent01").await;
        // A question of another person is refused.
        let supervisor = supervisor(&mut client).await;
        ask_caller(&mut client, &supervisor, "agent01").await.data();
        let secret = open(&mut client, "agent01").await;
        Subject::Caller.refuse(&mut client, &secret).await.data();
        assert_not_verified(&client.post_with_otp(&admin, RESET_OTP, Some(&device.next_code())).await);
        assert_eq!(rows_of(&app, "administration_refused")[0], "admin01|caller_not_verified|employee agent01");
        let answer = client.post_as(&admin, PATH, &json!({ "employee_id": "agent01" })).await;
        assert!(answer.refused(400, 1002).json()["data"]["fields"]["reason"].is_string(), "{answer:?}");
    }

    /// Otherwise agents could find out, unseen, who works here.
    async fn agents_learn_nothing_about_people_who_cannot_be_asked(app) {
        let mut client = app.client().await;
        let (agent, admin) = (client.sign_in("agent01").await, client.sign_in("admin01").await);
        app.auth().operator().disable(app.key("security01")).await.unwrap();
        let answers = [
            ask_caller(&mut client, &agent, "nobody").await,
            ask_caller(&mut client, &agent, "security01").await,
        ];
        for answer in &answers {
            assert_eq!(answer.refused(403, 1003).reason(), "cannot_ask");
            assert_eq!(answer.json()["message"], answers[0].json()["message"]);
        }
        ask_caller(&mut client, &admin, "nobody").await.refused(404, 1004);
        assert_eq!(ask_caller(&mut client, &admin, "security01").await.refused(403, 1003).reason(), "disabled");
        assert_eq!(rows_of(&app, "administration_refused"), [
            "agent01|cannot_ask|employee nobody", "agent01|cannot_ask|employee security01",
            "admin01|cannot_ask|employee nobody", "admin01|cannot_ask|employee security01",
        ]);
    }
}

on_one_store! {
    /// The attacker makes the code that they send, and does not ask for a number.
    async fn a_phone_is_warned_of_a_code_without_a_number() {
        for (setting, query, missing, has_number) in [
            ("off", "", false, false),
            ("on", "", true, false),
            ("on", "?match=auto", false, true),
            ("always", "", false, true),
            ("always", "?match=0", false, true),
        ] {
            let app = TestApp::with(development(&[("qr.number_match", setting)])).await;
            let mut client = app.client().await;
            let code = client.get(&format!("/api/auth/qrcode{query}"), &[]).await.data();
            assert_eq!(code.get("match_number").is_some(), has_number, "{setting} {query}");
            let secret = client.scan_as(&code, "user01").await;
            let shown = client.decide("request", &secret).await.data();
            assert_eq!((&shown["number_missing"], shown["choices"].is_array()), (&json!(missing), has_number), "{setting} {query}");
        }
    }

    /// The administrator who asks is the one who may have to be stopped.
    async fn an_alarm_does_not_go_to_the_asker_alone(app) {
        let mut client = app.client().await;
        let admin = client.sign_in("admin01").await;
        app.auth().operator().disable(app.key("security01")).await.unwrap();
        ask_caller(&mut client, &admin, "user01").await.data();
        let secret = open(&mut client, "user01").await;
        Subject::Caller.refuse(&mut client, &secret).await.data();
        settled(&app).await;
        assert!(notices_to(&mut client, "admin01").await.is_empty());
        let told = notices_to(&mut client, "user01").await;
        assert!(told.len() == 1 && told[0].contains("user01 (asked by admin01)"), "{told:?}");
    }
}

/// An attacker who can write to Redis does not give the phone a second guess.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_number_at_a_sign_in_stays_wrong_in_restored_records() {
    StoreBackend::ScaledOut
        .run(Box::pin(async {
            let app = TestApp::start().await;
            let mut client = app.client().await;
            let code = client.get("/api/auth/qrcode?match=1", &[]).await.data();
            let secret = client.scan_as(&code, "user01").await;
            let shown = client.decide("request", &secret).await.data();
            let right = &code["match_number"];
            let wrong = shown["choices"].as_array().unwrap().iter().find(|choice| *choice != right).unwrap();
            let records = app.cluster_store().store_records("sign_in");
            let confirm = |number: &Value| json!({ "confirm": secret, "number": number });
            client.post("/api/auth/scan/confirm", &[], &confirm(wrong)).await.refused(403, 1003);
            app.cluster_store().restore_records(&records);
            assert_over_sign_in(&client.post("/api/auth/scan/confirm", &[], &confirm(right)).await);
            assert_eq!(app.query("SELECT count(*) FROM session"), ["0"]);
        }))
        .await;
}

#[track_caller]
fn assert_over_sign_in(answer: &Response) {
    assert_eq!(answer.refused(409, 1019).reason(), "over");
}
