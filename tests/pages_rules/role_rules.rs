//! Role rules: tried, then saved.

use deskpass_auth::SyncOptions;
use serde_json::json;

use super::{Office, chinese_phone};
use crate::harness::{Device, Options, full_picture};

const PATH: &str = "/api/admin/role-rules";
/// The rule for the department of `user01`.
const SALES: &str = "[data-rule='supervisor department 4']";

impl Office {
    /// Opens the view, with the departments and tags of the platform.
    async fn with_rules(options: Options<'_>) -> (Self, Device) {
        let (office, device) = Self::open(options).await;
        Box::pin(office.app.auth().synchronise(SyncOptions::default(), &|_| {})).await.unwrap();
        office.view("role_rules", "#add-rule").await;
        (office, device)
    }

    /// Adds a rule on the page.
    async fn add_rule(&self, group: &str, role: &str) {
        let choose = "for (const [name, value] of arguments) {
            const select = document.querySelector(`#field-${name}`);
            select.value = value;
            select.dispatchEvent(new Event('change', { bubbles: true }));
        }";
        self.browser.script(choose, &[json!(["group", group]), json!(["role", role])]).await;
        self.browser.click("#add-rule [type=submit]").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rules_are_tried_before_they_are_saved() {
    let (office, device) = Office::with_rules(Options::default()).await;
    let browser = &office.browser;
    assert!(browser.text("#rules").await.contains("There are no rules yet"));
    office.add_rule("department 4", "supervisor").await;
    browser.wait_for(SALES).await;
    assert!(browser.text(SALES).await.contains("Sales"));
    office.add_rule("department 4", "supervisor").await;
    office.until_text("#role-rules .refusal", "There is such a rule already").await;

    // The trial names who gains a role, and changes nothing.
    browser.click("#try").await;
    browser.wait_for("#save").await;
    let shown = browser.text("#outcome").await;
    assert!(
        shown.contains("Gain a role: 1") && shown.contains("Uma User") && shown.contains("+ Supervisor"),
        "{shown}"
    );
    full_picture(browser, "role-rules").await;
    office.is_sound("who gains a role").await;
    assert_eq!(office.get(PATH).await["rules"], json!([]));

    // Only rules that were tried can be saved.
    office.add_rule("department 5", "agent").await;
    assert!(!office.shows("#save").await);
    browser.click("[data-rule='agent department 5'] [data-act=remove]").await;
    browser.click("#try").await;
    browser.wait_for("#save").await;
    // Who leaves before the page has read the saved rules again is not asked about unsaved ones.
    office.stop_reading(PATH).await;
    browser.click("#save").await;
    office.confirm(&device.next_code()).await;
    office.until_status("Saved. People whose roles changed: 1.").await;
    let rule = json!({ "role": "supervisor", "department": "4", "tag": null, "from_file": false });
    assert_eq!(office.get(PATH).await["rules"], json!([rule]));
    office.view("person?employee_id=user01", "#origins [data-role=supervisor]").await;
    assert!(browser.text("#origins [data-role=supervisor]").await.contains("by a role rule"));
    office.read_again().await;

    // Without the rule the role is lost, which the trial says too.
    office.view("role_rules", SALES).await;
    browser.click(&format!("{SALES} [data-act=remove]")).await;
    browser.click("#try").await;
    browser.wait_for("#save").await;
    let shown = browser.text("#outcome").await;
    assert!(shown.contains("Lose a role: 1") && shown.contains("− Supervisor"), "{shown}");
    browser.click("#save").await;
    browser.wait_for("dialog .button.danger").await;
    office.confirm(&device.next_code()).await;
    office.until_status("Saved").await;
    assert_eq!(office.app.query("SELECT COUNT(*) FROM user_role WHERE employee_key = 'user01'"), ["1"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rules_that_are_not_saved_are_not_lost_by_the_way() {
    let (office, _) = Office::with_rules(chinese_phone()).await;
    let browser = &office.browser;
    // A group that the last synchronisation did not find is named by its id.
    office.add_rule("tag", "agent").await;
    browser.type_into("#field-group_id", "t9").await;
    browser.click("#add-rule [type=submit]").await;
    browser.wait_for("[data-rule='agent tag t9']").await;
    assert!(browser.text("[data-rule='agent tag t9']").await.contains("本系统未知"));
    office.is_sound("rules on a phone").await;
    office.choose_view("access").await;
    browser.wait_for("dialog").await;
    assert!(browser.text("dialog").await.contains("角色规则的修改尚未保存"));
    browser.click("dialog [type=button]").await;
    browser.wait_for("[data-rule='agent tag t9']").await;
    browser.click("#discard").await;
    browser.wait_until("!document.querySelector(\"[data-rule='agent tag t9']\")").await;
    office.choose_view("access").await;
    browser.wait_for("#place[data-view=access]").await;
}
