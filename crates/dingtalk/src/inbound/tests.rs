#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use deskpass_core::Timestamp;
use deskpass_platform::{InboundEvent, PersonChange};
use proptest::prelude::*;

use super::*;

const TOKEN: &str = "mryue";
const KEY: &str = "Yue0EfdN5900c1ce5cf6A152c63DDe1808a60c5ecd7";
const CLIENT: &str = "ding6ccabc44d2c8d38b";
const CORP: &str = "ding1a422bb2c4531b39";

/// The check of the address in the examples of the official libraries.
const CHECK_QUERY: &str = "signature=03044561471240d4a14bb09372dfcfd4fd0e40cb&timestamp=1608001896814&nonce=WL4PK6yA";
const CHECK_BODY: &str = r#"{"encrypt":"0vJiX6vliEpwG3U45CtXqi+m8PXbQRARJ8p8BbDuD1EMTDf0jKpQ79QS93qEk7XHpP6u+oTTrd15NRPvNvmBKyDCYxxOK+HZeKju4yhELOFchzNukR+t8SB/qk4ROMu3"}"#;
const CHECK_TIME: i64 = 1_608_001_896_814;

fn envelope() -> Envelope {
    Envelope::new(TOKEN.to_owned(), KEY).unwrap()
}

fn reader(client_id: &str) -> EventReader {
    let settings = EventSettings { token: TOKEN.to_owned(), aes_key: KEY.to_owned() };
    EventReader::new(Some(settings), client_id, CORP)
}

fn send(reader: &EventReader, query: &str, body: &[u8], millis: i64) -> Result<InboundResult, InboundError> {
    let at = Timestamp::from_millis(millis);
    let random = [200; 16];
    reader.read(&InboundRequest { is_get: false, query, header: &|_| None, body, at, random })
}

/// Delivers a text with its own random bytes, as the platform does each time.
fn deliver(text: &str, receiver: &str, random: [u8; 16]) -> Result<InboundResult, InboundError> {
    let sealed = envelope().seal(text, receiver, &random, "1700000000000", "n");
    let query = format!("msg_signature={}&timestamp=1700000000000&nonce=n", sealed.signature);
    let body = json!({ "encrypt": sealed.encrypted }).to_string();
    send(&reader(CLIENT), &query, body.as_bytes(), 1_700_000_000_000)
}

fn events(event: &Value) -> Result<Vec<InboundEvent>, InboundError> {
    deliver(&event.to_string(), CLIENT, [7; 16]).map(|result| result.events)
}

fn changes(event: &Value) -> Result<Vec<PersonChange>, InboundError> {
    events(event).map(|events| events.into_iter().map(|event| event.change).collect())
}

/// Opens a reply as the platform does.
fn open_reply(reply: &InboundReply) -> (String, String) {
    let reply: Value = serde_json::from_str(&reply.body).unwrap();
    let field = |name: &str| reply.get(name).and_then(Value::as_str).unwrap();
    let message = SealedMessage {
        signature: field("msg_signature"),
        timestamp: field("timeStamp"),
        nonce: field("nonce"),
        encrypted: field("encrypt"),
    };
    let opened = envelope().verify(&message).unwrap().open(&[CLIENT, CORP]).unwrap();
    (opened.text, opened.receiver)
}

#[test]
fn the_check_of_the_address_is_answered_with_an_encrypted_success() {
    for query in [CHECK_QUERY, &CHECK_QUERY.replace("signature=", "extra=1&msg_signature=")] {
        let result = send(&reader(CLIENT), query, CHECK_BODY.as_bytes(), CHECK_TIME).unwrap();
        assert!(result.events.is_empty());
        assert_eq!(open_reply(&result.reply), ("success".to_owned(), CLIENT.to_owned()));
    }
}

#[test]
fn the_reply_is_to_the_receiver_of_the_event() {
    let check = r#"{"EventType":"check_url"}"#;
    for receiver in [CLIENT, CORP] {
        let result = deliver(check, receiver, [1; 16]).unwrap();
        assert_eq!(open_reply(&result.reply), ("success".to_owned(), receiver.to_owned()));
    }
    assert_eq!(deliver(check, "ding80ef5106dc236da9", [1; 16]), Err(InboundError::Receiver));
    assert_eq!(deliver(check, "", [1; 16]), Err(InboundError::Receiver));
}

#[test]
fn what_is_not_authentic_is_refused() {
    let refused = |query: &str, body: &str| send(&reader(CLIENT), query, body.as_bytes(), CHECK_TIME).unwrap_err();
    assert_eq!(refused(&CHECK_QUERY.replace("40cb", "40cc"), CHECK_BODY), InboundError::Signature);
    assert_eq!(refused(&CHECK_QUERY.replace("6814", "6815"), CHECK_BODY), InboundError::Signature);
    assert_eq!(refused("", CHECK_BODY), InboundError::Signature);
    assert_eq!(refused(CHECK_QUERY, &CHECK_BODY.replace("0vJi", "0vJj")), InboundError::Signature);
    let padded = CHECK_BODY.to_owned() + &" ".repeat(300_000);
    for body in ["", "{}", "[]", "null", r#"{"encrypt":1}"#, r#"{"encrypt":["a"]}"#, &"[".repeat(200_000), &padded] {
        assert_eq!(refused(CHECK_QUERY, body), InboundError::Malformed);
    }
    let other = send(&reader("ding80ef5106dc236da9"), CHECK_QUERY, CHECK_BODY.as_bytes(), CHECK_TIME);
    assert_eq!(other, Err(InboundError::Receiver));
    let at = Timestamp::from_millis(CHECK_TIME);
    let (query, body) = (CHECK_QUERY, CHECK_BODY.as_bytes());
    let get = InboundRequest { is_get: true, query, header: &|_| None, body, at, random: [0; 16] };
    assert_eq!(reader(CLIENT).read(&get), Err(InboundError::Malformed));
}

#[test]
fn old_and_early_requests_are_refused() {
    for (millis, fits) in [(-600_001, false), (-600_000, true), (600_000, true), (600_001, false)] {
        let result = send(&reader(CLIENT), CHECK_QUERY, CHECK_BODY.as_bytes(), CHECK_TIME + millis);
        assert_eq!(result.err(), (!fits).then_some(InboundError::Time), "{millis}");
    }
}

#[test]
fn without_usable_settings_everything_is_refused() {
    let settings = |token: &str, key: &str| EventSettings { token: token.to_owned(), aes_key: key.to_owned() };
    for unusable in [None, Some(settings("", KEY)), Some(settings(TOKEN, "short"))] {
        let reader = EventReader::new(unusable, CLIENT, CORP);
        let result = send(&reader, CHECK_QUERY, CHECK_BODY.as_bytes(), CHECK_TIME);
        assert_eq!(result, Err(InboundError::NotConfigured));
    }
    assert_eq!(settings(TOKEN, KEY).check(), Ok(()));
    assert_eq!(settings(TOKEN, "short").check(), Err(InvalidEnvelope::Key));
    assert!(!format!("{:?}", settings(TOKEN, KEY)).contains(TOKEN));
}

#[test]
fn members_join_change_and_leave() {
    let of = |kind: &str| changes(&json!({ "EventType": kind, "CorpId": CORP, "UserId": ["u1"] }));
    let userid = || "u1".to_owned();
    assert_eq!(of("user_add_org"), Ok(vec![PersonChange::Joined { userid: userid() }]));
    assert_eq!(of("user_active_org"), Ok(vec![PersonChange::Changed { userid: userid() }]));
    assert_eq!(of("user_modify_org"), Ok(vec![PersonChange::Changed { userid: userid() }]));
    assert_eq!(of("user_leave_org"), Ok(vec![PersonChange::Left { userid: userid() }]));
    let newer =
        json!({ "EventType": "user_leave_org", "userId": ["u1"], "eventId": "e", "timeStamp": "1685501863357" });
    assert_eq!(changes(&newer), Ok(vec![PersonChange::Left { userid: userid() }]));
    for kind in ["org_dept_create", "org_dept_modify", "org_dept_remove"] {
        let expected = PersonChange::DepartmentChanged { id: "600582447".to_owned() };
        let event = json!({ "EventType": kind, "CorpId": CORP, "DeptId": [600_582_447] });
        assert_eq!(changes(&event), Ok(vec![expected]));
    }
}

#[test]
fn a_list_of_members_becomes_one_event_each() {
    let time = 1_699_999_999_000_i64;
    let event = |ids: Value| json!({ "EventType": "user_leave_org", "CorpId": CORP, "UserId": ids, "TimeStamp": time });
    let two = events(&event(json!(["u1", "014627181005837"]))).unwrap();
    let [first, second] = two.as_slice() else { unreachable!("two events") };
    assert_eq!(first.change, PersonChange::Left { userid: "u1".to_owned() });
    assert_eq!(second.change, PersonChange::Left { userid: "014627181005837".to_owned() });
    assert_eq!(first.at, Some(Timestamp::from_millis(time)));
    assert_ne!(first.deduplication_key, second.deduplication_key);
    assert_eq!(events(&event(json!([]))), Ok(Vec::new()));
    let mixed = events(&event(json!(["a/b", "u1", ["u2"], "u3"]))).unwrap();
    let left: Vec<_> = mixed.into_iter().map(|event| event.change).collect();
    assert_eq!(left, ["u1", "u3"].map(|userid| PersonChange::Left { userid: userid.to_owned() }));
}

#[test]
fn a_repeated_event_has_the_same_key_and_another_event_another() {
    let leaver = |userid: &str| {
        let time = "1699999999000";
        json!({ "EventType": "user_leave_org", "CorpId": CORP, "UserId": [userid], "TimeStamp": time })
    };
    let delivered = |event: &Value, random| deliver(&event.to_string(), CLIENT, random).unwrap().events;
    assert_eq!(delivered(&leaver("u1"), [1; 16]), delivered(&leaver("u1"), [2; 16]), "encrypted anew");
    let key = |event: &Value| events(event).unwrap().first().unwrap().deduplication_key.clone();
    assert_ne!(key(&leaver("u1")), key(&leaver("u2")), "two members left in the same millisecond");
    let numbered = |id: &str| json!({ "EventType": "user_leave_org", "CorpId": CORP, "UserId": ["u1"], "eventId": id });
    assert_eq!(key(&numbered("83546b53")), "83546b53.u1");
    assert_ne!(key(&numbered("83546b53")), key(&numbered("83546b54")));
}

#[test]
fn other_events_mean_nothing_and_broken_ones_are_refused() {
    for kind in ["check_url", "org_admin_add", "org_change", "label_user_change", "bpms_task_change", "later"] {
        assert_eq!(changes(&json!({ "EventType": kind, "CorpId": CORP, "UserId": ["u1"] })), Ok(Vec::new()));
    }
    let other = json!({ "EventType": "user_leave_org", "CorpId": "ding80ef5106dc236da9", "UserId": ["u1"] });
    assert_eq!(changes(&other), Err(InboundError::Receiver), "a person of another corporation");
    for broken in [
        json!({}),
        json!([]),
        json!("user_leave_org"),
        json!({ "EventType": 1 }),
        json!({ "EventType": "user_leave_org" }),
        json!({ "EventType": "user_leave_org", "UserId": [""] }),
        json!({ "EventType": "user_leave_org", "UserId": ["a b", "a/b"] }),
        json!({ "EventType": "user_leave_org", "UserId": [["u1"]] }),
        json!({ "EventType": "user_leave_org", "UserId": null }),
    ] {
        assert_eq!(changes(&broken), Err(InboundError::Malformed), "{broken}");
    }
    assert_eq!(deliver("success", CLIENT, [1; 16]), Err(InboundError::Malformed), "not JSON");
}

proptest! {
    #[test]
    fn arbitrary_requests_are_refused(
        query in "\\PC{0,60}|signature=[0-9a-f]{40}&timestamp=1608001896814&nonce=1",
        body in prop::collection::vec(any::<u8>(), 0..300),
        encrypted in "[A-Za-z0-9+/]{64}",
    ) {
        prop_assert!(send(&reader(CLIENT), &query, &body, CHECK_TIME).is_err());
        let body = json!({ "encrypt": encrypted }).to_string();
        prop_assert!(send(&reader(CLIENT), &query, body.as_bytes(), CHECK_TIME).is_err());
    }

    /// With the right signature, as if the token and the key had been stolen: nothing panics.
    #[test]
    fn arbitrary_texts_mean_nothing(text in "\\PC{0,80}|([{}\\[\\]:,]|\"EventType\"|\"user_leave_org\"|\"UserId\"|1){0,20}") {
        let events = deliver(&text, CLIENT, [1; 16]).map(|result| result.events).unwrap_or_default();
        prop_assert!(events.is_empty() || text.contains("user_leave_org"));
    }
}
