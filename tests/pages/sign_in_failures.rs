//! Failed sign-ins: each time the page says why, and what to do next.

use std::time::Duration;

use serde_json::json;

use super::{at_the_desk, choose, is_good, localized, people};
use crate::harness::{Driver, Options, TestApp, Viewport, picture, settings};

/// The link of the code that a browser shows, as the phone that scans it sees it.
async fn link(browser: &crate::harness::Browser) -> serde_json::Value {
    browser.wait_for("#welcome[data-state=waiting]").await;
    json!({ "qrcode_url": browser.script("return document.querySelector('#simulated').href", &[]).await })
}

/// This holds also where server-sent events do not arrive and the page has to poll.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_code_that_is_over_or_was_turned_down_can_be_had_anew() {
    let app = TestApp::start().await;
    let driver = Driver::shared();
    for options in people() {
        let browser = driver.browser(options).await;
        browser.block(&["*/scan/events*"]).await;
        browser.goto(&format!("http://{}/h5/", app.address)).await;
        if options.phone {
            browser.click("#code summary").await;
        }
        let first = link(&browser).await;
        app.clock.advance(Duration::from_secs(181));
        browser.wait_for("#welcome[data-state=expired]").await;
        assert_eq!(browser.text("#state").await, localized(&options, "This code has expired", "二维码已过期"));
        is_good(&browser, "expired").await;
        picture(&browser, "expired").await;

        browser.block(&[]).await;
        browser.click("#renew").await;
        let second = link(&browser).await;
        assert_ne!(first, second);
        let mut phone = app.client().await;
        let confirm = phone.scan_as(&second, "user01").await;
        browser.wait_for("#welcome[data-state=scanned]").await;
        phone.decide("cancel", &confirm).await.data();
        browser.wait_for("#welcome[data-state=expired]").await;
        let turned_down = localized(&options, "Cancelled or refused on the phone", "已在手机上取消或被拒绝");
        assert_eq!(browser.text("#state").await, turned_down);
        is_good(&browser, "cancelled").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_platform_is_down_agents_are_shown_their_way_in() {
    let app = TestApp::start().await;
    let driver = Driver::shared();
    let mut client = app.client().await;
    for options in people() {
        let browser = driver.browser(options).await;
        browser.goto(&format!("http://{}/itagent/", app.address)).await;
        browser.click("#here").await;
        browser.wait_until("location.pathname.startsWith('/sim/')").await;
        client.set_fault(&json!({ "http_status": 502, "times": 0 })).await;
        choose(&browser, "agent01").await;
        browser.wait_for("#notice.bad").await;
        let title = localized(&options, "WeCom cannot be reached", "暂时无法连接企业微信");
        assert_eq!(browser.text("#notice-title").await, title);
        assert_ne!(browser.text("#notice-ref").await, "", "something to tell the help desk");
        browser.wait_for(".platform-down #by-password").await;
        is_good(&browser, "the platform is down").await;
        picture(&browser, "platform-down").await;
        client.send(&crate::harness::request("DELETE", "/sim/faults", &[], b"")).await;
        browser.click("#by-password").await;
        browser.wait_for("#password-word").await;
        browser.click("#password-back").await;
        browser.wait_for("#welcome #here").await;
    }
}

/// An employee without a role is told so on the phone and at the computer, with what to do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_employee_without_a_role_learns_the_reason() {
    let app = TestApp::with(settings(&[("development.enabled", "true"), ("default_role", "none")])).await;
    let driver = Driver::shared();
    let desktop = driver.browser(Options::default()).await;
    let phone = driver.browser(Options::on(Viewport::Phone)).await;
    desktop.goto(&format!("http://{}/h5/", app.address)).await;
    let link = link(&desktop).await;
    phone.goto(link["qrcode_url"].as_str().unwrap()).await;
    choose(&phone, "norole01").await;
    phone.click("#confirm").await;
    phone.wait_for("#outcome").await;
    assert_eq!(phone.text("#outcome-title").await, "You have no access yet");
    assert!(phone.text("#outcome-text").await.contains("administrator"));
    is_good(&phone, "no role").await;
    desktop.wait_for("#welcome[data-state=expired]").await;
    desktop.click("#here").await;
    choose(&desktop, "norole01").await;
    desktop.wait_for("#notice.bad").await;
    assert_eq!(desktop.text("#notice-title").await, "You have no access yet");
    is_good(&desktop, "no role").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_was_offline_goes_on_by_itself() {
    let app = TestApp::start().await;
    let driver = Driver::shared();
    for options in people() {
        let browser = driver.browser(options).await;
        browser.goto(&format!("http://{}/h5/", app.address)).await;
        if options.phone {
            browser.wait_for("#here").await;
        } else {
            link(&browser).await;
        }
        browser.offline(true).await;
        browser.wait_for("#offline").await;
        // A code that is requested now cannot arrive.
        if options.phone {
            browser.click("#code summary").await;
        } else {
            browser.script("document.querySelector('#renew').click()", &[]).await;
        }
        browser.wait_for("#welcome[data-state=failed]").await;
        assert_ne!(browser.text("#state").await, "");
        is_good(&browser, "offline").await;
        browser.offline(false).await;
        browser.wait_for("#welcome[data-state=waiting]").await;
        browser.wait_until("document.querySelector('#offline').hidden").await;
    }
}

/// Whatever ends a session, the page tells the user why and offers to sign in again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_whose_session_was_ended_learns_why() {
    let app = TestApp::start().await;
    let driver = Driver::shared();
    let (browser, token) = at_the_desk(&driver, &app, Options::default(), "agent01", "/itagent/").await;
    browser.wait_for("#live[data-state=live]").await;
    app.client().await.logout(&token).await.data();
    browser.wait_for("#welcome[data-state=waiting]").await;
    assert_eq!(browser.text("#notice-text").await, "You were signed out elsewhere. Please sign in again.");
    let (browser, _) = at_the_desk(&driver, &app, Options::default(), "agent01", "/itagent/").await;
    browser.wait_for("#live[data-state=live]").await;
    app.auth().operator().disable(app.key("agent01")).await.unwrap();
    browser.wait_for("#welcome[data-state=waiting]").await;
    assert!(browser.text("#notice-text").await.contains("was disabled"));
    is_good(&browser, "put out").await;
    assert_eq!(browser.script("return sessionStorage.getItem('deskpass.token')", &[]).await, json!(null));
}
