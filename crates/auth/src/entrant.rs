//! Whoever shows a token: signed in, or half-way in.

use std::net::IpAddr;
use std::sync::Arc;

use deskpass_core::{Digest, EmployeeKey, Half, LoginMethod, LoginSource, Secret, Timestamp, Visitor};
use deskpass_store::{By, Ended, HalfFound, Member};

use crate::agent::HALF_LIFETIME;
use crate::mint::{Admission, Proven};
use crate::{Auth, Error, Holder, Refusal, SignedIn, TokenProblem};

/// Whoever shows a live token.
#[derive(Clone, Debug)]
pub enum Entrant {
    /// Of a session.
    Whole(Holder),
    /// Of half a sign-in: all this entitles to is completing it, or leaving.
    Half(Halfway),
}

/// Somebody with a right password and no one-time password yet.
#[derive(Clone, Debug)]
pub struct Halfway {
    pub(crate) digest: Digest,
    person: Arc<Member>,
}

impl Entrant {
    /// Who it is.
    #[must_use]
    pub fn employee(&self) -> &EmployeeKey {
        match self {
            Self::Whole(holder) => &holder.session().employee,
            Self::Half(half) => &half.person.key,
        }
    }

    /// What they are called.
    #[must_use]
    pub fn employee_id(&self) -> &str {
        match self {
            Self::Whole(holder) => &holder.person().employee_id,
            Self::Half(half) => &half.person.employee_id,
        }
    }

    /// What their token hashes to, which names the session, or the half, and opens nothing.
    pub(crate) fn digest(&self) -> Digest {
        match self {
            Self::Whole(holder) => holder.digest(),
            Self::Half(half) => half.digest,
        }
    }

    /// Refuses whoever is where their active role may not be active: they may leave, and nothing else that lasts.
    pub(crate) fn expect_admitted(&self) -> Result<(), Refusal> {
        match self {
            Self::Whole(holder) if holder.is_barred() => Err(Refusal::AddressNotAllowed(holder.session().current_role)),
            Self::Whole(_) | Self::Half(_) => Ok(()),
        }
    }

    /// Them, as those who make a change.
    pub(crate) fn by(&self, now: Timestamp) -> By {
        match self {
            Self::Whole(holder) => holder.by_admitted(now),
            Self::Half(half) => By::Half { digest: half.digest, employee: half.person.key.clone(), now },
        }
    }

    /// Whether the platform vouched for them, in the session whose token they show.
    pub(crate) fn is_vouched_for(&self) -> bool {
        matches!(self, Self::Whole(holder) if holder.session().is_vouched_for())
    }
}

impl Auth {
    /// Finds out who shows this token, of a session or of half a sign-in.
    ///
    /// # Errors
    /// A refusal that says what is wrong with the token, or a failure of the store.
    pub async fn entrant(&self, token: &str, from: IpAddr) -> Result<Entrant, Error> {
        match Secret::<Half>::parse(token) {
            Ok(half) => Ok(Entrant::Half(self.halfway(half.digest()).await?)),
            Err(_) => Ok(Entrant::Whole(self.authenticate(token, Some(from)).await?)),
        }
    }

    async fn halfway(&self, digest: Digest) -> Result<Halfway, Error> {
        let problem = |problem| Error::Refused(Refusal::Token(problem));
        let half = match self.store.half(&digest).await? {
            HalfFound::Half(half) => half,
            HalfFound::Denied(ended) => return Err(problem(TokenProblem::Ended(ended))),
            HalfFound::Nothing => return Err(problem(TokenProblem::Unknown)),
        };
        if self.clock.now_for_lifetime(HALF_LIFETIME) >= half.expires_at {
            return Err(problem(TokenProblem::Expired));
        }
        let person = self.store.person(&half.employee).await?.ok_or(problem(TokenProblem::Unknown))?;
        if person.disabled {
            return Err(problem(TokenProblem::Ended(Ended::Disabled)));
        }
        Ok(Halfway { digest, person })
    }

    /// Ends a session, or half a sign-in, for good.
    ///
    /// # Errors
    /// When somebody else ended it first, or the store fails.
    pub async fn leave(&self, entrant: &Entrant, visitor: &Visitor) -> Result<(), Error> {
        match entrant {
            Entrant::Whole(holder) => self.logout(holder, visitor).await,
            Entrant::Half(half) => {
                let ended = self.store.end_half(half.digest, self.deny_until(self.clock.now())).await?;
                if ended { Ok(()) } else { Err(Refusal::Token(TokenProblem::Unknown).into()) }
            }
        }
    }

    /// Whether somebody half-way in will have a role, asked before anything is used up for it.
    pub(crate) async fn has_role(
        &self,
        entrant: &Entrant,
        device_proven: bool,
        visitor: &Visitor,
    ) -> Result<(), Error> {
        let Entrant::Half(half) = entrant else { return Ok(()) };
        let proven = Proven::ByPassword { half: half.digest, device_proven };
        let prospects = self.prospects(&half.person, LoginMethod::Password, &proven).await?;
        self.first_role(prospects.roles, None, visitor).await.map(drop)
    }

    /// Makes a whole sign-in of half a one, now that the other half was shown.
    pub(crate) async fn complete(
        &self,
        half: &Halfway,
        device_proven: bool,
        visitor: &Visitor,
    ) -> Result<SignedIn, Error> {
        let (employee, method) = (&half.person.key, LoginMethod::Password);
        let proven = Proven::ByPassword { half: half.digest, device_proven };
        let source = Some(LoginSource::ItAgent);
        self.sign_in(Admission { employee, role: None, method, proven, source, visitor }).await
    }
}
