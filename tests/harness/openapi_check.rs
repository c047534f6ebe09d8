//! Checks every response in the suite against the OpenAPI description: its status, its headers, its body.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use jsonschema::Validator;
use serde_json::{Value, json};

use super::Response;

/// The closed description: a response must not have members that it does not list.
static DESCRIPTION: LazyLock<Value> = LazyLock::new(|| {
    let mut description = serde_json::from_str(deskpass::http::description()).unwrap();
    close(&mut description);
    description
});

/// The validators, by their place in the description. Each is made on first use.
static VALIDATORS: LazyLock<Mutex<HashMap<String, Arc<Validator>>>> = LazyLock::new(Mutex::default);

/// Asserts that a response is described, where the description has the request's path.
pub(crate) fn assert_documented(request: &[u8], answer: &Response) {
    // A response without a request id comes from a proxy and is not described.
    if answer.header("x-request-id").is_none() {
        return;
    }
    // The request was refused before its path was known, so no path describes the response.
    let unread = [400, 414, 431].contains(&answer.status) && answer.header("connection") == Some("close");
    if unread || answer.body.contains("\"unknown_host\"") {
        return;
    }
    let line = String::from_utf8_lossy(request.split(|byte| *byte == b'\r').next().unwrap_or_default()).into_owned();
    let mut words = line.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = target.split('?').next().unwrap_or_default();
    let Some(template) = template(path) else { return };
    // Methods are case-sensitive, and the description writes them in lower case.
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
    if let Some(codes) = response["x-codes"].as_array() {
        assert!(codes.contains(&answer.json()["code"]), "{line}: its description has no such code: {answer:?}");
    }
    if kind == "application/json" {
        let key = format!("{method} {template} {}", answer.status);
        let body = answer.json();
        if let Err(error) = validator(key, schema).validate(&body) {
            panic!("{line}: not as described, {error}: {answer:?}");
        }
    }
}

/// The path template in the description.
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

/// Closes every object schema that lists its properties.
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
