use deskpass_core::EmployeeId;

use super::*;

struct Pair(#[expect(dead_code, reason = "only whether it parses matters")] EmployeeId);
impl FromFields for Pair {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        let (id, role) = (fields.id("id", EmployeeId::parse), fields.maybe_text("role"));
        role?;
        Some(Self(id?))
    }
}

fn problems(body: &str) -> FieldErrors {
    let fields: Fields = serde_json::from_str(body).unwrap();
    fields.parse::<Pair>().err().unwrap_or_default()
}

/// The problems of these fields.
fn of<const N: usize>(problems: [(&'static str, FieldError); N]) -> FieldErrors {
    problems.into_iter().map(|(name, problem)| (name.into(), problem)).collect()
}

#[test]
fn every_bad_field_is_named() {
    assert_eq!(problems(r#"{"id":"a","role":null,"else":[1]}"#), of([]));
    assert_eq!(problems("{}"), of([("id", FieldError::Required)]));
    assert_eq!(problems(r#"{"id":1,"role":2}"#), of([("id", FieldError::NotString), ("role", FieldError::NotString)]));
    assert_eq!(problems(r#"{"id":"a","id":"b"}"#), of([("id", FieldError::Repeated)]));
    assert!(matches!(problems(r#"{"id":"a b"}"#).get("id"), Some(FieldError::Id(_))));
}

/// A field of every kind.
#[derive(Debug, PartialEq)]
struct Everything(Option<u64>, bool, Option<bool>, Vec<String>, Option<&'static str>, u8);

const DIGIT: TextFormat =
    TextFormat {
        name: "digit", pattern: Some("^[0-9]$"), example: "7", rule: ["must be a digit", "必须是一个数字"]
    };

impl FromFields for Everything {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        let maybe_integer = fields.maybe_integer("maybe_count", 0..=9);
        let (flag, maybe_flag) = (fields.flag("flag"), fields.maybe_flag("maybe_flag"));
        let texts = fields.texts("texts", 2);
        let word = fields.maybe_choice("word", &["a", "b"]);
        let digit = fields.formatted("digit", &DIGIT, |text| text.parse().ok().filter(|digit| *digit < 10));
        Some(Self(maybe_integer?, flag?, maybe_flag?, texts?, word?, digit?))
    }
}

#[test]
fn every_kind_is_read() {
    let body = r#"{"maybe_count":null,"flag":false,"maybe_flag":true,"texts":["x"],"word":"b","digit":"3"}"#;
    let fields: Fields = serde_json::from_str(body).unwrap();
    let read = Everything(None, false, Some(true), vec!["x".into()], Some("b"), 3);
    assert_eq!(fields.parse::<Everything>().unwrap(), read);
}

#[test]
fn every_kind_says_what_is_wrong_with_it() {
    let body = r#"{"maybe_count":"9","flag":"true","maybe_flag":0,"texts":["x","y","z"],
        "word":"c","digit":"x"}"#;
    let fields: Fields = serde_json::from_str(body).unwrap();
    let problems = fields.parse::<Everything>().unwrap_err();
    let expected = [
        ("maybe_count", FieldError::NotInteger(0, 9)),
        ("flag", FieldError::NotBoolean),
        ("maybe_flag", FieldError::NotBoolean),
        ("texts", FieldError::NotStringList(2)),
        ("word", FieldError::NotOneOf(&["a", "b"])),
        ("digit", FieldError::Format(DIGIT.rule)),
    ];
    assert_eq!(problems, of(expected));
}

struct Paged(Option<u64>, Option<bool>);
impl FromFields for Paged {
    fn from_fields(fields: &mut Fields) -> Option<Self> {
        let (page, all) = (fields.maybe_integer("page", 1..=9), fields.maybe_flag("all"));
        Some(Self(page?, all?))
    }
}

#[test]
fn numbers_are_digits_in_a_query() {
    let query = |pairs: &[(&str, &str)]| {
        let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        pairs.collect::<Fields>().parse::<Paged>().map(|Paged(page, all)| (page, all))
    };
    assert_eq!(query(&[]), Ok((None, None)));
    assert_eq!(query(&[("page", "9"), ("all", "false")]), Ok((Some(9), Some(false))));
    for wrong in ["", "0", "10", "+9", "-1", "9.0", "x", "99999999999999999999999"] {
        assert_eq!(query(&[("page", wrong)]), Err(of([("page", FieldError::NotInteger(1, 9))])), "{wrong}");
    }
    for wrong in ["", "1", "True", "yes"] {
        assert_eq!(query(&[("all", wrong)]), Err(of([("all", FieldError::NotBoolean)])), "{wrong}");
    }
}

#[test]
fn watching_shows_every_field() {
    let field = |name, kind, required| FieldSpec { name, kind, required };
    let seen = [
        field("maybe_count", FieldKind::Integer(0, 9), false),
        field("flag", FieldKind::Boolean, true),
        field("maybe_flag", FieldKind::Boolean, false),
        field("texts", FieldKind::StringList(2), true),
        field("word", FieldKind::OneOf(&["a", "b"]), false),
        field("digit", FieldKind::Format(&DIGIT), true),
    ];
    assert_eq!(describe_fields::<Everything>(), seen);
    assert_eq!(describe_fields::<Pair>().first(), Some(&field("id", FieldKind::id(EmployeeId::parse), true)));
}
