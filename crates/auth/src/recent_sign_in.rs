//! The recent sign-in that an agent needs to set a first password or to bind a first device.
//!
//! A token that is stolen hours after its session began must permit neither: otherwise the thief could produce fresh one-time
//! passwords. So the sign-in must be recent, or the agent must bring an administrator's setup code.

use std::time::Duration;

use deskpass_core::{LoginMethod, PlatformVouching, Session, Timestamp};

use crate::{Auth, PartialOrFull, Refusal};

/// How long after the sign-in a session may set a first password and bind a first device.
pub const RECENT_SIGN_IN: Duration = Duration::from_mins(5);
/// How far in the future a session of another node may begin. Beyond that, a clock was wrong and the age is unknown.
const MAX_FUTURE_START: Duration = Duration::from_mins(1);

impl Auth {
    /// Whether the session began minutes ago with direct platform vouching. A partial session has only a password behind it.
    pub(crate) fn is_recently_vouched_for(&self, bearer: &PartialOrFull) -> bool {
        matches!(bearer, PartialOrFull::Full(holder) if bearer.is_vouched_for() && self.is_recent(holder.session()))
    }

    /// Requires a session that may set a first password: one that began minutes ago with platform vouching.
    pub(crate) fn require_recent_platform_sign_in(&self, session: &Session) -> Result<(), Refusal> {
        match session.is_vouched_for() {
            _ if self.policy.agents.trust_unproven => Ok(()),
            false => Err(Refusal::NotProven),
            true if self.is_recent(session) => Ok(()),
            true => Err(Refusal::RecentSignInNeeded),
        }
    }

    /// Requires a token that may bind a first device: of a partial session, or of a session that began minutes ago through the
    /// platform or by password. A device that is bound by password is not proven. With a setup code (`has_code`) neither the age
    /// nor the method matters, except that a linked identity cannot bind a device.
    pub(crate) fn require_may_bind_device(&self, bearer: &PartialOrFull, has_code: bool) -> Result<(), Refusal> {
        let PartialOrFull::Full(holder) = bearer else { return Ok(()) };
        let session = holder.session();
        match (session.vouched, session.method) {
            _ if self.policy.agents.trust_unproven => Ok(()),
            (PlatformVouching::Through, _) => Err(Refusal::NotProven),
            _ if has_code => Ok(()),
            (PlatformVouching::Directly, _) | (_, LoginMethod::Password) if self.is_recent(session) => Ok(()),
            (PlatformVouching::Directly, _) | (_, LoginMethod::Password) => Err(Refusal::RecentSignInNeeded),
            (PlatformVouching::None, _) => Err(Refusal::NotProven),
        }
    }

    fn is_recent(&self, session: &Session) -> bool {
        is_recent(session.created_at, self.clock.now_for(session.created_at))
    }
}

fn is_recent(began: Timestamp, now: Timestamp) -> bool {
    now.since(began) < RECENT_SIGN_IN && began.since(now) <= MAX_FUTURE_START
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_five_minutes_are_recent_and_no_future_is() {
        let now = Timestamp::from_millis(1_800_000_000_000);
        for (began, recent) in [
            (now - RECENT_SIGN_IN, false),
            (now - Duration::from_mins(4), true),
            (now, true),
            (now + MAX_FUTURE_START, true),
            (now + Duration::from_mins(2), false),
            (now + Duration::from_hours(8), false),
        ] {
            assert_eq!(is_recent(began, now), recent, "{began:?}");
        }
    }
}
