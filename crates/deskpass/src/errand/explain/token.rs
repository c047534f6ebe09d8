//! What became of a token. Here only what it hashes to is known.

use deskpass_auth::{Auth, Error, Holder, Reason, Refusal, TokenProblem};
use deskpass_core::{Digest, KindName};
use deskpass_store::{HalfFound, ListedSession, ServiceKey};

use super::super::Told;
use super::super::table::{plain, table};
use super::super::text::{names, second, trouble};
use super::describe::{from_where, key};
use super::reason;

pub(super) async fn explain(auth: &Auth, kind: KindName, digest: Digest) -> Told {
    match kind {
        KindName::Access => session(auth, digest).await,
        KindName::Half => half(auth, digest).await,
        KindName::ServiceKey => service_key(auth, digest).await,
        KindName::KnownBrowser
        | KindName::Ticket
        | KindName::ScanId
        | KindName::Confirm
        | KindName::Browser
        | KindName::Flow
        | KindName::Pending
        | KindName::BindProof => {
            Ok(format!("{}\n\nIt signs nobody in by itself, and is not looked up here.", is_whole(kind)))
        }
    }
}

/// What a kind is for.
pub(crate) const fn purpose(kind: KindName) -> &'static str {
    match kind {
        KindName::Access => "an access token: it opens a session",
        KindName::Half => {
            "a half-authenticated token: it completes a sign-in with a one-time password, within 10 minutes"
        }
        KindName::KnownBrowser => "the cookie of a browser in which an agent has signed in",
        KindName::Ticket => "a ticket: whoever shows it collects one sign-in, within some minutes",
        KindName::ScanId => "what a QR code shows: it names a sign-in to a phone",
        KindName::Confirm => "a phone's secret: it decides about one sign-in that it has scanned",
        KindName::Browser => "a browser's cookie that ties tickets to it",
        KindName::Flow => "a browser's cookie that says that it began a sign-in",
        KindName::Pending => "what completes a sign-in that another browser began",
        KindName::BindProof => "a proof that the platform identified somebody of a connected corporation",
        KindName::ServiceKey => "a service key: another service shows it when it asks",
    }
}

fn is_whole(kind: KindName) -> String {
    format!("This is {}.\nIt is whole: nothing is missing or mistyped.", purpose(kind))
}

/// What is wrong, and what to do about it.
fn verdict(reason: Reason) -> String {
    let [what, next] = reason::told(reason);
    format!("It is not good ({}). {what}\n{next}", reason.word())
}

async fn session(auth: &Auth, digest: Digest) -> Told {
    let failed = |error: deskpass_store::StoreError| trouble(&error.into());
    let listed = auth.store.find_session(digest).await.map_err(failed)?;
    let verdict = match auth.holder(digest).await {
        Ok(holder) => live(auth, &holder, listed.as_ref()).await?,
        Err(Error::Refused(refusal)) => verdict(refusal.reason()),
        Err(error) => return Err(trouble(&error)),
    };
    let known = listed.as_ref().map_or_else(String::new, |listed| format!("\n\n{}", table(&lines(listed))));
    Ok(format!("{}{known}\n\n{verdict}", is_whole(KindName::Access)))
}

fn lines(listed: &ListedSession) -> Vec<[String; 2]> {
    let session = &listed.session;
    let from = listed.ip_address.as_ref().map_or_else(String::new, |address| format!(" from {address}"));
    let (method, source) = (session.method.name(), session.source.name());
    let mut lines = vec![
        ["whose".to_owned(), format!("{} ({}) of {}", listed.employee_id, listed.name, session.employee.corp())],
        ["signed in".to_owned(), format!("{}{from} by {method}, to {source}", second(session.created_at))],
        ["active role".to_owned(), session.current_role.name().to_owned()],
        ["until".to_owned(), second(session.expires_at)],
    ];
    lines.extend(listed.seen_at.map(|seen| ["last used".to_owned(), format!("about {}", second(seen))]));
    lines
}

/// Of a token whose session goes on: whether its role does, and from where.
async fn live(auth: &Auth, holder: &Holder, listed: Option<&ListedSession>) -> Told {
    let role = holder.session().current_role;
    if let Err(refusal) = holder.clone().into_caller() {
        return Ok(format!("{}\nThe roles that count in it: {}", verdict(refusal.reason()), names(holder.roles)));
    }
    let lists = &auth.store.rulebook().await.map_err(|error| trouble(&error.into()))?.lists;
    let began = listed.and_then(|listed| listed.ip_address.as_deref()).and_then(|address| address.parse().ok());
    let barred = began.filter(|address| !lists.allow(role, *address));
    let barred = barred.map_or_else(String::new, |address| {
        let reason = Reason::AddressNotAllowed.word();
        format!("\nFrom {address}, where it began, it is not good ({reason}): `deskpass ip-rule list` shows the lists.")
    });
    Ok(format!("It is good. {role} may be active {}.{barred}", from_where(lists, role)))
}

async fn half(auth: &Auth, digest: Digest) -> Told {
    let is_whole = is_whole(KindName::Half);
    let found = auth.store.half(&digest).await.map_err(|error| trouble(&error.into()))?;
    let problem = |problem: TokenProblem| verdict(Refusal::Token(problem).reason());
    Ok(match found {
        HalfFound::Half(half) => {
            let lines = [["whose".to_owned(), key(&half.employee)], ["until".to_owned(), second(half.expires_at)]];
            let over = half.expires_at <= auth.clock.now();
            let told = if over { problem(TokenProblem::Expired) } else { "It is good.".to_owned() };
            format!("{is_whole}\n\n{}\n\n{told}", table(&lines))
        }
        HalfFound::Denied(ended) => format!("{is_whole}\n\n{}", problem(TokenProblem::Ended(ended))),
        HalfFound::Nothing => format!("{is_whole}\n\n{}", problem(TokenProblem::Unknown)),
    })
}

async fn service_key(auth: &Auth, digest: Digest) -> Told {
    let is_whole = is_whole(KindName::ServiceKey);
    let found = auth.store.service_key_of(digest).await.map_err(|error| trouble(&error.into()))?;
    let Some(ServiceKey { id, name, scopes, expires_at, revoked_at, .. }) = &found else {
        return Ok(format!("{is_whole}\n\n{}", verdict(Reason::Unknown)));
    };
    let mut lines = vec![
        ["id".to_owned(), id.clone()],
        ["name".to_owned(), plain(name)],
        ["scopes".to_owned(), scopes.to_string()],
        ["until".to_owned(), second(*expires_at)],
    ];
    lines.extend(revoked_at.map(|at| ["revoked".to_owned(), second(at)]));
    let state = found.as_ref().map_or("", |key| key.state(auth.clock.now()));
    let told = match state {
        "active" => "It is good.".to_owned(),
        state => format!("It is not good ({state}). `deskpass service-key create` makes another."),
    };
    Ok(format!("{is_whole}\n\n{}\n\n{told}", table(&lines)))
}
