//! What a person had ends when they leave, wherever it is; and what an administrator decided stays apart from what the platform says.

use serde_json::{Value, json};

use super::{Desk, FRESH, change, control};
use crate::harness::{Messenger, PASSWORD, Receiver, TestApp, registration_at};
use crate::sign_in_proof::show;

on_every_store! {
    async fn everything_that_a_leaver_had_or_began_is_over() {
        let mut desk = Desk::start().await;
        let receiver = Receiver::start().await;
        let program = desk.app.oidc_client(registration_at(&receiver)).await;
        let device = desk.app.agent_with_device("agent01").await;
        let client = &mut desk.client;
        // Sessions, one of them at a program; a socket; a sign-in that waits for a one-time password.
        let (_browser, tokens) = desk.app.oidc_sign_in(&program, "agent01").await;
        let token = client.sign_in("agent01").await;
        let mut socket = desk.app.socket("agent", &token).await;
        let half = client.partial_sign_in("agent01").await;
        // A code that the phone has scanned, and one that it has confirmed and no browser has collected.
        let (scanned, confirmed) = (client.qrcode().await, client.qrcode().await);
        let undecided = client.scan_as(&scanned, "agent01").await;
        let decided = client.scan_as(&confirmed, "agent01").await;
        client.decide("confirm", &decided).await.data();
        assert!(program.is_live(client, &tokens).await);

        desk.change("agent01", &json!({ "state": "left" })).await;
        assert_eq!(desk.refusal(&token).await, "left");
        socket.ends_with(4401, "left").await;
        let client = &mut desk.client;
        assert!(program.is_over(client, &tokens).await);
        receiver.told(1).await;
        assert_eq!(show(client, &half, "verify", &device.next_code()).await.refused(401, 1001).reason(), "left");
        assert_eq!(client.decide("confirm", &undecided).await.refused(403, 1003).reason(), "disabled");
        let status = client.scan_status(scanned["ticket"].as_str().unwrap()).await;
        assert_eq!((&status["status"], &status["reason"], &status["token"]), (&json!("expired"), &json!("left"), &json!(null)));
        // The browser still collects the token, of a session that has ended.
        let status = client.scan_status(confirmed["ticket"].as_str().unwrap()).await;
        assert_eq!(status["status"], "confirmed");
        assert!(!client.is_valid(status["token"].as_str().unwrap()).await, "{status}");
        // No way leads in.
        client.agent_login("agent01", PASSWORD).await.refused(401, 1011);
        let name = json!({ "employee_id": "agent01" });
        assert_eq!(client.post("/api/dev/login", &[], &name).await.refused(403, 1003).reason(), "disabled");
        assert_eq!(desk.app.query("SELECT count(*) FROM session WHERE employee_key = 'agent01'"), ["0"]);
        // The log says who it was: the platform, not an administrator.
        let refused = "SELECT DISTINCT reason FROM login_log WHERE employee_key = 'agent01' AND reason IN ('left_platform', 'disabled_here')";
        assert_eq!(desk.app.query(refused), ["left_platform"]);
    }

    async fn coming_back_lifts_what_the_platform_said_and_nothing_else() {
        let mut desk = Desk::start().await;
        let operator = desk.app.auth().operator();
        let user = || desk.app.key("user01");
        let admin = desk.client.sign_in("admin01").await;
        let login = json!({ "employee_id": "user01" });
        operator.disable(user()).await.unwrap();
        change(&mut desk.client, "user01", &json!({ "state": "left" })).await;
        desk.handled().await;
        let shown = |employee: &Value| (employee["disabled"].clone(), employee["left"].clone());
        let path = format!("/api/admin/employees/{}/user01", Messenger::current().corp_id);
        assert_eq!(shown(&desk.client.get_as(&admin, &path).await.data()), (json!(true), json!("out_of_range")));
        // An administrator cannot lift what the platform says.
        operator.enable(user()).await.unwrap();
        assert_eq!(shown(&desk.client.get_as(&admin, &path).await.data()), (json!(false), json!("out_of_range")));
        desk.client.post("/api/dev/login", &[], &login).await.refused(403, 1003);
        // And the platform not what an administrator decided.
        operator.disable(user()).await.unwrap();
        desk.app.clock.advance(FRESH);
        change(&mut desk.client, "user01", &json!({ "state": "active" })).await;
        desk.handled().await;
        assert_eq!(shown(&desk.client.get_as(&admin, &path).await.data()), (json!(true), json!(null)));
        desk.client.post("/api/dev/login", &[], &login).await.refused(403, 1003);
        operator.enable(user()).await.unwrap();
        desk.client.sign_in("user01").await;
    }

    /// A synchronisation may have listed the person before that.
    async fn an_answer_from_before_the_last_one_does_not_count() {
        let mut desk = Desk::start().await;
        desk.client.sign_in_by_phone("user01").await;
        let checked_since = |app: &TestApp, at: i64| {
            app.query(&format!("SELECT count(*) FROM employee WHERE employee_key = 'user01' AND checked_at >= {at}"))
        };
        let before = desk.app.clock.now().millis();
        desk.send(&json!({ "change": "changed", "userid": "user01" })).await;
        desk.handled().await;
        assert_eq!(checked_since(&desk.app, before), ["1"], "who had not left");
        desk.change("user01", &json!({ "state": "left" })).await;
        desk.handled().await;
        desk.app.clock.advance(FRESH);
        let before = desk.app.clock.now().millis();
        desk.change("user01", &json!({ "state": "active" })).await;
        desk.handled().await;
        assert_eq!((desk.left("user01"), checked_since(&desk.app, before)), ("-".to_owned(), vec!["1".to_owned()]));
    }

    /// The log notes it, since nobody can administrate until an operator appoints another one.
    async fn the_last_administrator_leaves_as_well() {
        let mut desk = Desk::start().await;
        let token = desk.client.sign_in("admin01").await;
        desk.change("admin01", &json!({ "state": "left" })).await;
        assert_eq!(desk.refusal(&token).await, "left");
        let row = desk.rows("admin01").remove(0);
        assert!(row.contains("last administrator"), "{row}");
        // Roles are kept for the day on which they come back.
        desk.app.clock.advance(FRESH);
        desk.change("admin01", &json!({ "state": "active" })).await;
        desk.handled().await;
        let token = desk.client.sign_in("admin01").await;
        assert_eq!(desk.roles(&token).await, ["admin", "agent", "user"]);
    }
}

on_every_platform! {
    /// A sign-in asks the platform anyway.
    async fn a_sign_in_lifts_it_but_not_while_the_platform_gives_no_details() {
        let (mut desk, profile) = (Desk::start().await, Messenger::current().profile);
        desk.client.sign_in_by_phone("user01").await;
        desk.change("user01", &json!({ "state": "left" })).await;
        desk.handled().await;
        // From here on the platform tells nothing by itself.
        control(&mut desk.client, "DELETE", "events", &json!(null)).await;
        assert!(desk.change("user01", &json!({ "state": "active" })).await.is_empty());
        desk.client.set_fault(&json!({ "api": profile, "http_status": 500, "body": "", "times": 0 })).await;
        assert_eq!(desk.scan_error("user01").await, "disabled");
        control(&mut desk.client, "DELETE", "faults", &json!(null)).await;
        assert_eq!(desk.scan_error("user01").await, "disabled", "the departure may be newer than the answer");
        desk.app.clock.advance(FRESH);
        let token = desk.client.sign_in_by_phone("user01").await;
        assert!(desk.client.is_valid(&token).await);
        assert_eq!(desk.rows("user01").pop().as_deref(), Some("employee_returned|sign_in"));
    }
}
