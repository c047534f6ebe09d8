use deskpass_core::{EmployeeId, Role};

use super::*;

/// A field of every attribute.
#[derive(Debug, PartialEq, FromFields)]
struct Everything {
    /// The person
    /// to look up.
    id: EmployeeId,
    #[field(name = "continue")]
    text: Option<String>,
    #[field(range = 1..=9, default = 5)]
    count: u64,
    #[field(range = 0..=MOST)]
    bounded: u64,
    #[field(default = Role::User)]
    role: Role,
    #[field(flatten)]
    paging: Paging,
}

const MOST: u64 = 3;

#[derive(Debug, PartialEq, FromFields)]
struct Paging {
    /// The page.
    page: Digit,
    all: Option<bool>,
}

#[derive(Debug, PartialEq)]
struct Digit(u8);

impl FormattedText for Digit {
    const FORMAT: &'static TextFormat = &TextFormat {
        name: "digit",
        pattern: Some("^[0-9]$"),
        example: "7",
        rule: ["must be a digit", "必须是一个数字"],
    };

    fn from_text(text: String) -> Option<Self> {
        text.parse().ok().filter(|digit| *digit < 10).map(Self)
    }
}

/// The result of reading a body.
fn body<T: FromFields>(text: &str) -> Result<T, FieldErrors> {
    serde_json::from_str::<Fields>(text).unwrap().parse()
}

/// The result of reading a query.
fn query<T: FromFields>(pairs: &[(&str, &str)]) -> Result<T, FieldErrors> {
    let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    pairs.collect::<Fields>().parse()
}

/// The problems of these fields.
fn of<const N: usize>(problems: [(&'static str, FieldError); N]) -> FieldErrors {
    problems.into_iter().map(|(name, problem)| (name.into(), problem)).collect()
}

#[test]
fn a_request_is_read_by_the_attributes_of_its_fields() {
    let paging = |all| Paging { page: Digit(7), all };
    let id = || EmployeeId::parse("a").unwrap();
    let all = r#"{"id":"a","continue":"x","count":9,"bounded":3,"role":"admin","page":"7","all":true,"else":[1]}"#;
    let text = Some("x".into());
    let read = Everything { id: id(), text, count: 9, bounded: 3, role: Role::Admin, paging: paging(Some(true)) };
    assert_eq!(body(all), Ok(read));
    let least = Everything { id: id(), text: None, count: 5, bounded: 0, role: Role::User, paging: paging(None) };
    let nulls = r#"{"id":"a","continue":null,"count":null,"bounded":0,"role":null,"page":"7","all":null}"#;
    assert_eq!(body(nulls), Ok(least));
    assert!(body::<Everything>(r#"{"id":"a","bounded":0,"page":"7"}"#).is_ok());
}

#[test]
fn every_invalid_field_is_reported() {
    let wrong = r#"{"id":1,"continue":2,"count":10,"bounded":"0","role":"x","page":"10","all":"true"}"#;
    let problems = of([
        ("id", FieldError::NotString),
        ("continue", FieldError::NotString),
        ("count", FieldError::NotInteger(1, 9)),
        ("bounded", FieldError::NotInteger(0, 3)),
        ("role", FieldError::NotOneOf(&Role::NAMES)),
        ("page", FieldError::Format(Digit::FORMAT.rule)),
        ("all", FieldError::NotBoolean),
    ]);
    assert_eq!(body::<Everything>(wrong), Err(problems));
    let missing = [("id", FieldError::Required), ("bounded", FieldError::Required), ("page", FieldError::Required)];
    assert_eq!(body::<Everything>("{}"), Err(of(missing)));
    let twice = r#"{"page":"1","page":"2","all":null,"all":null}"#;
    assert_eq!(body::<Paging>(twice), Err(of([("page", FieldError::Repeated), ("all", FieldError::Repeated)])));
    let rule = EmployeeId::parse("a b").unwrap_err();
    assert_eq!(body::<Name>(r#"{"name":"a b"}"#).err(), Some(of([("name", FieldError::Id(rule))])));
}

#[test]
fn the_description_follows_the_declaration() {
    let field = |name, kind, required, doc| FieldSpec { name, kind, required, doc };
    let id = FieldKind::Id(EmployeeId::parse("").unwrap_err());
    let specs = [
        field("id", id, true, "The person to look up."),
        field("continue", FieldKind::Text, false, ""),
        field("count", FieldKind::Integer(1, 9), false, ""),
        field("bounded", FieldKind::Integer(0, 3), true, ""),
        field("role", FieldKind::OneOf(&Role::NAMES), false, ""),
        field("page", FieldKind::Format(Digit::FORMAT), true, "The page."),
        field("all", FieldKind::Boolean, false, ""),
    ];
    assert_eq!(describe_fields::<Everything>(), specs);
}

#[derive(FromFields)]
struct Name(
    #[field(name = "name")]
    #[expect(dead_code, reason = "only whether it parses matters")]
    EmployeeId,
);

#[derive(Debug, FromFields)]
struct Counted {
    #[field(range = 1..=9, default = 1)]
    count: u64,
    all: Option<bool>,
}

#[test]
fn numbers_are_digits_in_a_query() {
    let read = |pairs: &[(&str, &str)]| query(pairs).map(|Counted { count, all }| (count, all));
    assert_eq!(read(&[]), Ok((1, None)));
    assert_eq!(read(&[("count", "9"), ("all", "false")]), Ok((9, Some(false))));
    for wrong in ["", "0", "10", "+9", "-1", "9.0", "x", "99999999999999999999999"] {
        assert_eq!(read(&[("count", wrong)]), Err(of([("count", FieldError::NotInteger(1, 9))])), "{wrong}");
    }
    for wrong in ["", "1", "True", "yes"] {
        assert_eq!(read(&[("all", wrong)]), Err(of([("all", FieldError::NotBoolean)])), "{wrong}");
    }
}

/// The sum of two digits.
#[derive(Debug, PartialEq)]
struct Sum(u8);

#[derive(FromFields)]
#[field(into = Sum)]
struct Digits {
    one: Digit,
    other: Digit,
}

impl TryFrom<Digits> for Sum {
    type Error = InvalidFields;
    fn try_from(Digits { one: Digit(one), other: Digit(other) }: Digits) -> Result<Self, InvalidFields> {
        let rules = [(one == other, "other", FieldError::Repeated), (one + other == 0, "one", FieldError::Required)];
        InvalidFields::check(rules).map(|()| Self(one + other))
    }
}

#[test]
fn a_conversion_may_reject_fields() {
    assert_eq!(body(r#"{"one":"1","other":"2"}"#), Ok(Sum(3)));
    assert_eq!(body::<Sum>(r#"{"one":"1","other":"1"}"#), Err(of([("other", FieldError::Repeated)])));
    let both = of([("one", FieldError::Required), ("other", FieldError::Repeated)]);
    assert_eq!(body::<Sum>(r#"{"one":"0","other":"0"}"#), Err(both));
    assert_eq!(body::<Sum>(r#"{"one":"1"}"#), Err(of([("other", FieldError::Required)])));
    assert_eq!(describe_fields::<Sum>().len(), 2);
}

#[derive(Debug, PartialEq, FromFields)]
#[field(deny_unknown)]
struct Strict {
    id: Option<String>,
    #[field(flatten)]
    sum: Sum,
}

#[test]
fn unknown_fields_are_rejected_on_request() {
    let unknown = || ("query", FieldError::UnknownFields(vec!["id", "one", "other"]));
    let pairs = [("id", "x"), ("one", "1"), ("other", "2")];
    assert_eq!(query(&pairs), Ok(Strict { id: Some("x".into()), sum: Sum(3) }));
    assert_eq!(query::<Strict>(&[("one", "1"), ("other", "2"), ("ids", "x")]), Err(of([unknown()])));
    let problems = of([unknown(), ("id", FieldError::Repeated), ("other", FieldError::Required)]);
    assert_eq!(query::<Strict>(&[("id", "x"), ("id", "y"), ("one", "1"), ("two", "2")]), Err(problems));
}
