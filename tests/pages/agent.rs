//! The credentials of agents: a device, and a password for outages of the platform.

use serde_json::json;

use super::{at_the_desk, hand_over, is_good, localized, nothing_was_blocked, people};
use crate::harness::{Browser, Device, Driver, Options, PASSWORD, TestApp, picture};

/// The device that is set up with the key on the page.
async fn device(browser: &Browser, app: &TestApp) -> Device {
    browser.wait_for("#device-secret").await;
    let secret = browser.text("#device-secret").await.replace(' ', "");
    Device::scan(&json!({ "secret": secret }), &app.clock)
}

async fn recovery_codes(browser: &Browser) -> Vec<String> {
    browser.wait_for("#recovery-codes").await;
    browser.text("#recovery-codes").await.lines().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_sets_up_a_device_tries_it_and_removes_it() {
    let app = TestApp::start().await;
    let driver = Driver::shared();
    for options in people() {
        // In a session with platform vouching, a device that is bound is proven; the code is only a trial.
        let token = app.client().await.sign_in_by_phone("agent01").await;
        let browser = driver.browser(options).await;
        hand_over(&browser, &app.address, &token, "/itagent/#/security").await;
        browser.allow_clipboard().await;
        browser.click("#device-set-up").await;
        let device = device(&browser, &app).await;
        is_good(&browser, "setting it up").await;
        if options.phone {
            picture(&browser, "agent-phone").await;
        } else {
            browser.set_size(1280, 960).await;
            picture(&browser, "agent").await;
        }
        browser.type_into("#device-code", &device.wrong_code()).await;
        browser.click("#device-form [type=submit]").await;
        browser.wait_for("#device-refusal").await;
        browser.script("document.querySelector('#device-code').value = ''", &[]).await;
        browser.type_into("#device-code", &device.code()).await;
        browser.click("#device-form [type=submit]").await;
        let codes = recovery_codes(&browser).await;
        assert_eq!(codes.len(), 10);
        is_good(&browser, "recovery codes").await;
        browser.click("[data-act=copy]").await;
        browser.wait_until("document.querySelector('#status-line').textContent !== ''").await;
        assert_eq!(browser.clipboard().await, codes.join("\n"));
        browser.script("window.print = () => { window.printed = document.body.className; }", &[]).await;
        browser.click("[data-act=print]").await;
        assert_eq!(browser.script("return window.printed", &[]).await, "printing-codes");
        browser.click("#codes-seen").await;
        browser.click("#codes-done").await;
        browser.wait_for("[data-act=unbind]").await;
        is_good(&browser, "bound").await;

        browser.click("#device .row button").await;
        browser.type_into("dialog [name=code]", &device.next_code()).await;
        browser.click("dialog [type=submit]").await;
        // The panel is shown anew before the line says so: what is pressed next is there to stay.
        let works = localized(&options, "works", "正常");
        browser.wait_until(&format!("document.querySelector('#status-line').textContent.includes('{works}')")).await;
        browser.click("[data-act=unbind]").await;
        browser.type_into("dialog [name=code]", &device.wrong_code()).await;
        browser.click("dialog [type=submit]").await;
        browser.wait_for("dialog .refusal").await;
        is_good(&browser, "a wrong code").await;
        browser.script("document.querySelector('dialog [name=code]').value = ''", &[]).await;
        browser.type_into("dialog [name=code]", &codes[0]).await;
        browser.click("dialog [type=submit]").await;
        browser.wait_for("#device-set-up").await;
        nothing_was_blocked(&browser).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_sets_and_changes_a_password() {
    let app = TestApp::start().await;
    let driver = Driver::shared();
    let (browser, _) = at_the_desk(&driver, &app, Options::default(), "agent01", "/itagent/#/security").await;
    let other = app.client().await.sign_in("agent01").await;
    browser.wait_for("#new-password").await;
    // The page says how many sessions end, and asks once.
    browser.type_into("#new-password", PASSWORD).await;
    browser.click("#own-password-form [type=submit]").await;
    browser.wait_for("dialog #question-text").await;
    assert!(browser.text("#question-text").await.contains("One other session"));
    is_good(&browser, "other sessions will end").await;
    picture(&browser, "first-password").await;
    browser.click("dialog .choice [type=button]").await;
    browser.wait_until("!document.querySelector('dialog')").await;
    app.client().await.me(&other).await.data();
    browser.click("#own-password-form [type=submit]").await;
    browser.script("document.querySelector('#new-password').value = 'short'", &[]).await;
    browser.click("dialog [type=submit]").await;
    for (password, why) in [("short", "at least 12"), ("agent01 agent01 x", "your employee id")] {
        browser.script("document.querySelector('#new-password').value = ''", &[]).await;
        browser.type_into("#new-password", password).await;
        browser.click("#own-password-form [type=submit]").await;
        browser
            .wait_until(&format!("document.querySelector('#new-password-refusal').innerText.includes('{why}')"))
            .await;
    }
    is_good(&browser, "a password that is not good").await;
    browser.script("document.querySelector('#new-password').value = ''", &[]).await;
    browser.type_into("#new-password", PASSWORD).await;
    browser.click("#own-password-form [type=submit]").await;
    browser.wait_for("#old-password").await;
    app.client().await.me(&other).await.refused(401, 1001);
    // A password exists, so the old one is required.
    browser.type_into("#old-password", "not that one, sorry").await;
    browser.type_into("#new-password", "another four horses").await;
    browser.click("#own-password-form [type=submit]").await;
    browser.wait_for("#old-password-refusal").await;
    is_good(&browser, "the old password is wrong").await;
    browser.script("document.querySelector('#old-password').value = ''", &[]).await;
    browser.type_into("#old-password", PASSWORD).await;
    browser.click("#own-password-form [type=submit]").await;
    browser.wait_until("document.querySelector('#old-password').value === ''").await;
    let half = app.client().await.agent_login("agent01", "another four horses").await.data();
    assert_eq!(half["half_authenticated"], true);
}

/// An employee who is no agent sees none of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_employee_has_neither() {
    let app = TestApp::start().await;
    let driver = Driver::shared();
    let (browser, _) = at_the_desk(&driver, &app, Options::default(), "user01", "/h5/#/security").await;
    browser.wait_for("#sessions [data-act=end]").await;
    browser.wait_for("#sign-ins tbody tr").await;
    assert_eq!(browser.script("return document.querySelector('#own-password, #device')", &[]).await, json!(null));
}
