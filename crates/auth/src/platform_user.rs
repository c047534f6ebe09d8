//! Users that the platform identifies, and the employees they are.

use std::time::Duration;

use deskpass_core::{CorpId, EmployeeId, EmployeeKey, IdentifiedPerson, Person, is_entered_department};
use deskpass_store::IdentityLink;
use deskpass_wecom::errcode::{self, FixableBy, explain};
use deskpass_wecom::{
    Department, Error as PlatformError, Identity, InvalidResponse, MemberStatus, Profile, Unreachable,
};
use tokio::time::timeout;

use crate::{Auth, Error, Refusal};

/// How long a sign-in waits for the user's profile.
const PROFILE_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub(crate) enum PlatformUser {
    /// An employee who can sign in.
    Known(IdentifiedPerson),
    /// A user of a connected corporation who is not known here yet.
    Unknown(EmployeeKey),
}

impl Auth {
    /// Asks the platform for the identity behind a code, which uses the code up.
    pub(crate) async fn exchange_code(&self, code: &str) -> Result<Identity, Error> {
        self.platform.exchange_code(code).await.map_err(classify_code_error)
    }

    pub(crate) async fn resolve_user(&self, identity: &Identity) -> Result<PlatformUser, Error> {
        let (key, id) = self.employee_key(identity)?;
        // Fetched for every identity, including those that act as another employee.
        let profile = self.fetch_profile(identity).await?;
        if *key.corp() != *self.policy.home_corp.as_str() {
            match self.store.link(key.clone()).await? {
                Some(IdentityLink { target, bound_at: Some(_), .. }) => return self.linked_employee(target, key).await,
                // An approved link takes effect when the user names the employee.
                Some(IdentityLink { bound_at: None, .. }) => return Ok(PlatformUser::Unknown(key)),
                None if self.store.person(&key).await?.is_none() => return Ok(PlatformUser::Unknown(key)),
                None => {}
            }
        }
        Ok(PlatformUser::Known(identified_person(key, id.as_str(), profile)))
    }

    pub(crate) fn employee_key(&self, identity: &Identity) -> Result<(EmployeeKey, EmployeeId), Error> {
        let (corp, id) = match identity {
            Identity::Member { userid } => (None, userid),
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

    /// The user's profile, if the platform returns it. A missing profile is no reason for a refusal; that the user has left is.
    async fn fetch_profile(&self, identity: &Identity) -> Result<Option<Profile>, Error> {
        let fetched = timeout(PROFILE_TIMEOUT, self.platform.profile(identity)).await;
        let fetched = fetched.unwrap_or(Err(PlatformError::Unreachable(Unreachable::TimedOut)));
        let fetched =
            fetched.inspect_err(|error| tracing::info!(%error, "could not read the profile from the platform"));
        let profile = match fetched {
            Ok(profile) => profile,
            // The application may not see the user's current department, and the former one is out of date.
            Err(error) if is_outside_visible_range(identity, &error) => Profile::empty(Department::None),
            Err(_) => return Ok(None),
        };
        match profile.status {
            MemberStatus::Disabled | MemberStatus::Left => Err(Refusal::LeftPlatform.into()),
            MemberStatus::Active | MemberStatus::NotActivated | MemberStatus::Unknown => Ok(Some(profile)),
        }
    }

    /// Updates the employee's record from the platform's profile. Writes nothing if the record is up to date, as it usually is.
    pub(crate) async fn update_person(&self, who: &IdentifiedPerson) -> Result<(), Error> {
        if who.through.is_some() {
            // The record of a linked employee does not come from the platform.
            return Ok(());
        }
        let (mut who, known) = (who.clone(), self.store.person(&who.key).await?);
        if let Some(person) = known {
            reconcile_department(&person, &mut who);
            if person.disabled || is_up_to_date(&person, &who) {
                return Ok(());
            }
        }
        Ok(self.store.upsert_person(who, self.clock.now()).await?)
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
    };
    let Some(Profile { name, department, avatar, .. }) = profile else { return who };
    (who.name, who.avatar) = (name, Some(avatar.unwrap_or_default()));
    (who.department_id, who.department) = match department {
        Department::Unspecified => (None, None),
        Department::None => (Some(String::new()), Some(String::new())),
        Department::Known { id, name } => (Some(id), name),
    };
    who
}

/// Whether a member of the main corporation is not, or no longer, in the application's visible range.
fn is_outside_visible_range(identity: &Identity, error: &PlatformError) -> bool {
    matches!(identity, Identity::Member { .. }) && error.errcode().is_some_and(errcode::is_outside_visible_range)
}

/// Reconciles the platform's department with the stored one: a missing department does not clear what an operator entered, and
/// the name of the former department is not used for the new one.
fn reconcile_department(person: &Person, who: &mut IdentifiedPerson) {
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

fn is_up_to_date(person: &Person, who: &IdentifiedPerson) -> bool {
    let same = |fetched: &Option<String>, known: &str| fetched.as_deref().is_none_or(|fetched| fetched == known);
    let department = same(&who.department, &person.department) && same(&who.department_id, &person.department_id);
    department && same(&who.name, &person.name) && same(&who.avatar, &person.avatar)
}

/// Classifies a failed exchange: an invalid code is a refusal, because the user can start again; all else is internal.
fn classify_code_error(error: PlatformError) -> Error {
    let is_code_error = matches!(error, PlatformError::BadCode)
        || error.errcode().is_some_and(|code| explain(code).fixable_by == FixableBy::Person);
    if is_code_error { Refusal::InvalidCode.into() } else { error.into() }
}
