//! Events that the platform did not send are refused.

use deskpass_core::Timestamp;
use deskpass_platform::envelope::Envelope;
use deskpass_platform::{Inbound as _, InboundError, InboundEvent, InboundRequest};
use deskpass_wecom::{EventSettings, Wecom, WecomSettings};
use proptest::prelude::*;

use crate::forgery::{any_change, changed, changed_text, plain_change, ten_thousand};
use crate::platform::{CORP, Platform};

const TOKEN: &str = "QDG6eK";
const KEY: &str = "kWxPEV2UEDyxWpmPdKC3F4dgPDmOvfKX1HGnEUDS1aR";
const SECONDS: i64 = 1_700_000_000;
const LEAVER: &str = "<xml><ToUserName>wwdesk</ToUserName><CreateTime>1699999999</CreateTime><MsgType>event</MsgType>\
    <Event>change_contact</Event><ChangeType>delete_user</ChangeType><UserID>zhangsan</UserID></xml>";

async fn client() -> Wecom {
    let platform = Platform::start().await;
    let events = Some(EventSettings { token: TOKEN.into(), aes_key: KEY.into() });
    Wecom::new(WecomSettings { events, ..platform.settings() }, platform.clock.clone()).unwrap()
}

/// What is signed, and its signature: signature, timestamp, nonce, and the encrypted event.
fn sealed(text: &str, token: &str, key: &str, receiver: &str) -> [String; 4] {
    let timestamp = SECONDS.to_string();
    let sealed = Envelope::new(token.to_owned(), key).unwrap().seal(text, receiver, &[7; 16], &timestamp, "461056294");
    [sealed.signature, timestamp, "461056294".to_owned(), sealed.encrypted]
}

fn query([signature, timestamp, nonce, _]: &[String; 4]) -> String {
    format!("msg_signature={signature}&timestamp={timestamp}&nonce={nonce}")
}

fn body([.., encrypted]: &[String; 4]) -> String {
    format!("<xml><ToUserName>{CORP}</ToUserName><Encrypt><![CDATA[{encrypted}]]></Encrypt></xml>")
}

fn read(wecom: &Wecom, is_get: bool, query: &str, body: &[u8]) -> Result<Vec<InboundEvent>, InboundError> {
    let at = Timestamp::from_millis(SECONDS * 1_000);
    let request = InboundRequest { is_get, query, header: &|_| None, body, at, random: [0; 16] };
    wecom.read_inbound(&request).map(|result| result.events)
}

#[tokio::test]
async fn a_changed_request_is_refused_or_means_the_same() {
    let wecom = client().await;
    let genuine = sealed(LEAVER, TOKEN, KEY, CORP);
    let (query, body) = (query(&genuine), body(&genuine));
    let events = read(&wecom, false, &query, body.as_bytes()).unwrap();
    assert_eq!(events.len(), 1);
    let random = prop::collection::vec(any::<u8>(), 0..300);
    proptest!(ten_thousand(), |(part in 0..4_u8, one in any_change(), other in any_change(), random in random, is_get: bool)| {
        let query = if part == 0 { query.clone() } else { changed_text(&query, &one) };
        let body = match part {
            0 | 1 => changed(body.as_bytes(), &other),
            2 => body.clone().into_bytes(),
            _ => random,
        };
        let found = read(&wecom, is_get, &query, &body).unwrap_or_default();
        prop_assert!(found.is_empty() || found == events, "{:?}", found);
    });
}

#[tokio::test]
async fn whatever_is_signed_cannot_be_changed() {
    let wecom = client().await;
    let genuine = sealed(LEAVER, TOKEN, KEY, CORP);
    proptest!(ten_thousand(), |(part in 0..4_usize, change in plain_change())| {
        let mut forged = genuine.clone();
        forged[part] = changed_text(&genuine[part], &change);
        let outcome = read(&wecom, false, &query(&forged), body(&forged).as_bytes());
        prop_assert!(forged == genuine || outcome.is_err(), "{:?}", forged);
    });
}

#[tokio::test]
async fn another_token_key_or_receiver_is_refused() {
    let wecom = client().await;
    let key = "[A-Za-z0-9]{43}";
    proptest!(|(part in 0..3_u8, text in "[A-Za-z0-9]{1,32}", other in key)| {
        let (token, key, receiver) = match part {
            0 => (text.as_str(), KEY, CORP),
            1 => (TOKEN, other.as_str(), CORP),
            _ => (TOKEN, KEY, text.as_str()),
        };
        let forged = sealed(LEAVER, token, key, receiver);
        prop_assert!(read(&wecom, false, &query(&forged), body(&forged).as_bytes()).is_err());
    });
}
