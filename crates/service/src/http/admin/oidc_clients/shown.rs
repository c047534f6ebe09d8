//! A client as administrators see it.

use std::collections::BTreeMap;

use deskpass_auth::ListedOidcClient;
use deskpass_core::oidc::OidcScopes;
use deskpass_core::{Role, Roles};
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::admin::service_keys::Maker;
use crate::http::response::{
    ClientKindName, OidcScopeName, PkceName, RoleClaimsName, RoleName, SigningAlgorithmName, SsoModeName,
};
use crate::timestamp::Rfc3339;

/// A client, without its secret, which is not stored.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "OidcClient")]
#[expect(clippy::struct_excessive_bools, reason = "the members are independent of each other")]
pub(crate) struct OidcClientShown {
    client_id: String,
    name: String,
    kind: ClientKindName,
    redirect_uris: Vec<String>,
    post_logout_redirect_uris: Vec<String>,
    backchannel_logout_uri: Option<String>,
    origins: Vec<String>,
    #[schemars(with = "Vec<OidcScopeName>")]
    scopes: OidcScopes,
    #[schemars(with = "Vec<RoleName>")]
    roles: Roles,
    corporations: Vec<String>,
    #[schemars(with = "BTreeMap<String, String>")]
    groups: BTreeMap<Role, String>,
    department_groups: bool,
    role_claims: RoleClaimsName,
    algorithm: SigningAlgorithmName,
    pkce: PkceName,
    sso: SsoModeName,
    id_token_claims: bool,
    /// Whether it is disabled: nobody can sign in to it.
    disabled: bool,
    /// Whether it is declared in the settings file, where alone it can be changed.
    from_file: bool,
    /// When it was registered; null for a client of the settings file.
    created_at: Option<Rfc3339>,
    created_by: Option<Maker>,
    /// Until when the former secret is valid; null if there is none.
    old_secret_until: Option<Rfc3339>,
    /// The number of logouts that could not be delivered to it yet.
    pending_logouts: usize,
    /// The outcome of the last attempt to deliver one of these; null if none is pending.
    last_logout_status: Option<String>,
}

impl From<ListedOidcClient> for OidcClientShown {
    fn from(listed: ListedOidcClient) -> Self {
        let registration = (*listed.registration).clone();
        Self {
            client_id: listed.id,
            name: registration.name,
            kind: ClientKindName(registration.kind),
            redirect_uris: registration.redirect_uris,
            post_logout_redirect_uris: registration.post_logout_redirect_uris,
            backchannel_logout_uri: registration.backchannel_logout_uri,
            origins: registration.origins,
            scopes: registration.scopes,
            roles: registration.roles,
            corporations: registration.corporations,
            groups: registration.groups,
            department_groups: registration.department_groups,
            role_claims: RoleClaimsName(registration.role_claims),
            algorithm: SigningAlgorithmName(registration.algorithm),
            pkce: PkceName(registration.pkce),
            sso: SsoModeName(registration.sso),
            id_token_claims: registration.id_token_claims,
            disabled: !listed.enabled,
            from_file: listed.from_file,
            created_at: listed.created_at.map(Rfc3339),
            created_by: listed.created_by.as_ref().map(Maker::of),
            old_secret_until: listed.old_secret_until.map(Rfc3339),
            pending_logouts: listed.logouts.as_ref().map_or(0, |logouts| logouts.count),
            last_logout_status: listed.logouts.map(|logouts| logouts.last_status),
        }
    }
}
