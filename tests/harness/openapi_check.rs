//! Holds every answer of the suite against the description that clients are given: its status, its headers, its form.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use jsonschema::Validator;
use serde_json::{Value, json};

use super::Response;

/// The description, closed: an answer must have no member that it does not name.
static DESCRIPTION: LazyLock<Value> = LazyLock::new(|| {
    let mut description = serde_json::from_str(deskpass::http::description()).unwrap();
    close(&mut description);
    description
});

/// What checks an answer, by where the description has it. They are made when they are first needed.
static VALIDATORS: LazyLock<Mutex<HashMap<String, Arc<Validator>>>> = LazyLock::new(Mutex::default);

/// Asserts that an answer is one that the description names, where it names the request.
pub(crate) fn assert_documented(request: &[u8], answer: &Response) {
    // What is not from the service but from a proxy before it has no name.
    if answer.header("x-request-id").is_none() {
        return;
    }
    // Refused before it was known what it asked for: no path has to describe that.
    let unread = [400, 414, 431].contains(&answer.status) && answer.header("connection") == Some("close");
    if unread || answer.body.contains("\"unknown_host\"") {
        return;
    }
    let line = String::from_utf8_lossy(request.split(|byte| *byte == b'\r').next().unwrap_or_default()).into_owned();
    let mut words = line.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = target.split('?').next().unwrap_or_default();
    let Some(template) = template(path) else { return };
    // Methods are told apart by case, and the description writes all of its own in small letters.
    let key = if method.bytes().all(|c| c.is_ascii_uppercase()) { method.to_ascii_lowercase() } else { String::new() };
    let operation = &DESCRIPTION["paths"][template][key];
    if operation.is_null() {
        assert!([403, 405].contains(&answer.status), "{line} is not described: {answer:?}");
        return;
    }
    let response = &operation["responses"][answer.status.to_string()];
    assert!(!response.is_null(), "{line}: its description has no status {}: {answer:?}", answer.status);
    for (name, header) in response["headers"].as_object().unwrap() {
        let header = DESCRIPTION.pointer(&header["$ref"].as_str().unwrap()[1..]).unwrap();
        assert!(header["required"] != true || answer.header(name).is_some(), "{line}: no {name}: {answer:?}");
    }
    let Some(content) = response["content"].as_object() else { return };
    let kind = answer.header("content-type").unwrap_or_default().split(';').next().unwrap_or_default();
    let Some(schema) = content.get(kind).map(|content| &content["schema"]) else {
        panic!("{line}: its description has no {kind}: {answer:?}");
    };
    if kind == "application/json" {
        let key = format!("{method} {template} {}", answer.status);
        let body = answer.json();
        if let Err(error) = validator(key, schema).validate(&body) {
            panic!("{line}: not as described, {error}: {answer:?}");
        }
    }
}

/// The path as it is described.
fn template(path: &str) -> Option<&'static str> {
    let fits = |template: &str| {
        let (mut pieces, mut asked) = (template.split('/'), path.split('/'));
        loop {
            match (pieces.next(), asked.next()) {
                (None, None) => return true,
                (Some(piece), Some(asked)) if piece == asked || piece.starts_with('{') && !asked.is_empty() => {}
                _ => return false,
            }
        }
    };
    DESCRIPTION["paths"].as_object().unwrap().keys().map(String::as_str).find(|template| fits(template))
}

fn validator(key: String, schema: &Value) -> Arc<Validator> {
    let mut known = VALIDATORS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let make = || {
        let whole = json!({ "allOf": [schema], "components": DESCRIPTION["components"] });
        Arc::new(jsonschema::draft202012::new(&whole).unwrap())
    };
    known.entry(key).or_insert_with(make).clone()
}

/// Closes every object that names its members.
fn close(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.values_mut().for_each(close);
            if members.get("type") == Some(&json!("object")) && members.contains_key("properties") {
                members.entry("additionalProperties").or_insert(json!(false));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}
