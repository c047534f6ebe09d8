use std::collections::HashSet;

use hyper::Method;

use super::*;
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
    assert_eq!(body["token"].get("description"), None);
    let query = &paths["/api/admin/statistics"]["get"]["parameters"];
    assert_eq!(
        (&query[1]["name"], &query[1]["description"]),
        (&"to".into(), &"The end of the range; now unless given.".into())
    );
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
