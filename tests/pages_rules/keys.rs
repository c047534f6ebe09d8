//! Service keys: shown once, good until they are revoked.

use serde_json::json;

use super::{Office, chinese_phone};
use crate::harness::{Options, picture};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_shown_once_and_good_until_it_is_revoked() {
    let (office, device) = Office::open(Options::default()).await;
    let (browser, mut service) = (&office.browser, office.app.client().await);
    office.view("keys", "#keys .empty").await;
    browser.click("#new-key").await;
    browser.type_into("#field-name", "Ticket system").await;
    browser.click("dialog [name=introspect]").await;
    office.confirm(&device.next_code()).await;
    office.refused("Scopes: ").await;
    browser.click("dialog [name=introspect]").await;
    office.is_sound("a new key").await;
    office.confirm(&device.wrong_code()).await;
    office.refused("The code is wrong").await;
    office.confirm(&device.code()).await;
    browser.wait_for("#key").await;
    let key = browser.text("#key").await;
    assert_eq!(service.introspect(&key, &office.token).await.data()["active"], true);
    office.is_sound("a key that was made").await;
    picture(browser, "keys").await;
    browser.allow_clipboard().await;
    browser.click("#copy-key").await;
    office.until_status("Copied").await;
    assert_eq!(browser.clipboard().await, key);

    // The key stays visible until the user confirms that it is saved, and is nowhere afterwards.
    browser.click("#views [href='#/links']").await;
    office.until_text("dialog", "cannot be shown again").await;
    browser.click("dialog [type=button]").await;
    browser.click("#key-kept").await;
    assert_eq!(browser.active().await, "#new-key");
    let page = browser.script("return document.documentElement.outerHTML", &[]).await;
    assert!(!page.as_str().unwrap().contains(&key));
    browser.reload().await;
    browser.wait_for("[data-act=revoke]").await;
    assert!(browser.text("#keys").await.contains("Ticket system") && !office.shows("#key").await);

    browser.click("[data-act=revoke]").await;
    office.confirm(&device.next_code()).await;
    office.until_status("“Ticket system” is revoked.").await;
    service.introspect(&key, &office.token).await.refused(401, 1001);
    browser.wait_for("[data-state=revoked]").await;
    assert!(!office.shows("[data-act=revoke]").await);
    office.is_sound("keys").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_that_end_soon_say_so_also_on_a_phone() {
    let (office, device) = Office::open(chinese_phone()).await;
    let mut client = office.app.client().await;
    for (name, days) in [("soon", 29), ("later", 31)] {
        let body = json!({ "name": name, "scopes": ["messages"], "expires_in_days": days });
        client.admin_request(&office.token, &device.next_code(), "POST", "/api/admin/service-keys", &body).await.data();
    }
    office.app.service_key("introspect").await;
    office.view("access", ".matrix").await;
    // The page uses the browser's clock, the service another.
    let now = office.app.clock.now().millis();
    office.browser.script("Date.now = () => arguments[0]", &[json!(now)]).await;
    office.choose_view("keys").await;
    office.browser.wait_for("[data-soon='28']").await;
    let shown = office.browser.text("#keys").await;
    assert!(shown.contains("28 天后过期") && shown.contains("命令行") && shown.contains("推送消息"), "{shown}");
    assert_eq!(office.browser.script("return document.querySelectorAll('[data-soon]').length", &[]).await, json!(1));
    office.is_sound("keys on a phone").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_administrator_without_a_device_is_offered_one() {
    let office = Office::of_person("admin01", "admin").await;
    office.view("keys", "#new-key").await;
    office.browser.click("#new-key").await;
    office.browser.click("dialog [data-act=device-first]").await;
    office.browser.click("#first-go").await;
    office.browser.wait_for("#device-secret").await;
}
