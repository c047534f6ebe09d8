use deskpass_core::Role;
use serde_json::json;

use super::{CHINESE_PHONE, Office, answer, choose, filter, refused, rows, until_status, well_made};
use crate::harness::{Options, picture};

const USER: &str = r#"tr[data-id="wwdeskpass/user01"]"#;

impl Office {
    /// Adds more people than fit on a page.
    async fn crowd(&self) {
        for (id, name) in [("zhang.xiaoming", "张晓明"), ("ouyang.nana", "欧阳娜娜"), ("liwei", "李伟")] {
            self.app.add_named(id, name, Role::User).await;
        }
        for number in 0..50 {
            self.app.add_named(&format!("visitor{number:02}"), &format!("Visitor {number}"), Role::User).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_are_found() {
    let office = Office::open().await;
    office.crowd().await;
    let browser = office.admin(Options::default(), "people").await;
    rows(&browser, 50).await;
    assert_eq!(browser.text(".tally").await, "59 people");
    picture(&browser, "people").await;
    well_made(&browser, "people").await;
    browser.click("[data-act=more]").await;
    rows(&browser, 59).await;
    let on = browser
        .script("return [...document.querySelectorAll('tbody tr')].indexOf(document.activeElement.closest('tr'))", &[]);
    assert_eq!(on.await, 50, "the focus moves to the first new row");

    filter(&browser, "q", "norole01").await;
    rows(&browser, 1).await;
    assert!(browser.text("tbody").await.contains("(default)"), "the role without an assignment");
    filter(&browser, "q", "晓明").await;
    browser.wait_until("document.querySelector('tbody')?.innerText.includes('张晓明')").await;
    rows(&browser, 1).await;
    assert_eq!(browser.text(".tally").await, "1 person");
    // The search is in the address, so that the link can be shared.
    browser.reload().await;
    rows(&browser, 1).await;
    assert!(browser.text("tbody").await.contains("zhang.xiaoming"));
    filter(&browser, "q", "no one at all").await;
    rows(&browser, 0).await;
    assert!(browser.text(".empty").await.starts_with("No one matches"));
    browser.click("[data-act=clear]").await;
    rows(&browser, 50).await;
    assert_eq!(browser.active().await, "#filter-q");
    choose(&browser, "role", "supervisor").await;
    rows(&browser, 1).await;
    assert!(browser.text("tbody").await.contains("Sven Supervisor"));
    // A sort order that cannot be combined with a role is kept for later and causes no error.
    choose(&browser, "sort", "name").await;
    browser.wait_until("location.hash.includes('sort=name')").await;
    rows(&browser, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn roles_are_changed_with_a_fresh_code_alone() {
    let office = Office::open().await;
    let browser = office.admin(Options::default(), "people?q=user01").await;
    browser.click(&format!("{USER} [data-act=open]")).await;
    browser.click(".below [data-act=roles]").await;
    browser.click("dialog [name=role_security]").await;
    well_made(&browser, "the question for roles").await;
    answer(&browser, &office.device.wrong_code()).await;
    refused(&browser, "wrong or was already used").await;
    let code = office.device.next_code();
    answer(&browser, &code).await;
    until_status(&browser, "(user01) has these roles now: Employee, Security.").await;
    browser.wait_until(&format!("document.querySelector('{USER}').textContent.includes('Security')")).await;
    // The list was reloaded, and the keyboard focus is where it was.
    browser.wait_until("document.activeElement.dataset.act === 'roles'").await;
    let mut client = office.app.client().await;
    let token = client.sign_in("user01").await;
    assert_eq!(client.me(&token).await.data()["roles"], json!(["user", "security"]));

    browser.click(".below [data-act=end-all]").await;
    answer(&browser, &code).await;
    refused(&browser, "wrong or was already used").await;
    assert!(office.app.client().await.is_valid(&token).await);
    office.confirm(&browser).await;
    until_status(&browser, "(user01): 1.").await;
    assert!(!office.app.client().await.is_valid(&token).await);

    filter(&browser, "q", "admin01").await;
    browser.click(r#"tr[data-id="wwdeskpass/admin01"] [data-act=open]"#).await;
    browser.click(".below [data-act=roles]").await;
    browser.click("dialog [name=role_admin]").await;
    answer(&browser, &office.device.next_code()).await;
    refused(&browser, "this is the last administrator").await;
    browser.click("dialog .choice .button").await;
    browser.wait_until("!document.querySelector('dialog')").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_employee_is_disabled_and_enabled_again_from_a_phone() {
    let office = Office::open().await;
    office.crowd().await;
    let token = office.token(["user01", "user"]).await;
    let browser = office.admin(CHINESE_PHONE, "people?q=user01").await;
    rows(&browser, 1).await;
    assert_eq!(browser.text(".tally").await, "共 1 人");
    browser.click(&format!("{USER} [data-act=open]")).await;
    well_made(&browser, "people on a phone").await;
    browser.click(".below [data-act=disable]").await;
    browser.wait_for("dialog").await;
    assert!(browser.text("dialog").await.contains("(user01)？"));
    well_made(&browser, "the question on a phone").await;
    office.confirm(&browser).await;
    until_status(&browser, "(user01) 已停用").await;
    browser.wait_until(&format!("document.querySelector('{USER}').textContent.includes('已停用')")).await;
    assert!(!office.app.client().await.is_valid(&token).await);
    browser.click(".below [data-act=enable]").await;
    office.confirm(&browser).await;
    browser.wait_until(&format!("!document.querySelector('{USER}').textContent.includes('已停用')")).await;
    office.token(["user01", "user"]).await;
    // From a person to their audit events.
    browser.click(".below a[href^='#/log']").await;
    browser.wait_for("#place[data-view=log] .tag").await;
    assert_eq!(browser.script("return document.querySelector('#filter-employee_id').value", &[]).await, "user01");
    assert!(browser.text("tbody").await.contains("停用员工"));
}

/// Without a network nothing is lost, and when it returns the page continues by itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_goes_on_when_the_network_is_back() {
    let office = Office::open().await;
    let browser = office.admin(Options::default(), "people").await;
    rows(&browser, 6).await;
    browser.offline(true).await;
    filter(&browser, "q", "arno").await;
    browser.wait_for(".foot .refusal").await;
    assert!(browser.text(".foot").await.contains("cannot be reached"));
    browser.click(r#"tr[data-id="wwdeskpass/agent01"] [data-act=open]"#).await;
    browser.click(".below [data-act=disable]").await;
    answer(&browser, &office.device.next_code()).await;
    refused(&browser, "cannot be reached").await;
    browser.offline(false).await;
    rows(&browser, 1).await;
    assert!(browser.text("tbody").await.contains("Arno Agent"));
    assert_eq!(office.app.query("SELECT COUNT(*) FROM employee WHERE disabled_at IS NOT NULL"), ["0"]);
}
