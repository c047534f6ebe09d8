//! Authenticates clients: with Basic, with a secret in the form, or, for public clients, by their identifier alone.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use deskpass_auth::{ClientCredentials, ResolvedClient, SecretMethod};
use deskpass_core::ClientInfo;
use deskpass_core::oidc::{OAuthError, OAuthErrorCode, Parameters};
use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;
use percent_encoding::percent_decode_str;

use crate::http::error::{ApiError, BadRequest};
use crate::http::request::OAuthForm;

/// The client that sent a form, authenticated, and its parameters. Nothing else is looked at before.
pub(super) async fn authenticate(
    form: &OAuthForm,
    visitor: &ClientInfo,
) -> Result<(ResolvedClient, Parameters), ApiError> {
    let parameters = form.parameters()?;
    let credentials = credentials(&form.headers, &parameters)?;
    if form.app.auth.oidc_client(credentials.id()).await?.is_some() {
        form.trace.set_client(credentials.id());
    }
    Ok((form.app.auth.authenticate_client(credentials, visitor.address.decided).await?, parameters))
}

/// A parameter that must be there.
pub(super) fn required<'a>(parameters: &'a Parameters, name: &'static str) -> Result<&'a str, ApiError> {
    let missing = || OAuthError::new(OAuthErrorCode::InvalidRequest, format!("{name} is missing"));
    Ok(parameters.get(name)?.ok_or_else(missing)?)
}

/// How a request authenticates its client. It must do so in one way only.
fn credentials(headers: &HeaderMap, parameters: &Parameters) -> Result<ClientCredentials, ApiError> {
    let invalid = |text: &'static str| ApiError::from(OAuthError::new(OAuthErrorCode::InvalidRequest, text));
    let mut given = headers.get_all(AUTHORIZATION).iter();
    let (header, second) = (given.next(), given.next());
    if second.is_some() {
        return Err(BadRequest::RepeatedAuthorization.into());
    }
    let (id, secret) = (parameters.get("client_id")?, parameters.get("client_secret")?);
    let Some(header) = header else {
        let id =
            id.ok_or_else(|| unauthenticated("send client_id, and the secret of a confidential client"))?.to_owned();
        return Ok(match secret {
            Some(secret) => ClientCredentials::Secret { id, secret: secret.to_owned(), method: SecretMethod::Post },
            None => ClientCredentials::Public { id },
        });
    };
    let basic = header.to_str().ok().and_then(basic);
    let (own_id, own_secret) =
        basic.ok_or_else(|| unauthenticated("the Authorization header is not valid for Basic"))?;
    if secret.is_some() {
        return Err(invalid("the client authenticates in two ways; send the secret once"));
    }
    if id.is_some_and(|id| id != own_id) {
        return Err(invalid("client_id differs from that of the Authorization header"));
    }
    // Some libraries send an empty secret for a public client.
    Ok(if own_secret.is_empty() {
        ClientCredentials::Public { id: own_id }
    } else {
        ClientCredentials::Secret { id: own_id, secret: own_secret, method: SecretMethod::Basic }
    })
}

fn unauthenticated(text: &'static str) -> ApiError {
    OAuthError::new(OAuthErrorCode::InvalidClient, text).into()
}

/// The identifier and the secret in a header. Both are form-encoded inside it (RFC 6749 §2.3.1).
fn basic(header: &str) -> Option<(String, String)> {
    let (scheme, encoded) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    // Strict: only one text decodes to these bytes.
    let bytes = STANDARD.decode(encoded.trim_start_matches(' ')).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let (id, secret) = text.split_once(':')?;
    Some((form_decoded(id)?, form_decoded(secret)?))
}

fn form_decoded(text: &str) -> Option<String> {
    let spaced = text.replace('+', " ");
    percent_decode_str(&spaced).decode_utf8().ok().map(Cow::into_owned)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn header(text: &str) -> String {
        format!("Basic {}", STANDARD.encode(text))
    }

    /// The client and its secret; or the name of the error.
    fn read(headers: &[&str], form: &str) -> Result<(String, Option<String>), String> {
        let mut sent = HeaderMap::new();
        for header in headers {
            sent.append(AUTHORIZATION, header.parse().unwrap());
        }
        match credentials(&sent, &Parameters::parse(form.as_bytes())) {
            Ok(ClientCredentials::Secret { id, secret, .. }) => Ok((id, Some(secret))),
            Ok(ClientCredentials::Public { id }) => Ok((id, None)),
            Err(ApiError::OAuth(error)) => Err(error.code.name().to_owned()),
            Err(other) => Err(format!("{:?}", other.info().status)),
        }
    }

    #[test]
    fn a_client_authenticates_in_one_way() {
        let both = |id: &str, secret: &str| Ok((id.to_owned(), Some(secret.to_owned())));
        let public = |id: &str| Ok((id.to_owned(), None));
        assert_eq!(read(&[&header("a-b_c:dpe_x-y")], ""), both("a-b_c", "dpe_x-y"));
        assert_eq!(read(&[&header("a%2Db:x%3Ay+z")], "client_id=a-b"), both("a-b", "x:y z"));
        assert_eq!(read(&[], "client_id=a&client_secret=b"), both("a", "b"));
        for form in ["client_id=a", "client_id=a&client_secret="] {
            assert_eq!(read(&[], form), public("a"), "{form}");
        }
        assert_eq!(read(&[&header("a:")], ""), public("a"));
    }

    #[test]
    fn what_is_ambiguous_or_loosely_encoded_is_refused() {
        let basic = header("a:b");
        let refused = |name: &str| Err(name.to_owned());
        assert_eq!(read(&[&basic], "client_secret=b"), refused("invalid_request"));
        assert_eq!(read(&[&basic], "client_id=b"), refused("invalid_request"));
        assert_eq!(read(&[&basic, &basic], ""), refused("400"));
        assert_eq!(read(&[], "client_id=a&client_id=a"), refused("invalid_request"));
        assert_eq!(read(&[], ""), refused("invalid_client"));
        // Base64 without padding, with a blank, in the other alphabet, and with bits that mean nothing.
        for loose in ["Basic YTpi YQ==", "Basic YTo", "Basic YTp_", "Basic YTpiYR==", "Bearer x", "Basic", "Basic YWI="]
        {
            assert_eq!(read(&[loose], ""), refused("invalid_client"), "{loose}");
        }
    }
}
