//! What the page shows about a request that waits for the user.

use std::time::Duration;

use deskpass_core::oidc::{OidcScopes, PendingLogout};
use deskpass_core::{PersonPreview, Timestamp};

use super::pending::{RequestOrigin, request_id};
use crate::{Auth, Error, Refusal, TokenHolder};

/// What the page shows.
#[derive(Clone, Debug)]
pub struct AuthorizationPrompt {
    /// The client's identifier.
    pub client_id: String,
    /// The client's name.
    pub client: String,
    /// The host that the browser is sent to.
    pub host: String,
    /// The granted scopes.
    pub scopes: OidcScopes,
    /// What the user must do.
    pub needs: Needs,
    /// The user who is signed in, if pressing the button is enough.
    pub user: Option<PersonPreview>,
    /// The employee who is expected to sign in, as the client writes it.
    pub login_hint: Option<String>,
    /// How long the request still waits.
    pub expires_in: Duration,
}

/// What the user must do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Sign in.
    SignIn,
    /// Press the button to continue.
    Press,
    /// Confirm the sign-out.
    SignOut,
}

impl Needs {
    /// All values.
    pub const ALL: [Self; 3] = [Self::SignIn, Self::Press, Self::SignOut];

    /// The names of all values.
    pub const NAMES: [&'static str; 3] = ["sign_in", "press", "sign_out"];

    /// The name, as the page sees it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SignIn => "sign_in",
            Self::Press => "press",
            Self::SignOut => "sign_out",
        }
    }
}

impl Auth {
    /// What the page shows about a request for a sign-in or a sign-out. Changes nothing.
    pub async fn authorization_prompt(
        &self,
        request: &str,
        caller: &RequestOrigin,
    ) -> Result<AuthorizationPrompt, Error> {
        let (id, now) = (request_id(request)?, self.clock.now());
        if let Some(leaving) = self.shared.oidc_logouts.read_with(&id, now, PendingLogout::clone).await? {
            return self.sign_out_prompt(leaving, caller, now).await;
        }
        let (_, pending, client) = self.pending_authorization(request, caller).await?;
        let known = match pending.session.filter(|_| caller.is_own_page(&pending)) {
            Some(session) => self.valid_holder(session, None).await?,
            None => None,
        };
        let user = known.as_ref().map(preview);
        Ok(AuthorizationPrompt {
            client: client.registration.name.clone(),
            client_id: client.id,
            host: host_of(&pending.request.redirect_uri).to_owned(),
            scopes: pending.request.scopes.intersection(client.registration.scopes),
            needs: if user.is_some() { Needs::Press } else { Needs::SignIn },
            user,
            login_hint: pending.request.login_hint,
            expires_in: pending.until.since(now),
        })
    }

    /// Names the user of the browser's session, which ends, or else of the one that the client means.
    async fn sign_out_prompt(
        &self,
        leaving: PendingLogout,
        caller: &RequestOrigin,
        now: Timestamp,
    ) -> Result<AuthorizationPrompt, Error> {
        let own = leaving.session.filter(|_| caller.may_use(leaving.browser)).ok_or(Refusal::OidcRequestGone)?;
        let client = match &leaving.client_id {
            Some(id) => self.oidc_client(id).await?,
            None => None,
        };
        let user = match self.untouched_holder(own).await? {
            Some(own) => Some(own),
            None => self.meant_holder(leaving.sid.as_deref()).await?,
        };
        let user = user.as_ref().map(preview);
        let (client_id, client) =
            client.map_or_else(Default::default, |client| (client.id, client.registration.name.clone()));
        Ok(AuthorizationPrompt {
            client_id,
            client,
            host: leaving.redirect_to.as_deref().map(host_of).unwrap_or_default().to_owned(),
            scopes: OidcScopes::NONE,
            needs: Needs::SignOut,
            user,
            login_hint: None,
            expires_in: leaving.until.since(now),
        })
    }
}

fn preview(holder: &TokenHolder) -> PersonPreview {
    let person = holder.person();
    PersonPreview { employee_id: person.employee_id().to_owned(), name: person.name().to_owned() }
}

/// The host and port of a registered address, as a user reads them.
fn host_of(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_an_address_is_shown_with_its_port() {
        for (address, host) in [
            ("https://help.example.com/auth/callback", "help.example.com"),
            ("https://help.example.com?tenant=1", "help.example.com"),
            ("http://127.0.0.1:3000/cb", "127.0.0.1:3000"),
            ("http://[::1]/cb", "[::1]"),
            ("https://help.example.com", "help.example.com"),
        ] {
            assert_eq!(host_of(address), host);
        }
    }

    #[test]
    fn names_are_complete() {
        assert_eq!(Needs::ALL.map(Needs::name), Needs::NAMES);
    }
}
