//! The events that each platform sends, and how they can go wrong.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use deskpass_platform::InboundError;
use deskpass_platform::envelope::aes_cbc::{self, Padding};
use deskpass_platform::envelope::{Envelope, SealedMessage, digest};
use deskpass_simulator::Kind;
use serde_json::{Value, json};

use crate::harness::Sim;
use crate::receiver::{Received, Receiver};

const TOKEN: &str = "a-token";
const AES_KEY: &str = "4Ma3YBrSBbX2aez8MJpXGBne5LSDwgGqHbhM9WPYIws";
const ENCRYPT_KEY: &str = "test key";
const NOW: i64 = 1_800_000_000;

fn envelope() -> Envelope {
    Envelope::new(TOKEN.to_owned(), AES_KEY).unwrap()
}

/// The text of an envelope, as a service reads it.
fn open(received: &Received, encrypted: &str, receiver_id: &str) -> Result<String, InboundError> {
    let (timestamp, nonce) = (received.parameter("timestamp"), received.parameter("nonce"));
    let message = SealedMessage { signature: received.parameter("msg_signature"), timestamp, nonce, encrypted };
    envelope().verify(&message)?.open(&[receiver_id]).map(|opened| opened.text)
}

fn wecom_text(received: &Received) -> Result<String, InboundError> {
    let encrypted = if received.is_get {
        received.parameter("echostr")
    } else {
        received.body.split("<Encrypt><![CDATA[").nth(1).unwrap().split("]]>").next().unwrap()
    };
    open(received, encrypted, "wwdeskpass")
}

fn answer_wecom(received: &Received) -> (u16, String) {
    match wecom_text(received) {
        Ok(text) if received.is_get => (200, text),
        Ok(text) if text.ends_with("</xml>") => (200, String::new()),
        _ => (403, String::new()),
    }
}

fn dingtalk_text(received: &Received) -> Result<String, InboundError> {
    let body: Value = serde_json::from_str(&received.body).unwrap();
    open(received, body["encrypt"].as_str().unwrap(), "dingclientdeskpass")
}

fn answer_dingtalk(received: &Received) -> (u16, String) {
    let Ok(_) = dingtalk_text(received) else { return (403, String::new()) };
    let sealed = envelope().seal("success", "dingclientdeskpass", &[b'a'; 16], "1", "n");
    let (signature, encrypt) = (sealed.signature, sealed.encrypted);
    (200, json!({ "msg_signature": signature, "timeStamp": "1", "nonce": "n", "encrypt": encrypt }).to_string())
}

fn feishu_text(received: &Received) -> Option<Value> {
    let body: Value = serde_json::from_str(&received.body).unwrap();
    let bytes = STANDARD.decode(body["encrypt"].as_str().unwrap()).unwrap();
    let (iv, encrypted) = bytes.split_first_chunk::<16>().unwrap();
    let text = aes_cbc::decrypt(&digest::sha256(ENCRYPT_KEY), iv, encrypted, Padding::To16)?;
    serde_json::from_slice(&text).ok()
}

fn is_signed(received: &Received) -> bool {
    let (timestamp, nonce) = (received.header("x-lark-request-timestamp"), received.header("x-lark-request-nonce"));
    let parts = [timestamp, nonce, ENCRYPT_KEY, received.body.as_str()].map(str::as_bytes);
    digest::sha256_hex(&parts) == received.header("x-lark-signature")
}

fn answer_feishu(received: &Received) -> (u16, String) {
    match feishu_text(received) {
        Some(text) if text["type"] == "url_verification" => {
            (200, json!({ "challenge": text["challenge"] }).to_string())
        }
        Some(_) if is_signed(received) => (200, "{}".to_owned()),
        _ => (403, String::new()),
    }
}

/// Enters an address; the platform checks it at once.
async fn register(sim: &Sim, kind: Kind, url: &str) -> crate::harness::Response {
    let body = match kind {
        Kind::Feishu => json!({ "url": url, "encrypt_key": ENCRYPT_KEY, "token": TOKEN }),
        _ => json!({ "url": url, "token": TOKEN, "aes_key": AES_KEY }),
    };
    sim.send("PUT", "/events", &body.to_string()).await
}

/// A platform and a service that receives its events.
async fn connected(kind: Kind) -> (Sim, Receiver) {
    let answer = match kind {
        Kind::Wecom => answer_wecom,
        Kind::Dingtalk => answer_dingtalk,
        Kind::Feishu => answer_feishu,
    };
    let (sim, receiver) = (Sim::start_as(kind).await, Receiver::start(answer).await);
    let checked = register(&sim, kind, &receiver.url).await;
    assert_eq!(checked.status, 200, "{checked:?}");
    assert_eq!(checked.json()["receiver"]["url"], receiver.url);
    let checks = receiver.take();
    assert!(checks.len() == 1 && checks[0].parameter("kept") == "1", "{checks:?}");
    (sim, receiver)
}

/// Changes a person; returns the events as the platform lists them.
async fn change(sim: &Sim, person: &str, change: Value) -> Vec<Value> {
    let answer = sim.send("PUT", &format!("/people/{person}"), &change.to_string()).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let events = answer.json()["events"].as_array().unwrap().clone();
    assert!(events.iter().all(|event| event["accepted"] == true), "{events:?}");
    events
}

/// Sends an event by hand; returns it.
async fn send(sim: &Sim, event: Value) -> Value {
    let answer = sim.send("POST", "/events/send", &event.to_string()).await;
    assert_eq!(answer.status, 200, "{event}: {answer:?}");
    answer.json()["events"][0].clone()
}

#[tokio::test]
async fn wecom_tells_the_app_who_is_in_its_range_and_nothing_else() {
    let (sim, receiver) = connected(Kind::Wecom).await;
    for (state, event) in [
        ("disabled", None),
        ("left", Some("unsubscribe")),
        ("hidden", None),
        ("active", Some("subscribe")),
        ("active", None),
        ("hidden", Some("unsubscribe")),
        ("disabled", Some("subscribe")),
    ] {
        let told = change(&sim, "user01", json!({ "state": state, "name": state })).await;
        let texts: Vec<_> = receiver.take().iter().map(|received| wecom_text(received).unwrap()).collect();
        assert_eq!((told.len(), texts.len()), (usize::from(event.is_some()), told.len()), "{state}");
        if let Some(event) = event {
            let expected = format!("<Event><![CDATA[{event}]]></Event><AgentID>1000002</AgentID></xml>");
            assert!(texts[0].ends_with(&expected), "{}", texts[0]);
            assert!(texts[0].contains("<FromUserName><![CDATA[user01]]></FromUserName>"), "{}", texts[0]);
            assert!(texts[0].contains(&format!("<CreateTime>{NOW}</CreateTime>")), "{}", texts[0]);
        }
    }
}

#[tokio::test]
async fn dingtalk_wants_an_encrypted_answer() {
    let (sim, receiver) = connected(Kind::Dingtalk).await;
    for (state, kind) in [
        ("disabled", Some("user_modify_org")),
        ("active", Some("user_modify_org")),
        ("hidden", None),
        ("left", Some("user_leave_org")),
        ("active", Some("user_add_org")),
    ] {
        change(&sim, "user01", json!({ "state": state })).await;
        let requests = receiver.take();
        let texts: Vec<Value> =
            requests.iter().map(|received| serde_json::from_str(&dingtalk_text(received).unwrap()).unwrap()).collect();
        assert_eq!(texts.len(), usize::from(kind.is_some()), "{state}");
        if let Some(kind) = kind {
            assert_eq!((&texts[0]["EventType"], &texts[0]["UserId"]), (&json!(kind), &json!(["user01"])));
            assert_eq!(texts[0]["CorpId"], "dingdeskpass");
        }
    }
    let plain = Receiver::start(|_| (200, "success".to_owned())).await;
    let refused = register(&sim, Kind::Dingtalk, &plain.url).await;
    assert_eq!(refused.status, 400);
    assert!(refused.body.contains("not JSON"), "{refused:?}");
}

#[tokio::test]
async fn feishu_sends_what_changed() {
    let (sim, receiver) = connected(Kind::Feishu).await;
    for (update, kind, place, value) in [
        (json!({ "state": "disabled" }), "contact.user.updated_v3", "/event/object/status/is_frozen", json!(true)),
        (json!({ "name": "U" }), "contact.user.updated_v3", "/event/old_object", json!({ "name": "Uma User" })),
        (json!({ "state": "left" }), "contact.user.deleted_v3", "/event/object/user_id", json!("user01")),
        (json!({ "state": "active" }), "contact.user.created_v3", "/event/object/name", json!("U")),
        (json!({ "state": "hidden" }), "contact.scope.updated_v3", "/event/removed/users/0/user_id", json!("user01")),
        (json!({ "state": "active" }), "contact.scope.updated_v3", "/event/added/users/0/open_id", json!("ou_user01")),
        (json!({ "userid": "user02" }), "contact.user.updated_v3", "/event/old_object/user_id", json!("user01")),
    ] {
        change(&sim, "user01", update).await;
        let requests = receiver.take();
        let text = feishu_text(&requests[0]).unwrap();
        assert_eq!((requests.len(), &text["header"]["event_type"]), (1, &json!(kind)));
        assert_eq!(text.pointer(place), Some(&value), "{text}");
        assert_eq!(
            (&text["header"]["token"], &text["header"]["tenant_key"]),
            (&json!(TOKEN), &json!("tenantdeskpass"))
        );
    }
    assert_eq!(sim.get("/events").await.json()["events"].as_array().unwrap().len(), 7);
}

#[tokio::test]
async fn an_address_that_answers_wrongly_is_not_entered() {
    let sim = Sim::start().await;
    let silent = Receiver::start(|_| (404, String::new())).await;
    let quoting = Receiver::start(|received| (200, format!("{:?}", wecom_text(received)))).await;
    for (url, words) in [
        (silent.url.as_str(), "status 404"),
        (quoting.url.as_str(), "not the decrypted text alone"),
        ("http://127.0.0.1:1/", "no answer"),
        ("ftp://localhost/", "http or https"),
    ] {
        let answer = register(&sim, Kind::Wecom, url).await;
        assert!(answer.status == 400 && answer.body.contains(words), "{words}: {answer:?}");
    }
    for (body, words) in [
        (json!({ "url": silent.url }), "token and aes_key"),
        (json!({ "url": silent.url, "token": "t", "aes_key": "short" }), "43 letters and digits"),
        (json!({ "url": silent.url, "encrypt_key": "x" }), "token and aes_key"),
    ] {
        let answer = sim.send("PUT", "/events", &body.to_string()).await;
        assert!(answer.status == 400 && answer.body.contains(words), "{body}: {answer:?}");
    }
    assert_eq!(sim.get("/events").await.json(), json!({ "receiver": null, "events": [] }));
    let unsent = sim.send("POST", "/events/send", r#"{"change":"left","userid":"user01"}"#).await;
    assert!(unsent.status == 400 && unsent.body.contains("PUT events first"), "{unsent:?}");
}

#[tokio::test]
async fn events_by_hand_can_be_wrong_in_every_way() {
    let (sim, receiver) = connected(Kind::Wecom).await;
    for (fault, error) in [
        ("signature", Err(InboundError::Signature)),
        ("key", Err(InboundError::Malformed)),
        ("receiver", Err(InboundError::Receiver)),
    ] {
        let event = send(&sim, json!({ "change": "left", "userid": "user01", "fault": fault })).await;
        assert_eq!((&event["accepted"], &event["attempts"][0]["status"]), (&json!(false), &json!(403)), "{fault}");
        assert_eq!(wecom_text(&receiver.take()[0]), error, "{fault}");
    }
    send(&sim, json!({ "change": "left", "userid": "user01", "fault": "late" })).await;
    let late: i64 = receiver.take()[0].parameter("timestamp").parse().unwrap();
    assert_eq!(late, NOW - 24 * 60 * 60);
    send(&sim, json!({ "change": "left", "userid": "user01", "fault": "garbled" })).await;
    assert!(!wecom_text(&receiver.take()[0]).unwrap().ends_with("</xml>"));

    let twice = send(&sim, json!({ "change": "renamed", "userid": "user01", "to": "user02", "times": 2 })).await;
    assert_eq!((&twice["accepted"], twice["attempts"].as_array().unwrap().len()), (&json!(true), 2));
    let texts: Vec<_> = receiver.take().iter().map(|received| wecom_text(received).unwrap()).collect();
    assert!(texts.len() == 2 && texts[0] == texts[1], "{texts:?}");
    assert!(texts[0].contains("<NewUserID><![CDATA[user02]]></NewUserID>"), "{}", texts[0]);
    for wrong in [
        json!({ "change": "renamed", "userid": "user01" }),
        json!({ "change": "vanished", "userid": "user01" }),
        json!({ "change": "left", "userid": "user01", "times": 0 }),
        json!({ "change": "left", "userid": "user01", "fault": "none" }),
    ] {
        assert_eq!(sim.send("POST", "/events/send", &wrong.to_string()).await.status, 400, "{wrong}");
    }
}

#[tokio::test]
async fn feishu_faults_are_about_its_own_signature() {
    let (sim, receiver) = connected(Kind::Feishu).await;
    for (fault, signed, readable) in
        [("signature", false, true), ("key", true, false), ("garbled", true, false), ("receiver", true, true)]
    {
        send(&sim, json!({ "change": "left", "userid": "user01", "fault": fault })).await;
        let requests = receiver.take();
        assert_eq!((is_signed(&requests[0]), feishu_text(&requests[0]).is_some()), (signed, readable), "{fault}");
    }
}

#[tokio::test]
async fn events_that_are_not_accepted_are_sent_again_a_few_times() {
    let failing =
        Receiver::start(|received| if received.is_get { answer_wecom(received) } else { (500, String::new()) });
    let (sim, receiver) = (Sim::start().await, failing.await);
    assert_eq!(register(&sim, Kind::Wecom, &receiver.url).await.status, 200);
    let answer = sim.send("PUT", "/people/user01", r#"{"state":"left"}"#).await.json();
    assert_eq!(answer["events"][0]["attempts"][0]["error"], "the address answered with status 500");
    for attempts in [2, 3] {
        let again = sim.send("POST", "/events/retry", "").await.json();
        assert_eq!(again["events"][0]["attempts"].as_array().unwrap().len(), attempts);
    }
    assert_eq!(sim.send("POST", "/events/retry", "").await.json(), json!({ "events": [] }));
    receiver.take();
    assert_eq!(sim.send("DELETE", "/events", "").await.json(), json!({ "receiver": null, "events": [] }));
    sim.send("PUT", "/people/user01", r#"{"state":"active"}"#).await;
    assert!(receiver.take().is_empty());
}
