//! The steps of the documents that lead from an empty service to the first change by its first administrator.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use serde_json::json;

use super::{hand_over, is_good, localized, nothing_was_blocked, people};
use crate::harness::{Browser, Device, Driver, Options, Platform, TestApp, binary, picture};

/// README and operations, in English and in Chinese.
const DOCUMENTS: [[&str; 2]; 2] = [
    [include_str!("../../README.md"), include_str!("../../docs/operations.md")],
    [include_str!("../../README.zh-CN.md"), include_str!("../../docs/zh/operations.md")],
];

/// What a document says: the command, and the names of what to press, in order.
#[derive(Debug)]
struct Steps<'a> {
    command: &'a str,
    presses: [&'a str; 7],
}

impl<'a> Steps<'a> {
    fn of(document: &'a str) -> Self {
        let headings = ["\n## The first administrator\n", "\n## 首位管理员\n"];
        let section = headings.iter().find_map(|heading| Some(document.split_once(heading)?.1)).expect("the section");
        let section = section.split("\n## ").next().unwrap();
        let (_, block) = section.split_once("```sh\n").expect("a command");
        let names: Vec<_> = section.split("**").skip(1).step_by(2).take(7).collect();
        Self { command: block.split_once("\n```").unwrap().0, presses: names.try_into().expect("seven names") }
    }

    /// Types the command on the machine of the service. The simulated platform knows `admin01`, and no `zhangsan`.
    fn type_command(&self, app: &TestApp, platform: &Platform, directory: &Path) {
        let path = directory.join("deskpass.toml");
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).unwrap();
        for (key, value) in platform.pairs() {
            writeln!(file, "{key} = {value:?}").unwrap();
        }
        writeln!(file, "data = \"{}\"", app.database().parent().unwrap().display()).unwrap();
        let typed = self.command.replace("/etc/deskpass/deskpass.toml", "deskpass.toml").replace("zhangsan", "admin01");
        let mut words = typed.split_whitespace();
        assert_eq!(words.next(), Some("deskpass"));
        let output = binary().args(words).current_dir(directory).output().unwrap();
        assert!(output.status.success(), "{typed}: {output:?}");
    }
}

/// Presses what has this name, within an element.
async fn press(browser: &Browser, within: &str, name: &str) {
    let found = format!(
        "[...(document.querySelector({}) || document.createElement('i')).querySelectorAll('a, button')]
            .find((one) => !one.disabled && one.textContent.trim() === {})",
        json!(within),
        json!(name)
    );
    browser.wait_until(&found).await;
    browser.script(&format!("{found}.click()"), &[]).await;
}

#[test]
fn both_documents_have_the_same_steps() {
    for [readme, operations] in DOCUMENTS {
        let [short, long] = [Steps::of(readme), Steps::of(operations)];
        assert_eq!(short.presses, long.presses);
        assert!(short.command.contains("--role admin") && !long.command.contains('\n'), "{short:?} {long:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_administrator_gets_from_the_command_line_to_the_first_change() {
    let driver = Driver::shared();
    let [english, chinese] = DOCUMENTS;
    for (options, document) in people().into_iter().zip([english[0], chinese[1]]) {
        plays(&driver, options, &Steps::of(document)).await;
    }
}

async fn plays(driver: &Driver, options: Options<'_>, steps: &Steps<'_>) {
    let (app, platform) = TestApp::production_with_platform(&[]).await;
    let directory = tempfile::tempdir().unwrap();
    steps.type_command(&app, &platform, directory.path());
    let mut client = app.client().await;
    platform.sign_in(&mut client, "user01").await;
    let token = platform.sign_in(&mut client, "admin01").await;
    let browser = driver.browser(options).await;
    hand_over(&browser, &app.address, &token, "/itadmin/").await;
    let [view, manage, roles, set_up, confirm, done, save] = steps.presses;
    press(&browser, "#views", view).await;
    press(&browser, r#"tr[data-id="wwdeskpass/user01"]"#, manage).await;
    press(&browser, ".below", roles).await;

    // Before any code is asked for, the page offers to set up an authenticator.
    browser.wait_for("#device-first").await;
    assert_eq!(browser.script("return document.querySelector('[name=code]')", &[]).await, json!(null));
    is_good(&browser, "no authenticator yet").await;
    picture(&browser, if options.phone { "device-first-phone" } else { "device-first" }).await;
    press(&browser, "#device-first", set_up).await;
    browser.wait_for("#device-secret").await;
    is_good(&browser, "setting it up in place").await;
    picture(&browser, if options.phone { "device-first-setup-phone" } else { "device-first-setup" }).await;
    let secret = browser.text("#device-secret").await.replace(' ', "");
    let device = Device::scan(&json!({ "secret": secret }), &app.clock);
    browser.type_into("#device-code", &device.code()).await;
    press(&browser, "#device-first", confirm).await;
    browser.wait_for("#recovery-codes").await;
    is_good(&browser, "recovery codes in place").await;
    picture(&browser, if options.phone { "device-first-codes-phone" } else { "device-first-codes" }).await;
    browser.click("#codes-seen").await;
    press(&browser, "#device-first", done).await;

    // The change goes on by itself.
    browser.wait_for("dialog [name=code]").await;
    is_good(&browser, "the change").await;
    browser.click("dialog [name=role_agent]").await;
    browser.type_into("dialog [name=code]", &device.next_code()).await;
    press(&browser, "dialog", save).await;
    let saved = localized(&options, "has these roles now", "已保存");
    browser.wait_until(&format!("document.querySelector('#status-line').textContent.includes({})", json!(saved))).await;
    let held = "SELECT role_id FROM user_role WHERE employee_key = 'user01' ORDER BY role_id";
    assert_eq!(app.query(held), ["2"], "what default_role gave was no assignment");
    nothing_was_blocked(&browser).await;
}

/// Without an administrator, the page says so and how to appoint one: to operators before the sign-in, and to those who are
/// signed in. As soon as the role is granted, the page goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_desk_without_administrator_says_so_until_there_is_one() {
    let driver = Driver::shared();
    for options in people() {
        let (app, platform) = TestApp::production_with_platform(&[]).await;
        let token = platform.sign_in(&mut app.client().await, "user01").await;
        let browser = driver.browser(options).await;
        browser.goto(&format!("http://{}/itadmin/", app.address)).await;
        browser.wait_for("#not-set-up .notice").await;
        let text = browser.text("#not-set-up").await;
        let title = localized(&options, "This desk is not set up yet", "服务台尚未设置完成");
        assert!(text.contains(title) && text.contains("deskpass role grant EMPLOYEE admin"), "{text}");
        is_good(&browser, "not set up").await;
        picture(&browser, if options.phone { "not-set-up-phone" } else { "not-set-up" }).await;
        hand_over(&browser, &app.address, &token, "/itadmin/").await;
        browser.wait_until("document.querySelector('#place code')").await;
        assert!(browser.text("#place").await.contains("user01"));
        is_good(&browser, "signed in, not set up").await;
        picture(&browser, if options.phone { "not-set-up-signed-in-phone" } else { "not-set-up-signed-in" }).await;
        app.auth().operator().grant(app.key("user01"), "admin").await.unwrap();
        browser.wait_for("#wrong-role [data-role=admin]").await;
        assert_eq!(browser.script("return document.querySelector('#place code')", &[]).await, json!(null));
        nothing_was_blocked(&browser).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_operators_read_before_the_sign_in_that_nobody_administers_the_desk() {
    let (app, _platform) = TestApp::production_with_platform(&[("server.operator_networks", "10.0.0.0/8")]).await;
    let browser = Driver::shared().browser(Options::default()).await;
    browser.goto(&format!("http://{}/itadmin/", app.address)).await;
    // What looks for an outage also decides about this.
    browser.wait_until("performance.getEntriesByType('resource').some((one) => one.name.endsWith('/api/ready'))").await;
    browser.wait_for("#welcome[data-state=waiting]").await;
    assert_eq!(browser.script("return document.querySelector('#not-set-up').hidden", &[]).await, json!(true));
}
