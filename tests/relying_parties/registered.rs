//! A program as a client of the service.

use deskpass_core::oidc::ClientRegistration;
use serde_json::Value;

use super::registration;
use crate::harness::{OidcClient, TestApp, free_address};

/// A program that is registered, and the address at which it is to serve.
pub(super) struct Registered {
    pub(super) origin: String,
    port: String,
    pub(super) client: OidcClient,
}

impl Registered {
    pub(super) async fn new(app: &TestApp, name: &str, callback: &str) -> Self {
        Self::with(app, name, callback, |registration, _| registration).await
    }

    /// The same, with a registration that is changed for its origin.
    pub(super) async fn with(
        app: &TestApp,
        name: &str,
        callback: &str,
        change: impl FnOnce(ClientRegistration, &str) -> ClientRegistration,
    ) -> Self {
        let address = free_address();
        let port = address.rsplit_once(':').unwrap().1.to_owned();
        let origin = format!("http://{address}");
        let registration = change(registration(name, &origin, callback), &origin);
        Self { client: app.oidc_client(registration).await, origin, port }
    }

    pub(super) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }

    /// What the scripts read from their environment; `discovery` is the service's.
    pub(super) fn settings<'a>(&'a self, discovery: &'a Value, bye: &'a str) -> Vec<(&'a str, &'a str)> {
        let endpoint = |name: &str| discovery[name].as_str().unwrap();
        vec![
            ("ISSUER", endpoint("issuer")),
            ("CLIENT_ID", &*self.client.id),
            ("CLIENT_SECRET", self.client.secret.as_deref().unwrap_or_default()),
            ("REDIRECT_URI", &*self.client.redirect_uri),
            ("POST_LOGOUT_URI", bye),
            ("PORT", &*self.port),
            ("AUTHORIZATION_ENDPOINT", endpoint("authorization_endpoint")),
            ("TOKEN_ENDPOINT", endpoint("token_endpoint")),
            ("USERINFO_ENDPOINT", endpoint("userinfo_endpoint")),
            ("JWKS_URI", endpoint("jwks_uri")),
            ("END_SESSION_ENDPOINT", endpoint("end_session_endpoint")),
        ]
    }
}
