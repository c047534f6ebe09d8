//! GET /api/auth/sign-ins, POST /api/auth/sign-ins/{id}/not-me

use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::harness::{Client, PASSWORD, Response, TestApp, request};
use crate::notices::{inbox, settled};

const CHROME: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/126.0.0.0 Safari/537.36";
const SECOND: Duration = Duration::from_secs(1);

async fn own(client: &mut Client, token: &str) -> Vec<Value> {
    client.get_as(token, "/api/auth/sign-ins").await.data()["items"].as_array().unwrap().clone()
}

async fn ids(client: &mut Client, token: &str) -> Vec<String> {
    own(client, token).await.iter().map(|sign_in| sign_in["id"].as_str().unwrap().to_owned()).collect()
}

/// Sends the request with a token only.
async fn not_me(client: &mut Client, token: &str, id: &str) -> Response {
    let headers = [("authorization", &*format!("Bearer {token}")), ("x-request-id", "same")];
    client.send(&request("POST", &format!("/api/auth/sign-ins/{id}/not-me"), &headers, b"")).await
}

/// Signs in an employee one second after the previous event.
async fn sign_in(app: &TestApp, client: &mut Client, employee: &str) -> String {
    app.clock.advance(SECOND);
    client.sign_in(employee).await
}

/// The id of the session that a token belongs to.
async fn session_of(client: &mut Client, token: &str) -> Value {
    let sessions = client.get_as(token, "/api/auth/sessions").await.data()["items"].as_array().unwrap().clone();
    sessions.into_iter().find(|session| session["current"] == true).unwrap()["id"].clone()
}

/// The number of disowned sign-ins in the log, and the recipients of notices.
async fn notified(app: &TestApp, client: &mut Client) -> (usize, Vec<String>) {
    settled(app).await;
    let mut to: Vec<_> =
        inbox(client).await.iter().map(|message| message["touser"][0].as_str().unwrap().to_owned()).collect();
    to.sort_unstable();
    (app.query("SELECT id FROM login_log WHERE event = 'sign_in_disowned'").len(), to)
}

on_every_store! {
    async fn the_list_has_the_method_of_each_and_marks_the_current_sign_in(app) {
        let mut client = app.client().await;
        let at = [("user-agent", CHROME), ("x-forwarded-for", "198.51.100.7")];
        client.post("/api/auth/bind", &at, &json!({ "employee_id": "User01" })).await.data();
        app.clock.advance(SECOND);
        let refused = json!({ "employee_id": "user01", "role": "admin" });
        client.post("/api/dev/login", &at, &refused).await.refused(403, 1003);
        let token = sign_in(&app, &mut client, "user01").await;
        // Other audit events of the employee are not sign-ins.
        client.switch(&token, "user").await.data();
        client.switch(&token, "admin").await.refused(403, 1003);
        let sign_ins = own(&mut client, &token).await;
        assert_eq!(sign_ins.len(), 3, "{sign_ins:?}");
        let [here, refused, there] = [&sign_ins[0], &sign_ins[1], &sign_ins[2]];
        assert_eq!((&here["current"], &here["session_id"]), (&json!(true), &session_of(&mut client, &token).await));
        assert_eq!(
            *refused,
            json!({
                "id": refused["id"], "at": "2027-01-15T08:00:01Z", "signed_in": false, "reason": "role_not_held", "device": "Chrome on Windows",
                "user_agent": CHROME, "ip_address": "198.51.100.7", "decided_address": "198.51.100.7", "login_method": "dev", "login_source": "h5", "session_id": null,
                "current": false, "disowned_at": null
            })
        );
        let session = there["session_id"].as_str().unwrap();
        assert_eq!(
            *there,
            json!({
                "id": there["id"], "at": "2027-01-15T08:00:00Z", "signed_in": true, "reason": null, "device": "Chrome on Windows",
                "user_agent": CHROME, "ip_address": "198.51.100.7", "decided_address": "198.51.100.7", "login_method": "bind", "login_source": "h5", "session_id": session,
                "current": false, "disowned_at": null
            })
        );
        let end = format!("/api/auth/sessions/{session}");
        client.send(&request("DELETE", &end, &[("authorization", &format!("Bearer {token}"))], b"")).await.data();
        assert_eq!(own(&mut client, &token).await[2]["session_id"], json!(null), "it has ended");
    }

    async fn the_trusted_address_is_listed_where_another_address_is_claimed(app) {
        let mut client = app.client().await;
        let spoofed = [("x-forwarded-for", "203.0.113.99, 198.51.100.7")];
        client.post("/api/dev/login", &spoofed, &json!({ "employee_id": "user01" })).await.data();
        let token = sign_in(&app, &mut client, "user01").await;
        let sign_in = own(&mut client, &token).await.remove(1);
        assert_eq!((&sign_in["ip_address"], &sign_in["decided_address"]), (&json!("203.0.113.99"), &json!("198.51.100.7")));
        not_me(&mut client, &token, sign_in["id"].as_str().unwrap()).await.data();
        let detail = app.query("SELECT detail FROM login_log WHERE event = 'sign_in_disowned'").remove(0);
        assert!(detail.contains(" from 198.51.100.7 (it said 203.0.113.99) by dev"), "{detail}");
        settled(&app).await;
        let message = inbox(&mut client).await.remove(0).to_string();
        assert!(message.contains("from 198.51.100.7 was not theirs") && !message.contains("203.0.113.99"), "{message}");
    }

    async fn a_session_that_expired_is_not_named(app) {
        let mut client = app.client().await;
        client.sign_in("user01").await;
        app.clock.advance(Duration::from_hours(8));
        let token = client.sign_in("user01").await;
        let sign_ins = own(&mut client, &token).await;
        assert_eq!((&sign_ins[0]["current"], &sign_ins[1]["session_id"]), (&json!(true), &json!(null)));
        let old = sign_ins[1]["id"].as_str().unwrap();
        assert_eq!(not_me(&mut client, &token, old).await.data(), json!({ "success": true, "ended": 0, "told": 1 }));
    }

    async fn sign_ins_of_others_and_of_other_corporations_are_not_listed(app) {
        let mut client = app.client().await;
        let (token, abroad) = (client.sign_in("user01").await, app.sign_in_at_partner().await);
        let stranger = client.sign_in("agent01").await;
        let (own, foreign) = (ids(&mut client, &token).await, [ids(&mut client, &abroad).await, ids(&mut client, &stranger).await].concat());
        assert_eq!((own.len(), foreign.len()), (1, 2));
        client.switch(&token, "user").await.data();
        let another = app.query("SELECT id FROM login_log WHERE event = 'switch_role'").remove(0);
        let rows = app.query("SELECT count(*) FROM login_log");
        let mut answers = Vec::new();
        for id in foreign.iter().chain([&another, &"0".repeat(32)]) {
            answers.push(not_me(&mut client, &token, id).await.refused(404, 1004).body.clone());
        }
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
        for malformed in ["x", &"a".repeat(31), &"a".repeat(33), &"A".repeat(32), &"g".repeat(32), "%00", "%27"] {
            let refused = not_me(&mut client, &token, malformed).await;
            assert!(refused.refused(400, 1002).json()["data"]["fields"]["id"].is_string(), "{malformed}");
        }
        assert!(client.is_valid(&abroad).await && client.is_valid(&stranger).await);
        assert_eq!((app.query("SELECT count(*) FROM login_log"), app.query("SELECT count(*) FROM disowned")), (rows, vec!["0".to_owned()]));
    }

    async fn the_newest_fifty_of_ninety_days_come_first(app) {
        let mut client = app.client().await;
        let day = Duration::from_hours(24);
        client.sign_in("user01").await;
        app.clock.advance(day * 90);
        let token = client.sign_in("user01").await;
        assert_eq!(own(&mut client, &token).await.len(), 2, "ninety days ago is shown");
        app.clock.advance(Duration::from_millis(1));
        assert_eq!(own(&mut client, &token).await.len(), 1, "and not a moment later");
        for _ in 0..60 {
            sign_in(&app, &mut client, "user01").await;
        }
        let sign_ins = own(&mut client, &token).await;
        let moments: Vec<_> = sign_ins.iter().map(|sign_in| sign_in["at"].as_str().unwrap()).collect();
        assert_eq!((moments.len(), moments[0], moments[49]), (50, "2027-04-15T08:01:00.001Z", "2027-04-15T08:00:11.001Z"));
        assert!(moments.is_sorted_by(|one, next| one > next));
    }

    async fn not_me_ends_that_session_and_its_socket_and_notifies_administrators(app) {
        app.auth().operator().grant(app.key("supervisor01"), "admin").await.unwrap();
        app.auth().operator().grant(app.key("security01"), "admin").await.unwrap();
        app.auth().operator().disable(app.key("security01")).await.unwrap();
        let mut client = app.client().await;
        let at = [("user-agent", CHROME), ("x-forwarded-for", "203.0.113.9")];
        let thief = client.post("/api/auth/bind", &at, &json!({ "employee_id": "user01" })).await.data()["token"].as_str().unwrap().to_owned();
        let (other, token) = (sign_in(&app, &mut client, "user01").await, sign_in(&app, &mut client, "user01").await);
        let mut sockets = [app.socket("employee", &other).await, app.socket("employee", &token).await];
        let mut gone = app.socket("employee", &thief).await;
        let id = own(&mut client, &token).await[2]["id"].as_str().unwrap().to_owned();
        assert_eq!(not_me(&mut client, &token, &id).await.data(), json!({ "success": true, "ended": 1, "told": 2 }));
        gone.ends_soon(4401, "signed_out").await;
        assert_eq!(client.me(&thief).await.refused(401, 1001).reason(), "signed_out");
        for socket in &mut sockets {
            socket.is_quiet().await;
        }
        assert!(client.is_valid(&other).await && client.is_valid(&token).await);
        let sign_ins = own(&mut client, &token).await;
        assert_eq!((&sign_ins[2]["session_id"], &sign_ins[2]["disowned_at"]), (&json!(null), &json!("2027-01-15T08:00:02Z")));
        assert_eq!(sign_ins[1]["disowned_at"], json!(null));
        let log = "SELECT employee_key, login_method, detail FROM login_log WHERE event = 'sign_in_disowned'";
        assert_eq!(app.query(log), ["user01|dev|sign-in of 2027-01-15T08:00:00Z from 203.0.113.9 by bind; 1 session(s) ended"]);
        assert_eq!(notified(&app, &mut client).await, (1, vec!["admin01".to_owned(), "supervisor01".to_owned()]));
        for message in inbox(&mut client).await {
            let text = message["text"]["content"].as_str().unwrap();
            for words in ["user01 reported that the sign-in at 2027-01-15 16:00:00 UTC+08:00 from 203.0.113.9 was not theirs", "Its session, if any, has ended.", "user01 表示 2027-01-15 16:00:00 UTC+08:00 来自 203.0.113.9 的登录并非本人操作。如由此产生会话，该会话已结束。", "reset the password"] {
                assert!(text.contains(words), "no {words:?} in {text:?}");
            }
        }
    }

    async fn a_repeated_report_sends_one_notice(app) {
        let mut client = app.client().await;
        client.sign_in("user01").await;
        let token = sign_in(&app, &mut client, "user01").await;
        let id = ids(&mut client, &token).await.remove(1);
        assert_eq!(not_me(&mut client, &token, &id).await.data()["ended"], 1);
        let before = notified(&app, &mut client).await;
        app.clock.advance(SECOND);
        assert_eq!(not_me(&mut client, &token, &id).await.data(), json!({ "success": true, "ended": 0, "told": 0 }));
        assert_eq!((before, notified(&app, &mut client).await), ((1, vec!["admin01".to_owned()]), (1, vec!["admin01".to_owned()])));
        assert_eq!(own(&mut client, &token).await[1]["disowned_at"], "2027-01-15T08:00:01Z");
    }

    async fn of_many_simultaneous_reports_one_counts(app) {
        app.auth().operator().grant(app.key("agent01"), "admin").await.unwrap();
        let mut client = app.client().await;
        let thief = client.sign_in("user01").await;
        let token = sign_in(&app, &mut client, "user01").await;
        let id = ids(&mut client, &token).await.remove(1);
        let mut all = JoinSet::new();
        for _ in 0..20 {
            let (mut other, token, id) = (app.client().await, token.clone(), id.clone());
            all.spawn(async move { not_me(&mut other, &token, &id).await.data()["ended"].as_u64().unwrap() });
        }
        assert_eq!(all.join_all().await.into_iter().sum::<u64>(), 1);
        assert!(!client.is_valid(&thief).await && client.is_valid(&token).await);
        assert_eq!(notified(&app, &mut client).await, (1, vec!["admin01".to_owned(), "agent01".to_owned()]));
        assert_eq!(app.query("SELECT count(*) FROM disowned"), ["1"]);
    }

    /// An administrator gets no notice about their own report.
    async fn the_own_session_ends_too_and_the_reporter_gets_no_notice(app) {
        let mut client = app.client().await;
        let other = client.sign_in("admin01").await;
        let token = sign_in(&app, &mut client, "admin01").await;
        let id = ids(&mut client, &token).await.remove(0);
        assert_eq!(not_me(&mut client, &token, &id).await.data(), json!({ "success": true, "ended": 1, "told": 0 }));
        assert_eq!(not_me(&mut client, &token, &id).await.refused(401, 1001).reason(), "signed_out");
        assert!(client.is_valid(&other).await);
        assert_eq!(notified(&app, &mut client).await, (1, vec![]));
    }

    async fn disowning_a_refused_sign_in_notifies_and_ends_nothing(app) {
        let mut client = app.client().await;
        let token = client.sign_in("agent01").await;
        client.post_as(&token, "/api/agents/password", &json!({ "new_password": PASSWORD })).await.data();
        client.agent_login("agent01", "wrong").await.refused(401, 1011);
        settled(&app).await;
        client.send(&request("DELETE", "/sim/inbox", &[], b"")).await;
        let sign_ins = own(&mut client, &token).await;
        let refused = sign_ins.iter().find(|sign_in| sign_in["signed_in"] == false).unwrap();
        assert_eq!(refused["reason"], "password_wrong");
        assert_eq!(not_me(&mut client, &token, refused["id"].as_str().unwrap()).await.data()["ended"], 0);
        assert!(client.is_valid(&token).await);
        assert_eq!(notified(&app, &mut client).await, (1, vec!["admin01".to_owned()]));
        let log = app.query("SELECT detail FROM login_log WHERE event = 'sign_in_disowned'");
        assert_eq!(log, ["refused sign-in of 2027-01-15T08:00:00Z from 127.0.0.1 by password; 0 session(s) ended"]);
    }

    async fn an_employee_of_a_connected_corporation_is_named_with_it(app) {
        let mut client = app.client().await;
        let token = app.sign_in_at_partner().await;
        let home = client.sign_in("user01").await;
        let id = ids(&mut client, &token).await.remove(0);
        assert_eq!(not_me(&mut client, &token, &id).await.data()["ended"], 1);
        assert!(client.is_valid(&home).await, "same name and time, but another person's");
        assert_eq!(notified(&app, &mut client).await, (1, vec!["admin01".to_owned()]));
        let text = inbox(&mut client).await[0]["text"]["content"].as_str().unwrap().to_owned();
        assert!(text.contains("wwpartner/user01 reported"), "{text}");
    }

    /// Any stranger can cause refused sign-ins under an employee's name; these must not hide real sign-ins.
    async fn refused_sign_ins_hide_no_sign_in(app) {
        let mut client = app.client().await;
        for _ in 0..5 {
            sign_in(&app, &mut client, "user01").await;
            let gone = sign_in(&app, &mut client, "user01").await;
            client.post_as(&gone, "/api/auth/logout", &json!({})).await.data();
        }
        let token = sign_in(&app, &mut client, "user01").await;
        let before = ids(&mut client, &token).await;
        for _ in 0..200 {
            app.clock.advance(SECOND);
            client.post("/api/dev/login", &[], &json!({ "employee_id": "user01", "role": "admin" })).await.refused(403, 1003);
        }
        let sign_ins = own(&mut client, &token).await;
        let (refused, there): (Vec<_>, Vec<_>) = sign_ins.iter().partition(|sign_in| sign_in["signed_in"] == false);
        assert_eq!(there.iter().map(|sign_in| sign_in["id"].as_str().unwrap()).collect::<Vec<_>>(), before);
        let moments: Vec<_> = refused.iter().map(|sign_in| sign_in["at"].as_str().unwrap()).collect();
        assert_eq!((moments.len(), moments[0], moments[9]), (10, "2027-01-15T08:03:31Z", "2027-01-15T08:03:22Z"));
        app.clock.advance(SECOND);
        let last = sign_in(&app, &mut client, "user01").await;
        let moments: Vec<_> = own(&mut client, &last).await.iter().map(|sign_in| sign_in["at"].as_str().unwrap().to_owned()).collect();
        assert!(moments.len() == 22 && moments.is_sorted_by(|one, next| one > next), "{moments:?}");
    }

    /// A thief's live session stays in the list, however often the thief signs in and out afterwards.
    async fn a_session_that_lives_is_listed_however_many_came_since(app) {
        let mut client = app.client().await;
        let first = client.sign_in("user01").await;
        let token = sign_in(&app, &mut client, "user01").await;
        for _ in 0..60 {
            let gone = sign_in(&app, &mut client, "user01").await;
            client.post_as(&gone, "/api/auth/logout", &json!({})).await.data();
        }
        let sign_ins = own(&mut client, &token).await;
        let moments: Vec<_> = sign_ins.iter().map(|sign_in| sign_in["at"].as_str().unwrap()).collect();
        assert_eq!((moments.len(), moments[47], moments[48], moments[49]), (50, "2027-01-15T08:00:14Z", "2027-01-15T08:00:01Z", "2027-01-15T08:00:00Z"));
        assert!(moments.is_sorted_by(|one, next| one > next));
        assert_eq!((&sign_ins[48]["current"], &sign_ins[49]["session_id"]), (&json!(true), &session_of(&mut client, &first).await));
        let id = sign_ins[49]["id"].as_str().unwrap();
        assert_eq!(not_me(&mut client, &token, id).await.data()["ended"], 1);
        assert_eq!(own(&mut client, &token).await[48]["at"], "2027-01-15T08:00:13Z", "it is over, and one of the others is shown again");
    }

    /// A user who signs in and disowns it repeatedly fills the log, but does not flood the administrators.
    async fn administrators_get_ten_notices_an_hour_about_one_person(app) {
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        let disown = async |client: &mut Client| {
            let gone = sign_in(&app, client, "user01").await;
            client.post_as(&gone, "/api/auth/logout", &json!({})).await.data();
            let id = ids(client, &token).await.remove(0);
            not_me(client, &token, &id).await.data()["told"].as_u64().unwrap()
        };
        for number in 0..12 {
            assert_eq!(disown(&mut client).await, u64::from(number < 10), "{number}");
        }
        let (rows, to) = notified(&app, &mut client).await;
        assert_eq!((rows, to.len()), (12, 10));
        let agent = sign_in(&app, &mut client, "agent01").await;
        app.clock.advance(SECOND);
        client.post("/api/dev/login", &[], &json!({ "employee_id": "agent01", "role": "admin" })).await.refused(403, 1003);
        for id in ids(&mut client, &agent).await {
            assert_eq!(not_me(&mut client, &agent, &id).await.data()["told"], 1, "for another person they are");
        }
        app.clock.advance(Duration::from_hours(1));
        assert_eq!(disown(&mut client).await, 1);
    }

    /// A stranger can cause refused sign-ins cheaply. Disowning them must not suppress the notice about a thief.
    async fn disowned_refusals_suppress_no_notice(app) {
        let mut client = app.client().await;
        let thief = client.sign_in("user01").await;
        let token = sign_in(&app, &mut client, "user01").await;
        let over = sign_in(&app, &mut client, "user01").await;
        client.post_as(&over, "/api/auth/logout", &json!({})).await.data();
        let real = ids(&mut client, &token).await;
        for number in 0..12 {
            app.clock.advance(SECOND);
            client.post("/api/dev/login", &[], &json!({ "employee_id": "user01", "role": "admin" })).await.refused(403, 1003);
            let refused = ids(&mut client, &token).await.remove(0);
            let answer = json!({ "success": true, "ended": 0, "told": i32::from(number < 10) });
            assert_eq!(not_me(&mut client, &token, &refused).await.data(), answer, "{number}");
        }
        for (id, ended) in [(&real[0], 0), (&real[2], 1)] {
            let answer = json!({ "success": true, "ended": ended, "told": 1 });
            assert_eq!(not_me(&mut client, &token, id).await.data(), answer);
        }
        assert!(!client.is_valid(&thief).await);
        assert_eq!(notified(&app, &mut client).await.1.len(), 12);
    }

    async fn every_disowned_session_is_reported(app) {
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        for _ in 0..12 {
            sign_in(&app, &mut client, "user01").await;
            let id = ids(&mut client, &token).await.remove(0);
            assert_eq!(not_me(&mut client, &token, &id).await.data(), json!({ "success": true, "ended": 1, "told": 1 }));
        }
    }

    async fn it_takes_no_role(app) {
        let mut client = app.client().await;
        let thief = client.sign_in("user01").await;
        let token = sign_in(&app, &mut client, "user01").await;
        app.auth().operator().revoke(app.key("user01"), "user").await.unwrap();
        let id = ids(&mut client, &token).await.remove(1);
        assert_eq!(not_me(&mut client, &token, &id).await.data()["ended"], 1);
        assert_eq!(client.me(&thief).await.refused(401, 1001).reason(), "signed_out");
    }

    async fn it_takes_a_full_session_of_an_enabled_employee(app) {
        let mut client = app.client().await;
        client.first_password("agent01").await;
        let (half, token) = (client.partial_sign_in("agent01").await, client.sign_in("user01").await);
        let id = ids(&mut client, &token).await.remove(0);
        app.auth().operator().disable(app.key("user01")).await.unwrap();
        for (token, reason) in [(&half, "half_authenticated"), (&token, "disabled")] {
            assert_eq!(client.get_as(token, "/api/auth/sign-ins").await.refused(401, 1001).reason(), reason);
            assert_eq!(not_me(&mut client, token, &id).await.refused(401, 1001).reason(), reason);
        }
        assert_eq!(app.query("SELECT count(*) FROM disowned"), ["0"]);
    }
}
