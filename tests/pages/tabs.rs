//! One session in several tabs of a browser.

use serde_json::json;

use super::{at_the_desk, is_good, kept, localized, nothing_was_blocked, people};
use crate::harness::{Driver, Options, TestApp, picture};

const TOKEN: &str = "return sessionStorage.getItem('deskpass.token')";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_tab_takes_the_session_over_after_a_press() {
    let app = TestApp::start().await;
    let driver = Driver::shared();
    for options in people() {
        let (browser, token) = at_the_desk(&driver, &app, options, "agent01", "/itagent/").await;
        browser.wait_for("#account").await;
        let first = browser.tab().await;
        browser.open_tab().await;
        browser.goto(&format!("http://{}/", app.address)).await;
        browser.wait_for("#other-tab #use-session").await;
        let text = browser.text("#other-tab-text").await;
        assert!(text.contains("A*** A****") && !text.contains("Arno"), "{text}");
        is_good(&browser, "a session in another tab").await;
        picture(&browser, &format!("other-tab-{}", localized(&options, "en", "zh"))).await;
        assert_eq!(browser.script(TOKEN, &[]).await, json!(null), "nothing is passed before the press");
        browser.click("#use-session").await;
        browser.wait_for("#account").await;
        assert_eq!(browser.script("return location.pathname", &[]).await, "/itagent/");
        assert_eq!(browser.script(TOKEN, &[]).await, *token);
        assert!(!kept(&browser).await.as_str().unwrap().contains(&token));
        nothing_was_blocked(&browser).await;
        let second = browser.tab().await;
        browser.switch_to(&first).await;
        let said = localized(&options, "also used in another tab", "也用于另一个标签页");
        browser.wait_until(&format!("document.querySelector('#status-line').textContent.includes('{said}')")).await;
        // It is one session: its end is the end of both.
        browser.click("#sign-out").await;
        browser.wait_for("#welcome").await;
        browser.close_tab(&second).await;
        browser.wait_for("#welcome").await;
        assert_eq!(browser.script(TOKEN, &[]).await, json!(null));
    }
}

/// What a tab must not do: hand out its token unasked or twice, or take one that nobody pressed for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tab_passes_its_session_only_to_the_tab_that_asked() {
    let app = TestApp::start().await;
    let driver = Driver::shared();
    let (browser, token) = at_the_desk(&driver, &app, Options::default(), "user01", "/h5/").await;
    browser.wait_for("#account").await;
    let first = browser.tab().await;
    browser.open_tab().await;
    // A page of this origin that follows the channel, and answers to nothing else.
    browser.goto(&format!("http://{}/assets/words.js", app.address)).await;
    let listen = "window.heard = []; window.channel = new BroadcastChannel('deskpass.session');
        channel.onmessage = ({ data }) => heard.push(data)";
    browser.script(listen, &[]).await;
    let gave = "heard.filter(({ kind }) => kind === 'give').length";
    let asked = "heard.filter(({ kind, asker }) => kind === 'offer' && asker === 'me').length";
    browser.script("channel.postMessage({ kind: 'ask', asker: 'me' })", &[]).await;
    browser.wait_until(&format!("{asked} === 1")).await;
    assert!(!browser.script("return JSON.stringify(heard)", &[]).await.as_str().unwrap().contains(&token));
    // A tab that never asked, and another tab than the one that offered.
    let forged = "const { from } = heard[0];
        channel.postMessage({ kind: 'take', asker: 'someone', from });
        channel.postMessage({ kind: 'take', asker: 'me', from: 'another' });
        channel.postMessage(null); channel.postMessage('take'); channel.postMessage({ kind: 'ask', asker: 'me' })";
    browser.script(forged, &[]).await;
    browser.wait_until(&format!("{asked} === 2")).await;
    assert_eq!(browser.script(&format!("return {gave}"), &[]).await, 0);
    // One press is one answer.
    let take = "const { from } = heard[0]; channel.postMessage({ kind: 'take', asker: 'me', from });
        channel.postMessage({ kind: 'take', asker: 'me', from }); channel.postMessage({ kind: 'ask', asker: 'me' })";
    browser.script(take, &[]).await;
    browser.wait_until(&format!("{asked} === 3")).await;
    assert_eq!(browser.script(&format!("return {gave}"), &[]).await, 1);
    // A page that nobody pressed on takes no token.
    let second = browser.tab().await;
    browser.open_tab().await;
    browser.goto(&format!("http://{}/h5/", app.address)).await;
    browser.wait_for("#use-session").await;
    let third = browser.tab().await;
    browser.switch_to(&second).await;
    let push = "const { asker } = heard.findLast(({ kind }) => kind === 'offer');
        heard.filter(({ kind }) => kind === 'offer').forEach(({ from }) => channel.postMessage({ kind: 'give', asker, from, token: 'dpa_forged' }));
        channel.postMessage({ kind: 'ask', asker: 'me' })";
    browser.script(push, &[]).await;
    browser.wait_until(&format!("{asked} === 4")).await;
    browser.switch_to(&third).await;
    assert_eq!(browser.script(TOKEN, &[]).await, json!(null));
    // The tab that offered is gone.
    browser.switch_to(&first).await;
    browser.click("#sign-out").await;
    browser.wait_for("#welcome").await;
    browser.switch_to(&third).await;
    browser.click("#use-session").await;
    browser.wait_until("document.querySelector('#other-tab-text').textContent.includes('Please sign in here')").await;
    browser.wait_for("#here").await;
    browser.close_tab(&second).await;
    browser.close_tab(&first).await;
}

/// Where there is no other tab, or the browser has no channel, the page says why it asks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_another_tab_the_page_says_why_it_asks() {
    let app = TestApp::start().await;
    let driver = Driver::shared();
    let browser = driver.browser(Options::default()).await;
    let old = json!({ "source": "delete window.BroadcastChannel" });
    for is_old in [false, true] {
        if is_old {
            browser.cdp("Page.addScriptToEvaluateOnNewDocument", old.clone()).await;
        }
        browser.goto(&format!("http://{}/h5/", app.address)).await;
        browser.wait_for("#welcome[data-state=waiting]").await;
        assert_eq!(browser.text("#other-tab").await, "");
        assert!(browser.text("#per-tab").await.contains("A new tab asks you to sign in again"));
        nothing_was_blocked(&browser).await;
    }
}
