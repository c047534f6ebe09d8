//! A real browser, driven through chromedriver: just the few verbs that the pages' tests need.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long a page may take to become what a test waits for.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the driver itself may take for one answer; a cold start of the browser is the longest.
const ANSWER: Duration = Duration::from_mins(1);
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// The name under which the driver hands out elements.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";
const PHONE: &str = "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) \
                     Chrome/126.0.0.0 Mobile Safari/537.36";
const ARGUMENTS: [&str; 9] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-breakpad",
    "--no-first-run",
];

/// A running chromedriver.
#[derive(Debug)]
pub(crate) struct Driver {
    child: Child,
    address: String,
    /// Kept open, since the driver writes to it now and then.
    _stdout: BufReader<ChildStdout>,
}

/// What kind of browser.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options<'a> {
    pub(crate) phone: bool,
    pub(crate) language: &'a str,
    pub(crate) dark: bool,
    pub(crate) user_agent: Option<&'a str>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { phone: false, language: "en", dark: false, user_agent: None }
    }
}

impl Options<'_> {
    fn capabilities(&self, profile: &Path) -> Value {
        let mut arguments: Vec<_> = ARGUMENTS.map(str::to_owned).into();
        arguments.push(format!("--user-data-dir={}", profile.display()));
        arguments.push(format!("--lang={}", self.language));
        arguments.push(format!("--accept-lang={}", self.language));
        arguments.push("--window-size=1280,860".to_owned());
        arguments.extend(self.user_agent.map(|name| format!("--user-agent={name}")));
        let mut chrome = json!({ "args": arguments });
        if self.phone {
            let metrics = json!({ "width": 390, "height": 844, "pixelRatio": 2, "touch": true });
            let name = self.user_agent.unwrap_or(PHONE);
            chrome["mobileEmulation"] = json!({ "deviceMetrics": metrics, "userAgent": name });
        }
        let always = json!({ "goog:chromeOptions": chrome, "goog:loggingPrefs": { "browser": "ALL" } });
        json!({ "capabilities": { "alwaysMatch": always } })
    }
}

impl Driver {
    /// Starts chromedriver on a free port.
    pub(crate) fn start() -> Self {
        // In a group of its own, together with its browsers, so that one signal ends them all.
        let mut command = Command::new("chromedriver");
        command.arg("--port=0").process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("chromedriver starts; tools/chromium installs it");
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let port = stdout.by_ref().lines().map_while(Result::ok).find_map(|line| {
            let port = line.split_once("started successfully on port ")?.1;
            Some(port.trim_end_matches('.').to_owned())
        });
        let address = format!("127.0.0.1:{}", port.expect("chromedriver names its port"));
        Self { child, address, _stdout: stdout }
    }

    /// Opens a browser with a profile of its own.
    pub(crate) async fn browser(&self, options: Options<'_>) -> Browser {
        let profile = tempfile::tempdir().unwrap();
        let asked = options.capabilities(profile.path());
        let address = self.address.clone();
        let made = exchange_aside(address.clone(), "POST", "/session".to_owned(), Some(asked)).await.unwrap();
        let session = format!("/session/{}", made["sessionId"].as_str().unwrap());
        let browser = Browser { address, session, _profile: profile };
        let scheme = if options.dark { "dark" } else { "light" };
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        let media = json!({ "cmd": "Emulation.setEmulatedMedia", "params": { "features": features } });
        browser.post("/goog/cdp/execute", media).await;
        browser
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let group = format!("-{}", self.child.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        let _ = self.child.wait();
    }
}

/// One browser with one window.
#[derive(Debug)]
pub(crate) struct Browser {
    address: String,
    session: String,
    _profile: TempDir,
}

impl Browser {
    pub(crate) async fn goto(&self, url: &str) {
        self.post("/url", json!({ "url": url })).await;
    }

    /// Loads the page again.
    pub(crate) async fn reload(&self) {
        self.post("/refresh", json!({})).await;
    }

    pub(crate) async fn url(&self) -> String {
        self.get("/url").await.as_str().unwrap().to_owned()
    }

    /// Runs the body of a function in the page and returns what it returns.
    pub(crate) async fn script(&self, body: &str, arguments: &[Value]) -> Value {
        self.post("/execute/sync", json!({ "script": body, "args": arguments })).await
    }

    /// The text of an element as a person sees it: empty while it is hidden.
    pub(crate) async fn text(&self, css: &str) -> String {
        let element = self.element(css).await;
        self.get(&format!("/element/{element}/text")).await.as_str().unwrap().to_owned()
    }

    /// Presses on an element as a person does, once it can be seen.
    pub(crate) async fn click(&self, css: &str) {
        self.wait_for(css).await;
        let element = self.element(css).await;
        self.post(&format!("/element/{element}/click"), json!({})).await;
    }

    pub(crate) async fn type_into(&self, css: &str, text: &str) {
        self.wait_for(css).await;
        let element = self.element(css).await;
        self.post(&format!("/element/{element}/value"), json!({ "text": text })).await;
    }

    /// Waits until an element can be seen.
    pub(crate) async fn wait_for(&self, css: &str) {
        let css = Value::from(css);
        self.wait_until(&format!("document.querySelector({css})?.getClientRects().length > 0")).await;
    }

    /// Waits until an expression in the page becomes true.
    pub(crate) async fn wait_until(&self, condition: &str) {
        let script = json!({ "script": format!("return Boolean({condition})"), "args": [] });
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            // A page that is just being replaced cannot answer; the next one will.
            if self.ask("POST", "/execute/sync", Some(script.clone())).await == Ok(Value::Bool(true)) {
                return;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        let page = self.script("return document.body.innerText", &[]).await;
        let (url, console) = (self.url().await, self.console().await);
        panic!("{condition} has not become true at {url}\nthe page: {page}\nits console: {console:#?}");
    }

    /// What the page wrote to its console since the last look; refusals of the content policy are among it.
    pub(crate) async fn console(&self) -> Vec<String> {
        let entries = self.post("/se/log", json!({ "type": "browser" })).await;
        let word = |entry: &Value, name: &str| entry[name].as_str().unwrap().to_owned();
        let entries = entries.as_array().unwrap().iter();
        entries.map(|entry| format!("{} {}", word(entry, "level"), word(entry, "message"))).collect()
    }

    /// Keeps a picture of the window.
    pub(crate) async fn screenshot(&self, path: &Path) {
        let picture = self.get("/screenshot").await;
        std::fs::write(path, STANDARD.decode(picture.as_str().unwrap()).unwrap()).unwrap();
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
        exchange_aside(self.address.clone(), method, format!("{}{path}", self.session), body).await
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Also while a test panics: the browser must be gone before its profile is. The driver kills what stays.
        let _ = exchange(&self.address, "DELETE", &self.session, None);
    }
}

/// Talks to the driver on a thread that may wait, so that a desk in the same runtime goes on serving.
async fn exchange_aside(
    address: String,
    method: &'static str,
    path: String,
    body: Option<Value>,
) -> Result<Value, String> {
    let talk = move || exchange(&address, method, &path, body.as_ref());
    tokio::task::spawn_blocking(talk).await.unwrap()
}

/// One command to the driver: what it answers, or why it will not. Blocking, since sessions end in a `Drop`.
fn exchange(address: &str, method: &str, path: &str, body: Option<&Value>) -> Result<Value, String> {
    let body = body.map(Value::to_string).unwrap_or_default();
    let length = body.len();
    let request = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n{body}");
    let answer = converse(address, &request).map_err(|error| error.to_string())?;
    let value = serde_json::from_slice::<Value>(&answer).map_err(|error| error.to_string())?["value"].take();
    match value["error"].as_str() {
        Some(error) if value["stacktrace"].is_string() => Err(format!("{error}: {}", value["message"])),
        _ => Ok(value),
    }
}

/// Sends a request and reads the body of its answer.
fn converse(address: &str, request: &str) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(ANSWER))?;
    stream.write_all(request.as_bytes())?;
    let mut answer = BufReader::new(stream);
    let (mut length, mut line) = (0, String::new());
    while answer.read_line(&mut line)? > 2 {
        // The driver puts no space after the colon.
        if let Some((_, value)) = line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("content-length")) {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    answer.read_exact(&mut body)?;
    Ok(body)
}
