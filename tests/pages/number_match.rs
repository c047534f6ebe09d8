//! The number on the sign-in page that the phone must pick, and what the pages that ask for a number have in common.

use std::time::Duration;

use serde_json::{Value, json};

use super::clickjacking::{Press, follow, lure, place_of};
use super::code::link;
use super::{is_good, localized, nothing_was_blocked, people};
use crate::harness::{Browser, Client, Driver, Options, TestApp, Viewport, development, picture};
use crate::notices::inbox;

/// The numbers that a phone offers, in their order.
async fn choices(phone: &Browser) -> Vec<u64> {
    phone.wait_for("body[data-view=ask] #numbers button").await;
    let shown = "return [...document.querySelectorAll('#numbers button')].map((button) => Number(button.textContent))";
    let shown = phone.script(shown, &[]).await;
    shown.as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect()
}

/// Picks a number on the phone.
pub(super) async fn pick(phone: &Browser, number: u64) {
    let place = choices(phone).await.iter().position(|choice| *choice == number).unwrap() + 1;
    phone.click(&format!("#numbers button:nth-child({place})")).await;
}

/// Picks another number than the right one.
pub(super) async fn pick_another(phone: &Browser, number: u64) {
    let other = choices(phone).await.into_iter().find(|choice| *choice != number).unwrap();
    pick(phone, other).await;
}

/// Opens the newest question on the simulated phone of `who`.
pub(super) async fn open_message(phone: &Browser, app: &TestApp, who: &str) {
    phone.goto(&format!("http://{}/sim/phone?user={who}", app.address)).await;
    phone.click("a[href*='/oauth2/authorize']").await;
}

/// The link in the newest question to `who`, as the phone of `opener` opens it.
pub(super) async fn message_link(client: &mut Client, who: &str, opener: &str) -> String {
    let messages = inbox(client).await;
    let newest = messages.iter().rev().find(|message| message["touser"] == json!([who]) && message["url"].is_string());
    newest.unwrap()["url"].as_str().unwrap().replace("#wechat_redirect", &format!("&sim_user={opener}"))
}

/// The title and the text of the outcome, once the page shows one.
pub(super) async fn outcome(phone: &Browser) -> (String, String) {
    phone.wait_for("body[data-view=outcome] #outcome-title").await;
    (phone.text("#outcome-title").await, phone.text("#outcome-text").await)
}

/// The number that a sign-in page shows.
async fn shown_number(screen: &Browser) -> u64 {
    screen.wait_for("#welcome[data-state=waiting] #match-number").await;
    screen.text("#match-number").await.parse().unwrap()
}

/// A screen at the sign-in page of a service, in the language of a phone.
async fn screen_of(driver: &Driver, app: &TestApp, options: &Options<'_>) -> Browser {
    let screen = driver.browser(Options { language: options.language, ..Options::default() }).await;
    screen.goto(&format!("http://{}/h5/", app.address)).await;
    screen
}

/// A service whose sign-in page shows a number.
async fn matching() -> TestApp {
    TestApp::with(development(&[("qr.number_match", "on")])).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_number_below_the_code_is_picked_on_the_phone() {
    let (app, driver) = (matching().await, Driver::shared());
    let mut client = app.client().await;
    for options in people() {
        let name = |what: &str| format!("{what}-{}", localized(&options, "en", "zh"));
        let screen = screen_of(&driver, &app, &options).await;
        let number = shown_number(&screen).await;
        let says = localized(&options, "Pick this number on your phone", "请在手机上选择此数字");
        assert!(screen.text("#match").await.contains(says));
        is_good(&screen, "a number below the code").await;
        picture(&screen, &name("sign-in-number")).await;
        screen.reload().await;
        assert_eq!(shown_number(&screen).await, number, "the same code has the same number");

        let phone = driver.browser(options).await;
        phone.goto(&client.scan(&link(&screen).await, "user01").await).await;
        assert_eq!(choices(&phone).await.len(), 3);
        assert_eq!(phone.text("#confirm").await, "", "one button would need no number");
        is_good(&phone, "asked for a number").await;
        picture(&phone, &name("confirm-number")).await;
        screen.wait_for("#welcome[data-state=scanned] #match").await;
        assert!(screen.text("#state").await.contains(&number.to_string()), "screen readers hear the number, too");
        pick(&phone, number).await;
        screen.wait_for("#account").await;
        phone.wait_for("#outcome.good").await;
        nothing_was_blocked(&phone).await;
        nothing_was_blocked(&screen).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_number_ends_the_sign_in_and_both_sides_say_so() {
    let (app, driver) = (matching().await, Driver::shared());
    let mut client = app.client().await;
    for options in people() {
        let screen = screen_of(&driver, &app, &options).await;
        let number = shown_number(&screen).await;
        let phone = driver.browser(options).await;
        phone.goto(&client.scan(&link(&screen).await, "user01").await).await;
        pick_another(&phone, number).await;
        let (title, text) = outcome(&phone).await;
        assert_eq!(title, localized(&options, "That is not the number on the screen", "与屏幕上的数字不一致"));
        assert!(text.contains(localized(&options, "tell the IT help desk", "告知 IT 服务台")), "{text}");
        is_good(&phone, "another number").await;
        screen.wait_for("#welcome[data-state=expired] #renew").await;
        let says = localized(&options, "Another number was picked on the phone", "手机上选择了其他数字");
        assert!(screen.text("#state").await.contains(says));
        assert_eq!(screen.text("#match").await, "", "the number is over with its code");
        is_good(&screen, "another number was picked").await;
        screen.click("#renew").await;
        shown_number(&screen).await;
    }
    assert_eq!(app.query("SELECT count(*) FROM session"), ["0"]);
}

/// A code that was made without a number did not come from the sign-in page: the phone says so, and one press is not enough.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_code_without_a_number_needs_another_press() {
    let (app, driver) = (matching().await, Driver::shared());
    let mut attacker = app.client().await;
    for options in people() {
        let code = attacker.get("/api/auth/qrcode", &[]).await.data();
        let link = code["qrcode_url"].as_str().unwrap().replace("#wechat_redirect", "&sim_user=user01");
        let phone = driver.browser(options).await;
        phone.goto(&link).await;
        phone.wait_for("body[data-view=ask] #number-missing").await;
        let says = localized(&options, "did not come from our sign-in page", "并非来自我们的登录页");
        assert!(phone.text("#number-missing").await.contains(says));
        is_good(&phone, "a code without a number").await;
        phone.wait_for("#sure:enabled").await;
        assert_eq!(phone.script("return document.querySelector('#confirm').disabled", &[]).await, Value::Bool(true));
        phone.click("#sure").await;
        phone.click("#confirm").await;
        phone.wait_for("#outcome.pending").await;
        nothing_was_blocked(&phone).await;
    }
}

/// A code of the attacker, who knows its number: its ticket, and the link that the victim's messenger opens as the victim.
async fn trap(attacker: &mut Client) -> (String, String, u64) {
    let code = attacker.get("/api/auth/qrcode?match=1", &[]).await.data();
    let link = code["qrcode_url"].as_str().unwrap().replace("#wechat_redirect", "&sim_user=user01");
    (code["ticket"].as_str().unwrap().to_owned(), link, code["match_number"].as_u64().unwrap())
}

/// Presses on a foreign page pick no number, wherever the attacker expects the right one; a user who means it needs two presses.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn presses_on_a_foreign_page_pick_nothing() {
    let (app, driver, lure) = (TestApp::start().await, Driver::shared(), lure().await);
    let mut attacker = app.client().await;
    let phone = driver.browser(Options::on(Viewport::Phone)).await;
    // The whole page is in sight, so that every press hits what it is meant for.
    phone.set_size(390, 1600).await;
    let mut place = json!([195, 600]);
    for (press, rhythm) in [
        (Press::Tap, (1, 1, Duration::ZERO)),
        (Press::Tap, (20, 1, Duration::from_millis(40))),
        (Press::Held("Enter"), (30, 2, Duration::from_millis(40))),
        (Press::Tap, (2, 1, Duration::from_millis(2_200))),
    ] {
        let (ticket, link, _) = trap(&mut attacker).await;
        follow(&phone, &lure, &link, &place, press, rhythm).await;
        phone.wait_for("body[data-view=ask] #opened-by-page").await;
        phone.wait_for("#numbers button:disabled").await;
        let state = attacker.scan_status(&ticket).await;
        assert!(state["status"] != "expired" && state["token"].is_null(), "{press:?} {rhythm:?}: {state}");
        place = place_of(&phone, "#numbers button:nth-child(2)").await;
    }
    assert_eq!(app.query("SELECT count(*) FROM session"), ["0"]);
    let (ticket, link, number) = trap(&mut attacker).await;
    follow(&phone, &lure, &link, &place, Press::Tap, (1, 1, Duration::ZERO)).await;
    phone.click("#sure").await;
    phone.wait_until("document.querySelector('#sure').checked").await;
    assert_eq!(phone.script("return document.querySelector('#numbers button').disabled", &[]).await, Value::Bool(true));
    pick(&phone, number).await;
    phone.wait_for("#outcome.pending").await;
    assert!(attacker.scan_status(&ticket).await["token"].is_string());
    nothing_was_blocked(&phone).await;
}
