//! The parameters of an authorization request, and the errors of OAuth 2.0 and OpenID Connect.

use std::borrow::Cow;

use url::form_urlencoded;

use super::authorization::{AuthorizationRequest, Prompts};
use super::client::ClientRegistration;
use super::client_choice::{ClientKind, PkceRequirement};
use super::pkce::CodeChallenge;
use super::scope::{OidcScope, OidcScopes};
use crate::named_enum::named_enum;
use crate::opaque_debug;

named_enum! {
    /// An error code of OAuth 2.0 or OpenID Connect.
    OAuthErrorCode {
        /// The user or the service refuses.
        AccessDenied => "access_denied",
        /// The user would have to be asked.
        InteractionRequired => "interaction_required",
        /// The client could not be authenticated.
        InvalidClient => "invalid_client",
        /// The code or refresh token is not valid, or not for this client.
        InvalidGrant => "invalid_grant",
        /// A parameter is missing, repeated or malformed.
        InvalidRequest => "invalid_request",
        /// The scope `openid` is missing.
        InvalidScope => "invalid_scope",
        /// The access token is not valid.
        InvalidToken => "invalid_token",
        /// The user would have to sign in.
        LoginRequired => "login_required",
        /// Request objects are not supported.
        RequestNotSupported => "request_not_supported",
        /// Addresses of request objects are not supported.
        RequestUriNotSupported => "request_uri_not_supported",
        /// An unexpected failure.
        ServerError => "server_error",
        /// The service cannot answer now; the client may repeat the request.
        TemporarilyUnavailable => "temporarily_unavailable",
        /// The client may not use this grant type.
        UnauthorizedClient => "unauthorized_client",
        /// The grant type is not supported.
        UnsupportedGrantType => "unsupported_grant_type",
        /// The response type is not supported.
        UnsupportedResponseType => "unsupported_response_type",
    }
}

/// An error for a client. The description is ASCII, as RFC 6749 requires.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {description}", code.name())]
pub struct OAuthError {
    /// The code.
    pub code: OAuthErrorCode,
    /// What is wrong, and how to fix it, for the developer of the client.
    pub description: Cow<'static, str>,
}

impl OAuthError {
    /// An error.
    #[must_use]
    pub fn new(code: OAuthErrorCode, description: impl Into<Cow<'static, str>>) -> Self {
        Self { code, description: description.into() }
    }
}

/// The parameters of a query or form. They may contain secrets.
#[derive(Clone, Default)]
pub struct Parameters {
    values: Vec<(String, String)>,
    /// Whether bytes that are not UTF-8 were replaced.
    is_altered: bool,
}

opaque_debug!(Parameters);

/// An error: a parameter appears more than once.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the parameter {0} appears more than once")]
pub struct RepeatedParameter(pub &'static str);

impl From<RepeatedParameter> for OAuthError {
    fn from(repeated: RepeatedParameter) -> Self {
        Self::new(OAuthErrorCode::InvalidRequest, repeated.to_string())
    }
}

impl Parameters {
    /// Parses `application/x-www-form-urlencoded`.
    #[must_use]
    pub fn parse(encoded: &[u8]) -> Self {
        let values = form_urlencoded::parse(encoded).into_owned().collect();
        Self { values, is_altered: !decodes_to_utf8(encoded) }
    }

    /// Whether everything that was sent is UTF-8. Otherwise a value is not the one that was sent, and must not be sent back.
    #[must_use]
    pub fn is_utf8(&self) -> bool {
        !self.is_altered
    }

    /// The parameters as a query.
    #[must_use]
    pub fn encoded(&self) -> String {
        form_urlencoded::Serializer::new(String::new()).extend_pairs(&self.values).finish()
    }

    /// The value of a parameter. Empty values count as missing, as RFC 6749 requires.
    pub fn get(&self, name: &'static str) -> Result<Option<&str>, RepeatedParameter> {
        let mut values = self.values.iter().filter(|(given, _)| given == name).map(|(_, value)| value.as_str());
        match (values.next(), values.next()) {
            (_, Some(_)) => Err(RepeatedParameter(name)),
            (value, None) => Ok(value.filter(|value| !value.is_empty())),
        }
    }
}

/// Whether a form decodes to UTF-8. The parser replaces all other bytes.
fn decodes_to_utf8(encoded: &[u8]) -> bool {
    let mut decoded = Vec::with_capacity(encoded.len());
    let mut rest = encoded;
    while let Some((first, after)) = rest.split_first() {
        let escaped = if *first == b'%' { hexadecimal_byte(after) } else { None };
        let (byte, after) = escaped.unwrap_or((*first, after));
        decoded.push(byte);
        rest = after;
    }
    std::str::from_utf8(&decoded).is_ok()
}

/// The byte in two hexadecimal digits, and what follows.
fn hexadecimal_byte(text: &[u8]) -> Option<(u8, &[u8])> {
    let [high, low, after @ ..] = text else { return None };
    let digit = |c: &u8| char::from(*c).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok().map(|byte| (byte, after))
}

/// The maximum length of `state`, of `nonce` and of texts that are only passed on, in bytes.
const MAX_STATE: usize = 2048;
const MAX_NONCE: usize = 512;
const MAX_HINT: usize = 256;
const MAX_ID_TOKEN: usize = 8192;

/// Checks the parameters of an authorization request whose client and redirect URI have been checked already.
pub fn authorization_request(
    parameters: &Parameters,
    client_id: &str,
    redirect_uri: &str,
    client: &ClientRegistration,
) -> Result<AuthorizationRequest, OAuthError> {
    let invalid = |text: &'static str| OAuthError::new(OAuthErrorCode::InvalidRequest, text);
    let bounded = |name: &'static str, max: usize| {
        let value = parameters.get(name)?;
        match value {
            Some(value) if value.len() > max => {
                Err(OAuthError::new(OAuthErrorCode::InvalidRequest, format!("{name} is longer than {max} bytes")))
            }
            value => Ok(value.map(str::to_owned)),
        }
    };
    if !parameters.is_utf8() {
        return Err(invalid("the parameters are not UTF-8"));
    }
    check_unsupported(parameters)?;
    let requested = parameters.get("scope")?.map(OidcScopes::parse).unwrap_or_default();
    if !requested.contains(OidcScope::Openid) {
        return Err(OAuthError::new(OAuthErrorCode::InvalidScope, "scope must contain openid"));
    }
    let (nonce, challenge) = (bounded("nonce", MAX_NONCE)?, challenge(parameters)?);
    let may_omit = client.kind == ClientKind::Confidential && client.pkce == PkceRequirement::Optional;
    if challenge.is_none() && !(may_omit && nonce.is_some()) {
        return Err(invalid(
            "code_challenge is missing: switch PKCE with the method S256 on in the client, or set pkce to optional for it here and send a nonce",
        ));
    }
    let max_age = parameters.get("max_age")?;
    let max_age = max_age.map(|age| whole_seconds(age).ok_or_else(|| invalid("max_age must be a number of seconds")));
    Ok(AuthorizationRequest {
        client_id: client_id.to_owned(),
        redirect_uri: redirect_uri.to_owned(),
        scopes: requested.intersection(client.scopes),
        state: bounded("state", MAX_STATE)?,
        nonce,
        challenge,
        prompts: prompts(parameters)?,
        max_age: max_age.transpose()?,
        id_token_hint: bounded("id_token_hint", MAX_ID_TOKEN)?,
        login_hint: bounded("login_hint", MAX_HINT)?,
        ui_locales: bounded("ui_locales", MAX_HINT)?,
    })
}

/// A number in digits alone: `parse` would also accept a sign.
fn whole_seconds(text: &str) -> Option<u64> {
    Some(text).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?.parse().ok()
}

/// Refuses parameters that ask for something that is not supported.
fn check_unsupported(parameters: &Parameters) -> Result<(), OAuthError> {
    use OAuthErrorCode::{InvalidRequest, RequestNotSupported, RequestUriNotSupported, UnsupportedResponseType};
    if parameters.get("request")?.is_some() {
        return Err(OAuthError::new(RequestNotSupported, "send the parameters themselves, not a request object"));
    }
    if parameters.get("request_uri")?.is_some() {
        return Err(OAuthError::new(RequestUriNotSupported, "send the parameters themselves, not request_uri"));
    }
    match parameters.get("response_type")? {
        Some("code") => {}
        Some(_) => return Err(OAuthError::new(UnsupportedResponseType, "response_type must be code")),
        None => return Err(OAuthError::new(InvalidRequest, "response_type is missing; it must be code")),
    }
    match parameters.get("response_mode")? {
        None | Some("query") => Ok(()),
        Some(_) => Err(OAuthError::new(InvalidRequest, "response_mode must be query")),
    }
}

fn challenge(parameters: &Parameters) -> Result<Option<CodeChallenge>, OAuthError> {
    let invalid = |text: &'static str| OAuthError::new(OAuthErrorCode::InvalidRequest, text);
    let method = parameters.get("code_challenge_method")?;
    let Some(challenge) = parameters.get("code_challenge")? else {
        return if method.is_none() { Ok(None) } else { Err(invalid("code_challenge is missing")) };
    };
    if method != Some("S256") {
        return Err(invalid("code_challenge_method must be S256"));
    }
    CodeChallenge::parse(challenge)
        .map(Some)
        .ok_or_else(|| invalid("code_challenge must be 43 characters of base64url"))
}

fn prompts(parameters: &Parameters) -> Result<Prompts, OAuthError> {
    let mut prompts = Prompts::default();
    let mut count = 0;
    for word in parameters.get("prompt")?.unwrap_or_default().split_ascii_whitespace() {
        count += 1;
        match word {
            "none" => prompts.none = true,
            "login" => prompts.login = true,
            "select_account" => prompts.select_account = true,
            "consent" => prompts.consent = true,
            _ => return Err(OAuthError::new(OAuthErrorCode::InvalidRequest, "prompt has an unknown value")),
        }
    }
    if prompts.none && count > 1 {
        return Err(OAuthError::new(OAuthErrorCode::InvalidRequest, "prompt none cannot be combined with others"));
    }
    Ok(prompts)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHALLENGE: &str = "code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256";

    fn ask(query: &str) -> Result<AuthorizationRequest, OAuthErrorCode> {
        let client = ClientRegistration { redirect_uris: vec!["https://a/cb".to_owned()], ..Default::default() };
        let parameters = Parameters::parse(query.as_bytes());
        authorization_request(&parameters, "a", "https://a/cb", &client).map_err(|error| error.code)
    }

    #[test]
    fn a_plain_request_is_accepted() {
        let query = format!(
            "response_type=code&scope=openid+email+other&state=%00%c3%bf&nonce=n&prompt=login+consent&{CHALLENGE}"
        );
        let request = ask(&query);
        assert!(request.is_ok_and(|request| {
            request.scopes.to_string() == "openid email" && request.prompts.login && !request.prompts.none
        }));
    }

    #[test]
    fn a_value_that_is_not_utf8_is_refused_and_not_altered() {
        let ask = |state: &str| ask(&format!("response_type=code&scope=openid&state={state}&{CHALLENGE}"));
        for good in ["%E5%80%BC", "值", "%EF%BF%BD", "100%", "%zz", "%+1", "%E5%80%BC%26"] {
            assert!(ask(good).is_ok(), "{good}");
        }
        for bad in ["%ff", "a%E5%80", "%C3(", "%c0%af", "%E5%80&%BC=x"] {
            assert_eq!(ask(bad).err(), Some(OAuthErrorCode::InvalidRequest), "{bad}");
        }
        assert!(!Parameters::parse(b"state=\xff").is_utf8() && Parameters::default().is_utf8());
    }

    #[test]
    fn no_secret_is_in_debug_output() {
        let parameters = Parameters::parse(b"client_secret=s3cret");
        let query =
            format!("response_type=code&scope=openid&state=s3cret&nonce=s3cret&id_token_hint=s3cret&{CHALLENGE}");
        assert_eq!(format!("{parameters:?} {:?}", ask(&query)), "Parameters Ok(AuthorizationRequest)");
    }

    #[test]
    fn every_unsupported_wish_has_its_error() {
        use OAuthErrorCode::{
            InvalidRequest, InvalidScope, RequestNotSupported, RequestUriNotSupported, UnsupportedResponseType,
        };
        for (query, code) in [
            ("scope=openid", InvalidRequest),
            ("response_type=token&scope=openid", UnsupportedResponseType),
            ("response_type=code&scope=email", InvalidScope),
            ("response_type=code&scope=openid", InvalidRequest),
            ("response_type=code&scope=openid&request=x", RequestNotSupported),
            ("response_type=code&scope=openid&request_uri=x", RequestUriNotSupported),
            ("response_type=code&scope=openid&response_mode=fragment", InvalidRequest),
            ("response_type=code&scope=openid&code_challenge=abc", InvalidRequest),
            ("response_type=code&response_type=code&scope=openid", InvalidRequest),
        ] {
            assert_eq!(ask(query).err(), Some(code), "{query}");
        }
        for age in ["%2B5", "-5", "5.0", "5+", "0x5"] {
            let query = format!("response_type=code&scope=openid&max_age={age}&{CHALLENGE}");
            assert_eq!(ask(&query).err(), Some(InvalidRequest), "{age}");
        }
        for prompt in ["none+login", "create", "max"] {
            let query = format!("response_type=code&scope=openid&prompt={prompt}&{CHALLENGE}");
            assert_eq!(ask(&query).err(), Some(InvalidRequest), "{prompt}");
        }
    }
}
