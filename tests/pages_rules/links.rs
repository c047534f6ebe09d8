//! Links of people of connected corporations.

use serde_json::json;

use super::{Office, chinese_phone};
use crate::harness::{Options, picture};

const PATH: &str = "/api/admin/links";

impl Office {
    async fn ask_for_link(&self, corp: &str, user: &str, employee: &str) {
        self.browser.wait_for("#field-corp_id").await;
        for (field, text) in [("#field-corp_id", corp), ("#field-user_id", user), ("#field-employee_id", employee)] {
            self.rewrite(field, text).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_is_approved_and_removed() {
    let (office, device) = Office::open(Options::default()).await;
    let browser = &office.browser;
    office.view("links", "#links .empty").await;
    assert!(browser.text("#links").await.contains("sign in here as one of your employees"));
    browser.click("#new-link").await;
    let code = device.next_code();
    office.ask_for_link("wwdeskpass", "partner01", "user01").await;
    office.confirm(&code).await;
    office.refused("Connected corporation (CorpID): is the main corporation").await;
    office.is_sound("a link that cannot be").await;
    office.ask_for_link("wwpartner", "partner01", "nobody").await;
    office.confirm(&code).await;
    office.refused("employee").await;
    office.ask_for_link("wwpartner", " partner01 ", "user01").await;
    office.confirm(&code).await;
    office.until_status("partner01 may now sign in as user01.").await;
    browser.wait_for("[data-id='wwpartner/partner01']").await;
    assert!(browser.text("#links table").await.contains("not used yet"));
    picture(browser, "links").await;
    let links = office.get(PATH).await;
    assert_eq!(links["items"][0]["target"]["employee_id"], "user01");

    browser.click("[data-act=remove]").await;
    office.until_text("dialog", "partner01 can no longer sign in as user01.").await;
    office.confirm(&code).await;
    office.refused("The code is wrong or was already used").await;
    office.confirm(&device.next_code()).await;
    office.until_status("The link of partner01 is removed.").await;
    browser.wait_for("#links .empty").await;
    assert_eq!(browser.active().await, "#new-link", "the focus is not lost with the row");
    assert_eq!(office.get(PATH).await["items"], json!([]));
    office.is_sound("links").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_are_for_administrators_of_the_main_corporation_and_for_phones() {
    let (office, device) = Office::open(chinese_phone()).await;
    let browser = &office.browser;
    office.view("links", "#new-link").await;
    browser.click("#new-link").await;
    office.ask_for_link("wwpartner", "somebody.with.a.rather.long.identifier@partner.example.com", "user01").await;
    office.is_sound("the form on a phone").await;
    office.confirm(&device.next_code()).await;
    browser.wait_for("[data-act=remove]").await;
    office.is_sound("links on a phone").await;

    let (abroad, _) = office.app.partner_administrator().await;
    browser.script("sessionStorage.setItem('deskpass.token', arguments[0])", &[json!(abroad)]).await;
    browser.reload().await;
    browser.wait_for("#links .refusal").await;
}
