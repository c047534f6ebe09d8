//! Foreign pages that make people tap and type, and then lead them to one of our questions: none of those presses is an answer.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::oidc::{back_at, connected, name_told};
use super::{choose, is_good, nothing_was_blocked};
use crate::harness::{Browser, Client, Driver, Options, TestApp, Viewport, picture};

/// A page that counts presses, and at the press given by `#` goes to the address behind its `?`.
const LURE: &str = "<!doctype html><meta name=viewport content='width=device-width'><title>Win</title>
    <body style='margin:0;height:100vh'><h1>Tap, tap, tap!</h1><script>
    let left = Number(location.hash.slice(1));
    const go = () => { left -= 1; if (left === 0) location.href = decodeURIComponent(location.search.slice(1)); };
    addEventListener('pointerdown', go); addEventListener('keydown', go);</script>";

/// The address of the lure.
pub(super) async fn lure() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 4096]).await;
            let length = LURE.len();
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
            );
            let _ = stream.write_all(format!("{head}{LURE}").as_bytes()).await;
        }
    });
    format!("http://{at}/")
}

/// The ways to press.
#[derive(Clone, Copy, Debug)]
pub(super) enum Press {
    /// A finger at the position of the confirm button.
    Tap,
    /// A mouse at the same position.
    Click,
    /// Keys, each pressed briefly, with the key that moves to the next control in between.
    Keys(&'static str),
    /// A key that stays down.
    Held(&'static str),
}

impl Press {
    async fn once(self, browser: &Browser, place: &Value, turn: u32) {
        let at = |kind: &str| json!({ "type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1 });
        match self {
            Self::Tap => {
                let touch = json!({ "type": "touchStart", "touchPoints": [{ "x": place[0], "y": place[1] }] });
                browser.cdp("Input.dispatchTouchEvent", touch).await;
                browser.cdp("Input.dispatchTouchEvent", json!({ "type": "touchEnd", "touchPoints": [] })).await;
            }
            Self::Click => {
                browser.cdp("Input.dispatchMouseEvent", at("mousePressed")).await;
                browser.cdp("Input.dispatchMouseEvent", at("mouseReleased")).await;
            }
            Self::Keys(name) => {
                let name = if turn % 3 == 2 { name } else { "Tab" };
                browser.cdp("Input.dispatchKeyEvent", key("keyDown", name, false)).await;
                browser.cdp("Input.dispatchKeyEvent", key("keyUp", name, false)).await;
            }
            Self::Held(name) => {
                browser.cdp("Input.dispatchKeyEvent", key("keyDown", name, turn > 0)).await;
            }
        }
    }
}

fn key(kind: &str, name: &str, repeat: bool) -> Value {
    let (code, number, text) = match name {
        "Tab" => ("Tab", 9, ""),
        "Enter" => ("Enter", 13, "\r"),
        _ => ("Space", 32, " "),
    };
    let text = if kind == "keyDown" { text } else { "" };
    json!({ "type": kind, "key": name, "code": code, "windowsVirtualKeyCode": number, "text": text, "autoRepeat": repeat })
}

/// The centre of the confirm button.
pub(super) async fn place_of(browser: &Browser, css: &str) -> Value {
    let middle = "const { x, y, width, height } = document.querySelector(arguments[0]).getBoundingClientRect();
        return [x + width / 2, y + height / 2]";
    browser.script(middle, &[json!(css)]).await
}

/// Presses this often in this rhythm; at the press `leaves_at` the lure goes to `target`.
pub(super) async fn follow(
    browser: &Browser,
    lure: &str,
    target: &str,
    place: &Value,
    press: Press,
    rhythm: (u32, u32, Duration),
) {
    let (times, leaves_at, pause) = rhythm;
    let target: String = url::form_urlencoded::byte_serialize(target.as_bytes()).collect();
    browser.goto(&format!("{lure}?{target}#{leaves_at}")).await;
    for turn in 0..times {
        press.once(browser, place, turn).await;
        tokio::time::sleep(pause).await;
    }
}

/// A code of the attacker: its ticket, and the link that the victim's messenger opens silently as the victim.
async fn trap(attacker: &mut Client) -> (String, String) {
    let code = attacker.qrcode().await;
    let link = code["qrcode_url"].as_str().unwrap().replace("#wechat_redirect", "&sim_user=admin01");
    (code["ticket"].as_str().unwrap().to_owned(), link)
}

/// The guarantee: no number and no rhythm of presses on a foreign page signs the attacker in.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn presses_on_a_foreign_page_confirm_nothing() {
    let (app, driver, lure) = (TestApp::start().await, Driver::shared(), lure().await);
    let mut attacker = app.client().await;
    let phone = driver.browser(Options::on(Viewport::Phone)).await;
    // The attacker knows our page and places the lure's button accordingly.
    let (_, link) = trap(&mut attacker).await;
    follow(&phone, &lure, &link, &json!([195, 400]), Press::Tap, (1, 1, Duration::ZERO)).await;
    phone.wait_for("body[data-view=ask] #confirm").await;
    phone.wait_for("#opened-by-page").await;
    is_good(&phone, "led here").await;
    picture(&phone, "confirm-led").await;
    let (confirm, sure) = (place_of(&phone, "#confirm").await, place_of(&phone, "#sure").await);
    let quick = Duration::from_millis(40);
    for (press, place, rhythm) in [
        (Press::Tap, &confirm, (2, 1, Duration::from_millis(600))),
        (Press::Tap, &confirm, (20, 1, quick)),
        (Press::Tap, &sure, (20, 10, quick)),
        (Press::Click, &confirm, (12, 3, Duration::from_millis(150))),
        (Press::Keys("Enter"), &confirm, (18, 2, quick)),
        (Press::Keys(" "), &confirm, (18, 2, quick)),
        (Press::Held("Enter"), &confirm, (30, 2, quick)),
        (Press::Held(" "), &confirm, (30, 2, quick)),
        // So slow that the page treats each press as deliberate.
        (Press::Tap, &confirm, (2, 1, Duration::from_millis(2_200))),
    ] {
        let (ticket, link) = trap(&mut attacker).await;
        follow(&phone, &lure, &link, place, press, rhythm).await;
        phone.wait_for("body[data-view=ask], body[data-view=outcome]").await;
        let state = attacker.scan_status(&ticket).await;
        assert!(state["status"] != "waiting" && state["token"].is_null(), "{press:?} {rhythm:?}: {state}");
    }
    assert_eq!(app.query("SELECT count(*) FROM session"), ["0"]);
    nothing_was_blocked(&phone).await;
}

/// A user who wants to sign in can: the page says what is odd, and two deliberate presses at two places are an answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_who_was_lured_and_means_it_can_confirm() {
    let (app, driver, lure) = (TestApp::start().await, Driver::shared(), lure().await);
    let mut client = app.client().await;
    let phone = driver.browser(Options { language: "zh-CN", ..Options::on(Viewport::Phone) }).await;
    let (ticket, link) = trap(&mut client).await;
    follow(&phone, &lure, &link, &json!([195, 400]), Press::Tap, (1, 1, Duration::ZERO)).await;
    phone.wait_for("body[data-view=ask] #opened-by-page").await;
    assert!(phone.text("#opened-by-page").await.contains("由其他网页打开"));
    // The disabled button counts down, and a press by a script does not count.
    let counts = "return [confirm.disabled, /\\(\\d\\)$/.test(document.querySelector('#sure-text').textContent)]";
    let counts = counts.replace("confirm", "document.querySelector('#confirm')");
    assert_eq!(phone.script(&counts, &[]).await, json!([true, true]));
    phone.click("#sure").await;
    phone.wait_until("document.querySelector('#sure').checked").await;
    assert_eq!(phone.script("return document.querySelector('#confirm').disabled", &[]).await, true);
    phone.click("#confirm").await;
    phone.wait_for("#outcome.pending").await;
    assert!(client.scan_status(&ticket).await["token"].is_string());
    phone.wait_for("#outcome.good").await;
    nothing_was_blocked(&phone).await;
}

/// The same for the other question that a link leads to: presses elsewhere do not change the signed-in user here.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn presses_on_a_foreign_page_continue_nothing() {
    let (app, driver, lure) = (TestApp::start().await, Driver::shared(), lure().await);
    let mut attacker = app.client().await;
    let victim = driver.browser(Options::on(Viewport::Phone)).await;
    let (link, _) = attacker.begin_oauth(&format!("http://{}/h5/", app.address)).await;
    let mut place = json!([195, 400]);
    for (press, times) in [(Press::Tap, 1), (Press::Tap, 20), (Press::Held("Enter"), 30)] {
        let back = attacker.authorize(&link, "user01").await;
        follow(&victim, &lure, &back, &place, press, (times, 1, Duration::from_millis(40))).await;
        victim.wait_for("body[data-view=ask] #go-on").await;
        place = place_of(&victim, "#go-on").await;
    }
    victim.wait_for("#go-on:enabled").await;
    // A press by a script does not count, and a return from another window restarts the countdown.
    let again = "const button = document.querySelector('#go-on'); button.click();
        window.dispatchEvent(new Event('focus')); return button.disabled";
    assert_eq!(victim.script(again, &[]).await, true);
    assert_eq!(app.query("SELECT count(*) FROM session"), ["0"]);
    victim.click("#go-on").await;
    victim.wait_for("#account").await;
}

/// Nor do they lead a user to a program who is signed in nowhere: a press on the way to the platform also agrees to go on to it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_foreign_page_cannot_begin_a_sign_in_for_a_program() {
    let (app, _receiver, client) = connected().await;
    let (driver, lure) = (Driver::shared(), lure().await);
    let browser = driver.browser(Options::on(Viewport::Phone)).await;
    let sent = client.authorization();
    let target = format!("http://{}{}", app.address, sent.path());
    let mut place = json!([195, 400]);
    for times in [1, 12] {
        follow(&browser, &lure, &target, &place, Press::Tap, (times, 1, Duration::from_millis(40))).await;
        browser.wait_for("body[data-view=welcome] #here").await;
        place = place_of(&browser, "#here").await;
    }
    // The same for the button that an error in the address shows.
    let request = browser.script("return new URLSearchParams(location.search).get('request')", &[]).await;
    let refused = format!("http://{}/?request={}#error=denied", app.address, request.as_str().unwrap());
    browser.goto(&lure).await;
    browser.goto(&refused).await;
    browser.wait_for("body[data-view=welcome] #try-again:enabled").await;
    // A return from another window restarts the countdown, and a press by a script does not count.
    let again = "const buttons = ['here', 'by-platform', 'try-again'].map((id) => document.getElementById(id));
        buttons.forEach((button) => button.click()); window.dispatchEvent(new Event('focus'));
        return buttons.every((button) => button.disabled)";
    assert_eq!(browser.script(again, &[]).await, true);
    assert_eq!(browser.script("return location.pathname", &[]).await, "/");
    assert_eq!(app.query("SELECT count(*) FROM session"), ["0"]);
    browser.click("#try-again").await;
    choose(&browser, "user01").await;
    let back = back_at(&browser, &client).await;
    assert_eq!(name_told(&app, &client, &sent, &back).await, "Uma User");
}
