//! The pages in a real browser, as people use them: on a phone and at a computer, in English and in Chinese, and on failures.

mod agent;
mod approve;
mod caller;
mod clickjacking;
mod code;
mod device_first;
mod docs;
mod employee;
mod first_administrator;
mod messages;
mod not_found;
mod number_match;
mod oidc;
mod own;
mod password;
mod phone;
mod replies;
mod sign_in;
mod sign_in_again;
mod sign_in_failures;
mod tabs;
mod verify;

use serde_json::{Value, json};

use crate::harness::{Browser, Driver, Options, Process, Servers, StoreBackend, TestApp, Viewport};

/// A service in a process of its own, with a directory or a store of its own.
fn service() -> (tempfile::TempDir, Process) {
    let directory = tempfile::tempdir().unwrap();
    let process = match StoreBackend::current() {
        StoreBackend::Embedded => Process::serve(directory.path(), &[]),
        StoreBackend::ScaledOut => Process::node(&Servers::shared().cluster_store(), &[]),
    };
    (directory, process)
}

/// The browsers that look at pages: both screens, each in another language, and the smaller one in dark mode.
fn people() -> [Options<'static>; 2] {
    let phone = Options { language: "zh-CN", dark: true, ..Options::on(Viewport::Phone) };
    [Options::on(Viewport::Desktop), phone]
}

/// The text of these two that is in the language of the browser.
fn localized<'a>(options: &Options<'_>, english: &'a str, chinese: &'a str) -> &'a str {
    if options.language == "en" { english } else { chinese }
}

/// A browser in which a user is signed in, at a page of the service, and the user's token.
async fn at_the_desk(driver: &Driver, app: &TestApp, options: Options<'_>, who: &str, path: &str) -> (Browser, String) {
    let token = app.client().await.sign_in(who).await;
    let browser = driver.browser(options).await;
    hand_over(&browser, &app.address, &token, path).await;
    (browser, token)
}

/// Goes to a page with a token that this tab already has.
async fn hand_over(browser: &Browser, address: &str, token: &str, path: &str) {
    browser.goto(&format!("http://{address}/assets/words.js")).await;
    browser.script("sessionStorage.setItem('deskpass.token', arguments[0])", &[json!(token)]).await;
    browser.goto(&format!("http://{address}{path}")).await;
}

/// Chooses a person at the simulated platform.
async fn choose(browser: &Browser, who: &str) {
    let found = format!("[...document.querySelectorAll('a')].find(a => a.textContent.includes('{who}'))");
    browser.wait_until(&found).await;
    browser.script(&format!("{found}.click()"), &[]).await;
}

/// Asserts that nothing on the page is cut off or requires horizontal scrolling.
async fn fits(browser: &Browser, what: &str) {
    let wider = "return document.documentElement.scrollWidth > document.documentElement.clientWidth";
    assert_eq!(browser.script(wider, &[]).await, false, "{what}: wider than the screen");
}

/// Asserts that the page has no obstacle for users of another language or without a mouse.
async fn is_good(browser: &Browser, what: &str) {
    fits(browser, what).await;
    browser.assert_accessible(what).await;
}

async fn nothing_was_blocked(browser: &Browser) {
    for line in browser.console().await {
        assert!(!line.contains("Content Security Policy") && !line.contains("TrustedHTML"), "{line}");
    }
}

/// Everything that a browser keeps where others might look: addresses, histories, storage that outlives the tab.
async fn kept(browser: &Browser) -> Value {
    let all = "return [location.href, document.referrer, document.title, JSON.stringify(history.state),
        JSON.stringify(localStorage), document.cookie].join(' ')";
    browser.script(all, &[]).await
}
