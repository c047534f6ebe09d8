//! OpenID Connect clients: the programs that users sign in to with this service.

mod registration;
mod shown;

use schemars::JsonSchema;
use serde::Serialize;

use self::registration::CheckedRegistration;
use self::shown::OidcClientShown;
use super::Done;
use crate::App;
use crate::http::error::ApiError;
use crate::http::request::{
    Admin, CheckedInput, FromFields, HighRisk, HomeAdmin, HomeOnly, InBody, InPath, OidcClientId, Path, PathAndBody,
    PathAndCheckedBody,
};
use crate::http::response::Reply;

/// The clients: first those of the settings file.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct OidcClients {
    items: Vec<OidcClientShown>,
}

/// Lists the clients.
pub(crate) async fn list(app: App, HomeAdmin(admin): HomeAdmin) -> Result<Reply<OidcClients>, ApiError> {
    let clients = admin.administrator(&app).oidc_clients().await?;
    Ok(Reply(OidcClients { items: clients.into_iter().map(OidcClientShown::from).collect() }))
}

/// The id of a client in the path.
#[derive(Debug, FromFields)]
pub(crate) struct ClientPath(#[field(name = "id")] OidcClientId);

/// Shows a client.
pub(crate) async fn show(
    app: App,
    HomeAdmin(admin): HomeAdmin,
    Path(ClientPath(OidcClientId(id))): Path<ClientPath>,
) -> Result<Reply<OidcClientShown>, ApiError> {
    Ok(Reply(admin.administrator(&app).oidc_client(&id).await?.into()))
}

/// A new client. No other response contains its secret.
#[derive(JsonSchema, Serialize)]
pub(crate) struct NewClient {
    #[serde(flatten)]
    client: OidcClientShown,
    /// Null for a public or native client, which has none.
    client_secret: Option<String>,
}

/// Registers a client.
pub(crate) async fn create(
    app: App,
    HighRisk(admin, HomeOnly(InBody(CheckedRegistration(registration)))): HighRisk<
        HomeOnly<InBody<CheckedRegistration>>,
    >,
) -> Result<Reply<NewClient>, ApiError> {
    let made = admin.administrator(&app).add_oidc_client(registration).await?;
    let client_secret = made.secret.map(|secret| secret.expose().to_owned());
    Ok(Reply(NewClient { client: made.client.into(), client_secret }))
}

/// An existing client that can be changed, as the path names it: one of the settings file cannot.
#[derive(Debug)]
pub(crate) struct ChangeableClient(String);

impl CheckedInput for ChangeableClient {
    type Fields = ClientPath;
    async fn check(ClientPath(OidcClientId(id)): ClientPath, admin: &Admin, app: &App) -> Result<Self, ApiError> {
        admin.administrator(app).require_oidc_client(&id).await?;
        Ok(Self(id))
    }
}

/// Replaces the registration of a client.
pub(crate) async fn change(
    app: App,
    HighRisk(admin, HomeOnly(PathAndCheckedBody(ChangeableClient(id), CheckedRegistration(registration)))): HighRisk<
        HomeOnly<PathAndCheckedBody<ChangeableClient, CheckedRegistration>>,
    >,
) -> Result<Reply<Done>, ApiError> {
    admin.administrator(&app).change_oidc_client(&id, registration).await?;
    Ok(Reply(Done::YES))
}

/// Removes a client.
pub(crate) async fn remove(
    app: App,
    HighRisk(admin, HomeOnly(InPath(ChangeableClient(id)))): HighRisk<HomeOnly<InPath<ChangeableClient>>>,
) -> Result<Reply<Done>, ApiError> {
    admin.administrator(&app).remove_oidc_client(&id).await?;
    Ok(Reply(Done::YES))
}

/// When the old secret ends.
#[derive(Debug, FromFields)]
pub(crate) struct RotateBody {
    /// Whether the old secret ends now; `false` unless given: then it is valid for seven more days.
    #[field(default = false)]
    now: bool,
}

/// The new secret. No other response contains it.
#[derive(JsonSchema, Serialize)]
pub(crate) struct RotatedSecret {
    client_secret: String,
}

/// Gives a confidential client a new secret.
pub(crate) async fn rotate_secret(
    app: App,
    HighRisk(admin, HomeOnly(PathAndBody(ChangeableClient(id), input))): HighRisk<
        HomeOnly<PathAndBody<ChangeableClient, RotateBody>>,
    >,
) -> Result<Reply<RotatedSecret>, ApiError> {
    let secret = admin.administrator(&app).rotate_oidc_secret(&id, input.now).await?;
    Ok(Reply(RotatedSecret { client_secret: secret.expose().to_owned() }))
}

/// Disables a client: nobody can sign in to it, and its users are signed out of it.
pub(crate) async fn disable(
    app: App,
    HighRisk(admin, HomeOnly(InPath(ChangeableClient(id)))): HighRisk<HomeOnly<InPath<ChangeableClient>>>,
) -> Result<Reply<Done>, ApiError> {
    admin.administrator(&app).set_oidc_client_enabled(&id, false).await?;
    Ok(Reply(Done::YES))
}

/// Enables a client.
pub(crate) async fn enable(
    app: App,
    HighRisk(admin, HomeOnly(InPath(ChangeableClient(id)))): HighRisk<HomeOnly<InPath<ChangeableClient>>>,
) -> Result<Reply<Done>, ApiError> {
    admin.administrator(&app).set_oidc_client_enabled(&id, true).await?;
    Ok(Reply(Done::YES))
}
