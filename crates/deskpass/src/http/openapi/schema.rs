//! The forms of single values, as JSON Schema has them.

use std::borrow::Cow;

use deskpass_core::{LoginMethod, LoginSource, PermissionScope, Role, ServiceScope};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use crate::http::request::fields::{FieldKind, FieldSpec};

/// The form of what a field takes.
pub(super) fn of(kind: &FieldKind) -> Value {
    match kind {
        FieldKind::Text => json!({ "type": "string" }),
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
        FieldKind::StringList(most) => json!({ "type": "array", "items": { "type": "string" }, "maxItems": most }),
    }
}

/// The form of a body with these fields. What may be missing may also be null.
pub(super) fn object(fields: &[FieldSpec]) -> Value {
    let required: Vec<_> = fields.iter().filter(|field| field.required).map(|field| field.name).collect();
    let property = |field: &FieldSpec| {
        let schema = of(&field.kind);
        let schema = if field.required { schema } else { json!({ "anyOf": [schema, { "type": "null" }] }) };
        (field.name.to_owned(), schema)
    };
    let properties: Map<_, _> = fields.iter().map(property).collect();
    json!({ "type": "object", "properties": properties, "required": required })
}

/// Stands for values of `core` in descriptions of answers: `#[schemars(with = "RoleName")]`.
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident: $words:expr;)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name;

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "enum": $words })
            }

            fn inline_schema() -> bool {
                true
            }
        }
    )*};
}

words! {
    /// A role.
    RoleName: Role::ALL.map(Role::name);
    /// What a service key is good for.
    ServiceScopeName: ServiceScope::ALL.map(ServiceScope::name);
    /// How far a permission reaches.
    ScopeName: PermissionScope::NAMES;
    /// A way of signing in.
    MethodName: LoginMethod::ALL.map(LoginMethod::name);
    /// A client.
    SourceName: LoginSource::ALL.map(LoginSource::name);
}
