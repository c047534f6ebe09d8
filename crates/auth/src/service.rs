//! Other services, known by their keys.

use deskpass_core::{Secret, ServiceKey as ServiceKeyKind, ServiceScope};
use deskpass_store::ServiceKey;

use crate::{Auth, Error, Refusal, TokenError};

impl Auth {
    /// Makes sure that there is a service key with this id, whether or not it counts.
    ///
    /// # Errors
    /// When there is none, or the store fails.
    pub async fn require_service_key(&self, id: &str) -> Result<(), Error> {
        let known = self.store.service_key(id.to_owned()).await?;
        if known.is_some() { Ok(()) } else { Err(Refusal::NoSuchKey.into()) }
    }

    /// The service that shows this key, if it is good for that.
    ///
    /// # Errors
    /// A refusal that says what is wrong with the key, or a failure of the store.
    pub async fn authenticate_service(&self, key: &str, scope: ServiceScope) -> Result<ServiceKey, Error> {
        let problem = |problem| Error::Refused(Refusal::Token(problem));
        let key = Secret::<ServiceKeyKind>::parse(key).map_err(|_| problem(TokenError::Malformed))?;
        let book = self.store.access_rules().await?;
        let known = book.service_key(&key.digest()).ok_or_else(|| problem(TokenError::Unknown))?;
        if !known.is_active(self.clock.now_for(known.created_at)) {
            return Err(problem(TokenError::Expired));
        }
        if known.scopes.contains(scope) { Ok(known.clone()) } else { Err(Refusal::ScopeNeeded(scope).into()) }
    }
}
