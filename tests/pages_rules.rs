//! The administrators' pages about rules: access matrix, role rules, allow-lists, service keys, connected
//! programs, and links of people of other corporations.

mod access;
mod keys;
mod links;
mod networks;
mod programs;
mod role_rules;

use serde_json::{Value, json};

use crate::harness::{Browser, Device, Driver, Options, TestApp};

fn chinese_phone() -> Options<'static> {
    Options { phone: true, language: "zh-CN", ..Options::default() }
}

/// A service with a browser in which a user is signed in.
struct Office {
    app: TestApp,
    token: String,
    browser: Browser,
    _driver: Driver,
}

impl Office {
    /// An administrator with a device.
    async fn open(options: Options<'_>) -> (Self, Device) {
        let app = TestApp::start().await;
        let (token, device) = app.administrator().await;
        (Self::of(app, token, options).await, device)
    }

    /// Follows the link to a view; on a phone it is in the menu.
    async fn choose_view(&self, view: &str) {
        let is_in_menu = "return document.querySelector('#menu').checkVisibility()";
        if self.browser.script(is_in_menu, &[]).await == true {
            self.browser.click("#menu").await;
        }
        self.browser.click(&format!("#views [href='#/{view}']")).await;
    }

    /// Makes the page wait in vain for what it reads from this path.
    async fn stop_reading(&self, path: &str) {
        let is_read = format!("String(path).endsWith('{path}') && (options.method || 'GET') === 'GET'");
        let held = format!("{is_read} ? new Promise(() => {{}}) : window.ownFetch(path, options)");
        let script = format!("window.ownFetch ??= window.fetch; window.fetch = (path, options = {{}}) => {held}");
        self.browser.script(&script, &[]).await;
    }

    /// Lets the page read again.
    async fn read_again(&self) {
        self.browser.script("window.fetch = window.ownFetch", &[]).await;
    }

    /// An employee without a device, in one of their roles.
    async fn of_person(employee: &str, role: &str) -> Self {
        let app = TestApp::start().await;
        let mut client = app.client().await;
        let token = client.sign_in(employee).await;
        client.switch(&token, role).await.data();
        Self::of(app, token, Options::default()).await
    }

    async fn of(app: TestApp, token: String, options: Options<'_>) -> Self {
        let driver = Driver::shared();
        let browser = driver.browser(options).await;
        browser.goto(&format!("http://{}/version", app.address)).await;
        browser.script("sessionStorage.setItem('deskpass.token', arguments[0])", &[json!(token)]).await;
        Self { app, token, browser, _driver: driver }
    }

    /// Opens a view of the administration and waits for this element.
    async fn view(&self, name: &str, shown: &str) {
        self.browser.goto(&format!("http://{}/itadmin/#/{name}", self.app.address)).await;
        self.browser.wait_for(shown).await;
    }

    /// Answers the dialog with a code.
    async fn confirm(&self, code: &str) {
        self.browser.wait_for("dialog #field-code").await;
        self.browser.script("document.querySelector('#field-code').value = ''", &[]).await;
        self.browser.type_into("#field-code", code).await;
        self.browser.click("dialog [type=submit]").await;
    }

    /// Waits until the dialog says what is wrong.
    async fn refused(&self, why: &str) {
        self.until_text("dialog .refusal", why).await;
    }

    /// Waits until the page shows a message.
    async fn until_status(&self, text: &str) {
        self.until_text("#status-line", text).await;
        self.browser.wait_until("!document.querySelector('dialog')").await;
    }

    async fn until_text(&self, css: &str, text: &str) {
        let (css, text) = (Value::from(css), Value::from(text));
        self.browser.wait_until(&format!("document.querySelector({css})?.textContent.includes({text})")).await;
    }

    /// Replaces the text of a field, as a person does.
    async fn rewrite(&self, css: &str, text: &str) {
        let empty =
            "const it = document.querySelector(arguments[0]); it.value = ''; it.dispatchEvent(new Event('input'))";
        self.browser.script(empty, &[json!(css)]).await;
        self.browser.type_into(css, text).await;
    }

    /// Whether an element is visible.
    async fn shows(&self, css: &str) -> bool {
        let look = "return Boolean(document.querySelector(arguments[0])?.getClientRects().length)";
        self.browser.script(look, &[json!(css)]).await == json!(true)
    }

    /// The response of the service to the signed-in user.
    async fn get(&self, path: &str) -> Value {
        self.app.client().await.get_as(&self.token, path).await.data()
    }

    /// Asserts that nothing is wider than the screen, that the page is accessible, and that nothing was blocked.
    async fn is_sound(&self, what: &str) {
        let wide = self.browser.script("return document.documentElement.scrollWidth - innerWidth", &[]).await;
        assert!(wide.as_i64().unwrap() <= 0, "{what} is {wide} too wide");
        self.browser.assert_accessible(what).await;
        for line in self.browser.console().await {
            // A refusal is a valid response; the browser logs it as an error all the same.
            assert!(line.contains("the server responded with a status of 4"), "{what}: {line}");
        }
    }
}
