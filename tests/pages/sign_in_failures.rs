//! Failed sign-ins: each time the page says why, and what to do next.

use serde_json::json;

use super::code::link;
use super::{at_the_desk, choose, is_good, localized, people};
use crate::harness::{Driver, Options, TestApp, Viewport, picture, settings};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_platform_is_down_each_user_is_offered_what_helps() {
    let app = TestApp::start().await;
    let driver = Driver::shared();
    let mut client = app.client().await;
    for options in people() {
        let browser = driver.browser(options).await;
        for page in ["itagent", "h5"] {
            browser.goto(&format!("http://{}/{page}/", app.address)).await;
            browser.click("#here").await;
            browser.wait_until("location.pathname.startsWith('/sim/')").await;
            client.set_fault(&json!({ "http_status": 502, "times": 0 })).await;
            choose(&browser, "agent01").await;
            browser.wait_for("#notice.bad #try-again").await;
            let title = localized(&options, "WeCom cannot be reached", "暂时无法连接企业微信");
            assert_eq!(browser.text("#notice-title").await, title);
            assert_ne!(browser.text("#notice-ref").await, "", "something to tell the help desk");
            if page == "itagent" {
                browser.wait_for(".platform-down #by-password").await;
                browser.wait_until("/password|密码/.test(document.querySelector('#notice-text').textContent)").await;
            }
            is_good(&browser, "the platform is down").await;
            picture(&browser, &format!("platform-down-{page}-{}", localized(&options, "en", "zh"))).await;
            client.send(&crate::harness::request("DELETE", "/sim/faults", &[], b"")).await;
            if page == "h5" {
                // Employees have no password.
                assert_eq!(browser.text("#by-password").await, "");
                assert!(!browser.text("#notice-text").await.contains(localized(&options, "password", "密码")));
                browser.click("#try-again").await;
                choose(&browser, "user01").await;
                browser.wait_for("#account").await;
            } else {
                browser.click("#by-password").await;
                browser.wait_for("#password-word").await;
                browser.click("#password-back").await;
                browser.wait_for("#welcome #here").await;
            }
        }
    }
}

/// A password is not offered where it would be refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_is_offered_only_where_it_counts() {
    let driver = Driver::shared();
    for (fallback, is_offered) in [("always", true), ("off", false)] {
        let app =
            TestApp::with(settings(&[("development.enabled", "true"), ("agents.password_fallback", fallback)])).await;
        let browser = driver.browser(Options::default()).await;
        // The page asks for the state of the service after it has asked whether a password counts.
        let asked = r#"deskpass_requests_total{method="GET",route="/api/ready",outcome="ok"} "#;
        let mut client = app.client().await;
        for (at, page) in ["/", "/h5/", "/itagent/", "/itadmin/"].into_iter().enumerate() {
            browser.goto(&format!("http://{}{page}", app.address)).await;
            link(&browser).await;
            crate::harness::until("the page knows", async || {
                client.get("/metrics", &[]).await.body.contains(&format!("{asked}{}", at + 1))
            })
            .await;
            let expected = is_offered && page.starts_with("/it");
            browser.wait_until(&format!("document.querySelector('#by-password').hidden !== {expected}")).await;
        }
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
    assert!(phone.text("#outcome-ref").await.starts_with("Reference "), "something to tell the help desk");
    is_good(&phone, "no role").await;
    desktop.wait_for("#welcome[data-state=expired]").await;
    assert!(desktop.text("#state").await.contains("has no access yet"));
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
