//! Revocation (RFC 7009): a client ends a grant of its own with one of its tokens.

use deskpass_core::{ClientInfo, OidcAccess, RefreshToken, Secret};
use deskpass_store::{AuditEvent, GrantRecord, LogEntry};

use super::client::ResolvedClient;
use super::error::OidcError;
use crate::{Auth, Error};

impl Auth {
    /// Ends the grant of a token; `false` if there is nothing to end. A token that is unknown or of another client is left alone, and
    /// the client gets the same answer.
    pub async fn revoke_token(&self, client: &ResolvedClient, token: &str) -> Result<bool, OidcError> {
        let Some(grant) = self.grant_of_token(token).await? else { return Ok(false) };
        if grant.client_id != client.id || !self.is_current(&grant) {
            return Ok(false);
        }
        // The request came from the program's server, whose address says nothing about the user.
        let (now, visitor) = (self.clock.now(), ClientInfo::service());
        let plain = self.plain_entry(AuditEvent::OidcEnded, &grant.employee, now, &visitor)?;
        let entry = LogEntry { detail: format!("client {}, revoked by the client", client.id), ..plain };
        // The client knows, so it is not told.
        Ok(self.store.end_grant(grant.id, now, false, Some(entry)).await?)
    }

    async fn grant_of_token(&self, token: &str) -> Result<Option<GrantRecord>, Error> {
        if let Ok(token) = Secret::<OidcAccess>::parse(token) {
            return Ok(self.store.oidc_access(&token.digest()).await?.map(|record| record.grant.clone()));
        }
        let Ok(token) = Secret::<RefreshToken>::parse(token) else { return Ok(None) };
        Ok(self.store.grant_of_refresh(token.digest()).await?)
    }
}
