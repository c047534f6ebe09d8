//! Acts as the user with the phone, and as the platform in between.

use deskpass::config::Settings;
use deskpass_core::{Clock, Entropy, Timestamp};
use deskpass_simulator::{Domains, Simulator, SimulatorConfig};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use url::Url;

use super::{Client, Messenger, PRODUCTION, Response, TestApp, production_pairs, request, settings};

/// The request target of a URL.
pub(crate) fn target(address: &str) -> String {
    let url = Url::parse(address).unwrap_or_else(|error| panic!("{error}: {address}"));
    url.query().map_or(url.path().to_owned(), |query| format!("{}?{query}", url.path()))
}

/// The value of `#NAME=` in a URL.
pub(crate) fn fragment(address: &str, name: &str) -> String {
    let url = Url::parse(address).unwrap_or_else(|error| panic!("{error}: {address}"));
    let fragment = url.fragment().unwrap_or_else(|| panic!("no fragment: {address}"));
    let mut pairs = url::form_urlencoded::parse(fragment.as_bytes());
    pairs.find(|(given, _)| given == name).unwrap_or_else(|| panic!("no {name}: {address}")).1.into_owned()
}

/// The Location header of a response.
pub(crate) fn location(answer: &Response) -> &str {
    assert!(matches!(answer.status, 302 | 303), "{answer:?}");
    answer.header("location").unwrap()
}

/// The cookies that a response sets, as a browser sends them back.
pub(crate) fn cookies(answer: &Response) -> String {
    let set = answer.headers.iter().filter(|(name, _)| name == "set-cookie");
    set.map(|(_, value)| value.split(';').next().unwrap()).collect::<Vec<_>>().join("; ")
}

impl Client {
    /// Requests a QR code.
    pub(crate) async fn qrcode(&mut self) -> Value {
        self.get("/api/auth/qrcode", &[]).await.data()
    }

    /// The status of a ticket's sign-in.
    pub(crate) async fn scan_status(&mut self, ticket: &str) -> Value {
        self.get(&format!("/api/auth/scan/status?ticket={ticket}"), &[]).await.data()
    }

    /// Performs a step of the phone's page.
    pub(crate) async fn decide(&mut self, step: &str, confirm: &str) -> Response {
        self.post(&format!("/api/auth/scan/{step}"), &[], &json!({ "confirm": confirm })).await
    }

    /// Opens a platform link and signs in there as `who`; returns the URL that the platform redirects to.
    pub(crate) async fn authorize(&mut self, link: &str, who: &str) -> String {
        let path = format!("{}&sim_user={who}", target(link));
        location(&self.get(&path, &[]).await).to_owned()
    }

    /// Opens the link in a QR code with the phone of `who`, as a script does that follows redirects, on a service with the built-in
    /// simulated platform; returns the URL at which the platform sends the phone back, and the phone's cookies.
    pub(crate) async fn open_code(&mut self, qrcode: &Value, who: &str) -> (String, String) {
        self.open_link(qrcode["qrcode_url"].as_str().unwrap(), who).await
    }

    /// The same for any link that identifies the phone's owner.
    async fn open_link(&mut self, link: &str, who: &str) -> (String, String) {
        let mut path = format!("{}&sim_user={who}", target(link));
        let mut kept = String::new();
        for _ in 0..5 {
            let answer = self.load_on_phone(&path, &kept).await;
            let to = location(&answer).to_owned();
            let set = cookies(&answer);
            if !set.is_empty() {
                kept = set;
            }
            if !target(&to).starts_with("/sim/") {
                return (to, kept);
            }
            path = target(&to);
        }
        panic!("too many redirects: {path}");
    }

    /// Loads a page in the phone's browser, which has these cookies.
    pub(crate) async fn load_on_phone(&mut self, path: &str, cookies: &str) -> Response {
        self.load_in("phone", path, cookies).await
    }

    /// Loads a page in a browser with this user agent, which has these cookies.
    async fn load_in(&mut self, user_agent: &str, path: &str, cookies: &str) -> Response {
        let headers = [("user-agent", user_agent), ("cookie", cookies)];
        self.get(path, if cookies.is_empty() { &headers[..1] } else { &headers[..] }).await
    }

    /// Scans a code with the phone of `who`, on a service with the built-in simulated platform; returns the phone's landing URL.
    pub(crate) async fn scan(&mut self, qrcode: &Value, who: &str) -> String {
        self.follow_link(qrcode["qrcode_url"].as_str().unwrap(), who).await
    }

    /// Opens a link with the phone of `who`, on a service with the built-in simulated platform; returns the phone's landing URL.
    pub(crate) async fn follow_link(&mut self, link: &str, who: &str) -> String {
        let (back, cookies) = self.open_link(link, who).await;
        // The service refused before the phone was at the platform.
        if target(&back).starts_with("/scan/") {
            return back;
        }
        location(&self.load_on_phone(&target(&back), &cookies).await).to_owned()
    }

    /// Scans a code and returns the phone's secret.
    pub(crate) async fn scan_as(&mut self, qrcode: &Value, who: &str) -> String {
        fragment(&self.scan(qrcode, who).await, "confirm")
    }

    /// Signs in `who` by a code that the phone confirms, on a service with the built-in simulated platform; returns the token.
    pub(crate) async fn sign_in_by_phone(&mut self, who: &str) -> String {
        let qrcode = self.qrcode().await;
        let confirm = self.scan_as(&qrcode, who).await;
        self.decide("confirm", &confirm).await.data();
        let status = self.scan_status(qrcode["ticket"].as_str().unwrap()).await;
        status["token"].as_str().unwrap().to_owned()
    }

    /// The address that the newest message to `who` opens, at the simulated platform that this client talks to.
    pub(crate) async fn link_sent_to(&mut self, who: &str) -> String {
        let answer = self.get("/sim/inbox", &[]).await;
        let inbox: Value = serde_json::from_str(&answer.body).unwrap();
        let mut messages = inbox["messages"].as_array().unwrap().iter().rev();
        let newest = messages.find(|message| message["touser"] == json!([who]) && message["url"].is_string());
        let newest = newest.unwrap_or_else(|| panic!("no message to {who} has a link: {inbox}"));
        newest["url"].as_str().unwrap().to_owned()
    }

    /// Begins an OAuth sign-in; returns the platform's link and the browser's cookies.
    pub(crate) async fn begin_oauth(&mut self, redirect_uri: &str) -> (String, String) {
        let path = format!("/api/auth/oauth2/url?redirect_uri={}", encoded(redirect_uri));
        let answer = self.get(&path, &[("sec-fetch-site", "same-origin")]).await;
        (answer.data()["authorize_url"].as_str().unwrap().to_owned(), cookies(&answer))
    }

    /// Calls the callback with the query that the platform appended to `back`, whatever its page.
    pub(crate) async fn oauth_callback(&mut self, back: &str, cookies: &str) -> Response {
        let query = Url::parse(back).unwrap().query().unwrap_or_default().to_owned();
        let cookie = [("cookie", cookies)];
        self.get(&format!("/api/auth/oauth2/callback?{query}"), if cookies.is_empty() { &[] } else { &cookie }).await
    }

    /// Sets a fault of the simulated platform.
    pub(crate) async fn set_fault(&mut self, fault: &Value) {
        let json = [("content-type", "application/json")];
        let answer = self.send(&request("PUT", "/sim/faults", &json, fault.to_string().as_bytes())).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }

    /// The number of calls to an API of the simulated platform.
    pub(crate) async fn calls(&mut self, api: &str) -> u64 {
        let answer = self.get("/sim/calls", &[]).await;
        serde_json::from_str::<Value>(&answer.body).unwrap()["calls"][api].as_u64().unwrap_or(0)
    }
}

/// A value encoded for a query.
pub(crate) fn encoded(value: &str) -> String {
    url::form_urlencoded::byte_serialize(value.as_bytes()).collect()
}

/// The simulated platform on a port of its own, in place of the real one.
#[derive(Debug)]
pub(crate) struct Platform {
    pub(crate) address: String,
    stop: oneshot::Sender<()>,
    stopped: JoinHandle<()>,
}

/// The domain of the services that a test starts in production mode.
const DOMAIN: &str = "desk.example.com";

impl Platform {
    /// A platform whose application has this trusted domain.
    pub(crate) async fn start(domain: &str) -> Self {
        Self::serve(domain, "127.0.0.1:0").await
    }

    /// A platform at the address of a stopped one, without its state.
    pub(crate) async fn restart_at(address: &str) -> Self {
        Self::serve(DOMAIN, address).await
    }

    async fn serve(domain: &str, address: &str) -> Self {
        let messenger = Messenger::current();
        let world = SimulatorConfig {
            kind: messenger.simulated,
            corp_id: messenger.corp_id.to_owned(),
            client_id: messenger.client_id.to_owned(),
            secret: PRODUCTION[1].1.to_owned(),
            agent_id: "1000002".to_owned(),
            domains: Domains::Listed(vec![domain.to_owned()]),
            base: "/sim".to_owned(),
        };
        let clock = Clock::manual(Timestamp::from_millis(1_800_000_000_000));
        let simulator = Simulator::new(world, clock, Entropy::system());
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (stop, stopping) = oneshot::channel::<()>();
        let stopped = tokio::spawn(deskpass_simulator::serve(listener, simulator, async { drop(stopping.await) }));
        Self { address, stop, stopped }
    }

    /// Stops it; returns its address.
    pub(crate) async fn stop(self) -> String {
        drop(self.stop);
        self.stopped.await.unwrap();
        self.address
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(&self.address).await
    }

    /// The production settings, pointed at this platform.
    pub(crate) fn settings(&self, more: &[(&'static str, &str)]) -> Settings {
        let pointed = self.pairs();
        let pointed = pointed.iter().map(|(key, value)| (*key, &**value));
        settings(&pointed.chain(more.iter().copied()).collect::<Vec<_>>())
    }

    /// The same settings as pairs, for a process.
    pub(crate) fn pairs(&self) -> Vec<(&'static str, String)> {
        let at = |path: &str| format!("http://{}/sim{path}", self.address);
        let mut given: Vec<_> = production_pairs().into_iter().map(|(key, value)| (key, value.to_owned())).collect();
        given.push(("server.settle", "0s".to_owned()));
        given.extend(Messenger::current().addresses.iter().map(|(key, path)| (*key, at(path))));
        given
    }
}

impl Platform {
    /// Begins a flow on a service's page and authorizes as `who`: returns the callback URL with a code, and the cookies.
    async fn send_back(&self, app: &mut Client, who: &str) -> (String, String) {
        let (link, cookies) = app.begin_oauth(&format!("https://{DOMAIN}/itagent/")).await;
        (self.client().await.authorize(&link, who).await, cookies)
    }

    /// Scans a code of a service with the phone of `who`; returns the phone's landing URL.
    pub(crate) async fn scan(&self, app: &mut Client, qrcode: &Value, who: &str) -> String {
        self.open_link(app, qrcode["qrcode_url"].as_str().unwrap(), who, "phone").await
    }

    /// Opens a link of a service in a browser of `who` with this user agent; returns the landing URL.
    pub(crate) async fn open_link(&self, app: &mut Client, link: &str, who: &str, user_agent: &str) -> String {
        let (mut link, mut kept) = (link.to_owned(), String::new());
        if Messenger::current().registers_addresses() {
            let answer = app.load_in(user_agent, &target(&link), "").await;
            (link, kept) = (location(&answer).to_owned(), cookies(&answer));
            // The service refused before the browser was at the platform.
            if target(&link).starts_with("/scan/") {
                return link;
            }
        }
        let back = self.client().await.authorize(&link, who).await;
        location(&app.load_in(user_agent, &target(&back), &kept).await).to_owned()
    }

    /// A platform code for `who`.
    pub(crate) async fn code(&self, app: &mut Client, who: &str) -> String {
        let (back, _) = self.send_back(app, who).await;
        let url = Url::parse(&back).unwrap();
        url.query_pairs().find(|(name, _)| name == "code").unwrap().1.into_owned()
    }

    /// Signs in `who` through the platform and returns the token.
    pub(crate) async fn sign_in(&self, app: &mut Client, who: &str) -> String {
        let (back, cookies) = self.send_back(app, who).await;
        let landed = app.oauth_callback(&back, &cookies).await;
        let path = format!("/api/auth/scan/status?ticket={}", fragment(location(&landed), "ticket"));
        let traded = app.get(&path, &[("cookie", &cookies), ("sec-fetch-site", "same-origin")]).await.data();
        traded["token"].as_str().unwrap().to_owned()
    }
}

impl TestApp {
    /// A service in production mode with a platform.
    pub(crate) async fn production_with_platform(more: &[(&'static str, &str)]) -> (Self, Platform) {
        let platform = Platform::start(DOMAIN).await;
        (Self::with(platform.settings(more)).await, platform)
    }
}
