//! What other services identify themselves with.

use std::time::Duration;

use deskpass_core::{KeyName, Secret, ServiceKey as Kind, ServiceScope, ServiceScopes};
use deskpass_store::{Event, ServiceKey};

use super::Administrator;
use crate::{Auth, Error, Refusal, TokenProblem};

/// A service key that was made.
#[derive(Debug)]
pub struct NewServiceKey {
    /// The value: told once.
    pub value: Secret<Kind>,
    /// What is kept of it.
    pub kept: ServiceKey,
}

impl Administrator<'_> {
    /// The service keys, those that count no more included, the newest first.
    ///
    /// # Errors
    /// When they are none of theirs to see, or the store fails.
    pub async fn service_keys(&self) -> Result<Vec<ServiceKey>, Error> {
        self.at_home().await?;
        Ok(self.auth.store.service_keys().await?)
    }

    /// Makes a service key.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn create_service_key(
        &self,
        name: &KeyName,
        scopes: ServiceScopes,
        lifetime: Duration,
    ) -> Result<NewServiceKey, Error> {
        self.at_home().await?;
        let entry = self.entry(Event::ServiceKeyCreated, &self.desk(), format!("{}: {scopes}", name.as_str()))?;
        let value = Secret::<Kind>::generate(&self.auth.entropy)?;
        let kept = ServiceKey {
            id: self.auth.record_id(entry.at)?,
            name: name.as_str().to_owned(),
            scopes,
            created_at: entry.at,
            created_by: self.who.clone(),
            expires_at: entry.at + lifetime,
            revoked_at: None,
        };
        self.changed(self.auth.store.add_service_key(self.by(), value.digest(), kept.clone(), entry).await).await?;
        Ok(NewServiceKey { value, kept })
    }

    /// Has a service key count no more; `false` when it did not count any more.
    ///
    /// # Errors
    /// When there is none, or the store fails.
    pub async fn revoke_service_key(&self, id: String) -> Result<bool, Error> {
        self.at_home().await?;
        let known = self.auth.store.service_key(id.clone()).await?.ok_or(Refusal::NoSuchKey)?;
        let entry = self.entry(Event::ServiceKeyRevoked, &self.desk(), format!("{}: {id}", known.name))?;
        let at = entry.at;
        Ok(self
            .changed(self.auth.store.revoke_service_key(self.by(), id, at, entry).await)
            .await?
            .ok_or(Refusal::NoSuchKey)?)
    }
}

impl Auth {
    /// Makes sure that there is a service key with this id, whether or not it counts.
    ///
    /// # Errors
    /// When there is none, or the store fails.
    pub async fn expect_service_key(&self, id: &str) -> Result<(), Error> {
        let known = self.store.service_key(id.to_owned()).await?;
        if known.is_some() { Ok(()) } else { Err(Refusal::NoSuchKey.into()) }
    }

    /// The service that shows this key, if it is good for that.
    ///
    /// # Errors
    /// A refusal that says what is wrong with the key, or a failure of the store.
    pub async fn service(&self, key: &str, scope: ServiceScope) -> Result<ServiceKey, Error> {
        let problem = |problem| Error::Refused(Refusal::Token(problem));
        let key = Secret::<Kind>::parse(key).map_err(|_| problem(TokenProblem::Malformed))?;
        let book = self.store.rulebook().await?;
        let known = book.service_key(&key.digest()).ok_or_else(|| problem(TokenProblem::Unknown))?;
        if !known.counts(self.clock.now_for(known.created_at)) {
            return Err(problem(TokenProblem::Expired));
        }
        if known.scopes.hold(scope) { Ok(known.clone()) } else { Err(Refusal::ScopeNeeded(scope).into()) }
    }
}
