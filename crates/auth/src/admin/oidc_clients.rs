//! The OpenID Connect clients: programs that sign their users in here.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use deskpass_core::oidc::ClientRegistration;
use deskpass_core::{ClientSecret, EmployeeKey, NoEntropy, Secret, Timestamp};
use deskpass_store::{AuditEvent, LogEntry, LogoutBacklog, OidcClient};
use serde_json::{Map, Value};

use super::Administrator;
use crate::oidc::shown_status;
use crate::{Error, FileClient, Refusal};

/// How long the secret that was replaced stays valid, so that the client can be changed without a gap.
const OLD_SECRET_LIFETIME: Duration = Duration::from_hours(7 * 24);
/// The longest part of an identifier that comes from the name.
const MAX_NAME_PART: usize = 24;

/// What administrators may read of logouts that were not delivered.
fn shown(backlog: LogoutBacklog) -> LogoutBacklog {
    LogoutBacklog { last_status: shown_status(&backlog.last_status), ..backlog }
}

/// A client, as administrators see it.
#[derive(Clone, Debug)]
pub struct ListedOidcClient {
    /// The identifier.
    pub id: String,
    /// What it is registered with.
    pub registration: Arc<ClientRegistration>,
    /// Whether its users can sign in.
    pub enabled: bool,
    /// Whether it is in the settings file, which alone can change it.
    pub from_file: bool,
    /// When it was registered; not known of a client in the settings file.
    pub created_at: Option<Timestamp>,
    /// The administrator who registered it; `None` if an operator did.
    pub created_by: Option<EmployeeKey>,
    /// Until when the secret that was replaced is valid.
    pub old_secret_until: Option<Timestamp>,
    /// The logouts that it has not accepted yet; `None` if there are none.
    pub logouts: Option<LogoutBacklog>,
}

/// A new client.
#[derive(Debug)]
pub struct NewOidcClient {
    /// The client.
    pub client: ListedOidcClient,
    /// Its secret, shown once; `None` for a public client.
    pub secret: Option<Secret<ClientSecret>>,
}

impl ListedOidcClient {
    fn from_file(id: &str, client: &FileClient) -> Self {
        Self {
            id: id.to_owned(),
            registration: Arc::new(client.registration.clone()),
            enabled: true,
            from_file: true,
            created_at: None,
            created_by: None,
            old_secret_until: None,
            logouts: None,
        }
    }

    fn registered(client: &OidcClient, now: Timestamp) -> Self {
        Self {
            id: client.id.clone(),
            registration: Arc::new(client.registration.clone()),
            enabled: client.disabled_at.is_none(),
            from_file: false,
            created_at: Some(client.created_at),
            created_by: client.created_by.clone(),
            old_secret_until: client.old_secret.as_ref().map(|(_, until)| *until).filter(|until| now < *until),
            logouts: None,
        }
    }
}

impl Administrator<'_> {
    /// All clients: those of the settings file first, then the others, in the order in which they were registered.
    pub async fn oidc_clients(&self) -> Result<Vec<ListedOidcClient>, Error> {
        self.require_home_admin().await?;
        let (rules, now) = (self.auth.store.access_rules().await?, self.auth.clock.now());
        let in_file = &self.auth.policy.oidc.clients;
        let mut clients: Vec<_> = in_file.iter().map(|(id, client)| ListedOidcClient::from_file(id, client)).collect();
        let registered = rules.oidc_clients().filter(|client| !in_file.contains_key(&client.id));
        clients.extend(registered.map(|client| ListedOidcClient::registered(client, now)));
        clients.sort_by(|a, b| (!a.from_file, a.created_at, &a.id).cmp(&(!b.from_file, b.created_at, &b.id)));
        let backlogs = self.auth.store.pending_logouts().await?;
        let mut backlogs: HashMap<_, _> =
            backlogs.into_iter().map(|backlog| (backlog.client_id.clone(), shown(backlog))).collect();
        for client in &mut clients {
            client.logouts = backlogs.remove(&client.id);
        }
        Ok(clients)
    }

    /// One client.
    pub async fn oidc_client(&self, id: &str) -> Result<ListedOidcClient, Error> {
        let clients = self.oidc_clients().await?;
        Ok(clients.into_iter().find(|client| client.id == id).ok_or(Refusal::NoSuchOidcClient)?)
    }

    /// Requires a client that can be changed: one that exists, and is not in the settings file.
    pub async fn require_oidc_client(&self, id: &str) -> Result<(), Error> {
        self.changeable_client(id).await.map(drop)
    }

    /// Registers a client.
    pub async fn add_oidc_client(&self, registration: ClientRegistration) -> Result<NewOidcClient, Error> {
        self.require_home_admin().await?;
        self.check_registration(&registration)?;
        let id = self.new_client_id(&registration.name)?;
        let secret = if registration.has_secret() { Some(Secret::generate(&self.auth.entropy)?) } else { None };
        let entry = self.client_entry(AuditEvent::OidcClientAdded, &id, &registration.name)?;
        let client = OidcClient {
            id,
            registration,
            secret: secret.as_ref().map(Secret::<ClientSecret>::digest),
            old_secret: None,
            created_at: entry.at,
            created_by: self.who.clone(),
            disabled_at: None,
        };
        let listed = ListedOidcClient::registered(&client, entry.at);
        if !self.commit(self.auth.store.add_oidc_client(self.author(), client, entry)).await? {
            return Err(Refusal::Exists.into());
        }
        self.prepare_keys().await;
        Ok(NewOidcClient { client: listed, secret })
    }

    /// Replaces the registration of a client. Sign-ins that the new one does not permit end.
    pub async fn change_oidc_client(&self, id: &str, registration: ClientRegistration) -> Result<(), Error> {
        let before = self.changeable_client(id).await?;
        self.check_registration(&registration)?;
        let changed = changed_fields(&before.registration, &registration);
        if changed.is_empty() {
            return Ok(());
        }
        let entry = self.client_entry(AuditEvent::OidcClientChanged, id, &changed.join(", "))?;
        let store = &self.auth.store;
        let changed = self.commit(store.change_oidc_client(self.author(), id.to_owned(), registration, entry)).await?;
        require_found(changed)?;
        self.prepare_keys().await;
        self.end_grants(id).await;
        Ok(())
    }

    /// Gives a client another secret. The one that it has stays valid for a week, or with `now` not at all.
    pub async fn rotate_oidc_secret(&self, id: &str, now: bool) -> Result<Secret<ClientSecret>, Error> {
        let client = self.changeable_client(id).await?;
        if !client.registration.has_secret() {
            return Err(Refusal::OidcClientWithoutSecret.into());
        }
        let secret = Secret::<ClientSecret>::generate(&self.auth.entropy)?;
        let validity = if now { "the old one is not valid any more" } else { "the old one is valid for 7 days" };
        let entry = self.client_entry(AuditEvent::OidcSecretRotated, id, validity)?;
        let old_until = if now { entry.at } else { entry.at + OLD_SECRET_LIFETIME };
        let store = &self.auth.store;
        let change = store.set_oidc_secret(self.author(), id.to_owned(), secret.digest(), old_until, entry);
        require_found(self.commit(change).await?)?;
        Ok(secret)
    }

    /// Enables or disables a client. Disabling it ends what it got.
    pub async fn set_oidc_client_enabled(&self, id: &str, enabled: bool) -> Result<(), Error> {
        let client = self.changeable_client(id).await?;
        let event = if enabled { AuditEvent::OidcClientEnabled } else { AuditEvent::OidcClientDisabled };
        let entry = self.client_entry(event, id, &client.registration.name)?;
        let store = &self.auth.store;
        let change = store.set_oidc_client_enabled(self.author(), id.to_owned(), enabled, entry.at, entry);
        require_found(self.commit(change).await?)?;
        self.end_grants(id).await;
        Ok(())
    }

    /// Removes a client, and ends what it got.
    pub async fn remove_oidc_client(&self, id: &str) -> Result<(), Error> {
        let client = self.changeable_client(id).await?;
        let entry = self.client_entry(AuditEvent::OidcClientRemoved, id, &client.registration.name)?;
        let change = self.auth.store.remove_oidc_client(self.author(), id.to_owned(), entry.at, entry);
        require_found(self.commit(change).await?)?;
        self.end_grants(id).await;
        Ok(())
    }

    /// Replaces the keys that sign ID tokens, as [`crate::Auth::rotate_signing_keys`].
    pub async fn rotate_signing_keys(&self, now: bool) -> Result<Vec<String>, Error> {
        self.require_home_admin().await?;
        self.auth.rotate_signing_keys(now).await
    }

    /// The row of a client that is not in the settings file.
    async fn changeable_client(&self, id: &str) -> Result<Arc<OidcClient>, Error> {
        self.require_home_admin().await?;
        if self.auth.policy.oidc.clients.contains_key(id) {
            return Err(Refusal::OidcClientFromFile.into());
        }
        let rules = self.auth.store.access_rules().await?;
        Ok(rules.oidc_client(id).cloned().ok_or(Refusal::NoSuchOidcClient)?)
    }

    fn check_registration(&self, registration: &ClientRegistration) -> Result<(), Refusal> {
        registration.check(self.auth.policy.oidc.production).map_err(Refusal::InvalidOidcClient)
    }

    fn client_entry(&self, event: AuditEvent, id: &str, detail: &str) -> Result<LogEntry, NoEntropy> {
        self.entry(event, &self.auth.deployment_key(), format!("client {id}: {detail}"))
    }

    /// Makes the key that a new client needs, so that its first sign-in does not wait for it.
    async fn prepare_keys(&self) {
        if let Err(error) = self.auth.ensure_signing_keys().await {
            tracing::warn!(%error, "no signing key was made: it is made when it is needed");
        }
    }

    /// Ends what a client got, if the change demands that. The change is made, and no token of the client is valid beyond it; so a failure
    /// here is not one of the change.
    async fn end_grants(&self, id: &str) {
        if let Err(error) = self.auth.end_grants_of_client(id).await {
            tracing::warn!(client = id, %error, "what an OpenID Connect client got ends later");
        }
    }

    /// An identifier that says which client it is. Its end is random, since it is never used again.
    fn new_client_id(&self, name: &str) -> Result<String, NoEntropy> {
        let random = u64::from_be_bytes(self.auth.entropy.bytes()?);
        Ok(format!("{}-{:010x}", name_part(name), random >> 24))
    }
}

/// What an identifier takes over from the name: its letters and digits, in lower case.
fn name_part(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let part: String = words.collect::<Vec<_>>().join("-").to_ascii_lowercase().chars().take(MAX_NAME_PART).collect();
    let part = part.trim_end_matches('-');
    if part.is_empty() { "client".to_owned() } else { part.to_owned() }
}

/// The names of the fields that differ.
fn changed_fields(before: &ClientRegistration, after: &ClientRegistration) -> Vec<String> {
    let fields = |registration: &ClientRegistration| match serde_json::to_value(registration) {
        Ok(Value::Object(fields)) => fields,
        // A registration is always an object.
        _ => Map::new(),
    };
    let (before, after) = (fields(before), fields(after));
    after.into_iter().filter(|(name, value)| before.get(name) != Some(value)).map(|(name, _)| name).collect()
}

fn require_found(found: bool) -> Result<(), Error> {
    if found { Ok(()) } else { Err(Refusal::NoSuchOidcClient.into()) }
}

#[cfg(test)]
mod tests {
    use deskpass_core::oidc::{SsoMode, is_client_id};

    use super::*;

    #[test]
    fn an_identifier_begins_with_the_name_and_needs_no_encoding() {
        for (name, part) in [
            ("Zammad", "zammad"),
            ("IT Help Desk (new)", "it-help-desk-new"),
            ("工单系统", "client"),
            ("a name that is much longer than needed", "a-name-that-is-much-long"),
        ] {
            assert_eq!(name_part(name), part);
            assert!(is_client_id(&format!("{part}-0123456789")));
        }
    }

    #[test]
    fn the_log_names_the_fields_that_changed() {
        let before = ClientRegistration { name: "a".to_owned(), ..ClientRegistration::default() };
        let after = ClientRegistration { name: "b".to_owned(), sso: SsoMode::Off, ..before.clone() };
        assert_eq!(changed_fields(&before, &after), ["name", "sso"]);
        assert!(changed_fields(&before, &before).is_empty());
    }
}
