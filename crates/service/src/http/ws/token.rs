//! The user of a socket. Browsers cannot set the header, so the token may be a subprotocol or, for older clients, in the query.

use std::net::IpAddr;

use axum::extract::FromRequestParts;
use deskpass_auth::{ActiveUser, Refusal, TokenError};
use deskpass_core::Reference;
use hyper::header::{AUTHORIZATION, HeaderValue, SEC_WEBSOCKET_PROTOCOL};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Uri};
use url::form_urlencoded;

use crate::http::error::ApiError;
use crate::http::request::{DescribeInput, RequestContext, RequiredAccess, bearer_token, client_ip};

/// The subprotocol that is chosen when a client offers it, so that the response does not repeat a token.
const SUBPROTOCOL: &str = "deskpass.v1";

/// The prefix of a subprotocol that carries a token.
const TOKEN_PREFIX: &str = "bearer.";

/// The user who opens a socket, and the subprotocol of the response.
#[derive(Debug)]
pub(crate) struct SocketAuth {
    pub(super) caller: ActiveUser,
    pub(super) from: IpAddr,
    /// The chosen subprotocol, one of those offered.
    pub(super) protocol: Option<HeaderValue>,
    /// The reference of the request.
    pub(super) reference: Reference,
}

impl FromRequestParts<RequestContext> for SocketAuth {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        let offered = OfferedProtocols::read(&parts.headers)?;
        let (app, from) = (&context.app, client_ip(parts, context));
        let in_address = app.settings.sockets.query_token.then(|| in_address(&parts.uri)).flatten();
        let token = token(&parts.headers, &offered, in_address.as_deref())?;
        let holder = app.auth.authenticate(token, Some(from)).await?;
        context.trace.set_employee(&holder.session().employee);
        let caller = holder.into_active_user()?;
        if in_address.as_deref() == Some(token) && offered.token.is_none() && !parts.headers.contains_key(AUTHORIZATION)
        {
            tracing::warn!(
                employee = %caller.0.session().employee,
                "socket token sent in the query string, where proxies log it: send it as a subprotocol"
            );
        }
        Ok(Self { caller, from, protocol: offered.chosen, reference: context.trace.reference })
    }
}

impl DescribeInput for SocketAuth {
    const ACCESS: Option<RequiredAccess> = Some(RequiredAccess::ActiveUser);
}

/// The token of a handshake: the header's, from which an offered one must not differ, since an attacker may have chosen either.
fn token<'a>(
    headers: &'a HeaderMap,
    offered: &'a OfferedProtocols,
    in_address: Option<&'a str>,
) -> Result<&'a str, ApiError> {
    let problem = |problem| ApiError::from(Refusal::Token(problem));
    if headers.contains_key(AUTHORIZATION) {
        let token = bearer_token(headers)?;
        let contradicted = offered.token.as_ref().is_some_and(|other| other != token);
        return if contradicted { Err(problem(TokenError::Malformed)) } else { Ok(token) };
    }
    offered.token.as_deref().or(in_address).ok_or_else(|| problem(TokenError::Missing))
}

/// The token in the query; `None` unless there is exactly one.
fn in_address(uri: &Uri) -> Option<String> {
    let query = uri.query().unwrap_or_default();
    let mut tokens = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "token");
    match (tokens.next(), tokens.next()) {
        (Some((_, token)), None) => Some(token.into_owned()),
        _ => None,
    }
}

/// The subprotocols that a client offers.
#[derive(Debug, Default)]
struct OfferedProtocols {
    token: Option<String>,
    chosen: Option<HeaderValue>,
}

impl OfferedProtocols {
    fn read(headers: &HeaderMap) -> Result<Self, ApiError> {
        let malformed = || ApiError::from(Refusal::Token(TokenError::Malformed));
        let mut offered = Self::default();
        for value in headers.get_all(SEC_WEBSOCKET_PROTOCOL) {
            for word in value.to_str().map_err(|_| malformed())?.split(',').map(str::trim) {
                if word == SUBPROTOCOL {
                    offered.chosen = Some(HeaderValue::from_static(SUBPROTOCOL));
                } else if let Some(token) = word.strip_prefix(TOKEN_PREFIX) {
                    if offered.token.get_or_insert_with(|| token.to_owned()) != token {
                        return Err(malformed());
                    }
                    if offered.chosen.is_none() {
                        offered.chosen = HeaderValue::from_str(word).ok();
                    }
                }
            }
        }
        Ok(offered)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn offering(values: &[&str]) -> HeaderMap {
        values.iter().map(|value| (SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_str(value).unwrap())).collect()
    }

    #[test]
    fn an_offered_subprotocol_is_chosen_and_the_plain_name_before_a_token() {
        for (offered, chosen) in [
            (&[][..], None),
            (&["chat"], None),
            (&["bearer.a"], Some("bearer.a")),
            (&["chat, bearer.a"], Some("bearer.a")),
            (&["bearer.a, deskpass.v1"], Some(SUBPROTOCOL)),
            (&["deskpass.v1", "bearer.a"], Some(SUBPROTOCOL)),
            (&["deskpass.v1"], Some(SUBPROTOCOL)),
            (&["Deskpass.v1"], None),
        ] {
            let read = OfferedProtocols::read(&offering(offered)).unwrap();
            assert_eq!(read.chosen.as_ref().map(|value| value.to_str().unwrap()), chosen, "{offered:?}");
        }
    }

    #[test]
    fn of_two_tokens_neither_counts() {
        assert!(OfferedProtocols::read(&offering(&["bearer.a, bearer.b"])).is_err());
        assert!(OfferedProtocols::read(&offering(&["bearer.a", "bearer.b"])).is_err());
        let mut headers = offering(&["bearer.b"]);
        headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer a"));
        let offered = OfferedProtocols::read(&headers).unwrap();
        assert!(token(&headers, &offered, None).is_err());
        headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer b"));
        assert_eq!(token(&headers, &offered, Some("c")).unwrap(), "b");
        headers.insert(AUTHORIZATION, HeaderValue::from_static("Basic b"));
        assert!(token(&headers, &offered, Some("c")).is_err(), "the header counts alone");
    }

    #[test]
    fn a_subprotocol_counts_before_the_address() {
        let headers = offering(&["bearer.b"]);
        let offered = OfferedProtocols::read(&headers).unwrap();
        assert_eq!(token(&headers, &offered, Some("c")).unwrap(), "b");
        let none = OfferedProtocols::default();
        assert_eq!(token(&HeaderMap::new(), &none, Some("c")).unwrap(), "c");
        assert!(token(&HeaderMap::new(), &none, None).is_err());
    }
}
