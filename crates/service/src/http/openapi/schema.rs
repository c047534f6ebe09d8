//! JSON Schemas of fields and bodies.

use serde_json::{Map, Value, json};

use crate::http::request::{FieldKind, FieldSpec};

/// The schema of a field.
pub(super) fn of(kind: &FieldKind) -> Value {
    match kind {
        FieldKind::Text => json!({ "type": "string" }),
        FieldKind::TextOrNumber => json!({ "type": ["string", "integer"], "minimum": 0, "maximum": u32::MAX }),
        FieldKind::Format(format) => {
            let mut schema = json!({ "type": "string", "format": format.name, "examples": [format.example] });
            if let (Some(schema), Some(pattern)) = (schema.as_object_mut(), format.pattern) {
                schema.insert("pattern".into(), pattern.into());
            }
            schema
        }
        FieldKind::Id(rule) => json!({ "type": "string", "pattern": rule.pattern() }),
        FieldKind::OneOf(words) => json!({ "type": "string", "enum": words }),
        FieldKind::Password(most) => json!({ "type": "string", "format": "password", "maxLength": most }),
        FieldKind::Integer(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
        FieldKind::Boolean => json!({ "type": "boolean" }),
        FieldKind::TextsByName(names) => json!({
            "type": "object",
            "propertyNames": { "enum": names },
            "additionalProperties": { "type": "string" },
        }),
        FieldKind::Json => json!({}),
        FieldKind::ObjectList(fields, most) => json!({ "type": "array", "items": object(fields), "maxItems": most }),
        FieldKind::StringList(most) => json!({ "type": "array", "items": { "type": "string" }, "maxItems": most }),
    }
}

/// Adds the meaning of a field, where there is one, to its description.
pub(super) fn documented(mut description: Value, doc: &str) -> Value {
    if let Some(members) = description.as_object_mut().filter(|_| !doc.is_empty()) {
        members.insert("description".into(), doc.into());
    }
    description
}

/// The schema of a body with these fields. Optional fields may also be null.
pub(super) fn object(fields: &[FieldSpec]) -> Value {
    let required: Vec<_> = fields.iter().filter(|field| field.required).map(|field| field.name).collect();
    let property = |field: &FieldSpec| {
        let schema = of(&field.kind);
        let schema = if field.required { schema } else { json!({ "anyOf": [schema, { "type": "null" }] }) };
        (field.name.to_owned(), documented(schema, field.doc))
    };
    let properties: Map<_, _> = fields.iter().map(property).collect();
    json!({ "type": "object", "properties": properties, "required": required })
}
