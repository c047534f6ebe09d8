//! The API description that the service hands out.
//!
//! In builds for development and tests it is made from the route table. A released program has it ready-made, from
//! `docs/openapi.json`: the code that makes it, with the schemas of all responses, would be half a megabyte. A test
//! compares the two.

use std::sync::OnceLock;

use serde_json::Value;

use crate::http::openapi::describe;
use crate::http::routes::routes;
use crate::static_file::decompress;

/// `docs/openapi.json`, compressed by the build.
static EMBEDDED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/openapi.json.gz"));

/// The API description of every route below /api, in OpenAPI 3.1.
pub fn description() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| document().to_string())
}

/// The same without the routes of development mode, which production refuses.
pub(crate) fn production_description() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| {
        let mut document = document();
        remove_development(&mut document);
        document.to_string()
    })
}

fn document() -> Value {
    // The compiler leaves out the branch that is not taken, and what only that branch uses.
    if cfg!(debug_assertions) {
        describe(&routes())
    } else {
        serde_json::from_slice(&decompress(EMBEDDED)).unwrap_or_default()
    }
}

/// Removes the operations of development mode, and the tags and schemas that only they have.
fn remove_development(document: &mut Value) {
    if let Some(paths) = document.get_mut("paths").and_then(Value::as_object_mut) {
        for operations in paths.values_mut().filter_map(Value::as_object_mut) {
            operations.retain(|_, operation| operation.get("x-who").and_then(Value::as_str) != Some("developer"));
        }
        paths.retain(|_, operations| operations.as_object().is_some_and(|operations| !operations.is_empty()));
    }
    let paths = document.get("paths").map(Value::to_string).unwrap_or_default();
    if let Some(tags) = document.get_mut("tags").and_then(Value::as_array_mut) {
        tags.retain(|tag| tag.get("name").is_some_and(|name| paths.contains(&format!("\"tags\":[{name}]"))));
    }
    while remove_unused_schemas(document) {}
}

/// Removes the schemas that nothing refers to, and returns whether there were any.
fn remove_unused_schemas(document: &mut Value) -> bool {
    let text = document.to_string();
    let Some(schemas) = document.pointer_mut("/components/schemas").and_then(Value::as_object_mut) else {
        return false;
    };
    let before = schemas.len();
    schemas.retain(|name, _| text.contains(&format!("\"#/components/schemas/{name}\"")));
    schemas.len() < before
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop at the first surprise")]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::http::request::RequiredAccess;

    /// With `UPDATE_API_DESCRIPTION=1` in the environment, it is written again.
    #[test]
    #[cfg_attr(not(debug_assertions), ignore = "a release build leaves out the schemas of all responses")]
    fn the_description_in_docs_is_up_to_date() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
        let made = serde_json::to_string_pretty(&describe(&routes())).unwrap() + "\n";
        if std::env::var_os("UPDATE_API_DESCRIPTION").is_some() {
            std::fs::write(&path, &made).unwrap();
        }
        let command = "UPDATE_API_DESCRIPTION=1 cargo test -p deskpass --lib the_description_in_docs";
        assert!(std::fs::read_to_string(path).unwrap() == made, "docs/openapi.json is out of date: run {command}");
    }

    #[test]
    fn production_has_everything_but_development_mode() {
        let production = routes().into_iter().filter(|route| route.access != RequiredAccess::Developer);
        let wanted = describe(&production.collect::<Vec<_>>());
        let mut document = describe(&routes());
        remove_development(&mut document);
        for part in ["paths", "tags", "info", "x-codes"] {
            assert_eq!(document[part], wanted[part]);
        }
        let (text, found) = (document.to_string(), document["components"]["schemas"].as_object().unwrap());
        let wanted = wanted["components"]["schemas"].as_object().unwrap();
        assert!(found.keys().all(|name| wanted.contains_key(name)));
        for (name, schema) in wanted {
            // The generator also makes schemas that it does not refer to.
            assert!(found.get(name) == Some(schema) || !text.contains(&format!("/{name}\"")), "{name}");
        }
    }
}
