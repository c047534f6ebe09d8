//! /api/auth/scan/…

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Client, TestApp, fragment, location, request, target, until};

const ABSENT: Value = Value::Null;

fn ticket(code: &Value) -> &str {
    code["ticket"].as_str().unwrap()
}

/// Signs in by QR code and returns the token.
async fn sign_in(client: &mut Client, who: &str) -> String {
    let code = client.qrcode().await;
    let confirm = client.scan_as(&code, who).await;
    client.decide("confirm", &confirm).await.data();
    client.scan_status(ticket(&code)).await["token"].as_str().unwrap().to_owned()
}

on_every_store! {
    async fn goes_from_waiting_through_scanned_to_confirmed(app) {
        let mut client = app.client().await;
        let desktop = [("user-agent", "Mozilla/5.0 (Windows NT 10.0) Chrome/126.0"), ("x-forwarded-for", "198.51.100.7")];
        let code = client.get("/api/auth/qrcode?client=itagent", &desktop).await.data();
        let waiting = json!({ "status": "waiting", "employee_id": ABSENT, "name": ABSENT, "token": ABSENT });
        assert_eq!(client.scan_status(ticket(&code)).await, waiting);

        let confirm = client.scan_as(&code, "agent01").await;
        let scanned = json!({ "status": "scanned", "employee_id": "agent01", "name": "Arno Agent", "token": ABSENT });
        assert_eq!(client.scan_status(ticket(&code)).await, scanned);
        let asked = json!({
            "client": "itagent", "client_name": null, "client_host": null, "browser": "Chrome 126", "os": "Windows", "ip_address": "198.51.100.7", "same_network": false, "opened_by_page": false,
            "requested_at": "2027-01-15T08:00:00Z", "expires_in": 180, "employee_id": "agent01", "name": "Arno Agent", "choices": null, "number_missing": false
        });
        assert_eq!(client.decide("request", &confirm).await.data(), asked);
        assert_eq!(app.query("SELECT count(*) FROM session"), ["0"]);

        assert_eq!(client.decide("confirm", &confirm).await.data(), json!({ "success": true }));
        let confirmed = client.scan_status(ticket(&code)).await;
        assert_eq!((&confirmed["status"], &confirmed["employee_id"], &confirmed["name"]), (&json!("confirmed"), &json!("agent01"), &json!("Arno Agent")));
        let token = confirmed["token"].as_str().unwrap();
        let me = client.me(token).await.data();
        assert_eq!((&me["current_role"], &me["login_source"], &me["roles"]), (&json!("agent"), &json!("itagent"), &json!(["agent", "user"])));
        let log = app.query("SELECT event, employee_key, login_method, login_source, ip_address, user_agent FROM login_log");
        assert_eq!(log, ["sign_in|agent01|qrcode|itagent|198.51.100.7|Mozilla/5.0 (Windows NT 10.0) Chrome/126.0"]);
        assert_eq!(app.query("SELECT proven FROM session"), ["1"]);
    }

    /// Loading the link identifies a person silently, and a foreign page can load it. So outside development mode the computer
    /// learns the person's name only after they saw the question, and where a page led them to it, after they confirmed.
    async fn in_production_the_name_is_sent_after_the_question_was_shown() {
        let (app, platform) = TestApp::production_with_platform(&[("limits.enabled", "false")]).await;
        let (mut client, mut phone) = (app.client().await, platform.client().await);
        let app = [("sec-fetch-site", "none")];
        let link = [("sec-fetch-site", "cross-site"), ("referer", "https://evil.example.net/")];
        for (headers, opened_by_page) in [(&app[..], false), (&link[..], true), (&link[..1], true), (&[], false)] {
            let code = client.qrcode().await;
            let waiting = client.scan_status(ticket(&code)).await;
            assert_eq!(waiting["status"], "waiting");
            let back = phone.authorize(code["qrcode_url"].as_str().unwrap(), "user01").await;
            let landed = client.get(&target(&back), headers).await;
            let confirm = fragment(location(&landed), "confirm");
            assert_eq!(client.scan_status(ticket(&code)).await, waiting);
            let asked = client.decide("request", &confirm).await.data();
            assert_eq!((&asked["opened_by_page"], &asked["name"]), (&json!(opened_by_page), &json!("Uma User")));
            assert_eq!(client.scan_status(ticket(&code)).await, waiting);
            let shown = json!({ "confirm": confirm, "shown": true });
            assert_eq!(client.post("/api/auth/scan/request", &[], &shown).await.data(), asked);
            let named = json!({ "status": "scanned", "employee_id": "user01", "name": "Uma User", "token": ABSENT });
            let state = client.scan_status(ticket(&code)).await;
            assert_eq!(state, if opened_by_page { waiting } else { named }, "{headers:?}");
            client.decide("confirm", &confirm).await.data();
            let state = client.scan_status(ticket(&code)).await;
            assert_eq!((&state["status"], &state["name"]), (&json!("confirmed"), &json!("Uma User")));
            client.post("/api/auth/scan/request", &[], &shown).await.refused(409, 1019);
        }
    }

    async fn a_token_is_delivered_for_half_a_minute(app) {
        let mut client = app.client().await;
        let code = client.qrcode().await;
        let confirm = client.scan_as(&code, "user01").await;
        client.decide("confirm", &confirm).await.data();
        let first = client.scan_status(ticket(&code)).await;
        app.clock.advance(Duration::from_millis(29_999));
        assert_eq!(client.scan_status(ticket(&code)).await, first);
        app.clock.advance(Duration::from_millis(1));
        assert_eq!(client.scan_status(ticket(&code)).await["status"], "expired");
        assert!(client.is_valid(first["token"].as_str().unwrap()).await);
        // This also holds when it is collected at the last moment.
        let code = client.qrcode().await;
        let confirm = client.scan_as(&code, "user01").await;
        client.decide("confirm", &confirm).await.data();
        app.clock.advance(Duration::from_millis(179_999));
        let first = client.scan_status(ticket(&code)).await;
        assert_eq!(first["status"], "confirmed");
        app.clock.advance(Duration::from_secs(29));
        assert_eq!(client.scan_status(ticket(&code)).await, first);
    }

    async fn is_over_after_three_minutes(app) {
        let mut client = app.client().await;
        let (code, late) = (client.qrcode().await, client.qrcode().await);
        let confirm = client.scan_as(&code, "user01").await;
        app.clock.advance(Duration::from_millis(179_999));
        assert_eq!(client.scan_status(ticket(&code)).await["status"], "scanned");
        assert_eq!(client.decide("request", &confirm).await.data()["expires_in"], 0);
        app.clock.advance(Duration::from_millis(1));
        assert_eq!(client.scan_status(ticket(&code)).await["status"], "expired");
        for step in ["request", "confirm", "cancel"] {
            client.decide(step, &confirm).await.refused(409, 1019);
        }
        let landed = client.scan(&late, "user01").await;
        assert_eq!((fragment(&landed, "error"), fragment(&landed, "code")), ("invalid_code".into(), "1019".into()));
        assert!(landed.starts_with(&format!("http://{}/scan/#error=", app.address)), "{landed}");
        assert_eq!(app.query("SELECT count(*) FROM session"), ["0"]);
    }

    async fn confirmed_at_the_last_moment_can_still_be_collected(app) {
        let mut client = app.client().await;
        let code = client.qrcode().await;
        let confirm = client.scan_as(&code, "user01").await;
        app.clock.advance(Duration::from_millis(179_999));
        client.decide("confirm", &confirm).await.data();
        app.clock.advance(Duration::from_secs(20));
        assert_eq!(client.scan_status(ticket(&code)).await["status"], "confirmed");
    }

    async fn a_no_is_a_no(app) {
        let mut client = app.client().await;
        let code = client.qrcode().await;
        let confirm = client.scan_as(&code, "user01").await;
        assert_eq!(client.decide("cancel", &confirm).await.data(), json!({ "success": true }));
        for step in ["request", "confirm", "cancel"] {
            client.decide(step, &confirm).await.refused(409, 1019);
        }
        assert_eq!(client.scan_status(ticket(&code)).await["status"], "expired");
        assert_eq!(app.query("SELECT count(*) FROM session"), ["0"]);
    }

    async fn what_is_no_ticket_is_expired_and_none_is_an_error(app) {
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        let expired = json!({ "status": "expired", "employee_id": ABSENT, "name": ABSENT, "token": ABSENT });
        for nothing in ["", "x", &token, "dpt_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "%ff%00"] {
            assert_eq!(client.scan_status(nothing).await, expired);
        }
        for path in ["/api/auth/scan/status", "/api/auth/scan/events", "/api/auth/scan/status?Ticket=x"] {
            let missing = client.get(path, &[]).await;
            assert_eq!(missing.refused(400, 1002).json()["data"]["fields"]["ticket"], "is required");
        }
        client.get("/api/auth/scan/status?ticket=a&ticket=b", &[]).await.refused(400, 1002);
        for nothing in ["", "x", &token] {
            client.decide("confirm", nothing).await.refused(409, 1019);
        }
    }

    async fn a_disabled_or_departed_employee_learns_so_on_the_phone(app) {
        let mut client = app.client().await;
        app.auth().operator().disable(app.key("agent01")).await.unwrap();
        for (who, word) in [("agent01", "disabled"), ("left01", "disabled"), ("outsider01", "not_a_member"), ("deny", "denied")] {
            let code = client.qrcode().await;
            let landed = client.scan(&code, who).await;
            assert!(landed.starts_with(&format!("http://{}/scan/#error={word}&code=1003&ref=", app.address)), "{landed}");
        }
        // The employee is disabled between scanning and confirming.
        let code = client.qrcode().await;
        let confirm = client.scan_as(&code, "user01").await;
        app.auth().operator().disable(app.key("user01")).await.unwrap();
        assert_eq!(client.decide("confirm", &confirm).await.refused(403, 1003).reason(), "disabled");
        assert_eq!(client.scan_status(ticket(&code)).await["status"], "expired");
        assert_eq!(app.query("SELECT count(*) FROM session"), ["0"]);
    }

    async fn the_first_sign_in_adds_an_employee_and_later_sign_ins_update_it(app) {
        let mut client = app.client().await;
        let token = sign_in(&mut client, "hidden01").await;
        // The employee is outside the application's visible range: the platform names them and gives no details.
        let me = client.me(&token).await.data();
        assert_eq!((&me["name"], &me["roles"], &me["department"]), (&json!("hidden01"), &json!(["user"]), &json!("")));
        // The platform may write an identifier in another case; it is the same person.
        let named = json!({ "api": "auth/getuserinfo", "body": r#"{"errcode":0,"userid":"ADMIN01"}"# });
        client.set_fault(&named).await;
        let token = sign_in(&mut client, "admin01").await;
        let me = client.me(&token).await.data();
        assert_eq!((&me["employee_id"], &me["avatar"], &me["current_role"]), (&json!("admin01"), &json!("https://avatars.example.com/admin01.png"), &json!("admin")));
        let changed = json!({ "api": "user/get", "body": r#"{"errcode":0,"userid":"user01","name":"Uma Married","department":[1],"status":1}"# });
        client.set_fault(&changed).await;
        let token = sign_in(&mut client, "user01").await;
        assert_eq!(client.me(&token).await.data()["name"], "Uma Married");
        // Details that the platform does not return stay unchanged.
        client.set_fault(&json!({ "api": "user/get", "body": r#"{"errcode":0,"userid":"user01","status":1}"# })).await;
        let token = sign_in(&mut client, "user01").await;
        assert_eq!(client.me(&token).await.data()["name"], "Uma Married");
    }

    /// An employee without a role gets the default role for the session. The role is not stored.
    async fn an_employee_without_roles_gets_the_default_role(app) {
        let mut client = app.client().await;
        let token = sign_in(&mut client, "norole01").await;
        assert_eq!(client.me(&token).await.data()["roles"], json!(["user"]));
        assert_eq!(app.query("SELECT count(*) FROM user_role WHERE employee_key = 'norole01'"), ["0"]);
        let bound = client.post("/api/auth/bind", &[], &json!({ "employee_id": "norole01" })).await;
        assert_eq!(bound.refused(403, 1003).reason(), "no_role");
        // Granting another role does not remove the default role, which also survives a restart.
        app.auth().operator().grant(app.key("norole01"), "agent").await.unwrap();
        let app = app.restart().await;
        let mut client = app.client().await;
        let me = client.me(&token).await.data();
        assert_eq!((&me["roles"], &me["current_role"]), (&json!(["agent", "user"]), &json!("user")));
        client.switch(&token, "agent").await.data();
        let token = sign_in(&mut client, "norole01").await;
        assert_eq!(client.verify(&token).await["roles"], json!(["agent"]));
        // After its only role is revoked, a session has no role until the next sign-in.
        app.auth().operator().revoke(app.key("norole01"), "agent").await.unwrap();
        assert_eq!(client.me(&token).await.refused(403, 1003).reason(), "role_taken_away");
    }

    async fn agents_without_a_role_have_the_role_of_their_record(app) {
        for role in ["supervisor", "user"] {
            app.auth().operator().revoke(app.key("supervisor01"), role).await.unwrap();
        }
        let mut client = app.client().await;
        let token = sign_in(&mut client, "supervisor01").await;
        assert_eq!(client.me(&token).await.data()["roles"], json!(["supervisor"]));
    }

    async fn events_tell_it_as_it_happens(app) {
        let (mut client, mut watching) = (app.client().await, app.client().await);
        let code = client.qrcode().await;
        watching.start(&request("GET", &format!("/api/auth/scan/events?ticket={}", ticket(&code)), &[], b"")).await;
        let head = watching.read_until("\"waiting\"").await;
        assert!(head.contains("content-type: text/event-stream") && head.contains("x-accel-buffering: no") && head.contains("cache-control: no-store"), "{head}");
        assert!(head.contains("event: status\ndata: {\"status\":\"waiting\",\"employee_id\":null,"), "{head}");
        let confirm = client.scan_as(&code, "user01").await;
        watching.read_until("{\"status\":\"scanned\",\"employee_id\":\"user01\",\"name\":\"Uma User\",\"token\":null}").await;
        client.decide("confirm", &confirm).await.data();
        let last = watching.read_until("\r\n0\r\n\r\n").await;
        let text = last.split_once("data: ").unwrap().1.split_once('\n').unwrap().0;
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), client.scan_status(ticket(&code)).await);
    }

    async fn events_end_with_a_no_and_with_the_time(app) {
        let (mut client, mut watching) = (app.client().await, app.client().await);
        let path = |code: &Value| format!("/api/auth/scan/events?ticket={}", ticket(code));
        let code = client.qrcode().await;
        let confirm = client.scan_as(&code, "user01").await;
        watching.start(&request("GET", &path(&code), &[], b"")).await;
        watching.read_until("scanned").await;
        client.decide("cancel", &confirm).await.data();
        assert!(watching.read_until("\r\n0\r\n\r\n").await.contains("expired"));
        let code = client.qrcode().await;
        app.clock.advance(Duration::from_millis(179_999));
        watching.start(&request("GET", &path(&code), &[], b"")).await;
        watching.read_until("waiting").await;
        app.clock.advance(Duration::from_millis(1));
        assert!(watching.read_until("\r\n0\r\n\r\n").await.contains("expired"));
        watching.start(&request("GET", "/api/auth/scan/events?ticket=x", &[], b"")).await;
        assert!(watching.read_until("\r\n0\r\n\r\n").await.contains("expired"));
    }
}

on_every_store! {
    async fn an_open_event_stream_does_not_delay_a_stop() {
        let mut app = TestApp::start().await;
        let (mut client, mut watching) = (app.client().await, app.client().await);
        let code = client.qrcode().await;
        watching.start(&request("GET", &format!("/api/auth/scan/events?ticket={}", ticket(&code)), &[], b"")).await;
        watching.read_until("waiting").await;
        drop(client);
        tokio::time::timeout(Duration::from_secs(10), app.stop()).await.expect("stopped before the drain time");
    }
}

/// An event stream may be silent for longer than the idle timeout of a connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_open_event_stream_is_not_taken_for_idle() {
    let given = [("development.enabled", "true"), ("server.idle_timeout", "100ms"), ("server.header_timeout", "100ms")];
    let app = TestApp::with(crate::harness::settings(&given)).await;
    let mut watching = app.client().await;
    let code = app.client().await.qrcode().await;
    watching.start(&request("GET", &format!("/api/auth/scan/events?ticket={}", ticket(&code)), &[], b"")).await;
    watching.read_until("waiting").await;
    // An idle connection is closed meanwhile, which shows that enough time has passed.
    let mut idle = app.client().await;
    idle.get("/healthz", &[]).await;
    assert!(idle.read().await.is_none());
    let mut idle = app.client().await;
    idle.get("/healthz", &[]).await;
    assert!(idle.read().await.is_none());
    app.client().await.scan_as(&code, "user01").await;
    watching.read_until("scanned").await;
}

/// Event streams take at most half of the connections; a client above the limit gets one event and the end of the stream.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watching_takes_at_most_half_of_the_connections() {
    let given = [
        ("development.enabled", "true"),
        ("server.max_connections", "20"),
        ("server.max_connections_per_address", "6"),
    ];
    let app = TestApp::with(crate::harness::settings(&given)).await;
    let mut client = app.client().await;
    let code = client.qrcode().await;
    let path = format!("/api/auth/scan/events?ticket={}", ticket(&code));
    let mut watching = Vec::new();
    for at in 0..14 {
        let address = format!("198.51.100.{}", at % 2);
        let mut other = app.client().await;
        other.start(&request("GET", &path, &[("x-forwarded-for", &address)], b"")).await;
        // Ten in all, at most six from one address.
        let text = other.read_until(if at < 10 { "waiting" } else { "\r\n0\r\n\r\n" }).await;
        assert!(text.contains("waiting"), "{text}");
        watching.push(other);
    }
    watching.truncate(3);
    let confirm = client.scan_as(&code, "user01").await;
    client.decide("confirm", &confirm).await.data();
    for mut other in watching {
        other.read_until("confirmed").await;
    }
    let mut late = app.client().await;
    let code = client.qrcode().await;
    late.start(&request("GET", &format!("/api/auth/scan/events?ticket={}", ticket(&code)), &[], b"")).await;
    late.read_until("waiting").await;
    client.scan_as(&code, "user01").await;
    late.read_until("scanned").await;
}

on_every_store! {
    /// The store fails for a moment: the phone may confirm again, also at the last moment.
    async fn a_yes_that_the_store_did_not_take_may_be_said_again(app) {
        let mut client = app.client().await;
        let code = client.qrcode().await;
        let confirm = client.scan_as(&code, "user01").await;
        app.clock.advance(Duration::from_millis(179_999));
        let held = app.block_writes().await;
        client.decide("confirm", &confirm).await.refused(503, 1005);
        held.release().await;
        app.clock.advance(Duration::from_secs(20));
        assert_eq!(client.scan_status(ticket(&code)).await["status"], "scanned");
        client.decide("confirm", &confirm).await.data();
        assert_eq!(client.scan_status(ticket(&code)).await["status"], "confirmed");
        assert_eq!(app.query("SELECT count(*) FROM session"), ["1"]);
    }

    /// The phone's connection breaks right after it confirmed: the waiting computer is signed in all the same.
    async fn a_yes_counts_also_when_the_phone_does_not_wait_for_the_answer(app) {
        let mut client = app.client().await;
        let mut unheard = 0;
        for round in 0..100 {
            let (code, mut phone) = (client.qrcode().await, app.client().await);
            let confirm = client.scan_as(&code, "user01").await;
            let body = json!({ "confirm": confirm }).to_string();
            let json = [("content-type", "application/json")];
            phone.start(&request("POST", "/api/auth/scan/confirm", &json, body.as_bytes())).await;
            // On a busy machine, the service may learn of the request and of its end at once, each time.
            if round == 0 {
                let ticket = ticket(&code);
                until("it counts", async || client.scan_status(ticket).await["status"] == "confirmed").await;
            }
            drop(phone);
            // Either the confirmation was received and counts, or it was not and can be repeated.
            let again = client.decide("confirm", &confirm).await;
            assert!(again.status == 200 || again.code() == 1019, "{again:?}");
            unheard += usize::from(again.status == 200);
            let mut looks = 0;
            while client.scan_status(ticket(&code)).await["status"] != "confirmed" {
                looks += 1;
                assert!(looks < 10_000, "stuck between yes and signed in");
            }
        }
        assert_ne!(unheard, 100, "no event was received: this test checks nothing");
    }

    async fn without_a_default_role_no_role_is_given() {
        let app =
            TestApp::with(crate::harness::settings(&[("development.enabled", "true"), ("default_role", "none")])).await;
        let mut client = app.client().await;
        let code = client.qrcode().await;
        let confirm = client.scan_as(&code, "norole01").await;
        assert_eq!(client.decide("confirm", &confirm).await.refused(403, 1003).reason(), "no_role");
        assert_eq!(client.scan_status(ticket(&code)).await["status"], "expired");
        sign_in(&mut client, "user01").await;
    }
}
