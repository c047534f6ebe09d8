//! Messages as they come, of every kind, from services that mean well and from others.

use serde_json::{Value, json};

use super::{at_the_desk, is_good, nothing_was_blocked, people};
use crate::harness::{Client, Driver, Options, TestDesk, full_picture};

async fn send(client: &mut Client, key: &str, kind: &str, content: Value) {
    let body = json!({ "to": { "employee_id": "user01" }, "msg_type": kind, "content": content });
    client.send_messages(key, &body).await.data();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_of_every_kind_are_shown_as_they_come() {
    let desk = TestDesk::start().await;
    let (key, _) = desk.service_key("messages").await;
    let mut client = desk.client().await;
    let driver = Driver::start();
    for (at, options) in people().into_iter().enumerate() {
        let (browser, _) = at_the_desk(&driver, &desk, options, "user01", "/h5/").await;
        browser.wait_for("#live[data-state=live]").await;
        // Not looked at yet, and not lost.
        let asked =
            json!({ "text": "Which device is it about?", "options": ["Laptop", { "label": "Phone", "value": 7 }] });
        send(&mut client, &key, "ai_structured", asked).await;
        browser.wait_for("#views .count").await;
        browser.click("#views a[href='#/messages']").await;
        browser.wait_for("[data-kind=ai_structured] [data-option='1']").await;
        browser
            .script("document.addEventListener('deskpass:choice', ({ detail }) => { window.chosen = detail; })", &[])
            .await;
        browser.click("[data-option='1']").await;
        assert_eq!(browser.script("return window.chosen.option.value", &[]).await, 7);
        assert_eq!(
            browser.script("return document.querySelector('[data-option=\"1\"]').ariaPressed", &[]).await,
            "true"
        );

        send(&mut client, &key, "ai_thinking", json!({ "conversation_id": "c-17" })).await;
        browser.wait_for("#thinking").await;
        is_good(&browser, "thinking").await;
        let piece = |seq: u32, text: &str, done: bool| json!({ "stream_id": format!("s-{at}"), "seq": seq, "text": text, "done": done });
        send(&mut client, &key, "typewriter", piece(0, "Open the settings, ", false)).await;
        browser.wait_until("document.querySelector('#thinking').hidden").await;
        send(&mut client, &key, "typewriter", piece(1, "then the network", false)).await;
        browser.wait_until("document.querySelector('.growing')?.innerText.includes('then the network')").await;
        let heard = browser.script("return document.querySelector('#place > .unseen').textContent", &[]).await;
        assert!(!heard.as_str().unwrap().contains("Open the settings"), "a text that grows is not read aloud: {heard}");
        let card = json!({ "device": "Pixel 8", "step": "confirm", "buttons": [{ "label": "Enrol", "url": "/byod" }] });
        send(&mut client, &key, "byod_card", card).await;
        send(&mut client, &key, "dynamic_recommend", json!({ "title": "Reset your VPN", "url": "/kb/42" })).await;
        browser.wait_for("#recommended a").await;
        browser.wait_for("[data-kind=byod_card] a").await;
        assert!(browser.text("[data-kind=byod_card]").await.contains("Pixel 8"));
        is_good(&browser, "messages").await;
        if options.phone {
            full_picture(&browser, "employee-phone").await;
        } else {
            full_picture(&browser, "messages").await;
        }
        send(&mut client, &key, "typewriter", piece(2, ".", true)).await;
        browser.wait_for("[data-done=true]").await;
        assert_eq!(browser.text("[data-done=true]").await, "Open the settings, then the network.");
        browser
            .wait_until("document.querySelector('#place > .unseen').textContent.includes('Open the settings')")
            .await;
        nothing_was_blocked(&browser).await;
    }
}

/// Whatever a service sends is text: nothing runs, nothing breaks the page, nothing that people cannot read is shown.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_messages_do_nothing() {
    let desk = TestDesk::start().await;
    let (key, _) = desk.service_key("messages").await;
    let mut client = desk.client().await;
    let driver = Driver::start();
    let hostile = [
        json!({ "text": "<img src=x onerror=window.hit=1>", "options": [{}, null, [], "<b>bold</b>", "x".repeat(5000)] }),
        json!({ "title": "a\u{202e}gnp.exe", "url": "javascript:window.hit=1", "text": "y".repeat(9000) }),
        json!({ "title": "button", "buttons": [{ "label": "run", "url": "javascript:window.hit=1" }, 7, null] }),
        json!({ "a": { "b": { "c": "deep" } }, "__proto__": { "hit": 1 }, "constructor": "x" }),
        json!([[[["nested"]]]]),
        json!("only text"),
        json!(17),
        json!(null),
    ];
    for options in people() {
        let (browser, _) = at_the_desk(&driver, &desk, options, "user01", "/h5/#/messages").await;
        browser.wait_for("#live[data-state=live]").await;
        browser.wait_for("#stream").await;
        assert_eq!(browser.text("#stream").await, "");
        is_good(&browser, "nothing yet").await;
        for content in &hostile {
            for kind in ["ai_structured", "byod_card", "dynamic_recommend"] {
                send(&mut client, &key, kind, content.clone()).await;
            }
        }
        send(&mut client, &key, "ai_structured", json!({ "text": "the last one" })).await;
        browser.wait_until("document.querySelector('#stream').innerText.includes('the last one')").await;
        let shown = browser.script("return document.querySelector('#place').innerText", &[]).await;
        let shown = shown.as_str().unwrap();
        assert!(shown.contains("<img src=x") && shown.contains("only text"), "{shown}");
        for noise in ["{\"", "[object", "undefined", "nested", "\u{202e}"] {
            assert!(!shown.contains(noise), "{noise}: {shown}");
        }
        let links = "return document.querySelectorAll('#place [href^=\"javascript\"], #place img').length";
        assert_eq!(browser.script(links, &[]).await, 0);
        assert_eq!(browser.script("return window.hit ?? {}.hit ?? null", &[]).await, json!(null));
        is_good(&browser, "hostile").await;
        nothing_was_blocked(&browser).await;
    }
}

/// A tab that is open all day keeps the latest, and not everything.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_latest_are_kept() {
    let desk = TestDesk::start().await;
    let (key, _) = desk.service_key("messages").await;
    let mut client = desk.client().await;
    let driver = Driver::start();
    let (browser, _) = at_the_desk(&driver, &desk, Options::default(), "user01", "/h5/#/messages").await;
    browser.wait_for("#live[data-state=live]").await;
    for hundred in 0..3 {
        let message = |at: u32| json!({ "to": { "employee_id": "user01" }, "msg_type": "ai_structured", "content": { "text": format!("number {at}.") } });
        let messages: Vec<_> = (hundred * 100..hundred * 100 + 100).map(message).collect();
        client.send_messages(&key, &json!({ "messages": messages })).await.data();
    }
    browser.wait_until("document.querySelector('#stream').innerText.includes('number 299.')").await;
    assert_eq!(browser.script("return document.querySelectorAll('#stream > li').length", &[]).await, 200);
    assert!(!browser.text("#stream").await.contains("number 99."));
}
