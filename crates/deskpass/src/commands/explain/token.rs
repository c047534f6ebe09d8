//! Explains the state of a token, from its digest alone.

use deskpass_auth::{Auth, Error, Refusal, TokenError, TokenHolder};
use deskpass_core::{Digest, SecretKindName};
use deskpass_store::{ListedSession, PartialSessionLookup, ServiceKey};

use super::super::CommandResult;
use super::super::table::{plain, table};
use super::super::text::{describe_error, role_list};
use super::describe::{allowed_networks, employee_label};
use crate::timestamp::format_utc;

pub(super) async fn explain(auth: &Auth, kind: SecretKindName, digest: Digest) -> CommandResult {
    match kind {
        SecretKindName::Access => session(auth, digest).await,
        SecretKindName::Half => half(auth, digest).await,
        SecretKindName::ServiceKey => service_key(auth, digest).await,
        SecretKindName::KnownBrowser
        | SecretKindName::Ticket
        | SecretKindName::ScanId
        | SecretKindName::Confirm
        | SecretKindName::Browser
        | SecretKindName::Flow
        | SecretKindName::Pending
        | SecretKindName::BindProof => {
            Ok(format!("{}\n\nIt is not a session, so its state is not looked up.", intact_notice(kind)))
        }
    }
}

/// The purpose of a kind of token.
pub(crate) const fn describe_token_kind(kind: SecretKindName) -> &'static str {
    match kind {
        SecretKindName::Access => "an access token, the token of a session",
        SecretKindName::Half => {
            "a half-authenticated token, which completes a sign-in with a one-time password within 10 minutes"
        }
        SecretKindName::KnownBrowser => "the cookie of a browser in which an agent has signed in before",
        SecretKindName::Ticket => "a sign-in ticket, which collects the token of one sign-in within minutes",
        SecretKindName::ScanId => "a scan id, which a QR code contains to identify a sign-in to the phone",
        SecretKindName::Confirm => "a phone's secret, which confirms or cancels the sign-in that the phone scanned",
        SecretKindName::Browser => "a browser's cookie, which ties tickets to that browser",
        SecretKindName::Flow => "a browser's cookie, which proves that it started a sign-in",
        SecretKindName::Pending => "a secret that completes a sign-in started in another browser",
        SecretKindName::BindProof => {
            "a bind ticket, which proves that the platform identified a user of a connected corporation"
        }
        SecretKindName::ServiceKey => "a service key, with which another service calls this one",
    }
}

fn intact_notice(kind: SecretKindName) -> String {
    format!("This is {}.\nIt is complete: nothing is missing or mistyped.", describe_token_kind(kind))
}

/// The reason why the token is not valid, and how to fix it.
fn verdict(refusal: &Refusal) -> String {
    let info = refusal.info();
    let explanation = info.explanation.map_or_else(|| refusal.to_string(), |[what, next]| format!("{what}\n{next}"));
    format!("It is not valid ({}). {explanation}", info.reason)
}

async fn session(auth: &Auth, digest: Digest) -> CommandResult {
    let listed = auth.store.find_session(digest).await.map_err(describe_error)?;
    let verdict = match auth.authenticate_untouched(digest).await {
        Ok(holder) => live_verdict(auth, &holder, listed.as_ref()).await?,
        Err(Error::Refused(refusal)) => verdict(&refusal),
        Err(error) => return Err(describe_error(error)),
    };
    let known = listed.as_ref().map_or_else(String::new, |listed| format!("\n\n{}", table(&lines(listed))));
    Ok(format!("{}{known}\n\n{verdict}", intact_notice(SecretKindName::Access)))
}

fn lines(listed: &ListedSession) -> Vec<[String; 2]> {
    let session = &listed.session;
    let from = listed.ip_address.as_ref().map_or_else(String::new, |address| format!(" from {address}"));
    let (method, source) = (session.method.name(), session.source.name());
    let mut lines = vec![
        ["owner".to_owned(), format!("{} ({}) of {}", listed.employee_id, listed.name, session.employee.corp())],
        ["signed in".to_owned(), format!("{}{from} by {method}, to {source}", format_utc(session.created_at))],
        ["active role".to_owned(), session.current_role.name().to_owned()],
        ["expires".to_owned(), format_utc(session.expires_at)],
    ];
    lines.extend(listed.seen_at.map(|seen| ["last used".to_owned(), format!("about {}", format_utc(seen))]));
    lines
}

/// For a token of a live session: whether its role is still held, and from which networks it may be active.
async fn live_verdict(auth: &Auth, holder: &TokenHolder, listed: Option<&ListedSession>) -> CommandResult {
    let role = holder.session().current_role;
    if let Err(refusal) = holder.clone().into_active_user() {
        return Ok(format!("{}\nRoles that it can switch to: {}", verdict(&refusal), role_list(holder.roles)));
    }
    let lists = &auth.store.access_rules().await.map_err(describe_error)?.lists;
    let began = listed.and_then(|listed| listed.ip_address.as_deref()).and_then(|address| address.parse().ok());
    let barred = began.filter(|address| !lists.allow(role, *address));
    let barred = barred.map_or_else(String::new, |address| {
        let reason = Refusal::AddressNotAllowed(role).reason();
        format!("\nFrom {address}, where it began, it is not valid ({reason}): see `deskpass ip-rule list`.")
    });
    Ok(format!("It is valid. {role} may be active {}.{barred}", allowed_networks(lists, role)))
}

async fn half(auth: &Auth, digest: Digest) -> CommandResult {
    let intact_notice = intact_notice(SecretKindName::Half);
    let found = auth.store.partial_session(&digest).await.map_err(describe_error)?;
    let problem = |problem: TokenError| verdict(&Refusal::Token(problem));
    Ok(match found {
        PartialSessionLookup::Found(half) => {
            let lines = [
                ["owner".to_owned(), employee_label(&half.employee)],
                ["expires".to_owned(), format_utc(half.expires_at)],
            ];
            let over = half.expires_at <= auth.clock.now();
            let message = if over { problem(TokenError::Expired) } else { "It is valid.".to_owned() };
            format!("{intact_notice}\n\n{}\n\n{message}", table(&lines))
        }
        PartialSessionLookup::Denied(ended) => format!("{intact_notice}\n\n{}", problem(ended.into())),
        PartialSessionLookup::NotFound => format!("{intact_notice}\n\n{}", problem(TokenError::Unknown)),
    })
}

async fn service_key(auth: &Auth, digest: Digest) -> CommandResult {
    let intact_notice = intact_notice(SecretKindName::ServiceKey);
    let found = auth.store.service_key_of(digest).await.map_err(describe_error)?;
    let Some(ServiceKey { id, name, scopes, expires_at, revoked_at, .. }) = &found else {
        return Ok(format!("{intact_notice}\n\n{}", verdict(&Refusal::Token(TokenError::Unknown))));
    };
    let mut lines = vec![
        ["id".to_owned(), id.clone()],
        ["name".to_owned(), plain(name)],
        ["scopes".to_owned(), scopes.to_string()],
        ["expires".to_owned(), format_utc(*expires_at)],
    ];
    lines.extend(revoked_at.map(|at| ["revoked".to_owned(), format_utc(at)]));
    let state = found.as_ref().map_or("", |key| key.state(auth.clock.now()));
    let message = match state {
        "active" => "It is valid.".to_owned(),
        state => format!("It is not valid ({state}). To create another: deskpass service-key create"),
    };
    Ok(format!("{intact_notice}\n\n{}\n\n{message}", table(&lines)))
}
