//! Two people at one browser: the second one's sign-in, or press, ends the session that it replaces.

use std::time::Duration;

use serde_json::{Value, json};
use url::Url;

use super::{desk, unlimited};
use crate::harness::{Device, OidcBrowser, PASSWORD, Receiver, TestApp, registration_at, request};

/// How an agent can sign in on a page of ours.
#[derive(Clone, Copy, Debug)]
enum Door {
    ScanStatus,
    ScanEvents,
    Bind,
    AgentLogin,
    OtpBind,
    OtpVerify,
}

impl Door {
    const ALL: [Self; 6] =
        [Self::ScanStatus, Self::ScanEvents, Self::Bind, Self::AgentLogin, Self::OtpBind, Self::OtpVerify];

    /// What the agent has before.
    async fn prepare(self, app: &TestApp) -> Option<Device> {
        match self {
            Self::OtpBind => app.client().await.first_password("agent01").await,
            Self::OtpVerify => return Some(app.agent_with_device("agent01").await),
            Self::ScanStatus | Self::ScanEvents | Self::Bind | Self::AgentLogin => {}
        }
        None
    }

    /// Signs agent01 in; returns the token.
    async fn enter(self, app: &TestApp, browser: &mut OidcBrowser, device: Option<Device>) -> String {
        let answer = match self {
            Self::ScanStatus => {
                let ticket = confirmed(browser).await;
                browser.read(&format!("/api/auth/scan/status?ticket={ticket}")).await.data()
            }
            Self::ScanEvents => {
                let ticket = confirmed(browser).await;
                events(app, browser, &ticket).await
            }
            Self::Bind => browser.call("/api/auth/bind", &json!({ "employee_id": "agent01" })).await.data(),
            Self::AgentLogin => {
                let code = code(browser).await;
                browser.call("/api/agents/login", &json!({ "employee_id": "agent01", "code": code })).await.data()
            }
            Self::OtpBind => {
                begin_with_password(browser).await;
                let setup = browser.call("/api/auth/otp-setup", &json!({})).await.data();
                let code = Device::scan(&setup, &app.clock).code();
                browser.call("/api/auth/otp-bind", &json!({ "code": code })).await.data()
            }
            Self::OtpVerify => {
                begin_with_password(browser).await;
                let code = device.unwrap().next_code();
                browser.call("/api/auth/otp-verify", &json!({ "code": code })).await.data()
            }
        };
        answer["token"].as_str().unwrap_or_else(|| panic!("{self:?}: {answer}")).to_owned()
    }
}

/// Shows a code that the phone of agent01 confirms; returns its ticket.
async fn confirmed(browser: &mut OidcBrowser) -> String {
    let qrcode = browser.read("/api/auth/qrcode").await.data();
    let confirm = browser.http.scan_as(&qrcode, "agent01").await;
    browser.http.decide("confirm", &confirm).await.data();
    qrcode["ticket"].as_str().unwrap().to_owned()
}

/// The last of the states that a page of ours is told.
async fn events(app: &TestApp, browser: &OidcBrowser, ticket: &str) -> Value {
    let kept: Vec<_> = browser.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let headers = [("sec-fetch-site", "same-origin"), ("cookie", &*kept.join("; "))];
    let mut watching = app.client().await;
    watching.start(&request("GET", &format!("/api/auth/scan/events?ticket={ticket}"), &headers, b"")).await;
    let told = watching.read_until("\r\n0\r\n\r\n").await;
    let text = told.rsplit_once("data: ").unwrap().1.split_once('\n').unwrap().0;
    serde_json::from_str(text).unwrap()
}

/// A code of the platform for agent01.
async fn code(browser: &mut OidcBrowser) -> String {
    let (link, _) = browser.http.begin_oauth("http://localhost/itagent/").await;
    let back = browser.http.authorize(&link, "agent01").await;
    let back = Url::parse(&back).unwrap();
    back.query_pairs().find(|(name, _)| name == "code").unwrap().1.into_owned()
}

/// Begins a sign-in of agent01 by password, which a one-time password completes.
async fn begin_with_password(browser: &mut OidcBrowser) {
    let login = json!({ "employee_id": "agent01", "password": PASSWORD });
    let half = browser.call("/api/agents/login", &login).await.data();
    browser.token = Some(half["token"].as_str().unwrap().to_owned());
}

on_one_store! {
    /// Otherwise the next program would get the first user, whose session nothing in the browser leads to any more.
    async fn a_sign_in_of_another_user_ends_the_session_of_the_browsers_cookie() {
        let (app, receiver) = (TestApp::with(unlimited(&[])).await, Receiver::start().await);
        let client = app.oidc_client(registration_at(&receiver)).await;
        let (mut browser, tokens) = app.oidc_sign_in(&client, "agent01").await;
        let first = browser.token.clone().unwrap();
        let again = || client.authorization().with("prompt", "select_account");

        // Another tab of the same user.
        let id = browser.begin(&again()).await;
        browser.sign_in_by_phone(&id, "agent01").await;
        assert!(client.is_live(&mut browser.http, &tokens).await && browser.http.is_valid(&first).await);

        let id = browser.begin(&again()).await;
        browser.sign_in_by_phone(&id, "user01").await;
        let none = browser.silently(&client.authorization().with("prompt", "none")).await;
        assert_eq!(none.error(), "login_required", "the program got the first user");
        assert!(!browser.http.is_valid(&first).await);
        assert!(client.is_over(&mut browser.http, &tokens).await);
        receiver.told(1).await;
        let rows = app.query("SELECT employee_key FROM login_log WHERE event = 'logout' AND actor_key = 'user01'");
        assert_eq!(rows, ["agent01"]);
        // The second user goes on.
        let second = browser.token.clone().unwrap();
        assert!(browser.http.is_valid(&second).await);
        browser.proceed_to_client(&id).await.code();
    }

    /// Whichever way the second user signs in.
    async fn every_door_ends_the_session_of_another_user() {
        let mut forgotten = Vec::new();
        for door in Door::ALL {
            let (app, client) = desk().await;
            let device = door.prepare(&app).await;
            let (mut browser, tokens) = app.oidc_sign_in(&client, "user01").await;
            let first = browser.token.take().unwrap();
            app.clock.advance(Duration::from_secs(5));
            let second = door.enter(&app, &mut browser, device).await;
            assert!(browser.http.is_valid(&second).await, "{door:?}");
            if browser.http.is_valid(&first).await {
                forgotten.push(format!("{door:?}"));
                continue;
            }
            let none = browser.silently(&client.authorization().with("prompt", "none")).await;
            assert_eq!(none.error(), "login_required", "{door:?}");
            assert!(client.is_over(&mut browser.http, &tokens).await, "{door:?}");
            let rows = app.query("SELECT employee_key FROM login_log WHERE event = 'logout' AND actor_key = 'agent01'");
            assert_eq!(rows, ["user01"], "{door:?}");
        }
        assert!(forgotten.is_empty(), "the first user stays signed in: {forgotten:?}");
    }

    /// A press gives the cookie to another user's session, also to an older one of another tab.
    async fn a_press_of_another_user_ends_the_session_that_its_cookie_replaces() {
        let (app, client) = desk().await;
        let second = app.client().await.sign_in("user01").await;
        app.clock.advance(Duration::from_secs(1));
        let (mut browser, tokens) = app.oidc_sign_in(&client, "agent01").await;
        let first = browser.token.clone().unwrap();

        // Another session of the same user ends nothing.
        let id = browser.begin(&client.authorization().with("prompt", "select_account")).await;
        browser.sign_in("agent01").await;
        browser.proceed_to_client(&id).await.code();
        let newest = browser.token.replace(second.clone()).unwrap();
        assert!(browser.http.is_valid(&first).await && client.is_live(&mut browser.http, &tokens).await);

        let id = browser.begin(&client.authorization().with("prompt", "select_account")).await;
        browser.proceed_to_client(&id).await.code();
        assert!(!browser.http.is_valid(&newest).await && browser.http.is_valid(&second).await);
        let rows = app.query("SELECT employee_key, actor_key, detail FROM login_log WHERE event = 'logout'");
        assert_eq!(rows, ["agent01|user01|another user continued to a program in this browser"]);
        let none = browser.silently(&client.authorization().with("prompt", "none")).await;
        assert_eq!(none.error(), "interaction_required", "the cookie is the second user's");
        // The cookie stood for the newest session alone; the one before it belongs to a tab.
        assert!(browser.http.is_valid(&first).await);
    }

    /// Neither a press that is refused nor one of another page or of a program ends anything.
    async fn only_a_press_that_counts_on_a_page_of_this_origin_replaces_a_session() {
        let (app, client) = desk().await;
        let second = app.client().await.sign_in("user01").await;
        app.clock.advance(Duration::from_secs(1));
        let (mut browser, tokens) = app.oidc_sign_in(&client, "agent01").await;
        let bearer = format!("Bearer {second}");
        let first = browser.token.replace(second).unwrap();
        app.clock.advance(Duration::from_secs(1));

        let id = browser.begin(&client.authorization().with("prompt", "login")).await;
        assert_eq!(browser.proceed(&id).await.refused(403, 1003).reason(), "recent_sign_in_needed");
        browser.proceed("dpq_nonsense").await.refused(409, 1019);
        let kinds = [("content-type", "application/json"), ("authorization", &*bearer)];
        let kept = browser.cookies.clone();
        for site in ["cross-site", "same-site", "none", ""] {
            let reported = [("sec-fetch-site", site), ("sec-fetch-mode", "cors")];
            let headers = [&kinds[..], if site.is_empty() { &[] } else { &reported }].concat();
            let id = browser.begin(&client.authorization().with("prompt", "select_account")).await;
            let body = json!({ "request": id }).to_string();
            // Who has the second user's token gets in with it, but is not at the first user's page.
            browser.send("POST", "/api/auth/oidc/continue", &headers, body.as_bytes()).await;
            browser.cookies = kept.clone();
            browser.silently(&client.authorization().with("prompt", "none")).await.code();
            assert!(browser.http.is_valid(&first).await && client.is_live(&mut browser.http, &tokens).await, "{site}");
        }
        assert!(app.query("SELECT employee_key FROM login_log WHERE event = 'logout'").is_empty());
    }

    /// The answer to a sign-in may be delivered once more, after somebody else has signed in.
    async fn an_answer_that_comes_late_does_not_end_the_newer_session() {
        let (app, client) = desk().await;
        let mut browser = app.oidc_browser().await;
        let id = browser.begin(&client.authorization()).await;
        let qrcode = browser.read(&format!("/api/auth/qrcode?request={id}")).await.data();
        let confirm = browser.http.scan_as(&qrcode, "agent01").await;
        browser.http.decide("confirm", &confirm).await.data();
        let path = format!("/api/auth/scan/status?ticket={}", qrcode["ticket"].as_str().unwrap());
        let first = browser.read(&path).await.data()["token"].as_str().unwrap().to_owned();

        app.clock.advance(Duration::from_secs(5));
        let tokens = browser.tokens(&client, "user01").await;
        let second = browser.token.clone().unwrap();
        assert_eq!(browser.read(&path).await.data()["token"], first);
        assert!(browser.http.is_valid(&second).await && client.is_live(&mut browser.http, &tokens).await);
        let rows = "SELECT employee_key FROM login_log WHERE event = 'logout'";
        assert!(app.query(rows).is_empty());
        // Nor does the next program get one for the other.
        let none = browser.silently(&client.authorization().with("prompt", "none")).await;
        assert_eq!(none.error(), "login_required");
    }

    /// Not a program, nor a page of another site, which the browser sends no cookie for anyway.
    async fn only_a_page_of_this_origin_replaces_a_session() {
        let (app, client) = desk().await;
        let (mut browser, tokens) = app.oidc_sign_in(&client, "agent01").await;
        let qrcode = browser.http.qrcode().await;
        let confirm = browser.http.scan_as(&qrcode, "user01").await;
        browser.http.decide("confirm", &confirm).await.data();
        let path = format!("/api/auth/scan/status?ticket={}", qrcode["ticket"].as_str().unwrap());
        let status = browser.send("GET", &path, &[("accept", "application/json")], b"").await;
        assert!(status.data()["token"].is_string(), "{status:?}");
        assert!(client.is_live(&mut browser.http, &tokens).await);
    }
}
