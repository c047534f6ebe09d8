//! Secrets are sent in URLs and must not appear anywhere else.

use std::io;
use std::sync::{Arc, Mutex};

use deskpass_platform::{CardHandle, Directory as _, Identity, Invitation, Messenger as _, Notify as _};
use deskpass_wecom::{Url, Wecom};
use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::platform::{ExchangeCode as _, GETTOKEN, Platform, Reply, SECRET, USERINFO, status};

const CODE: &str = "canary-code-77aa";
const CARD_UPDATE: &str = "message/update_template_card";
const RESPONSE_CODE: &str = "canary_response_0b1c";
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
fn echo(api: &str, errcode: i64) -> Reply {
    let told = match api {
        GETTOKEN => SECRET.to_owned(),
        CARD_UPDATE => format!("canary-token-1 {RESPONSE_CODE}"),
        USERINFO => format!("canary-token-1 {CODE}"),
        "message/send" => format!("canary-token-1 {}", INVITATION.url),
        _ => "canary-token-1".to_owned(),
    };
    // A hint has no hyphens, and must not be a secret either.
    let hint = if api == CARD_UPDATE { RESPONSE_CODE } else { &told };
    Reply::Json(json!({ "errcode": errcode, "errmsg": format!("{told}, hint: [{hint}]") }))
}

fn failures(api: &str) -> Vec<Reply> {
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
        echo(api, 40058),
        echo(api, 40029),
        echo(api, 45009),
    ]
}

/// Triggers every kind of failure on each call; returns the texts of all errors.
async fn misadventures(platform: &Platform) -> Vec<String> {
    let mut shown = Vec::new();
    for api in [GETTOKEN, USERINFO, "user/get", "message/send", CARD_UPDATE] {
        for failure in failures(api) {
            let wecom = platform.hasty_client();
            platform.next(api, [failure]);
            let person = wecom.exchange_code(CODE).await;
            let fallback = Identity::member("user01");
            let profile = wecom.profile(person.as_ref().unwrap_or(&fallback)).await;
            let invitation = wecom.invite("user01", INVITATION).await;
            let notice = wecom.send("user01", CODE).await;
            let card = wecom.settle(&CardHandle(RESPONSE_CODE.into()), "done").await;
            shown.extend(card.err().map(|error| format!("{error} {error:?}")));
            shown.extend(invitation.err().map(|error| format!("{error} {error:?}")));
            shown.extend(notice.err().map(|error| format!("{error} {error:?}")));
            shown.extend(person.err().map(|error| format!("{error} {error:?}")));
            shown.extend(profile.err().map(|error| format!("{error} {error:?}")));
            shown.push(format!("{wecom:?} {:?}", wecom.circuit()));
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
        let wecom = Wecom::new(settings, platform.clock.clone()).unwrap();
        let error = wecom.exchange_code(CODE).await.unwrap_err();
        shown.push(format!("{error} {error:?} {wecom:?}"));
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
    platform.always("user/get", Reply::Json(json!({ "errcode": 0, "name": "Ann" })));
    platform.always("message/send", Reply::Json(json!({ "errcode": 0 })));
    platform.always(CARD_UPDATE, Reply::Json(json!({ "errcode": 0 })));
    let shown = misadventures(&platform).await;
    assert!(shown.len() > 60, "{shown:?}");
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    for said in ["the platform refused", "cannot reach the platform", "fetched an access token", "circuit breaker open"]
    {
        assert!(log.contains(said), "the log is silent: {said}");
    }
    for text in shown.iter().chain([&log]) {
        for secret in [SECRET, "canary-token", CODE, RESPONSE_CODE, "canary-link", "canary-proxy"] {
            if let Some(at) = text.find(secret) {
                let from = text.floor_char_boundary(at.saturating_sub(200));
                panic!("{secret} in: {}", &text[from..text.floor_char_boundary(at + 60)]);
            }
        }
    }
}
