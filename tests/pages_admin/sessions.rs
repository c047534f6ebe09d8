use std::time::Duration;

use super::{CHINESE_PHONE, Office, choose, filter, rows, until_status, well_made};
use crate::harness::Options;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_are_seen_and_ended() {
    let office = Office::open().await;
    let mut client = office.app.client().await;
    let older = client.sign_in("user01").await;
    office.app.clock.advance(Duration::from_secs(1));
    let [newer, agent] = [client.sign_in("user01").await, client.sign_in("agent01").await];
    let browser = office.admin(Options::default(), "signed_in").await;
    rows(&browser, 4).await;
    well_made(&browser, "sessions").await;
    assert_eq!(
        browser.script("return document.querySelectorAll('.tag.good').length", &[]).await,
        1,
        "this one is marked"
    );
    choose(&browser, "role", "agent").await;
    rows(&browser, 1).await;
    choose(&browser, "role", "").await;
    filter(&browser, "employee_id", "user01").await;
    rows(&browser, 2).await;
    browser.click("tbody [data-act=end]").await;
    office.confirm(&browser).await;
    until_status(&browser, "(user01) has ended.").await;
    rows(&browser, 1).await;
    // The row is gone, and the focus is on its successor.
    assert_eq!(browser.script("return document.activeElement.closest('tr') !== null", &[]).await, true);
    let mut client = office.app.client().await;
    assert!(!client.is_valid(&newer).await);
    assert!(client.is_valid(&older).await);
    // Another client was faster: the page says so, and the list shows the current state.
    client.logout(&older).await.data();
    browser.click("tbody [data-act=end]").await;
    super::answer(&browser, &office.device.next_code()).await;
    super::refused(&browser, "it may have ended").await;
    browser.click("dialog .choice .button").await;
    browser.click("[data-act=reload]").await;
    rows(&browser, 0).await;
    assert!(office.app.client().await.is_valid(&agent).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_sessions_of_an_employee_end_from_a_phone_the_own_too() {
    let office = Office::open().await;
    let mut client = office.app.client().await;
    let tokens = [client.sign_in("agent01").await, client.sign_in("agent01").await];
    let browser = office.admin(CHINESE_PHONE, "signed_in?employee_id=agent01").await;
    rows(&browser, 2).await;
    well_made(&browser, "sessions on a phone").await;
    browser.click("tbody [data-act=end-all]").await;
    browser.wait_for("dialog").await;
    assert!(browser.text("dialog").await.contains("(agent01) 的所有会话？"));
    office.confirm(&browser).await;
    until_status(&browser, "(agent01) 的 2 个会话。").await;
    rows(&browser, 0).await;
    assert!(browser.text(".empty").await.contains("没有符合条件"));
    for token in &tokens {
        assert!(!office.app.client().await.is_valid(token).await);
    }
    filter(&browser, "employee_id", "admin01").await;
    rows(&browser, 1).await;
    browser.click("tbody [data-act=end-all]").await;
    browser.wait_for("dialog").await;
    assert!(browser.text("dialog").await.contains("本页面也会退出登录"));
    super::answer(&browser, &office.device.next_code()).await;
    browser.wait_for("body[data-view=welcome] #notice").await;
}
