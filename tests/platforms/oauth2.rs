//! Sign-in in a browser that goes to the platform and returns.

use std::time::Duration;

use deskpass_platform::PlatformKind;
use serde_json::json;
use url::Url;

use super::{come_back_as, link_without_cookie, trade};
use crate::harness::{Messenger, TestApp, cookies, development, fragment, location, on_platform, request};

/// The same address without one parameter.
fn without(address: &str, name: &str) -> String {
    let mut url = Url::parse(address).unwrap();
    let kept: Vec<_> = url.query_pairs().into_owned().filter(|(given, _)| given != name).collect();
    url.query_pairs_mut().clear().extend_pairs(kept);
    url.into()
}

on_every_platform! {
    both stores:
    async fn signs_in_the_browser_that_began(app) {
        let mut client = app.client().await;
        let page = format!("http://{}/itadmin/", app.address);
        let (answer, cookies) = come_back_as(&mut client, &page, "admin01").await;
        let landed = location(&answer).to_owned();
        assert!(landed.starts_with(&format!("{page}#ticket=dpt_")) && !landed.contains("dpa_"), "{landed}");
        let state = trade(&mut client, &landed, &cookies).await;
        assert_eq!((&state["status"], &state["name"]), (&json!("confirmed"), &json!("Ada Admin")));
        let me = client.me(state["token"].as_str().unwrap()).await.data();
        assert_eq!((&me["login_source"], &me["current_role"]), (&json!("itadmin"), &json!("admin")));
        assert_eq!(me["avatar"], "https://avatars.example.com/admin01.png");
        let log = app.query("SELECT event, employee_key, login_method, login_source FROM login_log");
        assert_eq!(log, ["sign_in|admin01|oauth2|itadmin"]);
    }

    /// Some clients load the page twice, at once or in sequence; a browser that did not begin gets nothing from the same code.
    async fn the_same_code_from_the_same_browser_gets_the_same_answer(app) {
        let mut clients = [app.client().await, app.client().await, app.client().await];
        let page = format!("http://{}/h5/", app.address);
        let (link, cookies) = clients[0].begin_oauth(&page).await;
        let back = clients[0].authorize(&link, "user01").await;
        let [one, two, three] = &mut clients;
        let (first, second) = tokio::join!(one.oauth_callback(&back, &cookies), two.oauth_callback(&back, &cookies));
        assert_eq!(location(&first), location(&second));
        assert!(location(&first).contains("/h5/#ticket="), "{first:?}");
        app.clock.advance(Duration::from_millis(59_999));
        assert_eq!(location(&one.oauth_callback(&back, &cookies).await), location(&first));
        let (_, other) = three.begin_oauth(&page).await;
        for stolen in ["", &other] {
            assert_eq!(fragment(location(&three.oauth_callback(&back, stolen).await), "error"), "invalid_code");
        }
        app.clock.advance(Duration::from_millis(1));
        assert_eq!(fragment(location(&one.oauth_callback(&back, &cookies).await), "error"), "invalid_code");
        assert_eq!(app.query("SELECT count(*) FROM session"), ["1"]);
    }
}

on_every_platform! {
    /// An attacker who makes a user open the callback with the attacker's code must not sign them in as himself.
    async fn without_the_cookie_a_page_asks_first(app) {
        let mut client = app.client().await;
        let link = link_without_cookie(&mut client, &format!("http://{}/itadmin/", app.address)).await;
        let back = client.authorize(&link, "agent01").await;
        let landed = location(&client.oauth_callback(&back, "").await).to_owned();
        assert!(landed.starts_with(&format!("http://{}/continue/#continue=dpn_", app.address)), "{landed}");
        let ask = json!({ "continue": fragment(&landed, "continue") });
        let pending = client.post("/api/auth/oauth2/pending", &[], &ask).await.data();
        assert_eq!(pending, json!({ "employee_id": "agent01", "name": "Arno Agent", "expires_in": 180 }));
        assert_eq!(app.query("SELECT count(*) FROM session"), ["0"]);
        let page = [("sec-fetch-site", "same-origin")];
        let answer = client.post("/api/auth/oauth2/continue", &page, &ask).await;
        let to = answer.data()["redirect_to"].as_str().unwrap().to_owned();
        assert!(to.starts_with(&format!("http://{}/itagent/#ticket=dpt_", app.address)), "{to}");
        client.post("/api/auth/oauth2/continue", &page, &ask).await.refused(409, 1019);
        assert_eq!(trade(&mut client, &to, &cookies(&answer)).await["status"], "confirmed");
    }

    /// The code of a browser that began, in one that did not: asked about first, or refused where the platform has PKCE.
    async fn a_code_of_another_browser_signs_in_nobody_silently(app) {
        let mut client = app.client().await;
        let page = format!("http://{}/h5/", app.address);
        let (link, own) = client.begin_oauth(&page).await;
        let back = client.authorize(&link, "user01").await;
        let landed = location(&client.oauth_callback(&back, "").await).to_owned();
        if Messenger::current().has_pkce() {
            assert_eq!(fragment(&landed, "error"), "invalid_code");
            // With the cookie of another flow it is refused, and its own browser can begin again.
            let (_, other) = client.begin_oauth(&page).await;
            assert_eq!(fragment(location(&client.oauth_callback(&back, &other).await), "error"), "invalid_code");
            let back = client.authorize(&link, "user01").await;
            assert!(location(&client.oauth_callback(&back, &own).await).starts_with(&format!("{page}#ticket=")));
        } else {
            assert!(landed.contains("/continue/#continue="), "{landed}");
        }
        assert!(app.query("SELECT count(*) FROM session")[0].parse::<u32>().unwrap() <= 1);
    }

    /// A callback without the state does not come from our link, so the sign-in is not silent; a foreign state is refused.
    async fn without_our_state_the_sign_in_is_not_silent(app) {
        let mut client = app.client().await;
        let page = format!("http://{}/h5/", app.address);
        let (link, flow) = client.begin_oauth(&page).await;
        let back = client.authorize(&link, "user01").await;
        let forged = format!("{}&state=else", without(&back, "state"));
        assert_eq!(fragment(location(&client.oauth_callback(&forged, &flow).await), "error"), "invalid_code");
        assert_eq!(client.calls(Messenger::current().exchange).await, 0);
        assert!(location(&client.oauth_callback(&back, &flow).await).contains("/h5/#ticket="));
        let link = link_without_cookie(&mut client, &page).await;
        let back = without(&client.authorize(&link, "user01").await, "state");
        let landed = client.oauth_callback(&back, &flow).await;
        assert!(location(&landed).contains("/continue/#continue="), "{landed:?}");
        assert_eq!(app.query("SELECT count(*) FROM session"), ["1"]);
    }

    /// A browser that began opens an attacker's callback: the state of another browser is refused, and one that is bound to no
    /// browser, or without the PKCE challenge, makes the sign-in ask.
    async fn a_state_of_another_browser_is_not_silent(app) {
        let messenger = Messenger::current();
        if !messenger.registers_addresses() {
            return;
        }
        let mut client = app.client().await;
        let page = format!("http://{}/h5/", app.address);
        let (_, victim) = client.begin_oauth(&page).await;
        let (link, _) = client.begin_oauth(&page).await;
        let back = client.authorize(&link, "agent01").await;
        assert_eq!(fragment(location(&client.oauth_callback(&back, &victim).await), "error"), "invalid_code");
        assert_eq!(client.calls(messenger.exchange).await, 0);
        let link = link_without_cookie(&mut client, &page).await;
        let back = client.authorize(&link, "agent01").await;
        let landed = client.oauth_callback(&back, &victim).await;
        assert!(location(&landed).contains("/continue/#continue="), "{landed:?}");
        assert_eq!(app.query("SELECT count(*) FROM session"), ["0"]);
    }

    /// Where links are bound to the cookie, a second tab keeps it, and the first tab still comes back. It signs in once silently.
    async fn a_second_tab_does_not_break_the_first(app) {
        if !Messenger::current().registers_addresses() {
            return;
        }
        let mut client = app.client().await;
        let page = format!("http://{}/h5/", app.address);
        let (first, own) = client.begin_oauth(&page).await;
        let begin = async |client: &mut crate::harness::Client, page: &str| {
            let path = format!("/api/auth/oauth2/url?redirect_uri={}", crate::harness::encoded(page));
            let answer = client.get(&path, &[("sec-fetch-site", "same-origin"), ("cookie", &own)]).await;
            (answer.data()["authorize_url"].as_str().unwrap().to_owned(), crate::harness::cookies(&answer))
        };
        let (second, kept) = begin(&mut client, &page).await;
        assert_eq!(kept, own);
        for (link, landing) in [(first, "/h5/#ticket="), (second, "/continue/#continue=")] {
            let back = client.authorize(&link, "user01").await;
            let landed = client.oauth_callback(&back, &own).await;
            assert!(location(&landed).contains(landing), "{landed:?}");
        }
        // A used cookie is replaced.
        assert_ne!(begin(&mut client, &page).await.1, own);
    }

    async fn a_flow_is_good_once_and_for_ten_minutes(app) {
        let mut client = app.client().await;
        let page = format!("http://{}/h5/", app.address);
        let (link, cookies) = client.begin_oauth(&page).await;
        app.clock.advance(Duration::from_millis(599_999));
        for landing in ["/h5/#ticket=", "/continue/#continue="] {
            let back = client.authorize(&link, "user01").await;
            let answer = client.oauth_callback(&back, &cookies).await;
            assert!(location(&answer).contains(landing), "{answer:?}");
        }
    }

    async fn the_callback_itself_leads_to_the_page_of_the_role(app) {
        let mut client = app.client().await;
        let callback = format!("http://{}/api/auth/oauth2/callback", app.address);
        for (who, page) in [("admin01", "itadmin"), ("agent01", "itagent"), ("user01", "h5")] {
            let (answer, _) = come_back_as(&mut client, &callback, who).await;
            assert!(location(&answer).starts_with(&format!("http://{}/{page}/#ticket=", app.address)), "{who}: {answer:?}");
        }
    }

    /// The link names the application and the registered address, in a desktop browser and in the platform's own.
    async fn the_link_is_the_platforms_with_our_parameters(app) {
        let (mut client, messenger) = (app.client().await, Messenger::current());
        let page = format!("http://{}/h5/", app.address);
        for mode in ["client", "web"] {
            let path = format!("/api/auth/oauth2/url?mode={mode}&redirect_uri={}", crate::harness::encoded(&page));
            let answer = client.get(&path, &[]).await;
            assert_eq!(answer.data()["redirect_uri"], page);
            let url = Url::parse(answer.data()["authorize_url"].as_str().unwrap()).unwrap();
            let value = |name: &str| url.query_pairs().find(|(given, _)| given == name).map(|(_, value)| value.into_owned());
            let state = value("state").unwrap();
            let (start, length) = match messenger.kind {
                PlatformKind::Wecom => ("auth_login", 0),
                // A binding to the browser and a seal.
                PlatformKind::Dingtalk => ("auth_login~bt~", 22 + 1 + 32),
                PlatformKind::Feishu => ("auth_login~pbt~", 22 + 1 + 32),
            };
            assert_eq!(state.strip_prefix(start).map(str::len), Some(length), "{state}");
            if messenger.registers_addresses() {
                let callback = format!("http://{}/api/auth/oauth2/callback", app.address);
                assert_eq!(value("redirect_uri").as_deref(), Some(&*callback));
                assert_eq!(value("client_id").as_deref(), Some(messenger.client_id));
                assert_eq!(url.path(), messenger.authorize_path());
            } else {
                assert_eq!((value("redirect_uri").as_deref(), value("appid").as_deref()), (Some(&*page), Some(messenger.corp_id)));
            }
            assert_eq!(value("code_challenge").is_some(), messenger.has_pkce());
        }
    }

    async fn failures_are_reported_at_the_requested_page(app) {
        let mut client = app.client().await;
        let page = format!("http://{}/itagent/", app.address);
        for (who, word) in [("deny", "denied"), ("outsider01", "not_a_member")] {
            let (answer, _) = come_back_as(&mut client, &page, who).await;
            let landed = location(&answer);
            assert!(landed.starts_with(&format!("{page}#error={word}&code=1003&ref=")), "{landed}");
            assert_eq!(fragment(landed, "ref").len(), 8);
        }
        let app = app.restart_with(development(&[("default_role", "none")])).await;
        let mut client = app.client().await;
        let page = format!("http://{}/itagent/", app.address);
        let (link, cookies) = client.begin_oauth(&page).await;
        let back = client.authorize(&link, "norole01").await;
        for _ in 0..2 {
            let answer = client.oauth_callback(&back, &cookies).await;
            assert!(location(&answer).starts_with(&format!("{page}#error=no_role&code=1003&ref=")), "{answer:?}");
        }
        assert_eq!(app.query("SELECT count(*) FROM session"), ["0"]);
    }

    /// The redirect repeats no part of the callback's query, and no part of it changes the destination.
    async fn hostile_callbacks_are_sent_to_a_safe_page_with_a_known_word(app) {
        let mut client = app.client().await;
        let home = format!("http://{}/h5/#error=", app.address);
        let long = format!("code={}", "x".repeat(600));
        let (declined, both) = match Messenger::current().kind {
            PlatformKind::Wecom => ("errcode=40029&errmsg=%3Cscript%3E", "code=a&code=b&state=auth_login"),
            PlatformKind::Dingtalk => ("error=%3Cscript%3E&state=auth_login", "authCode=a&code=b&state=auth_login"),
            PlatformKind::Feishu => ("error=access_denied&state=auth_login", "code=a&error=access_denied&state=auth_login"),
        };
        for (query, word) in [
            ("", "denied"), ("state=auth_login", "denied"), ("code=&state=auth_login", "denied"), (declined, "denied"),
            (both, "invalid_code"), ("code=nonsense&state=auth_login", "invalid_code"), ("code=c&state=evil", "invalid_code"),
            ("code=c&state=auth_login~", "invalid_code"), ("code=c&state=auth_login~p~x", "invalid_code"),
            ("code=a&code=b&state=auth_login", "invalid_code"), ("code=a&state=auth_login&state=auth_login", "invalid_code"),
            (&long, "invalid_code"), ("code=%00", "invalid_code"), ("code=a%0d%0ab", "invalid_code"), ("code=%ff", "invalid_code"),
            ("code=c&redirect_uri=https://evil.example/", "invalid_code"), ("code=a&entry=script&entry=x", "invalid_code"),
        ] {
            let evil = [("x-forwarded-host", "evil.example"), ("referer", "https://evil.example/itadmin/")];
            let answer = client.get(&format!("/api/auth/oauth2/callback?{query}"), &evil).await;
            assert!(location(&answer).starts_with(&format!("{home}{word}&code=1003&ref=")), "{query}: {answer:?}");
            assert_eq!((answer.header("set-cookie"), answer.body.as_str()), (None, ""), "{query}");
        }
    }

    async fn looking_ahead_uses_nothing_up(app) {
        let mut client = app.client().await;
        let (link, cookies) = client.begin_oauth(&format!("http://{}/h5/", app.address)).await;
        let back = client.authorize(&link, "user01").await;
        let path = format!("/api/auth/oauth2/callback?{}", Url::parse(&back).unwrap().query().unwrap());
        let mut other = app.client().await;
        other.start(&request("HEAD", &path, &[("cookie", &cookies)], b"")).await;
        assert!(other.read_until("\r\n\r\n").await.starts_with("HTTP/1.1 405"));
        client.get(&path, &[("cookie", &cookies), ("sec-purpose", "prefetch")]).await.refused(400, 1002);
        assert!(location(&client.oauth_callback(&back, &cookies).await).contains("#ticket="));
    }

    async fn in_production_it_goes_the_same_way_with_strict_cookies() {
        let (app, platform) = TestApp::production_with_platform(&[]).await;
        let (mut client, mut phone) = (app.client().await, platform.client().await);
        let page = "https://desk.example.com/h5/";
        let (link, flow) = client.begin_oauth(page).await;
        assert!(flow.starts_with("__Host-deskpass_flow=dpf_"), "{flow}");
        let back = phone.authorize(&link, "user01").await;
        let answer = client.oauth_callback(&back, &flow).await;
        assert!(location(&answer).starts_with(&format!("{page}#ticket=")), "{answer:?}");
        assert_eq!(trade(&mut client, location(&answer), &flow).await["employee_id"], "user01");
        assert_eq!(app.query("SELECT employee_key, name, department FROM employee"), ["user01|Uma User|Sales"]);
        // A development cookie of the same name does not count in production.
        let (link, flow) = client.begin_oauth(page).await;
        let back = phone.authorize(&link, "user01").await;
        let landed = location(&client.oauth_callback(&back, &flow.replace("__Host-", "")).await).to_owned();
        assert!(!landed.contains("#ticket="), "{landed}");
    }

    /// The store fails after the platform has used up the code: the next request still signs in.
    async fn a_store_that_fails_for_a_moment_does_not_use_up_the_code(app) {
        let mut client = app.client().await;
        let (link, flow) = client.begin_oauth(&format!("http://{}/h5/", app.address)).await;
        let back = client.authorize(&link, "user01").await;
        let held = app.block_writes().await;
        assert_eq!(fragment(location(&client.oauth_callback(&back, &flow).await), "error"), "internal");
        held.release().await;
        assert!(location(&client.oauth_callback(&back, &flow).await).contains("/h5/#ticket="));
        assert_eq!(client.calls(Messenger::current().exchange).await, 1);
    }
}

/// Under another name of this machine, the browser would return without its cookie: no challenge, and a question.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_at_another_origin_signs_in_without_pkce() {
    on_platform(PlatformKind::Feishu, async {
        let app = TestApp::start().await;
        let mut client = app.client().await;
        let (link, _) = client.begin_oauth("http://localhost:5173/h5/").await;
        assert!(link.contains("state=auth_login") && !link.contains("code_challenge"), "{link}");
        let back = client.authorize(&link, "user01").await;
        assert!(location(&client.oauth_callback(&back, "").await).contains("/continue/#continue="));
    })
    .await;
}
