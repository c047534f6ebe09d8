//! Events that the platform did not send are refused.

use deskpass_core::Timestamp;
use deskpass_dingtalk::{Dingtalk, DingtalkSettings, EventSettings};
use deskpass_platform::envelope::Envelope;
use deskpass_platform::{Inbound as _, InboundError, InboundEvent, InboundRequest};
use proptest::prelude::*;
use serde_json::json;

use crate::forgery::{any_change, changed, changed_text, plain_change, ten_thousand};
use crate::platform::{CLIENT, CORP, Platform};

const TOKEN: &str = "mryue";
const KEY: &str = "Yue0EfdN5900c1ce5cf6A152c63DDe1808a60c5ecd7";
const MILLIS: i64 = 1_700_000_000_000;

async fn client() -> Dingtalk {
    let platform = Platform::start().await;
    let events = Some(EventSettings { token: TOKEN.into(), aes_key: KEY.into() });
    Dingtalk::new(DingtalkSettings { events, ..platform.settings() }, platform.clock.clone()).unwrap()
}

/// What is signed, and its signature: signature, timestamp, nonce, and the encrypted event.
fn sealed(token: &str, key: &str, receiver: &str) -> [String; 4] {
    let leaver = json!({ "EventType": "user_leave_org", "CorpId": CORP, "UserId": ["user01"], "TimeStamp": MILLIS });
    let timestamp = MILLIS.to_string();
    let envelope = Envelope::new(token.to_owned(), key).unwrap();
    let sealed = envelope.seal(&leaver.to_string(), receiver, &[7; 16], &timestamp, "WL4PK6yA");
    [sealed.signature, timestamp, "WL4PK6yA".to_owned(), sealed.encrypted]
}

fn query([signature, timestamp, nonce, _]: &[String; 4]) -> String {
    format!("msg_signature={signature}&timestamp={timestamp}&nonce={nonce}")
}

fn body([.., encrypted]: &[String; 4]) -> String {
    json!({ "encrypt": encrypted }).to_string()
}

fn read(dingtalk: &Dingtalk, is_get: bool, query: &str, body: &[u8]) -> Result<Vec<InboundEvent>, InboundError> {
    let at = Timestamp::from_millis(MILLIS);
    let request = InboundRequest { is_get, query, header: &|_| None, body, at, random: [0; 16] };
    dingtalk.read_inbound(&request).map(|result| result.events)
}

#[tokio::test]
async fn a_changed_request_is_refused_or_means_the_same() {
    let dingtalk = client().await;
    let genuine = sealed(TOKEN, KEY, CLIENT);
    let (query, body) = (query(&genuine), body(&genuine));
    let events = read(&dingtalk, false, &query, body.as_bytes()).unwrap();
    assert_eq!(events.len(), 1);
    let random = prop::collection::vec(any::<u8>(), 0..300);
    proptest!(ten_thousand(), |(part in 0..4_u8, one in any_change(), other in any_change(), random in random, is_get: bool)| {
        let query = if part == 0 { query.clone() } else { changed_text(&query, &one) };
        let body = match part {
            0 | 1 => changed(body.as_bytes(), &other),
            2 => body.clone().into_bytes(),
            _ => random,
        };
        let found = read(&dingtalk, is_get, &query, &body).unwrap_or_default();
        prop_assert!(found.is_empty() || found == events, "{:?}", found);
    });
}

#[tokio::test]
async fn whatever_is_signed_cannot_be_changed() {
    let dingtalk = client().await;
    let genuine = sealed(TOKEN, KEY, CLIENT);
    proptest!(ten_thousand(), |(part in 0..4_usize, change in plain_change())| {
        let mut forged = genuine.clone();
        forged[part] = changed_text(&genuine[part], &change);
        let outcome = read(&dingtalk, false, &query(&forged), body(&forged).as_bytes());
        prop_assert!(forged == genuine || outcome.is_err(), "{:?}", forged);
    });
}

#[tokio::test]
async fn another_token_key_or_receiver_is_refused() {
    let dingtalk = client().await;
    let key = "[A-Za-z0-9]{43}";
    proptest!(|(part in 0..3_u8, text in "[A-Za-z0-9]{1,32}", other in key)| {
        let (token, key, receiver) = match part {
            0 => (text.as_str(), KEY, CLIENT),
            1 => (TOKEN, other.as_str(), CLIENT),
            _ => (TOKEN, KEY, text.as_str()),
        };
        let forged = sealed(token, key, receiver);
        prop_assert!(read(&dingtalk, false, &query(&forged), body(&forged).as_bytes()).is_err());
    });
}
