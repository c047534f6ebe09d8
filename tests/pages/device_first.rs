//! A change that needs a code from an administrator whose authenticator is missing, not confirmed, or removed meanwhile.

use std::time::Duration;

use serde_json::json;

use super::sign_in_again::{confirm, token};
use super::{at_the_desk, hand_over, is_good, nothing_was_blocked};
use crate::harness::{Browser, Device, Driver, Key, Options, TestApp, Viewport, picture};
use crate::sign_in_proof::{give_password, production};

/// Changes are confirmed with codes only, as where phones do not count.
const BY_CODE: [(&str, &str); 1] = [("approval.methods", "otp")];

/// Opens the question for the roles of `user01`.
async fn ask_for_roles(browser: &Browser) {
    browser.wait_for(r#"tr[data-id="wwdeskpass/user01"]"#).await;
    let open = "if (!document.querySelector('.below')) document.querySelector('[data-id=\"wwdeskpass/user01\"] [data-act=open]').click()";
    browser.script(open, &[]).await;
    browser.click(".below [data-act=roles]").await;
}

/// Answers the question for roles with a code, and waits until it is done.
async fn save(browser: &Browser, code: &str) {
    browser.wait_for("dialog [name=code]").await;
    browser.script("document.querySelector('dialog [name=code]').value = ''", &[]).await;
    browser.type_into("dialog [name=code]", code).await;
    browser.click("dialog [type=submit]").await;
    let saved = "!document.querySelector('dialog') && document.querySelector('#status-line').textContent.includes('has these roles now')";
    browser.wait_until(saved).await;
}

/// Takes the offer, and sets up the authenticator whose key the page shows.
async fn set_up(browser: &Browser, app: &TestApp) -> Device {
    browser.wait_for("#device-secret").await;
    let secret = browser.text("#device-secret").await.replace(' ', "");
    let device = Device::scan(&json!({ "secret": secret }), &app.clock);
    browser.type_into("#device-code", &device.code()).await;
    browser.click("#device-form [type=submit]").await;
    browser.wait_for("#recovery-codes").await;
    device
}

async fn finish(browser: &Browser) {
    browser.click("#codes-seen").await;
    browser.click("#codes-done").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_session_is_confirmed_on_the_phone_and_the_change_goes_on() {
    let (app, platform) = production(&BY_CODE).await;
    app.auth().operator().grant(app.key("security01"), "admin").await.unwrap();
    let mut client = app.client().await;
    let old = platform.sign_in(&mut client, "security01").await;
    app.clock.advance(Duration::from_mins(6));
    let driver = Driver::shared();
    let browser = driver.browser(Options::default()).await;
    hand_over(&browser, &app.address, &old, "/itadmin/#/people?q=user01").await;
    // A user who cancels is where they were.
    ask_for_roles(&browser).await;
    browser.click("#device-first [data-act=cancel]").await;
    browser.wait_until("!document.querySelector('dialog') && document.activeElement.dataset.act === 'roles'").await;

    ask_for_roles(&browser).await;
    browser.click("#first-go").await;
    confirm(&browser, &app, &platform, "security01").await;
    let device = set_up(&browser, &app).await;
    // The recovery codes are shown once: Escape does not take them away.
    for _ in 0..3 {
        browser.press(Key::Escape).await;
    }
    browser.wait_for("#device-first[open] #recovery-codes").await;
    finish(&browser).await;
    browser.click("dialog [name=role_agent]").await;
    save(&browser, &device.next_code()).await;
    assert_ne!(token(&browser).await, old);

    // An administrator takes the device away. The page notices at the next change, and offers another without losing the choice.
    app.auth().operator().reset_device(app.key("security01")).await.unwrap();
    ask_for_roles(&browser).await;
    browser.click("dialog [name=role_supervisor]").await;
    browser.type_into("dialog [name=code]", &device.next_code()).await;
    browser.click("dialog [type=submit]").await;
    browser.wait_for("dialog .refusal [data-act=device-first]").await;
    is_good(&browser, "the device was removed").await;
    browser.click("[data-act=device-first]").await;
    browser.click("#first-go").await;
    let device = set_up(&browser, &app).await;
    finish(&browser).await;
    browser.wait_for("dialog [name=role_supervisor]:checked").await;
    save(&browser, &device.next_code()).await;
    let held = "SELECT role_id FROM user_role WHERE employee_key = 'user01' ORDER BY role_id";
    assert_eq!(app.query(held), ["2", "3", "4"]);
    nothing_was_blocked(&browser).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_authenticator_without_the_platform_is_confirmed_in_place() {
    let (app, platform) = production(&BY_CODE).await;
    let mut client = app.client().await;
    give_password(&app, "admin01").await;
    let half = client.partial_sign_in("admin01").await;
    let (device, _) = client.bind_device(&half, &app.clock).await;
    let old = platform.sign_in(&mut client, "admin01").await;
    app.clock.advance(Duration::from_mins(6));
    let driver = Driver::shared();
    let browser = driver.browser(Options::default()).await;
    hand_over(&browser, &app.address, &old, "/itadmin/#/people?q=user01").await;
    ask_for_roles(&browser).await;
    browser.wait_for("dialog [type=submit]").await;
    assert_eq!(browser.script("return document.querySelector('[name=code]')", &[]).await, json!(null));
    is_good(&browser, "not confirmed yet").await;
    picture(&browser, "device-prove").await;
    browser.click("dialog [type=submit]").await;
    confirm(&browser, &app, &platform, "admin01").await;
    browser.wait_for("dialog [name=code]").await;
    browser.type_into("dialog [name=code]", &device.next_code()).await;
    browser.click("dialog [type=submit]").await;
    browser.click("dialog [name=role_agent]").await;
    save(&browser, &device.next_code()).await;
}

/// On a phone, signing in again leaves the page: the page that returns goes on with the authenticator.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_phone_goes_on_with_the_authenticator_when_it_returns() {
    let (app, platform) = production(&BY_CODE).await;
    app.auth().operator().grant(app.key("security01"), "admin").await.unwrap();
    let mut client = app.client().await;
    let old = platform.sign_in(&mut client, "security01").await;
    app.clock.advance(Duration::from_mins(6));
    let driver = Driver::shared();
    let browser = driver.browser(Options::on(Viewport::Phone)).await;
    hand_over(&browser, &app.address, &old, "/itadmin/#/people?q=user01").await;
    ask_for_roles(&browser).await;
    browser.click("#first-go").await;
    browser.wait_for("#again-here").await;
    is_good(&browser, "asked to sign in again").await;
    // The service of a test is not at its public address, so the platform could not send the phone back: it goes no further.
    let nowhere = "const real = window.fetch; const data = { authorize_url: `${location.origin}/assets/words.js` };
        window.fetch = async (url, ...more) => (String(url).includes('oauth2/url')
            ? new Response(JSON.stringify({ code: 0, data })) : real(url, ...more))";
    browser.script(nowhere, &[]).await;
    browser.click("#again-here").await;
    browser.wait_until("location.pathname.startsWith('/assets/')").await;
    let kept = browser.script("return JSON.parse(sessionStorage.getItem('deskpass.again')).resume", &[]).await;
    assert_eq!(kept, "device");
    // The page that returns from the platform, with the new session.
    let fresh = platform.sign_in(&mut client, "security01").await;
    let returned = "sessionStorage.removeItem('deskpass.again'); sessionStorage.setItem('deskpass.resume', 'device');";
    browser.script(returned, &[]).await;
    hand_over(&browser, &app.address, &fresh, "/itadmin/#/people?q=user01").await;
    browser.click("#first-go").await;
    let device = set_up(&browser, &app).await;
    finish(&browser).await;
    browser
        .wait_until("document.querySelector('#status-line').textContent.includes('You can make the change now')")
        .await;
    ask_for_roles(&browser).await;
    browser.click("dialog [name=role_agent]").await;
    save(&browser, &device.next_code()).await;
    browser.reload().await;
    browser.wait_for(r#"tr[data-id="wwdeskpass/user01"]"#).await;
    assert_eq!(browser.script("return document.querySelector('dialog')", &[]).await, json!(null), "only once");
}

/// An administrator who is no agent has an authenticator and no password under “Security”, in every client.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_administrator_has_an_authenticator_and_no_password() {
    let app = TestApp::start().await;
    let driver = Driver::shared();
    for (who, path) in [("security01", "/itadmin/#/security"), ("security01", "/h5/#/security")] {
        let (browser, _) = at_the_desk(&driver, &app, Options::default(), who, path).await;
        browser.wait_for("#device-set-up").await;
        assert!(!browser.text("#device").await.contains("password"), "{path}");
        assert_eq!(browser.script("return document.querySelector('#own-password')", &[]).await, json!(null), "{path}");
        is_good(&browser, path).await;
    }
}
