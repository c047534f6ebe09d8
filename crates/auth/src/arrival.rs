//! Whoever comes from the platform: who they are here.

use std::time::Duration;

use deskpass_core::{CorpId, EmployeeId, EmployeeKey, Identified, Person, is_entered_department};
use deskpass_store::Link;
use deskpass_wecom::errcode::{Actor, meaning};
use deskpass_wecom::{Department, Error as PlatformError, Garbled, Identity, Profile, Standing, Unreachable};
use tokio::time::timeout;

use crate::{Auth, Error, Refusal};

/// How long somebody who is identified waits for what the platform has to tell of them besides.
const PATIENCE: Duration = Duration::from_secs(1);

/// Somebody the platform vouches for.
#[derive(Clone, Debug)]
pub(crate) enum Arrival {
    /// They can sign in.
    Known(Identified),
    /// They are of a connected corporation, and nobody here yet.
    Stranger(EmployeeKey),
}

impl Auth {
    /// Asks the platform who stands behind a code, which uses it up.
    pub(crate) async fn identify(&self, code: &str) -> Result<Identity, Error> {
        self.platform.identify(code).await.map_err(judged)
    }

    /// Finds out who somebody is here.
    pub(crate) async fn recognise(&self, identity: &Identity) -> Result<Arrival, Error> {
        let (key, id) = self.named(identity)?;
        // Of everybody whom the platform names, also of those who act as somebody else here.
        let profile = self.profile(identity).await?;
        if *key.corp() != *self.policy.home.as_str() {
            match self.store.link(key.clone()).await? {
                Some(Link { target, bound_at: Some(_), .. }) => return self.as_target(target, key).await,
                // Approved to act as somebody, which begins with saying so.
                Some(Link { bound_at: None, .. }) => return Ok(Arrival::Stranger(key)),
                None if self.store.person(&key).await?.is_none() => return Ok(Arrival::Stranger(key)),
                None => {}
            }
        }
        Ok(Arrival::Known(identified(key, id.as_str(), profile)))
    }

    pub(crate) fn named(&self, identity: &Identity) -> Result<(EmployeeKey, EmployeeId), Error> {
        let (corp, id) = match identity {
            Identity::Member { userid } => (None, userid),
            Identity::Linked { corp_id, userid } => (Some(corp_id), userid),
            Identity::Outsider => return Err(Refusal::NotAMember.into()),
        };
        let unreadable = |_| PlatformError::Garbled(Garbled::Incomplete("an identifier"));
        let corp = corp.map(|corp| CorpId::parse(corp)).transpose().map_err(unreadable)?;
        let id = EmployeeId::parse(id).map_err(unreadable)?;
        Ok((self.key(corp.as_ref(), &id), id))
    }

    /// The employee as whom somebody was bound. What the platform tells of that somebody is not about the employee.
    async fn as_target(&self, target: EmployeeKey, identity: EmployeeKey) -> Result<Arrival, Error> {
        let person = self.store.person(&target).await?.ok_or(Refusal::UnknownEmployee)?;
        let (through, name) = (Some(identity), Some(person.name.clone()));
        Ok(Arrival::Known(Identified { name, through, ..identified(target, &person.employee_id, None) }))
    }

    /// What the platform tells of somebody, if it does. That it does not is no reason to turn them away; that they have left is.
    async fn profile(&self, identity: &Identity) -> Result<Option<Profile>, Error> {
        let told = timeout(PATIENCE, self.platform.profile(identity)).await;
        let told = told.unwrap_or(Err(PlatformError::Unreachable(Unreachable::TimedOut)));
        let told = told.inspect_err(|error| tracing::info!(%error, "the platform tells neither name nor department"));
        let profile = match told {
            Ok(profile) => profile,
            // Where they are now is not for this application to see, and where they were is over.
            Err(error) if is_out_of_sight(identity, &error) => Profile::empty(Department::None),
            Err(_) => return Ok(None),
        };
        match profile.standing {
            Standing::Disabled | Standing::Left => {
                tracing::info!(?identity, "the platform says that somebody has left or is disabled");
                Err(Refusal::Disabled.into())
            }
            Standing::Active | Standing::NotActivated | Standing::Unknown => Ok(Some(profile)),
        }
    }

    /// Takes over what the platform tells of somebody who signs in. Mostly it is what is known already, and then nothing is
    /// written.
    pub(crate) async fn welcome(&self, who: &Identified) -> Result<(), Error> {
        if who.through.is_some() {
            // What is known of them is ours already.
            return Ok(());
        }
        let (mut who, known) = (who.clone(), self.store.person(&who.key).await?);
        if let Some(person) = known {
            reconcile_department(&person, &mut who);
            if person.disabled || is_up_to_date(&person, &who) {
                return Ok(());
            }
        }
        Ok(self.store.welcome(who, self.clock.now()).await?)
    }
}

/// Somebody, with what the platform told of them. An empty text says that there is none, and takes away what was known.
pub(crate) fn identified(key: EmployeeKey, id: &str, profile: Option<Profile>) -> Identified {
    let employee_id = id.to_owned();
    let mut who =
        Identified { key, employee_id, through: None, name: None, department: None, department_id: None, avatar: None };
    let Some(Profile { name, department, avatar, .. }) = profile else { return who };
    (who.name, who.avatar) = (name, Some(avatar.unwrap_or_default()));
    (who.department_id, who.department) = match department {
        Department::Untold => (None, None),
        Department::None => (Some(String::new()), Some(String::new())),
        Department::Known { id, name } => (Some(id), name),
    };
    who
}

/// Whether a member of the main corporation is not, or no longer, in the application's visible range.
fn is_out_of_sight(identity: &Identity, error: &PlatformError) -> bool {
    matches!(identity, Identity::Member { .. }) && matches!(error.errcode(), Some(60011 | 60111))
}

/// Fits what is told of a department to what is known: that the platform shows none does not take away what an operator
/// entered, and the name of the former department is not that of the new one.
fn reconcile_department(person: &Person, who: &mut Identified) {
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

fn is_up_to_date(person: &Person, who: &Identified) -> bool {
    let same = |told: &Option<String>, known: &str| told.as_deref().is_none_or(|told| told == known);
    let department = same(&who.department, &person.department) && same(&who.department_id, &person.department_id);
    department && same(&who.name, &person.name) && same(&who.avatar, &person.avatar)
}

/// A code that is no good is the person's to mend, by starting again; everything else is not theirs.
fn judged(error: PlatformError) -> Error {
    let theirs = matches!(error, PlatformError::BadCode)
        || error.errcode().is_some_and(|code| meaning(code).actor == Actor::Person);
    if theirs { Refusal::InvalidCode.into() } else { error.into() }
}
