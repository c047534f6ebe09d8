//! Requests that waited: whether the client may still have what it asked for. Its registration may have changed meanwhile.

use deskpass_core::oidc::{AuthorizationRequest, ClientKind, ClientRegistration, PkceRequirement, is_registered};

use super::client::ResolvedClient;
use crate::{Auth, Error, Refusal};

/// Whether a client may get a code at this address, with or without a PKCE challenge and a nonce.
pub(super) fn permits(client: &ClientRegistration, redirect_uri: &str, has_challenge: bool, has_nonce: bool) -> bool {
    let may_omit = client.kind == ClientKind::Confidential && client.pkce == PkceRequirement::Optional && has_nonce;
    is_registered(&client.redirect_uris, client.kind, redirect_uri) && (has_challenge || may_omit)
}

impl Auth {
    /// The client of a request. If it does not permit the request any more, the request is gone, and the browser is sent nowhere.
    pub(super) async fn permitting_client(&self, request: &AuthorizationRequest) -> Result<ResolvedClient, Error> {
        let client = self.oidc_client(&request.client_id).await?;
        let (has_challenge, has_nonce) = (request.challenge.is_some(), request.nonce.is_some());
        let is_permitted =
            |client: &ResolvedClient| permits(&client.registration, &request.redirect_uri, has_challenge, has_nonce);
        Ok(client.filter(is_permitted).ok_or(Refusal::OidcRequestGone)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_permitted_as_long_as_the_registration_permits_it() {
        let address = "https://a.example.com/cb";
        let strict = ClientRegistration { redirect_uris: vec![address.to_owned()], ..Default::default() };
        assert!(permits(&strict, address, true, false));
        assert!(!permits(&strict, "https://b.example.com/cb", true, true), "the address was removed");
        assert!(!permits(&strict, address, false, true), "PKCE became required");
        let lenient = ClientRegistration { pkce: PkceRequirement::Optional, ..strict };
        assert!(permits(&lenient, address, false, true) && !permits(&lenient, address, false, false));
        let public = ClientRegistration { kind: ClientKind::Public, ..lenient };
        assert!(!permits(&public, address, false, true), "the client became public");
    }
}
