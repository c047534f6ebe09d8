//! Secrets are sent in URLs, headers and bodies, and must not appear anywhere else.

use std::io;
use std::sync::{Arc, Mutex};

use deskpass_dingtalk::Dingtalk;
use deskpass_platform::{Directory as _, EntryPoint, Error, Invitation, Messenger as _, Notify as _, Url};
use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::platform::{
    BY_UNION_ID, ME, Platform, SECRET, SEND, TOKEN, USER, USER_INFO, USER_TOKEN, member, redeem, result,
};
use crate::scripted_server::{Reply, status};

const CODE: &str = "canary-code-77aa";
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

/// What a call of an API carries.
fn carried(api: &str) -> String {
    match api {
        TOKEN => SECRET.to_owned(),
        USER_TOKEN => format!("{SECRET} {CODE}"),
        ME => "canary-user-token".to_owned(),
        USER_INFO => format!("canary-token-1 {CODE}"),
        SEND => format!("canary-token-1 {}", INVITATION.url),
        _ => "canary-token-1".to_owned(),
    }
}

fn failures(api: &str) -> Vec<Reply> {
    let told = carried(api);
    let older = |errcode: i64| {
        Reply::Json(json!({ "errcode": errcode, "errmsg": told, "sub_msg": told, "sub_code": "1", "request_id": told }))
    };
    let newer = |code: &str| Reply::Status("403 No", json!({ "code": code, "message": told, "requestid": told }));
    vec![
        Reply::Reset,
        Reply::Bytes(b"nonsense\r\n\r\n".to_vec()),
        Reply::Bytes(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{".to_vec()),
        Reply::Bytes(
            format!("HTTP/1.1 302 Found\r\nconnection: close\r\nlocation: /?{SECRET}\r\ncontent-length: 0\r\n\r\n")
                .into_bytes(),
        ),
        Reply::Silence,
        Reply::Flood,
        Reply::Body(b"<html>".to_vec()),
        status("500 Internal Server Error"),
        older(40078),
        older(60020),
        older(88),
        newer("invalidClientIdOrSecret"),
        newer("Forbidden.AccessDenied.QpsLimitForApi"),
    ]
}

fn show<T>(outcome: Result<T, Error>) -> Option<String> {
    outcome.err().map(|error| format!("{error} {error:?}"))
}

/// Triggers every kind of failure on each call; returns the texts of all errors.
async fn misadventures(platform: &Platform) -> Vec<String> {
    let mut shown = Vec::new();
    for api in [TOKEN, USER_TOKEN, ME, BY_UNION_ID, USER_INFO, USER, SEND] {
        for failure in failures(api) {
            let dingtalk = platform.hasty_client();
            platform.next(api, [failure]);
            shown.extend(show(redeem(&dingtalk, EntryPoint::Browser, CODE).await));
            shown.extend(show(redeem(&dingtalk, EntryPoint::Script, CODE).await));
            shown.extend(show(dingtalk.profile(&member("user01")).await));
            shown.extend(show(dingtalk.invite("user01", INVITATION).await));
            shown.extend(show(dingtalk.send("user01", CODE).await));
            shown.push(format!("{dingtalk:?} {:?}", dingtalk.circuit()));
        }
    }
    for (api, proxy) in [
        ("http://127.0.0.1:1", None),
        ("https://127.0.0.1:1", None),
        ("http://x.invalid", Some("http://u:canary-proxy@127.0.0.1:1")),
    ] {
        let mut settings = platform.settings();
        settings.hosts.api = Url::parse(api).unwrap();
        settings.proxy = proxy.and_then(|proxy| Url::parse(proxy).ok());
        let dingtalk = Dingtalk::new(settings, platform.clock.clone()).unwrap();
        shown.extend(show(redeem(&dingtalk, EntryPoint::Browser, CODE).await));
        shown.push(format!("{dingtalk:?}"));
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
    platform.always(USER, result(&json!({ "name": "Ann" })));
    platform.always(SEND, Reply::Json(json!({ "errcode": 0 })));
    let shown = misadventures(&platform).await;
    assert!(shown.len() > 150, "{}", shown.len());
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    for said in ["the platform refused", "cannot reach the platform", "fetched an access token", "circuit breaker open"]
    {
        assert!(log.contains(said), "the log is silent: {said}");
    }
    for text in shown.iter().chain([&log]) {
        for secret in [SECRET, "canary-token", "canary-user", "canary-refresh", CODE, "canary-link", "canary-proxy"] {
            if let Some(at) = text.find(secret) {
                let from = text.floor_char_boundary(at.saturating_sub(200));
                panic!("{secret} in: {}", &text[from..text.floor_char_boundary(at + 60)]);
            }
        }
    }
}
