//! Starts chromedriver and opens browsers.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, OnceLock};

use serde_json::{Value, json};

use super::{Browser, exchange, exchange_aside};

const PHONE: &str = "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) \
                     Chrome/126.0.0.0 Mobile Safari/537.36";
const ARGUMENTS: [&str; 9] = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-breakpad",
    "--no-first-run",
    // Every page load would start another process in advance, which the short life of a test never uses.
    "--disable-features=SpareRendererForSitePerProcess",
];

/// Chromium without a user interface: the same engine at half the processor time.
const HEADLESS_SHELL: &str = "chromium-headless-shell";

/// Runs chromedriver until standard input ends, which it does with this process however that ends. Then ends all browsers, which
/// are in the driver's process group, and removes their profiles.
const KEEPER: &str = r#"setsid chromedriver --port=0 & driver=$!; read -r _; kill -KILL -$driver; rm -rf "$1""#;

/// The number of browsers that are kept for the next test.
const MAX_IDLE: usize = 6;

/// The chromedriver that all tests of this process share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Driver(&'static Chromedriver);

/// A running chromedriver.
#[derive(Debug)]
struct Chromedriver {
    address: String,
    /// Browsers that no test uses, the longest unused first.
    idle: Mutex<Vec<Session>>,
    /// Kept open: the driver ends with its input, and writes to its output occasionally.
    _pipes: (ChildStdin, BufReader<ChildStdout>),
}

/// A browser process with what it was started with.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) address: String,
    pub(super) path: String,
    pub(super) phone: bool,
    /// The capabilities: browsers with the same ones are interchangeable.
    kind: Value,
}

/// The two viewports that every page supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Viewport {
    /// 390 by 844, with touch.
    Phone,
    /// 1280 wide, with a mouse.
    Desktop,
}

impl Viewport {
    pub(crate) const BOTH: [Self; 2] = [Self::Phone, Self::Desktop];

    /// The name of the viewport in the names of pictures.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Phone => "phone",
            Self::Desktop => "desktop",
        }
    }
}

/// What only some tests need of their browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feature {
    /// [`Browser::transferred`] can be used: the driver keeps every event of the network, which is slow.
    TransferLog,
    /// The browser keeps the page that a user leaves, to restore it when the user goes back.
    BackForwardCache,
    /// Certificates of unknown authorities are accepted.
    AnyCertificate,
}

/// The options of a browser.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options<'a> {
    pub(crate) phone: bool,
    pub(crate) language: &'a str,
    pub(crate) dark: bool,
    pub(crate) user_agent: Option<&'a str>,
    /// The names that resolve differently, in the format of `--host-resolver-rules`.
    pub(crate) resolver_rules: Option<&'a str>,
    pub(crate) features: &'a [Feature],
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { phone: false, language: "en", dark: false, user_agent: None, resolver_rules: None, features: &[] }
    }
}

impl Options<'_> {
    /// A browser with this viewport.
    pub(crate) fn on(viewport: Viewport) -> Self {
        Self { phone: viewport == Viewport::Phone, ..Self::default() }
    }

    fn capabilities(&self) -> Value {
        let mut arguments: Vec<_> = ARGUMENTS.map(str::to_owned).into();
        arguments.push(format!("--lang={}", self.language));
        arguments.push(format!("--accept-lang={}", self.language));
        arguments.push("--window-size=1280,860".to_owned());
        arguments.extend(self.user_agent.map(|name| format!("--user-agent={name}")));
        arguments.extend(self.resolver_rules.map(|rules| format!("--host-resolver-rules={rules}")));
        // The shell has no such cache.
        let shell = headless_shell().filter(|_| !self.features.contains(&Feature::BackForwardCache));
        if shell.is_none() {
            arguments.push("--headless=new".to_owned());
        }
        let mut chrome = json!({ "args": arguments });
        if let Some(shell) = shell {
            chrome["binary"] = json!(shell);
        }
        if self.phone {
            let metrics = json!({ "width": 390, "height": 844, "pixelRatio": 2, "touch": true });
            let name = self.user_agent.unwrap_or(PHONE);
            chrome["mobileEmulation"] = json!({ "deviceMetrics": metrics, "userAgent": name });
        }
        let mut logs = json!({ "browser": "ALL" });
        if self.features.contains(&Feature::TransferLog) {
            logs["performance"] = json!("ALL");
        }
        let mut always = json!({ "goog:chromeOptions": chrome, "goog:loggingPrefs": logs });
        if self.features.contains(&Feature::AnyCertificate) {
            always["acceptInsecureCerts"] = json!(true);
        }
        json!({ "capabilities": { "alwaysMatch": always } })
    }
}

fn headless_shell() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(HEADLESS_SHELL)).find(|file| file.is_file())
}

impl Driver {
    pub(crate) fn shared() -> Self {
        static SHARED: OnceLock<Chromedriver> = OnceLock::new();
        Self(SHARED.get_or_init(Chromedriver::start))
    }

    /// A browser without a history, cookies or anything else of an earlier test. Its process may be older: to start one takes
    /// longer than most tests.
    pub(crate) async fn browser(self, options: Options<'_>) -> Browser {
        let kind = options.capabilities();
        let browser = match self.0.take(&kind) {
            Some(session) => {
                let browser = Browser { driver: self, session: Some(session) };
                browser.forget_everything().await;
                browser
            }
            None => Browser { driver: self, session: Some(self.0.open(kind, options.phone).await) },
        };
        let scheme = if options.dark { "dark" } else { "light" };
        // Animations take time and show nothing that a test looks for.
        let features = json!([
            { "name": "prefers-color-scheme", "value": scheme },
            { "name": "prefers-reduced-motion", "value": "reduce" },
        ]);
        browser.cdp("Emulation.setEmulatedMedia", json!({ "features": features })).await;
        browser
    }

    /// Keeps a browser for the next test.
    pub(super) fn give_back(self, session: Session) {
        // The page must not go on talking to a service that is gone.
        let blank = json!({ "url": "about:blank" });
        if exchange(&session.address, "POST", &format!("{}/url", session.path), Some(&blank)).is_err() {
            return session.end();
        }
        let mut idle = self.0.idle.lock().unwrap();
        idle.push(session);
        let surplus = (idle.len() > MAX_IDLE).then(|| idle.remove(0));
        drop(idle);
        if let Some(session) = surplus {
            session.end();
        }
    }
}

impl Chromedriver {
    /// Starts chromedriver on a free port. It binds the same port for IPv4 and for IPv6: under load the second may be taken by
    /// then, and it exits.
    fn start() -> Self {
        (0..5).find_map(|_| Self::try_start()).expect("chromedriver names its port; tools/chromium installs it")
    }

    fn try_start() -> Option<Self> {
        let profiles = tempfile::tempdir().unwrap().keep();
        let mut command = Command::new("sh");
        command.args(["-c", KEEPER, "sh"]).arg(&profiles).env("TMPDIR", &profiles);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (stdin, mut stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let port = stdout.by_ref().lines().map_while(Result::ok).find_map(|line| {
            let port = line.split_once("started successfully on port ")?.1;
            Some(port.trim_end_matches('.').to_owned())
        });
        let Some(port) = port else {
            drop(stdin);
            let _ = child.wait();
            return None;
        };
        Some(Self { address: format!("127.0.0.1:{port}"), idle: Mutex::default(), _pipes: (stdin, stdout) })
    }

    /// The browser of this kind that was used last.
    fn take(&self, kind: &Value) -> Option<Session> {
        let mut idle = self.idle.lock().unwrap();
        let at = idle.iter().rposition(|session| session.kind == *kind)?;
        Some(idle.remove(at))
    }

    /// Starts a browser. The driver gives it a profile of its own, in its temporary folder.
    async fn open(&self, kind: Value, phone: bool) -> Session {
        let asked = Some(kind.clone());
        let made = exchange_aside(self.address.clone(), "POST", "/session".to_owned(), asked).await.unwrap();
        let path = format!("/session/{}", made["sessionId"].as_str().unwrap());
        Session { address: self.address.clone(), path, phone, kind }
    }
}

impl Session {
    /// Whether the driver keeps the events of the network.
    pub(super) fn records_transfers(&self) -> bool {
        self.kind["capabilities"]["alwaysMatch"]["goog:loggingPrefs"]["performance"].is_string()
    }

    /// Ends the browser.
    pub(super) fn end(self) {
        let _ = exchange(&self.address, "DELETE", &self.path, None);
    }
}
