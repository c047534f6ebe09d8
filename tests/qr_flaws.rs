//! The six flaws that an audit of QR sign-ins in the wild found, one test each, by its number.

use std::collections::HashSet;

use deskpass_core::{Digest, Secret, Ticket};
use serde_json::json;

use crate::harness::{Client, TestApp, cookies, fragment, location, target};

/// How many codes are checked for a pattern.
const CODES: u32 = 400;

fn text<'a>(value: &'a serde_json::Value, name: &str) -> &'a str {
    value[name].as_str().unwrap()
}

async fn confirmed(client: &mut Client, code: &serde_json::Value, who: &str) {
    let confirm = client.scan_as(code, who).await;
    client.decide("confirm", &confirm).await.data();
}

on_every_store! {
    /// The code is not bound to the browser: a picture of it is enough to take over the sign-in.
    async fn qr_flaw_1_holding_the_picture_is_not_enough(app) {
        let mut client = app.client().await;
        let page = ("sec-fetch-site", "same-origin");
        let answer = client.get("/api/auth/qrcode", &[page]).await;
        let (code, own) = (answer.data(), cookies(&answer));
        let (ticket, link) = (text(&code, "ticket").to_owned(), text(&code, "qrcode_url").to_owned());
        // Everything in the picture, and everything that can be derived from it.
        assert!(!link.contains(&ticket) && !link.contains(&ticket[4..47]));
        let back = url::Url::parse(&link).unwrap().query_pairs().find(|(name, _)| name == "redirect_uri").unwrap().1.into_owned();
        let scan_id = back.split_once("sid=").unwrap().1.to_owned();
        let digest = Digest::of(&[scan_id.as_bytes()]).to_text();
        let guesses = [scan_id.clone(), scan_id.replace("dps_", "dpt_"), format!("dpt_{}", &scan_id[4..47]), digest];
        confirmed(&mut client, &code, "user01").await;
        for guess in &guesses {
            assert!(Secret::<Ticket>::parse(guess).is_err());
            assert_eq!(client.scan_status(guess).await["status"], "expired");
        }
        // The ticket is not enough either without its browser.
        assert_eq!(client.scan_status(&ticket).await["token"], json!(null));
        let path = format!("/api/auth/scan/status?ticket={ticket}");
        assert_eq!(client.get(&path, &[page, ("cookie", &own)]).await.data()["status"], "confirmed");
    }

    /// The code can be used again.
    async fn qr_flaw_2_a_code_is_used_once(app) {
        let mut client = app.client().await;
        let code = client.qrcode().await;
        confirmed(&mut client, &code, "user01").await;
        let token = client.scan_status(text(&code, "ticket")).await["token"].clone();
        let landed = client.scan(&code, "admin01").await;
        assert_eq!(fragment(&landed, "error"), "invalid_code");
        app.clock.advance(std::time::Duration::from_secs(30));
        assert_eq!(client.scan_status(text(&code, "ticket")).await["status"], "expired");
        assert_eq!(client.scan(&code, "admin01").await.split_once("#error=").unwrap().1[..12], *"invalid_code");
        assert_eq!(app.query("SELECT employee_key FROM session"), ["user01"]);
        assert!(client.is_valid(token.as_str().unwrap()).await);
    }

    /// The identifiers can be predicted.
    async fn qr_flaw_3_nothing_can_be_predicted(app) {
        let mut client = app.client().await;
        let (mut seen, mut bits) = (HashSet::new(), [0_u32; 6 * 43]);
        for _ in 0..CODES {
            let code = client.qrcode().await;
            let ticket = text(&code, "ticket");
            assert!(seen.insert(ticket.to_owned()) && seen.insert(text(&code, "qrcode_url").to_owned()));
            let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
            for (at, character) in ticket[4..47].chars().enumerate() {
                let value = alphabet.find(character).unwrap();
                (0..6).for_each(|bit| bits[at * 6 + bit] += u32::from(value & (32 >> bit) != 0));
            }
        }
        // 256 random bits: every one of them falls either way about as often.
        assert!(bits[..256].iter().all(|ones| (CODES / 2).abs_diff(*ones) < CODES / 6), "{bits:?}");
    }

    /// The client chooses the identifier.
    async fn qr_flaw_4_no_client_chooses_an_identifier(app) {
        let mut client = app.client().await;
        let chosen = Secret::<Ticket>::generate(&deskpass_core::Entropy::system()).unwrap();
        let chosen = chosen.expose();
        let code = client.get(&format!("/api/auth/qrcode?ticket={chosen}&sid={chosen}"), &[]).await.data();
        assert_ne!(text(&code, "ticket"), chosen);
        assert_eq!(client.scan_status(chosen).await["status"], "expired");
        // A scan of a code that was never issued has no effect.
        let back = client.authorize(text(&code, "qrcode_url"), "user01").await;
        let forged = target(&back).replace("sid=dps_", "sid=dpt_");
        assert_eq!(fragment(location(&client.get(&forged, &[]).await), "error"), "invalid_code");
        assert_eq!(client.scan_status(text(&code, "ticket")).await["status"], "waiting");
        assert_eq!(client.scan_status(chosen).await["status"], "expired");
    }

    /// The confirming client states its own identity.
    async fn qr_flaw_5_only_the_platform_says_who_confirms(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        let code = client.qrcode().await;
        let confirm = client.scan_as(&code, "user01").await;
        let bearer = format!("Bearer {token}");
        let claim = json!({ "confirm": confirm, "employee_id": "admin01", "userid": "admin01", "name": "Ada", "roles": ["admin"], "token": token });
        client.post("/api/auth/scan/confirm", &[("authorization", &bearer), ("cookie", "employee_id=admin01")], &claim).await.data();
        let state = client.scan_status(text(&code, "ticket")).await;
        assert_eq!(state["employee_id"], "user01");
        let me = client.me(text(&state, "token")).await.data();
        assert_eq!((&me["employee_id"], &me["roles"]), (&json!("user01"), &json!(["user"])));
        // A secret of another kind decides nothing.
        let code = client.qrcode().await;
        client.scan_as(&code, "user01").await;
        for wrong in [&token, text(&code, "ticket"), "", "user01"] {
            client.decide("confirm", wrong).await.refused(409, 1019);
        }
        assert_eq!(client.scan_status(text(&code, "ticket")).await["status"], "scanned");
    }

    /// The status of a sign-in reveals too much to too many clients.
    async fn qr_flaw_6_asking_tells_only_the_holder_and_only_what_is_needed(app) {
        let mut client = app.client().await;
        let code = client.qrcode().await;
        let waiting = client.scan_status(text(&code, "ticket")).await;
        let members: Vec<_> = waiting.as_object().unwrap().keys().cloned().collect();
        assert_eq!(members, ["employee_id", "name", "status", "token"]);
        let confirm = client.scan_as(&code, "user01").await;
        let scanned = client.scan_status(text(&code, "ticket")).await;
        assert_eq!(scanned["token"], json!(null));
        for stranger in [&confirm, "dpt_", text(&client.qrcode().await, "ticket")] {
            assert_eq!(client.scan_status(stranger).await["employee_id"], json!(null));
        }
        // Neither the phone's page nor the waiting browser receives the other's secret.
        let request = client.decide("request", &confirm).await.body;
        assert!(!request.contains("dpt_") && !request.contains("dpa_") && !request.contains("dps_"));
        client.decide("confirm", &confirm).await.data();
        assert!(!client.decide("confirm", &confirm).await.body.contains("dpa_"));
    }

    /// Common to all six: a scan is not a confirmation.
    async fn a_scan_alone_never_signs_in(app) {
        let mut client = app.client().await;
        let code = client.qrcode().await;
        let confirm = client.scan_as(&code, "user01").await;
        for method in ["GET", "HEAD", "PUT", "OPTIONS"] {
            let mut other = app.client().await;
            other.start(&crate::harness::request(method, &format!("/api/auth/scan/confirm?confirm={confirm}"), &[], b"")).await;
            assert!(other.read_until("\r\n\r\n").await.starts_with("HTTP/1.1 405"), "{method}");
        }
        let body = json!({ "confirm": confirm }).to_string();
        for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
            // What a form on a foreign page can send.
            let bytes = crate::harness::request("POST", "/api/auth/scan/confirm", &[("content-type", kind)], body.as_bytes());
            client.send(&bytes).await.refused(415, 1002);
        }
        client.get("/scan/", &[]).await;
        for _ in 0..3 {
            client.decide("request", &confirm).await.data();
        }
        assert_eq!(client.scan_status(text(&code, "ticket")).await["status"], "scanned");
        assert_eq!(app.query("SELECT count(*) FROM session"), ["0"]);
    }
}

#[tokio::test]
async fn a_path_without_the_slash_redirects_to_the_page() {
    let app = TestApp::start().await;
    for page in ["/h5", "/itagent", "/itadmin"] {
        let answer = app.client().await.get(page, &[]).await;
        assert_eq!((answer.status, answer.header("location")), (308, Some(&*format!("{page}/"))));
    }
}

#[tokio::test]
async fn the_pages_refuse_frames_and_anything_from_elsewhere() {
    let app = TestApp::start().await;
    let mut client = app.client().await;
    for page in ["/", "/h5/", "/itagent/", "/itadmin/", "/scan/", "/continue/", "/approve/", "/verify/"] {
        let answer = client.get(page, &[]).await;
        assert_eq!((answer.status, answer.header("x-frame-options")), (200, Some("DENY")), "{page}");
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.contains("frame-ancestors 'none'") && policy.contains("default-src 'none'"), "{policy}");
        assert!(!policy.contains("unsafe") && !policy.contains("http") && !policy.contains('*'), "{policy}");
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
        let again = client.get(page, &[("if-none-match", answer.header("etag").unwrap())]).await;
        assert_eq!((again.status, again.body.as_str()), (304, ""));
        assert_eq!(again.header("content-security-policy"), answer.header("content-security-policy"));
    }
}
