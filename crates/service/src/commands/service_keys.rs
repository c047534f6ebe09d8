//! Admin commands about service keys.

use std::time::Duration;

use deskpass_auth::{Auth, Error, Refusal};
use deskpass_core::{EmployeeKey, ServiceKeyName, ServiceScope, ServiceScopes, Timestamp};
use deskpass_store::ServiceKey;
use serde::{Deserialize, Serialize};

use super::CommandResult;
use super::table::table;
use super::text::describe_error;
use crate::App;
use crate::timestamp::format_utc;

/// An admin command about service keys. It contains no secrets, because it is logged.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum ServiceKeyAdminCommand {
    Create { name: String, scopes: Vec<String>, days: u16 },
    List,
    Revoke { id: String },
}

impl ServiceKeyAdminCommand {
    pub(super) async fn run(&self, app: &App) -> CommandResult {
        match self {
            Self::Create { name, scopes, days } => create(app, name, scopes, *days).await,
            Self::List => list(&app.auth).await,
            Self::Revoke { id } => revoke(&app.auth, id).await,
        }
    }
}

/// Only the return value contains the key.
async fn create(app: &App, name: &str, scopes: &[String], days: u16) -> CommandResult {
    let longest = ServiceKeyName::MAX_CHARS;
    let name = ServiceKeyName::parse(name)
        .ok_or_else(|| format!("NAME must be 1 to {longest} visible characters without leading or trailing spaces"))?;
    let scopes = scopes.iter().map(|word| scope(word)).collect::<Result<ServiceScopes, _>>()?;
    if scopes.is_empty() {
        return Err("a service key needs a scope; name one with --scope".to_owned());
    }
    let lifetime = Duration::from_hours(24 * u64::from(days));
    let made = app.auth.operator().create_service_key(&name, scopes, lifetime).await;
    let made = made.map_err(describe_error)?;
    let ServiceKey { id, expires_at, .. } = &made.kept;
    Ok(format!(
        "service key: {}\n\nIt is for {}, with the scopes: {scopes}. It is valid until {} and is not shown again. Keep it \
         with the other secrets of the service.\nThe service sends it as `Authorization: Bearer …`, for example to {}\n\
         To revoke it: deskpass service-key revoke {id}",
        made.value.expose(),
        name.as_str(),
        format_utc(*expires_at),
        example_call(scopes, &app.settings.public_url)
    ))
}

/// A request that a key with these scopes permits.
fn example_call(scopes: ServiceScopes, public_url: &str) -> String {
    let introspects = scopes.contains(ServiceScope::Introspect);
    let path = if introspects { "/api/auth/introspect" } else { "/api/messages" };
    format!("POST {public_url}{path}")
}

fn scope(word: &str) -> Result<ServiceScope, String> {
    let unknown = || format!("unknown scope {word}; known: {}", ServiceScope::NAMES.join(", "));
    ServiceScope::from_name(word).ok_or_else(unknown)
}

const HEADING: [&str; 7] = ["ID", "NAME", "SCOPES", "STATE", "CREATED", "BY", "EXPIRES"];

async fn list(auth: &Auth) -> CommandResult {
    let keys = auth.operator().service_keys().await.map_err(describe_error)?;
    if keys.is_empty() {
        return Ok("no service keys; to create one: deskpass service-key create NAME --scope introspect".to_owned());
    }
    let now = auth.clock.now();
    let rows: Vec<_> = [HEADING.map(str::to_owned)].into_iter().chain(keys.iter().map(|key| row(key, now))).collect();
    Ok(table(&rows))
}

fn row(key: &ServiceKey, now: Timestamp) -> [String; 7] {
    let maker = |who: &EmployeeKey| format!("{}/{}", who.corp(), who.id());
    [
        key.id.clone(),
        key.name.clone(),
        key.scopes.to_string(),
        key.state(now).to_owned(),
        format_utc(key.created_at),
        key.created_by.as_ref().map_or_else(|| "an operator".to_owned(), maker),
        format_utc(key.expires_at),
    ]
}

async fn revoke(auth: &Auth, id: &str) -> CommandResult {
    match auth.operator().revoke_service_key(id.to_owned()).await {
        Ok(true) => Ok(format!("the service key {id} is revoked")),
        Ok(false) => Ok(format!("the service key {id} was already revoked")),
        Err(Error::Refused(Refusal::NoSuchKey)) => {
            Err("there is no service key with this ID; see `deskpass service-key list`".to_owned())
        }
        Err(error) => Err(describe_error(error)),
    }
}
