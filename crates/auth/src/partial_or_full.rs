//! Holders of a token, either of a session or of a partial session.

use std::net::IpAddr;
use std::sync::Arc;

use deskpass_core::{
    ClientInfo, Digest, EmployeeKey, Half, LoginMethod, LoginSource, Person, Roles, Secret, Timestamp,
};
use deskpass_store::{ChangeAuthor, PartialSessionLookup};

use crate::agent::PARTIAL_SESSION_LIFETIME;
use crate::people::token_problem;
use crate::sign_in::{SignInProof, SignInRequest};
use crate::{Auth, Error, Refusal, SignedIn, TokenError, TokenHolder};

/// The holder of a valid token.
#[derive(Clone, Debug)]
pub enum PartialOrFull {
    /// The token is of a session.
    Full(TokenHolder),
    /// The token is of a partial session, which can only be completed or signed out.
    Partial(PartialTokenHolder),
}

/// A user whose password was verified and whose one-time password is still missing.
#[derive(Clone, Debug)]
pub struct PartialTokenHolder {
    pub(crate) digest: Digest,
    person: Arc<Person>,
}

impl PartialOrFull {
    /// The employee.
    #[must_use]
    pub fn employee(&self) -> &EmployeeKey {
        match self {
            Self::Full(holder) => &holder.session().employee,
            Self::Partial(half) => &half.person.key,
        }
    }

    /// The employee id.
    #[must_use]
    pub fn employee_id(&self) -> &str {
        match self {
            Self::Full(holder) => holder.person().employee_id(),
            Self::Partial(half) => &half.person.employee_id,
        }
    }

    /// The roles that the employee holds at this time.
    pub(crate) fn held_roles(&self, now: Timestamp) -> Roles {
        match self {
            Self::Full(holder) => holder.person().roles_at(now),
            Self::Partial(half) => half.person.roles_at(now),
        }
    }

    /// The digest of the token. It identifies the session or partial session and grants nothing.
    pub(crate) fn digest(&self) -> Digest {
        match self {
            Self::Full(holder) => holder.digest(),
            Self::Partial(half) => half.digest,
        }
    }

    /// Refuses a user whose active role is not allowed at the client's address. Such a user may only sign out.
    pub(crate) fn require_address_allowed(&self) -> Result<(), Refusal> {
        match self {
            Self::Full(holder) if holder.address_denied => {
                Err(Refusal::AddressNotAllowed(holder.session().current_role))
            }
            Self::Full(_) | Self::Partial(_) => Ok(()),
        }
    }

    pub(crate) fn as_author(&self, now: Timestamp) -> ChangeAuthor {
        match self {
            Self::Full(holder) => holder.as_author_at_address(now),
            Self::Partial(half) => {
                ChangeAuthor::PartialSession { digest: half.digest, employee: half.person.key.clone(), now }
            }
        }
    }

    /// Whether the platform vouched for the user in the session of the token.
    pub(crate) fn is_vouched_for(&self) -> bool {
        matches!(self, Self::Full(holder) if holder.session().is_vouched_for())
    }
}

impl Auth {
    /// Identifies the holder of a token, of a session or of a partial session. A refusal names the problem with the token.
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
            PartialSessionLookup::Denied(ended) => return Err(problem(ended.into())),
            PartialSessionLookup::NotFound => return Err(problem(TokenError::Unknown)),
        };
        if self.clock.now_for_lifetime(PARTIAL_SESSION_LIFETIME) >= half.expires_at {
            return Err(problem(TokenError::Expired));
        }
        let person = self.store.person(&half.employee).await?.ok_or(problem(TokenError::Unknown))?;
        if let Some(left_or_disabled) = token_problem(person.disabled, person.left) {
            return Err(problem(left_or_disabled));
        }
        Ok(PartialTokenHolder { digest, person })
    }

    /// Ends a session or a partial session. Refused if it has ended already.
    pub async fn sign_out(&self, bearer: &PartialOrFull, visitor: &ClientInfo) -> Result<(), Error> {
        match bearer {
            PartialOrFull::Full(holder) => self.logout(holder, visitor).await,
            PartialOrFull::Partial(half) => {
                let ended = self.store.end_partial_session(half.digest, self.deny_until(self.clock.now())).await?;
                if ended { Ok(()) } else { Err(Refusal::Token(TokenError::Unknown).into()) }
            }
        }
    }

    /// Requires that a partial session would get a role, before a code is used up.
    pub(crate) async fn require_role(
        &self,
        bearer: &PartialOrFull,
        device_proven: bool,
        visitor: &ClientInfo,
    ) -> Result<(), Error> {
        let PartialOrFull::Partial(half) = bearer else { return Ok(()) };
        let proof = SignInProof::Password { half: half.digest, device_proven };
        let (roles, _) = self.available_roles(&half.person, LoginMethod::Password, &proof).await?;
        self.initial_role(roles, None, None, visitor).await.map(drop)
    }

    /// Completes a partial session after the one-time password was accepted.
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
