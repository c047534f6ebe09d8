//! Parses the table of a client.

use std::collections::BTreeMap;
use std::path::PathBuf;

use deskpass_core::oidc::{
    ClientKind, ClientRegistration, OidcScope, PkceRequirement, RoleClaims, SigningAlgorithm, SsoMode, is_client_id,
};
use deskpass_core::{CorpId, Digest, Role};
use toml::de::{DeTable, DeValue};

use super::client_key::{CLIENT_KEYS, ClientKey};
use crate::config::declaration::CLIENTS;
use crate::config::nearest_word::nearest_word;
use crate::config::origin::Origin;
use crate::config::problem::ConfigProblem;
use crate::config::raw::{RawSetting, quoted};
use crate::config::settings::OidcClient;
use crate::config::sources::Sources;
use crate::config::toml_source::{TomlSource, raw};
use crate::config::value::client_secret_digest;

/// The most secrets at a time: one, and the one that it replaces.
const MAX_SECRETS: usize = 2;

/// A client that is being read, and its problems.
pub(super) struct ClientParser<'a> {
    document: &'a TomlSource<'a>,
    sources: &'a Sources<'a>,
    /// The name of the client in problems.
    subject: String,
    pub(super) client: OidcClient,
    /// The file that the secret was read from.
    pub(super) secret_source: Option<PathBuf>,
    /// The file that `secret_file` names.
    pub(super) secret_file: Option<PathBuf>,
    pub(super) problems: Vec<ConfigProblem>,
}

impl<'a> ClientParser<'a> {
    /// A parser of the table at this position.
    pub(super) fn new(
        document: &'a TomlSource<'a>,
        sources: &'a Sources<'a>,
        table: &DeTable<'_>,
        position: usize,
    ) -> Self {
        let id = table.iter().find(|(name, _)| name.get_ref() == "id").map(|(_, value)| value.get_ref());
        let subject = match id {
            Some(DeValue::String(id)) if is_client_id(id) => format!("{CLIENTS}.{id}"),
            _ => format!("{CLIENTS}[{position}]"),
        };
        let client = OidcClient { id: String::new(), registration: ClientRegistration::default(), secrets: Vec::new() };
        Self { document, sources, subject, client, secret_source: None, secret_file: None, problems: Vec::new() }
    }

    /// Reads every key of the table.
    pub(super) fn table(&mut self, table: &DeTable<'_>) {
        for (name, value) in table {
            let (given, origin) = (name.get_ref().to_string(), self.document.origin(name.span()));
            let Some(key) = CLIENT_KEYS.iter().find(|key| key.name == given) else {
                let problem = self.unknown_key(&given).at(&origin);
                self.problems.push(problem);
                continue;
            };
            if let Err(what) = self.set(key, value.get_ref()) {
                let subject = format!("{}.{}", self.subject, key.name);
                let fix = format!("expected {}", key.expected);
                self.problems.push(ConfigProblem::new(subject, what, fix).at(&origin));
            }
        }
    }

    fn unknown_key(&self, given: &str) -> ConfigProblem {
        let near = nearest_word(given, CLIENT_KEYS.iter().map(|key| key.name)).unwrap_or_default();
        let subject = format!("{}.{}", self.subject, given.escape_debug());
        ConfigProblem::new(subject, "there is no such key", format!("the nearest known key is {near}"))
    }

    fn set(&mut self, key: &ClientKey, value: &DeValue<'_>) -> Result<(), String> {
        let (raw, client) = (raw(value), &mut self.client.registration);
        match key.name {
            "id" => self.client.id = client_id(raw.text()?)?,
            "name" => raw.text()?.clone_into(&mut client.name),
            "kind" => client.kind = choice(&raw, ClientKind::from_name)?,
            "secret" => self.read_secret(&raw)?,
            "secret_file" => self.read_secret_file(&raw)?,
            "redirect_uris" => client.redirect_uris = texts(&raw)?,
            "post_logout_redirect_uris" => client.post_logout_redirect_uris = texts(&raw)?,
            "backchannel_logout_uri" => client.backchannel_logout_uri = Some(raw.text()?.to_owned()),
            "origins" => client.origins = texts(&raw)?,
            "scopes" => client.scopes = raw.texts()?.into_iter().map(scope).collect::<Result<_, _>>()?,
            "roles" => client.roles = raw.texts()?.into_iter().map(role).collect::<Result<_, _>>()?,
            "corporations" => {
                client.corporations = raw.texts()?.into_iter().map(corporation).collect::<Result<_, _>>()?;
            }
            "groups" => client.groups = groups(value)?,
            "department_groups" => client.department_groups = raw.boolean()?,
            "role_claims" => client.role_claims = choice(&raw, RoleClaims::from_name)?,
            "algorithm" => client.algorithm = choice(&raw, SigningAlgorithm::from_name)?,
            "pkce" => client.pkce = choice(&raw, PkceRequirement::from_name)?,
            "sso" => client.sso = choice(&raw, SsoMode::from_name)?,
            "id_token_claims" => client.id_token_claims = raw.boolean()?,
            _ => {}
        }
        Ok(())
    }

    fn read_secret(&mut self, raw: &RawSetting) -> Result<(), String> {
        let texts = match raw {
            RawSetting::List(_) => raw.texts()?,
            _ => vec![raw.text()?],
        };
        self.add_secrets(&texts)?;
        self.secret_source = Some(self.document.path.to_owned());
        Ok(())
    }

    fn read_secret_file(&mut self, raw: &RawSetting) -> Result<(), String> {
        let path = raw.text()?;
        if path.is_empty() || path.chars().any(char::is_control) {
            return Err(format!("{} is not a path", quoted(path)));
        }
        let path = PathBuf::from(path);
        let text = (self.sources.read)(&path).map_err(|error| format!("the file cannot be read: {error}"))?;
        self.add_secrets(&text.lines().collect::<Vec<_>>())?;
        (self.secret_source, self.secret_file) = (Some(path.clone()), Some(path));
        Ok(())
    }

    fn add_secrets(&mut self, texts: &[&str]) -> Result<(), String> {
        if !self.client.secrets.is_empty() {
            return Err("the client has both secret and secret_file".to_owned());
        }
        if texts.is_empty() {
            return Err("it is empty".to_owned());
        }
        if texts.len() > MAX_SECRETS {
            return Err(format!("it has more than {MAX_SECRETS} secrets"));
        }
        self.client.secrets =
            texts.iter().map(|text| client_secret_digest(text)).collect::<Result<Vec<Digest>, _>>()?;
        Ok(())
    }

    /// Requires what a client cannot do without, unless it has other problems already.
    pub(super) fn require_complete(&mut self, origin: &Origin) {
        if !self.problems.is_empty() {
            return;
        }
        let OidcClient { id, registration, secrets } = &mut self.client;
        if registration.name.is_empty() {
            registration.name.clone_from(id);
        }
        let (what, fix) = if id.is_empty() {
            ("it has no id", "set id to what is entered in the client")
        } else if registration.has_secret() && secrets.is_empty() {
            (
                "a confidential client needs a secret",
                "set secret_file; or kind = \"public\", if the client authenticates with PKCE alone",
            )
        } else if !registration.has_secret() && !secrets.is_empty() {
            ("only a confidential client has a secret", "remove it, or set kind = \"confidential\"")
        } else {
            return;
        };
        self.problems.push(ConfigProblem::new(self.subject.clone(), what, fix).at(origin));
    }
}

fn client_id(text: &str) -> Result<String, String> {
    if is_client_id(text) { Ok(text.to_owned()) } else { Err(format!("{} is not an id", quoted(text))) }
}

fn texts(raw: &RawSetting) -> Result<Vec<String>, String> {
    Ok(raw.texts()?.into_iter().map(str::to_owned).collect())
}

fn choice<T>(raw: &RawSetting, from_name: impl FnOnce(&str) -> Option<T>) -> Result<T, String> {
    let text = raw.text()?;
    from_name(text).ok_or_else(|| format!("{} is not one of the choices", quoted(text)))
}

fn scope(name: &str) -> Result<OidcScope, String> {
    OidcScope::from_name(name).ok_or_else(|| format!("there is no scope {}", quoted(name)))
}

fn role(name: &str) -> Result<Role, String> {
    Role::from_name(name).ok_or_else(|| format!("there is no role {}", quoted(name)))
}

fn corporation(id: &str) -> Result<String, String> {
    CorpId::parse(id).map(|_| id.to_owned()).map_err(|_| format!("{} is not an id", quoted(id)))
}

fn groups(value: &DeValue<'_>) -> Result<BTreeMap<Role, String>, String> {
    let DeValue::Table(table) = value else { return Err("this is not a table".to_owned()) };
    table.iter().map(|(name, value)| group(name.get_ref(), value.get_ref())).collect()
}

fn group(name: &str, value: &DeValue<'_>) -> Result<(Role, String), String> {
    Ok((role(name)?, raw(value).text()?.to_owned()))
}
