//! Admin commands about OpenID Connect: its clients and its signing keys.

mod facts;
mod instructions;
mod list;
mod recipes;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use deskpass_auth::{Error, NewOidcClient, Refusal};
use deskpass_core::Secret;
use deskpass_core::oidc::ClientRegistration;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::CommandResult;
use super::text::describe_error;
use crate::App;
use crate::config::Language;
use instructions::Instructions;

pub(crate) use facts::{ClientFacts, OidcFacts};
pub(crate) use recipes::{GENERIC, PROGRAMS, Recipe};

/// An admin command about OpenID Connect. It contains no secrets, because it is logged.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum OidcAdminCommand {
    AddClient(NewClient),
    ListClients,
    ShowClient {
        id: String,
    },
    RotateSecret {
        id: String,
        now: bool,
    },
    SetEnabled {
        id: String,
        enabled: bool,
    },
    RemoveClient {
        id: String,
    },
    RotateKeys {
        now: bool,
    },
    /// What `deskpass doctor` checks, as JSON.
    Facts,
}

/// A client that is to be registered.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct NewClient {
    pub(crate) registration: ClientRegistration,
    /// The program whose settings are described.
    pub(crate) program: Option<String>,
    /// Whether the result is a JSON object.
    pub(crate) json: bool,
}

impl OidcAdminCommand {
    pub(super) async fn run(&self, app: &App, language: Language) -> CommandResult {
        match self {
            Self::AddClient(new) => new.register(app, language).await,
            Self::ListClients => list::list(app).await,
            Self::ShowClient { id } => list::show(app, id).await,
            Self::RotateSecret { id, now } => rotate_secret(app, id, *now).await,
            Self::SetEnabled { id, enabled } => {
                app.auth.operator().set_oidc_client_enabled(id, *enabled).await.map_err(|error| explain(id, error))?;
                Ok(if *enabled {
                    format!("the client {id} is enabled")
                } else {
                    format!("the client {id} is disabled; what it got has ended")
                })
            }
            Self::RemoveClient { id } => {
                app.auth.operator().remove_oidc_client(id).await.map_err(|error| explain(id, error))?;
                Ok(format!("the client {id} is removed; what it got has ended"))
            }
            Self::RotateKeys { now } => rotate_keys(app, *now).await,
            Self::Facts => facts::read(app).await,
        }
    }

    /// The command as typed.
    pub(super) fn words(&self) -> String {
        match self {
            Self::AddClient(NewClient { registration, program, .. }) => {
                let program = program.as_ref().map(|program| format!(" --for {program}")).unwrap_or_default();
                format!("oidc client add {}{program}", registration.name)
            }
            Self::ListClients => "oidc client list".to_owned(),
            Self::ShowClient { id } => format!("oidc client show {id}"),
            Self::RotateSecret { id, now } => format!("oidc client rotate-secret {id}{}", now_flag(*now)),
            Self::SetEnabled { id, enabled: true } => format!("oidc client enable {id}"),
            Self::SetEnabled { id, enabled: false } => format!("oidc client disable {id}"),
            Self::RemoveClient { id } => format!("oidc client remove {id} --yes"),
            Self::RotateKeys { now } => format!("oidc rotate-keys{}", now_flag(*now)),
            Self::Facts => "doctor".to_owned(),
        }
    }
}

fn now_flag(now: bool) -> &'static str {
    if now { " --now" } else { "" }
}

impl NewClient {
    /// Only the return value contains the secret.
    async fn register(&self, app: &App, language: Language) -> CommandResult {
        let registration = self.registration.clone();
        registration.check(!app.settings.development.enabled).map_err(|invalid| invalid.to_string())?;
        let added = app.auth.operator().add_oidc_client(registration).await;
        let NewOidcClient { client, secret } = added.map_err(describe_error)?;
        let secret = secret.as_ref().map(Secret::expose);
        if self.json {
            return Ok(json!({ "client_id": client.id, "client_secret": secret }).to_string());
        }
        let recipe = Recipe::find(self.program.as_deref().unwrap_or(GENERIC));
        let passphrase = app.auth.entropy.bytes::<24>().map_err(|error| error.to_string())?;
        let instructions = Instructions {
            issuer: &app.settings.public_url,
            client_id: &client.id,
            client_secret: secret,
            registration: &client.registration,
            passphrase: &URL_SAFE_NO_PAD.encode(passphrase),
        };
        Ok(instructions.of_new_client(recipe, language))
    }
}

async fn rotate_secret(app: &App, id: &str, now: bool) -> CommandResult {
    let secret = app.auth.operator().rotate_oidc_secret(id, now).await.map_err(|error| explain(id, error))?;
    let old = if now {
        "The old one is no longer valid."
    } else {
        "The old one stays valid for 7 days; `--now` ends it at once, after a leak."
    };
    Ok(format!(
        "client secret: {}\n\nIt is the new secret of the client {id}, and is not shown again. Enter it in the program. {old}",
        secret.expose()
    ))
}

async fn rotate_keys(app: &App, now: bool) -> CommandResult {
    let before = app.auth.store.access_rules().await.map_err(describe_error)?;
    let kids = app.auth.operator().rotate_signing_keys(now).await.map_err(describe_error)?;
    if kids.is_empty() {
        return Ok("no client is registered, so there are no signing keys to replace".to_owned());
    }
    let none_is_new = kids.iter().all(|kid| before.oidc_keys.iter().any(|key| key.kid == *kid));
    let kids = kids.join("\n  ");
    Ok(if none_is_new {
        format!(
            "the next key is published already:\n  {kids}\nIt signs a day after it was made. After a leak: deskpass oidc \
             rotate-keys --now"
        )
    } else if now {
        format!(
            "new signing keys, which sign from now on:\n  {kids}\nThe old keys are withdrawn. A client that keeps keys for long \
             refuses sign-ins until it fetches the new ones: restart it if that takes too long."
        )
    } else {
        format!(
            "new signing keys, published:\n  {kids}\nThey sign in a day, so that every client has fetched them. The old keys \
             stay published for a week after that. After a leak: deskpass oidc rotate-keys --now"
        )
    })
}

/// Turns an error about a client into a message that says how to fix it.
fn explain(id: &str, error: Error) -> String {
    match error {
        Error::Refused(Refusal::NoSuchOidcClient) => {
            format!("there is no client {id}; see `deskpass oidc client list`")
        }
        Error::Refused(Refusal::OidcClientFromFile) => {
            format!("the client {id} is in the settings file: change it there, then run `deskpass reload`")
        }
        Error::Refused(Refusal::OidcClientWithoutSecret) => {
            format!("the client {id} has no secret: it authenticates with PKCE alone")
        }
        other => describe_error(other),
    }
}
