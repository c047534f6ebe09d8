//! The forms of single values, as JSON Schema has them.

use std::borrow::Cow;

use deskpass_core::{LoginMethod, LoginSource, Role, Scope, ServiceScope};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use crate::http::fields::{Field, Shape};

/// The form of what a field takes.
pub(super) fn of(shape: &Shape) -> Value {
    match shape {
        Shape::Text => json!({ "type": "string" }),
        Shape::Form(form) => {
            let mut schema = json!({ "type": "string", "format": form.name, "examples": [form.example] });
            if let (Some(schema), Some(pattern)) = (schema.as_object_mut(), form.pattern) {
                schema.insert("pattern".into(), pattern.into());
            }
            schema
        }
        Shape::Id(rule) => json!({ "type": "string", "pattern": rule.pattern() }),
        Shape::Word(words) => json!({ "type": "string", "enum": words }),
        Shape::Password(most) => json!({ "type": "string", "format": "password", "maxLength": most }),
        Shape::Count(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Texts(most) => json!({ "type": "array", "items": { "type": "string" }, "maxItems": most }),
    }
}

/// The form of a body with these fields. What may be missing may also be null.
pub(super) fn object(fields: &[Field]) -> Value {
    let required: Vec<_> = fields.iter().filter(|field| field.required).map(|field| field.name).collect();
    let property = |field: &Field| {
        let schema = of(&field.shape);
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
        pub(in crate::http) struct $name;

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
    ScopeName: Scope::NAMES;
    /// A way of signing in.
    MethodName: LoginMethod::ALL.map(LoginMethod::name);
    /// A client.
    SourceName: LoginSource::ALL.map(LoginSource::name);
}

/// A moment in ISO 8601.
pub(crate) struct Moment;

impl JsonSchema for Moment {
    fn schema_name() -> Cow<'static, str> {
        "Moment".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }

    fn inline_schema() -> bool {
        true
    }
}
