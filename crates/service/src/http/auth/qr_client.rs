//! The client that a QR code is for, as a request names it.

use axum::extract::FromRequestParts;
use deskpass_auth::{Needs, Refusal, RequestOrigin};
use deskpass_core::LoginSource;
use hyper::header::REFERER;
use hyper::http::request::Parts;
use url::Url;

use crate::config::NumberMatching;
use crate::http::error::{ApiError, FieldError};
use crate::http::request::{
    DescribeInput, FieldKind, FieldValue, FromFields, GivenValue, InputSpec, Query, RequestContext,
};

/// The clients of this service.
const OWN_CLIENTS: &[&str] = &[LoginSource::H5.name(), LoginSource::ItAgent.name(), LoginSource::ItAdmin.name()];

/// The client that a QR code is for: that of the authorization request, otherwise the named one, otherwise the one whose page asks,
/// otherwise the employees'.
#[derive(Debug)]
pub(crate) struct QrClient {
    pub(super) source: LoginSource,
    /// The name of the OpenID Connect client and the host that it leads to.
    pub(super) client: Option<(String, String)>,
    /// Whether the client shows a number that the phone must pick.
    pub(super) with_number: bool,
}

/// The client that the query names.
#[derive(FromFields)]
struct QrClientQuery {
    client: Option<OwnClient>,
    /// The authorization request of an OpenID Connect client that the user signs in for.
    request: Option<String>,
    /// `1` if the client shows `match_number`, which the phone must then pick out of three; `auto` if it can, and the setting
    /// `qr.number_match` decides; `0` unless given. With `qr.number_match = "always"` every code has a number.
    #[field(name = "match", default = NumberDisplay::No)]
    display: NumberDisplay,
}

/// Whether a client shows a number that the phone must pick.
#[derive(Debug, PartialEq, Eq)]
enum NumberDisplay {
    /// It does not.
    No,
    /// It does.
    Yes,
    /// It does if there is one: the settings decide.
    Auto,
}

impl NumberDisplay {
    /// Whether a code gets a number under this setting.
    fn has_number(&self, setting: NumberMatching) -> bool {
        match setting {
            NumberMatching::Always => true,
            NumberMatching::On => *self != Self::No,
            NumberMatching::Off => *self == Self::Yes,
        }
    }
}

/// The words for [`NumberDisplay`].
const NUMBER_DISPLAYS: &[&str] = &["0", "1", "auto"];

impl FieldValue for NumberDisplay {
    fn kind() -> FieldKind {
        FieldKind::OneOf(NUMBER_DISPLAYS)
    }

    fn read(given: GivenValue) -> Result<Self, FieldError> {
        match &*given.text()? {
            "0" => Ok(Self::No),
            "1" => Ok(Self::Yes),
            "auto" => Ok(Self::Auto),
            _ => Err(FieldError::NotOneOf(NUMBER_DISPLAYS)),
        }
    }
}

/// A client of this service.
struct OwnClient(LoginSource);

impl FieldValue for OwnClient {
    fn kind() -> FieldKind {
        FieldKind::OneOf(OWN_CLIENTS)
    }

    fn read(given: GivenValue) -> Result<Self, FieldError> {
        let named = LoginSource::from_name(&given.text()?).filter(|source| *source != LoginSource::Oidc);
        named.map(Self).ok_or(FieldError::NotOneOf(OWN_CLIENTS))
    }
}

impl FromRequestParts<RequestContext> for QrClient {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, context: &RequestContext) -> Result<Self, ApiError> {
        let Query(QrClientQuery { client: named, request, display }) =
            Query::from_request_parts(parts, context).await?;
        let with_number = display.has_number(context.app.settings.qr.number_match);
        if let Some(request) = request {
            let caller = RequestOrigin::from_request_parts(parts, context).await?;
            let prompt = context.app.auth.authorization_prompt(&request, &caller).await?;
            if matches!(prompt.needs, Needs::SignOut) {
                return Err(Refusal::OidcRequestGone.into());
            }
            let client = Some((prompt.client, prompt.host));
            return Ok(Self { source: LoginSource::Oidc, client, with_number });
        }
        let page = parts.headers.get(REFERER).and_then(|page| Url::parse(page.to_str().ok()?).ok());
        let asking = page.and_then(|page| LoginSource::from_name(page.path_segments()?.next()?));
        let asking = asking.filter(|source| *source != LoginSource::Oidc);
        let source = named.map(|OwnClient(named)| named).or(asking).unwrap_or(LoginSource::H5);
        Ok(Self { source, client: None, with_number })
    }
}

impl DescribeInput for QrClient {
    fn describe_input(spec: &mut InputSpec) {
        spec.reads_query::<QrClientQuery>();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An attacker makes the code that they send, and does not ask for a number.
    #[test]
    fn the_setting_decides_which_codes_have_a_number() {
        for (setting, numbers) in [
            (NumberMatching::Off, [false, false, true]),
            (NumberMatching::On, [false, true, true]),
            (NumberMatching::Always, [true, true, true]),
        ] {
            let displays = [NumberDisplay::No, NumberDisplay::Auto, NumberDisplay::Yes];
            assert_eq!(displays.map(|display| display.has_number(setting)), numbers, "{setting}");
        }
    }
}
