//! People whom the platform gave another identifier.

use std::cmp::Ordering;
use std::time::Duration;

use deskpass_core::{ClientInfo, Digest, EmployeeId, EmployeeKey, Timestamp};
use deskpass_platform::Profile;
use deskpass_store::{
    AuditEvent, LogEntry, Notice, NoticeAbout, NoticeSubject, PendingEvent, RenameOutcome, RenameStage, Renaming,
};

use super::events::{ArrivedEvent, Handled, MAX_EVENT_AGE};
use super::leaver::{departure_of, is_back};
use super::pace::{LookupPurpose, Pace};
use super::stored_change::StoredChange;
use crate::departure::MAX_NODE_CLOCK_SKEW;
use crate::notice::MAX_NOTIFIED_ADMINS;
use crate::platform_user::identified_person;
use crate::{Auth, Error, LeaverSource};

/// How long a change waits for that of the new identifier's holder, whose event may be late.
const HOLDER_EVENT_TIMEOUT: Duration = Duration::from_mins(10);

/// What came of the changes that must be handled before another one, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Earlier {
    /// All are handled, or there are none.
    Handled,
    /// One waits for the holder of its new identifier.
    Waiting,
    /// About one, the platform did not answer.
    Unanswered,
}

/// A change of an identifier that is not handled yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PendingRename {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) received_at: Timestamp,
    pub(super) happened_at: Timestamp,
}

impl PendingRename {
    /// `None` if it is another event. One that this version cannot read is of a later one, whose nodes handle it.
    fn read(event: &PendingEvent) -> Option<Self> {
        let PendingEvent { change, received_at, happened_at } = event;
        Self::new(&serde_json::from_str(change).ok()?, *received_at, *happened_at)
    }

    fn new(change: &StoredChange, received_at: Timestamp, happened_at: Timestamp) -> Option<Self> {
        let (from, to) = change.renamed()?;
        Some(Self { from: from.to_owned(), to: to.to_owned(), received_at, happened_at })
    }

    /// Whether this must be handled before another one: it happened before to one of the same identifiers. In the same second the holder of
    /// the new identifier got another one first.
    fn precedes(&self, other: &Self) -> bool {
        match self.happened_at.cmp(&other.happened_at) {
            Ordering::Less => [&self.from, &self.to].into_iter().any(|id| other.concerns(id)),
            Ordering::Equal => is_same(&self.from, &other.to) && !is_same(&self.to, &other.to),
            Ordering::Greater => false,
        }
    }

    /// When the person got yet another identifier, according to a change that is not handled yet.
    fn onward_at(&self, pending: &[Self]) -> Option<Timestamp> {
        let is_next =
            |it: &&Self| it.happened_at > self.happened_at && is_same(&it.from, &self.to) && !is_same(&it.from, &it.to);
        pending.iter().filter(is_next).map(|it| it.happened_at).min()
    }

    fn concerns(&self, id: &str) -> bool {
        is_same(&self.from, id) || is_same(&self.to, id)
    }
}

/// Whether two identifiers are of one record: records do not distinguish case.
fn is_same(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

/// The changes that must be handled before another one, in order.
fn predecessors(of: &PendingRename, pending: &[PendingRename]) -> Vec<PendingRename> {
    let mut found: Vec<&PendingRename> = Vec::new();
    while let Some(next) = pending.iter().find(|rename| {
        let is_new = *rename != of && !found.contains(rename);
        is_new && (rename.precedes(of) || found.iter().any(|later| rename.precedes(later)))
    }) {
        found.push(next);
    }
    // Of those in the same second, the ones that others wait for were found later.
    found.reverse();
    found.sort_by_key(|rename| rename.happened_at);
    found.into_iter().cloned().collect()
}

impl Auth {
    /// The departures of those who leave under an identifier which they got by an event that is not handled yet, or that arrives with
    /// it: their records are still under the former identifiers, which must be locked as well.
    pub(super) async fn departures_under_former_identifiers(
        &self,
        events: &[ArrivedEvent],
    ) -> Result<Vec<ArrivedEvent>, Error> {
        if events.iter().all(|event| event.change.leaver().is_none()) {
            return Ok(Vec::new());
        }
        let arrived =
            events.iter().filter_map(|event| PendingRename::new(&event.change, event.happened_at, event.happened_at));
        let renames: Vec<_> = self.pending_renames().await?.into_iter().chain(arrived).collect();
        let mut departures = Vec::new();
        for ArrivedEvent { digest, change, happened_at } in events {
            let Some((mut userid, _)) = change.leaver() else { continue };
            // One who got the identifier after that is another person. Backwards in time, so each change is followed once.
            let mut until = *happened_at + MAX_NODE_CLOCK_SKEW;
            let mut left: Vec<_> = renames.iter().collect();
            while let Some(at) = left.iter().position(|it| it.happened_at <= until && self.is_spelled(&it.to, userid)) {
                let PendingRename { from, happened_at: renamed_at, .. } = left.swap_remove(at);
                until = *renamed_at;
                let digest = Digest::of(&[b"former identifier", digest.bytes(), from.as_bytes()]);
                let departure = change.departure_of(from.clone());
                departures.extend(departure.map(|change| ArrivedEvent { digest, change, happened_at: *happened_at }));
                userid = from;
            }
        }
        Ok(departures)
    }

    async fn pending_renames(&self) -> Result<Vec<PendingRename>, Error> {
        let pending = self.store.pending_immediate_events().await?;
        Ok(pending.iter().filter_map(PendingRename::read).collect())
    }

    /// Gives a person who has another identifier the roles of the former one, after all earlier changes of the same identifiers. If the new
    /// identifier has a holder whose own change is late, or is lost, that one is waited for.
    pub(super) async fn follow_rename(&self, rename: &PendingRename, pace: &mut Pace) -> Result<Handled, Error> {
        if is_same(&rename.from, &rename.to) {
            return self.follow_change(&rename.to, None, pace).await;
        }
        let mut earlier = Earlier::Handled;
        let pending = self.pending_renames().await?;
        for predecessor in predecessors(rename, &pending) {
            let onward_at = predecessor.onward_at(&pending);
            let handled = self.rename((&predecessor, onward_at), earlier, pace).await.unwrap_or_else(|error| {
                tracing::info!(%error, "an earlier change of an identifier could not be handled yet");
                Handled::Unanswered
            });
            earlier = earlier.max(match handled {
                Handled::Done => Earlier::Handled,
                Handled::Unanswered => Earlier::Unanswered,
                _ => Earlier::Waiting,
            });
        }
        self.rename((rename, rename.onward_at(&pending)), earlier, pace).await
    }

    /// Handles a change of an identifier. It is blocked while earlier changes are not handled. A question that the platform did not
    /// answer decides nothing, however long that lasts.
    async fn rename(
        &self,
        (rename, onward_at): (&PendingRename, Option<Timestamp>),
        earlier: Earlier,
        pace: &mut Pace,
    ) -> Result<Handled, Error> {
        let is_late = self.clock.now().since(rename.received_at) >= HOLDER_EVENT_TIMEOUT;
        let unanswered = if is_late { RenameStage::Unanswered } else { RenameStage::Blocked };
        let stage = match (earlier, is_late) {
            (Earlier::Handled, false) => RenameStage::Waiting,
            (Earlier::Handled, true) => RenameStage::Over,
            (Earlier::Waiting, false) => RenameStage::Blocked,
            (Earlier::Waiting, true) => RenameStage::Undecidable,
            (Earlier::Unanswered, _) => unanswered,
        };
        let asked_at = self.clock.now();
        let is_asked = matches!(stage, RenameStage::Waiting | RenameStage::Over | RenameStage::Undecidable);
        let asked = if is_asked { self.profile_after(rename, pace).await } else { Ok(None) };
        let has_failed = asked.is_err() || earlier == Earlier::Unanswered;
        let (profile, stage) = asked.map_or_else(
            |error| {
                tracing::info!(%error, from = rename.from, to = rename.to, "could not ask about a change of an identifier");
                // Whoever has the new identifier is locked nevertheless.
                (None, unanswered)
            },
            |profile| (profile, stage),
        );
        let Some(renaming) = self.renaming(rename, stage, (profile, asked_at)).await? else { return Ok(Handled::Done) };
        let renaming = Renaming { onward_at, ..renaming };
        let (from, to) = (renaming.from.clone(), renaming.to.clone());
        match self.store.rename_person(renaming).await? {
            RenameOutcome::Waiting => {
                self.notices_due.notify_one();
                return Ok(if has_failed { Handled::Unanswered } else { Handled::Waiting });
            }
            RenameOutcome::Nothing => {}
            RenameOutcome::Undecided => {
                tracing::warn!(%from, to = %to.key, "an identifier passed on, but not known whose records these are: sessions ended");
            }
            RenameOutcome::Moved => {
                tracing::info!(employee = %from, renamed = %to.key, "an employee has another identifier at the platform");
                self.apply_rules_to(&to).await?;
            }
        }
        self.notices_due.notify_one();
        Ok(Handled::Done)
    }

    /// What the platform says about the new identifier; `None` if nobody with either identifier is known here.
    async fn profile_after(&self, rename: &PendingRename, pace: &mut Pace) -> Result<Option<Profile>, Error> {
        for id in [&rename.from, &rename.to] {
            if let Ok(id) = EmployeeId::parse(id)
                && self.store.person(&self.resolve_key(None, &id)).await?.is_some()
            {
                return self.paced_profile(&rename.to, LookupPurpose::Other, pace).await.map(Some);
            }
        }
        Ok(None)
    }

    /// What the store needs to record that a person has another identifier. Whether the person is admitted, the platform says. If the
    /// person had a password or a device, another one needs an administrator's setup code, and administrators are told: the platform
    /// alone must not decide who holds the credentials of an agent. `None` if there is nothing to record.
    async fn renaming(
        &self,
        rename: &PendingRename,
        stage: RenameStage,
        (profile, asked_at): (Option<Profile>, Timestamp),
    ) -> Result<Option<Renaming>, Error> {
        let (Ok(from_id), Ok(to_id)) = (EmployeeId::parse(&rename.from), EmployeeId::parse(&rename.to)) else {
            return Ok(None);
        };
        let (from, new) = (self.resolve_key(None, &from_id), self.resolve_key(None, &to_id));
        for (key, id) in [(&from, &rename.from), (&new, &rename.to)] {
            // Keys do not distinguish case: that is another person.
            if self.store.person(key).await?.is_some_and(|person| !self.is_spelled(&person.employee_id, id)) {
                tracing::warn!(employee = %key, "an event names an identifier that differs from a known one in case only");
                return Ok(None);
            }
        }
        let (now, status) = (self.clock.now(), profile.as_ref().map(|profile| profile.status));
        let known = self.store.person(&from).await?;
        let why = known.as_ref().zip(status).and_then(|(person, status)| departure_of(person, status));
        let leaving = why.map(|why| self.leaving(&new, why, LeaverSource::Event, Some(asked_at))).transpose()?;
        let service = self.referenced_service()?;
        let code_notices =
            self.notices_about_rename(NoticeSubject::SetupCodeNeeded, (&from, &new), now, &service).await?;
        let doubt_notices = match stage {
            RenameStage::Unanswered => {
                self.notices_about_rename(NoticeSubject::RenameUnanswered, (&from, &new), now, &service).await?
            }
            _ => self.passed_on_notices(&new, Some(&from), now, &service).await?,
        };
        let entry = self.service_entry(AuditEvent::EmployeeRenamed, &from, now, LeaverSource::Event.name())?;
        Ok(Some(Renaming {
            from,
            happened_at: rename.happened_at,
            onward_at: None,
            said: self.holder(None, profile.as_ref()),
            stage,
            hold_until: now + MAX_EVENT_AGE,
            asked_at: asked_at - MAX_NODE_CLOCK_SKEW,
            is_active: status.is_some_and(is_back),
            leaving,
            deny_until: self.deny_until(now),
            code_notices,
            doubt_notices,
            entry: LogEntry { visitor: service, ..entry },
            to: identified_person(new, &rename.to, profile),
        }))
    }

    /// The notices for administrators about a person who was renamed.
    async fn notices_about_rename(
        &self,
        subject: NoticeSubject,
        (from, to): (&EmployeeKey, &EmployeeKey),
        now: Timestamp,
        visitor: &ClientInfo,
    ) -> Result<Vec<Notice>, Error> {
        let home = self.policy.home_corp.as_str().to_owned();
        let told = self.store.administrators(home, from.clone(), MAX_NOTIFIED_ADMINS).await?;
        let about = NoticeAbout::Renamed { from: from.id().to_owned(), to: to.id().to_owned() };
        Ok(self.notices_to(&told, subject, &about, now, visitor)?)
    }
}
