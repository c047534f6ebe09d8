//! Requests of clients that a session answers without asking the user.

use std::net::IpAddr;

use deskpass_core::oidc::{AuthorizationRequest, OAuthError, OAuthErrorCode};

use super::authorize::AuthorizationStep;
use crate::limit::LimitedWrite;
use crate::{Auth, Error, TokenHolder};

impl Auth {
    /// Answers with a code without asking. Each code is good for a grant and a row of the audit log, so a session gets so many of them.
    pub(super) async fn enter_silently(
        &self,
        request: &AuthorizationRequest,
        holder: &TokenHolder,
        address: IpAddr,
    ) -> Result<AuthorizationStep, Error> {
        if self.limit_write(LimitedWrite::EnterSilently, holder.digest().bytes()).await.is_err() {
            let text = "too many requests of one session in a minute; try again later";
            let error = OAuthError::new(OAuthErrorCode::TemporarilyUnavailable, text);
            let address = self.error_redirect(&request.redirect_uri, request.state.as_deref(), &error);
            return Ok(AuthorizationStep::Refuse { address, error });
        }
        Ok(AuthorizationStep::Redirect(self.issue_code(request, holder.digest(), address).await?))
    }
}
