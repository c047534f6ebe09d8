//! Signing in: one browser waits, another one plays the phone.

use serde_json::json;

use super::{at_the_desk, choose, is_good, kept, localized, nothing_was_blocked, people, service};
use crate::harness::{Driver, Options, TestApp, Viewport, fragment, location, picture};

on_every_store! {
    async fn a_browser_shows_the_code_a_phone_confirms_and_the_browser_is_signed_in() {
        let (_directory, service) = service();
        let driver = Driver::shared();
        let desktop = driver.browser(Options::default()).await;
        let phone = driver.browser(Options { phone: true, ..Options::default() }).await;
        desktop.goto(&format!("http://{}/itagent/", service.address)).await;
        desktop.wait_for("#welcome[data-state=waiting]").await;
        assert!(desktop.text("#countdown").await.contains("left"));
        is_good(&desktop, "waiting").await;
        picture(&desktop, "sign-in").await;
        let link = desktop.script("return document.querySelector('#simulated').href", &[]).await;

        phone.goto(link.as_str().unwrap()).await;
        choose(&phone, "agent01").await;
        phone.wait_for("body[data-view=ask] #confirm").await;
        assert!(phone.text("#ask-title").await.contains("Arno Agent"));
        assert!(phone.text("#browser").await.contains("Chrome"));
        assert_eq!(phone.script("return location.hash", &[]).await, "");
        is_good(&phone, "asked").await;
        phone.reload().await;
        phone.wait_for("body[data-view=ask] #confirm:enabled").await;
        picture(&phone, "confirm").await;
        desktop.wait_for("#welcome[data-state=scanned]").await;
        let state = desktop.text("#state").await;
        assert!(state.contains("A*** A****") && !state.contains("Arno"), "{state}");
        is_good(&desktop, "scanned").await;
        picture(&desktop, "scanned").await;
        // The signed-in page loads while the user looks at the phone.
        let loads = "performance.getEntriesByType('resource').some(({ name }) => name.endsWith('/desk.js'))";
        desktop.wait_until(loads).await;
        desktop.reload().await;
        desktop.wait_for("#welcome[data-state=scanned]").await;

        phone.click("#confirm").await;
        phone.wait_for("#outcome.good").await;
        is_good(&phone, "confirmed").await;
        desktop.wait_for("#account").await;
        assert_eq!(desktop.text("#name").await, "Arno Agent");
        let token = desktop.script("return sessionStorage.getItem('deskpass.token')", &[]).await;
        assert!(token.as_str().unwrap().starts_with("dpa_"));
        for browser in [&desktop, &phone] {
            let kept = kept(browser).await;
            assert!(!["dpa_", "dpt_", "dpc_"].iter().any(|secret| kept.as_str().unwrap().contains(secret)), "{kept}");
            nothing_was_blocked(browser).await;
        }

        desktop.click("#sign-out").await;
        desktop.wait_for("#welcome[data-state=waiting]").await;
        assert_eq!(desktop.text("#notice-text").await, "You are signed out.");
        assert_eq!(desktop.script("return sessionStorage.getItem('deskpass.token')", &[]).await, json!(null));
    }
}

/// Links that an attacker can write: the proof or the code of another user does not replace the page of a signed-in user.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_changes_nothing_for_a_signed_in_user() {
    let app = TestApp::start().await;
    let (driver, mut attacker) = (Driver::shared(), app.client().await);
    let (browser, token) = at_the_desk(&driver, &app, Options::default(), "user01", "/h5/").await;
    browser.wait_for("#account").await;
    let page = format!("http://{}/h5/", app.address);
    let (link, _) = attacker.begin_oauth(&page).await;
    let proof = attacker.authorize(&link, "wwpartner/partner01").await;
    let proof = fragment(location(&attacker.oauth_callback(&proof, "").await), "bind_ticket");
    let code = attacker.authorize(&link, "agent01").await;
    for link in [format!("{page}#bind_ticket={proof}"), code] {
        // Once as a new load of the page, once within it.
        for from in ["about:blank", &*page] {
            browser.goto(from).await;
            browser.goto(&link).await;
            browser.wait_for("#account").await;
            assert_eq!(browser.text("#name").await, "Uma User", "{link}");
            assert_eq!(browser.script("return sessionStorage.getItem('deskpass.token')", &[]).await, *token);
            assert_eq!(browser.script("return location.href", &[]).await, *page);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signing_in_on_this_computer_comes_back_signed_in() {
    let (_directory, service) = service();
    let driver = Driver::shared();
    let browser = driver.browser(Options { language: "zh-CN", ..Options::default() }).await;
    browser.goto(&format!("http://{}/itadmin/", service.address)).await;
    browser.wait_for("#welcome[data-state=waiting]").await;
    picture(&browser, "sign-in-zh").await;
    browser.click("#here").await;
    browser.wait_until("location.pathname === '/sim/wwlogin/sso/login'").await;
    choose(&browser, "admin01").await;
    browser.wait_for("body[data-view=desk] #who").await;
    assert_eq!(browser.text("#who").await, "Ada Admin");
    let address = browser.url().await;
    assert_eq!(address, format!("http://{}/itadmin/", service.address), "nothing of the way is left in the address");
    // A link with an error does not make the page look signed out.
    for hostile in ["#error=denied&ref=1a2b3c4d", "#ticket=dpt_x"] {
        browser.goto("about:blank").await;
        browser.goto(&format!("{address}{hostile}")).await;
        browser.wait_for("body[data-view=desk] #who").await;
        assert_eq!(browser.text("#who").await, "Ada Admin");
    }
    nothing_was_blocked(&browser).await;
}

/// A user who refuses at the platform, or returns with its code, lands on the page they started from.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_hands_on_what_the_platform_gave_and_says_when_the_user_refused() {
    let app = TestApp::start().await;
    let driver = Driver::shared();
    let browser = driver.browser(Options::default()).await;
    browser.goto(&format!("http://{}/h5/?code=made-up&state=auth_login", app.address)).await;
    browser.wait_for("#notice.bad").await;
    assert!(browser.text("#notice-title").await.contains("no longer valid"));
    browser.goto(&format!("http://{}/h5/?state=auth_login", app.address)).await;
    browser.wait_for("#notice.bad").await;
    assert_eq!(browser.text("#notice-title").await, "You declined the sign-in");
    assert_eq!(browser.url().await, format!("http://{}/h5/", app.address));
    is_good(&browser, "refused").await;
}

/// A user who did not ask for a page gets the page of their role.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_front_page_leads_to_the_page_of_the_role() {
    let app = TestApp::start().await;
    let driver = Driver::shared();
    for (who, page) in [("admin01", "/itadmin/"), ("agent01", "/itagent/"), ("user01", "/h5/")] {
        let (browser, _) = at_the_desk(&driver, &app, Options::default(), who, "/").await;
        browser.wait_for("body[data-view=desk] #place h1").await;
        assert_eq!(browser.script("return location.pathname", &[]).await, page, "{who}");
    }
}

/// The content is in the page itself; a script that arrives late, or never, does not change that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_way_in_is_there_before_any_script() {
    let app = TestApp::start().await;
    let driver = Driver::shared();
    for options in people() {
        let browser = driver.browser(options).await;
        browser.block(&["*.js"]).await;
        browser.goto(&format!("http://{}/itagent/", app.address)).await;
        browser.wait_until("getComputedStyle(document.querySelector('#entrance')).opacity === '1'").await;
        let title = localized(&options, "Sign in to the agent workspace", "登录坐席工作台");
        assert_eq!(browser.text("#welcome-title").await.replace('\n', " "), title);
        assert_ne!(browser.text("#here").await, "");
        is_good(&browser, title).await;
    }
}

/// A signed-in user who reloads the page does not see the sign-in.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reload_does_not_show_the_sign_in_to_a_signed_in_user() {
    let app = TestApp::start().await;
    let driver = Driver::shared();
    let (browser, _) = at_the_desk(&driver, &app, Options::default(), "user01", "/h5/").await;
    browser.wait_for("#account").await;
    browser.script("sessionStorage.setItem('seen', '')", &[]).await;
    let watch = "addEventListener('DOMContentLoaded', () => setInterval(() => {
        const card = document.querySelector('#welcome');
        const entrance = document.querySelector('#entrance');
        if (card.getClientRects().length && Number(getComputedStyle(entrance).opacity) > 0.5) sessionStorage.setItem('seen', 'yes');
    }, 5))";
    browser.cdp("Page.addScriptToEvaluateOnNewDocument", json!({ "source": watch })).await;
    browser.reload().await;
    browser.wait_for("#account").await;
    assert_eq!(browser.script("return sessionStorage.getItem('seen')", &[]).await, "");
}

/// Inside WeCom there is no choice of methods, and the page offers nothing that cannot work there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn inside_wecom_they_are_taken_along_at_once_and_once_only() {
    let app = TestApp::start().await;
    let driver = Driver::shared();
    let wecom =
        Options { user_agent: Some("Mozilla/5.0 (Linux; Android 14) wxwork/4.1"), ..Options::on(Viewport::Phone) };
    let browser = driver.browser(wecom).await;
    browser.goto(&format!("http://{}/h5/", app.address)).await;
    browser.wait_until("location.pathname === '/sim/connect/oauth2/authorize'").await;
    // Coming back, by whatever way, the page does not lead there again. `history.back()` may skip it: it went on while it loaded.
    browser.goto(&format!("http://{}/h5/", app.address)).await;
    browser.wait_for("#by-platform").await;
    for hidden in ["#here", "#code", ".steps", ".advice"] {
        assert_eq!(browser.text(hidden).await, "", "{hidden}");
    }
    is_good(&browser, "inside WeCom").await;
    browser.click("#by-platform").await;
    choose(&browser, "user01").await;
    browser.wait_for("#account").await;
    // A user who signs out stays signed out, also after a reload.
    browser.click("#sign-out").await;
    browser.wait_for("#by-platform").await;
    browser.reload().await;
    browser.wait_for("#by-platform").await;
    assert_eq!(browser.script("return location.pathname", &[]).await, "/h5/");
    nothing_was_blocked(&browser).await;
}

/// The button switches to the other language, and the service remembers it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_language_can_be_chosen() {
    let app = TestApp::start().await;
    let driver = Driver::shared();
    let browser = driver.browser(Options::default()).await;
    browser.goto(&format!("http://{}/h5/", app.address)).await;
    browser.wait_for("#welcome[data-state=waiting]").await;
    browser.click("#language").await;
    browser.wait_until("document.documentElement.lang === 'zh-CN'").await;
    browser.wait_for("#welcome[data-state=waiting]").await;
    assert_eq!(browser.text("#state").await, "等待手机扫码");
    browser.goto(&format!("http://{}/itadmin/", app.address)).await;
    browser.wait_for("#welcome-title").await;
    assert_eq!(browser.text("#welcome-title").await, "登录管理后台");
}
