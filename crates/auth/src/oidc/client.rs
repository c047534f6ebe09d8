//! The clients: registered ones and those of the settings file. How they authenticate, and which users may use them.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use deskpass_core::oidc::{ClientRegistration, RoleClaims};
use deskpass_core::{Digest, Rate, Roles, Timestamp, rate_limit_address};
use deskpass_store::{AccessRules, LimitSubject, OidcClient};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::error::{OidcError, invalid_client};
use crate::{Auth, Error, FileClient, Refusal, TokenHolder};

/// The number of wrong secrets per minute of one client from one address. Others are not affected.
const MAX_WRONG_SECRETS_PER_MINUTE: u32 = 20;

/// A client.
#[derive(Clone, Debug)]
pub struct ResolvedClient {
    /// The identifier.
    pub id: String,
    /// The registration.
    pub registration: Arc<ClientRegistration>,
    /// Whether it may be used.
    pub enabled: bool,
    /// Whether it is in the settings file.
    pub from_file: bool,
    /// The SHA-256 of each secret, and until when it is valid.
    secrets: Vec<(Digest, Option<Timestamp>)>,
}

/// How a client authenticates.
#[derive(Clone)]
pub enum ClientCredentials {
    /// With a secret.
    Secret {
        /// The client's identifier.
        id: String,
        /// The secret.
        secret: String,
        /// How it was sent.
        method: SecretMethod,
    },
    /// Without one: a public client.
    Public {
        /// The client's identifier.
        id: String,
    },
}

/// How a client sent its secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretMethod {
    /// In the `Authorization` header.
    Basic,
    /// In the form.
    Post,
}

impl ClientCredentials {
    /// The client's identifier.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Secret { id, .. } | Self::Public { id } => id,
        }
    }
}

/// Does not print the secret.
impl fmt::Debug for ClientCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCredentials").field("id", &self.id()).finish_non_exhaustive()
    }
}

/// The digest of a client's secret, as it is stored.
#[must_use]
pub fn client_secret_digest(secret: &str) -> Digest {
    Digest::from_bytes(Sha256::digest(secret.as_bytes()).into())
}

/// A client where it is kept. Requests on the hot path look at it there.
#[derive(Clone, Copy, Debug)]
pub(super) enum ClientEntry<'a> {
    File(&'a FileClient),
    Registered(&'a OidcClient),
}

impl<'a> ClientEntry<'a> {
    pub(super) fn registration(self) -> &'a ClientRegistration {
        match self {
            Self::File(client) => &client.registration,
            Self::Registered(client) => &client.registration,
        }
    }

    fn is_enabled(self) -> bool {
        match self {
            Self::File(_) => true,
            Self::Registered(client) => client.disabled_at.is_none(),
        }
    }

    fn resolve(self, id: &str) -> ResolvedClient {
        let secrets = match self {
            Self::File(client) => client.secrets.iter().map(|secret| (*secret, None)).collect(),
            Self::Registered(client) => {
                let old = client.old_secret.map(|(secret, until)| (secret, Some(until)));
                client.secret.map(|secret| (secret, None)).into_iter().chain(old).collect()
            }
        };
        ResolvedClient {
            id: id.to_owned(),
            registration: Arc::new(self.registration().clone()),
            enabled: self.is_enabled(),
            from_file: matches!(self, Self::File(_)),
            secrets,
        }
    }
}

impl ResolvedClient {
    fn accepts(&self, credentials: &ClientCredentials, now: Timestamp) -> bool {
        match credentials {
            // Some programs send an empty secret where they have none.
            ClientCredentials::Secret { secret, .. } if !secret.is_empty() => {
                self.registration.has_secret() && self.is_secret(secret, now)
            }
            ClientCredentials::Secret { .. } | ClientCredentials::Public { .. } => !self.registration.has_secret(),
        }
    }

    fn is_secret(&self, text: &str, now: Timestamp) -> bool {
        let given = client_secret_digest(text);
        let mut valid = self.secrets.iter().filter(|(_, until)| until.is_none_or(|until| now < until));
        valid.any(|(known, _)| known.bytes().as_slice().ct_eq(given.bytes().as_slice()).into())
    }
}

impl Auth {
    /// Whether there is a client, enabled or not. Otherwise the endpoints do not exist.
    pub async fn oidc_is_on(&self) -> Result<bool, Error> {
        let in_file = !self.policy.oidc.clients.is_empty();
        Ok(in_file || self.store.access_rules().await?.oidc_clients().next().is_some())
    }

    /// The client with this identifier.
    pub async fn oidc_client(&self, id: &str) -> Result<Option<ResolvedClient>, Error> {
        let rules = self.store.access_rules().await?;
        Ok(self.client_entry(&rules, id).map(|entry| entry.resolve(id)))
    }

    /// All clients, those of the settings file first.
    pub async fn oidc_client_list(&self) -> Result<Vec<ResolvedClient>, Error> {
        let (rules, in_file) = (self.store.access_rules().await?, &self.policy.oidc.clients);
        let mut list: Vec<_> = in_file.iter().map(|(id, client)| ClientEntry::File(client).resolve(id)).collect();
        list.sort_by(|one, other| one.id.cmp(&other.id));
        let mut registered: Vec<_> = rules
            .oidc_clients()
            .filter(|client| !in_file.contains_key(&client.id))
            .map(|client| ClientEntry::Registered(client).resolve(&client.id))
            .collect();
        registered.sort_by(|one, other| one.id.cmp(&other.id));
        list.append(&mut registered);
        Ok(list)
    }

    /// The entry of a client. The settings file wins.
    pub(super) fn client_entry<'a>(&'a self, rules: &'a AccessRules, id: &str) -> Option<ClientEntry<'a>> {
        let in_file = self.policy.oidc.clients.get(id).map(ClientEntry::File);
        in_file.or_else(|| rules.oidc_client(id).map(|client| ClientEntry::Registered(client)))
    }

    /// Authenticates a client, before anything else of its request is looked at.
    pub async fn authenticate_client(
        &self,
        credentials: ClientCredentials,
        address: IpAddr,
    ) -> Result<ResolvedClient, OidcError> {
        let client = self.oidc_client(credentials.id()).await?;
        let is_known = client.is_some();
        match client.filter(|client| client.accepts(&credentials, self.clock.now())) {
            Some(client) if client.enabled => return Ok(client),
            Some(_) => return Err(invalid_client("the client is disabled")),
            None => {}
        }
        self.limit_wrong_secrets(credentials.id(), address).await?;
        if is_known {
            // The identifier of an unknown client may be any text from the wrong field, even a secret.
            tracing::info!(client = credentials.id(), %address, "authentication of an OpenID Connect client failed");
        }
        Err(invalid_client(
            "the client is unknown, its secret is wrong, or it authenticated in a way that is not its own",
        ))
    }

    async fn limit_wrong_secrets(&self, id: &str, address: IpAddr) -> Result<(), OidcError> {
        let Some(rate) = Rate::new(MAX_WRONG_SECRETS_PER_MINUTE, Duration::from_mins(1)) else { return Ok(()) };
        let from = rate_limit_address(address).to_string();
        let key = Digest::of(&[b"oidc client secret", id.as_bytes(), from.as_bytes()]);
        let admitted = self.shared.limits.admit(LimitSubject::Client, &key, rate, self.clock.now()).await;
        admitted.map_err(OidcError::Limited)
    }

    /// The roles that a client is told of a user who came from `address`. Refused if the user may not use the client from there.
    pub(super) fn admit_to_client(
        &self,
        rules: &AccessRules,
        client_id: &str,
        holder: &TokenHolder,
        address: IpAddr,
    ) -> Result<Roles, Refusal> {
        let not_allowed = || Refusal::ClientNotAllowed(client_id.to_owned());
        let entry = self.client_entry(rules, client_id).filter(|entry| entry.is_enabled()).ok_or_else(not_allowed)?;
        let (client, active) = (entry.registration(), holder.session().current_role);
        if !client.serves(holder.session().employee.corp(), self.policy.home_corp.as_str()) {
            return Err(not_allowed());
        }
        if !holder.roles.holds(active) {
            return Err(Refusal::RoleTakenAway(active));
        }
        if !rules.lists.allow(active, address) {
            return Err(Refusal::AddressNotAllowed(active));
        }
        let available = rules.lists.permitted(holder.roles, address);
        if !client.admits(available) {
            return Err(not_allowed());
        }
        Ok(match client.role_claims {
            RoleClaims::Available => available,
            RoleClaims::Active => Roles::NONE.with(active),
        })
    }
}
