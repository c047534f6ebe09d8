use serde_json::json;

use super::{CHINESE_PHONE, Office, rows, well_made};
use crate::harness::{Driver, Options, TestApp, development};

/// A user with read access sees no button that would be refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_supervisor_and_a_security_officer_only_read() {
    let office = Office::open().await;
    let reading = "#/people #/signed_in #/access #/log #/account #/security";
    for (employee, role, seen, first) in
        [("supervisor01", "supervisor", 2, ""), ("security01", "security", 6, "#/overview ")]
    {
        let browser = office.signed_in(Options::default(), [employee, role], "people").await;
        rows(&browser, seen).await;
        let views =
            browser.script("return [...document.querySelectorAll('#views a')].map((a) => a.hash).join(' ')", &[]).await;
        assert_eq!(views, format!("{first}{reading}"));
        browser.click("[data-act=open]").await;
        let acts = "return document.querySelectorAll('.below button').length + ' ' + document.querySelectorAll('.below a').length";
        assert_eq!(browser.script(acts, &[]).await, "0 2");
        well_made(&browser, employee).await;
        browser.click("a[href='#/signed_in']").await;
        browser.wait_for("#place[data-view=signed_in] tbody tr").await;
        assert_eq!(browser.script("return document.querySelectorAll('td.acts').length", &[]).await, 0);
        // A link to a view without access leads to one with access.
        browser.script("location.hash = '#/agents'", &[]).await;
        browser.wait_until("['people', 'overview'].includes(document.querySelector('#place').dataset.view)").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_employee_learns_that_another_role_is_needed() {
    let office = Office::open().await;
    let browser = office.signed_in(CHINESE_PHONE, ["supervisor01", "user"], "people").await;
    browser.wait_for("#place[data-view=wrong_role]").await;
    well_made(&browser, "another role is needed").await;
    browser.click("[data-role=supervisor]").await;
    browser.wait_for("#place[data-view=people] tbody tr").await;
    // None of an agent's roles helps here, so none is offered.
    let browser = office.signed_in(Options::default(), ["agent01", "agent"], "people").await;
    browser.wait_for("#wrong-role a[href='/h5/']").await;
    assert_eq!(
        browser.script("return document.querySelectorAll('#wrong-role button, #roles-title').length", &[]).await,
        0
    );
    well_made(&browser, "no role helps").await;
}

/// Without a device, and where phones do not count, the page offers to set one up, in place of the question and its code; also when it is pressed twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_device_one_is_offered() {
    let app = TestApp::with(development(&[("approval.methods", "otp")])).await;
    let driver = Driver::shared();
    let browser = driver.browser(Options::default()).await;
    let token = app.client().await.sign_in("admin01").await;
    super::arrive(&browser, &app.address, &token, "people?q=user01").await;
    browser.click("[data-act=open]").await;
    let twice = "const button = document.querySelector('.below [data-act=disable]'); button.click(); button.click();";
    browser.script(twice, &[]).await;
    browser.wait_for("#device-first").await;
    well_made(&browser, "no device").await;
    let dialogs = "return [document.querySelectorAll('dialog').length, document.querySelector('[name=code]')]";
    assert_eq!(browser.script(dialogs, &[]).await, json!([1, null]));
    browser.click("#device-first [data-act=cancel]").await;
    browser.wait_until("!document.querySelector('dialog')").await;
    // Leaving the view removes the dialog; the next change offers it again.
    for _ in 0..2 {
        browser.script("document.querySelector('.below [data-act=disable]').click()", &[]).await;
        browser.wait_for("#device-first").await;
        browser.script("location.hash = '#/log'", &[]).await;
        browser.wait_for("#place[data-view=log]").await;
        browser.script("location.hash = '#/people?q=user01'", &[]).await;
        browser.wait_for("#place[data-view=people] [data-act=open]").await;
        browser.click("[data-act=open]").await;
        browser.wait_for(".below [data-act=disable]").await;
    }
}
