//! What the service log says about a request of an OpenID Connect client that went wrong.

use deskpass_core::oidc::OAuthError;

/// A request of a client that went wrong, and what helps to find the mistake. An extension of the response, for the dispatcher. Other
/// parameters may be secrets of the client, or identify the user.
#[derive(Clone, Debug)]
pub(crate) struct ClientMistake {
    pub(crate) outcome: MistakeOutcome,
    /// The client, if there is such a client.
    pub(crate) client_id: Option<String>,
    /// The address that the client wants to return to, without its query.
    pub(crate) redirect_uri: Option<String>,
}

/// What became of the request.
#[derive(Clone, Debug)]
pub(crate) enum MistakeOutcome {
    /// It ended on an error page, for this reason.
    ErrorPage(&'static str),
    /// The browser returned to the client with this error.
    Returned(OAuthError),
    /// The post-logout address is not registered, so the browser stayed here.
    PostLogoutAddress,
}
