//! Signing in again without leaving the page, for operations that require a sign-in only minutes old.

use std::time::Duration;

use serde_json::json;

use super::{choose, hand_over, is_good, localized, nothing_was_blocked, people};
use crate::api::auth::qrcode::decode;
use crate::harness::{
    Browser, Client, Device, Driver, Options, PASSWORD, Platform, TestApp, Viewport, fragment, location, settings,
    target,
};
use crate::sign_in_proof::production;

/// Scans the code in the dialog and confirms on the phone of `who`, with the number that the dialog shows.
pub(super) async fn confirm(browser: &Browser, app: &TestApp, platform: &Platform, who: &str) {
    browser.wait_for("#sign-in-again .again[data-state=waiting]").await;
    let picture = browser.script("return document.querySelector('#sign-in-again img').src", &[]).await;
    let link = decode(picture.as_str().unwrap().strip_prefix("data:image/png;base64,").unwrap());
    let back = platform.client().await.authorize(&link, who).await;
    let mut phone = app.client().await;
    let landed = phone.get(&target(&back), &[("user-agent", "phone")]).await;
    let number: u64 = browser.text("#again-number").await.parse().unwrap();
    let decision = json!({ "confirm": fragment(location(&landed), "confirm"), "number": number });
    phone.post("/api/auth/scan/confirm", &[], &decision).await.data();
}

pub(super) async fn token(browser: &Browser) -> String {
    browser.script("return sessionStorage.getItem('deskpass.token')", &[]).await.as_str().unwrap().to_owned()
}

/// The number of sessions in the list that a token is shown.
async fn sessions(client: &mut Client, token: &str) -> usize {
    client.get_as(token, "/api/auth/sessions").await.data()["items"].as_array().unwrap().len()
}

/// Binds the device whose key the page shows.
async fn bind(browser: &Browser, app: &TestApp) {
    browser.wait_for("#device-secret").await;
    let secret = browser.text("#device-secret").await.replace(' ', "");
    let device = Device::scan(&json!({ "secret": secret }), &app.clock);
    browser.type_into("#device-code", &device.code()).await;
    browser.click("#device-form [type=submit]").await;
    browser.wait_for("#recovery-codes").await;
    browser.click("#codes-seen").await;
    browser.click("#codes-done").await;
    browser.wait_for("[data-act=unbind]").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_device_and_a_first_password_are_confirmed_on_the_phone_in_place() {
    let (app, platform) = production(&[]).await;
    let mut client = app.client().await;
    let old = platform.sign_in(&mut client, "admin01").await;
    client.switch(&old, "agent").await.data();
    app.clock.advance(Duration::from_mins(6));
    let driver = Driver::shared();
    let browser = driver.browser(Options::default()).await;
    hand_over(&browser, &app.address, &old, "/itagent/#/security").await;
    browser.wait_for("#device-set-up").await;
    browser.script("window.samePage = true", &[]).await;
    // A user who cancels is where they were.
    browser.click("#device-set-up").await;
    browser.wait_for("#sign-in-again .again[data-state=waiting]").await;
    is_good(&browser, "asked to sign in again").await;
    browser.click("#sign-in-again [data-act=cancel]").await;
    browser.wait_for("#device-set-up").await;
    assert_eq!(token(&browser).await, old);

    // The phone of another person changes nothing, and leaves no session behind.
    browser.click("#device-set-up").await;
    confirm(&browser, &app, &platform, "agent01").await;
    browser.wait_for("#again-renew").await;
    assert!(browser.text("#again-state").await.contains("Another person"));
    assert_eq!((token(&browser).await, app.query("SELECT count(*) FROM session")), (old.clone(), vec!["1".to_owned()]));
    browser.click("#again-renew").await;
    confirm(&browser, &app, &platform, "admin01").await;
    bind(&browser, &app).await;
    let fresh = token(&browser).await;
    assert_ne!(fresh, old);
    assert_eq!(client.me(&old).await.refused(401, 1001).reason(), "signed_out");
    assert_eq!(client.me(&fresh).await.data()["current_role"], "agent", "they go on in the role they had");
    assert_eq!(client.get_as(&fresh, "/api/auth/otp-status").await.data()["proven"], true);

    app.clock.advance(Duration::from_mins(6));
    browser.type_into("#new-password", PASSWORD).await;
    browser.click("#own-password-form [type=submit]").await;
    confirm(&browser, &app, &platform, "admin01").await;
    browser.wait_for("#old-password").await;
    assert_eq!(sessions(&mut client, &token(&browser).await).await, 1);
    assert_eq!(browser.script("return window.samePage", &[]).await, true, "the page was never left");
    nothing_was_blocked(&browser).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_setup_code_does_as_well() {
    let (app, platform) = production(&[]).await;
    let mut client = app.client().await;
    let code = app.auth().operator().reset_device(app.key("agent01")).await.unwrap().code.text();
    let old = platform.sign_in(&mut client, "agent01").await;
    app.clock.advance(Duration::from_mins(6));
    let driver = Driver::shared();
    let browser = driver.browser(Options { language: "zh-CN", ..Options::default() }).await;
    hand_over(&browser, &app.address, &old, "/itagent/#/security").await;
    for (code, is_right) in [("aaaa-bbbb-cccc-dddd", false), (&*code, true)] {
        browser.click(if is_right { "#device .row .button" } else { "#device-set-up" }).await;
        browser.wait_for("#sign-in-again summary").await;
        browser.click("#sign-in-again summary").await;
        browser.type_into("#again-code", code).await;
        browser.click("#again-code-form [type=submit]").await;
        if !is_right {
            browser.wait_for("#device .refusal").await;
            assert!(browser.text("#device .refusal").await.contains("设置码"));
        }
    }
    bind(&browser, &app).await;
    assert_eq!(token(&browser).await, old);
}

/// On a phone users go to the platform and return to where they were; the previous session has ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_is_confirmed_after_signing_in_again() {
    let driver = Driver::shared();
    for options in people() {
        let app = TestApp::start().await;
        let mut client = app.client().await;
        let old = client.sign_in("agent01").await;
        client.switch(&old, "user").await.data();
        let (device, _) = client.bind_device(&old, &app.clock).await;
        let browser = driver.browser(options).await;
        hand_over(&browser, &app.address, &old, "/h5/#/security").await;
        browser.click("[data-act=prove]").await;
        if options.phone {
            browser.wait_for("#again-here").await;
            is_good(&browser, "asked to sign in again").await;
            browser.click("#again-here").await;
            choose(&browser, "agent01").await;
            browser.wait_for("[data-act=prove]").await;
            assert_eq!(browser.script("return location.hash", &[]).await, "#/security");
            browser.click("[data-act=prove]").await;
        } else {
            browser.wait_for("#sign-in-again .again[data-state=waiting]").await;
            let link = browser.script("return document.querySelector('#again-simulated').href", &[]).await;
            let mut phone = app.client().await;
            let confirm = phone.scan_as(&json!({ "qrcode_url": link }), "agent01").await;
            phone.decide("confirm", &confirm).await.data();
        }
        browser.wait_for("dialog [name=code]").await;
        assert_eq!(client.me(&old).await.refused(401, 1001).reason(), "signed_out");
        let fresh = token(&browser).await;
        assert_eq!(client.me(&fresh).await.data()["current_role"], "user", "they go on in the role they had");
        browser.type_into("dialog [name=code]", &device.next_code()).await;
        browser.click("dialog [type=submit]").await;
        browser.wait_for("[data-act=try]").await;
        let works = localized(&options, "works", "正常");
        browser.wait_until(&format!("document.querySelector('#status-line').textContent.includes('{works}')")).await;
        assert_eq!(client.get_as(&fresh, "/api/auth/otp-status").await.data()["proven"], true);
        nothing_was_blocked(&browser).await;
    }
}

/// During the round trip to the platform a tab accepts one answer, and only for the user who started it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sign_in_as_another_person_changes_nothing() {
    let app = TestApp::start().await;
    let mut client = app.client().await;
    let old = client.sign_in("agent01").await;
    client.switch(&old, "user").await.data();
    client.bind_device(&old, &app.clock).await;
    let driver = Driver::shared();
    let browser = driver.browser(Options::on(Viewport::Phone)).await;
    hand_over(&browser, &app.address, &old, "/h5/#/security").await;
    let page = format!("http://{}/h5/", app.address);
    let link = client.begin_oauth(&page).await.0;
    let foreign = client.authorize(&link, "user01").await;
    for (answer, shown) in
        [("", "Another person"), ("?state=auth_login", "You declined"), (&*foreign, "Another person")]
    {
        browser.click("[data-act=prove]").await;
        browser.click("#again-here").await;
        browser.wait_until("location.pathname.startsWith('/sim/')").await;
        match answer {
            "" => choose(&browser, "user01").await,
            "?state=auth_login" => browser.goto(&format!("{page}{answer}")).await,
            link => browser.goto(link).await,
        }
        browser.wait_until(&format!("document.querySelector('#status-line')?.textContent.includes('{shown}')")).await;
        browser.wait_for("[data-act=prove]").await;
        assert_eq!(browser.script("return location.hash", &[]).await, "#/security");
        // No other answer is accepted, neither for this person nor for another.
        for who in ["agent01", "user01"] {
            let late = client.authorize(&link, who).await;
            browser.goto(&late).await;
            browser.wait_for("#account").await;
        }
        assert_eq!((token(&browser).await, client.is_valid(&old).await), (old.clone(), true), "{shown}");
        assert_eq!(app.query("SELECT count(*) FROM session"), ["1"], "{shown}");
        browser.goto(&format!("{page}#/security")).await;
    }
}

/// Where users have one session each, the new one ends the session of the page before the page knows of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_goes_on_where_there_is_one_session_each() {
    let app = TestApp::with(settings(&[("development.enabled", "true"), ("session.max_per_employee", "1")])).await;
    let mut client = app.client().await;
    let old = client.sign_in("agent01").await;
    client.bind_device(&old, &app.clock).await;
    let driver = Driver::shared();
    let browser = driver.browser(Options::default()).await;
    hand_over(&browser, &app.address, &old, "/itagent/#/security").await;
    browser.wait_for("#live[data-state=live]").await;
    browser.click("[data-act=prove]").await;
    browser.wait_for("#sign-in-again .again[data-state=waiting]").await;
    let link = browser.script("return document.querySelector('#again-simulated').href", &[]).await;
    let confirm = client.scan_as(&json!({ "qrcode_url": link }), "agent01").await;
    client.decide("confirm", &confirm).await.data();
    browser.wait_for("dialog [name=code]").await;
    let fresh = token(&browser).await;
    assert!(fresh != old && client.is_valid(&fresh).await);
    // A session that ends before the confirmation signs the page out, a moment later at most.
    browser.click("dialog .choice [type=button]").await;
    app.clock.advance(Duration::from_mins(6));
    browser.click("[data-act=prove]").await;
    browser.wait_for("#sign-in-again .again[data-state=waiting]").await;
    client.sign_in("agent01").await;
    browser.wait_until("document.querySelector('#live').textContent === ''").await;
    assert_eq!(browser.script("return document.body.dataset.view", &[]).await, "desk");
    browser.click("#sign-in-again [data-act=cancel]").await;
    browser.wait_for("body[data-view=welcome]").await;
}
