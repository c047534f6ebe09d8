use deskpass_core::EmployeeId;

use super::*;

struct Pair(#[expect(dead_code, reason = "only whether it parses matters")] EmployeeId);
impl Ask for Pair {
    fn read(fields: &mut Fields) -> Option<Self> {
        let (id, role) = (fields.id("id", EmployeeId::parse), fields.maybe_text("role"));
        role?;
        Some(Self(id?))
    }
}

fn problems(body: &str) -> Problems {
    let fields: Fields = serde_json::from_str(body).unwrap();
    fields.ask::<Pair>().err().unwrap_or_default()
}

/// The problems of these fields.
fn of<const N: usize>(problems: [(&'static str, Problem); N]) -> Problems {
    problems.into_iter().map(|(name, problem)| (name.into(), problem)).collect()
}

#[test]
fn every_bad_field_is_named() {
    assert_eq!(problems(r#"{"id":"a","role":null,"else":[1]}"#), of([]));
    assert_eq!(problems("{}"), of([("id", Problem::Required)]));
    assert_eq!(problems(r#"{"id":1,"role":2}"#), of([("id", Problem::NotText), ("role", Problem::NotText)]));
    assert_eq!(problems(r#"{"id":"a","id":"b"}"#), of([("id", Problem::Twice)]));
    assert!(matches!(problems(r#"{"id":"a b"}"#).get("id"), Some(Problem::Id(_))));
}

/// One field of every kind.
#[derive(Debug, PartialEq)]
struct Everything(Option<u64>, bool, Option<bool>, Vec<String>, Option<&'static str>, u8);

const DIGIT: Form =
    Form { name: "digit", pattern: Some("^[0-9]$"), example: "7", rule: ["must be a digit", "必须是一个数字"] };

impl Ask for Everything {
    fn read(fields: &mut Fields) -> Option<Self> {
        let maybe_count = fields.maybe_count("maybe_count", 0..=9);
        let (flag, maybe_flag) = (fields.flag("flag"), fields.maybe_flag("maybe_flag"));
        let texts = fields.texts("texts", 2);
        let word = fields.maybe_word("word", &["a", "b"]);
        let digit = fields.form("digit", &DIGIT, |text| text.parse().ok().filter(|digit| *digit < 10));
        Some(Self(maybe_count?, flag?, maybe_flag?, texts?, word?, digit?))
    }
}

#[test]
fn every_kind_is_read() {
    let body = r#"{"maybe_count":null,"flag":false,"maybe_flag":true,"texts":["x"],"word":"b","digit":"3"}"#;
    let fields: Fields = serde_json::from_str(body).unwrap();
    let read = Everything(None, false, Some(true), vec!["x".into()], Some("b"), 3);
    assert_eq!(fields.ask::<Everything>().unwrap(), read);
}

#[test]
fn every_kind_says_what_is_wrong_with_it() {
    let body = r#"{"maybe_count":"9","flag":"true","maybe_flag":0,"texts":["x","y","z"],
        "word":"c","digit":"x"}"#;
    let fields: Fields = serde_json::from_str(body).unwrap();
    let problems = fields.ask::<Everything>().unwrap_err();
    let expected = [
        ("maybe_count", Problem::NotCount(0, 9)),
        ("flag", Problem::NotFlag),
        ("maybe_flag", Problem::NotFlag),
        ("texts", Problem::NotTexts(2)),
        ("word", Problem::NotOneOf(&["a", "b"])),
        ("digit", Problem::Form(DIGIT.rule)),
    ];
    assert_eq!(problems, of(expected));
}

struct Paged(Option<u64>, Option<bool>);
impl Ask for Paged {
    fn read(fields: &mut Fields) -> Option<Self> {
        let (page, all) = (fields.maybe_count("page", 1..=9), fields.maybe_flag("all"));
        Some(Self(page?, all?))
    }
}

#[test]
fn numbers_are_digits_in_a_query() {
    let query = |pairs: &[(&str, &str)]| {
        let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        pairs.collect::<Fields>().ask::<Paged>().map(|Paged(page, all)| (page, all))
    };
    assert_eq!(query(&[]), Ok((None, None)));
    assert_eq!(query(&[("page", "9"), ("all", "false")]), Ok((Some(9), Some(false))));
    for wrong in ["", "0", "10", "+9", "-1", "9.0", "x", "99999999999999999999999"] {
        assert_eq!(query(&[("page", wrong)]), Err(of([("page", Problem::NotCount(1, 9))])), "{wrong}");
    }
    for wrong in ["", "1", "True", "yes"] {
        assert_eq!(query(&[("all", wrong)]), Err(of([("all", Problem::NotFlag)])), "{wrong}");
    }
}

#[test]
fn watching_shows_every_field() {
    let field = |name, shape, required| Field { name, shape, required };
    let seen = [
        field("maybe_count", Shape::Count(0, 9), false),
        field("flag", Shape::Flag, true),
        field("maybe_flag", Shape::Flag, false),
        field("texts", Shape::Texts(2), true),
        field("word", Shape::Word(&["a", "b"]), false),
        field("digit", Shape::Form(&DIGIT), true),
    ];
    assert_eq!(fields_of::<Everything>(), seen);
    assert_eq!(fields_of::<Pair>().first(), Some(&field("id", Shape::id(EmployeeId::parse), true)));
}
