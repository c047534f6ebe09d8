//! A real browser, driven through chromedriver, with the operations that the pages' tests need.

mod axe;
mod driver;
mod keyboard;
mod network;
mod picture;
mod wire;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use driver::Session;
pub(crate) use driver::{Driver, Feature, Options, Viewport};
pub(crate) use keyboard::Key;
pub(crate) use network::Network;
pub(crate) use picture::{full_picture, picture};
use wire::{exchange, exchange_aside};

/// The limit of a wait: long, so that only a condition that never holds fails a test on a busy machine.
const WAIT_TIMEOUT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Resolves to whether a condition became true within a second.
const WAIT_SCRIPT: &str = "return new Promise((resolve) => {
    const end = performance.now() + 1000;
    const look = () => {
        let holds = false;
        try { holds = Boolean(CONDITION); } catch { /* the page is not complete yet */ }
        if (holds || performance.now() > end) resolve(holds); else setTimeout(look, 10);
    };
    look();
})";
/// The key under which the driver returns elements.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// One browser with one window.
#[derive(Debug)]
pub(crate) struct Browser {
    driver: Driver,
    /// Taken when it is given back.
    session: Option<Session>,
}

impl Browser {
    pub(crate) async fn goto(&self, url: &str) {
        self.post("/url", json!({ "url": url })).await;
    }

    /// Loads the page again.
    pub(crate) async fn reload(&self) {
        self.post("/refresh", json!({})).await;
    }

    /// The current tab, for [`Browser::switch_to`].
    pub(crate) async fn tab(&self) -> String {
        self.get("/window").await.as_str().unwrap().to_owned()
    }

    /// Opens another tab of the same browser, as a user does, and switches to it.
    pub(crate) async fn open_tab(&self) {
        let tab = self.post("/window/new", json!({ "type": "tab" })).await;
        self.switch_to(tab["handle"].as_str().unwrap()).await;
    }

    pub(crate) async fn switch_to(&self, tab: &str) {
        self.post("/window", json!({ "handle": tab })).await;
    }

    /// Closes the current tab and switches to another one.
    pub(crate) async fn close_tab(&self, next: &str) {
        self.ask("DELETE", "/window", None).await.unwrap();
        self.switch_to(next).await;
    }

    pub(crate) async fn url(&self) -> String {
        self.get("/url").await.as_str().unwrap().to_owned()
    }

    /// Runs the body of a function in the page and returns what it returns.
    pub(crate) async fn script(&self, body: &str, arguments: &[Value]) -> Value {
        self.post("/execute/sync", json!({ "script": body, "args": arguments })).await
    }

    /// The visible text of an element: empty while it is hidden.
    pub(crate) async fn text(&self, css: &str) -> String {
        let element = self.element(css).await;
        self.get(&format!("/element/{element}/text")).await.as_str().unwrap().to_owned()
    }

    /// Clicks an element as a user does, once it is visible and enabled.
    pub(crate) async fn click(&self, css: &str) {
        let enabled = format!("!document.querySelector({})?.disabled", Value::from(css));
        self.wait_until(&format!("{} && {enabled}", is_visible(css))).await;
        let element = self.element(css).await;
        self.post(&format!("/element/{element}/click"), json!({})).await;
    }

    pub(crate) async fn type_into(&self, css: &str, text: &str) {
        self.wait_for(css).await;
        let element = self.element(css).await;
        self.post(&format!("/element/{element}/value"), json!({ "text": text })).await;
    }

    /// Waits until an element is visible.
    pub(crate) async fn wait_for(&self, css: &str) {
        self.wait_until(&is_visible(css)).await;
    }

    /// Waits until an expression in the page becomes true. The page itself looks again and again: a command for each look would
    /// keep a processor busy.
    pub(crate) async fn wait_until(&self, condition: &str) {
        let script = json!({ "script": WAIT_SCRIPT.replace("CONDITION", condition), "args": [] });
        let deadline = Instant::now() + WAIT_TIMEOUT;
        while Instant::now() < deadline {
            // A page that is being replaced cannot respond; the next one will.
            if self.ask("POST", "/execute/sync", Some(script.clone())).await == Ok(Value::Bool(true)) {
                return;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        let page = self.script("return document.body.innerText", &[]).await;
        let (url, console) = (self.url().await, self.console().await);
        panic!("{condition} has not become true at {url}\nthe page: {page}\nits console: {console:#?}");
    }

    /// The console messages since the last call; violations of the content policy are among them.
    pub(crate) async fn console(&self) -> Vec<String> {
        let word = |entry: &Value, name: &str| entry[name].as_str().unwrap().to_owned();
        let entries = self.log("browser").await;
        entries.iter().map(|entry| format!("{} {}", word(entry, "level"), word(entry, "message"))).collect()
    }

    /// The entries of one of the driver's logs since the last call.
    async fn log(&self, which: &str) -> Vec<Value> {
        let Value::Array(entries) = self.post("/se/log", json!({ "type": which })).await else {
            panic!("the log {which} is no list");
        };
        entries
    }

    /// Runs a command of the `DevTools` protocol of Chromium.
    pub(crate) async fn cdp(&self, command: &str, parameters: Value) -> Value {
        self.post("/goog/cdp/execute", json!({ "cmd": command, "params": parameters })).await
    }

    /// Lets the page use the clipboard without a prompt, and returns its content.
    pub(crate) async fn clipboard(&self) -> String {
        self.allow_clipboard().await;
        self.script("return navigator.clipboard.readText()", &[]).await.as_str().unwrap().to_owned()
    }

    /// Lets the page use the clipboard without a prompt.
    pub(crate) async fn allow_clipboard(&self) {
        for name in ["clipboard-read", "clipboard-write"] {
            let asked = json!({ "descriptor": { "name": name }, "state": "granted" });
            self.post("/permissions", asked).await;
        }
    }

    async fn element(&self, css: &str) -> String {
        let found = self.post("/element", json!({ "using": "css selector", "value": css })).await;
        found[ELEMENT].as_str().unwrap().to_owned()
    }

    async fn get(&self, path: &str) -> Value {
        self.ask("GET", path, None).await.unwrap_or_else(|why| panic!("{path}: {why}"))
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        let shown = body.to_string();
        self.ask("POST", path, Some(body)).await.unwrap_or_else(|why| panic!("{path} {shown}: {why}"))
    }

    async fn ask(&self, method: &'static str, path: &str, body: Option<Value>) -> Result<Value, String> {
        let session = self.session();
        exchange_aside(session.address.clone(), method, format!("{}{path}", session.path), body).await
    }

    fn session(&self) -> &Session {
        self.session.as_ref().expect("a browser has a session until it is dropped")
    }

    /// Makes a browser that another test used as good as new: another tab, and nothing that the former tabs left behind.
    async fn forget_everything(&self) {
        let old = self.get("/window/handles").await;
        let new = self.post("/window/new", json!({ "type": "tab" })).await["handle"].take();
        for handle in old.as_array().unwrap() {
            self.post("/window", json!({ "handle": handle })).await;
            self.ask("DELETE", "/window", None).await.unwrap();
        }
        self.post("/window", json!({ "handle": new })).await;
        self.ask("DELETE", "/chromium/network_conditions", None).await.unwrap();
        self.cdp("Page.bringToFront", json!({})).await;
        self.cdp("Browser.resetPermissions", json!({})).await;
        self.cdp("Network.clearBrowserCookies", json!({})).await;
        self.cdp("Network.clearBrowserCache", json!({})).await;
        self.cdp(
            "Storage.clearDataForOrigin",
            json!({ "origin": "*", "storageTypes": "local_storage,indexeddb,cache_storage,service_workers" }),
        )
        .await;
        self.log("browser").await;
        if self.session().records_transfers() {
            self.log("performance").await;
        }
    }
}

/// An expression for whether an element is visible; one that has not faded in yet is not.
fn is_visible(css: &str) -> String {
    format!("document.querySelector({})?.checkVisibility({{ opacityProperty: true }})", Value::from(css))
}

impl Drop for Browser {
    fn drop(&mut self) {
        let Some(session) = self.session.take() else { return };
        // What state the browser of a failed test is in is unknown.
        if std::thread::panicking() { session.end() } else { self.driver.give_back(session) }
    }
}
