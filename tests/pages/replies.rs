//! What employees reply to messages, and what a reload keeps.

use serde_json::{Value, json};

use super::{at_the_desk, hand_over, is_good, localized, nothing_was_blocked, people};
use crate::harness::{BackendAnswer, Client, Driver, Key, ReplyBackend, TestApp, full_picture, until};

async fn send(client: &mut Client, key: &str, kind: &str, content: &Value) -> String {
    let body = json!({ "to": { "employee_id": "user01" }, "msg_type": kind, "content": content });
    client.send_messages(key, &body).await.data()["messages"][0]["id"].as_str().unwrap().to_owned()
}

/// The bodies that the back end has received since the last call, at least one.
async fn received(backend: &ReplyBackend) -> Vec<Value> {
    until("a reply", async || backend.count() > 0).await;
    backend.take().iter().map(|one| serde_json::from_str(&one.body).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_employee_chooses_and_writes_back() {
    let backend = ReplyBackend::start().await;
    let app = backend.service().await;
    let (key, _) = app.service_key("messages").await;
    let driver = Driver::shared();
    for options in people() {
        let (browser, _) = at_the_desk(&driver, &app, options, "user01", "/h5/#/messages").await;
        browser.wait_for("#live[data-state=live]").await;
        let mut client = app.client().await;
        browser.wait_for("#stream").await;
        assert_eq!(browser.text("#reply").await, "", "there is nothing to reply to");
        let laptop = localized(&options, "Laptop", "笔记本电脑");
        let phone = json!({ "label": localized(&options, "Phone", "手机"), "value": 7 });
        let asked = localized(&options, "Which device is it about?", "请问是哪台设备？");
        let id = send(&mut client, &key, "ai_structured", &json!({ "text": asked, "options": [laptop, phone] })).await;

        // The back end refuses; the employee is told, and tries again.
        backend.plan(&[BackendAnswer::Status(403)]);
        browser.click("[data-option='0']").await;
        browser.wait_for("[data-reply=failed]").await;
        let told = browser.text("[data-reply=failed]").await;
        assert!(told.contains("403") && told.contains(localized(&options, "not confirmed", "未得到确认")), "{told}");
        is_good(&browser, "a reply that failed").await;
        full_picture(&browser, &format!("reply-failed-{}", options.language)).await;
        assert_eq!(received(&backend).await[0]["option"], laptop);
        browser.click("[data-option='1']").await;
        browser.wait_for("[data-reply=sent]").await;
        let reply = received(&backend).await.remove(0);
        assert_eq!((&reply["message_id"], &reply["option"]), (&json!(id), &phone));
        let focused = "return document.activeElement.dataset.option";
        assert_eq!(browser.script(focused, &[]).await, "1", "the focus stays");
        // One choice for each message.
        browser.click("[data-option='0']").await;
        browser.wait_for("[data-option='1'][aria-pressed=true][aria-disabled=true]").await;

        // A text replies to the latest message, and stands among the messages once it is sent.
        let latest = send(&mut client, &key, "byod_card", &json!({ "title": "Pixel 8" })).await;
        browser.wait_for("[data-kind=byod_card]").await;
        let words = localized(&options, "It is the old one", "是旧的那台");
        backend.plan(&[BackendAnswer::Status(403)]);
        browser.type_into("#reply-text", words).await;
        browser.click("#reply button").await;
        browser.wait_for("#reply[data-state=failed] #reply-refusal").await;
        assert_eq!(received(&backend).await.len(), 1, "the second press of an option was not sent");
        // It stays a reply to the message that was the latest when it was begun.
        send(&mut client, &key, "byod_card", &json!({ "title": "Pixel 9" })).await;
        browser.wait_until("document.querySelectorAll('[data-kind=byod_card]').length === 2").await;
        if options.phone {
            browser.click("#reply button").await;
        } else {
            browser.script("document.querySelector('#reply-text').focus()", &[]).await;
            browser.press(Key::Enter).await;
        }
        browser.wait_for("[data-kind=own]").await;
        assert!(browser.text("[data-kind=own]").await.contains(words));
        let reply = received(&backend).await.remove(0);
        assert_eq!((&reply["message_id"], &reply["text"]), (&json!(latest), &json!(words)));
        assert_eq!(browser.script("return document.querySelector('#reply-text').value", &[]).await, "");
        is_good(&browser, "replies").await;
        full_picture(&browser, &format!("replies-{}", options.language)).await;
        nothing_was_blocked(&browser).await;
    }
}

/// A reload keeps the messages of the last minutes, and misses none that came meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_survive_a_reload_and_nothing_else_survives() {
    let backend = ReplyBackend::start().await;
    let app = backend.service().await;
    let (key, _) = app.service_key("messages").await;
    let driver = Driver::shared();
    let [options, _] = people();
    let (browser, token) = at_the_desk(&driver, &app, options, "user01", "/h5/#/messages").await;
    browser.wait_for("#live[data-state=live]").await;
    let mut client = app.client().await;
    let piece = |seq, text: &str, done| json!({ "stream_id": "s", "seq": seq, "text": text, "done": done });
    send(&mut client, &key, "ai_structured", &json!({ "text": "Which one?", "options": ["Left", "Right"] })).await;
    send(&mut client, &key, "typewriter", &piece(0, "Open the settings, ", false)).await;
    browser.click("[data-option='1']").await;
    browser.wait_for("[data-reply=sent]").await;
    browser.wait_for(".growing").await;
    // While the page is away, the text goes on.
    browser.goto(&format!("http://{}/assets/words.js", app.address)).await;
    send(&mut client, &key, "typewriter", &piece(1, "then the network.", true)).await;
    browser.goto(&format!("http://{}/h5/#/messages", app.address)).await;
    browser.wait_for("[data-done=true]").await;
    assert_eq!(browser.text("[data-done=true]").await, "Open the settings, then the network.");
    browser.wait_for("[data-option='1'][aria-pressed=true][aria-disabled=true]").await;
    assert_eq!(browser.script("return document.querySelectorAll('#stream > li').length", &[]).await, 2);

    // Messages older than five minutes are not shown again.
    let aged = "const kept = JSON.parse(sessionStorage.getItem('deskpass.messages'));
        kept.entries[0].received -= 5 * 60 * 1000;
        sessionStorage.setItem('deskpass.messages', JSON.stringify(kept))";
    browser.goto(&format!("http://{}/assets/words.js", app.address)).await;
    browser.script(aged, &[]).await;
    browser.goto(&format!("http://{}/h5/#/messages", app.address)).await;
    browser.wait_for("[data-done=true]").await;
    assert_eq!(browser.script("return document.querySelectorAll('#stream > li').length", &[]).await, 1);

    // Another user of the tab gets nothing, and after the end of the session nothing is left.
    let other = client.sign_in("agent01").await;
    hand_over(&browser, &app.address, &other, "/h5/#/messages").await;
    browser.wait_for("#stream, #wrong-role, #account").await;
    assert_eq!(kept(&browser).await, json!(null));
    hand_over(&browser, &app.address, &token, "/h5/#/messages").await;
    browser.wait_for("#live[data-state=live]").await;
    send(&mut client, &key, "ai_structured", &json!({ "text": "The last one" })).await;
    browser.wait_for("[data-kind=ai_structured]").await;
    browser.click("#sign-out").await;
    browser.wait_for("#welcome").await;
    assert_eq!(kept(&browser).await, json!(null));
}

async fn kept(browser: &crate::harness::Browser) -> Value {
    browser.script("return sessionStorage.getItem('deskpass.messages')", &[]).await
}

/// A tab keeps at most fifty messages, and at most a hundred kilobytes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tab_keeps_a_bounded_number_of_messages() {
    let app = TestApp::start().await;
    let (key, _) = app.service_key("messages").await;
    let driver = Driver::shared();
    let [options, _] = people();
    let (browser, _) = at_the_desk(&driver, &app, options, "user01", "/h5/#/messages").await;
    browser.wait_for("#live[data-state=live]").await;
    let mut client = app.client().await;
    let message = |at: u32, text: &str| json!({ "to": { "employee_id": "user01" }, "msg_type": "ai_structured", "content": { "text": format!("number {at}.{text}") } });
    for (text, most) in [(String::new(), 50), ("x".repeat(15_000), 6)] {
        let messages: Vec<_> = (0..60).map(|at| message(at, &text)).collect();
        client.send_messages(&key, &json!({ "messages": messages })).await.data();
        let last = format!("number 59.{}", text.get(..5).unwrap_or_default());
        browser
            .wait_until(&format!("document.querySelector('#stream li:last-child')?.innerText.includes('{last}')"))
            .await;
        browser.reload().await;
        browser.wait_for("#stream li").await;
        assert_eq!(browser.script("return document.querySelectorAll('#stream > li').length", &[]).await, most);
        assert!(browser.text("#stream").await.contains("number 59."));
    }
}
