//! Who holds an identifier. A platform may give an identifier to another person, who must not get the account of the former holder: the
//! store compares what the platform says with what it said before, and here is what follows from it.

use deskpass_core::{EmployeeKey, Holder, IdentifiedPerson, Person, Role, Roles, Timestamp};
use deskpass_platform::{Identity, Profile};
use deskpass_store::{
    AuditEvent, HolderAlarm, HolderOutcome, HolderReport, LogEntry, NoticeAbout, NoticeSubject, UnconfirmedHolder,
};

use crate::notice::MAX_NOTIFIED_ADMINS;
use crate::{Auth, Error, LeaverSource, Refusal};

/// Whether an employee's identifier belongs to the person whom the record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HolderState {
    /// Nothing says otherwise.
    Confirmed,
    /// Another person seems to hold it, which the platform says by a name. The person signs in with the default role.
    Limited,
    /// Another person holds it, which the platform says by its own id of people. Nobody signs in.
    Refused,
}

impl Auth {
    /// What the platform says about who holds an identifier: the user whom it identified, or in whose profile it is.
    pub(crate) fn holder(&self, identity: Option<&Identity>, profile: Option<&Profile>) -> Option<Holder> {
        let id = identity.and_then(Identity::holder_id).or_else(|| profile?.holder_id.as_deref());
        let holder = Holder {
            source: self.platform.holder_source(),
            id: id.map(str::to_owned),
            name: profile.and_then(|profile| profile.name.clone()),
            email: profile.and_then(|profile| profile.email.clone()).filter(|email| !email.is_empty()),
        };
        // Without any of them there is nothing to compare. Where the platform has ids, a name alone says nothing.
        let says_who = holder.has_id() || holder.name.is_some() && !self.platform.kind().has_holder_ids();
        says_who.then_some(holder)
    }

    /// Compares what the platform, asked at `asked_at`, says about who holds an employee's identifier with what it said before. If it seems
    /// to be another person, administrators are told.
    pub(crate) async fn follow_holder(
        &self,
        key: &EmployeeKey,
        said: Option<&Holder>,
        asked_at: Timestamp,
        source: LeaverSource,
    ) -> Result<HolderState, Error> {
        let Some(said) = said else {
            let person = self.store.person(key).await?;
            return Ok(person.map_or(HolderState::Confirmed, |person| self.holder_state(&person)));
        };
        let (now, default_role) = (self.clock.now(), self.policy.default_role);
        let deny_until = self.deny_until(now);
        let report = HolderReport { key: key.clone(), said: said.clone(), asked_at, default_role, now, deny_until };
        let mut outcome = self.store.follow_holder(report.clone(), None).await?;
        if let HolderOutcome::NeedsAlarm(former) = &outcome {
            let alarm = self.holder_alarm(&report, former, source).await?;
            outcome = self.store.follow_holder(report, Some(alarm)).await?;
            if outcome == HolderOutcome::Unconfirmed {
                tracing::warn!(
                    employee = %key,
                    "the platform says that another person has this identifier: the sessions ended, and the roles do not \
                     count until an operator confirms the person"
                );
                self.notices_due.notify_one();
            }
        }
        Ok(if outcome == HolderOutcome::Confirmed { HolderState::Confirmed } else { self.unconfirmed_state() })
    }

    /// The state of a person, as recorded.
    pub(crate) fn holder_state(&self, person: &Person) -> HolderState {
        if person.unconfirmed { self.unconfirmed_state() } else { HolderState::Confirmed }
    }

    /// Whether no session of a person counts: the platform says by its own id of people that another person holds the identifier.
    pub(crate) fn is_refused(&self, unconfirmed: bool) -> bool {
        unconfirmed && self.unconfirmed_state() == HolderState::Refused
    }

    /// The default role of a session that counts: that of the agent record is the former holder's, as the roles are.
    pub(crate) fn counting_default_role(&self, default_role: Option<Role>, unconfirmed: bool) -> Option<Role> {
        default_role.filter(|role| !unconfirmed || self.policy.default_role == Some(*role))
    }

    fn unconfirmed_state(&self) -> HolderState {
        if self.platform.kind().has_holder_ids() { HolderState::Refused } else { HolderState::Limited }
    }

    /// No answer is no confirmation: if a sign-in got none about who holds the identifier, the re-check asks at once, and what another
    /// person began ends.
    async fn compare_holder_soon(&self, key: &EmployeeKey) -> Result<(), Error> {
        if self.platform.kind().has_holder_ids() {
            return Ok(());
        }
        if self.store.compare_holder_soon(key.clone(), self.policy.default_role).await? {
            self.recheck_due.notify_one();
        }
        Ok(())
    }

    /// Follows the holder of the identifier of a user who signs in. Refused if another person holds it for certain.
    pub(crate) async fn require_holder(&self, who: &IdentifiedPerson) -> Result<(), Error> {
        if who.holder.is_none() && who.through.is_none() {
            self.compare_holder_soon(&who.key).await?;
        }
        let asked_at = who.identified_at.unwrap_or_else(|| self.clock.now());
        match self.follow_holder(&who.key, who.holder.as_ref(), asked_at, LeaverSource::SignIn).await? {
            HolderState::Confirmed | HolderState::Limited => Ok(()),
            HolderState::Refused => Err(Refusal::HolderUnconfirmed.into()),
        }
    }

    /// Refuses a role that the record holds and its holder may not have until an operator has confirmed them.
    pub(crate) fn require_role_of_holder(
        &self,
        person: &Person,
        roles: Roles,
        asked: Option<&str>,
    ) -> Result<(), Refusal> {
        let is_withheld = |name| Role::from_name(name).is_some_and(|role| is_withheld(person.roles, roles, role));
        match self.holder_state(person) {
            HolderState::Confirmed => Ok(()),
            HolderState::Limited if !roles.is_empty() && !asked.is_some_and(is_withheld) => Ok(()),
            HolderState::Limited | HolderState::Refused => Err(Refusal::HolderUnconfirmed),
        }
    }

    /// Requires that the holder of an identifier is confirmed: only they may set what they prove themselves with.
    pub(crate) async fn require_confirmed(&self, employee: &EmployeeKey) -> Result<(), Error> {
        let is_unconfirmed = self.store.person(employee).await?.is_some_and(|person| person.unconfirmed);
        if is_unconfirmed { Err(Refusal::HolderUnconfirmed.into()) } else { Ok(()) }
    }

    async fn holder_alarm(
        &self,
        HolderReport { key, said, now, .. }: &HolderReport,
        former: &Holder,
        source: LeaverSource,
    ) -> Result<HolderAlarm, Error> {
        let (now, home) = (*now, self.policy.home_corp.as_str());
        let told = self.store.administrators(home.to_owned(), key.clone(), MAX_NOTIFIED_ADMINS).await?;
        let name = |holder: &Holder| holder.name.clone().unwrap_or_default();
        let about = NoticeAbout::Holder { employee: key.id().to_owned(), former: name(former), now: name(said) };
        let service = self.referenced_service()?;
        let notices = self.notices_to(&told, NoticeSubject::HolderUnconfirmed, &about, now, &service)?;
        let entry = self.service_entry(AuditEvent::HolderUnconfirmed, key, now, source.name())?;
        Ok(HolderAlarm { notices, entry: LogEntry { visitor: service, ..entry } })
    }

    /// The holder of an employee's identifier who seems to be another person than the former one, if that is so.
    pub async fn unconfirmed_holder(&self, employee: EmployeeKey) -> Result<Option<UnconfirmedHolder>, Error> {
        Ok(self.store.unconfirmed_holder(employee).await?)
    }

    /// Records where the platform's ids of people come from. Those of another application are learned anew, which the log says.
    pub async fn note_holder_source(&self) -> Result<(), Error> {
        let source = self.platform.holder_source();
        if let Some(before) = self.store.record_holder_source(source.clone()).await? {
            tracing::warn!(
                before,
                now = source,
                "another application than before: who holds an identifier is learned anew, at the next sign-in or look-up"
            );
        }
        Ok(())
    }
}

/// Whether a role is in the record and does not count.
pub(crate) fn is_withheld(recorded: Roles, effective: Roles, role: Role) -> bool {
    recorded.holds(role) && !effective.holds(role)
}
