#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use deskpass_core::Timestamp;
use deskpass_platform::{CardHandle, InboundEvent, PersonChange};
use proptest::prelude::*;

use super::*;

const KEY: &str = "test key";
const TOKEN: &str = "v_token";
const APP: &str = "cli_deskpass";
const TENANT: &str = "tenantdeskpass";
const SECONDS: i64 = 1_690_000_000;

/// A check of the address and its signature, encrypted by another implementation.
const CHECK: &str = r#"{"encrypt":"MDEyMzQ1Njc4OWFiY2RlZtWk+9FBVdzQ4TLkjfEv5NOLlzViGk4gi/gsOhMmdXMDBcptI/wnMk3fgR5keRjLEBwCrsHUyCRBl/cnQWcJmkuph+Y0QQ1y4DmRjEvq+pgI"}"#;
const CHECK_SIGNATURE: &str = "fd2d1ae75486742f33697d567a68b1e9da69b23f5c2db43e52f0a017f29b0947";

fn reader(user_id: UserIdKind) -> EventReader {
    let settings = EventSettings { encrypt_key: KEY.to_owned(), token: TOKEN.to_owned() };
    EventReader::new(Some(settings), APP, TENANT, user_id)
}

/// Sends a body with these headers: timestamp, nonce, signature.
fn send(
    reader: &EventReader,
    [timestamp, nonce, signature]: [Option<&str>; 3],
    body: &[u8],
    seconds: i64,
) -> Result<InboundResult, InboundError> {
    let header = |name: &str| match name {
        "x-lark-request-timestamp" => timestamp,
        "x-lark-request-nonce" => nonce,
        "x-lark-signature" => signature,
        _ => None,
    };
    let at = Timestamp::from_millis(seconds * 1_000);
    reader.read(&InboundRequest { is_get: false, query: "", header: &header, body, at, random: [0; 16] })
}

fn unsigned(body: &str) -> Result<InboundResult, InboundError> {
    send(&reader(UserIdKind::UserId), [None; 3], body.as_bytes(), SECONDS)
}

fn encrypt(text: &[u8], iv: [u8; 16]) -> String {
    let encrypted = aes_cbc::encrypt(&digest::sha256(KEY), &iv, text, Padding::To16);
    json!({ "encrypt": STANDARD.encode([iv.as_slice(), &encrypted].concat()) }).to_string()
}

fn sign(body: &str) -> String {
    digest::sha256_hex(&[b"1690000000", b"nonce123", KEY.as_bytes(), body.as_bytes()])
}

/// Delivers what is already encrypted, with the right signature.
fn deliver_body(user_id: UserIdKind, body: &str) -> Result<InboundResult, InboundError> {
    let signature = sign(body);
    let headers = ["1690000000", "nonce123", &*signature].map(Some);
    send(&reader(user_id), headers, body.as_bytes(), SECONDS)
}

fn deliver(user_id: UserIdKind, text: &[u8]) -> Result<InboundResult, InboundError> {
    deliver_body(user_id, &encrypt(text, [7; 16]))
}

fn delivery(kind: &str, event: &Value) -> Value {
    let header = json!({
        "event_id": "e1",
        "event_type": kind,
        "create_time": "1689999999123",
        "token": TOKEN,
        "app_id": APP,
        "tenant_key": TENANT,
    });
    json!({ "schema": "2.0", "header": header, "event": event })
}

fn changes_for(user_id: UserIdKind, body: &Value) -> Result<Vec<PersonChange>, InboundError> {
    let events = deliver(user_id, body.to_string().as_bytes())?.events;
    Ok(events.into_iter().map(|event| event.change).collect())
}

fn changes(kind: &str, event: &Value) -> Result<Vec<PersonChange>, InboundError> {
    changes_for(UserIdKind::UserId, &delivery(kind, event))
}

fn person() -> Value {
    json!({ "open_id": "ou_1", "union_id": "on_1", "user_id": "u1", "name": "张三" })
}

fn userid() -> String {
    "u1".to_owned()
}

#[test]
fn another_implementation_encrypts_and_signs_alike() {
    let hello = STANDARD.decode("P37w+VZImNgPEO1RBhJ6RtKl7n6zymIbEG1pReEzghk=").unwrap();
    let (iv, hello) = hello.split_first_chunk().unwrap();
    let hello = aes_cbc::decrypt(&digest::sha256(KEY), iv, hello, Padding::To16);
    assert_eq!(hello.as_deref(), Some(b"hello world".as_slice()));
    assert_eq!(sign(CHECK), CHECK_SIGNATURE);
    let text = br#"{"challenge":"ajls384kdjx98XX","token":"v_token","type":"url_verification"}"#;
    assert_eq!(encrypt(text, *b"0123456789abcdef"), CHECK);
}

#[test]
fn the_check_of_the_address_is_answered_with_its_challenge() {
    for result in [unsigned(CHECK), deliver_body(UserIdKind::UserId, CHECK)] {
        let result = result.unwrap();
        assert_eq!((result.reply.body.as_str(), result.events), (r#"{"challenge":"ajls384kdjx98XX"}"#, Vec::new()));
    }
    let check = |token: &str| json!({ "challenge": "c", "token": token, "type": "url_verification" }).to_string();
    assert!(unsigned(&encrypt(check(TOKEN).as_bytes(), [1; 16])).is_ok());
    for wrong in ["", "v_token2", "v_toke"] {
        assert_eq!(unsigned(&encrypt(check(wrong).as_bytes(), [1; 16])), Err(InboundError::Signature), "{wrong}");
    }
    assert_eq!(unsigned(&check(TOKEN)), Err(InboundError::Signature), "not encrypted");
}

#[test]
fn an_event_needs_the_right_signature() {
    let event = delivery("contact.user.deleted_v3", &json!({ "object": person() })).to_string();
    let body = encrypt(event.as_bytes(), [1; 16]);
    let signature = sign(&body);
    let refused = |headers: [&str; 3], body: &str| {
        send(&reader(UserIdKind::UserId), headers.map(Some), body.as_bytes(), SECONDS).unwrap_err()
    };
    assert!(deliver_body(UserIdKind::UserId, &body).is_ok());
    assert_eq!(unsigned(&body), Err(InboundError::Signature));
    assert_eq!(refused(["1690000001", "nonce123", &signature], &body), InboundError::Signature);
    assert_eq!(refused(["1690000000", "nonce124", &signature], &body), InboundError::Signature);
    assert_eq!(refused(["1690000000", "nonce123", CHECK_SIGNATURE], &body), InboundError::Signature);
    assert_eq!(refused(["1690000000", "nonce123", ""], &body), InboundError::Signature);
    // The same JSON, but other bytes.
    let spaced = body.replace(':', ": ");
    assert_eq!(refused(["1690000000", "nonce123", &signature], &spaced), InboundError::Signature);
    assert_eq!(deliver_body(UserIdKind::UserId, &event), Err(InboundError::Malformed), "signed, but not encrypted");
    let large = body.clone() + &" ".repeat(300_000);
    assert_eq!(deliver_body(UserIdKind::UserId, &large), Err(InboundError::Malformed));
}

#[test]
fn a_retry_may_be_hours_old() {
    let body = encrypt(delivery("later", &json!({})).to_string().as_bytes(), [1; 16]);
    let signature = sign(&body);
    for (seconds, fits) in [(-601, false), (-600, true), (8 * 3_600, true), (8 * 3_600 + 1, false)] {
        let headers = ["1690000000", "nonce123", &*signature].map(Some);
        let result = send(&reader(UserIdKind::UserId), headers, body.as_bytes(), SECONDS + seconds);
        assert_eq!(result.err(), (!fits).then_some(InboundError::Time), "{seconds}");
    }
}

#[test]
fn broken_bodies_are_one_error() {
    let whole = encrypt(b"{}", [1; 16]);
    for broken in ["", "{}", "[]", r#"{"encrypt":""}"#, r#"{"encrypt":"AAAA"}"#, r#"{"encrypt":1}"#, &whole] {
        assert_eq!(deliver_body(UserIdKind::UserId, broken), Err(InboundError::Malformed), "{broken}");
        assert_eq!(unsigned(broken), Err(InboundError::Signature), "{broken}");
    }
    for text in [b"not JSON".as_slice(), b"", &[0xff; 40], b"[]", b"null"] {
        assert_eq!(deliver(UserIdKind::UserId, text), Err(InboundError::Malformed));
    }
}

#[test]
fn without_settings_everything_is_refused() {
    let settings = |key: &str, token: &str| EventSettings { encrypt_key: key.to_owned(), token: token.to_owned() };
    for none in [None, Some(settings("", TOKEN)), Some(settings("", ""))] {
        let reader = EventReader::new(none, APP, TENANT, UserIdKind::UserId);
        let result = send(&reader, [None; 3], CHECK.as_bytes(), SECONDS);
        assert_eq!(result, Err(InboundError::NotConfigured));
    }
    assert!(!format!("{:?}", settings(KEY, TOKEN)).contains(TOKEN));
}

#[test]
fn without_a_token_the_key_alone_authenticates() {
    let settings = EventSettings { encrypt_key: KEY.to_owned(), token: String::new() };
    let reader = EventReader::new(Some(settings), APP, TENANT, UserIdKind::UserId);
    assert!(send(&reader, [None; 3], CHECK.as_bytes(), SECONDS).is_ok());
    let event = delivery("contact.user.deleted_v3", &json!({ "object": person() })).to_string();
    let body = encrypt(event.as_bytes(), [1; 16]);
    let signature = sign(&body);
    assert!(send(&reader, ["1690000000", "nonce123", &*signature].map(Some), body.as_bytes(), SECONDS).is_ok());
    assert_eq!(send(&reader, [None; 3], body.as_bytes(), SECONDS), Err(InboundError::Signature));
}

#[test]
fn an_event_for_another_application_or_tenant_is_refused() {
    for (field, error) in
        [("token", InboundError::Signature), ("app_id", InboundError::Receiver), ("tenant_key", InboundError::Receiver)]
    {
        let mut event = delivery("contact.user.deleted_v3", &json!({ "object": person() }));
        *event.pointer_mut(&format!("/header/{field}")).unwrap() = json!("other");
        assert_eq!(changes_for(UserIdKind::UserId, &event), Err(error), "{field}");
        event.pointer_mut("/header").unwrap().as_object_mut().unwrap().remove(field);
        assert_eq!(changes_for(UserIdKind::UserId, &event), Err(InboundError::Malformed), "{field}");
    }
}

#[test]
fn members_join_change_and_leave() {
    let object = json!({ "object": person(), "old_object": { "department_ids": ["od-1"], "open_id": "ou_1" } });
    let of = |kind: &str| changes(&format!("contact.user.{kind}_v3"), &object);
    assert_eq!(of("created"), Ok(vec![PersonChange::Joined { userid: userid() }]));
    assert_eq!(of("updated"), Ok(vec![PersonChange::Changed { userid: userid() }]));
    assert_eq!(of("deleted"), Ok(vec![PersonChange::Left { userid: userid() }]));
    let frozen = json!({ "object": person(), "old_object": { "status": { "is_frozen": false } } });
    let changed = Ok(vec![PersonChange::Changed { userid: userid() }]);
    assert_eq!(changes("contact.user.updated_v3", &frozen), changed);
    // One who was frozen, or is active again, has another status in the record itself.
    for (status, expected) in [
        (json!({ "is_frozen": true, "is_activated": true }), PersonChange::Suspended { userid: userid() }),
        (json!({ "is_frozen": true, "is_resigned": true }), PersonChange::Left { userid: userid() }),
        (json!({ "is_exited": true }), PersonChange::Left { userid: userid() }),
        (json!({ "is_frozen": false, "is_resigned": false }), PersonChange::Changed { userid: userid() }),
        (json!({ "is_frozen": "true" }), PersonChange::Changed { userid: userid() }),
    ] {
        let event = json!({ "object": { "user_id": "u1", "status": status }, "old_object": { "name": "李四" } });
        assert_eq!(changes("contact.user.updated_v3", &event), Ok(vec![expected]), "{event}");
    }
    let both =
        json!({ "object": { "user_id": "u1", "status": { "is_frozen": true } }, "old_object": { "user_id": "u0" } });
    let [renamed, suspended] =
        [PersonChange::Renamed { from: "u0".to_owned(), to: userid() }, PersonChange::Suspended { userid: userid() }];
    assert_eq!(changes("contact.user.updated_v3", &both), Ok(vec![renamed, suspended]));
    let renamed = json!({ "object": person(), "old_object": { "user_id": "u0" } });
    let expected = PersonChange::Renamed { from: "u0".to_owned(), to: userid() };
    assert_eq!(changes("contact.user.updated_v3", &renamed), Ok(vec![expected]));
    let by_open_id = changes_for(UserIdKind::OpenId, &delivery("contact.user.updated_v3", &renamed));
    assert_eq!(by_open_id, Ok(vec![PersonChange::Changed { userid: "ou_1".to_owned() }]));
}

#[test]
fn an_event_without_the_identifier_is_refused() {
    let nameless = json!({ "object": { "open_id": "ou_1" } });
    assert_eq!(changes("contact.user.deleted_v3", &nameless), Err(InboundError::Malformed));
    let event = delivery("contact.user.deleted_v3", &nameless);
    assert!(changes_for(UserIdKind::OpenId, &event).is_ok());
    for broken in [json!({}), json!({ "object": { "user_id": "a/b" } }), json!({ "object": { "user_id": 1 } })] {
        assert_eq!(changes("contact.user.deleted_v3", &broken), Err(InboundError::Malformed), "{broken}");
    }
}

#[test]
fn departments_and_the_range_change() {
    let department = |id: &str| PersonChange::DepartmentChanged { id: id.to_owned() };
    for kind in ["created", "updated", "deleted"] {
        let event = json!({ "object": { "department_id": "D1", "open_department_id": "od-1" } });
        assert_eq!(changes(&format!("contact.department.{kind}_v3"), &event), Ok(vec![department("od-1")]));
    }
    let scope = json!({
        "added": { "users": [{ "user_id": "u2" }], "departments": [{ "open_department_id": "od-2" }], "user_groups": [] },
        "removed": { "users": [{ "open_id": "ou_3" }, person()], "departments": [{ "open_department_id": "od-3" }] },
    });
    let expected = vec![
        PersonChange::OutOfRange { userid: userid() },
        PersonChange::Joined { userid: "u2".to_owned() },
        department("od-3"),
        department("od-2"),
        PersonChange::RangeReduced,
    ];
    assert_eq!(changes("contact.scope.updated_v3", &scope), Ok(expected));
    let group = json!({ "removed": { "user_groups": [{ "user_group_id": "g1" }] }, "added": {} });
    assert_eq!(changes("contact.scope.updated_v3", &group), Ok(vec![PersonChange::RangeReduced]));
    let added = json!({ "removed": { "user_groups": [] }, "added": { "user_groups": [{ "user_group_id": "g1" }] } });
    assert_eq!(changes("contact.scope.updated_v3", &added), Ok(Vec::new()));
    assert_eq!(changes("contact.scope.updated_v3", &json!({ "added": null })), Ok(Vec::new()));
}

#[test]
fn a_click_is_an_answer() {
    let operator = json!({ "tenant_key": TENANT, "user_id": "u1", "open_id": "ou_1", "union_id": "on_1" });
    let click = json!({
        "operator": operator,
        "token": "c-1",
        "action": { "value": { "question": "q1", "choice": "k1" }, "tag": "button" },
        "host": "im_message",
        "context": { "open_message_id": "om_1", "open_chat_id": "oc_1" },
    });
    let result = deliver(UserIdKind::UserId, delivery("card.action.trigger", &click).to_string().as_bytes()).unwrap();
    assert_eq!(result.reply.body, "{}");
    let answered = PersonChange::Answered {
        question: "q1".to_owned(),
        choice: "k1".to_owned(),
        userid: userid(),
        handle: Some(CardHandle("om_1".to_owned())),
    };
    assert_eq!(result.events.into_iter().map(|event| event.change).collect::<Vec<_>>(), [answered]);

    let changed = |pointer: &str, value: Value| {
        let mut click = click.clone();
        *click.pointer_mut(pointer).unwrap() = value;
        changes("card.action.trigger", &click)
    };
    assert_eq!(changed("/action/value", json!({ "other": 1 })), Ok(Vec::new()), "not a question of this service");
    assert_eq!(changed("/operator/tenant_key", json!("other")), Ok(Vec::new()), "a person of another tenant");
    assert_eq!(changed("/operator", json!({ "user_id": "u1" })), Ok(Vec::new()), "a person of an unknown tenant");
    assert_eq!(changed("/operator", json!({ "tenant_key": TENANT })), Err(InboundError::Malformed));
}

#[test]
fn version_1_is_read_too() {
    let event = |kind: &str| {
        let event = json!({
            "type": kind,
            "app_id": APP,
            "tenant_key": TENANT,
            "open_id": "ou_1",
            "employee_id": "u1",
            "open_department_id": "od-1",
        });
        json!({ "uuid": "id1", "token": TOKEN, "ts": "1689999999.7171419", "type": "event_callback", "event": event })
    };
    let of = |kind: &str| changes_for(UserIdKind::UserId, &event(kind));
    assert_eq!(of("user_add"), Ok(vec![PersonChange::Joined { userid: userid() }]));
    assert_eq!(of("user_update"), Ok(vec![PersonChange::Changed { userid: userid() }]));
    assert_eq!(of("user_leave"), Ok(vec![PersonChange::Left { userid: userid() }]));
    assert_eq!(of("dept_delete"), Ok(vec![PersonChange::DepartmentChanged { id: "od-1".to_owned() }]));
    assert_eq!(of("message"), Ok(Vec::new()));
    let events = deliver(UserIdKind::OpenId, event("user_leave").to_string().as_bytes()).unwrap().events;
    let expected = InboundEvent {
        deduplication_key: "id1.0".to_owned(),
        at: Some(Timestamp::from_millis(1_689_999_999_000)),
        change: PersonChange::Left { userid: "ou_1".to_owned() },
    };
    assert_eq!(events, [expected]);
    let mut other = event("user_leave");
    *other.pointer_mut("/event/tenant_key").unwrap() = json!("other");
    assert_eq!(changes_for(UserIdKind::UserId, &other), Err(InboundError::Receiver));
}

#[test]
fn a_repeated_event_has_the_same_key_and_another_event_another() {
    let leaver = |id: &str| {
        let mut event = delivery("contact.user.deleted_v3", &json!({ "object": person() }));
        *event.pointer_mut("/header/event_id").unwrap() = json!(id);
        event.to_string()
    };
    let events = |text: &str, iv| deliver_body(UserIdKind::UserId, &encrypt(text.as_bytes(), iv)).unwrap().events;
    let first = events(&leaver("e1"), [1; 16]);
    assert_eq!(first, events(&leaver("e1"), [2; 16]), "encrypted anew");
    let key = |events: &[InboundEvent]| events.first().unwrap().deduplication_key.clone();
    assert_ne!(key(&first), key(&events(&leaver("e2"), [1; 16])));
    assert_eq!(first.first().unwrap().at, Some(Timestamp::from_millis(1_689_999_999_123)));
}

proptest! {
    #[test]
    fn arbitrary_requests_are_refused(
        signature in "[0-9a-f]{64}|\\PC{0,20}",
        body in prop::collection::vec(any::<u8>(), 0..300),
        encrypted in "[A-Za-z0-9+/]{64}",
    ) {
        let headers = ["1690000000", "nonce123", &*signature].map(Some);
        prop_assert!(send(&reader(UserIdKind::UserId), headers, &body, SECONDS).is_err());
        let body = json!({ "encrypt": encrypted }).to_string();
        prop_assert!(send(&reader(UserIdKind::UserId), headers, body.as_bytes(), SECONDS).is_err());
        prop_assert!(deliver_body(UserIdKind::UserId, &body).is_err());
    }

    #[test]
    fn a_flipped_bit_breaks_the_signature(at in 0..CHECK.len(), bit in 0..8_u32) {
        let mut body = CHECK.as_bytes().to_vec();
        if let Some(byte) = body.get_mut(at) {
            *byte ^= 1 << bit;
        }
        let headers = ["1690000000", "nonce123", CHECK_SIGNATURE].map(Some);
        let events = send(&reader(UserIdKind::UserId), headers, &body, SECONDS).map(|result| result.events);
        prop_assert!(events.unwrap_or_default().is_empty());
    }

    /// With the right signature, as if the keys had been stolen: nothing panics.
    #[test]
    fn arbitrary_texts_mean_nothing(text in prop::collection::vec(any::<u8>(), 0..200), json in "[{}\\[\\]:,\"a1]{0,40}") {
        prop_assert!(deliver(UserIdKind::UserId, &text).is_err());
        prop_assert!(deliver(UserIdKind::UserId, json.as_bytes()).is_err());
    }
}
