//! Secrets are sent to the platform and must not appear anywhere else.

use std::io;
use std::sync::{Arc, Mutex};

use deskpass_feishu::Feishu;
use deskpass_platform::{
    CodeRedemption, Directory as _, EntryPoint, Invitation, Messenger as _, Notify as _, SignIn as _, Url,
};
use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::platform::{
    CALLBACK, MESSAGE, Platform, SECRET, TENANT_TOKEN, USER, USER_INFO, USER_TOKEN, data, member, with_headers,
};
use crate::scripted_server::{Reply, status};

const CODE: &str = "canary-code-77aa";
const VERIFIER: &str = "canary-verifier-88bb";
/// An invitation, whose address is for its recipient only.
const INVITATION: Invitation<'static> =
    Invitation { id: "i1", title: "t", text: "x", button: "b", url: "https://desk.example.com/s/canary-link-5e2d" };

/// A buffer of all log output.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;
    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// Refuses, and echoes the request.
fn echo(api: &str, code: i64) -> Reply {
    let told = match api {
        TENANT_TOKEN => SECRET.to_owned(),
        USER_TOKEN => format!("{SECRET} {CODE} {VERIFIER}"),
        USER_INFO => "canary-user-token".to_owned(),
        MESSAGE => format!("canary-token-1 {}", INVITATION.url),
        _ => "canary-token-1".to_owned(),
    };
    let body = json!({ "code": code, "msg": told, "error_description": told }).to_string();
    with_headers("400 Bad Request", &format!("x-tt-logid: {told}"), &body)
}

fn failures(api: &str) -> Vec<Reply> {
    vec![
        Reply::Reset,
        Reply::Bytes(b"nonsense\r\n\r\n".to_vec()),
        Reply::Bytes(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{".to_vec()),
        with_headers("302 Found", &format!("location: /?{SECRET}"), ""),
        Reply::Silence,
        Reply::Flood,
        Reply::Body(b"<html>".to_vec()),
        status("500 Internal Server Error"),
        echo(api, 20_001),
        echo(api, 20_003),
        echo(api, 99_991_400),
    ]
}

async fn redeem(feishu: &Feishu) -> Option<String> {
    let verifier = Some(VERIFIER);
    let redemption = CodeRedemption { code: CODE, entry: EntryPoint::Browser, redirect_uri: CALLBACK, verifier };
    feishu.redeem(redemption).await.err().map(|error| format!("{error} {error:?}"))
}

/// Triggers every kind of failure on each call; returns the texts of all errors.
async fn misadventures(platform: &Platform) -> Vec<String> {
    let mut shown = Vec::new();
    for api in [TENANT_TOKEN, USER_TOKEN, USER_INFO, USER, MESSAGE] {
        for failure in failures(api) {
            let feishu = platform.hasty_client();
            platform.next(api, [failure]);
            shown.extend(redeem(&feishu).await);
            let profile = feishu.profile(&member("user01")).await;
            let invitation = feishu.invite("user01", INVITATION).await;
            let notice = feishu.send("user01", CODE).await;
            shown.extend(profile.err().map(|error| format!("{error} {error:?}")));
            shown.extend(invitation.err().map(|error| format!("{error} {error:?}")));
            shown.extend(notice.err().map(|error| format!("{error} {error:?}")));
            shown.push(format!("{feishu:?} {:?}", feishu.circuit()));
        }
    }
    for (api, proxy) in [
        ("http://127.0.0.1:1", None),
        ("https://127.0.0.1:1", None),
        ("http://x.invalid", Some("http://u:canary-proxy@127.0.0.1:1")),
    ] {
        let mut settings = platform.settings();
        (settings.hosts.api, settings.hosts.token) = (Url::parse(api).unwrap(), Url::parse(api).unwrap());
        settings.proxy = proxy.and_then(|proxy| Url::parse(proxy).ok());
        let feishu = Feishu::new(settings, platform.clock.clone()).unwrap();
        shown.push(format!("{:?} {feishu:?}", redeem(&feishu).await.unwrap()));
    }
    shown
}

#[tokio::test]
async fn no_error_and_no_log_has_a_secret() {
    let log = Log::default();
    // Global, so that it also captures logs of other crates' tasks and logs through `log`.
    let everything = tracing_subscriber::filter::LevelFilter::TRACE;
    tracing_subscriber::fmt().with_max_level(everything).with_writer(log.clone()).finish().init();
    let platform = Platform::start().await;
    platform.always(MESSAGE, data(&json!({ "message_id": "om_1" })));
    let shown = misadventures(&platform).await;
    assert!(shown.len() > 80, "{shown:?}");
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    for said in ["the platform refused", "cannot reach the platform", "fetched an access token", "circuit breaker open"]
    {
        assert!(log.contains(said), "the log is silent: {said}");
    }
    for text in shown.iter().chain([&log]) {
        for secret in [SECRET, "canary-token", "canary-user-token", CODE, VERIFIER, "canary-link", "canary-proxy"] {
            if let Some(at) = text.find(secret) {
                let from = text.floor_char_boundary(at.saturating_sub(200));
                panic!("{secret} in: {}", &text[from..text.floor_char_boundary(at + 60)]);
            }
        }
    }
}
