//! What the service log says about a request of an OpenID Connect client that ended on an error page.

/// Why a request ended on an error page, and what helps to find the mistake. An extension of the response, for the dispatcher. Other
/// parameters may be secrets of the client, or identify the user.
#[derive(Clone, Debug)]
pub(crate) struct ErrorPageCause {
    pub(crate) reason: &'static str,
    /// The client, if there is such a client.
    pub(crate) client_id: Option<String>,
    /// The address that the client wants to return to, without its query.
    pub(crate) redirect_uri: Option<String>,
}
