//! The userinfo endpoint: what a client may know about the user of an access token. Programs call it often, so the rendered answer is
//! kept with the token, and used again while everything that it was made from is the same.

use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use deskpass_core::oidc::ClientRegistration;
use deskpass_core::{OidcAccess, Roles, Secret};
use deskpass_store::{AccessTokenRecord, CachedPerson, GrantRecord};
use serde_json::Value;

use super::claims::UserClaims;
use super::client::SharedClient;
use super::error::{OidcError, invalid_token};
use super::grant::LiveGrant;
use crate::{Auth, Error};

/// The place of the answer in the cached record of an access token.
#[derive(Debug, Default)]
struct AnswerSlot(RwLock<Option<KeptAnswer>>);

/// An answer, and what it was made from. The session and the grant of a token never change.
#[derive(Debug)]
struct KeptAnswer {
    person: Arc<CachedPerson>,
    roles: Roles,
    client: SharedClient,
    email_domain: Option<String>,
    /// The state of all people: with `email_domain`, the address also depends on those of other employees, and the name of a department
    /// on theirs.
    people_epoch: u64,
    text: Bytes,
}

impl KeptAnswer {
    fn is_current(
        &self,
        live: &LiveGrant,
        (id, client): (&str, &ClientRegistration),
        email_domain: Option<&str>,
        people_epoch: u64,
    ) -> bool {
        let person = live.holder.shared_person();
        self.person == *person
            && self.roles == live.admission.told
            && self.client.had(id, client)
            && self.email_domain.as_deref() == email_domain
            && (email_domain.is_none() && !client.department_groups || self.people_epoch == people_epoch)
    }
}

impl AnswerSlot {
    fn get(&self, is_current: impl FnOnce(&KeptAnswer) -> bool) -> Option<Bytes> {
        // Every change replaces the whole answer, so a poisoned lock is harmless.
        let kept = self.0.read().unwrap_or_else(PoisonError::into_inner);
        kept.as_ref().filter(|kept| is_current(kept)).map(|kept| kept.text.clone())
    }

    fn set(&self, answer: KeptAnswer) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(answer);
    }
}

impl Auth {
    /// The claims of an access token's user, as JSON. Does no I/O while everything is cached.
    pub async fn userinfo(&self, token: &str) -> Result<Bytes, OidcError> {
        let record = self.access_token(token).await?.ok_or_else(invalid_token)?;
        let live = self.live_grant(&record.grant).await?.ok_or_else(invalid_token)?;
        let id = record.grant.client_id.as_str();
        let entry = self.client_entry(&live.rules, id).ok_or_else(invalid_token)?;
        let (client, email_domain) = (entry.registration(), self.policy.oidc.email_domain.as_deref());
        if !self.record_told_roles(&record.grant, live.admission.relied_on).await? {
            return Err(invalid_token());
        }
        let slot = record.derived(|_| AnswerSlot::default());
        // Read before the addresses: an answer that was made during a change is not used again.
        let epoch = self.store.people_epoch();
        let kept = slot.and_then(|slot| slot.get(|answer| answer.is_current(&live, (id, client), email_domain, epoch)));
        if let Some(text) = kept {
            return Ok(text);
        }
        let text = self.render_userinfo(&record.grant, &live, client).await?;
        if let Some(slot) = slot {
            slot.set(KeptAnswer {
                person: Arc::clone(live.holder.shared_person()),
                roles: live.admission.told,
                client: self.shared_client(entry),
                email_domain: email_domain.map(str::to_owned),
                people_epoch: epoch,
                text: text.clone(),
            });
        }
        Ok(text)
    }

    /// Records roles that the user got after the client was last told: when one of them is revoked, the client's grant ends. `false` if
    /// it has ended.
    async fn record_told_roles(&self, grant: &GrantRecord, roles: Roles) -> Result<bool, Error> {
        if roles.iter().all(|role| grant.roles.holds(role)) {
            return Ok(true);
        }
        Ok(self.store.set_told_roles(grant.id.clone(), roles.iter().fold(grant.roles, Roles::with)).await?)
    }

    /// The record of an access token that has not expired.
    pub(super) async fn access_token(&self, token: &str) -> Result<Option<Arc<AccessTokenRecord>>, Error> {
        let Ok(token) = Secret::<OidcAccess>::parse(token) else { return Ok(None) };
        let digest = token.digest();
        let Some(record) = self.store.oidc_access(&digest).await? else { return Ok(None) };
        if self.clock.now_for(record.grant.created_at) < record.expires_at {
            return Ok(Some(record));
        }
        // It makes room in the cache for one that is valid.
        self.store.forget_oidc_access(&digest);
        Ok(None)
    }

    async fn render_userinfo(
        &self,
        grant: &GrantRecord,
        live: &LiveGrant,
        client: &ClientRegistration,
    ) -> Result<Bytes, Error> {
        let person = &live.holder.person().to_person();
        let email = self.email_of(person).await?;
        let claims = UserClaims {
            subject: &grant.subject,
            person,
            email: email.as_deref(),
            tells_department_name: self.tells_department_name(person, client).await?,
            roles: live.admission.told,
            scopes: grant.scopes.intersection(client.scopes),
            client,
            home_corp: self.policy.home_corp.as_str(),
        };
        Ok(Value::Object(claims.to_map()).to_string().into())
    }
}
