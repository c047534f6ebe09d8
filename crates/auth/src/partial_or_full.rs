//! Whoever shows a token: signed in, or half-way in.

use std::net::IpAddr;
use std::sync::Arc;

use deskpass_core::{ClientInfo, Digest, EmployeeKey, Half, LoginMethod, LoginSource, Secret, Timestamp};
use deskpass_store::{CachedPerson, ChangeAuthor, EndReason, PartialSessionLookup};

use crate::agent::PARTIAL_SESSION_LIFETIME;
use crate::sign_in::{SignInProof, SignInRequest};
use crate::{Auth, Error, Refusal, SignedIn, TokenError, TokenHolder};

/// Whoever shows a live token.
#[derive(Clone, Debug)]
pub enum PartialOrFull {
    /// Of a session.
    Full(TokenHolder),
    /// Of half a sign-in: all this entitles to is completing it, or leaving.
    Partial(PartialTokenHolder),
}

/// Somebody with a right password and no one-time password yet.
#[derive(Clone, Debug)]
pub struct PartialTokenHolder {
    pub(crate) digest: Digest,
    person: Arc<CachedPerson>,
}

impl PartialOrFull {
    /// Who it is.
    #[must_use]
    pub fn employee(&self) -> &EmployeeKey {
        match self {
            Self::Full(holder) => &holder.session().employee,
            Self::Partial(half) => &half.person.key,
        }
    }

    /// What they are called.
    #[must_use]
    pub fn employee_id(&self) -> &str {
        match self {
            Self::Full(holder) => &holder.person().employee_id,
            Self::Partial(half) => &half.person.employee_id,
        }
    }

    /// What their token hashes to, which names the session, or the half, and opens nothing.
    pub(crate) fn digest(&self) -> Digest {
        match self {
            Self::Full(holder) => holder.digest(),
            Self::Partial(half) => half.digest,
        }
    }

    /// Refuses whoever is where their active role may not be active: they may leave, and nothing else that lasts.
    pub(crate) fn require_address_allowed(&self) -> Result<(), Refusal> {
        match self {
            Self::Full(holder) if holder.is_address_denied() => {
                Err(Refusal::AddressNotAllowed(holder.session().current_role))
            }
            Self::Full(_) | Self::Partial(_) => Ok(()),
        }
    }

    /// Them, as those who make a change.
    pub(crate) fn as_author(&self, now: Timestamp) -> ChangeAuthor {
        match self {
            Self::Full(holder) => holder.as_author_at_address(now),
            Self::Partial(half) => {
                ChangeAuthor::PartialSession { digest: half.digest, employee: half.person.key.clone(), now }
            }
        }
    }

    /// Whether the platform vouched for them, in the session whose token they show.
    pub(crate) fn is_vouched_for(&self) -> bool {
        matches!(self, Self::Full(holder) if holder.session().is_vouched_for())
    }
}

impl Auth {
    /// Finds out who shows this token, of a session or of half a sign-in.
    ///
    /// # Errors
    /// A refusal that says what is wrong with the token, or a failure of the store.
    pub async fn authenticate_partial_or_full(&self, token: &str, from: IpAddr) -> Result<PartialOrFull, Error> {
        match Secret::<Half>::parse(token) {
            Ok(half) => Ok(PartialOrFull::Partial(self.authenticate_partial(half.digest()).await?)),
            Err(_) => Ok(PartialOrFull::Full(self.authenticate(token, Some(from)).await?)),
        }
    }

    async fn authenticate_partial(&self, digest: Digest) -> Result<PartialTokenHolder, Error> {
        let problem = |problem| Error::Refused(Refusal::Token(problem));
        let half = match self.store.partial_session(&digest).await? {
            PartialSessionLookup::Found(half) => half,
            PartialSessionLookup::Denied(ended) => return Err(problem(TokenError::Ended(ended))),
            PartialSessionLookup::NotFound => return Err(problem(TokenError::Unknown)),
        };
        if self.clock.now_for_lifetime(PARTIAL_SESSION_LIFETIME) >= half.expires_at {
            return Err(problem(TokenError::Expired));
        }
        let person = self.store.person(&half.employee).await?.ok_or(problem(TokenError::Unknown))?;
        if person.disabled {
            return Err(problem(TokenError::Ended(EndReason::Disabled)));
        }
        Ok(PartialTokenHolder { digest, person })
    }

    /// Ends a session, or half a sign-in, for good.
    ///
    /// # Errors
    /// When somebody else ended it first, or the store fails.
    pub async fn sign_out(&self, bearer: &PartialOrFull, visitor: &ClientInfo) -> Result<(), Error> {
        match bearer {
            PartialOrFull::Full(holder) => self.logout(holder, visitor).await,
            PartialOrFull::Partial(half) => {
                let ended = self.store.end_partial_session(half.digest, self.deny_until(self.clock.now())).await?;
                if ended { Ok(()) } else { Err(Refusal::Token(TokenError::Unknown).into()) }
            }
        }
    }

    /// Whether somebody half-way in will have a role, asked before anything is used up for it.
    pub(crate) async fn require_role(
        &self,
        bearer: &PartialOrFull,
        device_proven: bool,
        visitor: &ClientInfo,
    ) -> Result<(), Error> {
        let PartialOrFull::Partial(half) = bearer else { return Ok(()) };
        let proof = SignInProof::Password { half: half.digest, device_proven };
        let available = self.available_roles(&half.person, LoginMethod::Password, &proof).await?;
        self.initial_role(available.roles, None, visitor).await.map(drop)
    }

    /// Makes a whole sign-in of half a one, now that the other half was shown.
    pub(crate) async fn complete_sign_in(
        &self,
        half: &PartialTokenHolder,
        device_proven: bool,
        visitor: &ClientInfo,
    ) -> Result<SignedIn, Error> {
        let (employee, method) = (&half.person.key, LoginMethod::Password);
        let proof = SignInProof::Password { half: half.digest, device_proven };
        let source = Some(LoginSource::ItAgent);
        self.sign_in(SignInRequest { employee, role: None, method, proof, source, visitor }).await
    }
}
