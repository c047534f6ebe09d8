//! /api/auth/oauth2/…

use std::time::Duration;

use serde_json::{Value, json};
use url::Url;

use crate::harness::{Client, TestApp, cookies, encoded, fragment, location, request};

/// Begins in a browser, is identified as `who`, and returns; yields the callback's response and the browser's cookies.
async fn come_back_as(client: &mut Client, redirect_uri: &str, who: &str) -> (crate::harness::Response, String) {
    let (link, cookies) = client.begin_oauth(redirect_uri).await;
    let back = client.authorize(&link, who).await;
    (client.oauth_callback(&back, &cookies).await, cookies)
}

async fn trade(client: &mut Client, landed: &str, cookies: &str) -> Value {
    let path = format!("/api/auth/scan/status?ticket={}", fragment(landed, "ticket"));
    client.get(&path, &[("cookie", cookies), ("sec-fetch-site", "same-origin")]).await.data()
}

on_one_store! {
    async fn url_is_the_platforms_with_our_parameters(app) {
        let mut client = app.client().await;
        let redirect_uri = "http://localhost:5173/h5/?a=b&c=ü#x";
        let answer = client.get(&format!("/api/auth/oauth2/url?redirect_uri={}", encoded(redirect_uri)), &[]).await;
        assert_eq!(answer.data()["redirect_uri"], redirect_uri);
        let url = answer.data()["authorize_url"].as_str().unwrap().to_owned();
        let expected = format!(
            "http://{}/sim/connect/oauth2/authorize?appid=wwdeskpass&redirect_uri=http%3A%2F%2Flocalhost%3A5173%2Fh5%2F%3Fa%3Db%26c%3D%C3%BC%23x&response_type=code&scope=snsapi_base&state=auth_login&agentid=1000002#wechat_redirect",
            app.address
        );
        assert_eq!(url, expected);
        let set = answer.header("set-cookie").unwrap();
        assert!(set.starts_with("deskpass_flow=dpf_") && set.ends_with("; Path=/; Max-Age=600; HttpOnly; SameSite=Lax"), "{set}");
        let web = client.get(&format!("/api/auth/oauth2/url?mode=web&redirect_uri={}", encoded(redirect_uri)), &[("accept-language", "zh")]).await;
        let url = Url::parse(web.data()["authorize_url"].as_str().unwrap()).unwrap();
        let pairs: Vec<_> = url.query_pairs().into_owned().collect();
        let expected = [("login_type", "CorpApp"), ("appid", "wwdeskpass"), ("agentid", "1000002"), ("redirect_uri", redirect_uri), ("state", "auth_login"), ("lang", "zh")];
        assert_eq!(pairs, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(url.path(), "/sim/wwlogin/sso/login");
    }

    async fn url_wants_an_address(app) {
        let mut client = app.client().await;
        for (query, field) in [
            ("", "redirect_uri"), ("redirect_uri=", "redirect_uri"), ("redirect_uri=/h5/", "redirect_uri"),
            ("redirect_uri=ftp://a/h5/", "redirect_uri"), ("redirect_uri=javascript:alert(1)", "redirect_uri"),
            ("redirect_uri=http://u:p@a/h5/", "redirect_uri"), ("redirect_uri=http://a/&redirect_uri=http://b/", "redirect_uri"),
            ("redirect_uri=http://a/%0d%0ax", "redirect_uri"), ("redirect_uri=http://a/&mode=Web", "mode"),
        ] {
            let answer = client.get(&format!("/api/auth/oauth2/url?{query}"), &[]).await;
            let fields = answer.refused(400, 1002).json()["data"]["fields"].clone();
            assert!(fields[field].is_string(), "{query}: {fields}");
            assert_eq!(answer.header("set-cookie"), None);
        }
    }

    /// An attacker who leads a browser to `url` by a link, and then to the callback, must not sign it in as himself.
    async fn url_sets_no_cookie_in_a_browser_that_followed_a_link(app) {
        let mut client = app.client().await;
        let page = format!("http://{}/h5/", app.address);
        let path = format!("/api/auth/oauth2/url?redirect_uri={}", encoded(&page));
        let led = [("sec-fetch-mode", "navigate"), ("sec-fetch-site", "same-site"), ("accept", "text/html,*/*")];
        for led in led {
            let answer = client.get(&path, &[led]).await;
            assert_eq!((answer.data()["redirect_uri"].as_str(), answer.header("set-cookie")), (Some(&*page), None));
        }
        for began in [("sec-fetch-mode", "cors"), ("sec-fetch-site", "same-origin"), ("accept", "*/*")] {
            assert!(client.get(&path, &[began]).await.header("set-cookie").is_some());
        }
    }
}

on_every_store! {
    /// Requests that a foreign page can make an older browser send, such as for an image, begin no flow; a page of ours does.
    async fn in_production_only_a_page_of_ours_begins() {
        let app = TestApp::production().await;
        let mut client = app.client().await;
        let path = format!("/api/auth/oauth2/url?redirect_uri={}", encoded("https://desk.example.com/h5/"));
        let foreign = [("accept", "*/*"), ("accept", "image/avif,*/*;q=0.8"), ("sec-fetch-mode", "cors"), ("sec-fetch-site", "none")];
        for header in foreign {
            let answer = client.get(&path, &[header]).await;
            assert_eq!((answer.data()["authorize_url"].is_string(), answer.header("set-cookie")), (true, None), "{header:?}");
        }
        for header in [("sec-fetch-site", "same-origin"), ("x-requested-with", "deskpass")] {
            assert!(client.get(&path, &[header]).await.header("set-cookie").is_some(), "{header:?}");
        }
    }

    /// A callback without the state does not come from our link, so the sign-in is not silent.
    async fn without_the_state_the_user_is_asked(app) {
        let mut client = app.client().await;
        let (link, flow) = client.begin_oauth(&format!("http://{}/h5/", app.address)).await;
        let back = client.authorize(&link, "user01").await.replace("&state=auth_login", "");
        assert!(!back.contains("state"), "{back}");
        let landed = client.oauth_callback(&back, &flow).await;
        assert!(location(&landed).contains("/continue/#continue="), "{landed:?}");
        assert_eq!(app.query("SELECT count(*) FROM session"), ["0"]);
        // The sign-in that the browser began goes on.
        let back = client.authorize(&link, "user01").await;
        assert!(location(&client.oauth_callback(&back, &flow).await).contains("/h5/#ticket="));
    }
}

on_one_store! {
    /// The callback under another name of this machine is still the callback, and never a final destination.
    async fn the_callback_is_known_by_every_name(app) {
        let mut client = app.client().await;
        let port = app.address.split_once(':').unwrap().1;
        for name in ["localhost", "127.0.0.1", "[::1]"] {
            let callback = format!("http://{name}:{port}/api/auth/oauth2/callback");
            let (answer, _) = come_back_as(&mut client, &callback, "agent01").await;
            assert!(location(&answer).starts_with(&format!("http://{}/itagent/#ticket=", app.address)), "{answer:?}");
            let (answer, _) = come_back_as(&mut client, &callback, "deny").await;
            assert!(location(&answer).starts_with(&format!("http://{}/h5/#error=denied", app.address)), "{answer:?}");
        }
    }
}

on_every_store! {
    /// A page identifies itself by a header where the browser does not, and then gets only its own ticket.
    async fn an_old_browsers_page_takes_no_foreign_ticket(app) {
        let mut client = app.client().await;
        let code = client.qrcode().await;
        let confirm = client.scan_as(&code, "user01").await;
        client.decide("confirm", &confirm).await.data();
        let path = format!("/api/auth/scan/status?ticket={}", code["ticket"].as_str().unwrap());
        let page = [("x-requested-with", "deskpass")];
        assert_eq!(client.get(&path, &page).await.data()["status"], "expired");
        assert_eq!(client.get(&path, &[]).await.data()["status"], "confirmed");
        assert!(client.get("/api/auth/qrcode", &page).await.header("set-cookie").is_some());
    }

    async fn signs_in_the_browser_that_began(app) {
        let mut client = app.client().await;
        let page = format!("http://{}/itadmin/", app.address);
        let (answer, cookies) = come_back_as(&mut client, &page, "admin01").await;
        assert_eq!(answer.status, 303);
        let landed = location(&answer).to_owned();
        assert!(landed.starts_with(&format!("{page}#ticket=dpt_")), "{landed}");
        assert!(!landed.contains("dpa_"));
        let state = trade(&mut client, &landed, &cookies).await;
        assert_eq!((&state["status"], &state["name"]), (&json!("confirmed"), &json!("Ada Admin")));
        let me = client.me(state["token"].as_str().unwrap()).await.data();
        assert_eq!((&me["login_source"], &me["current_role"]), (&json!("itadmin"), &json!("admin")));
        let log = app.query("SELECT event, employee_key, login_method, login_source FROM login_log");
        assert_eq!(log, ["sign_in|admin01|oauth2|itadmin"]);
    }
}

on_one_store! {
    async fn the_callback_itself_leads_to_the_page_of_the_role(app) {
        let mut client = app.client().await;
        let callback = format!("http://{}/api/auth/oauth2/callback", app.address);
        for (who, page) in [("admin01", "itadmin"), ("agent01", "itagent"), ("user01", "h5"), ("security01", "h5")] {
            let (answer, _) = come_back_as(&mut client, &callback, who).await;
            let landed = location(&answer);
            assert!(landed.starts_with(&format!("http://{}/{page}/#ticket=", app.address)), "{who}: {landed}");
        }
        let sources = app.query("SELECT login_source FROM login_log ORDER BY rowid");
        assert_eq!(sources, ["itadmin", "itagent", "h5", "h5"]);
    }
}

on_every_store! {
    /// Some clients load the page twice, at once or in sequence.
    async fn the_same_code_from_the_same_browser_gets_the_same_answer(app) {
        let mut clients = [app.client().await, app.client().await, app.client().await];
        let page = format!("http://{}/h5/", app.address);
        let (link, cookies) = clients[0].begin_oauth(&page).await;
        let back = clients[0].authorize(&link, "user01").await;
        let [one, two, three] = &mut clients;
        let (first, second) = tokio::join!(one.oauth_callback(&back, &cookies), two.oauth_callback(&back, &cookies));
        assert_eq!(location(&first), location(&second));
        assert!(location(&first).contains("#ticket="));
        let stranger = three.oauth_callback(&back, "").await;
        app.clock.advance(Duration::from_millis(59_999));
        assert_eq!(location(&one.oauth_callback(&back, &cookies).await), location(&first));
        assert_eq!(fragment(location(&stranger), "error"), "invalid_code");
        let (_, other) = three.begin_oauth(&page).await;
        assert_eq!(fragment(location(&three.oauth_callback(&back, &other).await), "error"), "invalid_code");
        app.clock.advance(Duration::from_millis(1));
        assert_eq!(fragment(location(&one.oauth_callback(&back, &cookies).await), "error"), "invalid_code");
        assert_eq!(app.query("SELECT count(*) FROM session"), ["1"]);
    }

    async fn a_ticket_is_for_the_browser_that_began_and_for_a_minute(app) {
        let mut client = app.client().await;
        let page = format!("http://{}/h5/", app.address);
        let (answer, cookies) = come_back_as(&mut client, &page, "user01").await;
        let landed = location(&answer).to_owned();
        let (_, others) = client.begin_oauth(&page).await;
        for cookies in ["", &others] {
            assert_eq!(trade(&mut client, &landed, cookies).await["status"], "expired");
        }
        app.clock.advance(Duration::from_millis(59_999));
        assert_eq!(trade(&mut client, &landed, &cookies).await["status"], "confirmed");
        let (answer, cookies) = come_back_as(&mut client, &page, "user01").await;
        app.clock.advance(Duration::from_mins(1));
        assert_eq!(trade(&mut client, location(&answer), &cookies).await["status"], "expired");
    }

    /// An attacker who makes a user open the callback with the attacker's code must not sign them in as himself.
    async fn without_the_cookie_a_page_asks_first(app) {
        let mut client = app.client().await;
        let (link, cookies) = client.begin_oauth(&format!("http://{}/itadmin/", app.address)).await;
        let back = client.authorize(&link, "agent01").await;
        let landed = location(&client.oauth_callback(&back, "").await).to_owned();
        assert!(landed.starts_with(&format!("http://{}/continue/#continue=dpn_", app.address)), "{landed}");
        assert_eq!(app.query("SELECT count(*) FROM session"), ["0"]);
        let ask = json!({ "continue": fragment(&landed, "continue") });
        for _ in 0..2 {
            let pending = client.post("/api/auth/oauth2/pending", &[], &ask).await.data();
            assert_eq!(pending, json!({ "employee_id": "agent01", "name": "Arno Agent", "expires_in": 180 }));
        }
        assert_eq!(app.query("SELECT count(*) FROM session"), ["0"]);
        let page = [("sec-fetch-site", "same-origin")];
        let late = client.authorize(&link, "user01").await;
        let late = json!({ "continue": fragment(location(&client.oauth_callback(&late, "").await), "continue") });
        let answer = client.post("/api/auth/oauth2/continue", &page, &ask).await;
        let to = answer.data()["redirect_to"].as_str().unwrap().to_owned();
        assert!(to.starts_with(&format!("http://{}/itagent/#ticket=dpt_", app.address)), "{to}");
        // The continuation works once, in the browser that confirmed it.
        client.post("/api/auth/oauth2/continue", &page, &ask).await.refused(409, 1019);
        assert_eq!(trade(&mut client, &to, &cookies).await["status"], "expired");
        assert_eq!(trade(&mut client, &to, &crate::harness::cookies(&answer)).await["status"], "confirmed");
        assert_eq!(app.query("SELECT count(*) FROM session"), ["1"]);
        app.clock.advance(Duration::from_millis(179_999));
        client.post("/api/auth/oauth2/pending", &[], &late).await.data();
        app.clock.advance(Duration::from_millis(1));
        client.post("/api/auth/oauth2/pending", &[], &late).await.refused(409, 1019);
        client.post("/api/auth/oauth2/continue", &[], &late).await.refused(409, 1019);
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
        let (link, cookies) = client.begin_oauth(&page).await;
        app.clock.advance(Duration::from_mins(10));
        let back = client.authorize(&link, "user01").await;
        assert!(location(&client.oauth_callback(&back, &cookies).await).contains("/continue/#"));
    }

    async fn failures_are_reported_at_the_requested_page(app) {
        let mut client = app.client().await;
        let page = format!("http://{}/itagent/", app.address);
        for (who, word) in [("deny", "denied"), ("outsider01", "not_a_member"), ("left01", "disabled")] {
            let (answer, _) = come_back_as(&mut client, &page, who).await;
            let landed = location(&answer);
            assert!(landed.starts_with(&format!("{page}#error={word}&code=1003&ref=")), "{landed}");
            assert_eq!(fragment(landed, "ref").len(), 8);
        }
        // The response is the same the second time, after the flow was used.
        let app = app.restart_with(crate::harness::settings(&[("development.enabled", "true"), ("default_role", "none")])).await;
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
}

on_one_store! {
    /// The redirect repeats no part of the callback's query, and no part of it changes the destination.
    async fn hostile_callbacks_are_sent_to_a_safe_page_with_a_known_word(app) {
        let mut client = app.client().await;
        let home = format!("http://{}/h5/#error=", app.address);
        let long = "x".repeat(600);
        for (query, word) in [
            ("", "denied"), ("state=auth_login", "denied"), ("code=", "denied"), ("code=&state=auth_login", "denied"),
            ("errcode=40029&errmsg=%3Cscript%3Ealert(1)%3C/script%3E", "denied"), ("errcode=x&errmsg=%0d%0aSet-Cookie:a=b&code=c", "denied"),
            ("errcode=1e99&code=c&state=auth_login", "denied"), ("errcode=&code=c", "denied"),
            ("code=nonsense&state=auth_login", "invalid_code"), ("code=nonsense", "invalid_code"),
            ("code=c&state=evil", "invalid_code"), ("code=a&code=b&state=auth_login", "invalid_code"),
            ("code=a&state=auth_login&state=auth_login", "invalid_code"), (&format!("code={long}"), "invalid_code"),
            ("code=%00", "invalid_code"), ("code=a%0d%0ab", "invalid_code"), ("code=%ff", "invalid_code"),
            ("code=d&redirect_uri=https://evil.example/", "invalid_code"), ("code=x%26userid%3Dadmin01", "invalid_code"),
        ] {
            let evil = [("x-forwarded-host", "evil.example"), ("x-forwarded-proto", "gopher"), ("referer", "https://evil.example/itadmin/")];
            let answer = client.get(&format!("/api/auth/oauth2/callback?{query}"), &evil).await;
            assert!(location(&answer).starts_with(&format!("{home}{word}&code=1003&ref=")), "{query}: {answer:?}");
            assert_eq!((answer.header("set-cookie"), answer.body.as_str()), (None, ""), "{query}");
            assert_eq!(answer.header("cache-control"), Some("no-store"));
        }
        for (sid, code) in [("", "1019"), ("x", "1019"), ("dps_AAAA", "1019")] {
            let answer = client.get(&format!("/api/auth/oauth2/callback?code=scan{sid}&sid={sid}"), &[]).await;
            assert_eq!(fragment(location(&answer), "code"), code);
        }
        // No code with an invalid form reached the platform; the others reached it exactly as sent.
        let last = client.get("/sim/calls", &[]).await;
        let last: Value = serde_json::from_str(&last.body).unwrap();
        let pairs = &last["last"]["auth/getuserinfo"]["pairs"];
        assert_eq!((pairs[0][0].as_str(), &pairs[1], pairs.as_array().unwrap().len()), (Some("access_token"), &json!(["code", "x&userid=admin01"]), 2));
        assert_eq!(client.calls("auth/getuserinfo").await, 3);
    }
}

on_every_store! {
    async fn a_state_that_is_not_ours_uses_nothing_up(app) {
        let mut client = app.client().await;
        let (link, cookies) = client.begin_oauth(&format!("http://{}/h5/", app.address)).await;
        let back = client.authorize(&link, "user01").await;
        let forged = back.replace("state=auth_login", "state=else");
        assert_eq!(fragment(location(&client.oauth_callback(&forged, &cookies).await), "error"), "invalid_code");
        assert_eq!(client.calls("auth/getuserinfo").await, 0);
        assert!(location(&client.oauth_callback(&back, &cookies).await).contains("#ticket="));
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
}

on_every_store! {
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
        assert_eq!(cookies(&answer), "");
        // A development cookie of the same name does not count in production.
        let (link, flow) = client.begin_oauth(page).await;
        let back = phone.authorize(&link, "user01").await;
        assert!(location(&client.oauth_callback(&back, &flow.replace("__Host-", "")).await).contains("/continue/#"));
    }

    /// The store fails after the platform has used up the code: the next request still signs in.
    async fn a_store_that_fails_for_a_moment_does_not_use_up_the_code(app) {
        let mut client = app.client().await;
        let (link, flow) = client.begin_oauth(&format!("http://{}/h5/", app.address)).await;
        let back = client.authorize(&link, "user01").await;
        let other = client.authorize(&link, "agent01").await;
        let pending = fragment(location(&client.oauth_callback(&other, "").await), "continue");
        let held = app.block_writes().await;
        let mut second = app.client().await;
        let ask = json!({ "continue": pending });
        let (first, continued) =
            tokio::join!(client.oauth_callback(&back, &flow), second.post("/api/auth/oauth2/continue", &[], &ask));
        assert_eq!(
            (fragment(location(&first), "error"), fragment(location(&first), "code")),
            ("internal".into(), "1005".into())
        );
        continued.refused(503, 1005);
        held.release().await;
        assert!(location(&client.oauth_callback(&back, &flow).await).contains("/h5/#ticket="));
        client.post("/api/auth/oauth2/continue", &[], &ask).await.data();
        assert_eq!(client.calls("auth/getuserinfo").await, 2);
        assert_eq!(app.query("SELECT employee_key FROM session ORDER BY employee_key"), ["agent01", "user01"]);
    }
}

on_every_store! {
    /// The browser gives up while the platform is slow, as some do, and loads the page again.
    async fn a_broken_off_load_is_finished_for_the_next_load(app) {
        let (mut client, mut first) = (app.client().await, app.client().await);
        let (link, flow) = client.begin_oauth(&format!("http://{}/h5/", app.address)).await;
        let back = client.authorize(&link, "user01").await;
        client.set_fault(&json!({ "api": "auth/getuserinfo", "delay_ms": 300, "http_status": 200, "body": r#"{"errcode":0,"userid":"user01"}"# })).await;
        let query = Url::parse(&back).unwrap().query().unwrap().to_owned();
        first.start(&request("GET", &format!("/api/auth/oauth2/callback?{query}"), &[("cookie", &flow)], b"")).await;
        // The request breaks off only after the platform was called.
        while client.calls("auth/getuserinfo").await == 0 {}
        drop(first);
        let answer = client.oauth_callback(&back, &flow).await;
        assert!(location(&answer).contains("#ticket="), "{answer:?}");
        assert_eq!(client.calls("auth/getuserinfo").await, 1);
        assert_eq!(app.query("SELECT count(*) FROM session"), ["1"]);
    }
}
