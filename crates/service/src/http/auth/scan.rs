//! Sign-in with a QR code: for the browser that shows it, and for the phone that scans it.

use std::net::IpAddr;

use axum::extract::FromRequestParts;
use axum::response::IntoResponse as _;
use deskpass_auth::{ConfirmationPrompt, Error, IssuedTicket, TicketStatus};
use deskpass_core::{ClientInfo, Digest, MatchNumber, Secret, Ticket, rate_limit_address};
use hyper::Uri;
use hyper::header::{CONTENT_TYPE, HeaderName};
use hyper::http::request::Parts;
use schemars::JsonSchema;
use serde::Serialize;
use url::form_urlencoded;

use crate::App;
use crate::config::{Language, NumberMatching};
use crate::http::auth::platform_link::scan_link;
use crate::http::auth::qr_client::QrClient;
use crate::http::auth::scan_events::{self, ScanState};
use crate::http::error::{ApiError, FieldError};
use crate::http::request::{
    Cookies, DescribeInput, FromFields, InputSpec, JsonBody, RequestContext, RequestTrace, SigningInBrowser,
    run_to_completion, user_agent,
};
use crate::http::response::{Reply, SetCookie, SourceName, bind_browser, described_responses, landing, qr_picture};
use crate::timestamp::Rfc3339;

/// A sign-in ticket.
#[derive(JsonSchema, Serialize)]
pub(crate) struct QrCode {
    ticket: String,
    qrcode_url: String,
    qrcode_png_base64: String,
    expires_in: u64,
    expires_at: Rfc3339,
    /// The number to show below the QR code; missing unless `match` asked for it, or every code has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    match_number: Option<u8>,
}

impl QrCode {
    fn new(issued: &IssuedTicket, qrcode_url: String) -> Result<Self, ApiError> {
        Ok(Self {
            ticket: issued.ticket.expose().to_owned(),
            qrcode_png_base64: qr_picture::png_base64(&qrcode_url)?,
            qrcode_url,
            expires_in: issued.lifetime.as_secs(),
            expires_at: Rfc3339(issued.expires_at),
            match_number: issued.number.map(MatchNumber::get),
        })
    }
}

/// Starts a sign-in. Only the caller gets the ticket; the picture contains a scan id, which is useless without a phone.
pub(crate) async fn qrcode(
    app: App,
    language: Language,
    visitor: ClientInfo,
    QrClient { source, client, with_number }: QrClient,
    cookies: Cookies,
) -> Result<(SetCookie, Reply<QrCode>), ApiError> {
    let (bound_to, set_cookie) = bind_browser(&app, &cookies)?;
    let issued = app.auth.issue_ticket(source, client, visitor, bound_to, with_number).await?;
    let qrcode_url = scan_link(&app, language, &issued.scan_id);
    let qrcode_url = qrcode_url.ok_or_else(|| ApiError::unexpected(&"the platform has no link for phones"))?;
    Ok((set_cookie, Reply(QrCode::new(&issued, qrcode_url)?)))
}

/// The ticket in a query. Browsers poll every two seconds, so the rest of the query is not parsed.
#[derive(Debug, FromFields)]
pub(crate) struct TicketQuery(#[field(name = "ticket")] String);

impl TicketQuery {
    fn in_query(uri: &Uri) -> Result<Self, FieldError> {
        let query = uri.query().unwrap_or_default();
        if let Some(ticket) = query.strip_prefix("ticket=").filter(|ticket| is_unescaped(ticket)) {
            return Ok(Self(ticket.to_owned()));
        }
        let mut tickets = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "ticket");
        match (tickets.next(), tickets.next()) {
            (Some((_, ticket)), None) => Ok(Self(ticket.into_owned())),
            (None, _) => Err(FieldError::Required),
            (Some(_), Some(_)) => Err(FieldError::Repeated),
        }
    }
}

/// Whether a value needs no decoding and no other field follows it.
fn is_unescaped(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// The digest of the ticket in a request, if it is well-formed.
pub(crate) fn ticket_digest(uri: &Uri) -> Option<Digest> {
    let TicketQuery(ticket) = TicketQuery::in_query(uri).ok()?;
    Secret::<Ticket>::parse(&ticket).ok().map(|ticket| ticket.digest())
}

impl FromRequestParts<RequestContext> for TicketQuery {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, _: &RequestContext) -> Result<Self, ApiError> {
        Self::in_query(&parts.uri).map_err(|problem| ApiError::field("ticket", problem))
    }
}

impl DescribeInput for TicketQuery {
    fn describe_input(spec: &mut InputSpec) {
        spec.reads_query::<Self>();
    }
}

/// Returns the state of a sign-in, with the token once it is available.
pub(crate) async fn scan_status(
    app: App,
    cookies: Cookies,
    browser: SigningInBrowser,
    TicketQuery(ticket): TicketQuery,
) -> Result<Reply<ScanState>, ApiError> {
    let status = app.auth.poll_ticket(&ticket, &cookies.poller()).await?;
    if let TicketStatus::Confirmed(_, token) = &status {
        browser.signed_in(&app, token.digest()).await;
    }
    Ok(Reply(status.into()))
}

described_responses! {
    /// The stream of states.
    ScanEvents: |spec| spec.replies_plain("text/event-stream");
}

/// Streams the states of a sign-in, so that the browser need not poll.
pub(crate) async fn scan_events(
    app: App,
    visitor: ClientInfo,
    cookies: Cookies,
    browser: SigningInBrowser,
    TicketQuery(ticket): TicketQuery,
) -> ScanEvents {
    // Asks proxies not to buffer the response.
    let head = [(CONTENT_TYPE, "text/event-stream"), (HeaderName::from_static("x-accel-buffering"), "no")];
    ScanEvents(
        (head, scan_events::stream(app, ticket, cookies.poller(), browser, visitor.address.decided)).into_response(),
    )
}

/// The request of the phone's page: to read the sign-in, or to report that it was shown.
#[derive(Debug, FromFields)]
pub(crate) struct ScanRequestBody {
    confirm: String,
    /// Whether the page shows the sign-in to the user; `false` unless given.
    #[field(default = false)]
    shown: bool,
}

/// The phone's decision to sign in.
#[derive(Debug, FromFields)]
pub(crate) struct ConfirmBody {
    confirm: String,
    /// The number that the user picked; required where the request has `choices`.
    number: Option<MatchNumber>,
}

/// The phone's decision not to sign in.
#[derive(Debug, FromFields)]
pub(crate) struct CancelBody {
    confirm: String,
}

/// The sign-in that the phone's page shows.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct ScanRequest {
    client: SourceName,
    /// The name of the OpenID Connect client; null for the clients of this service.
    client_name: Option<String>,
    /// The host that the OpenID Connect client leads to; null for the clients of this service.
    client_host: Option<String>,
    browser: String,
    os: &'static str,
    /// Null where it is not known: a proxy in front does not name its client.
    ip_address: Option<String>,
    /// Null where either address is not known.
    same_network: Option<bool>,
    /// Whether another page opened the link on the phone, as far as its browser reports.
    opened_by_page: bool,
    requested_at: Rfc3339,
    expires_in: u64,
    employee_id: String,
    name: String,
    /// The numbers of which the user must pick the one on the screen; null where the screen shows none.
    choices: Option<[u8; 3]>,
    /// Whether the settings want a number and the screen shows none: the code did not come from the sign-in page.
    number_missing: bool,
}

impl ScanRequest {
    fn new(app: &App, decision: ConfirmationPrompt) -> Self {
        let ConfirmationPrompt { asked, who, phone, opened_by_page, remaining, choices } = decision;
        let (browser, os) = user_agent::describe(asked.visitor.user_agent.as_str());
        let (client_name, client_host) = asked.client.unzip();
        let [here, there] = [asked.visitor, phone].map(|visitor| known_ip(app, visitor.address.decided));
        Self {
            client: SourceName(asked.source),
            client_name,
            client_host,
            browser,
            os,
            ip_address: here.map(|address| address.to_string()),
            same_network: here.zip(there).map(|(here, there)| rate_limit_address(here) == rate_limit_address(there)),
            opened_by_page,
            requested_at: Rfc3339(asked.at),
            expires_in: remaining.as_secs(),
            name: who.display_name().to_owned(),
            employee_id: who.employee_id,
            number_missing: choices.is_none() && app.settings.qr.number_match != NumberMatching::Off,
            choices: choices.map(|choices| choices.map(MatchNumber::get)),
        }
    }
}

/// An address, unless it is of a proxy that did not name its client. In development mode clients have the addresses of proxies.
pub(super) fn known_ip(app: &App, address: IpAddr) -> Option<IpAddr> {
    (app.settings.development.enabled || !app.trusted.contains(address)).then_some(address)
}

/// Returns the sign-in that the phone is asked to confirm, and records that it was shown once the page says so.
pub(crate) async fn scan_request(
    app: App,
    JsonBody(input): JsonBody<ScanRequestBody>,
) -> Result<Reply<ScanRequest>, ApiError> {
    let ScanRequestBody { confirm, shown } = &input;
    let decision =
        if *shown { app.auth.mark_prompt_shown(confirm).await? } else { app.auth.confirmation_prompt(confirm).await? };
    Ok(Reply(ScanRequest::new(&app, decision)))
}

/// The decision was recorded.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct ScanDecided {
    success: bool,
}

/// Confirms the sign-in on the phone.
pub(crate) async fn confirm(
    app: App,
    trace: RequestTrace,
    JsonBody(input): JsonBody<ConfirmBody>,
) -> Result<Reply<ScanDecided>, ApiError> {
    let confirmed = run_to_completion(confirm_traced(app.clone(), trace, input)).await;
    confirmed.inspect_err(|failure| app.metrics.count_refused_sign_in(landing::error_code(failure).0))?;
    Ok(Reply(ScanDecided { success: true }))
}

/// Confirms a sign-in. After a failure it is open again, so its person is known for the line in the log.
async fn confirm_traced(app: App, trace: RequestTrace, input: ConfirmBody) -> Result<(), Error> {
    let ConfirmBody { confirm, number } = input;
    let confirmed = app.auth.confirm(&confirm, number, trace.reference).await;
    if let Err(Error::Internal(_)) = &confirmed
        && let Ok(prompt) = app.auth.confirmation_prompt(&confirm).await
    {
        trace.set_employee(&prompt.who.key);
    }
    confirmed
}

/// Cancels the sign-in on the phone.
pub(crate) async fn cancel(
    app: App,
    trace: RequestTrace,
    JsonBody(input): JsonBody<CancelBody>,
) -> Result<Reply<ScanDecided>, ApiError> {
    app.auth.cancel(&input.confirm, trace.reference).await?;
    Ok(Reply(ScanDecided { success: true }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::error::FieldErrors;
    use crate::http::request::Fields;

    /// The fast path that reads the ticket must agree with the general parser that the description is made from.
    #[test]
    fn the_ticket_is_read_as_it_is_described() {
        for query in [
            "",
            "ticket=",
            "ticket=a",
            "ticket=-_aZ09",
            "ticket=a+b",
            "ticket=a%2Db",
            "ticket=a=b",
            "a=b&ticket=%20&c",
            "ticket",
            "ticket=a&ticket=b",
            "Ticket=a",
        ] {
            let uri = Uri::builder().path_and_query(format!("/?{query}")).build().unwrap_or_default();
            let pairs = form_urlencoded::parse(query.as_bytes());
            let fields: Fields = pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
            let described = fields.parse::<TicketQuery>().map(|TicketQuery(ticket)| ticket);
            let read = TicketQuery::in_query(&uri).map(|TicketQuery(ticket)| ticket);
            assert_eq!(read.map_err(|problem| FieldErrors::from([("ticket".into(), problem)])), described, "{query}");
        }
    }
}
