use serde_json::json;

use super::{CHINESE_PHONE, Office, answer, refused, rows, until_status, well_made};
use crate::harness::{Options, PASSWORD};

const AGENT: &str = r#"tr[data-id="agent01"]"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_is_added_once() {
    let office = Office::open().await;
    let browser = office.admin(Options::default(), "agents").await;
    rows(&browser, 3).await;
    assert!(browser.text(AGENT).await.contains("no password"));
    well_made(&browser, "agents").await;
    for (code, again) in [(office.device.next_code(), false), (office.device.next_code(), true)] {
        browser.click("#add-agent").await;
        browser.type_into("dialog [name=employee_id]", "user01").await;
        answer(&browser, &code).await;
        if again {
            refused(&browser, "already exists").await;
            well_made(&browser, "a refused question").await;
            browser.click("dialog .choice .button").await;
        } else {
            until_status(&browser, "Agent added").await;
            rows(&browser, 4).await;
        }
        browser.wait_until("document.activeElement.id === 'add-agent'").await;
    }
    browser.click("#add-agent").await;
    browser.type_into("dialog [name=employee_id]", "nobody").await;
    answer(&browser, &office.device.next_code()).await;
    refused(&browser, "there is no such employee").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_who_guessed_too_often_is_unlocked() {
    let office = Office::open().await;
    let mut client = office.app.client().await;
    client.first_password("agent01").await;
    for _ in 0..5 {
        client.agent_login("agent01", "not the password").await;
    }
    let browser = office.admin(CHINESE_PHONE, "agents").await;
    rows(&browser, 3).await;
    assert!(browser.text(AGENT).await.contains("暂停至"));
    browser.click(&format!("{AGENT} [data-act=open]")).await;
    well_made(&browser, "agents on a phone").await;
    browser.click(".below [data-act=unlock]").await;
    office.confirm(&browser).await;
    until_status(&browser, "(agent01) 可以重新尝试").await;
    browser.wait_until(&format!("!document.querySelector('{AGENT}').textContent.includes('暂停')")).await;
    assert_eq!(browser.script("return document.querySelector('.below [data-act=unlock]')", &[]).await, json!(null));
    office.app.client().await.partial_sign_in("agent01").await;
}

/// The code is shown once, works, and disappears with the press that confirms it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_is_reset_with_a_code_that_is_shown_once() {
    let office = Office::open().await;
    office.app.agent_with_device("agent01").await;
    let browser = office.admin(Options::default(), "agents").await;
    browser.click(&format!("{AGENT} [data-act=open]")).await;
    browser.click(".below [data-act=reset-password]").await;
    office.confirm(&browser).await;
    browser.wait_for("#setup-code").await;
    assert_eq!(browser.active().await, "#setup-code");
    let code = browser.text("#setup-code").await;
    well_made(&browser, "a code that is shown once").await;
    browser.allow_clipboard().await;
    browser.click("#once .main").await;
    until_status(&browser, "Copied").await;
    assert_eq!(browser.clipboard().await, code);
    browser.click("[data-act=handed-over]").await;
    let page = browser.script("return document.documentElement.outerHTML + location.href", &[]).await;
    assert!(!page.as_str().unwrap().contains(&code));
    let body = json!({ "employee_id": "agent01", "setup_code": code, "new_password": PASSWORD });
    office.app.client().await.post("/api/agents/password/setup", &[], &body).await.data();

    browser.wait_until(&format!("document.querySelector('{AGENT}').textContent.includes('no password')")).await;
    browser.click(".below [data-act=reset-otp]").await;
    office.confirm(&browser).await;
    until_status(&browser, "can set up a new authenticator").await;
    browser.wait_until(&format!("document.querySelector('{AGENT}').textContent.includes('no authenticator')")).await;
}
