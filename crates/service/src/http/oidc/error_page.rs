//! Requests of a client's browser that go wrong: they end on a page, or return to the client, and leave a line in the service log.

use axum::response::Response;
use deskpass_auth::UnregisteredAddress;
use deskpass_core::oidc::{OAuthError, Parameters};
use deskpass_core::{ClientInfo, Reference, is_invisible};
use hyper::HeaderMap;
use url::Url;

use crate::App;
use crate::config::Language;
use crate::http::error::ApiError;
use crate::http::pages;
use crate::http::response::{ClientMistake, MistakeOutcome, landing};
use crate::site::OidcErrorPage;

/// The most characters of a redirect URI in the service log.
const MAX_LOGGED_CHARS: usize = 200;

/// A request that may go wrong.
pub(super) struct PageRequest<'a> {
    app: &'a App,
    parameters: &'a Parameters,
    reference: Option<Reference>,
    preferred: Language,
    headers: &'a HeaderMap,
}

impl<'a> PageRequest<'a> {
    pub(super) fn new(
        app: &'a App,
        parameters: &'a Parameters,
        visitor: &ClientInfo,
        preferred: Language,
        headers: &'a HeaderMap,
    ) -> Self {
        Self { app, parameters, reference: visitor.reference, preferred, headers }
    }

    /// The page that says why there is no next step. The dispatcher writes the line about it.
    pub(super) async fn end_on(&self, page: OidcErrorPage) -> Result<Response, ApiError> {
        let mut response = pages::oidc_error(self.app, page, self.reference, self.preferred, self.headers)?;
        let client_id = known_client(self.app, self.parameters).await;
        let outcome = MistakeOutcome::ErrorPage(page.reason());
        let redirect_uri = sent_address(self.parameters);
        response.extensions_mut().insert(ClientMistake { outcome, client_id, redirect_uri });
        Ok(response)
    }

    /// Returns to the client, at this address, with an error.
    pub(super) async fn return_with(&self, address: &str, error: OAuthError) -> Response {
        return_with(self.app, self.parameters, address, error).await
    }

    /// The answer to a sign-out, with the line about a post-logout address that is not registered.
    pub(super) async fn signed_out(&self, mut response: Response) -> Response {
        // The answer does not depend on it.
        let unregistered = self.app.auth.unregistered_logout_address(self.parameters).await.ok().flatten();
        if let Some(UnregisteredAddress { client_id, address }) = unregistered {
            let (outcome, redirect_uri) = (MistakeOutcome::PostLogoutAddress, logged_address(&address));
            response.extensions_mut().insert(ClientMistake { outcome, client_id, redirect_uri });
        }
        response
    }
}

/// Returns to the client, at this address, with an error. The dispatcher writes the line about it.
pub(super) async fn return_with(app: &App, parameters: &Parameters, address: &str, error: OAuthError) -> Response {
    let mut response = landing::see_other(address);
    let client_id = known_client(app, parameters).await;
    let (outcome, redirect_uri) = (MistakeOutcome::Returned(error), sent_address(parameters));
    response.extensions_mut().insert(ClientMistake { outcome, client_id, redirect_uri });
    response
}

/// The client, if there is such a client. Any other text may be anything, even a secret in the wrong field.
async fn known_client(app: &App, parameters: &Parameters) -> Option<String> {
    let id = parameters.get("client_id").ok().flatten()?;
    // The page does not depend on it.
    let client = app.auth.oidc_client(id).await.ok().flatten()?;
    Some(client.id)
}

/// The address that the client wants to return to, as the service log has it.
fn sent_address(parameters: &Parameters) -> Option<String> {
    let sent = |name: &'static str| parameters.get(name).ok().flatten();
    sent("redirect_uri").or_else(|| sent("post_logout_redirect_uri")).and_then(logged_address)
}

/// An address as the service log has it: without its query and fragment, which may contain secrets, and not too long. A text that is no
/// web address is not logged: it may be anything, even a secret in the wrong field.
fn logged_address(address: &str) -> Option<String> {
    let plain = address.split(['?', '#']).next().unwrap_or_default();
    let url = Url::parse(plain).ok().filter(|url| matches!(url.scheme(), "https" | "http"))?;
    let is_public = url.username().is_empty() && url.password().is_none();
    let shown = || plain.chars().filter(|character| !is_invisible(*character)).take(MAX_LOGGED_CHARS).collect();
    is_public.then(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logged_address_is_short_and_has_no_query() {
        let logged = |address: &str| logged_address(address).unwrap_or_default();
        assert_eq!(logged("https://a.example/cb?code=1#x"), "https://a.example/cb");
        assert_eq!(logged("https://a.example/\n\u{202e}cb#x?y"), "https://a.example/cb");
        assert_eq!(logged(&format!("https://a.example/{}", "é".repeat(300))).chars().count(), MAX_LOGGED_CHARS);
        for other in ["dpe_secret", "https://user:secret@a.example/cb", "data:text/plain,secret", ""] {
            assert_eq!(logged_address(other), None, "{other}");
        }
    }
}
