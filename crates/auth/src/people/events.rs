//! Events of the platform: stored when they arrive, and leavers locked with it; handled afterwards, since that needs calls to the
//! platform.

use std::time::Duration;

use deskpass_core::{Digest, EmployeeId, EmployeeKey, LeftReason};
use deskpass_platform::{Identity, InboundError, InboundEvent, InboundReply, InboundRequest, Profile};
use deskpass_store::{AuditEvent, ClaimedEvent, Leaving, ReceivedEvent};
use tokio::time::timeout;

use super::leaver::{departure, departure_of, is_back};
use super::pace::Pace;
use super::stored_change::StoredChange;
use crate::platform_user::identified_person;
use crate::{Auth, AuthEvent, Error, EventOutcome, LeaverSource};

/// How long the store may take before the answer is an error, so that the platform sends the events again.
const STORE_TIMEOUT: Duration = Duration::from_millis(700);
/// The lease of an event that a node handles, and the first pause after a failed attempt.
const EVENT_RETRY_PAUSE: Duration = Duration::from_mins(1);
/// How many times the pause doubles: up to an hour.
const MAX_PAUSE_DOUBLINGS: u32 = 6;
/// The age after which an event is dropped. The synchronisation finds what it was about.
const MAX_EVENT_AGE: Duration = Duration::from_hours(24);
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

/// A leaver whom the service knows as an employee who may still sign in.
type KnownLeaver = (EmployeeKey, LeftReason);

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

    fn refuse_events(&self, error: InboundError) -> EventError {
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
        let (mut received, mut leavers): (Vec<_>, Vec<Option<KnownLeaver>>) = (Vec::new(), Vec::new());
        for InboundEvent { deduplication_key, change, .. } in events {
            let Some(change) = StoredChange::new(change) else { continue };
            let Ok(text) = serde_json::to_string(&change) else { continue };
            let digest = Digest::of(&[b"platform event", deduplication_key.as_bytes()]);
            let (leaving, known) = self.leaver_of(&change).await?;
            received.push(ReceivedEvent { digest, change: text, leaving });
            leavers.push(known);
        }
        if received.is_empty() {
            return Ok(EventOutcome::Accepted);
        }
        let is_new = self.store.receive_events(received, self.clock.now()).await?;
        for (employee, why) in leavers.into_iter().zip(&is_new).filter_map(|(known, is_new)| known.filter(|_| *is_new))
        {
            self.note_left(&employee, why, LeaverSource::Event);
        }
        if !is_new.contains(&true) {
            return Ok(EventOutcome::Repeated);
        }
        self.events_due.notify_one();
        Ok(EventOutcome::Accepted)
    }

    /// The person whom an event locks out, and the same if that is an employee who may still sign in.
    async fn leaver_of(&self, change: &StoredChange) -> Result<(Option<Leaving>, Option<KnownLeaver>), Error> {
        let Some((userid, why)) = change.leaver() else { return Ok((None, None)) };
        let Ok(id) = EmployeeId::parse(userid) else { return Ok((None, None)) };
        let key = self.resolve_key(None, &id);
        let person = self.store.person(&key).await?;
        if person.as_ref().is_some_and(|person| !self.is_spelled(&person.employee_id, userid)) {
            return Ok((None, None));
        }
        let leaving = self.leaving(&key, why, LeaverSource::Event)?;
        let known = person.filter(|person| person.left.is_none()).map(|_| (key, why));
        Ok((Some(leaving), known))
    }

    /// Whether an identifier of the platform is that of an employee: keys do not distinguish case, but most platforms do.
    pub(super) fn is_spelled(&self, employee_id: &str, userid: &str) -> bool {
        employee_id == userid || !self.platform.kind().distinguishes_case() && employee_id.eq_ignore_ascii_case(userid)
    }

    /// Handles the events that are due; returns how many were claimed, handled or not.
    pub async fn handle_events(&self) -> Result<usize, Error> {
        let now = self.clock.now();
        let due = self.store.claim_events(now, now + EVENT_RETRY_PAUSE, EVENT_BATCH_SIZE).await?;
        let (count, mut pace) = (due.len(), Pace::per_second(LOOKUPS_PER_SECOND));
        for ClaimedEvent { digest, change, received_at, tries } in due {
            let handled = match serde_json::from_str(&change) {
                Ok(change) => self.handle_event(change, &mut pace).await.map(|()| true),
                Err(error) => {
                    // It may be of a later version, whose nodes handle it.
                    tracing::debug!(%error, "cannot read an event of the platform");
                    Ok(false)
                }
            };
            let handled = handled.unwrap_or_else(|error| {
                tracing::info!(%error, %change, "an event of the platform could not be handled yet");
                false
            });
            if handled || now.since(received_at) >= MAX_EVENT_AGE {
                self.store.finish_event(digest).await?;
            } else {
                let doubled = u32::try_from(tries.saturating_sub(1)).unwrap_or(0).min(MAX_PAUSE_DOUBLINGS);
                self.store.postpone_event(digest, now + EVENT_RETRY_PAUSE * 2_u32.pow(doubled)).await?;
            }
        }
        Ok(count)
    }

    /// Handles an event. After a failure it is tried again.
    async fn handle_event(&self, change: StoredChange, pace: &mut Pace) -> Result<(), Error> {
        match change {
            StoredChange::Left { userid } | StoredChange::OutOfRange { userid } => {
                self.confirm_leaver(&userid, pace).await
            }
            StoredChange::Joined { userid } | StoredChange::Changed { userid } => {
                self.follow_change(&userid, pace).await
            }
            StoredChange::Renamed { from, to } => self.follow_rename(&from, &to, pace).await,
            StoredChange::DepartmentChanged { .. } => self.request_synchronisation().await,
            StoredChange::CorporationRemoved { corp_id } => self.remove_corporation(&corp_id).await,
        }
    }

    /// Asks the platform whether a person really left: an event may be late, and the person back since.
    async fn confirm_leaver(&self, userid: &str, pace: &mut Pace) -> Result<(), Error> {
        let Some(key) = self.employee_with(userid).await? else { return Ok(()) };
        let status = self.paced_profile(userid, pace).await?.status;
        if is_back(status) {
            self.mark_returned(&key, LeaverSource::Event).await?;
        } else if let Some(why) = departure(status) {
            // The person may have signed in for the first time while the event arrived.
            self.mark_left(&key, why, LeaverSource::Event).await?;
        }
        Ok(())
    }

    /// Reads the record of a person again, and locks or admits the person by it.
    async fn follow_change(&self, userid: &str, pace: &mut Pace) -> Result<(), Error> {
        let Some(key) = self.employee_with(userid).await? else { return Ok(()) };
        let profile = self.paced_profile(userid, pace).await?;
        let Some(person) = self.store.person(&key).await? else { return Ok(()) };
        if let Some(why) = departure_of(&person, profile.status) {
            self.mark_left(&key, why, LeaverSource::Event).await?;
            return Ok(());
        }
        if is_back(profile.status) {
            if person.left.is_some() {
                self.mark_returned(&key, LeaverSource::Event).await?;
            }
            self.update_person(&identified_person(key, userid, Some(profile))).await?;
            if !self.all_role_rules().await?.is_empty() {
                // The profile names one department, and no tags.
                self.request_synchronisation().await?;
            }
        }
        Ok(())
    }

    /// Gives a person who has another identifier the roles of the former one.
    async fn follow_rename(&self, from: &str, to: &str, pace: &mut Pace) -> Result<(), Error> {
        let Ok(to_id) = EmployeeId::parse(to) else { return Ok(()) };
        let Some(from) = self.employee_with(from).await? else { return Ok(()) };
        let new = self.resolve_key(None, &to_id);
        if from == new {
            return self.follow_change(to, pace).await;
        }
        let profile = self.paced_profile(to, pace).await?;
        let now = self.clock.now();
        let entry = self.service_entry(AuditEvent::EmployeeRenamed, &from, now, LeaverSource::Event.name())?;
        let who = identified_person(new, to, Some(profile));
        if self.store.rename_person(from.clone(), who.clone(), self.deny_until(now), entry).await? {
            tracing::info!(employee = %from, renamed = %who.key, "an employee has another identifier at the platform");
            self.apply_rules_to(&who).await?;
        }
        Ok(())
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
    async fn employee_with(&self, userid: &str) -> Result<Option<EmployeeKey>, Error> {
        let Ok(id) = EmployeeId::parse(userid) else { return Ok(None) };
        let key = self.resolve_key(None, &id);
        let person = self.store.person(&key).await?;
        Ok(person.filter(|person| self.is_spelled(&person.employee_id, userid)).map(|_| key))
    }

    /// The profile of a member of the home corporation.
    pub(super) async fn paced_profile(&self, userid: &str, pace: &mut Pace) -> Result<Profile, Error> {
        pace.wait().await;
        Ok(self.platform.profile(&Identity::Member { userid: userid.to_owned() }).await?)
    }
}
