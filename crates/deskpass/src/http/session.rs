//! The life of a session, as clients ask for it.

use axum::extract::State;
use deskpass_auth::Caller;
use deskpass_core::{LoginSource, Role, Roles};
use serde::{Serialize, Serializer};

use super::envelope::Reply;
use super::extract::{self, Body, Guest, Holder, Reads};
use super::failure::Failure;
use super::fields::{Ask, Fields};
use crate::Desk;
use crate::config::Language;

/// A token to look at.
#[derive(Debug)]
pub(super) struct Verify {
    token: String,
}

impl Ask for Verify {
    fn read(fields: &mut Fields) -> Option<Self> {
        Some(Self { token: fields.text("token")? })
    }
}

/// What a token turned out to be.
#[derive(Debug)]
pub(super) struct Verification(Option<deskpass_auth::Caller>);

impl Serialize for Verification {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Refused {
            valid: bool,
        }
        #[derive(Serialize)]
        struct Verified<'a> {
            valid: bool,
            employee_id: &'a str,
            name: &'a str,
            roles: Roles,
            current_role: Role,
            login_source: LoginSource,
            expires_in: u64,
        }
        // A token that is not valid says nothing else, whatever is wrong with it.
        let Some(Caller(holder)) = &self.0 else { return Refused { valid: false }.serialize(serializer) };
        let verified = Verified {
            valid: true,
            employee_id: &holder.person().employee_id,
            name: &holder.person().name,
            roles: holder.roles,
            current_role: holder.session().current_role,
            login_source: holder.session().source,
            expires_in: holder.remaining.as_secs(),
        };
        verified.serialize(serializer)
    }
}

/// Says whether a token is good, and whose it is.
pub(super) async fn verify(State(desk): State<Desk>, Body(ask): Body<Verify>) -> Result<Reply<Verification>, Failure> {
    Ok(Reply(Verification(desk.auth.verify(&ask.token).await?)))
}

/// The current user.
#[derive(Debug)]
pub(super) struct Me(extract::Caller);

impl Serialize for Me {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct User<'a> {
            employee_id: &'a str,
            corp_id: &'a str,
            name: &'a str,
            avatar: &'a str,
            department: &'a str,
            roles: Roles,
            current_role: Role,
            login_source: LoginSource,
        }
        let person = self.0.person();
        let user = User {
            employee_id: &person.employee_id,
            corp_id: person.key.corp(),
            name: &person.name,
            avatar: &person.avatar,
            department: &person.department,
            roles: self.0.roles,
            current_role: self.0.session().current_role,
            login_source: self.0.session().source,
        };
        user.serialize(serializer)
    }
}

/// Says who is calling.
pub(super) async fn me(caller: extract::Caller) -> Reply<Me> {
    Reply(Me(caller))
}

/// A change that was made, in a word to the person.
#[derive(Debug, Serialize)]
pub(super) struct Done {
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    current_role: Option<Role>,
    message: &'static str,
}

/// Ends the caller's session for good.
pub(super) async fn logout(
    State(desk): State<Desk>,
    holder: Holder,
    Guest(visitor): Guest,
    Reads(language): Reads,
) -> Result<Reply<Done>, Failure> {
    desk.auth.logout(&holder, &visitor).await?;
    let message = match language {
        Language::En => "signed out",
        Language::Zh => "已退出登录",
    };
    Ok(Reply(Done { success: true, current_role: None, message }))
}

/// A role to act in.
#[derive(Debug)]
pub(super) struct SwitchRole {
    role: String,
}

impl Ask for SwitchRole {
    fn read(fields: &mut Fields) -> Option<Self> {
        Some(Self { role: fields.text("role")? })
    }
}

/// Makes the requested role the active one.
pub(super) async fn switch_role(
    State(desk): State<Desk>,
    holder: Holder,
    Guest(visitor): Guest,
    Reads(language): Reads,
    Body(ask): Body<SwitchRole>,
) -> Result<Reply<Done>, Failure> {
    let session = desk.auth.switch_role(&holder, &ask.role, &visitor).await?;
    let message = match language {
        Language::En => "role switched",
        Language::Zh => "角色已切换",
    };
    Ok(Reply(Done { success: true, current_role: Some(session.current_role), message }))
}
