//! The pages in a real browser: one waits, another one plays the phone.

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::harness::{Browser, Driver, Options, Process, Servers, Stage, picture};

/// A service in a process of its own, with a directory or a place of its own.
fn service() -> (tempfile::TempDir, Process) {
    let directory = tempfile::tempdir().unwrap();
    let process = match Stage::current() {
        Stage::Embedded => Process::serve(directory.path(), &[]),
        Stage::ScaledOut => Process::node(&Servers::shared().place(), &[]),
    };
    (directory, process)
}

async fn nothing_was_blocked(browser: &Browser) {
    for line in browser.console().await {
        assert!(!line.contains("Content Security Policy"), "{line}");
    }
}

on_every_store! {
    async fn a_browser_shows_the_code_a_phone_confirms_and_the_browser_is_signed_in() {
        let (_directory, service) = service();
        let driver = Driver::start();
        let desktop = driver.browser(Options::default()).await;
        let phone = driver.browser(Options { phone: true, ..Options::default() }).await;
        desktop.goto(&format!("http://{}/itagent/", service.address)).await;
        desktop.wait_for("#welcome[data-state=waiting]").await;
        picture(&desktop, "sign-in").await;
        let link = desktop.script("return document.querySelector('#simulated').href", &[]).await;

        phone.goto(link.as_str().unwrap()).await;
        picture(&phone, "simulated-phone").await;
        phone.script("[...document.querySelectorAll('a')].find(a => a.textContent.includes('agent01')).click()", &[]).await;
        phone.wait_for("body[data-view=ask] #confirm").await;
        assert!(phone.text("#ask-title").await.contains("Arno Agent"));
        assert!(phone.text("#browser").await.contains("Chrome"));
        assert_eq!(phone.script("return location.hash", &[]).await, "");
        picture(&phone, "confirm").await;
        phone.reload().await;
        phone.wait_for("body[data-view=ask] #confirm").await;
        desktop.wait_for("#welcome[data-state=scanned]").await;
        assert!(desktop.text("#state").await.contains("Arno Agent"));
        picture(&desktop, "scanned").await;

        phone.click("#confirm").await;
        phone.wait_for("body[data-view=outcome]").await;
        desktop.wait_for("body[data-view=account]").await;
        assert_eq!(desktop.text("#name").await, "Arno Agent");
        let token = desktop.script("return sessionStorage.getItem('deskpass.token')", &[]).await;
        assert!(token.as_str().unwrap().starts_with("dpa_"));
        let me = desktop
            .script(
                "return fetch('/api/auth/me', {headers: {authorization: 'Bearer ' + arguments[0]}}).then(r => r.json())",
                &[token],
            )
            .await;
        assert_eq!((&me["data"]["employee_id"], &me["data"]["login_source"]), (&json!("agent01"), &json!("itagent")));

        desktop.click("#sign-out").await;
        desktop.wait_for("#welcome[data-state=waiting]").await;
        nothing_was_blocked(&desktop).await;
        nothing_was_blocked(&phone).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signing_in_on_this_computer_comes_back_signed_in() {
    let (_directory, service) = service();
    let driver = Driver::start();
    let browser = driver.browser(Options { language: "zh-CN", ..Options::default() }).await;
    browser.goto(&format!("http://{}/itadmin/", service.address)).await;
    browser.wait_for("#welcome[data-state=waiting]").await;
    picture(&browser, "sign-in-zh").await;
    browser.click("#here").await;
    browser.wait_until("location.pathname === '/sim/wwlogin/sso/login'").await;
    browser
        .script("[...document.querySelectorAll('a')].find(a => a.textContent.includes('admin01')).click()", &[])
        .await;
    browser.wait_for("body[data-view=account]").await;
    assert_eq!(browser.text("#name").await, "Ada Admin");
    let address = browser.url().await;
    assert_eq!(address, format!("http://{}/itadmin/", service.address), "nothing of the way is left in the address");
    // A link that says otherwise makes nobody believe that they are signed out.
    for hostile in ["#error=denied&ref=1a2b3c4d", "#ticket=dpt_x"] {
        browser.goto("about:blank").await;
        browser.goto(&format!("{address}{hostile}")).await;
        browser.wait_for("body[data-view=account]").await;
        assert_eq!(browser.text("#name").await, "Ada Admin");
    }
    nothing_was_blocked(&browser).await;
}

/// Somebody is sent to the callback with another's code: nothing happens without a press, and the page says as whom.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_that_did_not_begin_is_asked() {
    let (_directory, service) = service();
    let mut attacker = crate::harness::Client::connect(&service.address).await;
    let (link, _) = attacker.set_out(&format!("http://{}/h5/", service.address)).await;
    let back = attacker.authorize(&link, "user01").await;
    let driver = Driver::start();
    let victim = driver.browser(Options::default()).await;
    victim.goto(&back).await;
    victim.wait_for("body[data-view=ask] #go-on").await;
    assert!(victim.url().await.contains("/continue/"));
    assert!(victim.script("return document.body.innerText", &[]).await.as_str().unwrap().contains("Uma User"));
    picture(&victim, "continue").await;
    assert_eq!(victim.script("return sessionStorage.getItem('deskpass.token')", &[]).await, json!(null));
    victim.click("#go-on").await;
    victim.wait_for("body[data-view=account]").await;
    assert_eq!(victim.text("#name").await, "Uma User");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn somebody_of_a_connected_corporation_says_which_employee_they_are() {
    let (_directory, service) = service();
    let driver = Driver::start();
    let browser =
        driver.browser(Options { phone: true, user_agent: Some("Mozilla/5.0 wxwork/4.1"), ..Options::default() }).await;
    browser.goto(&format!("http://{}/h5/", service.address)).await;
    browser.wait_for("#wecom").await;
    browser.click("#wecom").await;
    browser.wait_until("location.pathname === '/sim/connect/oauth2/authorize'").await;
    let choose = "[...document.querySelectorAll('a')].find(a => a.textContent.includes('partner01')).click()";
    browser.script(choose, &[]).await;
    browser.wait_for("body[data-view=bind] #employee-id").await;
    browser.type_into("#employee-id", "nobody").await;
    browser.click("#bind-submit").await;
    browser.wait_for("#bind-refusal").await;
    assert!(browser.text("#bind-refusal").await.contains("ask the IT help desk"));
    picture(&browser, "bind").await;
    browser.script("document.querySelector('#employee-id').value = ''", &[]).await;
    browser.type_into("#employee-id", "user01").await;
    browser.click("#bind-submit").await;
    browser.wait_for("body[data-view=account]").await;
    assert_eq!(browser.text("#name").await, "Uma User");
    nothing_was_blocked(&browser).await;
}

/// Nobody can scan their own screen: on a phone the other way comes first, and a code only for another phone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_phone_is_not_asked_to_scan_itself() {
    let (_directory, service) = service();
    let driver = Driver::start();
    let phone = driver.browser(Options { phone: true, ..Options::default() }).await;
    phone.goto(&format!("http://{}/h5/", service.address)).await;
    phone.wait_for("#here").await;
    picture(&phone, "sign-in-phone").await;
    let mut client = crate::harness::Client::connect(&service.address).await;
    let asked = r#"deskpass_requests_total{method="GET",route="/api/auth/qrcode",outcome="ok"} 0"#;
    assert!(client.get("/metrics", &[]).await.body.contains(asked));
    phone.click("#code summary").await;
    phone.wait_for("#welcome[data-state=waiting]").await;
    phone.click("#here").await;
    phone.wait_until("location.pathname === '/sim/wwlogin/sso/login'").await;
    nothing_was_blocked(&phone).await;
}

/// A link with somebody else's ticket signs nobody in.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ticket_from_elsewhere_is_not_taken() {
    let (_directory, service) = service();
    let mut attacker = crate::harness::Client::connect(&service.address).await;
    let code = attacker.qrcode().await;
    let confirm = attacker.scan_as(&code, "user01").await;
    attacker.decide("confirm", &confirm).await.data();
    let driver = Driver::start();
    let victim = driver.browser(Options::default()).await;
    victim.goto(&format!("http://{}/h5/#ticket={}", service.address, code["ticket"].as_str().unwrap())).await;
    victim.wait_for("#welcome[data-state=waiting]").await;
    assert_eq!(victim.script("return sessionStorage.getItem('deskpass.token')", &[]).await, json!(null));
}

/// Somebody else's page, which puts an address into a frame; returns where it is.
async fn elsewhere(address: &str) -> String {
    let page = format!("<iframe onload='window.tried = true' src='{address}'></iframe>");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 4096]).await;
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
                page.len()
            );
            let _ = stream.write_all(format!("{head}{page}").as_bytes()).await;
        }
    });
    at
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_no_on_the_phone_and_a_framed_page_sign_nobody_in() {
    let (_directory, service) = service();
    let mut client = crate::harness::Client::connect(&service.address).await;
    let driver = Driver::start();
    let phone = driver.browser(Options { phone: true, language: "zh-CN", ..Options::default() }).await;
    let code = client.qrcode().await;
    let landed = client.scan(&code, "user01").await;
    // Somebody else's page puts ours into a frame.
    phone.goto(&format!("http://{}/", elsewhere(&landed).await)).await;
    phone.wait_until("window.tried").await;
    // A page that is shown asks for its style and script first.
    let shown = r#"deskpass_requests_total{method="GET",route="/assets/{version}/{file}",outcome="ok"} 0"#;
    assert!(client.get("/metrics", &[]).await.body.contains(shown), "it was framed");
    assert_eq!(client.scan_status(code["ticket"].as_str().unwrap()).await["status"], "scanned");
    phone.goto(&landed).await;
    phone.wait_for("body[data-view=ask] #cancel").await;
    picture(&phone, "confirm-zh").await;
    phone.click("#cancel").await;
    phone.wait_for("body[data-view=outcome]").await;
    let state = client.scan_status(code["ticket"].as_str().unwrap()).await;
    assert_eq!((&state["status"], &state["token"]), (&json!("expired"), &json!(null)));
}

/// The description of the API as a page: for people, on any screen, in their language.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_api_can_be_read_by_people() {
    let (_directory, service) = service();
    let driver = Driver::start();
    let address = format!("http://{}/api/docs", service.address);
    let described: serde_json::Value = serde_json::from_str(deskpass::http::description()).unwrap();
    let paths = described["paths"].as_object().unwrap().values();
    let operations: usize = paths.map(|path| path.as_object().unwrap().len()).sum();
    for (language, phone, dark, words) in [("en", false, false, "Who may call"), ("zh-CN", true, true, "调用权限")]
    {
        let browser = driver.browser(Options { phone, language, dark, ..Options::default() }).await;
        browser.goto(&address).await;
        browser.wait_for("body[data-view=docs]").await;
        let shown = browser.script("return document.querySelectorAll('details.operation').length", &[]).await;
        assert_eq!(shown, operations);
        picture(&browser, &format!("docs-{language}")).await;
        browser.click("#post_auth_verify summary").await;
        browser.wait_for("#post_auth_verify[open]").await;
        let told = browser.text("#post_auth_verify").await;
        for piece in [words, "expires_in", "supervisor", "415 1002", r#"-d '{"token":"…"}'"#] {
            assert!(told.contains(piece), "{piece}: {told}");
        }
        let wider = "return document.documentElement.scrollWidth > document.documentElement.clientWidth";
        assert_eq!(browser.script(wider, &[]).await, false, "{language}: wider than the screen");
        browser.goto(&format!("{address}#post_agents_login")).await;
        browser.wait_for("#post_agents_login[open]").await;
        picture(&browser, &format!("docs-open-{language}")).await;
        assert_eq!(browser.console().await, [""; 0]);
    }
}
