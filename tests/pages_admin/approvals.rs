//! Changes that the administrator approves on their own phone.

use std::time::Duration;

use serde_json::json;

use super::{CHINESE_PHONE, Office, arrive, keep_time, refused, until_status, well_made};
use crate::harness::{Browser, Driver, Key, Options, TestApp, picture};

/// The time for which a session can ask for no approval after a refusal; as long as the time of the limit on approvals.
const PAUSE: Duration = Duration::from_mins(10);
const APPROVE: &str = "dialog [data-act=approve]";

/// Asks the phone with this button; returns the number that the page shows.
async fn ask_phone(browser: &Browser, button: &str) -> u64 {
    browser.click(button).await;
    browser.wait_for("dialog .big-number strong").await;
    browser.text("dialog .big-number strong").await.parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_is_approved_on_the_phone_instead_of_with_a_code() {
    let office = Office::open().await;
    let app = &office.app;
    let browser = office.admin(Options::default(), "person?employee_id=user01").await;
    browser.click("#person [data-act=roles]").await;
    browser.click("dialog [name=role_security]").await;
    well_made(&browser, "a code or the phone").await;
    picture(&browser, "approve").await;

    // The way back leads to the dialog, in which nothing is lost.
    ask_phone(&browser, APPROVE).await;
    well_made(&browser, "waiting for the phone").await;
    picture(&browser, "approve-number").await;
    browser.press(Key::Escape).await;
    browser.wait_until("document.activeElement.dataset.act === 'approve'").await;
    ask_phone(&browser, APPROVE).await;
    browser.click("dialog [data-act=back]").await;
    browser.wait_for("dialog [name=role_security]:checked").await;

    // A phone that does not answer and a refusal change nothing.
    ask_phone(&browser, APPROVE).await;
    app.clock.advance(Duration::from_mins(3));
    refused(&browser, "did not answer in time").await;
    app.clock.advance(PAUSE);
    ask_phone(&browser, APPROVE).await;
    app.answer_on_phone("admin01", "approval", None).await.data();
    refused(&browser, "Nothing was changed").await;
    well_made(&browser, "refused on the phone").await;
    assert_eq!(app.query("SELECT COUNT(*) FROM user_role WHERE employee_key = 'user01'"), ["1"]);

    // After a refusal only a code is left for a while.
    browser.click(APPROVE).await;
    refused(&browser, "try again in 10 min").await;
    assert_eq!(
        browser.script("return document.querySelector('dialog [data-act=approve]').hidden", &[]).await,
        json!(true)
    );
    well_made(&browser, "approvals are paused").await;
    app.clock.advance(PAUSE);
    browser.press(Key::Escape).await;
    browser.click("#person [data-act=roles]").await;
    browser.click("dialog [name=role_security]").await;

    // The right number is enough: no code is used.
    let number = ask_phone(&browser, APPROVE).await;
    app.answer_on_phone("admin01", "approval", Some(number)).await.data();
    until_status(&browser, "(user01) has these roles now: Employee, Security.").await;
    browser.wait_until("!document.querySelector('dialog')").await;
    assert_eq!(app.query("SELECT COUNT(*) FROM login_log WHERE event = 'approval_given'"), ["1"]);
}

/// An administrator without an authenticator gives a temporary role from a phone. The page of the person says where each role
/// comes from, and that the platform does not admit the person.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_an_authenticator_the_phone_is_enough() {
    let app = TestApp::start().await;
    let driver = Driver::shared();
    let browser = driver.browser(CHINESE_PHONE).await;
    keep_time(&browser, &app.clock).await;
    let token = app.client().await.sign_in("admin01").await;
    arrive(&browser, &app.address, &token, "person?employee_id=user01").await;
    browser.click("#origins [data-act=temporary-role]").await;
    browser.wait_for("dialog [data-act=device-first]").await;
    assert_eq!(browser.script("return document.querySelector('[name=code]')", &[]).await, json!(null));
    well_made(&browser, "only the phone").await;
    browser.type_into("dialog [name=reason]", "夜班").await;
    let number = ask_phone(&browser, "dialog [type=submit]").await;
    well_made(&browser, "the number on a phone").await;
    picture(&browser, "approve-number-phone").await;
    app.answer_on_phone("admin01", "approval", Some(number)).await.data();
    until_status(&browser, "已获得坐席角色").await;
    let given = "document.querySelector('#origins [data-role=agent]')?.innerText";
    browser.wait_until(&format!("{given}.includes('夜班') && {given}.includes('有效期至')")).await;
    assert!(browser.text("#origins [data-role=user]").await.contains("手动分配"));

    app.query("UPDATE employee SET left_at = 1, left_why = 'suspended' WHERE employee_key = 'user01'");
    browser.reload().await;
    browser.wait_for("#person .left").await;
    assert_eq!(browser.text("#person .left").await, "在企业微信中被禁用");
    well_made(&browser, "a person who is not admitted").await;
}
