//! The page for addresses that do not exist.

use super::{is_good, localized, nothing_was_blocked, people};
use crate::harness::{Driver, TestApp, picture};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_address_shows_a_page_with_a_way_back() {
    let app = TestApp::start().await;
    let driver = Driver::shared();
    for options in people() {
        let browser = driver.browser(options).await;
        browser.goto(&format!("http://{}/itagent/tickets/42?a=%3Cb%3E", app.address)).await;
        let title = localized(&options, "Page not found", "页面不存在");
        assert_eq!(browser.text("h1").await, title);
        is_good(&browser, title).await;
        picture(&browser, &format!("not-found-{}", localized(&options, "en", "zh"))).await;
        browser.click("#language").await;
        browser.wait_until(&format!("document.documentElement.lang !== '{}'", options.language)).await;
        assert_eq!(browser.text("h1").await, localized(&options, "页面不存在", "Page not found"));
        browser.click("main a").await;
        browser.wait_for("#welcome #here").await;
        nothing_was_blocked(&browser).await;
    }
}
