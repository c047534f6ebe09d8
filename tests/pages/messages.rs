//! Messages of every kind as they arrive, from honest and from hostile services.

use serde_json::{Value, json};

use super::{at_the_desk, is_good, localized, nothing_was_blocked, people};
use crate::harness::{Client, Driver, Options, ReplyBackend, TestApp, Viewport, full_picture};

async fn send(client: &mut Client, key: &str, kind: &str, content: Value) {
    let body = json!({ "to": { "employee_id": "user01" }, "msg_type": kind, "content": content });
    client.send_messages(key, &body).await.data();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_of_every_kind_are_shown_as_they_come() {
    let app = TestApp::start().await;
    let (key, _) = app.service_key("messages").await;
    let driver = Driver::shared();
    for options in people() {
        let (browser, _) = at_the_desk(&driver, &app, options, "user01", "/h5/").await;
        browser.wait_for("#live[data-state=live]").await;
        let mut client = app.client().await;
        // The message is unread, and not lost.
        let laptop = localized(&options, "Laptop", "笔记本电脑");
        let phone = json!({ "label": localized(&options, "Phone", "手机"), "value": 7 });
        let text = localized(&options, "Which device is it about?", "请问是哪台设备？");
        send(&mut client, &key, "ai_structured", json!({ "text": text, "options": [laptop, phone] })).await;
        browser.wait_for("#views .count").await;
        browser.click("#views a[href='#/messages']").await;
        // No back end receives replies, so nothing looks as if it could be pressed.
        browser.wait_for("[data-kind=ai_structured] .plain-options li").await;
        assert_eq!(browser.text(".plain-options").await, format!("{laptop}\n{}", phone["label"].as_str().unwrap()));
        let controls = "return document.querySelectorAll('#place button, #place form').length";
        assert_eq!(browser.script(controls, &[]).await, 0);

        let enrol = json!({ "label": localized(&options, "Enrol", "开始绑定"), "url": "/byod" });
        let card = json!({ "device": "Pixel 8", "step": "confirm", "buttons": [enrol] });
        send(&mut client, &key, "byod_card", card).await;
        let hint = json!({ "title": localized(&options, "Reset your VPN", "重置 VPN 连接"), "url": "/kb/42" });
        send(&mut client, &key, "dynamic_recommend", hint).await;
        browser.wait_for("#recommended a").await;
        browser.wait_for("[data-kind=byod_card] a").await;
        assert!(browser.text("[data-kind=byod_card]").await.contains("Pixel 8"));
        is_good(&browser, "messages").await;
        nothing_was_blocked(&browser).await;
    }
}

/// A text that is being written grows, and screen readers read it when it is complete, not piece by piece.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_text_grows_as_it_is_written() {
    let app = ReplyBackend::start().await.service().await;
    let (key, _) = app.service_key("messages").await;
    let driver = Driver::shared();
    for options in people() {
        let (browser, _) = at_the_desk(&driver, &app, options, "user01", "/h5/#/messages").await;
        browser.wait_for("#live[data-state=live]").await;
        let mut client = app.client().await;
        browser.wait_for("#stream").await;
        let begun = localized(&options, "Open the settings, ", "打开“设置”，");
        let going_on = localized(&options, "then the network", "然后选择网络");
        let stream = options.language;
        let piece = |seq, text, done| json!({ "stream_id": stream, "seq": seq, "text": text, "done": done });
        send(&mut client, &key, "ai_thinking", json!({ "conversation_id": "c-17" })).await;
        browser.wait_for("#thinking").await;
        is_good(&browser, "thinking").await;
        send(&mut client, &key, "typewriter", piece(0, begun, false)).await;
        browser.wait_until("document.querySelector('#thinking').hidden").await;
        send(&mut client, &key, "typewriter", piece(1, going_on, false)).await;
        let grown = format!("document.querySelector('.growing')?.innerText.includes('{going_on}')");
        browser.wait_until(&grown).await;
        let aloud = "document.querySelector('#place > .unseen').textContent";
        assert_eq!(browser.script(&format!("return {aloud}"), &[]).await, "");
        let answers = [localized(&options, "Yes", "已解决"), localized(&options, "Not yet", "还没有")];
        let asked = json!({ "text": localized(&options, "Did that help?", "问题解决了吗？"), "options": answers });
        send(&mut client, &key, "ai_structured", asked).await;
        let hint = json!({ "title": localized(&options, "Reset your VPN", "重置 VPN 连接"), "url": "/kb/42" });
        send(&mut client, &key, "dynamic_recommend", hint).await;
        browser.wait_for("#recommended a").await;
        is_good(&browser, "being written").await;
        if options.phone {
            full_picture(&browser, "employee-phone").await;
        } else {
            full_picture(&browser, "messages").await;
        }
        send(&mut client, &key, "typewriter", piece(2, ".", true)).await;
        browser.wait_for("[data-done=true]").await;
        assert_eq!(browser.text("[data-done=true]").await, format!("{begun}{going_on}."));
        browser.wait_until(&format!("{aloud}.includes('{begun}{going_on}')")).await;
    }
}

/// Everything a service sends is text: nothing runs, nothing breaks the page, nothing unreadable is shown.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_messages_do_nothing() {
    let app = TestApp::start().await;
    let (key, _) = app.service_key("messages").await;
    let driver = Driver::shared();
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
        let (browser, _) = at_the_desk(&driver, &app, options, "user01", "/h5/#/messages").await;
        browser.wait_for("#live[data-state=live]").await;
        browser.wait_for("#stream").await;
        assert_eq!(browser.text("#stream").await, "");
        is_good(&browser, "nothing yet").await;
        // Now, since a connection without a request is closed after a while.
        let mut client = app.client().await;
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

/// A link shows where it leads, whatever its label says.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_shows_its_host() {
    let app = TestApp::start().await;
    let (key, _) = app.service_key("messages").await;
    let driver = Driver::shared();
    let (browser, _) = at_the_desk(&driver, &app, Options::on(Viewport::Phone), "user01", "/h5/#/messages").await;
    browser.wait_for("#live[data-state=live]").await;
    let mut client = app.client().await;
    browser.wait_for("#stream").await;
    let long = format!("{}.evil.example.net", "login.desk.example.com.".repeat(8).trim_end_matches('.'));
    let deceiving = [
        ("byod_card", format!("https://{long}/"), long.clone()),
        ("byod_card", "https://desk.example.com@evil.example.net:8443/".into(), "evil.example.net:8443".into()),
        ("ai_structured", "https://d\u{435}sk.example.com/".into(), "xn--dsk-rdd.example.com".into()),
        ("dynamic_recommend", "/kb/42".into(), app.address.clone()),
    ];
    for (kind, address, host) in deceiving {
        let labelled = json!({ "label": "https://desk.example.com", "url": address });
        let content = match kind {
            "dynamic_recommend" => json!({ "title": "https://desk.example.com", "url": address }),
            _ => json!({ "buttons": [labelled] }),
        };
        send(&mut client, &key, kind, content).await;
        let shown = "[...document.querySelectorAll('#place a .host')].map(host => host.innerText)";
        browser.wait_until(&format!("{shown}.includes({})", json!(host))).await;
    }
    is_good(&browser, "links").await;
}

/// A tab that is open all day keeps the latest messages, not all of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_latest_are_kept() {
    let app = TestApp::start().await;
    let (key, _) = app.service_key("messages").await;
    let driver = Driver::shared();
    let (browser, _) = at_the_desk(&driver, &app, Options::default(), "user01", "/h5/#/messages").await;
    browser.wait_for("#live[data-state=live]").await;
    let mut client = app.client().await;
    for hundred in 0..3 {
        let message = |at: u32| json!({ "to": { "employee_id": "user01" }, "msg_type": "ai_structured", "content": { "text": format!("number {at}.") } });
        let messages: Vec<_> = (hundred * 100..hundred * 100 + 100).map(message).collect();
        client.send_messages(&key, &json!({ "messages": messages })).await.data();
    }
    browser.wait_until("document.querySelector('#stream').innerText.includes('number 299.')").await;
    assert_eq!(browser.script("return document.querySelectorAll('#stream > li').length", &[]).await, 200);
    assert!(!browser.text("#stream").await.contains("number 99."));
}
