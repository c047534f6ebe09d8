//! The clients: registered ones and those of the settings file. How they authenticate, and which users may use them.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use deskpass_core::oidc::{ClientRegistration, RoleClaims};
use deskpass_core::{Digest, Rate, Role, Roles, Timestamp, rate_limit_address};
use deskpass_store::{AccessRules, GrantClient, LimitSubject, OidcClient};
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

/// The roles for which a user may use a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Admission {
    /// The roles that the client is told.
    pub(super) told: Roles,
    /// These, and the roles that admit the user: when one of them is revoked, what the client got ends.
    pub(super) relied_on: Roles,
}

impl Admission {
    fn new(client: &ClientRegistration, available: Roles, active: Role) -> Self {
        let told = match client.role_claims {
            RoleClaims::Available => available,
            RoleClaims::Active => Roles::NONE.with(active),
        };
        let admitting = client.roles.iter().filter(|role| available.holds(*role));
        Self { told, relied_on: admitting.fold(told, Roles::with) }
    }
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
    Registered(&'a Arc<OidcClient>),
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

/// A client that is shared with where it is kept: many answers are made with the same registration.
#[derive(Clone, Debug)]
pub(super) enum SharedClient {
    File(Arc<HashMap<String, FileClient>>),
    Registered(Arc<OidcClient>),
}

impl SharedClient {
    /// Whether the client with this identifier had this registration.
    pub(super) fn had(&self, id: &str, registration: &ClientRegistration) -> bool {
        let own = match self {
            Self::File(clients) => clients.get(id).map(|client| &client.registration),
            Self::Registered(client) => Some(&client.registration),
        };
        own.is_some_and(|own| std::ptr::eq(own, registration) || own == registration)
    }
}

impl ResolvedClient {
    /// The client of a new grant, as it was when the grant was checked.
    pub(super) fn to_grant_client(&self) -> GrantClient {
        if self.from_file {
            GrantClient::FromFile(self.id.clone())
        } else {
            GrantClient::Registered(self.id.clone(), Box::new((*self.registration).clone()))
        }
    }

    fn accepts(&self, credentials: &ClientCredentials, now: Timestamp) -> bool {
        match credentials {
            // Some programs send an empty secret where they have none.
            ClientCredentials::Secret { secret, .. } if !secret.is_empty() => {
                self.registration.has_secret() && self.is_secret(secret, now)
            }
            ClientCredentials::Secret { .. } | ClientCredentials::Public { .. } => !self.registration.has_secret(),
        }
    }

    /// Whether a browser may be sent to this address after a sign-out.
    pub(super) fn returns_to(&self, address: &str) -> bool {
        self.registration.post_logout_redirect_uris.iter().any(|known| known == address)
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
        in_file.or_else(|| rules.oidc_client(id).map(ClientEntry::Registered))
    }

    /// The client of an entry, to be kept.
    pub(super) fn shared_client(&self, entry: ClientEntry<'_>) -> SharedClient {
        match entry {
            ClientEntry::File(_) => SharedClient::File(Arc::clone(&self.policy.oidc.clients)),
            ClientEntry::Registered(client) => SharedClient::Registered(Arc::clone(client)),
        }
    }

    /// Authenticates a client, before anything else of its request is looked at.
    pub async fn authenticate_client(
        &self,
        credentials: ClientCredentials,
        address: IpAddr,
    ) -> Result<ResolvedClient, OidcError> {
        let client = self.oidc_client(credentials.id()).await?;
        match client.filter(|client| client.accepts(&credentials, self.clock.now())) {
            Some(client) if client.enabled => return Ok(client),
            Some(_) => return Err(invalid_client("the client is disabled")),
            None => {}
        }
        self.limit_wrong_secrets(credentials.id(), address).await?;
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

    /// The roles for which a user who came from `address` may use a client. Refused if the user may not use it from there, or seems to be
    /// another person than the one whom clients know by the subject.
    pub(super) fn admit_to_client(
        &self,
        rules: &AccessRules,
        client_id: &str,
        holder: &TokenHolder,
        address: IpAddr,
    ) -> Result<Admission, Refusal> {
        let not_allowed = || Refusal::ClientNotAllowed(client_id.to_owned());
        let entry = self.client_entry(rules, client_id).filter(|entry| entry.is_enabled()).ok_or_else(not_allowed)?;
        let (client, active) = (entry.registration(), holder.session().current_role);
        if !client.serves(holder.session().employee.corp(), self.policy.home_corp.as_str()) {
            return Err(not_allowed());
        }
        if holder.person().unconfirmed {
            return Err(Refusal::HolderUnconfirmed);
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
        Ok(Admission::new(client, available, active))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_is_told_one_role_relies_on_those_that_admit_the_user_as_well() {
        let held = Roles::NONE.with(Role::User).with(Role::Agent).with(Role::Security);
        let required = Roles::NONE.with(Role::Agent).with(Role::Supervisor);
        let client = ClientRegistration { roles: required, role_claims: RoleClaims::Active, ..Default::default() };
        let admission = Admission::new(&client, held, Role::User);
        assert_eq!(admission.told, Roles::NONE.with(Role::User));
        assert_eq!(admission.relied_on, Roles::NONE.with(Role::User).with(Role::Agent));
        let all = ClientRegistration { role_claims: RoleClaims::Available, ..client };
        assert_eq!(Admission::new(&all, held, Role::User), Admission { told: held, relied_on: held });
    }
}
