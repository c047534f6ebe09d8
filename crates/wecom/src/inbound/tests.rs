#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use deskpass_core::Timestamp;
use deskpass_platform::{CardHandle, InboundEvent, PersonChange};
use proptest::prelude::*;

use super::*;

const TOKEN: &str = "123456";
const KEY: &str = "kWxPEV2UEDyxWpmPdKC3F4dgPDmOvfKX1HGnEUDS1aR";
const CORP: &str = "wx49f0ab532d5d035a";

/// An event and a check of the address, encrypted by another implementation.
const EVENT: &str = "9s4gMv99m88kKTh/H8IdkJiXl/mCfMvZo2Fwru5bly1lIyuNQTD+VlXxrfflYaBSOfpK1U56zt5Fz5qT2Dv/8fYFQKzlrwOkAtHiYQ8U3QAfyvNjAER48tVB/ZilHjqrvk3fQCE2YDRHZKxvWNNFX/L8REAamXKy+0xi9dnkx6LPg1+33Hn97dg7wcqpf2xIeRPS9WZSPij1dRACtB12lRnBG5twldJkSIyklahSMJoQZRTH3lzwMeOV0tcEa//V";
const EVENT_QUERY: &str = "msg_signature=17cf61434cd5677fc7278b60608f1ec0a155c0c2&timestamp=1411525903&nonce=461056294";
const EVENT_TIME: i64 = 1_411_525_903;
const ECHO: &str = "4ByGGj+sVCYcvGeQYhaKIk1o0pQRNbRjxybjTGblXrBaXlTXeOo1+bXFXDQQb1o6co6Yh9Bv41n7hOchLF6p+Q==";
const ECHO_QUERY: &str =
    "msg_signature=dd6b9c95b495b3f7e2901bfbc76c664930ffdb96&timestamp=1411443780&nonce=437374425&echostr=";
const ECHO_TIME: i64 = 1_411_443_780;

fn reader(token: &str, key: &str, corp_id: &str) -> EventReader {
    EventReader::new(Some(EventSettings { token: token.to_owned(), aes_key: key.to_owned() }), corp_id)
}

fn send(
    reader: &EventReader,
    is_get: bool,
    query: &str,
    body: &[u8],
    seconds: i64,
) -> Result<InboundResult, InboundError> {
    let at = Timestamp::from_millis(seconds * 1_000);
    reader.read(&InboundRequest { is_get, query, header: &|_| None, body, at, random: [0; 16] })
}

fn post(query: &str, body: &str, seconds: i64) -> Result<InboundResult, InboundError> {
    send(&reader(TOKEN, KEY, CORP), false, query, body.as_bytes(), seconds)
}

fn body(encrypted: &str) -> String {
    format!(
        "<xml><ToUserName><![CDATA[{CORP}]]></ToUserName><AgentID/><Encrypt><![CDATA[{encrypted}]]></Encrypt></xml>"
    )
}

/// Delivers a text with its own random bytes, as the platform does each time.
fn deliver(text: &str, random: [u8; 16]) -> Result<InboundResult, InboundError> {
    let envelope = Envelope::new(TOKEN.to_owned(), KEY).unwrap();
    let sealed = envelope.seal(text, CORP, &random, "1700000000", "n");
    let query = format!("msg_signature={}&timestamp=1700000000&nonce=n", sealed.signature);
    post(&query, &body(&sealed.encrypted), 1_700_000_000)
}

fn events(text: &str) -> Result<Vec<InboundEvent>, InboundError> {
    deliver(text, [7; 16]).map(|result| result.events)
}

/// The changes of an event with these elements.
fn changes(elements: &str) -> Result<Vec<PersonChange>, InboundError> {
    let text = format!(
        "<xml><ToUserName><![CDATA[{CORP}]]></ToUserName><CreateTime>1699999999</CreateTime>\
         <MsgType><![CDATA[event]]></MsgType>{elements}</xml>"
    );
    events(&text).map(|events| events.into_iter().map(|event| event.change).collect())
}

fn contact(change_type: &str, elements: &str) -> Result<Vec<PersonChange>, InboundError> {
    changes(&format!(
        "<FromUserName>sys</FromUserName><Event>change_contact</Event><ChangeType>{change_type}</ChangeType>{elements}"
    ))
}

#[test]
fn an_event_of_another_implementation_is_read() {
    let envelope = Envelope::new(TOKEN.to_owned(), KEY).unwrap();
    let at = Timestamp::from_millis(EVENT_TIME * 1_000);
    let request =
        InboundRequest { is_get: false, query: EVENT_QUERY, header: &|_| None, body: b"", at, random: [0; 16] };
    let text = reader(TOKEN, KEY, CORP).open(&envelope, &request, EVENT).unwrap();
    let changes: Vec<_> = event::read(&text).unwrap().into_iter().map(|event| event.change).collect();
    assert_eq!(changes, [PersonChange::Left { userid: "zhangsan".to_owned() }]);
    // Unlike those of the platform, it does not say when it happened.
    assert_eq!(post(EVENT_QUERY, &body(EVENT), EVENT_TIME), Err(InboundError::Time));
}

#[test]
fn the_check_of_the_address_is_answered_with_its_text() {
    let encoded = ECHO.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
    for echo in [ECHO, &encoded] {
        let query = format!("{ECHO_QUERY}{echo}");
        let result = send(&reader(TOKEN, KEY, CORP), true, &query, b"", ECHO_TIME).unwrap();
        assert_eq!((result.reply.body.as_str(), result.events), ("5927782489442352469", Vec::new()));
    }
    let other_key = "4Ma3YBrSBbX2aez8MJpXGBne5LSDwgGqHbhM9WPYIws";
    let other = reader("kjr2TKI8umCBfVF3wAHk8JiPwma5VBme", other_key, "ww6a112864f8022910");
    let query = "extra=1&msg_signature=1ba3cb09c0d2c2b3ed6900d37f91a6efae6cb011&timestamp=1583940690&nonce=VHh7ymSeb0jc4lSb&\
        echostr=6KmUQuPVu7UhjyVqRdbo5SfcRqaHvbUlKSHFvBV2ZuR6TIlKsygcfeSd1GDplg1C5KSKr6UPHCaC/nIX3ZNt9w==";
    let result = send(&other, true, query, b"", 1_583_940_690).unwrap();
    assert_eq!(result.reply.body, "94966531020182955848408");
}

#[test]
fn what_is_not_authentic_is_refused() {
    let (refused, body) = (|query: &str, body: &str| post(query, body, EVENT_TIME).unwrap_err(), body(EVENT));
    assert_eq!(refused(&EVENT_QUERY.replace("c0c2", "c0c3"), &body), InboundError::Signature);
    assert_eq!(refused(&EVENT_QUERY.replace("461056294", "461056295"), &body), InboundError::Signature);
    assert_eq!(refused(&EVENT_QUERY.replace("msg_signature", "signature"), &body), InboundError::Signature);
    assert_eq!(refused("", &body), InboundError::Signature);
    assert_eq!(refused(EVENT_QUERY, &body.replace("9s4g", "9s4h")), InboundError::Signature);
    assert_eq!(refused(EVENT_QUERY, "<xml></xml>"), InboundError::Malformed);
    assert_eq!(refused(EVENT_QUERY, ""), InboundError::Malformed);
    let padded = body.clone() + &" ".repeat(300_000);
    assert_eq!(refused(EVENT_QUERY, &padded), InboundError::Malformed, "too large");
    let bomb = "<!DOCTYPE xml [<!ENTITY a \"b\">]>".to_owned() + &body;
    assert_eq!(refused(EVENT_QUERY, &bomb), InboundError::Malformed);
    let send = |reader: EventReader| send(&reader, false, EVENT_QUERY, body.as_bytes(), EVENT_TIME).unwrap_err();
    assert_eq!(send(reader(TOKEN, KEY, "ww6a112864f8022910")), InboundError::Receiver);
    assert_eq!(send(reader("other", KEY, CORP)), InboundError::Signature);
    assert_eq!(send(reader(TOKEN, &KEY.replace("kWx", "kWy"), CORP)), InboundError::Malformed);
}

#[test]
fn old_and_early_requests_are_refused() {
    for (seconds, fits) in [(-601, false), (-600, true), (600, true), (601, false)] {
        let (signature, body) = sealed_event(1_700_000_000, "1700000000", "n");
        let query = format!("msg_signature={signature}&timestamp=1700000000&nonce=n");
        let result = post(&query, &body, 1_700_000_000 + seconds);
        assert_eq!(result.err(), (!fits).then_some(InboundError::Time), "{seconds}");
    }
}

/// An event of this time, delivered with this query parameters, signed for `timestamp` and `nonce`.
fn sealed_event(created: i64, timestamp: &str, nonce: &str) -> (String, String) {
    let text = format!(
        "<xml><CreateTime>{created}</CreateTime><MsgType>event</MsgType><FromUserName>zhangsan</FromUserName>\
         <Event>unsubscribe</Event></xml>"
    );
    let sealed = Envelope::new(TOKEN.to_owned(), KEY).unwrap().seal(&text, CORP, &[7; 16], timestamp, nonce);
    (sealed.signature, body(&sealed.encrypted))
}

/// The signature does not tell the time from the nonce.
#[test]
fn a_captured_event_is_not_new_with_its_time_and_nonce_exchanged() {
    let (then, later) = ("1700000000", "1700300000");
    let (signature, body) = sealed_event(1_700_000_000, then, later);
    let deliver = |timestamp: &str, nonce: &str, now| {
        post(&format!("msg_signature={signature}&timestamp={timestamp}&nonce={nonce}"), &body, now)
    };
    assert_eq!(deliver(then, later, 1_700_000_000).unwrap().events.len(), 1);
    assert_eq!(deliver(later, then, 1_700_300_000), Err(InboundError::Time));
}

#[test]
fn an_event_is_at_most_an_hour_old() {
    let now = 1_700_000_000;
    for (age, fits) in [(0, true), (3_600, true), (3_601, false), (-600, true), (-601, false)] {
        let (signature, body) = sealed_event(now - age, "1700000000", "n");
        let result = post(&format!("msg_signature={signature}&timestamp=1700000000&nonce=n"), &body, now);
        assert_eq!(result.err(), (!fits).then_some(InboundError::Time), "{age}");
    }
    let undated = "<xml><MsgType>event</MsgType><FromUserName>u</FromUserName><Event>unsubscribe</Event></xml>";
    assert_eq!(events(undated), Err(InboundError::Time));
}

/// Otherwise whoever has captured an event has it decrypted.
#[test]
fn the_check_of_the_address_answers_with_nothing_but_digits_and_letters() {
    let check = |text: &str| {
        let sealed = Envelope::new(TOKEN.to_owned(), KEY).unwrap().seal(text, CORP, &[7; 16], "1700000000", "n");
        let echo = sealed.encrypted.replace('+', "%2B");
        let query = format!("msg_signature={}&timestamp=1700000000&nonce=n&echostr={echo}", sealed.signature);
        send(&reader(TOKEN, KEY, CORP), true, &query, b"", 1_700_000_000).map(|result| result.reply.body)
    };
    for text in ["0", "5927782489442352469", "Abc9", &"9".repeat(64)] {
        assert_eq!(check(text).as_deref(), Ok(text));
    }
    for text in ["", "<xml></xml>", "a b", "1\n", "-1", "中", &"9".repeat(65)] {
        assert_eq!(check(text), Err(InboundError::Malformed), "{text}");
    }
}

#[test]
fn without_usable_settings_everything_is_refused() {
    let read = |reader: EventReader| send(&reader, false, EVENT_QUERY, body(EVENT).as_bytes(), EVENT_TIME).err();
    assert_eq!(read(EventReader::new(None, CORP)), Some(InboundError::NotConfigured));
    assert_eq!(read(reader(TOKEN, "short", CORP)), Some(InboundError::NotConfigured));
    let settings = |token: &str, key: &str| EventSettings { token: token.to_owned(), aes_key: key.to_owned() };
    assert_eq!(settings(TOKEN, KEY).check(), Ok(()));
    assert_eq!(settings("", KEY).check(), Err(InvalidEnvelope::Token));
    assert_eq!(settings(TOKEN, "short").check(), Err(InvalidEnvelope::Key));
    assert!(!format!("{:?}", settings(TOKEN, KEY)).contains(TOKEN));
}

#[test]
fn members_join_change_and_leave() {
    let userid = || "zhangsan".to_owned();
    let own = |event: &str| changes(&format!("<FromUserName>zhangsan</FromUserName><Event>{event}</Event>"));
    assert_eq!(own("subscribe"), Ok(vec![PersonChange::Joined { userid: userid() }]));
    assert_eq!(own("unsubscribe"), Ok(vec![PersonChange::OutOfRange { userid: userid() }]));
    let member = "<UserID><![CDATA[zhangsan]]></UserID>";
    assert_eq!(contact("create_user", member), Ok(vec![PersonChange::Joined { userid: userid() }]));
    assert_eq!(contact("<![CDATA[delete_user]]>", member), Ok(vec![PersonChange::Left { userid: userid() }]));
    let changed = Ok(vec![PersonChange::Changed { userid: userid() }]);
    assert_eq!(contact("update_user", &format!("{member}<Department>1,2</Department>")), changed);
    assert_eq!(contact("update_user", &format!("{member}<NewUserID>ZhangSan</NewUserID>")), changed);
    let renamed = PersonChange::Renamed { from: userid(), to: "zhangsan2".to_owned() };
    assert_eq!(contact("update_user", &format!("{member}<NewUserID>zhangsan2</NewUserID>")), Ok(vec![renamed]));
}

#[test]
fn departments_and_corporations_are_named() {
    for change in ["create_party", "update_party", "delete_party"] {
        let expected = PersonChange::DepartmentChanged { id: "2".to_owned() };
        assert_eq!(contact(change, "<Id>2</Id><ParentId>1</ParentId>"), Ok(vec![expected]));
    }
    let removed = |corp: &str| PersonChange::CorporationRemoved { corp_id: corp.to_owned() };
    let corporations = "<Event>change_chain</Event><ChangeType>remove_corp</ChangeType><ChainId>c</ChainId>\
        <CorpIds><CorpId><![CDATA[ww1]]></CorpId><CorpId><![CDATA[ww2]]></CorpId></CorpIds>";
    assert_eq!(changes(corporations), Ok(vec![removed("ww1"), removed("ww2")]));
    assert_eq!(changes(&corporations.replace("ww1", "w w")), Ok(vec![removed("ww2")]), "the other is read");
    assert_eq!(changes(&corporations.replace("ww", "w w")), Err(InboundError::Malformed));
    assert_eq!(changes(&corporations.replace("remove_corp", "corp_join")), Ok(Vec::new()));
}

#[test]
fn a_click_is_an_answer() {
    let click = "<FromUserName>zhangsan</FromUserName><Event>template_card_event</Event><EventKey>key_1</EventKey>\
        <TaskId>task_1</TaskId><CardType>button_interaction</CardType><ResponseCode>code_1</ResponseCode><AgentID>1</AgentID>\
        <SelectedItems><SelectedItem><QuestionKey>q</QuestionKey><OptionIds><OptionId>o</OptionId></OptionIds></SelectedItem>\
        </SelectedItems>";
    let answered = |handle: Option<&str>| PersonChange::Answered {
        question: "task_1".to_owned(),
        choice: "key_1".to_owned(),
        userid: "zhangsan".to_owned(),
        handle: handle.map(|code| CardHandle(code.to_owned())),
    };
    assert_eq!(changes(click), Ok(vec![answered(Some("code_1"))]));
    let without_code = click.replace("<ResponseCode>code_1</ResponseCode>", "");
    assert_eq!(changes(&without_code), Ok(vec![answered(None)]));
    assert_eq!(changes(&click.replace("task_1", "选 择")), Ok(Vec::new()), "not a question of this service");
}

#[test]
fn other_events_mean_nothing_and_incomplete_ones_are_refused() {
    for ignored in ["enter_agent", "click", "LOCATION", "close_inactive_agent", "template_card_menu_event", "later"] {
        assert_eq!(changes(&format!("<FromUserName>u</FromUserName><Event>{ignored}</Event>")), Ok(Vec::new()));
    }
    assert_eq!(contact("update_tag", "<TagId>1</TagId>"), Ok(Vec::new()));
    let message = "<xml><FromUserName>u</FromUserName><MsgType>text</MsgType><Event>unsubscribe</Event></xml>";
    assert_eq!(events(message), Ok(Vec::new()), "what a member wrote is not an event");
    for broken in [
        contact("delete_user", ""),
        contact("delete_user", "<UserID></UserID>"),
        contact("delete_user", "<UserID>a/b</UserID>"),
        contact("delete_user", &format!("<UserID>{}</UserID>", "a".repeat(65))),
        contact("delete_user", "<Inner><UserID>zhangsan</UserID></Inner>"),
        contact("delete_party", "<Id>x</Id>"),
        changes("<Event>unsubscribe</Event>"),
        changes(""),
        changes("<Event>&unsubscribe;</Event>"),
    ] {
        assert_eq!(broken, Err(InboundError::Malformed));
    }
    assert_eq!(events("{}"), Err(InboundError::Malformed));
}

#[test]
fn a_repeated_event_has_the_same_key_and_another_event_another() {
    let leaver = |userid: &str| {
        format!(
            "<xml><FromUserName>sys</FromUserName><CreateTime>1699999999</CreateTime><Event>change_contact</Event>\
             <ChangeType>delete_user</ChangeType><UserID>{userid}</UserID></xml>"
        )
    };
    let first = deliver(&leaver("a"), [1; 16]).unwrap();
    assert_eq!(first, deliver(&leaver("a"), [2; 16]).unwrap(), "encrypted anew");
    let second = deliver(&leaver("b"), [1; 16]).unwrap();
    let key = |result: &InboundResult| result.events.first().unwrap().deduplication_key.clone();
    assert_ne!(key(&first), key(&second), "two members left in the same second");
    assert_eq!(first.events.first().unwrap().at, Some(Timestamp::from_millis(1_699_999_999_000)));
    let corporations = "<Event>change_chain</Event><ChangeType>remove_corp</ChangeType><CorpIds><CorpId>a</CorpId>\
        <CorpId>b</CorpId></CorpIds>";
    let events = events(&format!("<xml><CreateTime>1699999999</CreateTime>{corporations}</xml>")).unwrap();
    let [a, b] = events.as_slice() else { unreachable!("two events") };
    assert_ne!(a.deduplication_key, b.deduplication_key);
}

proptest! {
    #[test]
    fn arbitrary_requests_are_refused(
        is_get: bool,
        query in "\\PC{0,60}|msg_signature=[0-9a-f]{40}&timestamp=1411525903&nonce=1&echostr=[A-Za-z0-9+/]{64}",
        body in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        prop_assert!(send(&reader(TOKEN, KEY, CORP), is_get, &query, &body, EVENT_TIME).is_err());
    }

    #[test]
    fn arbitrary_bodies_are_refused(body in "(<|>|/|xml|Encrypt|!\\[CDATA\\[|\\]\\]>|&amp;|&|a|张){0,40}") {
        prop_assert!(post(EVENT_QUERY, &body, EVENT_TIME).is_err());
    }

    /// With the right signature, as if the token and the key had been stolen: nothing panics.
    #[test]
    fn arbitrary_texts_mean_nothing(text in "\\PC{0,80}|(<|>|</|xml>|Event>|!\\[CDATA\\[|\\]\\]>|subscribe){0,40}") {
        prop_assert!(events(&text).unwrap_or_default().is_empty());
    }
}
