//! The API description as a page: for people, on any screen, in their language.

use serde_json::json;

use super::{fits, is_good, service};
use crate::harness::{Browser, Driver, Options, TestApp, picture};

/// Searches, and returns the ids of the operations that are shown.
async fn search(browser: &Browser, words: &str) -> Vec<String> {
    let typed = "const query = document.getElementById('query'); query.value = arguments[0];
        query.dispatchEvent(new InputEvent('input'));
        return [...document.querySelectorAll('details.operation')].filter((each) => each.checkVisibility()).map(({ id }) => id)";
    let shown = browser.script(typed, &[json!(words)]).await;
    shown.as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_api_can_be_read_searched_and_tried_by_people() {
    let (_directory, service) = service();
    let driver = Driver::shared();
    let address = format!("http://{}/api/docs", service.address);
    let described: serde_json::Value = serde_json::from_str(deskpass::http::description()).unwrap();
    let paths = described["paths"].as_object().unwrap().values();
    let operations: usize = paths.map(|path| path.as_object().unwrap().len()).sum();
    let pages = [
        (
            "en",
            false,
            "Who may call",
            "The address of the token's holder, if the caller knows it.",
            "of scope introspect",
        ),
        ("zh-CN", true, "调用权限", "令牌持有者的地址（如已知）", "持有 introspect 权限服务密钥的服务"),
    ];
    for (language, phone, words, meaning, scope) in pages {
        let browser = driver.browser(Options { phone, language, dark: phone, ..Options::default() }).await;
        browser.goto(&address).await;
        browser.wait_for("body[data-view=docs]").await;
        assert_eq!(search(&browser, "").await.len(), operations);
        picture(&browser, &format!("docs-{language}")).await;
        is_good(&browser, language).await;
        browser.click("#post_auth_verify summary").await;
        browser.wait_for("#post_auth_verify form").await;
        let text = browser.text("#post_auth_verify").await;
        for piece in [words, meaning, "expires_in", "supervisor", "415 1002", r#"-d '{"token":"…"}'"#] {
            assert!(text.contains(piece), "{piece}: {text}");
        }
        is_good(&browser, language).await;

        assert_eq!(search(&browser, "INTROSPECT /api/auth").await, ["post_auth_introspect"]);
        assert_eq!(search(&browser, "match_nothing").await, [""; 0]);
        assert!(
            search(&browser, "recovery_codes").await.contains(&"post_auth_otp_bind".to_owned()),
            "by the name of a field"
        );
        // An address that names an operation shows it, whatever was searched for.
        browser.goto(&format!("{address}#post_auth_introspect")).await;
        browser.wait_for("#post_auth_introspect[open] .inside h3").await;
        assert!(browser.text("#post_auth_introspect").await.contains(scope));
        picture(&browser, &format!("docs-open-{language}")).await;
        try_out(&browser, language).await;
        assert_eq!(browser.console().await, [""; 0]);
    }
}

/// Gets a token of a development user and sends a request with it, then another one without.
async fn try_out(browser: &Browser, language: &str) {
    browser.click("#trial button").await;
    browser.wait_until("document.getElementById('trial-token').value.startsWith('dpa_')").await;
    browser.script("location.hash = 'post_auth_check'", &[]).await;
    browser.click("#post_auth_check form button").await;
    browser
        .wait_until("document.querySelector('#post_auth_check pre[tabindex]')?.textContent.includes('granted_scope')")
        .await;
    picture(browser, &format!("docs-try-{language}")).await;
    fits(browser, language).await;
    browser.assert_accessible(language).await;
    // A token in a response can be used at once; one that is typed is sent as it is.
    browser.script("location.hash = 'post_dev_login'", &[]).await;
    browser.wait_for("#post_dev_login-body").await;
    let body = r#"document.getElementById('post_dev_login-body').value = '{"employee_id":"user01"}'"#;
    browser.script(body, &[]).await;
    browser.click("#post_dev_login form button").await;
    browser.click("#post_dev_login .outcome button").await;
    browser.script("location.hash = 'get_auth_me'", &[]).await;
    browser.click("#get_auth_me form button").await;
    browser.wait_until("document.querySelector('#get_auth_me .outcome')?.textContent.includes('\"user01\"')").await;
    // Neither sockets nor streams can be shown.
    browser.script("location.hash = 'get_ws_agent'", &[]).await;
    browser.wait_for("#get_ws_agent[open] .inside h3").await;
    let kept = "return [document.querySelectorAll('#get_ws_agent form').length, JSON.stringify(sessionStorage),
        JSON.stringify(localStorage)]";
    assert_eq!(browser.script(kept, &[]).await, json!([0, "{}", "{}"]), "the token stays in memory");
}

/// In production nothing is sent from this page.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_production_there_is_nothing_to_try() {
    let app = TestApp::production().await;
    let browser = Driver::shared().browser(Options::default()).await;
    browser.goto(&format!("http://{}/api/docs#get_auth_me", app.address)).await;
    browser.wait_for("#get_auth_me[open] .inside h3").await;
    let forms =
        "return [document.getElementById('trial').childElementCount, document.querySelectorAll('.inside form').length]";
    assert_eq!(browser.script(forms, &[]).await, json!([0, 0]));
    assert_eq!(browser.console().await, [""; 0]);
}
