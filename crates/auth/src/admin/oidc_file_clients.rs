//! Clients of OpenID Connect that left the settings file.

use deskpass_core::oidc::ClientRegistration;
use deskpass_store::AuditEvent;

use super::Administrator;
use crate::Error;

impl Administrator<'_> {
    /// Ends what a client got that is no longer in the settings file, or is there with other permissions; returns how much ended.
    pub async fn end_grants_of_file_client(&self, id: &str, former: &ClientRegistration) -> Result<usize, Error> {
        let detail = format!("{}: {id}: changed in the settings file", former.name);
        let entry = self.entry(AuditEvent::OidcEnded, &self.auth.deployment_key(), detail)?;
        let (id, at) = (id.to_owned(), entry.at);
        if !self.auth.store.end_oidc_grants_of_client(id.clone(), former.clone(), at, entry).await? {
            return Ok(0);
        }
        self.auth.end_grants_of_client(&id).await
    }
}
