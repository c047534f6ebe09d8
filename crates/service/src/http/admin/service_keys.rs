//! Service keys, with which other services authenticate.

use std::time::Duration;

use deskpass_core::{EmployeeKey, ServiceKeyName, ServiceScopes, Timestamp};
use deskpass_store::ServiceKey;
use schemars::JsonSchema;
use serde::Serialize;

use super::Done;
use crate::App;
use crate::http::error::ApiError;
use crate::http::request::{
    Admin, CheckedInput, FromFields, HighRisk, HomeAdmin, HomeOnly, InPath, JsonBody, ServiceKeyId,
};
use crate::http::response::{Reply, ServiceScopeName};
use crate::timestamp::Rfc3339;

/// The service keys, newest first.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct ServiceKeys {
    items: Vec<ServiceKeyShown>,
}

/// A service key, without the key itself, which is not stored.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "ServiceKey")]
struct ServiceKeyShown {
    id: String,
    name: String,
    #[schemars(with = "Vec<ServiceScopeName>")]
    scopes: ServiceScopes,
    created_at: Rfc3339,
    created_by: Option<Maker>,
    expires_at: Rfc3339,
    revoked_at: Option<Rfc3339>,
    state: &'static str,
}

/// The administrator who created it; null where an operator did.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Maker {
    corp_id: String,
    employee_id: String,
}

impl Maker {
    pub(super) fn of(who: &EmployeeKey) -> Self {
        Self { corp_id: who.corp().to_owned(), employee_id: who.id().to_owned() }
    }
}

impl ServiceKeyShown {
    fn of(key: ServiceKey, now: Timestamp) -> Self {
        Self {
            state: key.state(now),
            id: key.id,
            name: key.name,
            scopes: key.scopes,
            created_at: Rfc3339(key.created_at),
            created_by: key.created_by.as_ref().map(Maker::of),
            expires_at: Rfc3339(key.expires_at),
            revoked_at: key.revoked_at.map(Rfc3339),
        }
    }
}

/// Lists the service keys.
pub(crate) async fn list(app: App, HomeAdmin(admin): HomeAdmin) -> Result<Reply<ServiceKeys>, ApiError> {
    let (keys, now) = (admin.administrator(&app).service_keys().await?, app.auth.clock.now());
    Ok(Reply(ServiceKeys { items: keys.into_iter().map(|key| ServiceKeyShown::of(key, now)).collect() }))
}

/// The service key to create.
#[derive(Debug, FromFields)]
pub(crate) struct NewServiceKeyBody {
    name: ServiceKeyName,
    scopes: ServiceScopes,
    /// The lifetime of the key in days; 365 unless given.
    #[field(name = "expires_in_days", range = 1..=3650, default = 365)]
    days: u64,
}

/// A new service key. No other response contains the key.
#[derive(JsonSchema, Serialize)]
pub(crate) struct NewServiceKey {
    id: String,
    name: String,
    #[schemars(with = "Vec<ServiceScopeName>")]
    scopes: ServiceScopes,
    key: String,
    created_at: Rfc3339,
    expires_at: Rfc3339,
}

/// Creates a service key.
pub(crate) async fn create(
    app: App,
    HighRisk(admin, HomeOnly(JsonBody(input))): HighRisk<HomeOnly<JsonBody<NewServiceKeyBody>>>,
) -> Result<Reply<NewServiceKey>, ApiError> {
    let lifetime = Duration::from_hours(24 * input.days);
    let made = admin.administrator(&app).create_service_key(&input.name, input.scopes, lifetime).await?;
    let ServiceKey { id, name, scopes, created_at, expires_at, .. } = made.kept;
    let (created_at, expires_at) = (Rfc3339(created_at), Rfc3339(expires_at));
    Ok(Reply(NewServiceKey { id, name, scopes, key: made.value.expose().to_owned(), created_at, expires_at }))
}

/// The id of a service key in the path.
#[derive(FromFields)]
pub(crate) struct ServiceKeyPath(#[field(name = "id")] ServiceKeyId);

/// An existing service key, as the path names it.
#[derive(Debug)]
pub(crate) struct ExistingServiceKey(String);

impl CheckedInput for ExistingServiceKey {
    type Fields = ServiceKeyPath;
    async fn check(ServiceKeyPath(ServiceKeyId(id)): ServiceKeyPath, _: &Admin, app: &App) -> Result<Self, ApiError> {
        app.auth.require_service_key(&id).await?;
        Ok(Self(id))
    }
}

/// Revokes a service key. Succeeds as well for a revoked one.
pub(crate) async fn revoke(
    app: App,
    HighRisk(admin, HomeOnly(InPath(ExistingServiceKey(id)))): HighRisk<HomeOnly<InPath<ExistingServiceKey>>>,
) -> Result<Reply<Done>, ApiError> {
    admin.administrator(&app).revoke_service_key(id).await?;
    Ok(Reply(Done::YES))
}
