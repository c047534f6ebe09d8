//! Where a sign-in begins, if that is not the platform's own page: a scanned QR code, and the platform's script.

use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::response::IntoResponse as _;
use deskpass_auth::{Error, Refusal};
use deskpass_core::{ClientInfo, Flow, ScanId, Secret};
use deskpass_platform::EntryPoint;
use hyper::http::request::Parts;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use url::{Url, form_urlencoded};

use super::login_state::LoginState;
use super::platform_link::{LinkBrowser, phone_link};
use crate::App;
use crate::config::Language;
use crate::http::error::ApiError;
use crate::http::request::{
    Cookies, DescribeInput, FromFields, InputSpec, Opener, Query, RequestContext, RequestTrace,
};
use crate::http::response::{Reply, SetCookie, SuccessBody, described_responses, landing};
use crate::site::ENTRY_MODULE;

/// How long a phone may stay at the platform.
const PHONE_COOKIE_LIFETIME: Duration = Duration::from_mins(10);

/// The parameter with which a script plays the phone at the simulated platform.
const SIMULATED_USER: &str = "sim_user";

/// The fields of a scanned address, for its description only: a phone gets a page, whatever it asks.
#[derive(FromFields)]
#[expect(dead_code, reason = "the query is read in its raw form")]
struct ScannedFields {
    sid: Option<String>,
    entry: Option<String>,
}

/// The query of a scanned address. Of a repeated parameter, the first counts.
#[derive(Debug, Default)]
pub(crate) struct ScannedQuery {
    scan_id: Option<Secret<ScanId>>,
    /// Whether the platform's script is not to be used.
    without_script: bool,
    simulated_user: Option<String>,
}

impl ScannedQuery {
    fn read(query: &str) -> Self {
        let value = |wanted: &str| form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == wanted);
        Self {
            scan_id: value("sid").and_then(|(_, scan_id)| Secret::parse(&scan_id).ok()),
            without_script: value("entry").is_some_and(|(_, entry)| entry == "browser"),
            simulated_user: value(SIMULATED_USER).map(|(_, user)| user.into_owned()),
        }
    }

    fn entry(&self, app: &App, user_agent: &str) -> EntryPoint {
        if self.without_script { EntryPoint::Browser } else { app.auth.platform.entry_point(user_agent) }
    }
}

impl FromRequestParts<RequestContext> for ScannedQuery {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, _: &RequestContext) -> Result<Self, ApiError> {
        Ok(Self::read(parts.uri.query().unwrap_or_default()))
    }
}

impl DescribeInput for ScannedQuery {
    fn describe_input(spec: &mut InputSpec) {
        spec.reads_query::<ScannedFields>();
    }
}

described_responses! {
    /// The redirect that answers a phone.
    PhoneRedirect: |spec| {
        spec.sets_cookie = true;
        spec.success.push(SuccessBody::Redirect);
    };
}

/// Leads a phone that scanned a QR code to the platform; without a valid code, to the page that says so.
pub(crate) async fn open(
    app: App,
    language: Language,
    visitor: ClientInfo,
    trace: RequestTrace,
    cookies: Cookies,
    Opener(opener): Opener,
    query: ScannedQuery,
) -> PhoneRedirect {
    PhoneRedirect(match go_to_platform(&app, language, &visitor, &cookies, &query).await {
        Ok((cookie, address)) => {
            (cookie, SetCookie::first_opener(&app, &cookies, opener), landing::see_other(&address)).into_response()
        }
        Err(failure) => {
            let page = landing::error_destination(&app, true, None).await;
            landing::redirect_error(&app, &page, &failure, trace.reference)
        }
    })
}

async fn go_to_platform(
    app: &App,
    language: Language,
    visitor: &ClientInfo,
    cookies: &Cookies,
    query: &ScannedQuery,
) -> Result<(SetCookie, String), ApiError> {
    // Refused here, since every visit to the platform costs calls.
    let scan_id = app.auth.require_unscanned(query.scan_id.as_ref(), visitor).await?;
    let (flow, cookie) = phone_flow(app, cookies)?;
    let entry = query.entry(app, visitor.user_agent.as_str());
    let link = phone_link(app, LinkBrowser { entry, flow: flow.as_ref(), language }, scan_id);
    let link = link.ok_or_else(|| ApiError::unexpected(&"the platform has no link for this browser"))?;
    let user = query.simulated_user.as_deref().filter(|_| app.settings.development.enabled);
    Ok((cookie, user.map_or_else(|| link.clone(), |user| with_simulated_user(&link, user))))
}

/// The flow cookie of a phone, for PKCE. There is no record of it, so it proves nothing: this address is a link, and an attacker's
/// link must not make the browser accept the attacker's code as its own. An existing cookie is kept, since it may have a record.
fn phone_flow(app: &App, cookies: &Cookies) -> Result<(Option<Secret<Flow>>, SetCookie), ApiError> {
    if !app.auth.platform.supports_pkce() {
        return Ok((None, SetCookie::NONE));
    }
    let own = match cookies.get::<Flow>() {
        Some(own) => own,
        None => Secret::generate(&app.auth.entropy).map_err(Error::from)?,
    };
    Ok((Some(own), SetCookie::set(app, &own, PHONE_COOKIE_LIFETIME)))
}

/// A link to the simulated platform that needs no answer of a user.
fn with_simulated_user(link: &str, user: &str) -> String {
    let Ok(mut url) = Url::parse(link) else { return link.to_owned() };
    url.query_pairs_mut().append_pair(SIMULATED_USER, user);
    url.into()
}

/// The sign-in that the page obtains a code for.
#[derive(Debug, FromFields)]
pub(crate) struct ScriptQuery {
    /// The scan id, if a phone scanned a QR code.
    sid: Option<String>,
}

/// What the page needs to obtain a code by the platform's script.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "EntryScript")]
pub(crate) struct ScriptReply {
    script_url: String,
    module_url: String,
    /// What the module passes to the platform's script; public identifiers only.
    parameters: Value,
    /// The state to return to the callback with.
    state: String,
}

/// Returns what the page needs to obtain a code by the platform's script.
pub(crate) async fn script(
    app: App,
    cookies: Cookies,
    Query(input): Query<ScriptQuery>,
) -> Result<Reply<ScriptReply>, ApiError> {
    let script = app.auth.platform.script().ok_or(ApiError::NoPlatformScript)?;
    // Refused here, or else the page would come back as a browser that scanned nothing.
    let scan_id = input.sid.map(|sid| Secret::parse(&sid)).transpose();
    let scan_id = scan_id.map_err(|_| Error::from(Refusal::SignInOver))?;
    Ok(Reply(ScriptReply {
        script_url: script.script_url,
        module_url: format!("/assets/{}/{ENTRY_MODULE}", app.site.version),
        parameters: script.parameters,
        state: LoginState::new(false, cookies.get::<Flow>().as_ref(), scan_id.as_ref()).sealed(&app).to_string(),
    }))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use deskpass_core::Entropy;

    use super::*;

    #[test]
    fn a_scanned_address_is_read_whatever_it_contains() {
        let scan_id: Secret<ScanId> = Secret::generate(&Entropy::system()).unwrap();
        let query = ScannedQuery::read(&format!("sid={}&entry=browser&sim_user=user01", scan_id.expose()));
        assert_eq!(query.scan_id.unwrap().expose(), scan_id.expose());
        assert!(query.without_script);
        assert_eq!(query.simulated_user.as_deref(), Some("user01"));
        for query in ["", "sid", "sid=", "sid=dps_x", "sid=dps_x&entry=script", "&&=%ff", "entry=Browser"] {
            let query = ScannedQuery::read(query);
            assert!(query.scan_id.is_none() && !query.without_script && query.simulated_user.is_none(), "{query:?}");
        }
    }

    #[test]
    fn the_simulated_user_is_added_to_the_query() {
        let link = |link| with_simulated_user(link, "user01");
        assert_eq!(link("https://a.example/b?c=d%3A#e"), "https://a.example/b?c=d%3A&sim_user=user01#e");
        assert_eq!(link("https://a.example/b"), "https://a.example/b?sim_user=user01");
    }
}
