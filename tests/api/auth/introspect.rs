//! POST /api/auth/introspect

use std::time::Duration;

use serde_json::json;

use crate::cluster::soon;
use crate::harness::{Client, Response, StoreBackend, TestApp, request, settings};

const PATH: &str = "/api/auth/introspect";
const FORM: &str = "application/x-www-form-urlencoded";
const INACTIVE: &str = r#"{"active":false,"code":0,"message":"ok","data":{"active":false},"request_id":"same"}"#;

/// Sends a body with any content type.
async fn raw(client: &mut Client, key: &str, kind: &str, body: &str) -> Response {
    let bearer = format!("Bearer {key}");
    let headers = [("authorization", &*bearer), ("content-type", kind), ("x-request-id", "same")];
    client.send(&request("POST", PATH, &headers, body.as_bytes())).await
}

on_every_store! {
    async fn says_whose_a_good_token_is_with_the_members_of_the_rfc_and_in_the_envelope(app) {
        let mut client = app.client().await;
        let token = client.sign_in("Agent01").await;
        let (key, _) = app.service_key("introspect").await;
        app.clock.advance(Duration::from_secs(100));
        let subject = client.introspect(&key, &token).await.json()["sub"].clone();
        assert!(subject.as_str().is_some_and(|subject| subject.len() == 22), "{subject}");
        let members = json!({
            "active": true, "sub": subject, "username": "agent01", "client_id": "h5", "token_type": "Bearer",
            "exp": 1_800_028_800, "iat": 1_800_000_000, "corp_id": "wwdeskpass", "employee_id": "agent01",
            "name": "Arno Agent", "department": "IT Service Desk", "department_id": "3", "roles": ["agent", "user"], "current_role": "agent", "login_method": "dev",
            "login_source": "h5",
        });
        let mut expected = members.clone();
        expected.as_object_mut().unwrap().extend(
            json!({ "code": 0, "message": "ok", "data": members, "request_id": "same" }).as_object().unwrap().clone(),
        );
        for (kind, body) in [
            (FORM, format!("token={token}")),
            (FORM, format!("token_type_hint=access_token&token={token}&more=x")),
            ("Application/X-WWW-Form-Urlencoded; charset=utf-8", format!("token={token}&ip_address=203.0.113.9")),
            ("application/json", json!({ "token": token }).to_string()),
            ("application/json", json!({ "token": token, "token_type_hint": "refresh_token", "ip_address": "::1" }).to_string()),
        ] {
            let answer = raw(&mut client, &key, kind, &body).await;
            assert_eq!((answer.status, answer.json()), (200, expected.clone()), "{kind} {body}");
            assert_eq!(answer.header("content-type"), Some("application/json"));
            assert_eq!(answer.header("cache-control"), Some("no-store"));
        }
    }

    /// Two spellings of one name are one person; two persons never share a subject.
    async fn the_subject_names_one_person(app) {
        let mut client = app.client().await;
        let (key, _) = app.service_key("introspect").await;
        let (abroad, _) = app.partner_administrator().await;
        let [one, same] = [client.sign_in("agent01").await, client.sign_in("Agent01").await];
        let mut subjects = Vec::new();
        for token in [&one, &same, &abroad] {
            subjects.push(client.introspect(&key, token).await.json()["sub"].clone());
        }
        assert!(subjects[0] == subjects[1] && subjects[1] != subjects[2], "{subjects:?}");
    }

    async fn says_nothing_about_a_token_that_is_not_good(app) {
        let mut client = app.client().await;
        let (key, _) = app.service_key("introspect messages").await;
        let (other_key, _) = app.service_key("messages").await;
        client.first_password("supervisor01").await;
        let half = client.partial_sign_in("supervisor01").await;
        let qrcode = client.qrcode().await;
        let ticket = qrcode["ticket"].as_str().unwrap();
        let signed_out = client.sign_in("user01").await;
        client.logout(&signed_out).await.data();
        let disabled = client.sign_in("agent01").await;
        app.auth().operator().disable(app.key("agent01")).await.unwrap();
        let suspended = client.sign_in("security01").await;
        app.auth().operator().revoke(app.key("security01"), "user").await.unwrap();
        let expired = client.sign_in("admin01").await;
        app.clock.advance(Duration::from_hours(8));
        let unknown = format!("dpa_{}", "A".repeat(49));
        let long = "x".repeat(5_000);
        for token in [
            &*signed_out, &disabled, &suspended, &expired, &unknown, &half, ticket, &key, &other_key, "", " ", "Bearer x", "密码",
            &long,
        ] {
            let as_json = raw(&mut client, &key, "application/json", &json!({ "token": token }).to_string()).await;
            let pairs: String = url::form_urlencoded::Serializer::new(String::new()).append_pair("token", token).finish();
            let as_form = raw(&mut client, &key, FORM, &pairs).await;
            for answer in [as_json, as_form] {
                assert_eq!((answer.status, &*answer.body), (200, INACTIVE), "{token}");
            }
        }
    }

    async fn where_its_holder_is_counts_when_the_service_says_it(app) {
        let mut client = app.client().await;
        let (key, _) = app.service_key("introspect").await;
        let token = client.sign_in("agent01").await;
        app.set_list("agent", &["10.0.0.0/8", "2001:db8::/32"]).await;
        for (address, is_active) in [
            ("10.1.2.3", true), ("::ffff:10.1.2.3", true), ("2001:db8::7", true), ("203.0.113.9", false), ("2001:db9::1", false),
            ("::ffff:203.0.113.9", false),
        ] {
            let answer = raw(&mut client, &key, FORM, &format!("token={token}&ip_address={address}")).await;
            assert_eq!(answer.json()["active"], is_active, "{address}");
            assert!(is_active || answer.body == INACTIVE);
            let verified = client.post("/api/auth/verify", &[], &json!({ "token": token, "ip_address": address })).await;
            assert_eq!(verified.data()["valid"], is_active, "{address}");
        }
        // The service's own address is not the user's address.
        assert_eq!(client.introspect(&key, &token).await.json()["active"], true);
        let bearer = format!("Bearer {key}");
        let headers = [("authorization", &*bearer), ("x-forwarded-for", "203.0.113.9")];
        assert_eq!(client.post(PATH, &headers, &json!({ "token": token })).await.json()["active"], true);
    }

    async fn a_key_must_be_good_and_good_for_this(app) {
        let mut client = app.client().await;
        let (key, id) = app.service_key("introspect").await;
        let (messages, _) = app.service_key("messages").await;
        let access = client.sign_in("admin01").await;
        client.first_password("agent01").await;
        let half = client.partial_sign_in("agent01").await;
        let unknown = TestApp::start().await.service_key("introspect").await.0;
        let cut = &key[..key.len() - 1];
        for (shown, reason) in [
            ("", "malformed"), (&access, "malformed"), (&half, "malformed"), (cut, "malformed"), (&id, "malformed"), ("null", "malformed"),
            (&unknown, "unknown"),
        ] {
            let answer = client.introspect(shown, &access).await;
            assert_eq!(answer.refused(401, 1001).reason(), reason, "{shown}");
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        }
        let nothing = client.post(PATH, &[], &json!({ "token": access })).await;
        assert_eq!(nothing.refused(401, 1001).reason(), "missing");
        assert_eq!(nothing.header("www-authenticate"), Some("Bearer"));
        let basic = client.post(PATH, &[("authorization", &format!("Basic {key}"))], &json!({ "token": access })).await;
        assert_eq!(basic.refused(401, 1001).reason(), "missing");
        let two = [("authorization", &*format!("Bearer {key}")), ("authorization", &*format!("Bearer {key}"))];
        client.post(PATH, &two, &json!({ "token": access })).await.refused(400, 1002);
        assert_eq!(client.introspect(&messages, &access).await.refused(403, 1003).reason(), "scope_needed");

        assert_eq!(client.introspect(&key, &access).await.json()["active"], true);
        // A service key is refused everywhere else.
        for path in ["/api/auth/me", "/api/auth/otp-status", "/api/admin/service-keys", "/api/admin/ip-rules"] {
            assert_eq!(client.get_as(&key, path).await.refused(401, 1001).reason(), "malformed", "{path}");
        }
        assert!(!client.is_valid(&key).await);
        app.auth().operator().revoke_service_key(id).await.unwrap();
        assert_eq!(client.introspect(&key, &access).await.refused(401, 1001).reason(), "unknown");
    }

    async fn a_key_ends_at_its_time_and_not_before(app) {
        let mut client = app.client().await;
        let (key, _) = app.service_key("introspect").await;
        app.clock.advance(Duration::from_hours(365 * 24) - Duration::from_millis(1));
        let token = client.sign_in("user01").await;
        assert_eq!(client.introspect(&key, &token).await.json()["active"], true);
        app.clock.advance(Duration::from_millis(1));
        let answer = client.introspect(&key, &token).await;
        assert_eq!(answer.refused(401, 1001).reason(), "expired");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    }
}

on_one_store! {
    async fn a_body_that_cannot_be_read_is_reported_and_repeats_no_token(app) {
        let mut client = app.client().await;
        let (key, _) = app.service_key("introspect").await;
        let token = client.sign_in("user01").await;
        for (kind, body, status, field, why) in [
            (FORM, String::new(), 400, "token", "is required"),
            (FORM, format!("tokens={token}"), 400, "token", "is required"),
            (FORM, format!("token={token}&token={token}"), 400, "token", "must not be given twice"),
            (FORM, format!("token={token}&ip_address=here"), 400, "ip_address", "must be an IPv4 or IPv6 address"),
            ("application/json", "{}".into(), 400, "token", "is required"),
            ("application/json", "{\"token\":5}".into(), 400, "token", "must be a string"),
            ("application/json", format!("{{\"token\":{token}}}"), 400, "", ""),
            ("application/json", format!("token={token}"), 400, "", ""),
            ("text/plain", format!("token={token}"), 415, "", ""),
            ("", format!("token={token}"), 415, "", ""),
            ("multipart/form-data; boundary=x", format!("token={token}"), 415, "", ""),
        ] {
            let answer = raw(&mut client, &key, kind, &body).await;
            let text = answer.refused(status, 1002).json();
            assert!(field.is_empty() || text["data"]["fields"][field] == why, "{kind} {body}: {text}");
            assert!(!answer.body.contains(&token[4..47]), "{kind} {body}: {text}");
        }
        // Without a valid key the response does not say what is wrong with the body.
        raw(&mut client, "x", "text/plain", "").await.refused(401, 1001);
    }
}

on_every_store! {
    async fn a_service_with_a_good_key_is_never_limited() {
        let limited = [("development.enabled", "true"), ("limits.enabled", "true"), ("limits.verify", "1/min")];
        let app = TestApp::with(settings(&limited)).await;
        let mut client = app.client().await;
        let (key, _) = app.service_key("introspect").await;
        for _ in 0..50 {
            assert_eq!(client.introspect(&key, "dpa_nobody").await.json()["active"], false);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_works_on_every_node_and_stops_on_every_node_within_a_second() {
    let test = async {
        let one = TestApp::start().await;
        let other = one.second_node().await;
        let (mut here, mut there) = (one.client().await, other.client().await);
        let token = here.sign_in("user01").await;
        for _ in 0..10 {
            let (key, id) = one.service_key("introspect").await;
            soon("a key was made", async || there.introspect(&key, &token).await.status == 200).await;
            assert_eq!(there.introspect(&key, &token).await.json()["active"], true);
            one.auth().operator().revoke_service_key(id).await.unwrap();
            here.introspect(&key, &token).await.refused(401, 1001);
            soon("a key was revoked", async || there.introspect(&key, &token).await.status == 401).await;
        }
        let (key, _) = one.service_key("introspect").await;
        soon("a key was made", async || there.introspect(&key, &token).await.status == 200).await;
        here.logout(&token).await.data();
        soon("a token has ended", async || there.introspect(&key, &token).await.json()["active"] == false).await;
    };
    StoreBackend::ScaledOut.run(Box::pin(test)).await;
}
