//! Lists clients of OpenID Connect, and shows one.

use deskpass_auth::ListedOidcClient;
use deskpass_core::Role;
use deskpass_core::oidc::{ClientRegistration, OidcScope};
use deskpass_store::LogoutBacklog;

use super::super::CommandResult;
use super::super::table::table;
use super::super::text::describe_error;
use super::explain;
use super::instructions::Instructions;
use crate::App;
use crate::config::Language;
use crate::timestamp::format_utc;

const HEADING: [&str; 7] = ["ID", "NAME", "KIND", "STATE", "FROM", "LOGOUTS", "REDIRECT URI"];

pub(super) async fn list(app: &App) -> CommandResult {
    let clients = app.auth.operator().oidc_clients().await.map_err(describe_error)?;
    if clients.is_empty() {
        return Ok(
            "no clients, so OpenID Connect is off; to add one: deskpass oidc client add NAME --redirect-uri URL, or \
                   --for PROGRAM --url URL"
                .to_owned(),
        );
    }
    let rows = clients.iter().map(row);
    Ok(table(&[HEADING.map(str::to_owned)].into_iter().chain(rows).collect::<Vec<_>>()))
}

fn row(client: &ListedOidcClient) -> [String; 7] {
    [
        client.id.clone(),
        client.registration.name.clone(),
        client.registration.kind.name().to_owned(),
        state(client).to_owned(),
        origin(client).to_owned(),
        logouts(client),
        client.registration.redirect_uris.join(" "),
    ]
}

fn state(client: &ListedOidcClient) -> &'static str {
    if client.enabled { "enabled" } else { "disabled" }
}

fn origin(client: &ListedOidcClient) -> &'static str {
    if client.from_file { "settings file" } else { "registered" }
}

/// How the client learns that a session ended, and what it does not know yet.
fn logouts(client: &ListedOidcClient) -> String {
    match &client.logouts {
        Some(LogoutBacklog { count, oldest, last_status, .. }) if *count > 0 => {
            format!("{count} not delivered since {} ({last_status})", format_utc(*oldest))
        }
        _ if client.registration.backchannel_logout_uri.is_some() => "told at once".to_owned(),
        _ if client.registration.scopes.contains(OidcScope::OfflineAccess) => {
            "finds out within 15 minutes, if the program refreshes".to_owned()
        }
        _ => "not told: keeps its own session".to_owned(),
    }
}

pub(super) async fn show(app: &App, id: &str) -> CommandResult {
    let client = app.auth.operator().oidc_client(id).await.map_err(|error| explain(id, error))?;
    let maker = || match (&client.created_by, client.created_at) {
        (_, None) => "the settings file".to_owned(),
        (Some(who), Some(at)) => format!("{}/{} at {}", who.corp(), who.id(), format_utc(at)),
        (None, Some(at)) => format!("an operator at {}", format_utc(at)),
    };
    let mut rows = vec![
        ["id".to_owned(), client.id.clone()],
        ["name".to_owned(), client.registration.name.clone()],
        ["state".to_owned(), state(&client).to_owned()],
        ["from".to_owned(), maker()],
    ];
    rows.extend(registration_rows(&client.registration));
    rows.push(["logouts".to_owned(), logouts(&client)]);
    rows.extend(
        client.old_secret_until.map(|until| ["old secret".to_owned(), format!("valid until {}", format_utc(until))]),
    );
    let instructions = Instructions {
        issuer: &app.settings.public_url,
        client_id: &client.id,
        client_secret: None,
        registration: &client.registration,
        passphrase: "",
    };
    Ok(format!("{}\n\n{}", table(&rows), instructions.endpoints(Language::En)))
}

/// The registration as the options of `deskpass oidc client add` and the settings file call it.
fn registration_rows(client: &ClientRegistration) -> Vec<[String; 2]> {
    let roles: Vec<_> = client.roles.iter().map(Role::name).collect();
    let groups: Vec<_> = client.groups.iter().map(|(role, group)| format!("{role} = {group}")).collect();
    let or = |list: String, otherwise: &str| if list.is_empty() { otherwise.to_owned() } else { list };
    let rows = [
        ("kind", client.kind.name().to_owned()),
        ("redirect URIs", client.redirect_uris.join(" ")),
        ("post-logout URIs", or(client.post_logout_redirect_uris.join(" "), "none")),
        ("back-channel URI", client.backchannel_logout_uri.clone().unwrap_or_else(|| "none".to_owned())),
        ("origins", or(client.origins.join(" "), "none")),
        ("scopes", client.scopes.to_string()),
        ("roles", or(roles.join(", "), "every user")),
        ("corporations", or(client.corporations.join(", "), "the main one")),
        ("groups", or(groups.join(", "), "role:NAME")),
        ("department groups", client.department_groups.to_string()),
        ("role claims", client.role_claims.name().to_owned()),
        ("algorithm", client.algorithm.name().to_owned()),
        ("pkce", client.pkce.name().to_owned()),
        ("sso", client.sso.name().to_owned()),
        ("ID token claims", client.id_token_claims.to_string()),
    ];
    rows.into_iter().map(|(name, value)| [name.to_owned(), value]).collect()
}
