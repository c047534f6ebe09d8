//! Lookups of people that the service makes by itself. Where the platform meters calls, all of them share one budget for a day: those
//! for events, of the re-check, and of the synchronisation.

use deskpass_core::Timestamp;
use deskpass_platform::{Error as PlatformError, ErrorCode, Identity, Meaning, Profile};
use deskpass_store::Chore;

use super::pace::{LookupPurpose, Pace};
use super::recheck::RecheckState;
use crate::{Auth, Error};

impl Auth {
    /// The profile of a member of the home corporation. Fails without a call when the lookups of the day are used up.
    pub(super) async fn paced_profile(
        &self,
        userid: &str,
        purpose: LookupPurpose,
        pace: &mut Pace,
    ) -> Result<Profile, Error> {
        if !self.take_lookup(purpose).await? {
            return Err(no_calls_left().into());
        }
        pace.wait().await;
        Ok(self.platform.profile(&Identity::member(userid)).await?)
    }

    /// Takes a lookup from the budget of the day; `false` if none is left.
    pub(super) async fn take_lookup(&self, purpose: LookupPurpose) -> Result<bool, Error> {
        let Some(per_day) = self.platform.lookups_per_day() else { return Ok(true) };
        let now = self.clock.now();
        if self.lookups_left(purpose).await? == 0 {
            return Ok(false);
        }
        let spend = |mut state: RecheckState| {
            state.budget.spend(now, per_day);
            state
        };
        self.change_chore_state(Chore::Recheck, spend).await?;
        Ok(true)
    }

    /// How many lookups for a purpose are left today.
    pub(super) async fn lookups_left(&self, purpose: LookupPurpose) -> Result<u32, Error> {
        let Some(per_day) = self.platform.lookups_per_day() else { return Ok(u32::MAX) };
        let (now, state) = (self.clock.now(), self.chore_state::<RecheckState>(Chore::Recheck).await?);
        if state.budget.remaining(now, per_day) == 0 && !state.budget.is_noted(now, per_day) {
            self.note_empty_budget(now, per_day).await?;
        }
        Ok(match purpose {
            LookupPurpose::Departure => state.budget.remaining(now, per_day),
            LookupPurpose::Other => state.budget.unreserved(now, per_day),
        })
    }

    /// Logs, once a day, that no lookup is left.
    async fn note_empty_budget(&self, now: Timestamp, per_day: u32) -> Result<(), Error> {
        let note = |mut state: RecheckState| {
            state.budget.note_empty(now, per_day);
            state
        };
        self.change_chore_state(Chore::Recheck, note).await?;
        tracing::warn!(
            per_day,
            "the calls to the platform for following people are used up; they go on tomorrow (UTC)"
        );
        Ok(())
    }

    /// Counts calls that listed the directory, which is read as a whole or not at all: the lookups of the next days pay for them.
    pub(super) async fn count_listing(&self, calls: u32) -> Result<(), Error> {
        let Some(per_day) = self.platform.lookups_per_day().filter(|_| calls > 0) else { return Ok(()) };
        let now = self.clock.now();
        let spend = |mut state: RecheckState| {
            state.budget.spend_on_listing(now, per_day, calls);
            state
        };
        self.change_chore_state(Chore::Recheck, spend).await.map(drop)
    }

    /// Whether the directory may be listed again: the calls of the last time are paid for.
    pub(super) async fn may_list(&self) -> Result<bool, Error> {
        let Some(per_day) = self.platform.lookups_per_day() else { return Ok(true) };
        let state: RecheckState = self.chore_state(Chore::Recheck).await?;
        Ok(state.budget.may_list(self.clock.now(), per_day))
    }
}

/// The failure of a call that was not made, since it would use up what sign-ins need.
pub(super) fn no_calls_left() -> PlatformError {
    PlatformError::refused(ErrorCode::word("no-calls-left-today"), Meaning::Limited)
}
