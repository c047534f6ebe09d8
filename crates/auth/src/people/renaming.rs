//! People whom the platform gave another identifier.

use deskpass_core::{ClientInfo, Digest, EmployeeId, EmployeeKey, Timestamp};
use deskpass_store::{AuditEvent, Notice, NoticeAbout, NoticeSubject, Renaming};

use super::events::Handled;
use super::leaver::{departure_of, is_back};
use super::pace::{LookupPurpose, Pace};
use super::stored_change::StoredChange;
use crate::departure::MAX_NODE_CLOCK_SKEW;
use crate::notice::MAX_NOTIFIED_ADMINS;
use crate::platform_user::identified_person;
use crate::{Auth, Error, LeaverSource};

/// The most changes of identifiers that are looked at when a leaver's event arrives, and the most of one person.
const MAX_PENDING_RENAMES: i64 = 200;
const MAX_RENAMES_IN_A_ROW: usize = 3;

impl Auth {
    /// The departures of those who leave under an identifier which they got by an event that is not handled yet, or that arrives with
    /// it: their records are still under the former identifiers, which must be locked as well.
    pub(super) async fn departures_under_former_identifiers(
        &self,
        changes: &[(Digest, StoredChange)],
    ) -> Result<Vec<(Digest, StoredChange)>, Error> {
        if changes.iter().all(|(_, change)| change.leaver().is_none()) {
            return Ok(Vec::new());
        }
        let pending = self.store.pending_immediate_events(MAX_PENDING_RENAMES).await?;
        // An event that this version cannot read is of a later one, whose nodes handle it.
        let pending: Vec<StoredChange> = pending.iter().filter_map(|text| serde_json::from_str(text).ok()).collect();
        let all = pending.iter().chain(changes.iter().map(|(_, change)| change));
        let renames: Vec<_> = all.filter_map(StoredChange::renamed).collect();
        let mut departures = Vec::new();
        for (digest, change) in changes {
            let Some((mut userid, _)) = change.leaver() else { continue };
            for _ in 0..MAX_RENAMES_IN_A_ROW {
                let Some((from, _)) = renames.iter().find(|(_, to)| self.is_spelled(to, userid)) else { break };
                let digest = Digest::of(&[b"former identifier", digest.bytes(), from.as_bytes()]);
                departures.extend(change.departure_of((*from).to_owned()).map(|departure| (digest, departure)));
                userid = *from;
            }
        }
        Ok(departures)
    }

    /// Gives a person who has another identifier the roles of the former one. Whether the person is admitted, the platform says. If the
    /// person had a password or a device, another one needs an administrator's setup code, and administrators are told: the platform
    /// alone must not decide who holds the credentials of an agent.
    pub(super) async fn follow_rename(&self, from: &str, to: &str, pace: &mut Pace) -> Result<Handled, Error> {
        let Ok(to_id) = EmployeeId::parse(to) else { return Ok(Handled::Done) };
        let Some(from) = self.employee_with(from).await? else { return Ok(Handled::Done) };
        let new = self.resolve_key(None, &to_id);
        if from == new {
            return self.follow_change(to, None, pace).await;
        }
        let asked_at = self.clock.now();
        let profile = self.paced_profile(to, LookupPurpose::Other, pace).await?;
        let Some(person) = self.store.person(&from).await? else { return Ok(Handled::Done) };
        let (is_active, why) = (is_back(profile.status), departure_of(&person, profile.status));
        let leaving = why.map(|why| self.leaving(&new, why, LeaverSource::Event, Some(asked_at))).transpose()?;
        let now = self.clock.now();
        let entry = self.service_entry(AuditEvent::EmployeeRenamed, &from, now, LeaverSource::Event.name())?;
        let (who, deny_until) = (identified_person(new, to, Some(profile)), self.deny_until(now));
        let code_notices = self.notices_of_rename(&from, &who.key, now).await?;
        let (asked_at, renamed, to) = (asked_at - MAX_NODE_CLOCK_SKEW, from.clone(), who.clone());
        let renaming = Renaming { from: renamed, to, asked_at, is_active, leaving, deny_until, code_notices, entry };
        if self.store.rename_person(renaming).await? {
            tracing::info!(employee = %from, renamed = %who.key, "an employee has another identifier at the platform");
            self.notices_due.notify_one();
            self.apply_rules_to(&who).await?;
        }
        Ok(Handled::Done)
    }

    /// The notices for administrators that a person who was renamed needs a setup code.
    async fn notices_of_rename(
        &self,
        from: &EmployeeKey,
        to: &EmployeeKey,
        now: Timestamp,
    ) -> Result<Vec<Notice>, Error> {
        let home = self.policy.home_corp.as_str().to_owned();
        let told = self.store.administrators(home, from.clone(), MAX_NOTIFIED_ADMINS).await?;
        let about = NoticeAbout::Renamed { from: from.id().to_owned(), to: to.id().to_owned() };
        Ok(self.notices_to(&told, NoticeSubject::SetupCodeNeeded, &about, now, &ClientInfo::service())?)
    }
}
