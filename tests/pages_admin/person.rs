use super::{CHINESE_PHONE, Office, answer, until_status, well_made};
use crate::harness::{Options, picture, request};

const MENU: &str = "#menu";

/// Everything about one person is on one page, and a change there is seen there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_has_a_page_with_sessions_entries_and_permissions() {
    let office = Office::open().await;
    office.token(["agent01", "agent"]).await;
    let browser = office.admin(Options::default(), "people?q=agent01").await;
    browser.click("tbody .to-person").await;
    browser.wait_for("#place[data-view=person] #sessions tbody tr").await;
    browser.wait_for("#entries tbody tr").await;
    browser.wait_for("#may .matrix").await;
    assert_eq!(browser.text("#place h1").await, "Arno Agent");
    assert!(browser.text("#credentials").await.contains("Off"));
    assert_eq!(browser.script("return document.querySelectorAll('#may tbody tr').length", &[]).await, 2);
    well_made(&browser, "a person").await;
    picture(&browser, "person").await;

    browser.click("#person [data-act=roles]").await;
    browser.wait_until("document.querySelector('#consequences')?.innerText === ''").await;
    browser.click("dialog [name=role_admin]").await;
    browser.click("dialog [name=role_agent]").await;
    assert_eq!(browser.text("#consequences").await, "Gives: Administrator. Removes: Agent.");
    browser.wait_for("dialog .button.danger").await;
    browser.click("dialog [name=role_admin]").await;
    browser.click("dialog [name=role_agent]").await;
    browser.click("dialog [name=role_security]").await;
    assert_eq!(browser.text("#consequences").await, "Gives: Security.");
    browser.wait_for("dialog .button.main").await;
    answer(&browser, &office.device.next_code()).await;
    until_status(&browser, "(agent01) has these roles now").await;
    browser.wait_until("document.querySelectorAll('#may tbody tr').length === 3").await;
    // The message belongs to this view.
    browser.click("#views [href='#/log']").await;
    browser.wait_until("!document.querySelector('#status-line').textContent").await;
    browser.wait_for("#log tbody tr").await;
    assert!(browser.text("#log tbody").await.contains("Arno Agent"), "entries have names");
}

/// An authenticator is unlocked and reset under "Agents", also that of a person who is not an agent. People without an assigned role
/// sign in with a default role, which is not an assigned one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_of_a_person_leads_to_their_authenticator_and_shows_a_default_role() {
    let office = Office::open().await;
    let mut client = office.app.client().await;
    let security = client.sign_in("security01").await;
    client.bind_device(&security, &office.app.clock).await;
    let browser = office.admin(Options::default(), "person?employee_id=security01").await;
    browser.wait_for("#credentials [href='#/agents']").await;

    browser.goto(&format!("http://{}/itadmin/#/person?employee_id=norole01", office.app.address)).await;
    browser.reload().await;
    browser.wait_until("document.querySelector('#place h1')?.textContent === 'Nora Norole'").await;
    browser.wait_for("#may .matrix").await;
    assert_eq!(browser.script("return document.querySelectorAll('#may tbody tr').length", &[]).await, 1);
    assert_eq!(browser.text("#person .tag").await, "Employee");
    assert!(browser.text("#person").await.contains("(default)"));
    assert!(!browser.text("#may").await.contains("cannot sign in"));
    well_made(&browser, "a person with a default role").await;
}

/// An identifier that seems to be another person's now is shown as such, and the person is confirmed on the page.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_administrator_confirms_who_has_an_identifier() {
    let office = Office::open().await;
    let mut client = office.app.client().await;
    client.sign_in_by_phone("supervisor01").await;
    let other = br#"{"name":"Nora New","email":"nora.new@example.com","another_person":true}"#;
    let json = [("content-type", "application/json")];
    assert_eq!(client.send(&request("PUT", "/sim/people/supervisor01", &json, other)).await.status, 200);
    client.sign_in_by_phone("supervisor01").await;
    let browser = office.admin(Options::default(), "person?employee_id=supervisor01").await;
    browser.wait_for("#person [data-tag=unconfirmed]").await;
    let shown = browser.text("#person").await;
    assert!(shown.contains("Sven Supervisor") && shown.contains("default role only"), "{shown}");
    well_made(&browser, "a person to be confirmed").await;
    browser.click("#person [data-act=confirm]").await;
    answer(&browser, &office.device.next_code()).await;
    until_status(&browser, "(supervisor01) is confirmed").await;
    browser.wait_until("!document.querySelector('#person [data-tag=unconfirmed]')").await;
}

/// On a phone every view can be reached from a menu, which closes after the choice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_phone_shows_a_menu_of_all_views() {
    let office = Office::open().await;
    let browser = office.admin(CHINESE_PHONE, "overview").await;
    browser.wait_for(MENU).await;
    browser.click(MENU).await;
    picture(&browser, "menu-phone").await;
    well_made(&browser, "the menu").await;
    browser.click("#views [href='#/keys']").await;
    browser.wait_for("#place[data-view=keys]").await;
    browser.wait_until("!document.querySelector('#views').hasAttribute('data-open')").await;
    assert!(browser.text(MENU).await.contains("服务密钥"));
    well_made(&browser, "the menu button").await;
}

/// The pages bear the name, the logo and the colour of the company.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_company_sees_its_own_name_logo_and_colour() {
    let office = Office::branded().await;
    for (options, accent) in [(Options::default(), "rgb(74, 20, 140)"), (CHINESE_PHONE, "rgb(152, 121, 189)")] {
        let browser = office.admin(options, "overview").await;
        browser.wait_for("#sign-out").await;
        assert_eq!(browser.text(".mark").await, "Example & Söhne");
        assert!(browser.script("return document.title", &[]).await.as_str().unwrap().ends_with("· Example & Söhne"));
        let logo = "return document.querySelector('.mark img').naturalWidth";
        assert_eq!(browser.script(logo, &[]).await, 40);
        let colour = "return getComputedStyle(document.querySelector('#sign-out')).color";
        assert_eq!(browser.script(colour, &[]).await, accent);
        well_made(&browser, "a branded page").await;
        picture(&browser, "branded").await;
    }
}
