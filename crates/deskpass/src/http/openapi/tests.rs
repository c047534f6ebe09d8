use std::collections::HashSet;

use super::*;

/// The rows that are described.
fn described() -> Vec<Route> {
    routes().into_iter().filter(|route| route.path.starts_with("/api/")).collect()
}

fn spec(route: &Route) -> OperationSpec {
    let mut spec = OperationSpec::default();
    (route.describe)(&mut spec);
    spec
}

#[test]
fn every_row_has_an_entry_and_every_entry_a_row() {
    let rows: Vec<_> = described().iter().map(|route| format!("{} {}", route.method, route.path)).collect();
    for row in &rows {
        assert!(operations::all().any(|entry| entry == row), "no entry in operations.rs for {row}");
    }
    let mut seen = HashSet::new();
    for entry in operations::all() {
        assert!(rows.iter().any(|row| row == entry), "no row in the table for {entry}");
        assert!(seen.insert(entry), "{entry} is told twice");
    }
}

#[test]
fn who_may_ask_is_what_the_arguments_say() {
    for route in described() {
        assert_eq!(spec(&route).access.unwrap_or(RequiredAccess::Anyone), route.access, "{route:?}");
    }
}

#[test]
fn every_piece_that_a_path_leaves_open_is_read() {
    for route in described() {
        let open: Vec<_> =
            route.path.split('/').filter_map(|piece| piece.strip_prefix('{')?.strip_suffix('}')).collect();
        let read: Vec<_> = spec(&route).path.iter().map(|field| field.name).collect();
        assert_eq!(open, read, "{route:?}");
    }
}

#[test]
fn every_row_tells_what_a_success_is() {
    for route in described() {
        let spec = spec(&route);
        assert!(spec.switches == spec.success.is_empty(), "{route:?}: its handler's result tells nothing");
    }
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
