//! Whoever comes from the platform: who they are here.

use std::time::Duration;

use deskpass_core::{CorpId, EmployeeId, EmployeeKey, Identified, Person};
use deskpass_store::Link;
use deskpass_wecom::errcode::{Actor, meaning};
use deskpass_wecom::{Error as PlatformError, Garbled, Identity, Profile, Standing, Unreachable};
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
        let Profile { name, department, avatar, .. } = self.profile(identity).await?;
        if *key.corp() != *self.policy.home.as_str() {
            match self.store.link(key.clone()).await? {
                Some(Link { target, bound_at: Some(_), .. }) => return self.as_target(target, key).await,
                // Approved to act as somebody, which begins with saying so.
                Some(Link { bound_at: None, .. }) => return Ok(Arrival::Stranger(key)),
                None if self.store.person(&key).await?.is_none() => return Ok(Arrival::Stranger(key)),
                None => {}
            }
        }
        let employee_id = id.as_str().to_owned();
        Ok(Arrival::Known(Identified { key, employee_id, through: None, name, department, avatar }))
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
        let (employee_id, name) = (person.employee_id.clone(), Some(person.name.clone()));
        let (through, department, avatar) = (Some(identity), None, None);
        Ok(Arrival::Known(Identified { key: target, employee_id, through, name, department, avatar }))
    }

    /// What the platform tells of somebody. That it does not is no reason to turn them away; that they have left is.
    async fn profile(&self, identity: &Identity) -> Result<Profile, Error> {
        let told = timeout(PATIENCE, self.platform.profile(identity)).await;
        let told = told.unwrap_or(Err(PlatformError::Unreachable(Unreachable::TimedOut)));
        let told = told.inspect_err(|error| tracing::info!(%error, "the platform tells neither name nor department"));
        let profile = told.unwrap_or(Profile::nothing(Standing::Unknown));
        match profile.standing {
            Standing::Disabled | Standing::Left => {
                tracing::info!(?identity, "the platform says that somebody has left or is disabled");
                Err(Refusal::Disabled.into())
            }
            Standing::Active | Standing::NotActivated | Standing::Unknown => Ok(profile),
        }
    }

    /// Takes over what the platform tells of somebody who signs in. Mostly it is what is known already, and then nothing is
    /// written.
    pub(crate) async fn welcome(&self, who: &Identified) -> Result<(), Error> {
        if who.through.is_some() {
            // What is known of them is ours already.
            return Ok(());
        }
        let known = self.store.person(&who.key).await?;
        if known.is_some_and(|person| person.disabled || is_up_to_date(&person, who)) {
            return Ok(());
        }
        Ok(self.store.welcome(who.clone(), self.clock.now()).await?)
    }
}

fn is_up_to_date(person: &Person, who: &Identified) -> bool {
    let same = |told: &Option<String>, known: &str| told.as_deref().is_none_or(|told| told == known);
    same(&who.name, &person.name) && same(&who.department, &person.department) && same(&who.avatar, &person.avatar)
}

/// A code that is no good is the person's to mend, by starting again; everything else is not theirs.
fn judged(error: PlatformError) -> Error {
    let theirs = matches!(error, PlatformError::BadCode)
        || error.errcode().is_some_and(|code| meaning(code).actor == Actor::Person);
    if theirs { Refusal::InvalidCode.into() } else { error.into() }
}
