//! Errors of the service on pages, in the language of the page.

use serde_json::{Value, json};

use super::Office;
use crate::harness::Options;

/// Sends a request as the pages do; returns the message and what is wrong with each field.
const ASK: &str = "const [method, path, body, code] = arguments;
    return import('/assets/api.js')
        .then(({ ask }) => ask(method, path, { body, code, token: sessionStorage.getItem('deskpass.token') }))
        .then(({ message, data }) => Object.values((data && data.fields) || { message }).join(' '))";

/// Who switched the page to Chinese reads Chinese, whatever the browser prefers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn errors_are_in_the_language_of_the_page() {
    let office = Office::open().await;
    let browser = office.admin(Options::default(), "people").await;
    let agent = browser.script("return navigator.userAgent", &[]).await;
    let english = json!({ "userAgent": agent, "acceptLanguage": "en-US,en" });
    browser.cdp("Emulation.setUserAgentOverride", english).await;
    browser.click("#language").await;
    browser.wait_until("document.documentElement.lang === 'zh-CN'").await;
    browser.wait_for("#place .panel").await;
    let roles = |employee: &str| json!({ "employee_id": employee, "roles": ["user"] });
    let lists = json!({ "admin": ["hello"], "agent": [], "user": [], "supervisor": [], "security": [] });
    let assign = ("PUT", "/api/admin/roles/user-roles");
    for ((method, path), body, says) in [
        (assign, roles("admin01"), "这是最后一名管理员，请先指定其他管理员"),
        (assign, roles("nobody"), "没有该员工，请核对企业微信账号"),
        (assign, roles("a b"), "必须是 1 到 64 个字符，只能包含 0-9 A-Z a-z _ @ . -"),
        (("POST", "/api/admin/ip-rules/dry-run"), lists, "\"hello\" 不是网络"),
    ] {
        let given: [Value; 4] = [json!(method), json!(path), body, json!(office.device.next_code())];
        assert_eq!(browser.script(ASK, &given).await, says);
    }
}
