//! Starts chromedriver and opens browsers.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use super::{Browser, exchange_aside};

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
    /// Kept open, since the driver writes to it occasionally.
    _stdout: BufReader<ChildStdout>,
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

/// The options of a browser.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options<'a> {
    pub(crate) phone: bool,
    pub(crate) language: &'a str,
    pub(crate) dark: bool,
    pub(crate) user_agent: Option<&'a str>,
    /// The names that resolve differently, in the format of `--host-resolver-rules`.
    pub(crate) resolver_rules: Option<&'a str>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { phone: false, language: "en", dark: false, user_agent: None, resolver_rules: None }
    }
}

impl Options<'_> {
    /// A browser with this viewport.
    pub(crate) fn on(viewport: Viewport) -> Self {
        Self { phone: viewport == Viewport::Phone, ..Self::default() }
    }

    fn capabilities(&self, profile: &Path) -> Value {
        let mut arguments: Vec<_> = ARGUMENTS.map(str::to_owned).into();
        arguments.push(format!("--user-data-dir={}", profile.display()));
        arguments.push(format!("--lang={}", self.language));
        arguments.push(format!("--accept-lang={}", self.language));
        arguments.push("--window-size=1280,860".to_owned());
        arguments.extend(self.user_agent.map(|name| format!("--user-agent={name}")));
        arguments.extend(self.resolver_rules.map(|rules| format!("--host-resolver-rules={rules}")));
        let mut chrome = json!({ "args": arguments });
        if self.phone {
            let metrics = json!({ "width": 390, "height": 844, "pixelRatio": 2, "touch": true });
            let name = self.user_agent.unwrap_or(PHONE);
            chrome["mobileEmulation"] = json!({ "deviceMetrics": metrics, "userAgent": name });
        }
        let logs = json!({ "browser": "ALL", "performance": "ALL" });
        let always = json!({ "goog:chromeOptions": chrome, "goog:loggingPrefs": logs });
        json!({ "capabilities": { "alwaysMatch": always } })
    }
}

impl Driver {
    /// Starts chromedriver on a free port. It binds the same port for IPv4 and for IPv6: under load the second may be taken by
    /// then, and it exits.
    pub(crate) fn start() -> Self {
        (0..5).find_map(|_| Self::try_start()).expect("chromedriver names its port")
    }

    fn try_start() -> Option<Self> {
        // In a process group together with its browsers, so that one signal ends them all.
        let mut command = Command::new("chromedriver");
        command.arg("--port=0").process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("chromedriver starts; tools/chromium installs it");
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let port = stdout.by_ref().lines().map_while(Result::ok).find_map(|line| {
            let port = line.split_once("started successfully on port ")?.1;
            Some(port.trim_end_matches('.').to_owned())
        });
        let Some(port) = port else {
            let _ = child.wait();
            return None;
        };
        Some(Self { child, address: format!("127.0.0.1:{port}"), _stdout: stdout })
    }

    /// Opens a browser with a profile of its own.
    pub(crate) async fn browser(&self, options: Options<'_>) -> Browser {
        let profile = tempfile::tempdir().unwrap();
        let asked = options.capabilities(profile.path());
        let address = self.address.clone();
        let made = exchange_aside(address.clone(), "POST", "/session".to_owned(), Some(asked)).await.unwrap();
        let session = format!("/session/{}", made["sessionId"].as_str().unwrap());
        let browser = Browser { address, session, phone: options.phone, _profile: profile };
        let scheme = if options.dark { "dark" } else { "light" };
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        browser.cdp("Emulation.setEmulatedMedia", json!({ "features": features })).await;
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
