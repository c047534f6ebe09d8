//! Sign-in by the platform's own script, inside its app: DingTalk has one.

use deskpass_platform::PlatformKind;
use serde_json::Value;

use super::trade;
use crate::harness::{
    Client, Driver, Messenger, Options, TestApp, Viewport, encoded, fragment, location, on_platform, target,
};

const IN_THE_APP: &str =
    "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Chrome/126.0 Mobile DingTalk/7.6.0 AliApp(DingTalk/7.6.0)";

/// A code as the platform's script obtains it, for `who`.
pub(super) async fn script_code(client: &mut Client, who: &str) -> String {
    let messenger = Messenger::current();
    let (corp_id, client_id) = (messenger.corp_id, messenger.client_id);
    let path = format!("/sim/request-auth-code?corpId={corp_id}&clientId={client_id}&sim_user={who}");
    let answer: Value = serde_json::from_str(&client.get(&path, &[]).await.body).unwrap();
    answer["code"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// Returns to the callback as the page with the script does.
async fn return_with(client: &mut Client, code: &str, state: &str, cookies: &str) -> String {
    let path = format!("/api/auth/oauth2/callback?code={code}&state={}&entry=script", encoded(state));
    let headers = [("user-agent", IN_THE_APP), ("cookie", cookies)];
    let headers = if cookies.is_empty() { &headers[..1] } else { &headers[..] };
    location(&client.get(&path, headers).await).to_owned()
}

/// A service, the page's description of the script, and a connection.
async fn in_the_app() -> (TestApp, Client) {
    let app = TestApp::start().await;
    let client = app.client().await;
    (app, client)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn inside_the_app_links_lead_to_the_page_with_the_script() {
    on_platform(PlatformKind::Dingtalk, async {
        let (app, mut client) = in_the_app().await;
        let ua = ("user-agent", IN_THE_APP);
        let page = format!("http://{}/itagent/", app.address);
        let path = format!("/api/auth/oauth2/url?redirect_uri={}", encoded(&page));
        let answer = client.get(&path, &[ua]).await;
        let link = answer.data()["authorize_url"].as_str().unwrap().to_owned();
        assert!(link.starts_with(&format!("http://{}/open/#to=", app.address)), "{link}");
        // The user may still choose the platform's ordinary page.
        let web = client.get(&format!("{path}&mode=web"), &[ua]).await.data();
        assert!(web["authorize_url"].as_str().unwrap().contains("/sim/oauth2/auth?"), "{web}");
        let code = client.qrcode().await;
        let scanned = client.get(&target(code["qrcode_url"].as_str().unwrap()), &[ua]).await;
        assert!(location(&scanned).starts_with(&format!("http://{}/open/#sid=dps_", app.address)), "{scanned:?}");
        let ordinary = format!("{}&entry=browser", target(code["qrcode_url"].as_str().unwrap()));
        assert!(location(&client.get(&ordinary, &[ua]).await).contains("/sim/oauth2/auth?"));

        let script = client.get("/api/auth/oauth2/script", &[]).await.data();
        assert_eq!(script["script_url"], format!("http://{}/sim/dingtalk.open.js", app.address));
        assert!(script["state"].as_str().unwrap().starts_with("auth_login~t~"), "{script}");
        assert!(!script.to_string().contains("simulated\""), "no secret: {script}");
        let module = client.get(script["module_url"].as_str().unwrap(), &[]).await;
        assert_eq!(module.status, 200);
        assert!(module.body.contains("export") && module.body.contains("requestCode"), "{}", module.body);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_code_of_the_script_signs_in_the_browser_that_began() {
    on_platform(PlatformKind::Dingtalk, async {
        let (app, mut client) = in_the_app().await;
        let page = format!("http://{}/itagent/", app.address);
        let (_, flow) = client.begin_oauth(&page).await;
        let code = script_code(&mut client, "agent01").await;
        let script = client.get("/api/auth/oauth2/script", &[("cookie", &flow)]).await.data();
        let state = script["state"].as_str().unwrap();
        assert!(state.starts_with("auth_login~bt~"), "{state}");
        let landed = return_with(&mut client, &code, state, &flow).await;
        assert!(landed.starts_with(&format!("{page}#ticket=")), "{landed}");
        assert_eq!(trade(&mut client, &landed, &flow).await["employee_id"], "agent01");
        // A state that is not bound to the browser does not sign in silently.
        let (_, flow) = client.begin_oauth(&page).await;
        let code = script_code(&mut client, "agent01").await;
        assert!(return_with(&mut client, &code, "auth_login", &flow).await.contains("/continue/#continue="));
        // Without the cookie a page asks first; made-up codes and states are refused.
        let code = script_code(&mut client, "agent01").await;
        let script = client.get("/api/auth/oauth2/script", &[]).await.data();
        let state = script["state"].as_str().unwrap();
        assert!(return_with(&mut client, &code, state, "").await.contains("/continue/#continue="));
        assert_eq!(fragment(&return_with(&mut client, "made-up", state, "").await, "error"), "invalid_code");
        let code = script_code(&mut client, "agent01").await;
        assert_eq!(fragment(&return_with(&mut client, &code, "else", "").await, "error"), "invalid_code");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_code_of_the_script_confirms_a_scanned_code() {
    on_platform(PlatformKind::Dingtalk, async {
        let (_app, mut client) = in_the_app().await;
        let qrcode = client.qrcode().await;
        let sid = target(qrcode["qrcode_url"].as_str().unwrap()).split_once("sid=").unwrap().1.to_owned();
        client.get("/api/auth/oauth2/script?sid=garbage", &[]).await.refused(409, 1019);
        let script = client.get(&format!("/api/auth/oauth2/script?sid={sid}"), &[]).await.data();
        let state = script["state"].as_str().unwrap().to_owned();
        assert!(state.starts_with(&format!("auth_login~st~{sid}~")), "{state}");
        let code = script_code(&mut client, "user01").await;
        let confirm = fragment(&return_with(&mut client, &code, &state, "").await, "confirm");
        client.decide("confirm", &confirm).await.data();
        assert_eq!(client.scan_status(qrcode["ticket"].as_str().unwrap()).await["employee_id"], "user01");
    })
    .await;
}

/// The platform issues two kinds of codes. One that is presented as the other is refused, and is no outage.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn codes_of_the_two_entry_points_are_not_mixed() {
    on_platform(PlatformKind::Dingtalk, async {
        let (app, mut client) = in_the_app().await;
        let page = format!("http://{}/h5/", app.address);
        let (link, flow) = client.begin_oauth(&page).await;
        let back = client.authorize(&link, "user01").await;
        let of_browser = url::Url::parse(&back).unwrap();
        let of_browser = of_browser.query_pairs().find(|(name, _)| name == "code").unwrap().1.into_owned();
        let landed = return_with(&mut client, &of_browser, "auth_login", &flow).await;
        assert_eq!(fragment(&landed, "error"), "invalid_code");
        let of_script = script_code(&mut client, "user01").await;
        let forged = format!("{page}?code={of_script}&state=auth_login");
        assert_eq!(fragment(location(&client.oauth_callback(&forged, &flow).await), "error"), "invalid_code");
        assert_eq!(app.query("SELECT count(*) FROM session"), ["0"]);
        assert_eq!(client.get("/api/ready", &[]).await.data()["dependencies"]["platform"], "ok");
    })
    .await;
}

on_every_platform! {
    /// A platform without a script says so, and has no page for it.
    async fn only_a_platform_with_a_script_describes_one(app) {
        let mut client = app.client().await;
        let answer = client.get("/api/auth/oauth2/script", &[]).await;
        if Messenger::current().kind != PlatformKind::Dingtalk {
            answer.refused(404, 1004);
            client.get("/open/", &[]).await.refused(404, 1004);
            return;
        }
        answer.data();
        let page = client.get("/open/", &[]).await;
        let policy = page.header("content-security-policy").unwrap_or_default();
        assert!(policy.contains("script-src 'self'") && !policy.contains('*') && !policy.contains("unsafe"), "{policy}");
    }
}

/// In a real browser that says it is the platform's app: on a phone that scans a computer's code, and on a page of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_inside_the_app_signs_in_by_the_script() {
    on_platform(PlatformKind::Dingtalk, async {
        let (app, mut client) = in_the_app().await;
        let driver = Driver::shared();
        let options = Options { user_agent: Some(IN_THE_APP), ..Options::on(Viewport::Phone) };
        let phone = driver.browser(options).await;
        let qrcode = client.qrcode().await;
        phone.goto(qrcode["qrcode_url"].as_str().unwrap()).await;
        phone.click("#sim-dingtalk [data-user=user01]").await;
        phone.wait_for("body[data-view=ask] #confirm:enabled").await;
        phone.click("#confirm").await;
        phone.wait_for("#outcome").await;
        assert_eq!(client.scan_status(qrcode["ticket"].as_str().unwrap()).await["employee_id"], "user01");
        phone.wait_for("#outcome.good").await;
        for line in phone.console().await {
            assert!(!line.contains("Content Security Policy") && !line.contains("Trusted"), "{line}");
        }

        // A page of its own: the script remembers the user of this simulated app.
        phone.goto(&format!("http://{}/h5/", app.address)).await;
        phone.wait_for("#account").await;
        assert_eq!(phone.text("#name").await, "Uma User");
    })
    .await;
}

/// The script fails or the user refuses: the page says so in the user's language and offers the ordinary page.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_the_script_fails_the_ordinary_page_is_offered() {
    on_platform(PlatformKind::Dingtalk, async {
        let (_app, mut client) = in_the_app().await;
        let driver = Driver::shared();
        for (language, title) in [("en", "DingTalk did not sign you in"), ("zh-CN", "钉钉未能完成登录")] {
            let options = Options { user_agent: Some(IN_THE_APP), language, ..Options::on(Viewport::Phone) };
            let phone = driver.browser(options).await;
            let qrcode = client.qrcode().await;
            phone.goto(qrcode["qrcode_url"].as_str().unwrap()).await;
            phone.click("#sim-dingtalk [data-user=deny]").await;
            phone.wait_for("body[data-view=failed] #by-page").await;
            assert_eq!(phone.text("#failed-title").await, title);
            phone.click("#by-page").await;
            phone.wait_until("location.pathname === '/sim/oauth2/auth'").await;
        }
    })
    .await;
}
