//! The API description as a page: for people, on any screen, in their language.

use super::{fits, service};
use crate::harness::{Driver, Options, picture};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_api_can_be_read_by_people() {
    let (_directory, service) = service();
    let driver = Driver::shared();
    let address = format!("http://{}/api/docs", service.address);
    let described: serde_json::Value = serde_json::from_str(deskpass::http::description()).unwrap();
    let paths = described["paths"].as_object().unwrap().values();
    let operations: usize = paths.map(|path| path.as_object().unwrap().len()).sum();
    for (language, phone, dark, words) in [("en", false, false, "Who may call"), ("zh-CN", true, true, "调用权限")]
    {
        let browser = driver.browser(Options { phone, language, dark, ..Options::default() }).await;
        browser.goto(&address).await;
        browser.wait_for("body[data-view=docs]").await;
        let shown = browser.script("return document.querySelectorAll('details.operation').length", &[]).await;
        assert_eq!(shown, operations);
        picture(&browser, &format!("docs-{language}")).await;
        browser.click("#post_auth_verify summary").await;
        browser.wait_for("#post_auth_verify[open]").await;
        let text = browser.text("#post_auth_verify").await;
        for piece in [words, "expires_in", "supervisor", "415 1002", r#"-d '{"token":"…"}'"#] {
            assert!(text.contains(piece), "{piece}: {text}");
        }
        fits(&browser, language).await;
        browser.assert_accessible(language).await;
        browser.goto(&format!("{address}#post_agents_login")).await;
        browser.wait_for("#post_agents_login[open]").await;
        picture(&browser, &format!("docs-open-{language}")).await;
        assert_eq!(browser.console().await, [""; 0]);
    }
}
