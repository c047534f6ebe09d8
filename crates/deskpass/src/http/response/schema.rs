//! Schemas for values of `core` in replies: `#[schemars(with = "RoleName")]`.

use std::borrow::Cow;

use deskpass_core::{LoginMethod, LoginSource, PermissionScope, Role, ServiceScope};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

/// Declares types whose schema is a closed list of words.
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
    /// The scope of a service key.
    ServiceScopeName: ServiceScope::ALL.map(ServiceScope::name);
    /// The scope of a permission.
    ScopeName: PermissionScope::NAMES;
    /// A sign-in method.
    MethodName: LoginMethod::ALL.map(LoginMethod::name);
    /// A client.
    SourceName: LoginSource::ALL.map(LoginSource::name);
}
