//! SDKs that others wrote open the events that are sealed here, and seal events that are opened here.

use std::io::Write as _;
use std::process::Stdio;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use deskpass_platform::envelope::aes_cbc::{self, Padding};
use deskpass_platform::envelope::{Envelope, SealedMessage, digest};
use serde_json::{Value, json};

use super::sdks::python;

const NONCE: &str = "461056294";
const FEISHU_KEY: &str = "test key";

/// Gives the script what was sealed here, and returns what the SDKs sealed.
async fn exchange(given: Value) -> Value {
    let ran = tokio::task::spawn_blocking(move || {
        let mut python = python("events.py");
        python.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut running = python.spawn().expect("run tools/sdks first");
        running.stdin.take().unwrap().write_all(given.to_string().as_bytes()).unwrap();
        running.wait_with_output().unwrap()
    });
    let ran = ran.await.unwrap();
    let (said, error) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{said}{error}");
    let made = said.lines().find_map(|line| line.strip_prefix("done ")).unwrap_or_else(|| panic!("{said}{error}"));
    serde_json::from_str(made).unwrap()
}

/// Texts of all lengths up to two blocks of padding, and a long one.
fn texts() -> Vec<String> {
    let text = |chars: usize| "a张".chars().cycle().take(chars).collect::<String>();
    (0..66).chain([20_000]).map(text).collect()
}

/// A platform whose events come in the envelope: its token, key, receiver and time.
struct Platform {
    token: &'static str,
    key: &'static str,
    receiver: &'static str,
    timestamp: &'static str,
}

const WECOM: Platform = Platform {
    token: "123456",
    key: "kWxPEV2UEDyxWpmPdKC3F4dgPDmOvfKX1HGnEUDS1aR",
    receiver: "wx49f0ab532d5d035a",
    timestamp: "1411525903",
};
const DINGTALK: Platform = Platform {
    token: "mryue",
    key: "Yue0EfdN5900c1ce5cf6A152c63DDe1808a60c5ecd7",
    receiver: "ding6ccabc44d2c8d38b",
    timestamp: "1608001896814",
};

impl Platform {
    fn envelope(&self) -> Envelope {
        Envelope::new(self.token.to_owned(), self.key).unwrap()
    }

    fn given(&self, texts: &[String]) -> Value {
        let (envelope, Self { token, key, receiver, timestamp }) = (self.envelope(), self);
        let seal = |text: &String| {
            // Also bytes that are not text.
            let sealed = envelope.seal(text, receiver, &[0xf0; 16], timestamp, NONCE);
            json!({ "signature": sealed.signature, "encrypted": sealed.encrypted })
        };
        let sealed: Vec<_> = texts.iter().map(seal).collect();
        json!({
            "token": token, "key": key, "receiver": receiver, "timestamp": timestamp, "nonce": NONCE,
            "texts": texts, "sealed": sealed,
        })
    }

    fn open(&self, made: &Value) -> String {
        let field = |name: &str| made[name].as_str().unwrap();
        let (signature, encrypted) = (field("signature"), field("encrypted"));
        let message = SealedMessage { signature, timestamp: self.timestamp, nonce: NONCE, encrypted };
        let envelope = self.envelope();
        envelope.verify(&message).unwrap().open(&[self.receiver]).unwrap().text
    }
}

/// Events of Feishu, with names of all lengths up to two blocks.
fn feishu_texts() -> Vec<String> {
    let event = |(number, name): (usize, String)| {
        let header = json!({
            "event_id": format!("e{number}"), "event_type": "contact.user.deleted_v3", "create_time": "1689999999123",
            "token": "v_token", "app_id": "cli_deskpass", "tenant_key": "tenantdeskpass",
        });
        let object = json!({ "user_id": format!("user{number}"), "name": name });
        json!({ "schema": "2.0", "header": header, "event": { "object": object } }).to_string()
    };
    texts().into_iter().take(33).enumerate().map(event).collect()
}

fn feishu_signature(body: &str) -> String {
    digest::sha256_hex(&[b"1690000000", NONCE.as_bytes(), FEISHU_KEY.as_bytes(), body.as_bytes()])
}

fn feishu_given(texts: &[String]) -> Value {
    let seal = |text: &String| {
        let iv = [7; 16];
        let encrypted = aes_cbc::encrypt(&digest::sha256(FEISHU_KEY), &iv, text.as_bytes(), Padding::To16);
        let body = json!({ "encrypt": STANDARD.encode([iv.as_slice(), &encrypted].concat()) }).to_string();
        json!({ "signature": feishu_signature(&body), "body": body })
    };
    let sealed: Vec<_> = texts.iter().map(seal).collect();
    json!({
        "key": FEISHU_KEY, "token": "v_token", "timestamp": "1690000000", "nonce": NONCE,
        "texts": texts, "sealed": sealed,
    })
}

fn feishu_open(made: &Value) -> String {
    let body = made["body"].as_str().unwrap();
    assert_eq!(made["signature"], feishu_signature(body));
    let encrypted = serde_json::from_str::<Value>(body).unwrap()["encrypt"].take();
    let encrypted = STANDARD.decode(encrypted.as_str().unwrap()).unwrap();
    let (iv, encrypted) = encrypted.split_first_chunk::<16>().unwrap();
    let text = aes_cbc::decrypt(&digest::sha256(FEISHU_KEY), iv, encrypted, Padding::To16);
    String::from_utf8(text.unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sdks_open_and_seal_events() {
    let (texts, events) = (texts(), feishu_texts());
    let given = json!({
        "wecom": WECOM.given(&texts), "dingtalk": DINGTALK.given(&texts), "feishu": feishu_given(&events),
    });
    let made = exchange(given).await;
    let made = |name: &str| made[name].as_array().unwrap();
    assert_eq!(made("wecom").iter().map(|made| WECOM.open(made)).collect::<Vec<_>>(), texts);
    assert_eq!(made("dingtalk").iter().map(|made| DINGTALK.open(made)).collect::<Vec<_>>(), texts);
    assert_eq!(made("feishu").iter().map(feishu_open).collect::<Vec<_>>(), events);
}
