//! Allow-lists: tried, then saved.

use serde_json::json;

use super::{Office, chinese_phone};
use crate::harness::{Options, full_picture};

const PATH: &str = "/api/admin/ip-rules";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_are_tried_before_they_are_saved() {
    let (office, device) = Office::open(Options::default()).await;
    let browser = &office.browser;
    office.app.client().await.sign_in("agent01").await;
    office.view("networks", "#list-agent").await;
    assert_eq!(browser.text("#list-agent-state").await, "Empty: allowed from anywhere.");

    // An invalid network is reported at its line.
    browser.type_into("#list-agent", "10.0.0.0/8\nhere\n\n10.1.2.3/8").await;
    browser.click("#try").await;
    browser.wait_for("#list-agent-wrong [data-line='4']").await;
    let shown = browser.text("#list-agent-wrong").await;
    assert!(shown.contains("\"here\" is not a network") && shown.contains("10.0.0.0/8 or 10.1.2.3/32"), "{shown}");
    assert!(!office.shows("#save").await);
    browser.click("#list-agent-wrong [data-line='2']").await;
    assert_eq!(browser.script("return getSelection().toString()", &[]).await, json!("here"));
    office.is_sound("bad networks").await;

    // The trial lists the people that the change would shut out, and refuses to shut out the administrator.
    office.rewrite("#list-agent", "10.0.0.0/8").await;
    browser.type_into("#list-admin", "10.0.0.0/8").await;
    browser.click("#try").await;
    browser.wait_for("#add-me").await;
    let shown = browser.text("#outcome").await;
    assert!(shown.contains("You would lock yourself out: you are at 127.0.0.1"), "{shown}");
    assert!(shown.contains("Agent: 1 session will stop working") && shown.contains("Arno Agent"), "{shown}");
    assert!(!office.shows("#save").await);
    full_picture(browser, "networks").await;
    office.is_sound("shutting oneself out").await;
    browser.click("#add-me").await;
    assert!(!office.shows("#outcome").await, "that was about other lists");
    browser.click("#try").await;
    browser.wait_for("#save").await;

    // Only lists that were tried can be saved.
    browser.type_into("#list-user", "10.0.0.0/8").await;
    assert!(!office.shows("#save").await);
    office.rewrite("#list-user", "\n").await;
    browser.click("#try").await;
    browser.click("#save").await;
    office.confirm(&device.wrong_code()).await;
    office.refused("The code is wrong").await;
    // A user who leaves before the page has read the saved lists again is not asked about unsaved ones.
    office.stop_reading(PATH).await;
    office.confirm(&device.next_code()).await;
    office.until_status("Saved").await;
    office.choose_view("access").await;
    browser.wait_for("#place[data-view=access]").await;
    office.read_again().await;
    office.view("networks", "#list-admin").await;
    assert_eq!(office.get(PATH).await["admin"], json!(["10.0.0.0/8", "127.0.0.1/32"]));
    assert_eq!(office.get(PATH).await["agent"], json!(["10.0.0.0/8"]));
    browser.wait_until("document.querySelector('#list-admin').value === '10.0.0.0/8\\n127.0.0.1/32'").await;
    office.is_sound("networks").await;

    // Of very many sessions, not all are checked.
    office.app.add_sessions(20_000);
    browser.type_into("#list-user", "10.0.0.0/8").await;
    browser.click("#try").await;
    browser.wait_for("#not-all-checked").await;
    let shown = browser.text("#outcome").await;
    assert!(shown.contains("Employee: at least ") && shown.contains("too many sessions to check all"), "{shown}");
    office.is_sound("very many sessions").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_saved_is_not_lost_by_the_way() {
    let (office, _) = Office::open(chinese_phone()).await;
    let browser = &office.browser;
    office.view("networks", "#list-user").await;
    browser.type_into("#list-user", "192.0.2.0/24").await;
    office.choose_view("access").await;
    browser.wait_for("dialog").await;
    assert!(browser.text("dialog").await.contains("尚未保存"));
    office.is_sound("the question").await;
    browser.click("dialog [type=button]").await;
    browser.wait_until("location.hash === '#/networks' && !document.querySelector('dialog')").await;
    assert_eq!(browser.script("return document.querySelector('#list-user').value", &[]).await, json!("192.0.2.0/24"));

    // Another administrator was faster.
    office.app.set_list("agent", &["10.0.0.0/8"]).await;
    browser.click("#try").await;
    browser.wait_for("#theirs").await;
    assert!(browser.text("#outcome").await.contains("名单已被他人修改"));
    browser.click("#theirs").await;
    browser.wait_until("document.querySelector('#list-agent').value === '10.0.0.0/8'").await;
    assert_eq!(browser.script("return document.querySelector('#list-user').value", &[]).await, json!(""));

    // A user who confirms leaves the page.
    browser.type_into("#list-user", "192.0.2.0/24").await;
    office.choose_view("access").await;
    browser.click("dialog [type=submit]").await;
    browser.wait_for("#place[data-view=access]").await;
    office.view("networks", "#list-user").await;
    office.choose_view("access").await;
    browser.wait_for("#place[data-view=access]").await;
    assert!(!office.shows("dialog").await, "there is nothing to lose");
}
