use serde_json::json;

use super::{CHINESE_PHONE, Office, choose, filter, rows, well_made};
use crate::harness::{Options, picture};

impl Office {
    /// Adds audit events of every kind that the test queries.
    async fn add_audit_events(&self) {
        let mut client = self.app.client().await;
        client.post("/api/dev/login", &[], &json!({ "employee_id": "norole01" })).await.refused(403, 1003);
        let token = client.sign_in("supervisor01").await;
        client.switch(&token, "supervisor").await.data();
        client.logout(&token).await.data();
        client.agent_login("agent01", "not the password").await;
        let user = client.sign_in("user01").await;
        client.get_as(&user, "/api/admin/employees").await.refused(403, 1003);
        let code = client.qrcode().await;
        let confirm = client.scan_as(&code, "user01").await;
        client.decide("cancel", &confirm).await.data();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_tells_in_plain_words_what_happened() {
    let office = Office::open().await;
    office.add_audit_events().await;
    let browser = office.admin(Options::default(), "log").await;
    browser.wait_for("tbody .tag").await;
    for words in ["Sign-in refused", "has no role", "Switched role", "Administration refused", "cancelled on the phone"]
    {
        assert!(browser.text("tbody").await.contains(words), "{words}");
    }
    picture(&browser, "log").await;
    well_made(&browser, "the log").await;
    choose(&browser, "event", "sign_in_refused").await;
    rows(&browser, 3).await;
    assert!(browser.url().await.ends_with("#/log?event=sign_in_refused"));
    filter(&browser, "employee_id", "norole01").await;
    rows(&browser, 1).await;
    browser.click("[data-act=open]").await;
    let details = browser.text(".below").await;
    assert!(details.contains("wwdeskpass") && details.contains("IT help desk"), "{details}");
    well_made(&browser, "details of the log").await;
    // An operator looks for the reference that a user reads out.
    let reference = browser.text(".below code").await;
    browser.click("[data-act=clear]").await;
    browser.wait_until(&format!("{} > 5", super::ROWS)).await;
    browser.click(".seldom summary").await;
    filter(&browser, "reference", &reference.to_uppercase()).await;
    rows(&browser, 1).await;
    assert!(browser.text("tbody").await.contains("has no role"));
    filter(&browser, "reference", "not a ref").await;
    browser.wait_for(".foot .refusal").await;
    choose(&browser, "reference", "").await;
    browser.click(".seldom summary").await;
    filter(&browser, "employee_id", "norole01").await;
    rows(&browser, 1).await;
    browser.click("[data-act=open]").await;
    assert_eq!(browser.script("return document.querySelector('.below')", &[]).await, json!(null));

    // An invalid address is reported in place of the rows.
    browser.click(".seldom summary").await;
    filter(&browser, "ip_address", "not an address").await;
    browser.wait_for(".foot .refusal").await;
    filter(&browser, "ip_address", "203.0.113.9").await;
    browser.wait_for(".empty").await;
    assert!(browser.text(".empty").await.contains("No entries match"));
    browser.click("[data-act=clear]").await;
    // An hour in the past, by local time, contains none of these events.
    browser.wait_until(&format!("{} > 5", super::ROWS)).await;
    let earlier = "const now = new Date(Date.now() - 3600000 - new Date().getTimezoneOffset() * 60000);
        return now.toISOString().slice(0, 16)";
    let earlier = browser.script(earlier, &[]).await;
    choose(&browser, "to", earlier.as_str().unwrap()).await;
    browser.wait_for(".empty").await;
    choose(&browser, "to", "").await;
    choose(&browser, "from", earlier.as_str().unwrap()).await;
    browser.wait_until(&format!("{} > 5", super::ROWS)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_is_read_on_a_phone_in_chinese() {
    let office = Office::open().await;
    office.add_audit_events().await;
    let browser = office.admin(CHINESE_PHONE, "log?event=sign_in_refused&method=dev").await;
    rows(&browser, 1).await;
    let shown = browser.text("tbody").await;
    assert!(shown.contains("登录被拒绝") && shown.contains("没有角色") && shown.contains("开发模式"), "{shown}");
    browser.click("[data-act=open]").await;
    well_made(&browser, "the log on a phone").await;
    // The rarely used filters are open when the address uses one of them.
    assert_eq!(browser.script("return document.querySelector('.seldom').open", &[]).await, true);
}
