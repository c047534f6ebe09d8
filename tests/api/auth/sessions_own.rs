//! GET /api/auth/sessions, DELETE /api/auth/sessions/{id}, POST /api/auth/logout-all

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Client, Response, TestApp, request, settings};

const CHROME: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/126.0.0.0 Safari/537.36";

async fn own(client: &mut Client, token: &str) -> Vec<Value> {
    client.get_as(token, "/api/auth/sessions").await.data()["items"].as_array().unwrap().clone()
}

/// The id of the session that a token belongs to.
async fn id_of(client: &mut Client, token: &str) -> String {
    let sessions = own(client, token).await;
    let current = sessions.iter().find(|session| session["current"] == true);
    current.unwrap()["id"].as_str().unwrap().to_owned()
}

async fn end(client: &mut Client, token: &str, id: &str) -> Response {
    let headers = [("authorization", &*format!("Bearer {token}")), ("x-request-id", "same")];
    client.send(&request("DELETE", &format!("/api/auth/sessions/{id}"), &headers, b"")).await
}

/// Sends the request with a token only.
async fn logout_all(client: &mut Client, token: &str) -> Response {
    let bearer = format!("Bearer {token}");
    client.send(&request("POST", "/api/auth/logout-all", &[("authorization", &bearer)], b"")).await
}

async fn logout_elsewhere(client: &mut Client, token: &str) -> Response {
    client.post_as(token, "/api/auth/logout-all", &json!({ "except_current": true })).await
}

on_every_store! {
    async fn the_list_marks_the_current_session_and_has_the_origin_of_each(app) {
        let mut client = app.client().await;
        let at = [("user-agent", CHROME), ("x-forwarded-for", "198.51.100.7")];
        client.post("/api/auth/bind", &at, &json!({ "employee_id": "admin01" })).await.data();
        app.clock.advance(Duration::from_mins(1));
        let token = client.sign_in("admin01").await;
        client.sign_in("user01").await;
        let sessions = own(&mut client, &token).await;
        assert_eq!(sessions.len(), 2);
        let (here, there) = (&sessions[0], &sessions[1]);
        assert_eq!((&here["current"], &there["current"]), (&json!(true), &json!(false)));
        assert_eq!((&here["login_method"], &here["device"], &here["ip_address"]), (&json!("dev"), &json!(""), &json!("127.0.0.1")));
        assert_eq!(
            *there,
            json!({
                "id": there["id"], "current": false, "device": "Chrome on Windows", "user_agent": CHROME, "ip_address": "198.51.100.7",
                "login_method": "bind", "login_source": "h5", "current_role": "admin", "created_at": "2027-01-15T08:00:00Z",
                "last_seen_at": "2027-01-15T08:00:00Z", "expires_at": "2027-01-15T16:00:00Z", "clients": []
            })
        );
        assert!(!sessions.iter().any(|session| token.contains(session["id"].as_str().unwrap())));
        client.me(here["id"].as_str().unwrap()).await.refused(401, 1001);
    }

    async fn the_last_use_is_accurate_to_minutes(app) {
        let mut client = app.client().await;
        let (token, other) = (client.sign_in("user01").await, client.sign_in("user01").await);
        let seen = async |client: &mut Client| {
            app.auth().store.flush_last_uses(100).await.unwrap();
            let sessions = own(client, &token).await;
            sessions.into_iter().find(|session| session["current"] == false).unwrap()["last_seen_at"].clone()
        };
        client.me(&other).await.data();
        assert_eq!(seen(&mut client).await, "2027-01-15T08:00:00Z");
        app.clock.advance(Duration::from_mins(5));
        client.me(&other).await.data();
        assert_eq!(seen(&mut client).await, "2027-01-15T08:00:00Z", "coarse");
        app.clock.advance(Duration::from_mins(5));
        client.me(&other).await.data();
        assert_eq!(seen(&mut client).await, "2027-01-15T08:10:00Z");
    }

    async fn an_ended_session_learns_the_reason(app) {
        let mut client = app.client().await;
        let (token, other, third) = (client.sign_in("user01").await, client.sign_in("user01").await, client.sign_in("user01").await);
        let id = id_of(&mut client, &other).await;
        assert_eq!(end(&mut client, &token, &id).await.data(), json!({ "success": true }));
        assert_eq!(client.me(&other).await.refused(401, 1001).reason(), "signed_out");
        assert!(client.is_valid(&token).await && client.is_valid(&third).await);
        assert_eq!(own(&mut client, &token).await.len(), 2);
        let own_id = id_of(&mut client, &token).await;
        end(&mut client, &token, &own_id).await.data();
        assert_eq!(client.me(&token).await.refused(401, 1001).reason(), "signed_out");
        let log = "SELECT event, employee_key FROM login_log WHERE event <> 'sign_in' ORDER BY event";
        assert_eq!(app.query(log), ["logout|user01", "session_ended|user01"]);
    }

    async fn sessions_of_others_and_ended_sessions_are_not_found(app) {
        let mut client = app.client().await;
        let old = client.sign_in("user01").await;
        let expired = id_of(&mut client, &old).await;
        app.clock.advance(Duration::from_hours(8));
        let (token, other) = (client.sign_in("user01").await, client.sign_in("user01").await);
        let (stranger, abroad) = (client.sign_in("agent01").await, app.sign_in_at_partner().await);
        let ended = id_of(&mut client, &other).await;
        end(&mut client, &token, &ended).await.data();
        let unknown = "A".repeat(43);
        let foreign = [id_of(&mut client, &stranger).await, id_of(&mut client, &abroad).await];
        let rows = app.query("SELECT count(*) FROM login_log");
        let answers: Vec<_> = {
            let mut answers = Vec::new();
            for id in foreign.iter().chain([&ended, &unknown, &expired]) {
                answers.push(end(&mut client, &token, id).await.refused(404, 1004).body.clone());
            }
            answers
        };
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
        assert!(client.is_valid(&stranger).await && client.is_valid(&abroad).await);
        assert_eq!(app.query("SELECT count(*) FROM login_log"), rows);
        for malformed in ["x", &"A".repeat(42), &"A".repeat(44), &"%41".repeat(10), &format!("{}%3D", "A".repeat(42))] {
            let refused = end(&mut client, &token, malformed).await;
            assert!(refused.refused(400, 1002).json()["data"]["fields"]["id"].is_string(), "{malformed}");
        }
    }

    async fn all_are_ended_including_the_current_session(app) {
        let mut client = app.client().await;
        let (token, other, stranger) = (client.sign_in("user01").await, client.sign_in("user01").await, client.sign_in("agent01").await);
        let abroad = app.sign_in_at_partner().await;
        let answer = logout_all(&mut client, &token).await.data();
        assert_eq!(answer, json!({ "success": true, "ended": 2, "message": "signed out everywhere" }));
        for token in [&token, &other] {
            assert_eq!(client.me(token).await.refused(401, 1001).reason(), "signed_out");
        }
        assert!(client.is_valid(&stranger).await && client.is_valid(&abroad).await);
        logout_all(&mut client, &token).await.refused(401, 1001);
        let log = "SELECT corp_id, employee_key, detail FROM login_log WHERE event = 'logout_all'";
        assert_eq!(app.query(log), ["wwdeskpass|user01|2 session(s) ended"]);
    }

    async fn all_are_ended_except_the_current_session(app) {
        let mut client = app.client().await;
        let tokens = [client.sign_in("user01").await, client.sign_in("user01").await, client.sign_in("user01").await];
        let answer = logout_elsewhere(&mut client, &tokens[1]).await.data();
        assert_eq!(answer, json!({ "success": true, "ended": 2, "message": "signed out everywhere else" }));
        for (at, token) in tokens.iter().enumerate() {
            assert_eq!(client.is_valid(token).await, at == 1);
        }
        assert_eq!(logout_elsewhere(&mut client, &tokens[1]).await.data()["ended"], 0);
        assert_eq!(app.query("SELECT count(*) FROM login_log WHERE event = 'logout_all'"), ["1"]);
    }

    /// An expired session that is not swept yet is neither listed nor counted.
    async fn what_has_expired_is_not_ended_again(app) {
        let mut client = app.client().await;
        client.sign_in("user01").await;
        app.clock.advance(Duration::from_hours(8));
        let token = client.sign_in("user01").await;
        assert_eq!(own(&mut client, &token).await.len(), 1);
        assert_eq!(logout_elsewhere(&mut client, &token).await.data()["ended"], 0);
        assert_eq!(app.query("SELECT count(*) FROM login_log WHERE event = 'logout_all'"), ["0"]);
        assert_eq!(logout_all(&mut client, &token).await.data()["ended"], 1);
    }

    async fn a_partial_session_ends_with_the_rest(app) {
        let device = app.agent_with_device("agent01").await;
        let mut client = app.client().await;
        let (half, token) = (client.partial_sign_in("agent01").await, client.sign_in("agent01").await);
        logout_elsewhere(&mut client, &token).await.data();
        let code = json!({ "code": device.next_code() });
        client.post_as(&half, "/api/auth/otp-verify", &code).await.refused(401, 1001);
    }

    async fn a_body_may_be_missing_but_not_wrong(app) {
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        let bearer = format!("Bearer {token}");
        let (auth, json) = (("authorization", &*bearer), ("content-type", "application/json"));
        let path = "/api/auth/logout-all";
        client.send(&request("POST", path, &[auth, json], b"{\"except_current\":1}")).await.refused(400, 1002);
        client.send(&request("POST", path, &[auth, json], b"[]")).await.refused(400, 1002);
        client.send(&request("POST", path, &[auth], b"{\"except_current\":true}")).await.refused(415, 1002);
        assert!(client.is_valid(&token).await);
        client.send(&request("POST", path, &[auth, json], b"")).await.data();
        assert!(!client.is_valid(&token).await);
    }

    /// An employee who lost their role, or whose role may not be active at their address, still sees and ends their own sessions.
    async fn it_takes_no_role(app) {
        let mut client = app.client().await;
        let (token, other) = (client.sign_in("user01").await, client.sign_in("user01").await);
        app.auth().operator().revoke(app.key("user01"), "user").await.unwrap();
        assert_eq!(own(&mut client, &token).await.len(), 2);
        let id = id_of(&mut client, &other).await;
        end(&mut client, &token, &id).await.data();
        assert_eq!(logout_all(&mut client, &token).await.data()["ended"], 1);
    }
}

on_every_store! {
    async fn one_more_than_there_may_be_ends_the_oldest() {
        let app = TestApp::with(settings(&[("development.enabled", "true"), ("session.max_per_employee", "2")])).await;
        let mut client = app.client().await;
        let mut tokens = Vec::new();
        for _ in 0..3 {
            tokens.push(client.sign_in("user01").await);
            app.clock.advance(Duration::from_secs(1));
        }
        assert_eq!(client.me(&tokens[0]).await.refused(401, 1001).reason(), "kicked");
        let sessions = own(&mut client, &tokens[2]).await;
        let created: Vec<_> = sessions.iter().map(|session| session["created_at"].as_str().unwrap()).collect();
        assert_eq!(created, ["2027-01-15T08:00:02Z", "2027-01-15T08:00:01Z"]);
    }
}
