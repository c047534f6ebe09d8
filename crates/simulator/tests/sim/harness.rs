//! A running simulator, and a client that sends raw requests.

use std::time::Duration;

use deskpass_core::{Clock, Entropy, Timestamp};
use deskpass_simulator::{Domains, Kind, Simulator, SimulatorConfig, serve};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use url::{Url, form_urlencoded};

/// A response.
#[derive(Clone, Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let fields = self.head.lines().filter_map(|line| line.split_once(": "));
        fields.into_iter().find(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The platform's error code, which always comes with a success status.
    pub(crate) fn errcode(&self) -> i64 {
        assert_eq!(self.status, 200, "{self:?}");
        self.json()["errcode"].as_i64().unwrap()
    }

    /// The target of the redirect.
    pub(crate) fn location(&self) -> Url {
        assert_eq!(self.status, 302, "{self:?}");
        self.header("location").unwrap().parse().unwrap()
    }
}

/// A simulator on a free port with a manual clock.
#[derive(Debug)]
pub(crate) struct Sim {
    pub(crate) address: String,
    pub(crate) clock: Clock,
    base: String,
    pub(crate) stop: Option<oneshot::Sender<()>>,
    pub(crate) served: JoinHandle<()>,
}

pub(crate) const CALLBACK: &str = "http://localhost:8080/callback";

impl Sim {
    pub(crate) async fn start() -> Self {
        Self::with(Domains::Loopback, "/sim").await
    }

    /// A platform of this kind.
    pub(crate) async fn start_as(kind: Kind) -> Self {
        Self::serve(kind, Domains::Loopback, "/sim").await
    }

    pub(crate) async fn with(domains: Domains, base: &str) -> Self {
        Self::serve(Kind::Wecom, domains, base).await
    }

    async fn serve(kind: Kind, domains: Domains, base: &str) -> Self {
        let clock = Clock::manual(Timestamp::from_millis(1_800_000_000_000));
        let (corp_id, client_id) = match kind {
            Kind::Wecom => ("wwdeskpass", ""),
            Kind::Dingtalk => ("dingdeskpass", "dingclientdeskpass"),
            Kind::Feishu => ("tenantdeskpass", "cli_deskpass"),
        };
        let config = SimulatorConfig {
            kind,
            corp_id: corp_id.to_owned(),
            client_id: client_id.to_owned(),
            secret: "a-secret".to_owned(),
            agent_id: "1000002".to_owned(),
            domains,
            base: base.to_owned(),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let simulator = Simulator::new(config, clock.clone(), Entropy::system());
        let (stop, stopping) = oneshot::channel();
        let served = tokio::spawn(serve(listener, simulator, async { drop(stopping.await) }));
        Self { address, clock, base: base.to_owned(), stop: Some(stop), served }
    }

    pub(crate) fn advance(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    /// Sends a request to a path below the base; `None` when the connection is closed without a response.
    pub(crate) async fn try_send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Option<Response> {
        let fields = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect::<Vec<_>>().concat();
        let target = format!("{}{path}", self.base);
        let fields = format!("host: sim\r\nconnection: close\r\ncontent-length: {}\r\n{fields}", body.len());
        self.raw(&format!("{method} {target} HTTP/1.1\r\n{fields}\r\n{body}")).await
    }

    /// Sends these bytes and reads to the end.
    pub(crate) async fn raw(&self, bytes: &str) -> Option<Response> {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        stream.write_all(bytes.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.ok()?;
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some(Response { status, head: head.to_owned(), body: body.to_owned() })
    }

    pub(crate) async fn send(&self, method: &str, path: &str, body: &str) -> Response {
        self.try_send(method, path, &[], body).await.expect("an answer")
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.send("GET", path, "").await
    }

    pub(crate) async fn get_in(&self, language: &str, path: &str) -> Response {
        self.try_send("GET", path, &[("accept-language", language)], "").await.expect("an answer")
    }

    /// A token, obtained as the app does.
    pub(crate) async fn token(&self) -> String {
        let answer = self.get("/cgi-bin/gettoken?corpid=wwdeskpass&corpsecret=a-secret").await;
        assert_eq!(answer.errcode(), 0, "{answer:?}");
        answer.json()["access_token"].as_str().unwrap().to_owned()
    }

    /// Calls an API with a valid token.
    pub(crate) async fn call(&self, api: &str, pairs: &[(&str, &str)]) -> Response {
        let token = self.token().await;
        let pairs = [("access_token", token.as_str())].into_iter().chain(pairs.iter().copied());
        self.get(&format!("/cgi-bin/{api}?{}", encode(pairs))).await
    }

    /// Posts to an API with a valid token.
    pub(crate) async fn post(&self, api: &str, body: &Value) -> Response {
        let token = self.token().await;
        self.send("POST", &format!("/cgi-bin/{api}?access_token={token}"), &body.to_string()).await
    }

    /// A code, obtained as the user's phone does.
    pub(crate) async fn code(&self, person: &str) -> String {
        let at = self.get(&authorize(&[("sim_user", person)])).await.location();
        at.query_pairs().find(|(name, _)| name == "code").unwrap().1.into_owned()
    }
}

pub(crate) fn encode<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// A link with these parameters replacing or extending the usual ones; an empty parameter is left out.
fn link(path: &str, usual: &[(&str, &str)], other: &[(&str, &str)]) -> String {
    let kept = usual.iter().filter(|(name, _)| other.iter().all(|(given, _)| given != name));
    let pairs = kept.chain(other).filter(|(_, value)| !value.is_empty()).copied();
    format!("{path}?{}", encode(pairs))
}

/// The link inside the client.
pub(crate) fn authorize(other: &[(&str, &str)]) -> String {
    let usual = [
        ("appid", "wwdeskpass"),
        ("redirect_uri", CALLBACK),
        ("response_type", "code"),
        ("scope", "snsapi_base"),
        ("state", "auth_login"),
        ("agentid", "1000002"),
    ];
    link("/connect/oauth2/authorize", &usual, other)
}

/// The link for a desktop browser.
pub(crate) fn desktop(other: &[(&str, &str)]) -> String {
    let usual = [
        ("login_type", "CorpApp"),
        ("appid", "wwdeskpass"),
        ("agentid", "1000002"),
        ("redirect_uri", CALLBACK),
        ("state", "auth_login"),
    ];
    link("/wwlogin/sso/login", &usual, other)
}
