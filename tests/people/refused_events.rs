//! Requests that the platform did not send, or sent long ago: all are refused alike, counted, and without effect.

use std::time::Duration;

use deskpass_platform::envelope::Envelope;
use serde_json::json;

use super::{AES_KEY, Desk, EVENTS, FRESH, TOKEN};
use crate::harness::{Response, request, until};

const XML: [(&str, &str); 1] = [("content-type", "text/xml")];

/// A request of WeCom with an event, sealed at this time in seconds.
pub(super) fn sealed(text: &str, seconds: i64) -> Vec<u8> {
    let (envelope, timestamp) = (Envelope::new(TOKEN.to_owned(), AES_KEY).unwrap(), seconds.to_string());
    let sealed = envelope.seal(text, "wwdeskpass", &[7; 16], &timestamp, "nonce");
    let path = format!("{EVENTS}?msg_signature={}&timestamp={timestamp}&nonce=nonce", sealed.signature);
    let body = format!("<xml><ToUserName>wwdeskpass</ToUserName><Encrypt>{}</Encrypt></xml>", sealed.encrypted);
    request("POST", &path, &XML, body.as_bytes())
}

/// The text of an event about user01.
pub(super) fn event(name: &str, seconds: i64) -> String {
    format!(
        "<xml><ToUserName>wwdeskpass</ToUserName><FromUserName>user01</FromUserName><CreateTime>{seconds}</CreateTime>\
         <MsgType>event</MsgType><Event>{name}</Event><AgentID>1000002</AgentID></xml>"
    )
}

/// Asserts the answer, which does not say why.
fn assert_refused(answer: &Response) {
    let told = answer.refused(403, 1003).json()["message"].as_str().unwrap().to_owned();
    assert!(!told.contains("signature") && answer.reason().is_empty(), "{answer:?}");
}

on_every_platform! {
    async fn what_the_platform_did_not_send_is_refused_and_counted() {
        let mut desk = Desk::start().await;
        let token = desk.client.sign_in_by_phone("user01").await;
        for (fault, outcome) in
            [("signature", "signature"), ("key", "malformed"), ("receiver", "receiver"), ("late", "time"), ("garbled", "malformed")]
        {
            let before = desk.events(outcome).await;
            let event = desk.send(&json!({ "change": "left", "userid": "user01", "fault": fault })).await;
            assert_eq!((&event["accepted"], &event["attempts"][0]["status"]), (&json!(false), &json!(403)), "{fault}: {event}");
            assert_eq!(desk.events(outcome).await, before + 1, "{fault}");
        }
        let malformed = desk.events("malformed").await;
        let huge = request("POST", EVENTS, &XML, &vec![b'x'; 256 * 1024 + 1]);
        assert_refused(&desk.client.send(&huge).await);
        assert_eq!(desk.events("malformed").await, malformed + 1);
        let check = format!("{EVENTS}?msg_signature=0&timestamp=1800000000&nonce=n&echostr={}", "A".repeat(64));
        for bytes in [
            request("POST", EVENTS, &XML, b""),
            request("POST", EVENTS, &XML, b"<xml></xml>"),
            request("POST", EVENTS, &XML, b"{\"encrypt\":\"AAAA\"}"),
            request("GET", EVENTS, &[], b""),
            request("GET", &check, &[], b""),
        ] {
            assert_refused(&desk.client.send(&bytes).await);
        }
        assert!(desk.client.is_valid(&token).await && desk.rows("user01").is_empty());
        assert_eq!(desk.app.query("SELECT count(*) FROM platform_event"), ["0"]);
        assert_eq!(desk.events("accepted").await, 1, "the check of the address");
    }
}

on_every_store! {
    /// Also byte by byte as the platform sent it.
    async fn a_recorded_request_has_no_effect_again() {
        let desk = Desk::start().await;
        let (mut client, now) = (desk.app.client().await, desk.app.clock.now().millis() / 1_000);
        let recorded = sealed(&event("unsubscribe", now), now);
        assert_eq!(client.send(&recorded).await.status, 200);
        assert_eq!(desk.rows("user01").len(), 1);
        desk.app.clock.advance(FRESH);
        until("the platform says otherwise", async || desk.rows("user01").len() == 2).await;
        let token = client.sign_in("user01").await;
        // Accepted, so that the platform does not send it again.
        assert_eq!(client.send(&recorded).await.status, 200);
        assert!(client.is_valid(&token).await);
        desk.app.clock.advance(Duration::from_mins(11));
        assert_refused(&client.send(&recorded).await);
        // Before its time it is as worthless as after it.
        let now = desk.app.clock.now().millis() / 1_000;
        assert_refused(&client.send(&sealed(&event("unsubscribe", now), now + 11 * 60)).await);
        assert!(client.is_valid(&token).await);
        assert_eq!(desk.rows("user01").len(), 2);
    }
}

on_one_store! {
    /// The signature does not tell the time of a request from its nonce. After three days the event is not recognised any more.
    async fn a_captured_event_is_not_new_with_its_time_and_nonce_exchanged() {
        let desk = Desk::start().await;
        let (mut client, now) = (desk.app.client().await, desk.app.clock.now().millis() / 1_000);
        let later = now + 80 * 3_600;
        let sealed = |times: [i64; 2], method: &str, place: &str| {
            let envelope = Envelope::new(TOKEN.to_owned(), AES_KEY).unwrap();
            let text = event("unsubscribe", now);
            let sealed = envelope.seal(&text, "wwdeskpass", &[7; 16], &now.to_string(), &later.to_string());
            let [timestamp, nonce] = times;
            let path = format!("{EVENTS}?msg_signature={}&timestamp={timestamp}&nonce={nonce}", sealed.signature);
            let body = format!("<xml><ToUserName>wwdeskpass</ToUserName><Encrypt>{}</Encrypt></xml>", sealed.encrypted);
            let echo = format!("&echostr={}", sealed.encrypted.replace('+', "%2B"));
            let (path, body) = if place == "echo" { (path + &echo, String::new()) } else { (path, body) };
            request(method, &path, &XML, body.as_bytes())
        };
        assert_eq!(client.send(&sealed([now, later], "POST", "body")).await.status, 200);
        // Nor is it decrypted for whoever has captured it.
        assert_refused(&client.send(&sealed([now, later], "GET", "echo")).await);
        desk.app.clock.advance(FRESH);
        until("the platform says otherwise", async || desk.rows("user01").len() == 2).await;
        desk.app.clock.advance(Duration::from_hours(80));
        let token = client.sign_in("user01").await;
        assert_refused(&client.send(&sealed([later, now], "POST", "body")).await);
        assert!(client.is_valid(&token).await);
    }

    /// A member may write to the application; what they write is no event, whatever it says.
    async fn a_message_of_a_member_is_no_event() {
        let desk = Desk::start().await;
        let (mut client, now) = (desk.app.client().await, desk.app.clock.now().millis() / 1_000);
        let token = client.sign_in("user01").await;
        let message = event("unsubscribe", now).replace("<MsgType>event", "<MsgType>text");
        for text in [message, event("enter_agent", now)] {
            let answer = client.send(&sealed(&text, now)).await;
            assert_eq!((answer.status, answer.body.as_str()), (200, ""));
        }
        assert!(client.is_valid(&token).await);
        assert_eq!(desk.app.query("SELECT count(*) FROM platform_event"), ["0"]);
    }
}
