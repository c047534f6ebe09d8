//! Users that the platform identifies, and the employees they are.

use std::time::Duration;

use deskpass_core::{
    CorpId, EmailSource, EmployeeId, EmployeeKey, IdentifiedPerson, LeftReason, Person, Timestamp,
    is_entered_department,
};
use deskpass_platform::{
    CodeRedemption, Department, Error as PlatformError, Identity, InvalidResponse, Meaning, MemberStatus, Profile,
    Unreachable,
};
use deskpass_store::IdentityLink;
use tokio::time::timeout;

use crate::departure::{MAX_NODE_CLOCK_SKEW, StatusEffect, shows_member, status_effect, was_visible};
use crate::{Auth, Error, LeaverSource, Refusal};

/// How long a sign-in waits for the user's profile.
const PROFILE_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one for a sign-in, and it is taken apart at once")]
pub(crate) enum PlatformUser {
    /// An employee who can sign in.
    Known(IdentifiedPerson),
    /// A user of a connected corporation who is not known here yet.
    Unknown(EmployeeKey),
}

/// The identity behind a code of the platform.
#[derive(Clone, Debug)]
pub(crate) struct ExchangedCode {
    pub(crate) identity: Identity,
    /// When the platform was asked.
    pub(crate) asked_at: Timestamp,
}

impl Auth {
    /// Asks the platform for the identity behind a code, which uses the code up.
    pub(crate) async fn exchange_code(&self, redemption: CodeRedemption<'_>) -> Result<ExchangedCode, Error> {
        let asked_at = self.clock.now();
        let identity = self.platform.redeem(redemption).await.map_err(classify_code_error)?;
        Ok(ExchangedCode { identity, asked_at })
    }

    pub(crate) async fn resolve_user(&self, exchanged: &ExchangedCode) -> Result<PlatformUser, Error> {
        let ExchangedCode { identity, asked_at: identified_at } = exchanged;
        let (key, id) = self.employee_key(identity)?;
        self.require_own_spelling(&key, &id).await?;
        // Fetched for every identity, including those that act as another employee.
        let (asked_at, profile) = (self.clock.now(), self.fetch_profile(identity).await);
        let status = profile.as_ref().map(|profile| profile.status);
        let is_believed = self.follow_status(&key, (identity, status), asked_at).await?;
        let holder = self.holder(Some(identity), profile.as_ref());
        let profile = profile.filter(|_| is_believed).and_then(|profile| usable_profile(identity, profile));
        if *key.corp() != *self.policy.home_corp.as_str() {
            match self.store.link(key.clone()).await? {
                Some(IdentityLink { target, bound_at: Some(_), .. }) => return self.linked_employee(target, key).await,
                // An approved link takes effect when the user names the employee.
                Some(IdentityLink { bound_at: None, .. }) => return Ok(PlatformUser::Unknown(key)),
                None if self.store.person(&key).await?.is_none() => return Ok(PlatformUser::Unknown(key)),
                None => {}
            }
        }
        let (identified_at, asked_at) = (Some(*identified_at), Some(asked_at - MAX_NODE_CLOCK_SKEW));
        let who = identified_person(key, id.as_str(), profile);
        let who = IdentifiedPerson { asked_at, identified_at, holder, ..who };
        self.require_holder(&who).await?;
        Ok(PlatformUser::Known(who))
    }

    /// Refuses a user whose identifier differs from that of an employee in upper and lower case only: keys do not distinguish them,
    /// but most platforms do. An employee whom an operator added in another spelling, and who has not signed in through the
    /// platform, gets the platform's.
    async fn require_own_spelling(&self, key: &EmployeeKey, id: &EmployeeId) -> Result<(), Error> {
        if !self.platform.kind().distinguishes_case() {
            return Ok(());
        }
        let Some(person) = self.store.person(key).await?.filter(|person| person.employee_id != id.as_str()) else {
            return Ok(());
        };
        if self.store.adopt_spelling(key.clone(), id.as_str().to_owned()).await? {
            tracing::info!(employee_id = id.as_str(), was = %person.employee_id, "an employee is written as the platform does");
            return Ok(());
        }
        tracing::warn!(
            employee_id = id.as_str(),
            known = %person.employee_id,
            "refused a user whose identifier differs from that of an employee in upper and lower case only"
        );
        Err(Refusal::NotAMember.into())
    }

    pub(crate) fn employee_key(&self, identity: &Identity) -> Result<(EmployeeKey, EmployeeId), Error> {
        let (corp, id) = match identity {
            Identity::Member { userid, .. } => (None, userid),
            Identity::Linked { corp_id, userid } => (Some(corp_id), userid),
            Identity::Outsider => return Err(Refusal::NotAMember.into()),
        };
        let unreadable = |_| PlatformError::InvalidResponse(InvalidResponse::MissingField("an identifier"));
        let corp = corp.map(|corp| CorpId::parse(corp)).transpose().map_err(unreadable)?;
        let id = EmployeeId::parse(id).map_err(unreadable)?;
        Ok((self.resolve_key(corp.as_ref(), &id), id))
    }

    /// The employee that an identity is linked to. The platform's profile is about the identity, so it is not used.
    async fn linked_employee(&self, target: EmployeeKey, identity: EmployeeKey) -> Result<PlatformUser, Error> {
        let person = self.store.person(&target).await?.ok_or(Refusal::UnknownEmployee)?;
        let (through, name) = (Some(identity), Some(person.name.clone()));
        Ok(PlatformUser::Known(IdentifiedPerson {
            name,
            through,
            ..identified_person(target, &person.employee_id, None)
        }))
    }

    /// The user's profile, if the platform returns it. A missing profile is no reason for a refusal, unless the user had left.
    async fn fetch_profile(&self, identity: &Identity) -> Option<Profile> {
        let fetched = timeout(PROFILE_TIMEOUT, self.platform.profile(identity)).await;
        let fetched = fetched.unwrap_or(Err(PlatformError::Unreachable(Unreachable::TimedOut)));
        fetched.inspect_err(|error| tracing::info!(%error, "could not read the profile from the platform")).ok()
    }

    /// Locks or admits the user who signs in by the platform's status, for which it was asked at `asked_at`. A user who had left is
    /// refused, unless the platform says that they are back. `false` if the answer is not believed.
    async fn follow_status(
        &self,
        key: &EmployeeKey,
        (identity, status): (&Identity, Option<MemberStatus>),
        asked_at: Timestamp,
    ) -> Result<bool, Error> {
        let person = self.store.person(key).await?;
        let is_disabled = person.as_ref().is_some_and(|person| person.disabled);
        let refusal = if is_disabled { Refusal::Disabled } else { Refusal::LeftPlatform };
        match status_effect(person.as_deref(), identity, status) {
            StatusEffect::None => {
                if person.is_some() && status == Some(MemberStatus::Active) && self.saves_lookups() {
                    self.store.mark_checked(vec![key.clone()], asked_at).await?;
                }
                Ok(true)
            }
            StatusEffect::Return => {
                let is_back = self.mark_returned(key, LeaverSource::SignIn, asked_at).await?
                    || self.store.person(key).await?.is_none_or(|person| person.left.is_none());
                // Who left a moment ago may have left after the platform was asked.
                if is_back { Ok(true) } else { Err(refusal.into()) }
            }
            StatusEffect::Refuse => Err(refusal.into()),
            StatusEffect::Leave(why) => {
                if let Some(person) = &person {
                    let is_new = why == LeftReason::OutOfRange && person.left.is_none();
                    if is_new && !self.may_lock_at_sign_in(key, asked_at).await? {
                        return Ok(false);
                    }
                    self.mark_left(key, why, LeaverSource::SignIn, asked_at).await?;
                }
                Err(refusal.into())
            }
        }
    }

    /// Whether a sign-in counts as a check of the person: where the platform meters calls, another lookup would be wasted.
    fn saves_lookups(&self) -> bool {
        self.policy.people.recheck_period.is_some() && self.platform.lookups_per_day().is_some()
    }

    /// Updates the employee's record from the platform's profile, and applies the role rules. Writes nothing if all is up to date, as
    /// it usually is.
    pub(crate) async fn update_person(&self, who: &IdentifiedPerson) -> Result<(), Error> {
        if who.through.is_some() {
            // The record of a linked employee does not come from the platform.
            return Ok(());
        }
        let (mut updated, known) = (who.clone(), self.store.person(&who.key).await?);
        let (mut is_current, mut has_moved) = (false, false);
        if let Some(person) = known {
            reconcile_department(&person, &mut updated);
            let is_seen = was_visible(&person) || !updated.seen;
            is_current = !person.is_admitted() || is_seen && changed_fields(&person, &updated).is_empty();
            has_moved = !is_current && updated.department_id.as_ref().is_some_and(|id| *id != person.department_id);
        }
        if has_moved && !self.all_role_rules().await?.is_empty() {
            // The profile names one department only: which others the person left, the directory says. Before the record is written,
            // after which nothing shows it any more.
            self.request_synchronisation().await?;
        }
        if !is_current && !self.store.upsert_person(updated, self.clock.now()).await? {
            // It is about a former holder of the identifier, and so are the groups.
            return Ok(());
        }
        self.apply_rules_to(who).await
    }
}

/// A person with the platform's profile. An empty text says that the value is empty, and clears the stored one.
pub(crate) fn identified_person(key: EmployeeKey, id: &str, profile: Option<Profile>) -> IdentifiedPerson {
    let employee_id = id.to_owned();
    let mut who = IdentifiedPerson {
        key,
        employee_id,
        through: None,
        name: None,
        department: None,
        department_id: None,
        avatar: None,
        email: None,
        asked_at: None,
        identified_at: None,
        seen: profile.as_ref().is_some_and(shows_member),
        holder: None,
    };
    let Some(Profile { name, department, avatar, email, .. }) = profile else { return who };
    (who.name, who.avatar, who.email) = (name, Some(avatar.unwrap_or_default()), email);
    (who.department_id, who.department) = match department {
        Department::Unspecified => (None, None),
        Department::None => (Some(String::new()), Some(String::new())),
        Department::Known { id, name } => (Some(id), name),
    };
    who
}

/// What a profile says about a user who may sign in.
fn usable_profile(identity: &Identity, profile: Profile) -> Option<Profile> {
    if profile.status != MemberStatus::OutOfRange {
        return Some(profile);
    }
    // The application may not see the member's current department, and the former one is out of date.
    let is_member = matches!(identity, Identity::Member { .. });
    is_member.then_some(Profile::empty(Department::None, MemberStatus::OutOfRange))
}

/// Reconciles the platform's department with the stored one: a missing department does not clear what an operator entered, and
/// the name of the former department is not used for the new one.
pub(crate) fn reconcile_department(person: &Person, who: &mut IdentifiedPerson) {
    let by_operator = is_entered_department(&person.department_id);
    match who.department_id.as_deref() {
        Some("") if by_operator => (who.department_id, who.department) = (None, None),
        Some(id) if who.department.is_none() => {
            let moved = !by_operator && !person.department_id.is_empty() && person.department_id != id;
            who.department = moved.then(String::new);
        }
        _ => {}
    }
}

/// The fields of a record that differ from what the platform sent.
pub(crate) fn changed_fields(person: &Person, who: &IdentifiedPerson) -> Vec<&'static str> {
    let same = |fetched: &Option<String>, known: &str| fetched.as_deref().is_none_or(|fetched| fetched == known);
    let department = same(&who.department, &person.department) && same(&who.department_id, &person.department_id);
    let fields = [
        ("name", same(&who.name, &person.name)),
        ("department", department),
        ("avatar", same(&who.avatar, &person.avatar)),
        ("email", has_email(person, who)),
    ];
    fields.into_iter().filter(|(_, same)| !same).map(|(field, _)| field).collect()
}

/// Whether the record has the address that the platform sent, or one that an operator entered.
fn has_email(person: &Person, who: &IdentifiedPerson) -> bool {
    let Some(sent) = &who.email else { return true };
    match &person.email {
        None => sent.is_empty(),
        Some(known) => known.source == EmailSource::Operator || known.address == sent.to_lowercase(),
    }
}

/// Classifies a failed exchange. An invalid code is a refusal, because the user can start again, and so is a user who may not use the
/// application; all else is internal.
fn classify_code_error(error: PlatformError) -> Error {
    match error.meaning() {
        Meaning::StartAgain => Refusal::InvalidCode.into(),
        Meaning::Gone | Meaning::OutOfRange => Refusal::NotAMember.into(),
        Meaning::Retry
        | Meaning::Refresh
        | Meaning::Administrator
        | Meaning::Developer
        | Meaning::Limited
        | Meaning::Rejected => error.into(),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn only_the_code_and_its_user_are_reasons_for_a_refusal() {
        for error in [PlatformError::BadCode, PlatformError::refused(1_i64, Meaning::StartAgain)] {
            assert!(matches!(classify_code_error(error), Error::Refused(Refusal::InvalidCode)));
        }
        for meaning in [Meaning::Gone, Meaning::OutOfRange] {
            assert!(matches!(
                classify_code_error(PlatformError::refused(1_i64, meaning)),
                Error::Refused(Refusal::NotAMember)
            ));
        }
        let internal = [Meaning::Retry, Meaning::Refresh, Meaning::Administrator, Meaning::Developer, Meaning::Limited];
        let refused =
            internal.into_iter().chain([Meaning::Rejected]).map(|meaning| PlatformError::refused(1_i64, meaning));
        for error in refused.chain([PlatformError::Unreachable(Unreachable::TimedOut)]) {
            assert!(matches!(classify_code_error(error), Error::Internal(_)));
        }
    }

    #[test]
    fn a_member_out_of_range_has_no_department() {
        let member = Identity::member("a");
        let linked = Identity::Linked { corp_id: "c".into(), userid: "a".into() };
        let of = |identity: &Identity, status| {
            let department = Department::Known { id: "2".into(), name: Some("IT".into()) };
            usable_profile(identity, Profile::empty(department, status))
        };
        let out = of(&member, MemberStatus::OutOfRange).unwrap();
        assert_eq!(out.department, Department::None);
        assert!(of(&linked, MemberStatus::OutOfRange).is_none());
        for status in [MemberStatus::Active, MemberStatus::NotActivated, MemberStatus::Unknown] {
            assert_ne!(of(&member, status).unwrap().department, Department::None);
        }
    }
}
