//! The sign-in with a password, for agents only.

use serde_json::json;

use super::{is_good, kept, localized, nothing_was_blocked, people};
use crate::harness::{Browser, Device, Driver, Options, PASSWORD, TestApp, Viewport};

/// A browser at the page that asks for a password.
async fn asked(driver: &Driver, app: &TestApp, options: Options<'_>) -> Browser {
    let browser = driver.browser(options).await;
    browser.goto(&format!("http://{}/itagent/", app.address)).await;
    browser.click("#by-password").await;
    browser.wait_for("#password-word").await;
    browser
}

async fn try_password(browser: &Browser, who: &str, password: &str) {
    browser.script("document.querySelector('#password-id').value = ''", &[]).await;
    browser.type_into("#password-id", who).await;
    browser.type_into("#password-word", password).await;
    browser.click("#password-go").await;
}

async fn refused(browser: &Browser, with: &str) {
    browser.wait_until(&format!("document.querySelector('#password-refusal')?.innerText.includes('{with}')")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_gets_in_with_a_password_and_a_code_or_a_recovery_code() {
    let app = TestApp::start().await;
    let device = app.agent_with_device("agent01").await;
    let driver = Driver::shared();
    for options in people() {
        let browser = asked(&driver, &app, options).await;
        assert_eq!(browser.active().await, "#password-id");
        is_good(&browser, "asked for a password").await;
        try_password(&browser, "agent01", "not that one, sorry").await;
        // Something to tell the help desk.
        refused(&browser, localized(&options, "(ref ", "参考编号 ")).await;
        is_good(&browser, "a wrong password").await;
        try_password(&browser, "agent01", PASSWORD).await;
        browser.wait_for("#password-code").await;
        is_good(&browser, "asked for a code").await;
        browser.type_into("#password-code", &device.wrong_code()).await;
        browser.click("#password-go").await;
        browser.wait_for("#password-refusal").await;
        browser.script("document.querySelector('#password-code').value = ''", &[]).await;
        let code = if options.phone { device.recovery_codes[0].clone() } else { device.next_code() };
        browser.type_into("#password-code", &code).await;
        browser.click("#password-go").await;
        browser.wait_for("#account").await;
        let kept = kept(&browser).await;
        let session = browser.script("return JSON.stringify(sessionStorage)", &[]).await;
        for secret in ["dph_", PASSWORD] {
            assert!(!kept.as_str().unwrap().contains(secret) && !session.as_str().unwrap().contains(secret));
        }
        nothing_was_blocked(&browser).await;
    }
}

/// An agent without a device sets one up before the sign-in completes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_without_a_device_sets_one_up_on_the_way_in() {
    let app = TestApp::start().await;
    app.client().await.first_password("agent01").await;
    let driver = Driver::shared();
    let browser = asked(&driver, &app, Options { language: "zh-CN", ..Options::on(Viewport::Phone) }).await;
    try_password(&browser, "agent01", PASSWORD).await;
    browser.wait_for("#device-secret").await;
    is_good(&browser, "setting up a device").await;
    let secret = browser.text("#device-secret").await.replace(' ', "");
    let device = Device::scan(&json!({ "secret": secret }), &app.clock);
    browser.type_into("#device-code", &device.code()).await;
    browser.click("#device-form [type=submit]").await;
    browser.wait_for("#recovery-codes").await;
    is_good(&browser, "recovery codes").await;
    browser.click("#codes-seen").await;
    browser.click("#codes-done").await;
    browser.wait_for("#account").await;
    assert_eq!(browser.script("return location.href", &[]).await, format!("http://{}/itagent/", app.address));
}

/// With a code from the administrator an agent sets a password and continues with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_setup_code_makes_a_password() {
    let app = TestApp::start().await;
    let code = app.auth().operator().reset_password(app.key("agent01")).await.unwrap().code.text();
    let driver = Driver::shared();
    let browser = asked(&driver, &app, Options::default()).await;
    browser.click("#password-setup").await;
    browser.type_into("#password-id", "agent01").await;
    browser.type_into("#password-setup-code", "aaaa-bbbb-cccc-dddd").await;
    browser.type_into("#password-new", PASSWORD).await;
    browser.click("#password-go").await;
    refused(&browser, "setup code").await;
    is_good(&browser, "a wrong setup code").await;
    browser.script("document.querySelector('#password-setup-code').value = ''", &[]).await;
    browser.type_into("#password-setup-code", &code).await;
    browser.click("#password-go").await;
    browser.wait_for("#password-form .warning").await;
    browser.type_into("#password-word", PASSWORD).await;
    browser.click("#password-go").await;
    browser.wait_for("#device-secret").await;
}

/// Each refusal says what to do next.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_agent_learns_what_to_do() {
    let app = TestApp::start().await;
    let driver = Driver::shared();
    for options in people() {
        let browser = asked(&driver, &app, options).await;
        try_password(&browser, "agent01", PASSWORD).await;
        refused(&browser, localized(&options, "no password yet", "还没有设置密码")).await;
        for _ in 0..6 {
            try_password(&browser, "agent01", "not that one, sorry").await;
            browser.wait_until("!document.querySelector('#password-go').disabled").await;
        }
        refused(&browser, localized(&options, "Too many failed attempts", "错误次数过多")).await;
        is_good(&browser, "too many").await;
        app.auth().operator().unlock_agent(app.key("agent01")).await.unwrap();
        browser.block(&["*/api/agents/login"]).await;
        try_password(&browser, "agent01", PASSWORD).await;
        refused(&browser, localized(&options, "cannot be reached", "无法连接")).await;
    }
}

/// A partial session lasts ten minutes; after that, the agent starts again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_who_takes_too_long_begins_anew() {
    let app = TestApp::start().await;
    app.agent_with_device("agent01").await;
    let driver = Driver::shared();
    let browser = asked(&driver, &app, Options::default()).await;
    try_password(&browser, "agent01", PASSWORD).await;
    browser.wait_for("#password-code").await;
    app.clock.advance(std::time::Duration::from_secs(601));
    browser.type_into("#password-code", "123456").await;
    browser.click("#password-go").await;
    browser.wait_for("#password-word").await;
    assert!(browser.text("#password-form .warning").await.contains("too long"));
    assert_eq!(browser.script("return document.querySelector('#password-id').value", &[]).await, "agent01");
}
