//! What a session must have begun with for its agent to set a first password or to bind a first device.
//!
//! A token that was stolen hours after its session began must gain neither: otherwise the thief would have what a fresh
//! one-time password asks for. So the sign-in has to be recent, or an administrator's setup code is brought.

use std::time::Duration;

use deskpass_core::{LoginMethod, PlatformVouching, Session, Timestamp};

use crate::{Auth, PartialOrFull, Refusal};

/// How long after a sign-in its session may set a first password and bind a first device.
pub const RECENT_SIGN_IN: Duration = Duration::from_mins(5);
/// How far in the future a session of another node may begin. Further than that it was begun by a wrong clock, and nobody knows when.
const MAX_FUTURE_START: Duration = Duration::from_mins(1);

impl Auth {
    /// Whether the platform itself named this very person a few minutes ago.
    pub(crate) fn has_recent_platform_sign_in(&self, session: &Session) -> bool {
        session.is_vouched_for() && self.is_recent(session)
    }

    /// The same for the holder of either kind of token; half of a sign-in has only a password behind it.
    pub(crate) fn is_recently_vouched_for(&self, bearer: &PartialOrFull) -> bool {
        matches!(bearer, PartialOrFull::Full(holder) if self.has_recent_platform_sign_in(holder.session()))
    }

    /// Requires a session that may set a first password: one that the platform vouched for, a few minutes ago.
    pub(crate) fn require_recent_platform_sign_in(&self, session: &Session) -> Result<(), Refusal> {
        match session.is_vouched_for() {
            _ if self.policy.agents.trust_unproven => Ok(()),
            false => Err(Refusal::NotProven),
            true if self.is_recent(session) => Ok(()),
            true => Err(Refusal::RecentSignInNeeded),
        }
    }

    /// Requires a token that may begin to bind a first device: of half a sign-in, or of a session that began a few minutes ago,
    /// through the platform or by password. What was bound by password is not proven. With a setup code
    /// (`has_code`) neither its age nor how it began matters, except that a link leads to no device.
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
