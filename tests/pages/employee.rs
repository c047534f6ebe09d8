//! The account page of every user: identity, current sessions, and past sign-ins.

use serde_json::json;

use super::{at_the_desk, hand_over, is_good, kept, localized, nothing_was_blocked, people};
use crate::harness::{Client, Driver, Key, Options, TestApp, Viewport, picture};

const WINDOWS: &str =
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36";
const MAC: &str = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Safari/605.1.15";

/// Signs a user in with this user agent; returns the token.
async fn sign_in_with(client: &mut Client, browser: &str, who: &str) -> String {
    let answer = client.post("/api/dev/login", &[("user-agent", browser)], &json!({ "employee_id": who })).await;
    answer.data()["token"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_switches_roles_by_a_press_and_every_page_knows() {
    let app = TestApp::start().await;
    let driver = Driver::shared();
    for options in people() {
        let (browser, token) = at_the_desk(&driver, &app, options, "agent01", "/itagent/").await;
        browser.wait_for("#live[data-state=live]").await;
        browser.wait_for("#account").await;
        assert_eq!(browser.text("#name").await, "Arno Agent");
        is_good(&browser, "my account").await;
        // The role is for another client, which opens with the same session.
        browser.click("[data-role=user]").await;
        browser.wait_until("location.pathname === '/h5/'").await;
        browser.wait_for("#account").await;
        let role = localized(&options, "Employee", "员工");
        browser.wait_until(&format!("document.querySelector('#status-line').textContent.includes('{role}')")).await;
        assert_eq!(app.client().await.me(&token).await.data()["current_role"], "user");
        // The page of another client says which role it is for.
        browser.goto(&format!("http://{}/itagent/", app.address)).await;
        browser.wait_for("#wrong-role").await;
        is_good(&browser, "a role that is not for here").await;
        // Another client of the user switches back.
        app.client().await.switch(&token, "agent").await.data();
        browser.wait_for("#account").await;
        assert_eq!(browser.script("return document.querySelector('[data-role=agent]').ariaPressed", &[]).await, "true");
        nothing_was_blocked(&browser).await;
    }
}

/// The active role is revoked while the user acts in it: they continue in another, also after a reload.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_who_loses_the_active_role_is_offered_the_others() {
    let app = TestApp::start().await;
    let driver = Driver::shared();
    for options in people() {
        let (browser, token) = at_the_desk(&driver, &app, options, "agent01", "/h5/").await;
        browser.wait_for("#live[data-state=live]").await;
        app.auth().operator().revoke(app.key("agent01"), "agent").await.unwrap();
        browser.wait_for("#wrong-role").await;
        is_good(&browser, "role was revoked").await;
        browser.reload().await;
        browser.wait_for("#wrong-role [data-role=user]").await;
        assert!(browser.text("#wrong-role").await.contains(localized(&options, "was revoked", "已被收回")));
        browser.click("[data-role=user]").await;
        browser.wait_for("#account").await;
        browser.wait_for("#live[data-state=live]").await;
        assert_eq!(app.client().await.me(&token).await.data()["current_role"], "user");
        app.auth().operator().grant(app.key("agent01"), "agent").await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_sees_where_they_are_signed_in_and_ends_it() {
    let app = TestApp::start().await;
    let driver = Driver::shared();
    let mut client = app.client().await;
    for options in people() {
        let other = sign_in_with(&mut client, WINDOWS, "user01").await;
        let third = client.sign_in("user01").await;
        let (browser, token) = at_the_desk(&driver, &app, options, "user01", "/h5/#/security").await;
        browser.wait_for("#sessions [data-act=end]").await;
        let listed = browser.text("#sessions").await;
        assert!(listed.contains("Windows") && listed.contains("127.0.0.1"), "{listed}");
        let end =
            "[...document.querySelectorAll('#sessions tbody tr')].find((row) => row.innerText.includes('Windows'))
            .querySelector('[data-act=end]').click()";
        browser.script(end, &[]).await;
        browser.wait_for("dialog .danger").await;
        is_good(&browser, "ending one").await;
        browser.click("dialog .danger").await;
        browser.wait_until("!document.querySelector('#sessions').innerText.includes('Windows')").await;
        client.me(&other).await.refused(401, 1001);
        assert!(client.is_valid(&third).await);
        assert_ne!(browser.active().await, "body", "the button is gone, and the focus is somewhere");
        browser.click("#sessions [data-act=end_others]").await;
        browser.click("dialog .danger").await;
        browser.wait_until("document.querySelectorAll('#sessions [data-act=end]').length === 1").await;
        client.me(&third).await.refused(401, 1001);
        assert!(client.is_valid(&token).await);
        // The last session is the current one.
        browser.click("#sessions [data-act=end]").await;
        browser.click("dialog .danger").await;
        browser.wait_for("#welcome").await;
        assert_eq!(browser.text("#notice-text").await, localized(&options, "You are signed out.", "您已退出登录。"));
        client.me(&token).await.refused(401, 1001);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_signs_out_everywhere_at_once() {
    let app = TestApp::start().await;
    let driver = Driver::shared();
    let mut client = app.client().await;
    let other = client.sign_in("user01").await;
    let (browser, token) = at_the_desk(&driver, &app, Options::default(), "user01", "/h5/#/security").await;
    browser.click("#sessions [data-act=end_all]").await;
    browser.click("dialog .danger").await;
    browser.wait_for("#welcome").await;
    for token in [other, token] {
        client.me(&token).await.refused(401, 1001);
    }
}

/// A sign-in that the user disowns ends, and administrators see the report.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disowned_sign_in_is_ended_and_reported() {
    let app = TestApp::start().await;
    let driver = Driver::shared();
    let mut client = app.client().await;
    for options in people() {
        app.clock.advance(std::time::Duration::from_mins(7));
        let stolen = sign_in_with(&mut client, WINDOWS, "user01").await;
        app.clock.advance(std::time::Duration::from_mins(12));
        let token = sign_in_with(&mut client, MAC, "user01").await;
        let browser = driver.browser(options).await;
        hand_over(&browser, &app.address, &token, "/h5/").await;
        browser.wait_for("#latest").await;
        is_good(&browser, "the latest sign-ins").await;
        browser.click("#latest a").await;
        browser.wait_for("#sign-ins [data-act=not-me]").await;
        browser.wait_for("#sessions [data-act=end]").await;
        is_good(&browser, "security").await;
        if !options.phone {
            browser.set_size(1280, 960).await;
            picture(&browser, "employee").await;
        }
        browser.click("#sign-ins [data-act=not-me]").await;
        browser.wait_for("dialog .danger").await;
        is_good(&browser, "not me").await;
        browser.click("dialog .danger").await;
        browser.wait_for("#disowned").await;
        assert!(browser.text("#disowned").await.contains(localized(&options, "has ended", "已结束")));
        assert_eq!(browser.active().await, "#disowned");
        browser.wait_for("#sign-ins .tag.warm").await;
        is_good(&browser, "told").await;
        client.me(&stolen).await.refused(401, 1001);
    }
    let shown = app.query("SELECT event FROM login_log WHERE event = 'sign_in_disowned'");
    assert_eq!(shown.len(), 2);
}

/// Signing out with all steps before it, without a mouse.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_signs_out_with_the_keyboard_alone() {
    let app = TestApp::start().await;
    let driver = Driver::shared();
    let (browser, token) = at_the_desk(&driver, &app, Options::default(), "user01", "/h5/").await;
    browser.wait_for("#account").await;
    let mut passed = Vec::new();
    while passed.last().is_none_or(|on| on != "#sign-out") {
        browser.press(Key::Tab).await;
        passed.push(browser.active().await);
        assert!(passed.len() < 12, "{passed:?}");
    }
    browser.press(Key::Enter).await;
    browser.wait_for("#welcome[data-state=waiting]").await;
    assert_ne!(browser.active().await, "body");
    app.client().await.me(&token).await.refused(401, 1001);
}

/// No view keeps a secret where others might look.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_is_in_no_address_and_does_not_outlive_the_tab() {
    let app = TestApp::start().await;
    let driver = Driver::shared();
    let token = app.client().await.sign_in("user01").await;
    let browser = driver.browser(Options::on(Viewport::Phone)).await;
    hand_over(&browser, &app.address, &token, "/h5/").await;
    browser.wait_for("#account").await;
    for view in ["messages", "calling", "security", "account"] {
        browser.click(&format!("#views a[href='#/{view}']")).await;
        browser.wait_for(&format!("#place[data-view={view}]")).await;
        let kept = kept(&browser).await;
        assert!(!kept.as_str().unwrap().contains(&token), "{view}: {kept}");
    }
    let links = "return [...document.querySelectorAll('[href], [src]')].map((it) => it.href || it.src).join(' ')";
    assert!(!browser.script(links, &[]).await.as_str().unwrap().contains(&token));
}
