use std::collections::HashSet;

use hyper::Method;

use super::*;
use crate::http::routes::routes;
use crate::http::{RateLimit, RequiredAccess};

/// The rows that the API description contains.
fn described() -> Vec<Route> {
    routes().into_iter().filter(Route::is_described).collect()
}

fn spec(route: &Route) -> OperationSpec {
    let mut spec = OperationSpec::default();
    (route.describe)(&mut spec);
    spec
}

#[test]
fn every_described_row_has_a_tag_and_a_summary() {
    let mut tags = Vec::new();
    for route in described() {
        let texts = [route.tag, route.summary].concat();
        assert!(texts.iter().all(|text| !text.is_empty()), "{route:?} needs a tag and a summary");
        assert_ne!(route.error_title[0], "Request failed", "{route:?} needs an error title of its own");
        let is_open = route.access == RequiredAccess::Anyone && route.method == Method::POST;
        assert!(!is_open || route.limit != RateLimit::Unlimited, "{route:?} is open to anyone and needs a limit");
        if tags.last() != Some(&route.tag) {
            assert!(!tags.contains(&route.tag), "{route:?} is separated from the other routes of its tag");
            tags.push(route.tag);
        }
    }
    for route in routes().iter().filter(|route| !route.is_described()) {
        assert_eq!(
            (route.tag, route.summary, route.refusals),
            ([""; 2], [""; 2], &[][..]),
            "{route:?} is not described"
        );
    }
}

#[test]
fn every_row_is_there_once() {
    let mut seen = HashSet::new();
    for route in routes() {
        assert!(seen.insert((route.method.clone(), route.path)), "{route:?} is there twice");
    }
}

#[test]
fn who_may_ask_is_what_the_arguments_say() {
    for route in described() {
        assert_eq!(spec(&route).input.access.unwrap_or(RequiredAccess::Anyone), route.access, "{route:?}");
    }
}

#[test]
fn every_piece_that_a_path_leaves_open_is_read() {
    for route in described() {
        let open: Vec<_> =
            route.path.split('/').filter_map(|piece| piece.strip_prefix('{')?.strip_suffix('}')).collect();
        let read: Vec<_> = spec(&route).input.path.iter().map(|field| field.name).collect();
        assert_eq!(open, read, "{route:?}");
    }
}

#[test]
fn every_row_tells_what_a_success_is() {
    for route in described() {
        let spec = spec(&route);
        assert!(
            spec.output.switches == spec.output.success.is_empty(),
            "{route:?}: its handler's result tells nothing"
        );
    }
}

#[test]
fn fields_carry_the_meaning_that_their_declaration_gives() {
    let paths = &describe(&routes())["paths"];
    let body = &paths["/api/auth/verify"]["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"];
    assert_eq!(body["ip_address"]["description"], "The address of the token's holder, if the caller knows it.");
    assert_eq!(body["token"]["description"], "The token to verify.", "the table has it");
    let query = &paths["/api/admin/statistics"]["get"]["parameters"];
    assert_eq!(
        (&query[1]["name"], &query[1]["description"]),
        (&"to".into(), &"The end of the range; now unless given.".into())
    );
}

/// Where a field without a meaning stands, among the fields of a schema and of those in it.
fn without_meaning(owner: &str, schema: &Value, found: &mut Vec<String>) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        if !has_meaning(field) {
            found.push(format!("{owner}.{name}"));
        }
        without_meaning(owner, field, found);
    }
    for alternatives in ["anyOf", "oneOf", "allOf"] {
        schema[alternatives].as_array().into_iter().flatten().for_each(|one| without_meaning(owner, one, found));
    }
    if !schema["items"].is_null() {
        without_meaning(owner, &schema["items"], found);
    }
}

fn has_meaning(field: &Value) -> bool {
    ["description", "x-description-zh"].iter().all(|text| field[text].as_str().is_some_and(|text| !text.is_empty()))
}

#[test]
fn every_field_has_a_meaning_in_both_languages() {
    let (mut meanings, mut found) = (Meanings::read(), Vec::new());
    let document = describe_with(&routes(), &mut meanings);
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        without_meaning(name, schema, &mut found);
    }
    for operation in document["paths"].as_object().unwrap().values().flat_map(|path| path.as_object().unwrap().values())
    {
        let owner = operation["operationId"].as_str().unwrap();
        for parameter in operation["parameters"].as_array().unwrap().iter().filter(|parameter| !has_meaning(parameter))
        {
            found.push(format!("{owner}.{}", parameter["name"].as_str().unwrap()));
        }
        for content in operation["requestBody"]["content"].as_object().into_iter().flat_map(Map::values) {
            without_meaning(owner, &content["schema"], &mut found);
        }
    }
    assert_eq!(found, [""; 0], "add a line to meanings.txt for each of these");
    assert_eq!(meanings.unused(), [""; 0], "remove these lines of meanings.txt");
}

#[test]
fn a_service_key_is_named_where_it_works_with_the_scope_that_it_needs() {
    let document = describe(&routes());
    let security = |method: &str, path: &str| document["paths"][path][method]["security"].to_string();
    assert_eq!(security("post", "/api/auth/introspect"), r#"[{"service_key":["introspect"]}]"#);
    assert_eq!(security("post", "/api/messages"), r#"[{"service_key":["messages"]}]"#);
    assert_eq!(security("get", "/api/auth/me"), r#"[{"session":[]}]"#);
    assert_eq!(security("post", "/api/auth/otp-bind"), r#"[{"session":[]},{"partial_session":[]}]"#);
    assert_eq!(security("post", "/api/agents/login"), r#"[{},{"session":[]}]"#);
    assert_eq!(security("post", "/api/auth/verify"), "[]");
    for route in described() {
        let keys = security(&route.method.as_str().to_ascii_lowercase(), route.path).contains("service_key");
        assert_eq!(keys, matches!(route.access, RequiredAccess::Service(_)), "{route:?}");
    }
    let schemes = document["components"]["securitySchemes"].as_object().unwrap();
    assert_eq!(schemes.keys().collect::<Vec<_>>(), ["partial_session", "service_key", "session"]);
}

#[test]
fn names_are_used_once() {
    let document = describe(&routes());
    for name in document["components"]["schemas"].as_object().unwrap().keys() {
        let message = "two types have this name; give one of them another by #[schemars(rename = \"…\")]";
        assert!(!name.ends_with(|c: char| c.is_ascii_digit()), "{name}: {message}");
    }
    let ids: Vec<_> = described().iter().map(id).collect();
    assert_eq!(ids.len(), ids.iter().collect::<HashSet<_>>().len(), "{ids:?}");
}

#[test]
fn what_is_referred_to_is_there() {
    fn walk(value: &Value, document: &Value) {
        match value {
            Value::Object(members) => {
                if let Some(target) = members.get("$ref") {
                    let target = target.as_str().unwrap().strip_prefix('#').unwrap();
                    assert!(document.pointer(target).is_some(), "{target}");
                }
                members.values().for_each(|member| walk(member, document));
            }
            Value::Array(items) => items.iter().for_each(|item| walk(item, document)),
            _ => {}
        }
    }
    let document = describe(&routes());
    walk(&document, &document);
}
