//! The clients of OpenID Connect in the settings file: an array of tables, which no environment variable sets.

pub(super) mod client_key;
mod parser;

use std::path::PathBuf;

use deskpass_core::Role;
use deskpass_core::oidc::{ClientRegistration, OidcScope};
use toml::de::DeValue;

use super::declaration::CLIENTS;
use super::origin::Origin;
use super::problem::ConfigProblem;
use super::settings::OidcClient;
use super::sources::Sources;
use super::toml_source::TomlSource;
use super::value::MASK;
use parser::ClientParser;

/// A client of the file, with its place.
#[derive(Clone, Debug)]
pub(super) struct ListedClient {
    pub(super) client: OidcClient,
    pub(super) origin: Origin,
    /// The file that has the secret: the settings file or another.
    pub(super) secret_source: Option<PathBuf>,
    /// The file that `secret_file` names.
    secret_file: Option<PathBuf>,
}

/// Reads the value of [`CLIENTS`]; also returns all problems. A client with a problem is left out.
pub(super) fn read(
    document: &TomlSource<'_>,
    value: &DeValue<'_>,
    origin: &Origin,
    sources: &Sources<'_>,
) -> (Vec<ListedClient>, Vec<ConfigProblem>) {
    let no_table = |origin: &Origin| {
        ConfigProblem::new(CLIENTS, "this is not a table", "begin each client with [[oidc.clients]]").at(origin)
    };
    if let DeValue::Table(_) = value {
        let what = "this is a single table: its name has single brackets";
        let problem = ConfigProblem::new(CLIENTS, what, "begin each client with [[oidc.clients]]").at(origin);
        return (Vec::new(), vec![problem]);
    }
    let DeValue::Array(items) = value else { return (Vec::new(), vec![no_table(origin)]) };
    let (mut clients, mut problems) = (Vec::new(), Vec::new());
    for (at, item) in items.iter().enumerate() {
        let origin = document.origin(item.span());
        let DeValue::Table(table) = item.get_ref() else {
            problems.push(no_table(&origin));
            continue;
        };
        let mut parser = ClientParser::new(document, sources, table, at);
        parser.table(table);
        parser.require_complete(&origin);
        let ClientParser { client, secret_source, secret_file, problems: found, .. } = parser;
        if found.is_empty() {
            clients.push(ListedClient { client, origin, secret_source, secret_file });
        }
        problems.extend(found);
    }
    (clients, problems)
}

/// The problems of clients that are complete: what cannot be registered, and what stands there twice.
pub(super) fn violations(clients: &[ListedClient], production: bool) -> Vec<ConfigProblem> {
    let problem = |(at, listed): (usize, &ListedClient)| {
        let OidcClient { id, registration, .. } = &listed.client;
        let subject = format!("{CLIENTS}.{id}");
        if clients.iter().take(at).any(|other| other.client.id == *id) {
            let fix = "give each client an id of its own";
            return Some(ConfigProblem::new(subject, "another client has the same id", fix).at(&listed.origin));
        }
        let invalid = registration.check_listed(production).err()?;
        let fix = "`deskpass config example` shows how each key is written";
        Some(ConfigProblem::new(subject, invalid.to_string(), fix).at(&listed.origin))
    };
    clients.iter().enumerate().filter_map(problem).collect()
}

impl ListedClient {
    /// The name in `config show`.
    pub(super) fn name(&self) -> String {
        format!("{CLIENTS}.{}", self.client.id)
    }

    /// The client as `config show` prints it: what differs from the defaults, without its secret.
    pub(super) fn shown(&self) -> String {
        let mut fields = Vec::new();
        for (name, value) in differing(&self.client.registration) {
            fields.push(format!("{name} = {value}"));
        }
        match &self.secret_file {
            Some(path) => fields.push(format!("secret_file = {}", toml::Value::from(path.to_string_lossy().as_ref()))),
            None if !self.client.secrets.is_empty() => fields.push(format!("secret = {MASK}")),
            None => {}
        }
        format!("{{ {} }}", fields.join(", "))
    }
}

/// The fields that differ from their defaults, as in the file.
fn differing(client: &ClientRegistration) -> Vec<(&'static str, toml::Value)> {
    let usual = ClientRegistration::default();
    let list = |items: &[String]| toml::Value::from(items.to_vec());
    let word = |name: &'static str| toml::Value::from(name);
    let names = |names: Vec<&'static str>| toml::Value::from(names);
    let groups = client.groups.iter().map(|(role, group)| (role.name(), group.clone()));
    let groups: std::collections::BTreeMap<_, _> = groups.collect();
    let backchannel = client.backchannel_logout_uri.clone().unwrap_or_default();
    let fields = [
        (client.name != usual.name, "name", toml::Value::from(client.name.clone())),
        (client.kind != usual.kind, "kind", word(client.kind.name())),
        (true, "redirect_uris", list(&client.redirect_uris)),
        (
            !client.post_logout_redirect_uris.is_empty(),
            "post_logout_redirect_uris",
            list(&client.post_logout_redirect_uris),
        ),
        (!backchannel.is_empty(), "backchannel_logout_uri", toml::Value::from(backchannel)),
        (!client.origins.is_empty(), "origins", list(&client.origins)),
        (client.scopes != usual.scopes, "scopes", names(client.scopes.iter().map(OidcScope::name).collect())),
        (!client.roles.is_empty(), "roles", names(client.roles.iter().map(Role::name).collect())),
        (!client.corporations.is_empty(), "corporations", list(&client.corporations)),
        (!groups.is_empty(), "groups", toml::Value::from(groups)),
        (client.department_groups, "department_groups", toml::Value::from(true)),
        (client.role_claims != usual.role_claims, "role_claims", word(client.role_claims.name())),
        (client.algorithm != usual.algorithm, "algorithm", word(client.algorithm.name())),
        (client.pkce != usual.pkce, "pkce", word(client.pkce.name())),
        (client.sso != usual.sso, "sso", word(client.sso.name())),
        (!client.id_token_claims, "id_token_claims", toml::Value::from(false)),
    ];
    fields.into_iter().filter(|(differs, ..)| *differs).map(|(_, name, value)| (name, value)).collect()
}
