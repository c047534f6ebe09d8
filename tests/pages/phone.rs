//! The pages for phones, and the attacks they must withstand.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::{choose, is_good, localized, nothing_was_blocked, people, service};
use crate::harness::{Client, Driver, Options, TestApp, Viewport, picture};

/// A victim is sent to the callback with the attacker's code: nothing happens without a press, and the page names the account.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_that_did_not_begin_is_asked() {
    let (_directory, service) = service();
    let mut attacker = Client::connect(&service.address).await;
    let (link, _) = attacker.begin_oauth(&format!("http://{}/h5/", service.address)).await;
    let back = attacker.authorize(&link, "user01").await;
    let driver = Driver::shared();
    let victim = driver.browser(Options::default()).await;
    victim.goto(&back).await;
    victim.wait_for("body[data-view=ask] #go-on").await;
    assert!(victim.url().await.contains("/continue/"));
    assert!(victim.script("return document.body.innerText", &[]).await.as_str().unwrap().contains("Uma User"));
    is_good(&victim, "asked whether to go on").await;
    picture(&victim, "continue").await;
    assert_eq!(victim.script("return sessionStorage.getItem('deskpass.token')", &[]).await, json!(null));
    victim.click("#go-on").await;
    victim.wait_for("#account").await;
    assert_eq!(victim.text("#name").await, "Uma User");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_of_a_connected_corporation_says_which_employee_they_are() {
    let (_directory, service) = service();
    let driver = Driver::shared();
    let wecom = Options { user_agent: Some("Mozilla/5.0 wxwork/4.1"), ..Options::on(Viewport::Phone) };
    let browser = driver.browser(wecom).await;
    browser.goto(&format!("http://{}/h5/", service.address)).await;
    browser.wait_until("location.pathname === '/sim/connect/oauth2/authorize'").await;
    choose(&browser, "partner01").await;
    browser.wait_for("body[data-view=bind] #employee-id").await;
    browser.type_into("#employee-id", "nobody").await;
    browser.click("#bind-submit").await;
    browser.wait_for("#bind-refusal").await;
    assert!(browser.text("#bind-refusal").await.contains("ask the IT help desk"));
    is_good(&browser, "binding").await;
    picture(&browser, "bind").await;
    browser.script("document.querySelector('#employee-id').value = ''", &[]).await;
    browser.type_into("#employee-id", "user01").await;
    browser.click("#bind-submit").await;
    browser.wait_for("#account").await;
    assert_eq!(browser.text("#name").await, "Uma User");
    nothing_was_blocked(&browser).await;
}

/// A phone cannot scan its own screen: it offers the other way first, and a code only for another phone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_phone_is_not_asked_to_scan_itself() {
    let (_directory, service) = service();
    let driver = Driver::shared();
    let phone = driver.browser(Options::on(Viewport::Phone)).await;
    phone.goto(&format!("http://{}/h5/", service.address)).await;
    phone.wait_for("#here").await;
    phone.wait_until("getComputedStyle(document.querySelector('#entrance')).opacity === '1'").await;
    is_good(&phone, "on a phone").await;
    picture(&phone, "sign-in-phone").await;
    let mut client = Client::connect(&service.address).await;
    let asked = r#"deskpass_requests_total{method="GET",route="/api/auth/qrcode",outcome="ok"} 0"#;
    assert!(client.get("/metrics", &[]).await.body.contains(asked));
    phone.click("#code summary").await;
    phone.wait_for("#welcome[data-state=waiting]").await;
    phone.click("#here").await;
    phone.wait_until("location.pathname === '/sim/wwlogin/sso/login'").await;
    nothing_was_blocked(&phone).await;
}

/// A link with the ticket of another user does not sign in.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ticket_from_elsewhere_is_not_taken() {
    let (_directory, service) = service();
    let mut attacker = Client::connect(&service.address).await;
    let code = attacker.qrcode().await;
    let confirm = attacker.scan_as(&code, "user01").await;
    attacker.decide("confirm", &confirm).await.data();
    let driver = Driver::shared();
    let victim = driver.browser(Options::default()).await;
    victim.goto(&format!("http://{}/h5/#ticket={}", service.address, code["ticket"].as_str().unwrap())).await;
    victim.wait_for("#welcome[data-state=waiting]").await;
    assert_eq!(victim.script("return sessionStorage.getItem('deskpass.token')", &[]).await, json!(null));
}

/// A foreign page that puts an address into a frame; returns its address.
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
async fn a_no_on_the_phone_and_a_framed_page_do_not_sign_in() {
    let (_directory, service) = service();
    let mut client = Client::connect(&service.address).await;
    let driver = Driver::shared();
    let phone = driver.browser(Options { language: "zh-CN", ..Options::on(Viewport::Phone) }).await;
    let code = client.qrcode().await;
    let landed = client.scan(&code, "user01").await;
    // A foreign page puts ours into a frame.
    phone.goto(&format!("http://{}/", elsewhere(&landed).await)).await;
    phone.wait_until("window.tried").await;
    // A page that is shown requests its style and script first.
    let shown = r#"deskpass_requests_total{method="GET",route="/assets/{version}/{file}",outcome="ok"} 0"#;
    assert!(client.get("/metrics", &[]).await.body.contains(shown), "it was framed");
    assert_eq!(client.scan_status(code["ticket"].as_str().unwrap()).await["status"], "scanned");
    phone.goto(&landed).await;
    phone.wait_for("body[data-view=ask] #cancel").await;
    is_good(&phone, "asked").await;
    picture(&phone, "confirm-zh").await;
    phone.click("#cancel").await;
    phone.wait_for("body[data-view=outcome]").await;
    is_good(&phone, "cancelled").await;
    let state = client.scan_status(code["ticket"].as_str().unwrap()).await;
    assert_eq!((&state["status"], &state["token"]), (&json!("expired"), &json!(null)));
}

/// The page for a code that is decided or unknown says so; a page that cannot reach the service tries again when it can.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_phone_that_is_late_or_offline_learns_so() {
    let app = TestApp::start().await;
    let driver = Driver::shared();
    let mut client = app.client().await;
    for options in people() {
        let browser = driver.browser(options).await;
        browser.goto(&format!("http://{}/scan/#confirm=dpc_made-up", app.address)).await;
        browser.wait_for("#outcome").await;
        let over = localized(&options, "This code is used or has expired", "二维码已使用或已过期");
        assert_eq!(browser.text("#outcome-title").await, over);
        is_good(&browser, over).await;
        let code = client.qrcode().await;
        let landed = client.scan(&code, "user01").await;
        browser.goto("about:blank").await;
        browser.block(&["*/scan/request"]).await;
        browser.goto(&landed).await;
        browser.wait_for("#outcome #again").await;
        is_good(&browser, "cannot be reached").await;
        browser.block(&[]).await;
        browser.click("#again").await;
        browser.wait_for("#ask #confirm").await;
        browser.block(&["*/scan/confirm"]).await;
        browser.click("#confirm").await;
        browser.wait_for("#refusal").await;
        browser.block(&[]).await;
        browser.click("#confirm").await;
        browser.wait_for("#outcome.pending").await;
    }
}

/// The phone does not claim that the user is signed in before the computer has the session.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_phone_says_confirmed_until_the_computer_has_collected_the_session() {
    let app = TestApp::start().await;
    let driver = Driver::shared();
    let mut client = app.client().await;
    for options in people() {
        let name = |what: &str| format!("{what}-{}", localized(&options, "en", "zh"));
        let phone = driver.browser(options).await;
        let code = client.qrcode().await;
        phone.goto(&client.scan(&code, "user01").await).await;
        phone.click("#confirm").await;
        phone.wait_for("#outcome.pending").await;
        assert_eq!(phone.text("#outcome-title").await, localized(&options, "Confirmed", "已确认"));
        is_good(&phone, "confirmed").await;
        picture(&phone, &name("confirmed")).await;
        phone.reload().await;
        phone.wait_for("#outcome.pending").await;
        client.scan_status(code["ticket"].as_str().unwrap()).await;
        phone.wait_for("#outcome.good").await;
        let done = localized(&options, "You are signed in on the computer", "已在电脑上登录");
        assert_eq!(phone.text("#outcome-title").await, done);
        is_good(&phone, "signed in on the computer").await;

        // The computer never collects it.
        let code = client.qrcode().await;
        phone.goto(&client.scan(&code, "user01").await).await;
        phone.wait_for("#confirm").await;
        phone.block(&["*/scan/outcome"]).await;
        phone.click("#confirm").await;
        phone.wait_for("#outcome.pending").await;
        app.clock.advance(Duration::from_mins(4));
        phone.block(&[]).await;
        let unfinished = localized(&options, "The computer did not finish signing in", "电脑未能完成登录");
        phone.wait_until(&format!("document.querySelector('#outcome-title').textContent === '{unfinished}'")).await;
        is_good(&phone, "not collected").await;
        picture(&phone, &name("not-collected")).await;
        assert_eq!(phone.script("return sessionStorage.getItem('deskpass.confirm')", &[]).await, json!(null));
    }
}
