//! The page where a browser returns from the platform. Its parameters are in the fragment, which no server, log or referrer sees.

use axum::response::{IntoResponse as _, Response};
use deskpass_auth::{CallbackOutcome, PROOF_LIFETIME, QuestionKind, RedirectTarget, Refusal};
use deskpass_core::{Digest, LoginSource, Reference};
use hyper::StatusCode;
use hyper::header::LOCATION;
use url::Url;

use crate::App;
use crate::http::error::{ApiError, ErrorCause};
use crate::http::response::SetCookie;

/// The page that shows an error: the phone's own page for phones, otherwise the requested destination.
pub(crate) async fn error_destination(app: &App, phone: bool, flow: Option<Digest>) -> String {
    if phone {
        return format!("{}/scan/", app.settings.public_url);
    }
    let wanted = app.auth.destination(flow).await;
    wanted.ok().flatten().unwrap_or_else(|| page(app, LoginSource::H5))
}

/// Redirects a browser to its destination.
pub(crate) fn redirect(app: &App, answer: &CallbackOutcome) -> Response {
    let to = address(app, answer);
    let cookie = match answer {
        CallbackOutcome::Bind { proof, .. } => SetCookie::set(app, proof, PROOF_LIFETIME),
        CallbackOutcome::Decide(_)
        | CallbackOutcome::Answer(..)
        | CallbackOutcome::SignedIn(..)
        | CallbackOutcome::Continue(_) => SetCookie::NONE,
    };
    (cookie, see_other(&to)).into_response()
}

/// The address for an outcome.
pub(crate) fn address(app: &App, answer: &CallbackOutcome) -> String {
    let origin = &app.settings.public_url;
    let (page, fragment) = match answer {
        CallbackOutcome::Decide(confirm) => (format!("{origin}/scan/"), format!("confirm={}", confirm.expose())),
        CallbackOutcome::Answer(answer, kind) => {
            let page = match kind {
                QuestionKind::Approval => "approve",
                QuestionKind::Caller => "verify",
            };
            (format!("{origin}/{page}/"), format!("answer={}", answer.expose()))
        }
        CallbackOutcome::Continue(pending) => (format!("{origin}/continue/"), format!("continue={}", pending.expose())),
        CallbackOutcome::SignedIn(ticket, to) => (resolved(app, to), format!("ticket={}", ticket.expose())),
        CallbackOutcome::Bind { proof, to, scanned } => {
            let scanned = if *scanned { "&scanned=1" } else { "" };
            (resolved(app, to), format!("bind_ticket={}{scanned}", proof.expose()))
        }
    };
    with_fragment(&page, &fragment)
}

/// Redirects a browser to the page that shows the error, with a word from a closed list.
pub(crate) fn redirect_error(app: &App, wanted: &str, failure: &ApiError, reference: Reference) -> Response {
    let (word, code) = error_code(failure);
    app.metrics.count_refused_sign_in(word);
    // A refusal has its line from the flow that refused.
    if let ApiError::Internal(cause, detail) = failure
        && app.failure_log.admits(app.auth.clock.now())
    {
        tracing::error!(%cause, detail, %reference, "sign-in failed");
    }
    see_other(&with_fragment(wanted, &format!("error={word}&code={code}&ref={reference}")))
}

/// The word and the code of an error.
pub(crate) fn error_code(failure: &ApiError) -> (&'static str, u16) {
    let word = match failure {
        ApiError::Refused(Refusal::Denied | Refusal::AddressNotAllowed(_)) => "denied",
        ApiError::Refused(Refusal::InvalidCode | Refusal::SignInOver | Refusal::CodesLimited) => "invalid_code",
        ApiError::Refused(Refusal::NotAMember | Refusal::UnknownEmployee) => "not_a_member",
        ApiError::Refused(Refusal::HolderUnconfirmed) => "holder_unconfirmed",
        ApiError::Refused(Refusal::NoRole | Refusal::RoleNotHeld(_) | Refusal::RoleTakenAway(_)) => "no_role",
        ApiError::Refused(Refusal::Disabled | Refusal::LeftPlatform) => "disabled",
        ApiError::Refused(Refusal::NotAsked) => "not_asked",
        ApiError::Refused(Refusal::PhoneNeeded) => "phone_needed",
        ApiError::Refused(Refusal::QuestionOver) => "question_over",
        ApiError::Internal(
            ErrorCause::PlatformUnreachable
            | ErrorCause::PlatformGarbled
            | ErrorCause::PlatformRefused(_)
            | ErrorCause::PlatformSuspended(_),
            _,
        ) => "platform_unavailable",
        // Other details are not revealed to browsers that return from the platform.
        _ => return ("internal", 1005),
    };
    (word, failure.info().code)
}

/// The word of the page that shows a refusal.
pub(crate) fn refusal_word(refusal: &Refusal) -> &'static str {
    error_code(&ApiError::Refused(refusal.clone())).0
}

fn resolved(app: &App, destination: &RedirectTarget) -> String {
    match destination {
        RedirectTarget::Asked(address) => address.clone(),
        RedirectTarget::Client(source) => page(app, *source),
    }
}

fn page(app: &App, source: LoginSource) -> String {
    format!("{}/{}/", app.settings.public_url, source.name())
}

fn with_fragment(address: &str, fragment: &str) -> String {
    match Url::parse(address) {
        Ok(mut url) => {
            url.set_fragment(Some(fragment));
            url.into()
        }
        // Every address was validated when the flow started.
        Err(_) => format!("/#{fragment}"),
    }
}

/// Redirects a browser to an address.
pub(crate) fn see_other(to: &str) -> Response {
    (StatusCode::SEE_OTHER, [(LOCATION, to)]).into_response()
}
