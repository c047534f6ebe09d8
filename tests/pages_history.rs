//! What a press must not lose and what must not come back: with real keys, a slow network and the browser's own history.

use serde_json::{Value, json};

use crate::harness::{Browser, Device, Driver, Feature, Key, Network, Options, PASSWORD, TestApp};

/// A browser in which a user is signed in.
async fn signed_in(driver: &Driver, app: &TestApp, token: &str) -> Browser {
    signed_in_with(driver, Options::default(), app, token).await
}

async fn signed_in_with(driver: &Driver, options: Options<'_>, app: &TestApp, token: &str) -> Browser {
    let browser = driver.browser(options).await;
    browser.goto(&format!("http://{}/version", app.address)).await;
    browser.script("sessionStorage.setItem('deskpass.token', arguments[0])", &[json!(token)]).await;
    browser
}

async fn look(browser: &Browser, expression: &str) -> Value {
    browser.script(&format!("return {expression}"), &[]).await
}

/// The key is created and shown nowhere else: a user who presses Escape meanwhile still gets it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_that_is_being_answered_cannot_be_closed() {
    let app = TestApp::start().await;
    let (token, device) = app.administrator().await;
    let driver = Driver::shared();
    let browser = signed_in(&driver, &app, &token).await;
    browser.goto(&format!("http://{}/itadmin/#/keys", app.address)).await;
    browser.click("#new-key").await;
    browser.type_into("#field-name", "Ticket system").await;
    browser.type_into("#field-code", &device.next_code()).await;
    browser.throttle(Network::Slow3g).await;
    browser.press(Key::Enter).await;
    for _ in 0..3 {
        browser.press(Key::Escape).await;
    }
    browser.throttle(Network::Fast).await;
    browser.wait_for("#key").await;
    assert!(browser.text("#key").await.starts_with("dpk_"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signed_in_user_stays_signed_in_wherever_an_address_leads() {
    let app = TestApp::start().await;
    let (token, _) = app.administrator().await;
    let driver = Driver::shared();
    let browser = signed_in(&driver, &app, &token).await;
    browser.goto(&format!("http://{}/itadmin/", app.address)).await;
    browser.click("#views [href='#/networks']").await;
    browser.type_into("#lists textarea", "10.0.0.0/8").await;
    browser.script("history.back()", &[]).await;
    browser.wait_for("dialog").await;
    browser.press(Key::Escape).await;
    browser.wait_until("location.hash === '#/networks'").await;
    for hostile in ["#x", "#error=denied", "#ticket=dpt_x", "#bind_ticket=dpb_x"] {
        browser.script("location.hash = arguments[0]", &[json!(hostile)]).await;
        browser.wait_for("dialog").await;
        browser.press(Key::Escape).await;
        browser.wait_until("!document.querySelector('dialog')").await;
        assert_eq!(look(&browser, "document.body.dataset.view").await, "desk", "{hostile}");
        assert_eq!(look(&browser, "document.querySelector('#lists textarea').value").await, "10.0.0.0/8", "{hostile}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_presses_open_one_desk() {
    let app = TestApp::start().await;
    let token = app.client().await.sign_in("user01").await;
    let driver = Driver::shared();
    let browser = signed_in(&driver, &app, &token).await;
    browser.block(&["*/api/auth/me"]).await;
    browser.goto(&format!("http://{}/h5/", app.address)).await;
    browser.wait_for("#trouble #again").await;
    browser.block(&[]).await;
    browser.throttle(Network::Slow3g).await;
    browser.script("document.querySelector('#again').click(); document.querySelector('#again').click()", &[]).await;
    browser.wait_for("#live[data-state=live]").await;
    assert_eq!(look(&browser, "document.querySelectorAll('#place, #views').length").await, 2);
}

/// The next person at the computer presses Back while the network is unplugged.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_comes_back_of_a_user_who_signed_out() {
    let app = TestApp::start().await;
    let token = app.client().await.sign_in("admin01").await;
    let driver = Driver::shared();
    let options = Options { features: &[Feature::BackForwardCache], ..Options::default() };
    let browser = signed_in_with(&driver, options, &app, &token).await;
    browser.goto(&format!("http://{}/itadmin/#/people", app.address)).await;
    browser.wait_for("[data-id='wwdeskpass/agent01']").await;
    browser.goto(&format!("http://{}/h5/", app.address)).await;
    browser.click("#sign-out").await;
    browser.wait_for("#welcome").await;
    browser.offline(true).await;
    browser.script("history.back()", &[]).await;
    browser.wait_until("location.pathname === '/itadmin/'").await;
    browser.wait_for("#welcome").await;
    assert!(!look(&browser, "document.documentElement.innerHTML").await.as_str().unwrap().contains("Arno Agent"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recovery_codes_leave_the_page_with_their_owner() {
    let app = TestApp::start().await;
    app.client().await.first_password("agent01").await;
    let driver = Driver::shared();
    let browser = driver.browser(Options::default()).await;
    browser.goto(&format!("http://{}/itagent/", app.address)).await;
    browser.click("#by-password").await;
    browser.type_into("#password-id", "agent01").await;
    browser.type_into("#password-word", PASSWORD).await;
    browser.press(Key::Enter).await;
    browser.wait_for("#device-secret").await;
    let secret = browser.text("#device-secret").await.replace(' ', "");
    let device = Device::scan(&json!({ "secret": secret }), &app.clock);
    browser.type_into("#device-code", &device.code()).await;
    browser.press(Key::Enter).await;
    browser.wait_for("#recovery-codes").await;
    let code = browser.text("#recovery-codes code").await;
    assert_eq!(code.len(), 19, "{code}");
    browser.click("#codes-seen").await;
    browser.click("#codes-done").await;
    browser.click("#sign-out").await;
    browser.wait_for("#welcome").await;
    let page = look(&browser, "document.documentElement.innerHTML").await;
    assert!(!page.as_str().unwrap().contains(&code) && !page.as_str().unwrap().contains(&secret));
}

/// Inside WeCom the page goes to the platform by itself, but not for a user who has just refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_no_is_not_followed_by_another_try() {
    let app = TestApp::start().await;
    let mut attacker = app.client().await;
    let (link, _) = attacker.begin_oauth(&format!("http://{}/h5/", app.address)).await;
    let back = attacker.authorize(&link, "user01").await;
    let driver = Driver::shared();
    let options = Options { phone: true, user_agent: Some("Mozilla/5.0 wxwork/4.1"), ..Options::default() };
    let browser = driver.browser(options).await;
    browser.goto(&back).await;
    browser.click("#cancel").await;
    browser.wait_for("#by-platform").await;
    assert_eq!(look(&browser, "document.querySelector('#by-platform').disabled").await, false);
    assert_eq!(look(&browser, "location.pathname").await, "/");
}
