//! The administration in a real browser, at a service whose clock the test owns.

mod agents;
mod approvals;
mod errors;
mod export;
mod log;
mod overview;
mod people;
mod person;
mod readers;
mod sessions;
mod translations;

use deskpass_core::Clock;
use serde_json::{Value, json};

use crate::harness::{Browser, Device, Driver, Options, TestApp, settings};

/// A phone whose user reads Chinese.
const CHINESE_PHONE: Options<'_> =
    Options { phone: true, language: "zh-CN", dark: true, user_agent: None, resolver_rules: None, features: &[] };

/// The number of rows that a list shows.
const ROWS: &str = "document.querySelectorAll('.listing tbody tr:not(.below)').length";

/// A service with an administrator who has a device.
struct Office {
    app: TestApp,
    driver: Driver,
    device: Device,
}

impl Office {
    async fn open() -> Self {
        Self::with(TestApp::start().await).await
    }

    /// An office of a company with a name, a logo and a colour of its own.
    async fn branded() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let logo = directory.path().join("logo.svg");
        let image =
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="40" height="26"><rect width="40" height="26"/></svg>"#;
        std::fs::write(&logo, image).unwrap();
        let brand = [("branding.name", "Example & Söhne"), ("branding.accent", "#4a148c")];
        let given = [("development.enabled", "true"), ("branding.logo", logo.to_str().unwrap()), brand[0], brand[1]];
        Self::with(TestApp::with(settings(&given)).await).await
    }

    async fn with(app: TestApp) -> Self {
        let device = app.agent_with_device("admin01").await;
        Self { app, driver: Driver::shared(), device }
    }

    /// The administrator's browser, at a view.
    async fn admin(&self, options: Options<'_>, view: &str) -> Browser {
        self.signed_in(options, ["admin01", "admin"], view).await
    }

    /// The browser of an employee who acts in one of their roles, at a view.
    async fn signed_in(&self, options: Options<'_>, who: [&str; 2], view: &str) -> Browser {
        let browser = self.driver.browser(options).await;
        keep_time(&browser, &self.app.clock).await;
        let token = self.token(who).await;
        arrive(&browser, &self.app.address, &token, view).await;
        browser
    }

    /// A session of an employee in one of their roles.
    async fn token(&self, [employee, role]: [&str; 2]) -> String {
        let mut client = self.app.client().await;
        let token = client.sign_in(employee).await;
        if client.me(&token).await.data()["current_role"] != role {
            client.switch(&token, role).await.data();
        }
        token
    }

    /// Answers the dialog with the next valid code.
    async fn confirm(&self, browser: &Browser) {
        answer(browser, &self.device.next_code()).await;
        browser.wait_until("!document.querySelector('dialog')").await;
    }
}

/// Sets the page's clock to the service's, so that both have the same day.
async fn keep_time(browser: &Browser, clock: &Clock) {
    let now = clock.now().millis();
    let source = format!(
        "{{ const Real = Date; const ahead = {now} - Real.now();
            window.Date = class extends Real {{
                constructor(...given) {{ given.length ? super(...given) : super(Real.now() + ahead); }}
                static now() {{ return Real.now() + ahead; }}
            }}; }}"
    );
    browser.cdp("Page.addScriptToEvaluateOnNewDocument", json!({ "source": source })).await;
}

/// Opens a view with the token of a session.
async fn arrive(browser: &Browser, address: &str, token: &str, view: &str) {
    browser.goto(&format!("http://{address}/healthz")).await;
    browser.script("sessionStorage.setItem('deskpass.token', arguments[0])", &[json!(token)]).await;
    browser.goto(&format!("http://{address}/itadmin/#/{view}")).await;
    browser.wait_for("#place .panel").await;
}

/// Answers the dialog with a code.
async fn answer(browser: &Browser, code: &str) {
    browser.wait_for("dialog [name=code]").await;
    browser.script("document.querySelector('dialog [name=code]').value = ''", &[]).await;
    browser.type_into("dialog [name=code]", code).await;
    browser.click("dialog [type=submit]").await;
}

/// Waits until the dialog shows a refusal with these words.
async fn refused(browser: &Browser, words: &str) {
    let words = Value::from(words);
    browser
        .wait_until(&format!("document.querySelector('dialog .refusal:not([hidden])')?.textContent.includes({words})"))
        .await;
}

/// Waits until the page shows a message with these words.
async fn until_status(browser: &Browser, words: &str) {
    browser
        .wait_until(&format!("document.querySelector('#status-line').textContent.includes({})", Value::from(words)))
        .await;
}

/// Waits until a list has this many rows.
async fn rows(browser: &Browser, count: usize) {
    browser.wait_until(&format!("{ROWS} === {count} && !document.querySelector('.foot .lead:not(.empty)')")).await;
}

/// Replaces the text of a filter.
async fn filter(browser: &Browser, name: &str, text: &str) {
    browser.script(&format!("document.querySelector('#filter-{name}').value = ''"), &[]).await;
    browser.type_into(&format!("#filter-{name}"), text).await;
}

/// Chooses an option of a filter.
async fn choose(browser: &Browser, name: &str, value: &str) {
    let chosen = "const select = document.querySelector('#filter-' + arguments[0]); select.value = arguments[1];
        select.dispatchEvent(new Event('change', { bubbles: true }));";
    browser.script(chosen, &[json!(name), json!(value)]).await;
}

/// Asserts that nothing requires horizontal scrolling, that the page is accessible, and that the content policy blocked nothing.
async fn well_made(browser: &Browser, what: &str) {
    let wider = "return document.documentElement.scrollWidth > document.documentElement.clientWidth";
    assert_eq!(browser.script(wider, &[]).await, false, "{what} is wider than the screen");
    browser.assert_accessible(what).await;
    for line in browser.console().await {
        assert!(!line.contains("Content Security Policy") && !line.contains("TrustedHTML"), "{what}: {line}");
    }
}
