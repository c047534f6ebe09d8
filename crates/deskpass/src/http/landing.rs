//! Where a browser lands that comes back from the platform. What it must know stands behind the `#`, which no server, log
//! or referrer sees.

use axum::response::{IntoResponse as _, Response};
use deskpass_auth::{Answer, Destination, PROOF_LIFETIME, Refusal};
use deskpass_core::{Digest, LoginSource};
use hyper::StatusCode;
use hyper::header::LOCATION;
use url::Url;

use super::cookie::SetCookie;
use super::failure::{Cause, Failure};
use crate::Desk;

/// What somebody who was not let in is told.
pub(crate) const WORDS: [&str; 7] =
    ["denied", "invalid_code", "not_a_member", "no_role", "disabled", "platform_unavailable", "internal"];

/// Where to tell somebody that it did not work: the phone on its own page, everybody else where they wanted to be.
pub(super) async fn wanted(desk: &Desk, phone: bool, flow: Option<Digest>) -> String {
    if phone {
        return format!("{}/scan/", desk.settings.public_url);
    }
    match desk.auth.destination(flow).await {
        Ok(Some(destination)) => destination,
        Ok(None) | Err(_) => page(desk, LoginSource::H5),
    }
}

/// Sends a browser to where it belongs.
pub(super) fn arrived(desk: &Desk, answer: &Answer) -> Response {
    let to = address(desk, answer);
    let cookie = match answer {
        Answer::Bind { proof, .. } => SetCookie::keep(desk, proof, PROOF_LIFETIME),
        Answer::Decide(_) | Answer::SignedIn(..) | Answer::Continue(_) => SetCookie::NONE,
    };
    (cookie, see_other(&to)).into_response()
}

/// The address that goes with an answer.
pub(super) fn address(desk: &Desk, answer: &Answer) -> String {
    let origin = &desk.settings.public_url;
    match answer {
        Answer::Decide(confirm) => with_fragment(&format!("{origin}/scan/"), &format!("confirm={}", confirm.expose())),
        Answer::Continue(pending) => {
            with_fragment(&format!("{origin}/continue/"), &format!("continue={}", pending.expose()))
        }
        Answer::SignedIn(ticket, to) => with_fragment(&resolved(desk, to), &format!("ticket={}", ticket.expose())),
        Answer::Bind { proof, to, scanned } => {
            let scanned = if *scanned { "&scanned=1" } else { "" };
            with_fragment(&resolved(desk, to), &format!("bind_ticket={}{scanned}", proof.expose()))
        }
    }
}

/// Sends a browser to where it is told what went wrong, in a word from a closed list.
pub(super) fn failed(desk: &Desk, wanted: &str, failure: &Failure) -> Response {
    let reference = desk.reference();
    let (word, code) = word(failure);
    desk.metrics.refused(word);
    if let Failure::Internal(cause, detail) = failure {
        tracing::error!(?cause, detail, reference, "a sign-in failed");
    } else {
        tracing::info!(word, reference, "a sign-in was refused");
    }
    see_other(&with_fragment(wanted, &format!("error={word}&code={code}&ref={reference}")))
}

/// The word and the code for what went wrong.
pub(super) fn word(failure: &Failure) -> (&'static str, u16) {
    match failure {
        Failure::Refused(refusal) => match refusal {
            Refusal::Denied => ("denied", 1003),
            Refusal::InvalidCode => ("invalid_code", 1003),
            Refusal::Over => ("invalid_code", 1019),
            Refusal::NotAMember | Refusal::UnknownEmployee => ("not_a_member", 1003),
            Refusal::NoRole | Refusal::RoleNotHeld(_) | Refusal::RoleTakenAway(_) => ("no_role", 1003),
            Refusal::Disabled => ("disabled", 1003),
            Refusal::AddressNotAllowed(_) => ("denied", 1017),
            // Nobody who comes back from the platform is told anything else.
            _ => ("internal", 1005),
        },
        Failure::Internal(
            Cause::PlatformUnreachable
            | Cause::PlatformGarbled
            | Cause::PlatformRefused(_)
            | Cause::PlatformSuspended(_),
            _,
        ) => ("platform_unavailable", 1005),
        _ => ("internal", 1005),
    }
}

fn resolved(desk: &Desk, destination: &Destination) -> String {
    match destination {
        Destination::Asked(address) => address.clone(),
        Destination::Client(source) => page(desk, *source),
    }
}

fn page(desk: &Desk, source: LoginSource) -> String {
    format!("{}/{}/", desk.settings.public_url, source.name())
}

fn with_fragment(address: &str, fragment: &str) -> String {
    match Url::parse(address) {
        Ok(mut url) => {
            url.set_fragment(Some(fragment));
            url.into()
        }
        // Every address was checked when it was asked for.
        Err(_) => format!("/#{fragment}"),
    }
}

fn see_other(to: &str) -> Response {
    (StatusCode::SEE_OTHER, [(LOCATION, to)]).into_response()
}
