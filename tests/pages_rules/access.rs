//! The access matrix, and who can do what.

use deskpass_core::Role;
use serde_json::json;

use super::{Office, chinese_phone};
use crate::harness::{Options, full_picture};

const TILES: &str = "return [...document.querySelectorAll('.matrix tbody tr')].map((row) => ({
    role: row.dataset.role,
    tiles: [...row.querySelectorAll('.grant')].map(({ dataset }) => [dataset.resource, dataset.operation, dataset.scope]),
}))";
const NAMES: &str =
    "return [...document.querySelectorAll('.holders [data-role=agent] li')].map((who) => who.dataset.id)";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_picture_is_the_matrix_and_says_who_can_do_a_thing() {
    let (office, _) = Office::open(Options::default()).await;
    for number in 1..8 {
        office.app.add(&format!("helper{number}"), Role::Agent).await;
    }
    let browser = &office.browser;
    office.view("access", ".holders [data-role=agent] li").await;
    let matrix = office.get("/api/admin/matrix").await;
    for row in browser.script(TILES, &[]).await.as_array().unwrap() {
        let granted = matrix["items"].as_array().unwrap().iter().find(|item| item["role"] == row["role"]).unwrap();
        let tiles = row["tiles"].as_array().unwrap();
        assert_eq!(tiles.len(), 16);
        for tile in tiles {
            let scope = &granted["permissions"][tile[0].as_str().unwrap()][tile[1].as_str().unwrap()];
            assert_eq!(tile[2], scope.as_str().unwrap_or("none"), "{row}");
        }
    }
    let reach = "[data-role=agent] [data-resource=conversation][data-operation=read]";
    let words = browser.script(&format!("return document.querySelector('{reach}').textContent"), &[]).await;
    assert!(words.as_str().unwrap().contains("read: their department"), "not by its looks alone: {words}");
    let answer = "Administrator, Agent, Supervisor, and Security may read conversations of their department.";
    assert_eq!(browser.text("#answer").await, answer);
    assert!(browser.text("#who-can").await.contains("Only the active role counts."));
    assert_eq!(browser.text("[data-role=user] .verdict").await, "may not");

    // The people with the role, and more of them on request.
    assert_eq!(browser.text("[data-role=agent] .how-many").await, "9 people");
    assert_eq!(browser.script(NAMES, &[]).await.as_array().unwrap().len(), 6);
    full_picture(browser, "access").await;
    browser.click(".holders [data-role=agent] [data-act=more]").await;
    browser.wait_until("document.querySelectorAll('.holders [data-role=agent] li').length === 9").await;
    let seventh = browser.script("return document.activeElement.dataset.id", &[]).await;
    assert_eq!(seventh, browser.script(NAMES, &[]).await[6], "the focus stays there");
    let link = browser.script("return document.querySelector('.holders [data-role=agent] a').hash", &[]).await;
    assert_eq!(link, json!("#/people?role=agent"));

    // Another question, by the form and by the matrix.
    browser.type_into("#ask-operation", "delete").await;
    office.until_text("#answer", "Administrator may delete conversations of their department.").await;
    assert!(!office.shows(".holders [data-role=agent]").await, "an agent may not");
    browser.click("[data-role=user] [data-resource=knowledge][data-operation=read]").await;
    office.until_text("#answer", "may read knowledge of everyone.").await;
    assert_eq!(browser.text("[data-role=user] .verdict").await, "may");
    office.is_sound("access").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_matrix_can_be_read_on_a_phone_and_asked_for_again() {
    let (office, _) = Office::open(chinese_phone()).await;
    let browser = &office.browser;
    browser.block(&["*/api/admin/matrix"]).await;
    office.view("access", "#place .refusal").await;
    assert!(browser.text("#place .refusal").await.contains("无法连接服务器"));
    browser.block(&[]).await;
    browser.click("#place .refusal + button").await;
    browser.wait_for(".holders li").await;
    assert_eq!(browser.text("#answer").await, "管理员、坐席、主管和安全员可以查看本部门的对话。");
    let tile = browser.script("return document.querySelector('.grant').getBoundingClientRect().toJSON()", &[]).await;
    assert!(tile["width"].as_f64().unwrap() >= 44.0 && tile["height"].as_f64().unwrap() >= 44.0, "{tile}");
    browser.console().await;
    office.is_sound("access on a phone").await;
    full_picture(browser, "access-phone").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn supervisors_read_the_matrix_and_nothing_that_is_for_administrators() {
    let office = Office::of_person("supervisor01", "supervisor").await;
    office.view("access", ".holders li").await;
    assert!(office.browser.text("#holders").await.contains("Counts only people whom you may see"));
    for view in ["networks", "keys", "links"] {
        assert!(!office.shows(&format!("#views [href='#/{view}']")).await, "{view}");
    }
    office.view("networks", "#place h1").await;
    assert!(!office.shows("#lists").await);
}
