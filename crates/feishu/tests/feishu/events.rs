//! Events that the platform did not send are refused.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use deskpass_core::Timestamp;
use deskpass_feishu::{EventSettings, Feishu, FeishuSettings};
use deskpass_platform::envelope::aes_cbc::{self, Padding};
use deskpass_platform::envelope::digest;
use deskpass_platform::{Inbound as _, InboundError, InboundEvent, InboundRequest};
use proptest::prelude::*;
use serde_json::json;

use crate::forgery::{any_change, changed, changed_text, plain_change, ten_thousand};
use crate::platform::{APP, Platform, TENANT};

const KEY: &str = "test key";
const TOKEN: &str = "v_token";
const SECONDS: i64 = 1_690_000_000;

async fn client() -> Feishu {
    let platform = Platform::start().await;
    let events = Some(EventSettings { encrypt_key: KEY.into(), token: TOKEN.into() });
    Feishu::new(FeishuSettings { events, ..platform.settings() }, platform.clock.clone()).unwrap()
}

/// The headers of a delivery: timestamp, nonce and signature; and its body.
fn sealed(key: &str, token: &str) -> ([String; 3], String) {
    let header = json!({
        "event_id": "e1", "event_type": "contact.user.deleted_v3", "create_time": "1689999999123", "token": token,
        "app_id": APP, "tenant_key": TENANT,
    });
    let event = json!({ "object": { "user_id": "user01", "open_id": "ou_1" } });
    let event = json!({ "schema": "2.0", "header": header, "event": event }).to_string();
    let iv = [7; 16];
    let encrypted = aes_cbc::encrypt(&digest::sha256(key), &iv, event.as_bytes(), Padding::To16);
    let body = json!({ "encrypt": STANDARD.encode([iv.as_slice(), &encrypted].concat()) }).to_string();
    let (timestamp, nonce) = (SECONDS.to_string(), "nonce123".to_owned());
    let parts = [timestamp.as_bytes(), nonce.as_bytes(), key.as_bytes(), body.as_bytes()];
    let signature = digest::sha256_hex(&parts);
    ([timestamp, nonce, signature], body)
}

fn read(
    feishu: &Feishu,
    [timestamp, nonce, signature]: &[String; 3],
    body: &[u8],
) -> Result<Vec<InboundEvent>, InboundError> {
    let header = |name: &str| match name {
        "x-lark-request-timestamp" => Some(timestamp.as_str()),
        "x-lark-request-nonce" => Some(nonce.as_str()),
        "x-lark-signature" => Some(signature.as_str()),
        _ => None,
    };
    let at = Timestamp::from_millis(SECONDS * 1_000);
    let request = InboundRequest { is_get: false, query: "", header: &header, body, at, random: [0; 16] };
    feishu.read_inbound(&request).map(|result| result.events)
}

#[tokio::test]
async fn a_body_with_any_change_is_refused() {
    let feishu = client().await;
    let (headers, body) = sealed(KEY, TOKEN);
    assert_eq!(read(&feishu, &headers, body.as_bytes()).unwrap().len(), 1);
    let random = prop::collection::vec(any::<u8>(), 0..300);
    proptest!(ten_thousand(), |(change in any_change(), random in random, is_random: bool)| {
        let forged = if is_random { random } else { changed(body.as_bytes(), &change) };
        let outcome = read(&feishu, &headers, &forged);
        prop_assert!(forged == body.as_bytes() || outcome.is_err());
    });
}

#[tokio::test]
async fn a_changed_header_is_refused() {
    let feishu = client().await;
    let (headers, body) = sealed(KEY, TOKEN);
    proptest!(ten_thousand(), |(part in 0..3_usize, one in any_change(), other in plain_change(), is_plain: bool)| {
        let mut forged = headers.clone();
        forged[part] = changed_text(&headers[part], if is_plain { &other } else { &one });
        let outcome = read(&feishu, &forged, body.as_bytes());
        prop_assert!(forged == headers || outcome.is_err(), "{:?}", forged);
    });
}

#[tokio::test]
async fn another_key_or_token_is_refused() {
    let feishu = client().await;
    proptest!(|(is_key: bool, text in "[ -~]{1,32}")| {
        let (headers, body) = if is_key { sealed(&text, TOKEN) } else { sealed(KEY, &text) };
        prop_assert!(read(&feishu, &headers, body.as_bytes()).is_err());
    });
}
