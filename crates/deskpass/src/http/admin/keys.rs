//! What other services identify themselves with, as administrators see it.

use std::time::Duration;

use axum::extract::{FromRequest, FromRequestParts as _, Request, State};
use deskpass_core::{EmployeeKey, KeyName, ServiceScopes, Timestamp};
use deskpass_store::ServiceKey;
use schemars::JsonSchema;
use serde::Serialize;

use super::Done;
use crate::Desk;
use crate::http::answer::Window;
use crate::http::authority::{AtHome, HighRisk, HomeAdmin};
use crate::http::envelope::Reply;
use crate::http::extract::Body;
use crate::http::failure::Failure;
use crate::http::fields::{Ask, Fields};
use crate::http::login::iso;
use crate::http::openapi::{Asks, Moment, ServiceScopeName, Sheet};
use crate::http::query::Path;

/// How long a key counts unless somebody says otherwise, and at most, in days.
const DAYS: u64 = 365;
const MOST_DAYS: u64 = 3650;

/// The service keys, the newest first.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "ServiceKeys")]
pub(in crate::http) struct Keys {
    items: Vec<Key>,
}

/// A service key. The key itself is not known any more.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "ServiceKey")]
struct Key {
    id: String,
    name: String,
    #[schemars(with = "Vec<ServiceScopeName>")]
    scopes: ServiceScopes,
    #[schemars(with = "Moment")]
    created_at: String,
    created_by: Option<Maker>,
    #[schemars(with = "Moment")]
    expires_at: String,
    #[schemars(with = "Option<Moment>")]
    revoked_at: Option<String>,
    state: &'static str,
}

/// Who made a key, where it was not an operator.
#[derive(Debug, JsonSchema, Serialize)]
struct Maker {
    corp_id: String,
    employee_id: String,
}

impl Key {
    fn of(key: ServiceKey, now: Timestamp) -> Self {
        let maker = |who: EmployeeKey| Maker { corp_id: who.corp().to_owned(), employee_id: who.id().to_owned() };
        Self {
            state: key.state(now),
            id: key.id,
            name: key.name,
            scopes: key.scopes,
            created_at: iso(key.created_at),
            created_by: key.created_by.map(maker),
            expires_at: iso(key.expires_at),
            revoked_at: key.revoked_at.map(iso),
        }
    }
}

/// Lists the service keys.
pub(in crate::http) async fn list(
    State(desk): State<Desk>,
    HomeAdmin(admin): HomeAdmin,
) -> Result<Reply<Keys>, Failure> {
    let (keys, now) = (admin.at(&desk).service_keys().await?, desk.auth.clock.now());
    Ok(Reply(Keys { items: keys.into_iter().map(|key| Key::of(key, now)).collect() }))
}

/// A key to be made.
#[derive(Debug)]
pub(in crate::http) struct NewKey {
    name: KeyName,
    scopes: ServiceScopes,
    days: u64,
}

impl Ask for NewKey {
    fn read(fields: &mut Fields) -> Option<Self> {
        let (name, scopes) = (fields.key_name("name"), fields.scopes("scopes"));
        let days = fields.maybe_count("expires_in_days", 1..=MOST_DAYS);
        Some(Self { name: name?, scopes: scopes?, days: days?.unwrap_or(DAYS) })
    }
}

/// A key that was made: the only answer that has it in it.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "NewServiceKey")]
pub(in crate::http) struct Made {
    id: String,
    name: String,
    #[schemars(with = "Vec<ServiceScopeName>")]
    scopes: ServiceScopes,
    key: String,
    #[schemars(with = "Moment")]
    created_at: String,
    #[schemars(with = "Moment")]
    expires_at: String,
}

/// Makes a service key.
pub(in crate::http) async fn create(
    State(desk): State<Desk>,
    HighRisk(admin, AtHome(Body(ask))): HighRisk<AtHome<Body<NewKey>>>,
) -> Result<Reply<Made>, Failure> {
    let lifetime = Duration::from_hours(24 * ask.days);
    let made = admin.at(&desk).create_service_key(&ask.name, ask.scopes, lifetime).await?;
    let ServiceKey { id, name, scopes, created_at, expires_at, .. } = made.kept;
    let (created_at, expires_at) = (iso(created_at), iso(expires_at));
    Ok(Reply(Made { id, name, scopes, key: made.value.expose().to_owned(), created_at, expires_at }))
}

/// A service key, as the path names it.
struct Id(String);

impl Ask for Id {
    fn read(fields: &mut Fields) -> Option<Self> {
        Some(Self(fields.key_id("id")?))
    }
}

/// The service key that the path names: there is one.
#[derive(Debug)]
pub(in crate::http) struct NamedKey(String);

impl Asks for NamedKey {
    fn asks(sheet: &mut Sheet) {
        sheet.reads_path::<Id>();
    }
}

impl FromRequest<Window> for NamedKey {
    type Rejection = Failure;
    async fn from_request(request: Request, window: &Window) -> Result<Self, Failure> {
        let (mut parts, _) = request.into_parts();
        let Path(Id(id)) = Path::from_request_parts(&mut parts, window).await?;
        window.desk.auth.expect_service_key(&id).await?;
        Ok(Self(id))
    }
}

/// Has a service key count no more. One that was revoked before stays so.
pub(in crate::http) async fn revoke(
    State(desk): State<Desk>,
    HighRisk(admin, AtHome(NamedKey(id))): HighRisk<AtHome<NamedKey>>,
) -> Result<Reply<Done>, Failure> {
    admin.at(&desk).revoke_service_key(id).await?;
    Ok(Reply(Done::YES))
}
