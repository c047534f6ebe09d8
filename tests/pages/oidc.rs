//! Signing in for another program: it gets its user back, nobody is signed in unasked, and every failure is explained.

use std::time::Duration;

use deskpass_core::Role;
use deskpass_core::oidc::ClientRegistration;
use serde_json::{Value, json};

use super::clickjacking::{Press, follow, lure, place_of};
use super::{at_the_desk, choose, hand_over, is_good, localized, nothing_was_blocked, people};
use crate::harness::{
    Authorization, Browser, Driver, OidcClient, Options, Receiver, Returned, TestApp, Tokens, Viewport, picture,
    registration_at,
};

/// A service, a program at an address of its own, and its registration.
pub(super) async fn connected() -> (TestApp, Receiver, OidcClient) {
    let (app, receiver) = (TestApp::start().await, Receiver::start().await);
    let client = program(&app, &receiver, "Zammad", &[]).await;
    (app, receiver, client)
}

/// Registers a program for these roles.
async fn program(app: &TestApp, receiver: &Receiver, name: &str, roles: &[Role]) -> OidcClient {
    let roles = roles.iter().copied().collect();
    app.oidc_client(ClientRegistration { name: name.to_owned(), roles, ..registration_at(receiver) }).await
}

/// Sends the browser to the service, as the program does.
async fn send_to_us(browser: &Browser, app: &TestApp, authorization: &Authorization) {
    browser.goto(&format!("http://{}{}", app.address, authorization.path())).await;
}

/// Waits until the browser is back at the program; returns what it brought along.
pub(super) async fn back_at(browser: &Browser, client: &OidcClient) -> Returned {
    browser.wait_until("location.pathname === '/callback'").await;
    let address = browser.url().await;
    assert!(address.starts_with(&client.redirect_uri), "{address}");
    Returned { address }
}

/// Redeems the code that the browser brought; returns the user's name as the program is told it.
pub(super) async fn name_told(app: &TestApp, client: &OidcClient, sent: &Authorization, back: &Returned) -> Value {
    let mut http = app.client().await;
    assert_eq!(back.get("state").as_deref(), Some(sent.get("state")));
    let tokens = Tokens::of(&client.redeem(&mut http, &back.code(), &sent.verifier).await);
    http.userinfo(&tokens.access).await.json()["name"].take()
}

/// The token that this tab keeps for our pages.
async fn token_in_tab(browser: &Browser, app: &TestApp) -> Value {
    browser.goto(&format!("http://{}/assets/words.js", app.address)).await;
    browser.script("return sessionStorage.getItem('deskpass.token')", &[]).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_gets_a_user_back_who_signed_in_by_phone() {
    let (app, _receiver, client) = connected().await;
    let driver = Driver::shared();
    let desktop = driver.browser(Options::default()).await;
    let phone = driver.browser(Options::on(Viewport::Phone)).await;
    let sent = client.authorization();
    send_to_us(&desktop, &app, &sent).await;
    desktop.wait_for("#welcome[data-state=waiting]").await;
    assert_eq!(desktop.text("#welcome-title").await, "Sign in to Zammad");
    assert!(desktop.text("#oidc-host").await.starts_with("127.0.0.1"));
    assert_eq!(desktop.text("#per-tab").await, "", "nobody is signed in to this tab");
    is_good(&desktop, "sign in for a program").await;
    picture(&desktop, "oidc-sign-in").await;
    // The same code after a reload: a phone may have scanned it.
    let link = "return document.querySelector('#simulated').href";
    let shown = desktop.script(link, &[]).await;
    desktop.reload().await;
    desktop.wait_for("#welcome[data-state=waiting]").await;
    assert_eq!(desktop.script(link, &[]).await, shown);

    phone.goto(shown.as_str().unwrap()).await;
    choose(&phone, "agent01").await;
    phone.wait_for("body[data-view=ask] #confirm:enabled").await;
    let title = phone.text("#ask-title").await;
    assert!(title.starts_with("Sign in to Zammad (127.0.0.1") && title.ends_with(" as Arno Agent?"), "{title}");
    let opened = "This signs that browser in to your account here, not only to Zammad.";
    assert_eq!(phone.text("#whole-account").await, opened);
    is_good(&phone, "asked for a program").await;
    picture(&phone, "oidc-confirm").await;
    phone.click("#confirm").await;
    let back = back_at(&desktop, &client).await;
    assert_eq!(name_told(&app, &client, &sent, &back).await, "Arno Agent");
    phone.wait_for("#outcome.good").await;
    assert_eq!(token_in_tab(&desktop, &app).await, Value::Null, "the session is for the program only");
    for browser in [&desktop, &phone] {
        nothing_was_blocked(browser).await;
    }
}

/// A session meets each program with one press. After that it passes without any, also in another tab.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signed_in_user_presses_once_for_each_program() {
    let driver = Driver::shared();
    for options in people() {
        let (app, receiver, client) = connected().await;
        let other = program(&app, &receiver, "Grafana", &[]).await;
        let (browser, token) = at_the_desk(&driver, &app, options, "agent01", "/itagent/").await;
        browser.wait_for("#account").await;
        let sent = client.authorization();
        send_to_us(&browser, &app, &sent).await;
        browser.wait_for("#oidc #oidc-go").await;
        let title = localized(&options, "Continue to Zammad as Arno Agent?", "以 Arno Agent 的身份继续访问 Zammad？");
        assert_eq!(browser.text("#oidc-title").await, title);
        let quiet = "return getComputedStyle(document.querySelector('#oidc #cancel')).backgroundColor";
        assert_eq!(browser.script(quiet, &[]).await, "rgba(0, 0, 0, 0)", "it must not look like the main button");
        is_good(&browser, title).await;
        picture(&browser, &format!("oidc-continue-{}", localized(&options, "en", "zh"))).await;
        browser.click("#oidc-go").await;
        let back = back_at(&browser, &client).await;
        assert_eq!(name_told(&app, &client, &sent, &back).await, "Arno Agent");
        assert_eq!(token_in_tab(&browser, &app).await, *token, "the session of the tab is as before");

        browser.open_tab().await;
        send_to_us(&browser, &app, &client.authorization()).await;
        back_at(&browser, &client).await.code();
        // The other program is new to the session, which the browser's cookie names: this tab has no token.
        let sent = other.authorization();
        send_to_us(&browser, &app, &sent).await;
        browser.wait_for("#oidc #oidc-go").await;
        assert!(browser.text("#oidc-title").await.contains("Grafana"));
        browser.click("#oidc-go").await;
        let back = back_at(&browser, &other).await;
        assert_eq!(name_told(&app, &other, &sent, &back).await, "Arno Agent");

        hand_over(&browser, &app.address, &token, "/itagent/#/security").await;
        for name in ["Zammad", "Grafana"] {
            let named = format!("document.querySelector('#sessions .programs')?.textContent.includes('{name}')");
            browser.wait_until(&named).await;
        }
        is_good(&browser, "sessions with programs").await;
        nothing_was_blocked(&browser).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_user_signs_in_for_a_program_and_the_tab_keeps_its_session() {
    let (app, _receiver, client) = connected().await;
    let driver = Driver::shared();
    let (browser, token) = at_the_desk(&driver, &app, Options::default(), "agent01", "/itagent/").await;
    browser.wait_for("#account").await;
    let sent = client.authorization();
    send_to_us(&browser, &app, &sent).await;
    browser.click("#oidc-other").await;
    browser.wait_for("#welcome[data-state=waiting]").await;
    browser.reload().await;
    browser.wait_for("#welcome[data-state=waiting]").await;
    browser.click("#here").await;
    browser.wait_until("location.pathname === '/sim/wwlogin/sso/login'").await;
    choose(&browser, "user01").await;
    let back = back_at(&browser, &client).await;
    assert_eq!(name_told(&app, &client, &sent, &back).await, "Uma User");
    assert_eq!(token_in_tab(&browser, &app).await, *token);
    assert!(app.client().await.is_valid(&token).await);
    nothing_was_blocked(&browser).await;
}

/// Programs show errors as they are, so the reason is here first; the program learns only that it was not permitted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_who_cancels_or_is_refused_returns_without_a_code() {
    let (app, receiver, client) = connected().await;
    let restricted = program(&app, &receiver, "Vault", &[Role::Admin]).await;
    let driver = Driver::shared();
    for options in people() {
        let stranger = driver.browser(options).await;
        send_to_us(&stranger, &app, &client.authorization()).await;
        stranger.click("#welcome #oidc-cancel").await;
        assert_eq!(back_at(&stranger, &client).await.error(), "access_denied");
        let (browser, token) = at_the_desk(&driver, &app, options, "user01", "/h5/").await;
        browser.wait_for("#account").await;
        let sent = client.authorization();
        send_to_us(&browser, &app, &sent).await;
        browser.click("#oidc #cancel").await;
        let back = back_at(&browser, &client).await;
        assert_eq!((back.error().as_str(), back.get("code")), ("access_denied", None));
        assert_eq!(back.get("error_description").as_deref(), Some("the user did not continue"));
        assert_eq!(back.get("state").as_deref(), Some(sent.get("state")));

        send_to_us(&browser, &app, &restricted.authorization()).await;
        browser.click("#oidc-go").await;
        browser.wait_for("#oidc-return").await;
        let title = localized(&options, "You cannot sign in to Vault", "您无法登录 Vault");
        assert_eq!(browser.text("#oidc-title").await, title);
        let text = localized(&options, "Your account may not use this program. Ask", "您的账号不能使用该应用。请联系");
        let shown = browser.text("#oidc-text").await;
        assert!(
            shown.starts_with(text) && shown.matches(localized(&options, "dmin", "管理员")).count() == 1,
            "{shown}"
        );
        is_good(&browser, title).await;
        picture(&browser, &format!("oidc-refused-{}", localized(&options, "en", "zh"))).await;
        browser.click("#oidc-return").await;
        let back = back_at(&browser, &restricted).await;
        assert_eq!(back.error(), "access_denied");
        assert_eq!(back.get("error_description").as_deref(), Some("the user may not use this client"));
        assert_eq!(token_in_tab(&browser, &app).await, *token);
        nothing_was_blocked(&browser).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_older_session_signs_in_again_and_a_late_user_learns_so() {
    let (app, _receiver, client) = connected().await;
    let driver = Driver::shared();
    let (browser, _) = at_the_desk(&driver, &app, Options::default(), "agent01", "/itagent/").await;
    browser.wait_for("#account").await;
    app.clock.advance(Duration::from_secs(1));
    send_to_us(&browser, &app, &client.authorization().with("prompt", "login")).await;
    browser.click("#oidc-go").await;
    browser.wait_for("#welcome[data-state=waiting]").await;
    assert_eq!(browser.text("#notice-text").await, "Zammad asks you to sign in again.");
    is_good(&browser, "sign in again for a program").await;
    browser.click("#here").await;
    choose(&browser, "agent01").await;
    back_at(&browser, &client).await.code();

    send_to_us(&browser, &app, &client.authorization()).await;
    browser.wait_for("#oidc-go").await;
    app.clock.advance(Duration::from_mins(11));
    browser.click("#oidc-go").await;
    browser.wait_until("document.querySelector('#oidc-title')?.textContent.includes('no longer valid')").await;
    is_good(&browser, "a request that is over").await;
    // The request of another browser is no better.
    let stranger = driver.browser(Options { language: "zh-CN", ..Options::default() }).await;
    send_to_us(&browser, &app, &client.authorization()).await;
    browser.wait_for("#oidc-go").await;
    stranger.goto(&browser.url().await).await;
    stranger.wait_until("document.querySelector('#oidc-title')?.textContent === '本次登录已失效'").await;
    is_good(&stranger, "a request of another browser").await;
}

/// A restart of a single node loses the requests that wait. The page says so at once, instead of offering codes for nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_is_lost_in_a_restart_is_over_at_once() {
    let (app, _receiver, client) = connected().await;
    let driver = Driver::shared();
    let mut waiting = Vec::new();
    for options in people() {
        let browser = driver.browser(options).await;
        send_to_us(&browser, &app, &client.authorization()).await;
        if options.phone {
            browser.click("#code summary").await;
        }
        browser.wait_for("#welcome[data-state=waiting]").await;
        waiting.push((browser, localized(&options, "This sign-in is no longer valid", "本次登录已失效")));
    }
    let _app = app.restart_in_place().await;
    for (browser, title) in waiting {
        browser.wait_until(&format!("document.querySelector('#oidc-title')?.textContent === '{title}'")).await;
        is_good(&browser, title).await;
    }
}

/// Inside the platform's app the page goes to the platform and back by itself: nobody has pressed anything yet.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_inside_the_platform_is_asked_after_the_trip() {
    let (app, receiver, client) = connected().await;
    let agent = Some("Mozilla/5.0 (Linux; Android 14) wxwork/4.1");
    let browser = Driver::shared().browser(Options { user_agent: agent, ..Options::on(Viewport::Phone) }).await;
    let sent = client.authorization();
    send_to_us(&browser, &app, &sent).await;
    browser.wait_until("location.pathname === '/sim/connect/oauth2/authorize'").await;
    choose(&browser, "user01").await;
    browser.wait_for("#oidc #oidc-go").await;
    assert_eq!(browser.text("#oidc-title").await, "Continue to Zammad as Uma User?");
    assert!(receiver.requests().iter().all(|request| !request.path.starts_with("/callback")), "nobody pressed");
    browser.click("#oidc-go").await;
    let back = back_at(&browser, &client).await;
    assert_eq!(name_told(&app, &client, &sent, &back).await, "Uma User");
    nothing_was_blocked(&browser).await;
}

/// A browser that lost its cookie on the way is asked, and then still gets to the program.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_confirmed_trip_leads_back_to_the_program() {
    let (app, _receiver, client) = connected().await;
    let browser = Driver::shared().browser(Options::default()).await;
    let sent = client.authorization();
    send_to_us(&browser, &app, &sent).await;
    browser.wait_for("#welcome[data-state=waiting]").await;
    browser.click("#here").await;
    browser.wait_until("location.pathname === '/sim/wwlogin/sso/login'").await;
    let flow = json!({ "name": "deskpass_flow", "url": format!("http://{}/", app.address) });
    browser.cdp("Network.deleteCookies", flow).await;
    choose(&browser, "user01").await;
    browser.wait_for("body[data-view=ask] #go-on").await;
    assert!(browser.text("#ask-lead").await.contains("continue to the program"));
    is_good(&browser, "a trip for a program that is confirmed").await;
    browser.click("#go-on").await;
    let back = back_at(&browser, &client).await;
    assert_eq!(name_told(&app, &client, &sent, &back).await, "Uma User");
    nothing_was_blocked(&browser).await;
}

/// A foreign page can lead a user to the question, but neither presses for them nor answers behind their back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_foreign_page_cannot_continue_for_a_user() {
    let (app, receiver, client) = connected().await;
    let (driver, lure) = (Driver::shared(), lure().await);
    let (browser, _) = at_the_desk(&driver, &app, Options::on(Viewport::Phone), "agent01", "/itagent/").await;
    browser.wait_for("#account").await;
    let target = |client: &OidcClient| format!("http://{}{}", app.address, client.authorization().path());
    let mut place = json!([195, 400]);
    for (press, times) in [(Press::Tap, 1), (Press::Tap, 20), (Press::Click, 12), (Press::Held("Enter"), 30)] {
        let pause = Duration::from_millis(40);
        follow(&browser, &lure, &target(&client), &place, press, (times, 1, pause)).await;
        browser.wait_for("body[data-view=oidc] #oidc-go").await;
        place = place_of(&browser, "#oidc-go").await;
    }
    browser.wait_for("#oidc-go:enabled").await;
    let scripted = "const button = document.querySelector('#oidc-go'); button.click(); return location.pathname";
    assert_eq!(browser.script(scripted, &[]).await, "/", "a press by a script does not count");
    let request = browser.script("return new URLSearchParams(location.search).get('request')", &[]).await;

    // Another site of this browser, with everything that a page can send by itself.
    browser.open_tab().await;
    browser.goto(&lure.replace("127.0.0.1", "localhost")).await;
    let attack = "const [at, request] = arguments;
        const send = (type) => fetch(`${at}/api/auth/oidc/continue`, { method: 'POST', mode: 'no-cors', credentials: 'include',
            headers: { 'content-type': type }, body: JSON.stringify({ request }) }).catch(() => null);
        return Promise.all([send('text/plain'), send('application/x-www-form-urlencoded')]).then(() => true)";
    browser.script(attack, &[json!(format!("http://{}", app.address)), request.clone()]).await;
    assert!(receiver.requests().iter().all(|request| !request.path.starts_with("/callback")), "nothing reached it");
    assert_eq!(app.query("SELECT count(*) FROM oidc_grant"), ["0"]);
    // The question is still open to its user.
    browser.goto(&format!("http://{}/?request={}", app.address, request.as_str().unwrap())).await;
    browser.wait_for("#welcome #here").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signing_out_of_a_program_is_asked_and_ends_the_whole_session() {
    let (app, receiver, client) = connected().await;
    let driver = Driver::shared();
    for options in people() {
        let (browser, token) = at_the_desk(&driver, &app, options, "agent01", "/itagent/").await;
        browser.wait_for("#account").await;
        let sent = client.authorization();
        send_to_us(&browser, &app, &sent).await;
        browser.click("#oidc-go").await;
        let back = back_at(&browser, &client).await;
        name_told(&app, &client, &sent, &back).await;

        let after = url::form_urlencoded::byte_serialize(receiver.at("/signed-out").as_bytes()).collect::<String>();
        let back = format!("&post_logout_redirect_uri={after}");
        let address = |more: &str| format!("http://{}/oidc/logout?client_id={}{more}", app.address, client.id);
        browser.goto(&address(&back)).await;
        browser.wait_for("#oidc-go").await;
        let title = localized(
            &options,
            "Sign out of Zammad and all programs of this session?",
            "退出 Zammad 以及本次会话登录的所有应用？",
        );
        assert_eq!(browser.text("#oidc-title").await, title);
        is_good(&browser, title).await;
        browser.click("#oidc #cancel").await;
        browser.wait_for("#oidc-home").await;
        assert!(app.client().await.is_valid(&token).await);

        receiver.forget();
        browser.goto(&address(&back)).await;
        browser.click("#oidc-go").await;
        browser.wait_until("location.pathname === '/signed-out'").await;
        receiver.told(1).await;
        assert!(!app.client().await.is_valid(&token).await);
        browser.goto(&format!("http://{}/?logout=done", app.address)).await;
        let out = localized(&options, "You are signed out", "您已退出登录");
        browser.wait_until(&format!("document.querySelector('#oidc-title')?.textContent === '{out}'")).await;
        is_good(&browser, out).await;
        nothing_was_blocked(&browser).await;
    }
}

/// Where a request cannot be returned to a program, the page says what to check.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_cannot_be_returned_is_explained() {
    let (app, _receiver, client) = connected().await;
    let driver = Driver::shared();
    for options in people() {
        let browser = driver.browser(options).await;
        let unknown = client.authorization().with("client_id", "nothing");
        let elsewhere = client.authorization().with("redirect_uri", "https://elsewhere.example/");
        for (sent, english, chinese) in [
            (unknown, "is not connected, or it is disabled", "尚未接入，或已被停用"),
            (elsewhere, "wants to return is not registered", "要返回的地址尚未登记"),
        ] {
            send_to_us(&browser, &app, &sent).await;
            browser.wait_for("#oidc-error-title").await;
            let shown = browser.text("main").await;
            assert!(shown.contains(localized(&options, english, chinese)), "{shown}");
            let visible =
                "return [...document.querySelectorAll('.stub [data-for]')].filter(p => p.checkVisibility()).length";
            assert_eq!(browser.script(visible, &[]).await, 2, "the reason, and that nothing happened");
            is_good(&browser, english).await;
        }
        picture(&browser, &format!("oidc-error-{}", localized(&options, "en", "zh"))).await;
        nothing_was_blocked(&browser).await;
    }
}
