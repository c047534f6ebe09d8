//! Admin commands about roles.

use std::time::Duration;

use deskpass_auth::{Administrator, Auth, Error, ROLE_LIFETIMES, Refusal};
use deskpass_core::{MAX_REASON_CHARS, Role, parse_reason};

use super::text::no_such_role;
use super::{CommandResult, EmployeeSelector};
use crate::timestamp::format_utc;

pub(super) async fn grant(auth: &Auth, who: &EmployeeSelector, role: &str) -> CommandResult {
    let granted = auth.operator().grant(who.key(auth)?, role).await.map_err(|error| who.explain(error))?;
    let holds = if granted { "now holds" } else { "already held" };
    Ok(format!("{} {holds} the role {role}", who.employee))
}

/// Grants a temporary role.
pub(super) async fn grant_for(
    auth: &Auth,
    who: &EmployeeSelector,
    role: &str,
    lifetime: Duration,
    reason: &str,
) -> CommandResult {
    let granted = Role::from_name(role).ok_or_else(|| no_such_role(role))?;
    if !ROLE_LIFETIMES.contains(&lifetime) {
        return Err("--for must be from 5m to 30d".to_owned());
    }
    let reason = parse_reason(reason)
        .ok_or_else(|| format!("--reason must be 1 to {MAX_REASON_CHARS} visible characters on one line"))?;
    let name = &who.employee;
    match auth.operator().grant_until(who.key(auth)?, granted, lifetime, reason).await {
        Ok(until) => Ok(format!("{name} holds the role {role} until {}", format_utc(until))),
        Err(Error::Refused(Refusal::Exists)) => Err(format!(
            "{name} already holds the role {role} permanently; nothing was changed; revoke it first to grant it temporarily"
        )),
        Err(error) => Err(who.explain(error)),
    }
}

pub(super) async fn revoke(
    operator: Administrator<'_>,
    who: &EmployeeSelector,
    role: &str,
    auth: &Auth,
) -> CommandResult {
    let revoked = operator.revoke(who.key(auth)?, role).await.map_err(|error| who.explain(error))?;
    let held = if revoked { "no longer holds" } else { "did not hold" };
    Ok(format!("{} {held} the role {role}", who.employee))
}
