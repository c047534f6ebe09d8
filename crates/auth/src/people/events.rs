//! Events of the platform: stored when they arrive, and leavers locked with it; handled afterwards, since that needs calls to the
//! platform.

use std::time::Duration;

use deskpass_core::{Digest, EmployeeId, EmployeeKey, IdentifiedPerson, LeftReason, Timestamp};
use deskpass_platform::{InboundError, InboundEvent, InboundReply, InboundRequest, Meaning, MemberStatus, Profile};
use deskpass_store::{AuditEvent, ClaimedEvent, LeftOutcome, ReceivedEvent};
use tokio::time::timeout;

use super::leaver::{departure, departure_of, is_back};
use super::pace::{LookupPurpose, Pace};
use super::renaming::PendingRename;
use super::stored_change::StoredChange;
use crate::platform_user::identified_person;
use crate::{Auth, AuthEvent, Error, EventOutcome, InternalError, LeaverSource};

/// How long the store may take before the answer is an error, so that the platform sends the events again.
const STORE_TIMEOUT: Duration = Duration::from_millis(700);
/// How many leavers are locked in the transaction that stores their events. A change of the application's range may name thousands: the
/// others are locked next, in batches.
const LOCKED_AT_ONCE: usize = 25;
/// The lease of an event that a node handles, and the first pause after a failed attempt.
const EVENT_RETRY_PAUSE: Duration = Duration::from_mins(1);
/// How many times the pause doubles: up to an hour.
const MAX_PAUSE_DOUBLINGS: u32 = 6;
/// The longest pause before the platform is asked again about a change of an identifier.
const MAX_UNANSWERED_PAUSE: Duration = Duration::from_mins(15);
/// The pause before the next look at a change of an identifier that waits for another one.
const RENAME_PAUSE: Duration = Duration::from_secs(10);
/// The age after which an event is dropped. The synchronisation finds what it was about.
pub(super) const MAX_EVENT_AGE: Duration = Duration::from_hours(24);
/// The longest time from when the platform names a user to the record of a new employee: longer than any step of a sign-in.
const SIGN_IN_LIFETIME: Duration = Duration::from_mins(15);
/// How soon the first look follows at a leaver without a record: after all transactions that did not see the event.
const SECOND_LOOK_PAUSE: Duration = Duration::from_secs(10);
/// The number of events in a batch: as many as can be handled within the lease, however slow the platform is.
const EVENT_BATCH_SIZE: i64 = 10;
const LOOKUPS_PER_SECOND: u32 = 10;

/// Why events of the platform are not accepted.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
pub enum EventError {
    /// No token or key is configured.
    #[error("events are not configured")]
    NotConfigured,
    /// The request is forged, too old or malformed.
    #[error("refused: {0}")]
    Refused(InboundError),
    /// The store did not accept the events in time.
    #[error("the store did not accept the events in time")]
    Unavailable,
}

/// An event that arrived.
pub(super) struct ArrivedEvent {
    pub(super) digest: Digest,
    pub(super) change: StoredChange,
    pub(super) happened_at: Timestamp,
}

/// What came of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Handled {
    Done,
    /// The answer of the platform may be older than what is recorded, given how far the clocks of nodes may be apart: ask again.
    TooSoon,
    /// The change of an identifier waits for that of another one.
    Waiting,
    /// The platform did not answer a question about a change of an identifier, so that nothing is decided.
    Unanswered,
    /// A person left who is not known here. A sign-in that is under way may add the person.
    UnknownLeaver,
}

impl Auth {
    /// Receives a request of the platform: checks that it is the platform's, stores its events, and locks the people who left. Returns
    /// the reply. Whatever needs a call to the platform is done later.
    pub async fn receive_events(&self, request: &InboundRequest<'_>) -> Result<InboundReply, EventError> {
        let read = self.platform.read_inbound(request).map_err(|error| self.refuse_events(error))?;
        let outcome = match timeout(STORE_TIMEOUT, self.store_events(read.events)).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(error)) => {
                tracing::warn!(%error, "events of the platform not stored; the platform sends them again");
                EventOutcome::Unavailable
            }
            Err(_) => {
                tracing::warn!("events of the platform not stored in time; the platform sends them again");
                EventOutcome::Unavailable
            }
        };
        self.observer.notify(AuthEvent::PlatformEvents(outcome));
        if outcome == EventOutcome::Unavailable { Err(EventError::Unavailable) } else { Ok(read.reply) }
    }

    /// Counts a request that is refused, and returns the error of it.
    #[must_use]
    pub fn refuse_events(&self, error: InboundError) -> EventError {
        let (outcome, refusal) = match error {
            InboundError::NotConfigured => (EventOutcome::NotConfigured, EventError::NotConfigured),
            InboundError::Signature => (EventOutcome::Signature, EventError::Refused(error)),
            InboundError::Time => (EventOutcome::Time, EventError::Refused(error)),
            InboundError::Malformed => (EventOutcome::Malformed, EventError::Refused(error)),
            InboundError::Receiver => (EventOutcome::Receiver, EventError::Refused(error)),
        };
        self.observer.notify(AuthEvent::PlatformEvents(outcome));
        refusal
    }

    async fn store_events(&self, events: Vec<InboundEvent>) -> Result<EventOutcome, Error> {
        let now = self.clock.now();
        let stored = |InboundEvent { deduplication_key, change, at }: InboundEvent| {
            let digest = Digest::of(&[b"platform event", deduplication_key.as_bytes()]);
            // The clock of the platform may be ahead. No platform sends what is older than a day: that is no time, and a departure must not
            // seem older than an answer that did not know of it.
            let plausible = at.filter(|at| now.since(*at) <= MAX_EVENT_AGE);
            let happened_at = plausible.map_or(now, |at| at.min(now));
            StoredChange::new(change).map(|change| ArrivedEvent { digest, change, happened_at })
        };
        let mut changes: Vec<_> = events.into_iter().filter_map(stored).collect();
        if changes.is_empty() {
            return Ok(EventOutcome::Accepted);
        }
        changes.extend(self.departures_under_former_identifiers(&changes).await?);
        let leavers = changes.iter().map(|event| self.leaver_of(&event.change)).collect();
        let (mut received, mut locked) = (Vec::with_capacity(changes.len()), 0);
        for (ArrivedEvent { digest, change, happened_at }, leaver) in
            changes.into_iter().zip(self.own_leavers(leavers).await?)
        {
            let Ok(text) = serde_json::to_string(&change) else { continue };
            let at_once = leaver.as_ref().filter(|_| locked < LOCKED_AT_ONCE);
            locked += usize::from(at_once.is_some());
            let leaving = at_once.map(|leaver| self.leaving_by_event(leaver, happened_at, None));
            received.push(ReceivedEvent {
                digest,
                change: text,
                happened_at,
                is_urgent: change.leaver().is_some(),
                is_immediate: change.is_immediate(),
                leaving: leaving.transpose()?,
                leaver: leaver.map(|leaver| leaver.key),
            });
        }
        let reception = self.store.receive_events(received, now).await?;
        for (employee, why) in &reception.left {
            self.note_left(employee, *why, LeaverSource::Event);
        }
        if !reception.is_new.contains(&true) {
            return Ok(EventOutcome::Repeated);
        }
        self.events_due.notify_one();
        Ok(EventOutcome::Accepted)
    }

    /// Handles the events that are due; returns how many were claimed, handled or not.
    pub async fn handle_events(&self) -> Result<usize, Error> {
        self.lock_waiting_leavers().await?;
        let (now, leased_at) = (self.clock.now(), self.clock.lease_now());
        let due = self.store.claim_events(leased_at, leased_at + EVENT_RETRY_PAUSE, EVENT_BATCH_SIZE).await?;
        let mut pace = Pace::per_second(LOOKUPS_PER_SECOND);
        for event in &due {
            // Others may have arrived while the platform was asked.
            self.lock_waiting_leavers().await?;
            match self.try_event(event, now, &mut pace).await {
                None => self.store.finish_event(event.digest).await?,
                Some(pause) => self.store.postpone_event(event.digest, leased_at + pause).await?,
            }
        }
        Ok(due.len())
    }

    /// Handles an event; returns how long to wait before the next attempt, if it is not handled and not too old.
    async fn try_event(&self, event: &ClaimedEvent, now: Timestamp, pace: &mut Pace) -> Option<Duration> {
        let ClaimedEvent { change, received_at, tries, .. } = event;
        let handled = match serde_json::from_str(change) {
            Ok(change) => self.handle_event(change, event, pace).await,
            Err(error) => {
                // It may be of a later version, whose nodes handle it.
                tracing::debug!(%error, "cannot read an event of the platform");
                Ok(Handled::TooSoon)
            }
        };
        let age = now.since(*received_at);
        let pause = match handled {
            Ok(Handled::Done) => None,
            // No other question finds out whose records these are.
            Ok(Handled::Unanswered) => return Some(unanswered_pause(age)),
            Ok(Handled::TooSoon) => Some(retry_pause(*tries)),
            Ok(Handled::Waiting) => Some(RENAME_PAUSE),
            Ok(Handled::UnknownLeaver) => pause_before_look(*received_at, now, *tries),
            Err(error) => {
                tracing::info!(%error, %change, "an event of the platform could not be handled yet");
                Some(retry_pause(*tries))
            }
        };
        pause.filter(|_| age < MAX_EVENT_AGE)
    }

    /// Handles an event. After a failure it is tried again.
    async fn handle_event(
        &self,
        change: StoredChange,
        event: &ClaimedEvent,
        pace: &mut Pace,
    ) -> Result<Handled, Error> {
        let (received_at, happened_at) = (event.received_at, event.happened_at);
        match change {
            StoredChange::Left { userid }
            | StoredChange::Suspended { userid }
            | StoredChange::OutOfRange { userid } => return self.confirm_leaver(&userid, pace).await,
            StoredChange::Joined { userid } => return self.follow_change(&userid, Some(happened_at), pace).await,
            StoredChange::Changed { userid } => return self.follow_change(&userid, None, pace).await,
            StoredChange::Renamed { from, to } => {
                let rename = PendingRename { from, to, received_at, happened_at };
                return self.follow_rename(&rename, pace).await;
            }
            StoredChange::DepartmentChanged { .. } => self.request_synchronisation().await?,
            StoredChange::RangeReduced => self.request_recheck().await?,
            StoredChange::CorporationRemoved { corp_id } => self.remove_corporation(&corp_id).await?,
        }
        Ok(Handled::Done)
    }

    /// Asks the platform whether a person really left: an event may be late, and the person back since.
    async fn confirm_leaver(&self, userid: &str, pace: &mut Pace) -> Result<Handled, Error> {
        let Some(key) = self.employee_with(userid).await? else { return Ok(Handled::UnknownLeaver) };
        let asked_at = self.clock.now();
        let status = self.paced_profile(userid, LookupPurpose::Departure, pace).await?.status;
        if is_back(status) {
            return self.admit(&key, asked_at).await;
        }
        // The person may have signed in for the first time while the event arrived.
        match departure(status) {
            Some(why) => self.lock_out(&key, why, asked_at).await,
            None => Ok(Handled::Done),
        }
    }

    /// Reads the record of a person again, and locks or admits the person by it. `joined_at` is when an event said that the person came.
    pub(super) async fn follow_change(
        &self,
        userid: &str,
        joined_at: Option<Timestamp>,
        pace: &mut Pace,
    ) -> Result<Handled, Error> {
        let Some(key) = self.employee_with(userid).await? else { return Ok(Handled::Done) };
        let metered = self.platform.lookups_per_day().is_some();
        if metered && joined_at.is_none() {
            // One synchronisation finds what all such events are about.
            return self.request_synchronisation().await.map(|()| Handled::Done);
        }
        let asked_at = self.clock.now();
        let profile = match self.paced_profile(userid, LookupPurpose::Other, pace).await {
            // The calls of the day are used up.
            Err(error) if metered && is_limited(&error) => {
                return self.request_synchronisation().await.map(|()| Handled::Done);
            }
            profile => profile?,
        };
        let Some(person) = self.store.person(&key).await? else { return Ok(Handled::Done) };
        if let Some(why) = departure_of(&person, profile.status) {
            return self.lock_out(&key, why, asked_at).await;
        }
        if profile.status == MemberStatus::Unknown
            && let Some(joined_at) = joined_at
        {
            // Without a permission the platform gives no status, and its events are all there is. So the one that happened later
            // counts, also if they are less than the difference of clocks apart: no later answer would lift the departure. Both times
            // are by the platform's clock. The departure may also be the one that arrives later.
            self.store.note_joined(key.clone(), joined_at).await?;
            if matches!(person.left, Some(LeftReason::Left | LeftReason::OutOfRange)) {
                self.lift_departure(&key, LeaverSource::Event, joined_at).await?;
            }
        }
        if is_back(profile.status) {
            if person.left.is_none() {
                // A listing that began before that does not count any more.
                self.store.mark_checked(vec![key.clone()], asked_at).await?;
            } else if self.admit(&key, asked_at).await? == Handled::TooSoon {
                return Ok(Handled::TooSoon);
            }
            self.update_record(key, userid, profile, asked_at).await?;
        }
        Ok(Handled::Done)
    }

    /// Admits a person who is back, unless the departure may be newer than the answer.
    async fn admit(&self, key: &EmployeeKey, asked_at: Timestamp) -> Result<Handled, Error> {
        if self.mark_returned(key, LeaverSource::Event, asked_at).await? {
            return Ok(Handled::Done);
        }
        let is_locked = self.store.person(key).await?.is_some_and(|person| person.left.is_some());
        Ok(if is_locked { Handled::TooSoon } else { Handled::Done })
    }

    /// Locks a person who left, unless another answer may be newer.
    async fn lock_out(&self, key: &EmployeeKey, why: LeftReason, asked_at: Timestamp) -> Result<Handled, Error> {
        let outcome = self.mark_left(key, why, LeaverSource::Event, asked_at).await?;
        Ok(if outcome == LeftOutcome::ActiveSince { Handled::TooSoon } else { Handled::Done })
    }

    /// Updates the record of a member. The profile names one department and no tags, so rules may need a synchronisation.
    async fn update_record(
        &self,
        key: EmployeeKey,
        userid: &str,
        profile: Profile,
        asked_at: Timestamp,
    ) -> Result<(), Error> {
        let holder = self.holder(None, Some(&profile));
        self.follow_holder(&key, holder.as_ref(), asked_at, LeaverSource::Event).await?;
        let who = identified_person(key, userid, Some(profile));
        self.update_person(&IdentifiedPerson { holder, identified_at: Some(asked_at), ..who }).await?;
        if self.all_role_rules().await?.is_empty() { Ok(()) } else { self.request_synchronisation().await }
    }

    /// Locks the people of a corporation that is no longer connected.
    async fn remove_corporation(&self, corp_id: &str) -> Result<(), Error> {
        if corp_id == self.policy.home_corp.as_str() {
            return Ok(());
        }
        let now = self.clock.now();
        let everyone = EmployeeKey::from_parts(corp_id, "");
        let entry = self.service_entry(AuditEvent::EmployeeLeft, &everyone, now, LeaverSource::Event.name())?;
        let left = self.store.mark_corporation_left(corp_id.to_owned(), self.deny_until(now), entry).await?;
        tracing::info!(corp_id, left, "a corporation is no longer connected");
        (0..left).for_each(|_| self.observer.notify(AuthEvent::PersonLeft(LeaverSource::Event)));
        Ok(())
    }

    /// The employee with this identifier of the platform; `None` if there is none here.
    pub(super) async fn employee_with(&self, userid: &str) -> Result<Option<EmployeeKey>, Error> {
        let Ok(id) = EmployeeId::parse(userid) else { return Ok(None) };
        let key = self.resolve_key(None, &id);
        let person = self.store.person(&key).await?;
        Ok(person.filter(|person| self.is_spelled(&person.employee_id, userid)).map(|_| key))
    }
}

/// How long an event waits after it failed so many times.
fn retry_pause(tries: i64) -> Duration {
    let doubled = u32::try_from(tries.saturating_sub(1)).unwrap_or(0).min(MAX_PAUSE_DOUBLINGS);
    EVENT_RETRY_PAUSE * 2_u32.pow(doubled)
}

/// How long a change of an identifier waits after the platform did not answer: a quarter of its age.
fn unanswered_pause(age: Duration) -> Duration {
    (age / 4).clamp(EVENT_RETRY_PAUSE, MAX_UNANSWERED_PAUSE)
}

/// How long to wait before the next look at a leaver without a record; `None` once no sign-in that began before the event can be under
/// way. Meanwhile a record that is added begins locked.
fn pause_before_look(received_at: Timestamp, now: Timestamp, tries: i64) -> Option<Duration> {
    let end = received_at + SIGN_IN_LIFETIME;
    let left = end.since(now);
    let pause = if tries <= 1 { left.min(SECOND_LOOK_PAUSE) } else { left };
    (now < end).then_some(pause)
}

/// Whether no call was made, or the platform refused it, because there were too many.
fn is_limited(error: &Error) -> bool {
    matches!(error, Error::Internal(InternalError::Platform(error)) if error.is_refused_as(Meaning::Limited))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leaver_without_a_record_is_looked_at_until_no_sign_in_can_add_one() {
        let received = Timestamp::from_millis(1_700_000_000_000);
        let (soon, end) = (received + SECOND_LOOK_PAUSE, received + SIGN_IN_LIFETIME);
        assert_eq!(pause_before_look(received, received, 1), Some(SECOND_LOOK_PAUSE));
        assert_eq!(pause_before_look(received, soon, 2), Some(end.since(soon)));
        assert_eq!(pause_before_look(received, end, 3), None);
        let late = Duration::from_secs(1);
        assert_eq!(pause_before_look(received, end - late, 1), Some(late), "the first look was late");
    }

    #[test]
    fn the_platform_is_asked_about_an_identifier_less_and_less_often() {
        for (age, pause) in [(0, 1), (4, 1), (20, 5), (60, 15), (100_000, 15)] {
            assert_eq!(unanswered_pause(Duration::from_mins(age)), Duration::from_mins(pause), "{age}");
        }
    }

    #[test]
    fn pauses_double_up_to_an_hour() {
        for (tries, minutes) in [(0, 1), (1, 1), (2, 2), (4, 8), (7, 64), (1_000, 64)] {
            assert_eq!(retry_pause(tries), Duration::from_mins(minutes), "{tries}");
        }
    }
}
