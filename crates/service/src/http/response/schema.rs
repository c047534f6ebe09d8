//! Values of `core` in replies, with their schemas.

use std::borrow::Cow;

use deskpass_core::oidc::{ClientKind, OidcScope, PkceRequirement, RoleClaims, SigningAlgorithm, SsoMode};
use deskpass_core::{EarlyEnd, LeftReason, LoginMethod, LoginSource, PermissionScope, Role, ServiceScope};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

/// Declares values whose schema is a closed list of words.
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident($value:ty): $words:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
        pub(crate) struct $name(pub(crate) $value);

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "enum": $words })
            }
        }
    )*};
}

words! {
    /// A role.
    RoleName(Role): Role::ALL.map(Role::name);
    /// The scope of a service key.
    ServiceScopeName(ServiceScope): ServiceScope::ALL.map(ServiceScope::name);
    /// The scope of a permission.
    ScopeName(PermissionScope): PermissionScope::NAMES;
    /// A sign-in method.
    MethodName(LoginMethod): LoginMethod::ALL.map(LoginMethod::name);
    /// A client.
    SourceName(LoginSource): LoginSource::ALL.map(LoginSource::name);
    /// The kind of an OpenID Connect client.
    ClientKindName(ClientKind): ClientKind::NAMES;
    /// A scope of an OpenID Connect client.
    OidcScopeName(OidcScope): OidcScope::NAMES;
    /// Whether a client must use PKCE.
    PkceName(PkceRequirement): PkceRequirement::NAMES;
    /// Which roles a client is told.
    RoleClaimsName(RoleClaims): RoleClaims::NAMES;
    /// The algorithm of a client's ID tokens.
    SigningAlgorithmName(SigningAlgorithm): SigningAlgorithm::NAMES;
    /// When a signed-in user is asked before a client gets a code.
    SsoModeName(SsoMode): SsoMode::NAMES;
    /// What an authorization request needs from the user.
    NeedsName(&'static str): ["sign_in", "press", "sign_out"];
    /// Why an employee may not sign in, according to the platform.
    LeftReasonName(LeftReason): LeftReason::NAMES;
    /// Why a sign-in ended before its time.
    EarlyEndName(EarlyEnd): EarlyEnd::NAMES;
}
