//! How somebody signed in lately, for them to see and to disown.

use axum::extract::State;
use deskpass_core::{Digest, LoginMethod, LoginSource};
use deskpass_store::{Consequences, Event, SignIn};
use schemars::JsonSchema;
use serde::Serialize;

use super::browser;
use super::envelope::Reply;
use super::extract::{Guest, Holder};
use super::failure::Failure;
use super::fields::{Ask, Fields};
use super::login::iso;
use super::openapi::{MethodName, Moment, SourceName};
use super::query::Path;
use crate::Desk;

/// A sign-in, or a refused one.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "SignIn")]
pub(super) struct SignInShown {
    id: String,
    #[schemars(with = "Moment")]
    at: String,
    signed_in: bool,
    /// Why not, where it was refused.
    reason: Option<String>,
    device: String,
    user_agent: String,
    ip_address: String,
    /// The address that limits and allow-lists decided by; `null` in rows of earlier versions.
    decided_address: Option<String>,
    #[schemars(with = "Option<MethodName>")]
    login_method: Option<LoginMethod>,
    #[schemars(with = "Option<SourceName>")]
    login_source: Option<LoginSource>,
    /// The session that began with it, while it lives.
    session_id: Option<String>,
    /// Whether that is the one in which the list is asked for.
    current: bool,
    #[schemars(with = "Option<Moment>")]
    disowned_at: Option<String>,
}

impl SignInShown {
    fn of(SignIn { row, session, disowned_at }: SignIn, asking: Digest) -> Self {
        Self {
            id: row.id,
            at: iso(row.at),
            signed_in: row.event == Event::SignIn.name(),
            reason: row.reason,
            device: browser::device(&row.user_agent),
            user_agent: row.user_agent,
            ip_address: row.ip_address,
            decided_address: row.decided_address,
            login_method: LoginMethod::from_name(&row.method),
            login_source: LoginSource::from_name(&row.source),
            session_id: session.map(|session| session.to_text()),
            current: session == Some(asking),
            disowned_at: disowned_at.map(iso),
        }
    }
}

/// Somebody's sign-ins.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct OwnSignIns {
    items: Vec<SignInShown>,
}

/// Lists the caller's sign-ins and refused ones, the newest first.
pub(super) async fn list(State(desk): State<Desk>, holder: Holder) -> Result<Reply<OwnSignIns>, Failure> {
    let (asking, sign_ins) = (holder.digest(), desk.auth.sign_ins(&holder).await?);
    Ok(Reply(OwnSignIns { items: sign_ins.into_iter().map(|sign_in| SignInShown::of(sign_in, asking)).collect() }))
}

/// A sign-in, as a path names it.
#[derive(Debug)]
pub(super) struct NamedSignIn(String);

impl Ask for NamedSignIn {
    fn read(fields: &mut Fields) -> Option<Self> {
        Some(Self(fields.sign_in("id")?))
    }
}

/// A sign-in that was disowned.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct Disowned {
    success: bool,
    ended: usize,
    /// How many administrators are told.
    told: usize,
}

/// Takes the caller's word that a sign-in was somebody else's.
pub(super) async fn not_me(
    State(desk): State<Desk>,
    holder: Holder,
    Path(NamedSignIn(id)): Path<NamedSignIn>,
    Guest(visitor): Guest,
) -> Result<Reply<Disowned>, Failure> {
    let Consequences { ended, told } = desk.auth.disown(&holder, id, &visitor).await?;
    Ok(Reply(Disowned { success: true, ended, told }))
}
