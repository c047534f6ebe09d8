//! The phone's page on which administrators approve an operation of their own.

use std::time::Duration;

use serde_json::{Value, json};

use super::clickjacking::{Press, follow, lure, place_of};
use super::number_match::{message_link, open_message, outcome, pick, pick_another};
use super::{is_good, kept, localized, nothing_was_blocked, people};
use crate::harness::{Client, Driver, Options, TestApp, Viewport, full_picture, picture, request};

const PATH: &str = "/api/admin/service-keys";
/// The time for which a session can ask for no approval after a refusal.
const PAUSE: Duration = Duration::from_mins(10);
/// The body of the operation. No text in it is markup.
const BODY: &str = r#"{"name":"<b>{}[],\"</b>","scopes":["introspect","messages"]}"#;

/// Asks the phone of an administrator: the id, and the number that the computer shows.
async fn ask(client: &mut Client, token: &str) -> (String, u64) {
    let operation = json!({ "method": "POST", "path": PATH, "body": BODY });
    let asked = client.post_as(token, "/api/auth/approvals", &operation).await.data();
    (asked["id"].as_str().unwrap().to_owned(), asked["number"].as_u64().unwrap())
}

async fn status(client: &mut Client, token: &str, id: &str) -> Value {
    client.get_as(token, &format!("/api/auth/approvals/{id}")).await.data()["status"].clone()
}

/// Whether the sentence and every button are in view without scrolling.
const ALL_IN_VIEW: &str =
    "return [...document.querySelectorAll('#sentence, #numbers button, #refuse')].every((one) => {
            const { top, bottom } = one.getBoundingClientRect();
            return top >= 0 && bottom <= innerHeight; })";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operation_is_shown_whole_and_approved() {
    let (app, driver) = (TestApp::start().await, Driver::shared());
    let mut client = app.client().await;
    let token = client.sign_in("admin01").await;
    for options in people() {
        let (id, number) = ask(&mut client, &token).await;
        let phone = driver.browser(options).await;
        open_message(&phone, &app, "admin01").await;
        phone.wait_for("body[data-view=ask] #numbers button").await;
        let sentence = phone.text("#sentence").await;
        let begins = localized(
            &options,
            "Create the service key “<b>{}[],\"</b>” for introspect and messages",
            "创建服务密钥“<b>{}[],\"</b>”",
        );
        assert!(sentence.starts_with(begins), "{sentence}");
        if options.phone {
            phone.set_size(390, 844).await;
        }
        assert_eq!(phone.script(ALL_IN_VIEW, &[]).await, true, "what is decided is on one screen");
        picture(&phone, &format!("approve-first-{}", localized(&options, "en", "zh"))).await;
        phone.click("#details > summary").await;
        assert_eq!(
            phone.text("#summary").await,
            localized(&options, "Create a service key, which is shown only once", "创建服务密钥，仅显示一次")
        );
        assert_eq!(phone.text("#request").await, format!("POST {PATH}"));
        let fields = "return [...document.querySelectorAll('#fields > div')].map((row) => row.innerText.split(/\\s+/).join(' '))";
        let rows = json!(["name <b>{}[],\"</b>", "scopes.0 introspect", "scopes.1 messages"]);
        assert_eq!(phone.script(fields, &[]).await, rows);
        // What is requested stands above the values.
        let order = "const [request, fields] = ['#request', '#fields'].map((one) => document.querySelector(one));
            return request.getBoundingClientRect().bottom <= fields.getBoundingClientRect().top";
        assert_eq!(phone.script(order, &[]).await, true);
        assert_eq!(phone.text("#account").await, "Ada Admin (admin01)");
        assert_eq!(phone.text("#address").await, "127.0.0.1");
        assert!(!kept(&phone).await.as_str().unwrap().contains("dpy_"), "the secret is in no address");
        is_good(&phone, "asked to approve").await;
        full_picture(&phone, &format!("approve-{}", localized(&options, "en", "zh"))).await;
        phone.set_size(360, 740).await;
        is_good(&phone, "asked to approve on a narrow phone").await;
        // A reload asks the same.
        phone.reload().await;
        pick(&phone, number).await;
        phone.wait_for("#outcome.good").await;
        let (title, text) = outcome(&phone).await;
        assert_eq!(title, localized(&options, "Approved", "已批准"));
        assert!(text.contains(localized(&options, "You can close this page", "您可以关闭此页面")), "{text}");
        assert_eq!(phone.active().await, "#outcome-title");
        is_good(&phone, "approved").await;
        assert_eq!(status(&mut client, &token, &id).await, "approved");

        let bearer = format!("Bearer {token}");
        let headers = [("authorization", &*bearer), ("x-approval", &*id), ("content-type", "application/json")];
        client.send(&request("POST", PATH, &headers, BODY.as_bytes())).await.data();
        // The secret is gone with its use.
        phone.reload().await;
        let nothing = localized(&options, "No question to answer", "没有需要回答的请求");
        assert_eq!(outcome(&phone).await.0, nothing);
        is_good(&phone, nothing).await;
        nothing_was_blocked(&phone).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_and_a_wrong_number_say_what_to_do_next() {
    let (app, driver) = (TestApp::start().await, Driver::shared());
    let mut client = app.client().await;
    let token = client.sign_in("admin01").await;
    for options in people() {
        let phone = driver.browser(options).await;
        for is_refused in [true, false] {
            let (id, number) = ask(&mut client, &token).await;
            open_message(&phone, &app, "admin01").await;
            if is_refused {
                phone.click("#refuse").await;
            } else {
                pick_another(&phone, number).await;
            }
            let (title, text) = outcome(&phone).await;
            let wanted = if is_refused {
                localized(&options, "Refused", "已拒绝")
            } else {
                localized(&options, "That is not the number on the screen", "与屏幕上的数字不一致")
            };
            assert_eq!(title, wanted);
            assert!(text.contains(localized(&options, "another person is using your account", "他人正在使用您的账号")));
            phone.wait_for("#next[href='/h5/#/security']").await;
            is_good(&phone, wanted).await;
            assert_eq!(status(&mut client, &token, &id).await, "refused");
            app.clock.advance(PAUSE);
        }
    }
}

/// Presses that were meant for another page, and presses by scripts, approve nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn presses_on_a_foreign_page_approve_nothing() {
    let (app, driver, lure) = (TestApp::start().await, Driver::shared(), lure().await);
    let mut client = app.client().await;
    let token = client.sign_in("admin01").await;
    let phone = driver.browser(Options::on(Viewport::Phone)).await;
    let (id, number) = ask(&mut client, &token).await;
    let link = message_link(&mut client, "admin01", "admin01").await;
    // The whole page is in sight, so that every press hits what it is meant for.
    phone.set_size(390, 1600).await;
    let mut place = json!([195, 700]);
    for (press, times) in [(Press::Tap, 1), (Press::Tap, 20), (Press::Held("Enter"), 30), (Press::Held(" "), 30)] {
        follow(&phone, &lure, &link, &place, press, (times, 1, Duration::from_millis(40))).await;
        phone.wait_for("body[data-view=ask] #numbers button").await;
        place = place_of(&phone, "#numbers button:nth-child(2)").await;
    }
    phone.wait_for("#numbers button:enabled").await;
    let again = "const button = document.querySelector('#numbers button'); button.click();
        window.dispatchEvent(new Event('focus')); return button.disabled";
    assert_eq!(phone.script(again, &[]).await, true);
    assert_eq!(status(&mut client, &token, &id).await, "pending");
    pick(&phone, number).await;
    phone.wait_for("#outcome.good").await;
    assert_eq!(status(&mut client, &token, &id).await, "approved");
}
