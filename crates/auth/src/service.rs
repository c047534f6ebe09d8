//! Authentication of other services, by service key.

use deskpass_core::{Secret, ServiceKey as ServiceKeyKind, ServiceScope};
use deskpass_store::ServiceKey;

use crate::{Auth, Error, Refusal, TokenError};

impl Auth {
    /// Requires that the service key exists, active or not.
    pub async fn require_service_key(&self, id: &str) -> Result<(), Error> {
        let known = self.store.service_key(id.to_owned()).await?;
        if known.is_some() { Ok(()) } else { Err(Refusal::NoSuchKey.into()) }
    }

    /// Authenticates a service by its key, and requires a scope. A refusal names the problem with the key.
    pub async fn authenticate_service(&self, key: &str, scope: ServiceScope) -> Result<ServiceKey, Error> {
        let problem = |problem| Error::Refused(Refusal::Token(problem));
        let key = Secret::<ServiceKeyKind>::parse(key).map_err(|_| problem(TokenError::Malformed))?;
        let rules = self.store.access_rules().await?;
        let known = rules.service_key(&key.digest()).ok_or_else(|| problem(TokenError::Unknown))?;
        if !known.is_active(self.clock.now_for(known.created_at)) {
            return Err(problem(TokenError::Expired));
        }
        if known.scopes.contains(scope) { Ok(known.clone()) } else { Err(Refusal::ScopeNeeded(scope).into()) }
    }
}
