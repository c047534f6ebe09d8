//! Sign-in with a QR code and a phone.

use std::time::Duration;

use deskpass_platform::PlatformKind;
use serde_json::{Value, json};
use url::Url;

use crate::api::auth::qrcode::decode;
use crate::harness::{Messenger, TestApp, cookies, fragment, location, on_platform, platform_kind, target};

fn ticket(code: &Value) -> &str {
    code["ticket"].as_str().unwrap()
}

on_every_platform! {
    both stores:
    async fn goes_from_waiting_through_scanned_to_confirmed(app) {
        let mut client = app.client().await;
        let code = client.get("/api/auth/qrcode?client=itagent", &[]).await.data();
        let absent = Value::Null;
        let waiting = json!({ "status": "waiting", "employee_id": absent, "name": absent, "token": absent });
        assert_eq!(client.scan_status(ticket(&code)).await, waiting);
        let confirm = client.scan_as(&code, "agent01").await;
        let scanned = json!({ "status": "scanned", "employee_id": "agent01", "name": "Arno Agent", "token": absent });
        assert_eq!(client.scan_status(ticket(&code)).await, scanned);
        assert_eq!(app.query("SELECT count(*) FROM session"), ["0"]);
        assert_eq!(client.decide("request", &confirm).await.data()["name"], "Arno Agent");
        client.decide("confirm", &confirm).await.data();
        let confirmed = client.scan_status(ticket(&code)).await;
        assert_eq!(confirmed["status"], "confirmed");
        let me = client.me(confirmed["token"].as_str().unwrap()).await.data();
        let corp_id = Messenger::current().corp_id;
        assert_eq!((&me["employee_id"], &me["corp_id"], &me["name"]), (&json!("agent01"), &json!(corp_id), &json!("Arno Agent")));
        assert_eq!((&me["department"], &me["current_role"], &me["login_source"]), (&json!("IT Service Desk"), &json!("agent"), &json!("itagent")));
        let log = app.query("SELECT event, corp_id, employee_key, login_method FROM login_log");
        assert_eq!(log, [format!("sign_in|{corp_id}|agent01|qrcode")]);
        assert_eq!(app.query("SELECT proven FROM session"), ["1"]);
    }

    async fn only_the_first_phone_counts_and_its_answer_once(app) {
        let mut client = app.client().await;
        let code = client.qrcode().await;
        // Both are at the platform before one of them returns.
        let (first, first_cookies) = client.open_code(&code, "user01").await;
        let (second, second_cookies) = client.open_code(&code, "agent01").await;
        let confirm = fragment(location(&client.load_on_phone(&target(&first), &first_cookies).await), "confirm");
        let late = client.load_on_phone(&target(&second), &second_cookies).await;
        assert_eq!((fragment(location(&late), "error"), fragment(location(&late), "code")), ("invalid_code".into(), "1019".into()));
        assert_eq!(client.scan_status(ticket(&code)).await["employee_id"], "user01");
        client.decide("confirm", &confirm).await.data();
        client.decide("confirm", &confirm).await.refused(409, 1019);
        assert_eq!(client.scan_status(ticket(&code)).await["employee_id"], "user01");
        assert_eq!(app.query("SELECT employee_key FROM session"), ["user01"]);
    }
}

on_every_platform! {
    async fn a_no_on_the_phone_is_a_no(app) {
        let mut client = app.client().await;
        let code = client.qrcode().await;
        let confirm = client.scan_as(&code, "user01").await;
        client.decide("cancel", &confirm).await.data();
        client.decide("confirm", &confirm).await.refused(409, 1019);
        assert_eq!(client.scan_status(ticket(&code)).await["status"], "expired");
        assert_eq!(app.query("SELECT count(*) FROM session"), ["0"]);
    }

    async fn is_over_after_three_minutes(app) {
        let mut client = app.client().await;
        let (code, late) = (client.qrcode().await, client.qrcode().await);
        let confirm = client.scan_as(&code, "user01").await;
        // A phone that is at the platform when the time is over.
        let (back, kept) = client.open_code(&late, "user01").await;
        app.clock.advance(Duration::from_millis(179_999));
        assert_eq!(client.scan_status(ticket(&code)).await["status"], "scanned");
        app.clock.advance(Duration::from_millis(1));
        client.decide("confirm", &confirm).await.refused(409, 1019);
        let back = location(&client.load_on_phone(&target(&back), &kept).await).to_owned();
        for landed in [back, client.scan(&late, "user01").await] {
            assert!(landed.starts_with(&format!("http://{}/scan/#error=invalid_code&code=1019&ref=", app.address)), "{landed}");
        }
        assert_eq!(app.query("SELECT count(*) FROM session"), ["0"]);
    }

    /// The picture contains the link; what travels with it returns to the address that is registered at the platform.
    async fn the_link_leads_to_the_platform_and_back_to_the_registered_address(app) {
        let (mut client, messenger) = (app.client().await, Messenger::current());
        let code = client.qrcode().await;
        let link = code["qrcode_url"].as_str().unwrap();
        assert_eq!(decode(code["qrcode_png_base64"].as_str().unwrap()), link);
        assert!(!link.contains(ticket(&code)), "{link}");
        let to_platform = if messenger.registers_addresses() {
            assert!(link.starts_with(&format!("http://{}/api/auth/qrcode/open?sid=dps_", app.address)), "{link}");
            location(&client.load_on_phone(&target(link), "").await).to_owned()
        } else {
            link.to_owned()
        };
        let url = Url::parse(&to_platform).unwrap();
        assert_eq!(url.path(), messenger.authorize_path());
        let value = |name: &str| url.query_pairs().find(|(given, _)| given == name).unwrap().1.into_owned();
        let callback = format!("http://{}/api/auth/oauth2/callback", app.address);
        match messenger.kind {
            PlatformKind::Wecom => {
                assert!(value("redirect_uri").starts_with(&format!("{callback}?sid=dps_")), "{to_platform}");
                assert_eq!(value("state"), "auth_login");
            }
            PlatformKind::Dingtalk => {
                assert_eq!((value("redirect_uri"), value("client_id")), (callback, messenger.client_id.to_owned()));
                assert!(value("state").starts_with("auth_login~st~dps_"), "{to_platform}");
            }
            PlatformKind::Feishu => {
                assert_eq!((value("redirect_uri"), value("client_id")), (callback, messenger.client_id.to_owned()));
                assert!(value("state").starts_with("auth_login~pbst~"), "{to_platform}");
                assert_eq!((value("code_challenge").len(), &*value("code_challenge_method")), (43, "S256"));
            }
        }
    }

    /// In production the platform is elsewhere, cookies are strict, and nobody can play the phone with a parameter.
    async fn in_production_it_goes_the_same_way() {
        let (app, platform) = TestApp::production_with_platform(&[]).await;
        let mut client = app.client().await;
        let code = client.qrcode().await;
        if Messenger::current().registers_addresses() {
            let path = format!("{}&sim_user=admin01", target(code["qrcode_url"].as_str().unwrap()));
            let answer = client.load_on_phone(&path, "").await;
            assert!(!location(&answer).contains("sim_user"), "{answer:?}");
            let set = cookies(&answer);
            assert!(set.split("; ").all(|cookie| cookie.starts_with("__Host-deskpass_")), "{set}");
        }
        let confirm = fragment(&platform.scan(&mut client, &code, "user01").await, "confirm");
        client.decide("confirm", &confirm).await.data();
        assert_eq!(client.scan_status(ticket(&code)).await["employee_id"], "user01");
        assert_eq!(app.query("SELECT employee_key, name, department FROM employee"), ["user01|Uma User|Sales"]);
    }

    /// Where the link is one of the service, it never says more than the page about a code that is over.
    async fn a_made_up_code_leads_to_the_page_for_phones(app) {
        let mut client = app.client().await;
        let unknown = "dps_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
        for query in ["", "sid=", "sid=x", &format!("sid={unknown}"), "sid=%00&sid=x", "sim_user=admin01"] {
            let answer = client.get(&format!("/api/auth/qrcode/open?{query}"), &[]).await;
            let landed = location(&answer);
            assert!(landed.starts_with(&format!("http://{}/scan/#error=invalid_code&code=1019&ref=", app.address)), "{query}: {landed}");
            assert_eq!(answer.header("cache-control"), Some("no-store"));
        }
    }
}

/// The code's address is opened by the app, by a page of another site, or left out: the phone's page says which. A page that opened
/// it once cannot have that forgotten.
async fn who_opened_the_code() {
    let app = TestApp::start().await;
    let mut client = app.client().await;
    let (by_app, by_page) = (("sec-fetch-site", "none"), ("sec-fetch-site", "cross-site"));
    for (openers, keeps_cookies, opened_by_page) in [
        (vec![by_app], true, false),
        (vec![by_page], true, true),
        (vec![by_page, by_app], true, true),
        (vec![by_app, by_page], true, true),
        (vec![by_app], false, true),
    ] {
        let code = client.qrcode().await;
        let path = format!("{}&sim_user=user01", target(code["qrcode_url"].as_str().unwrap()));
        let (mut jar, mut link) = (String::new(), String::new());
        for opener in &openers {
            let headers = [*opener, ("cookie", &*jar)];
            let answer = client.get(&path, if jar.is_empty() { &headers[..1] } else { &headers[..] }).await;
            (jar, link) = (cookies(&answer), location(&answer).to_owned());
        }
        let back = target(location(&client.get(&target(&link), &[]).await));
        let flow = jar.split("; ").find(|cookie| cookie.starts_with("deskpass_flow=")).unwrap_or("a=b");
        let sent = if keeps_cookies { &*jar } else { flow };
        let landed = client.get(&back, &[by_app, ("cookie", sent)]).await;
        let question = client.decide("request", &fragment(location(&landed), "confirm")).await.data();
        assert_eq!(question["opened_by_page"], opened_by_page, "{openers:?} {keeps_cookies}");
        let cleared = cookies(&landed);
        assert_eq!(cleared, if keeps_cookies { "deskpass_opener=" } else { "" });
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_the_code_is_our_own_address_the_phone_learns_who_opened_it() {
    for kind in [PlatformKind::Dingtalk, PlatformKind::Feishu] {
        on_platform(kind, who_opened_the_code()).await;
    }
}

/// The phone's code was issued for the phone's browser: elsewhere it is worth nothing, and the phone can still use it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_pkce_a_code_that_was_read_on_its_way_is_worth_nothing() {
    on_platform(PlatformKind::Feishu, async {
        assert_eq!(platform_kind(), PlatformKind::Feishu);
        let app = TestApp::start().await;
        let mut client = app.client().await;
        let code = client.qrcode().await;
        let (back, kept) = client.open_code(&code, "user01").await;
        assert!(kept.starts_with("deskpass_flow=dpf_"), "{kept}");
        let thief = client.load_on_phone(&target(&back), "").await;
        assert_eq!(fragment(location(&thief), "error"), "invalid_code");
        assert_eq!(client.scan_status(ticket(&code)).await["status"], "waiting");
        let landed = client.load_on_phone(&target(&back), &kept).await;
        client.decide("confirm", &fragment(location(&landed), "confirm")).await.data();
        assert_eq!(client.scan_status(ticket(&code)).await["employee_id"], "user01");
    })
    .await;
}
