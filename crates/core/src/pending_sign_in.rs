//! A sign-in that one browser waits for while a phone decides about it.
//!
//! Every step is a function from the old state to the new state, and fails where the step does not fit. The store applies a
//! step atomically, so that exactly one of two concurrent steps wins.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    ClientInfo, Digest, EmployeeKey, IdentifiedPerson, LoginSource, MatchNumber, NumberMatch, SealedToken, Timestamp,
};

/// The period in which a delivered token may be requested again, in case the response was lost.
const REDELIVERY_PERIOD: Duration = Duration::from_secs(30);

/// How long it is known that a token was delivered: the phone that confirmed may ask late, because it was asleep.
pub const OUTCOME_PERIOD: Duration = Duration::from_mins(10);

/// The lease of the request that creates the session: longer than that takes. After it, the request is considered dead.
const CONFIRM_LEASE: Duration = Duration::from_secs(5);

/// A sign-in in progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingSignIn {
    /// The request that started it.
    pub asked: SignInOrigin,
    /// The cookie of the waiting browser; without one, the ticket alone is sufficient.
    pub bound_to: Option<Digest>,
    /// The token's digest, and the token sealed for the holder of the ticket.
    pub token: (Digest, SealedToken),
    /// The expiry, in every stage.
    pub expires_at: Timestamp,
    /// The current stage.
    pub stage: SignInStage,
    /// Why it ended before its time, if it did.
    #[serde(default)]
    pub ended: Option<EarlyEnd>,
    /// The number on the screen, which the phone must pick before its confirmation counts. A client that does not show it has none.
    #[serde(default)]
    pub numbers: Option<NumberMatch>,
}

/// Why a sign-in ended before its time. The waiting browser may know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EarlyEnd {
    /// The user cancelled on the phone.
    Cancelled,
    /// The user picked another number than the one on the screen.
    WrongNumber,
    /// The person who scanned is not a member of a corporation that is connected here.
    NotAMember,
    /// The person who scanned holds no role.
    NoRole,
    /// The person who scanned has left, according to the platform.
    Left,
    /// The person who scanned is disabled.
    Disabled,
    /// The person who scanned holds no role that may be used from the address of the waiting browser.
    AddressNotAllowed,
    /// The sign-in was refused for another reason, or for one that a later version knows.
    #[serde(other)]
    Refused,
}

impl EarlyEnd {
    /// Every reason, by name.
    pub const NAMES: [&str; 8] =
        ["cancelled", "wrong_number", "not_a_member", "no_role", "left", "disabled", "address_not_allowed", "refused"];
}

/// The request that started a sign-in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignInOrigin {
    /// The client.
    pub source: LoginSource,
    /// The address and user agent.
    pub visitor: ClientInfo,
    /// The time.
    pub at: Timestamp,
    /// The name and the host of the OpenID Connect client that the sign-in is for.
    #[serde(default)]
    pub client: Option<(String, String)>,
}

/// The stage of a sign-in. A claim is on the heap: it is half the size of a sign-in, and most codes are never scanned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SignInStage {
    /// No phone has scanned the code.
    Waiting,
    /// A phone has scanned the code and must decide.
    Scanned(Box<PhoneClaim>),
    /// The phone confirmed; the session is being created.
    Confirmed {
        /// The claim of the phone.
        claim: Box<PhoneClaim>,
        /// The time of the confirmation, which identifies the request that creates the session.
        since: Timestamp,
    },
    /// The session exists, and the holder of the ticket can collect it.
    Ready {
        /// The employee who signed in.
        who: PersonPreview,
        /// The time of the first collection.
        delivered_at: Option<Timestamp>,
        /// Whether a phone confirmed it; otherwise the platform redirected the browser itself.
        #[serde(default)]
        by_phone: bool,
        /// The digest of the phone's secret. Only records in the memory of a process have it.
        #[serde(skip)]
        confirm: Option<Digest>,
    },
    /// Cancelled or refused.
    Over,
}

/// A phone's claim on a sign-in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhoneClaim {
    /// The digest of the phone's secret.
    pub confirm: Digest,
    /// The employee who holds the phone, according to the platform.
    pub who: IdentifiedPerson,
    /// The address and user agent of the phone.
    pub phone: ClientInfo,
    /// Whether another page opened the link on the phone, according to its browser. A scanned code is opened by the app.
    #[serde(default)]
    pub opened_by_page: bool,
    /// Whether the phone's page reported that the question was visible long enough to be read.
    #[serde(default)]
    pub shown: bool,
}

/// The part of an employee's profile that the waiting browser may see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonPreview {
    /// The identifier as the corporation writes it.
    pub employee_id: String,
    /// Display name.
    pub name: String,
}

/// An error: the step does not fit the stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this sign-in was decided, was scanned by another phone, or is over")]
pub struct InvalidTransition;

impl PendingSignIn {
    /// The claim of the phone that has scanned the code, until the session exists.
    fn claim(&self) -> Option<&PhoneClaim> {
        match &self.stage {
            SignInStage::Scanned(claim) | SignInStage::Confirmed { claim, .. } => Some(claim),
            SignInStage::Waiting | SignInStage::Ready { .. } | SignInStage::Over => None,
        }
    }

    /// The employee whose phone has scanned the code.
    #[must_use]
    pub fn who(&self) -> Option<&EmployeeKey> {
        self.claim().map(|claim| &claim.who.key)
    }

    /// Records that the person who scanned the code may not sign in. Has an effect only before a phone has claimed it.
    pub fn turned_away(self, why: EarlyEnd) -> Result<Self, InvalidTransition> {
        match self.stage {
            SignInStage::Waiting => Ok(self.over(why)),
            _ => Err(InvalidTransition),
        }
    }

    fn over(self, why: EarlyEnd) -> Self {
        Self { stage: SignInStage::Over, ended: Some(why), ..self }
    }

    /// Records that a phone scanned the code. The first phone wins.
    pub fn scanned(self, claim: PhoneClaim) -> Result<Self, InvalidTransition> {
        match self.stage {
            SignInStage::Waiting => Ok(Self { stage: SignInStage::Scanned(Box::new(claim)), ..self }),
            _ => Err(InvalidTransition),
        }
    }

    /// The claim of the phone with this secret, while it may confirm: until it has decided, and again when its confirmation
    /// produced no session. A session that may already exist does no harm, because it has the same token.
    #[must_use]
    pub fn may_confirm(&self, confirm: Digest, now: Timestamp) -> Option<&PhoneClaim> {
        let claim = match &self.stage {
            SignInStage::Scanned(claim) => claim,
            SignInStage::Confirmed { claim, since } if now >= *since + CONFIRM_LEASE => claim,
            _ => return None,
        };
        Some(&**claim).filter(|claim| claim.confirm == confirm)
    }

    /// Records that the phone's page has shown the question to the user. Repetition has no effect.
    pub fn shown(self, confirm: Digest) -> Result<Self, InvalidTransition> {
        match self.stage {
            SignInStage::Scanned(mut claim) if claim.confirm == confirm => {
                claim.shown = true;
                Ok(Self { stage: SignInStage::Scanned(claim), ..self })
            }
            _ => Err(InvalidTransition),
        }
    }

    /// Records the phone's confirmation, once. The sign-in does not expire while the session is being created. Where the screen
    /// shows a number, a confirmation without that number ends the sign-in: the person may not see the screen.
    pub fn confirmed(
        self,
        confirm: Digest,
        picked: Option<MatchNumber>,
        now: Timestamp,
    ) -> Result<Self, InvalidTransition> {
        let claim = Box::new(self.may_confirm(confirm, now).ok_or(InvalidTransition)?.clone());
        if !self.is_number_picked(picked) {
            return Ok(self.over(EarlyEnd::WrongNumber));
        }
        let expires_at = self.expires_at.max(now + REDELIVERY_PERIOD);
        Ok(Self { stage: SignInStage::Confirmed { claim, since: now }, expires_at, ..self })
    }

    /// Records a confirmation once more after a failure, when it may be recorded already. `at` is the time of the first attempt,
    /// which identifies the request; the confirmation of another request is not repeated.
    pub fn confirmed_again(
        self,
        confirm: Digest,
        picked: Option<MatchNumber>,
        at: Timestamp,
    ) -> Result<Self, InvalidTransition> {
        match &self.stage {
            SignInStage::Confirmed { claim, since } if claim.confirm == confirm && *since == at => Ok(self),
            // Only the phone that has claimed the sign-in picks a number, and only one.
            SignInStage::Over if self.ended == Some(EarlyEnd::WrongNumber) => Ok(self),
            _ => self.confirmed(confirm, picked, at),
        }
    }

    /// Whether the phone picked the number on the screen, or the screen shows none.
    fn is_number_picked(&self, picked: Option<MatchNumber>) -> bool {
        self.numbers.as_ref().is_none_or(|numbers| picked.is_some_and(|picked| numbers.is_match(picked)))
    }

    /// Records the phone's rejection, once.
    pub fn cancelled(self, confirm: Digest) -> Result<Self, InvalidTransition> {
        match &self.stage {
            SignInStage::Scanned(claim) if claim.confirm == confirm => Ok(self.over(EarlyEnd::Cancelled)),
            _ => Err(InvalidTransition),
        }
    }

    /// Records a rejection once more after a failure, when it may be recorded already.
    pub fn cancelled_again(self, confirm: Digest) -> Result<Self, InvalidTransition> {
        match &self.stage {
            // Only the phone that has claimed the sign-in can have ended it so.
            SignInStage::Over if self.ended == Some(EarlyEnd::Cancelled) => Ok(self),
            _ => self.cancelled(confirm),
        }
    }

    /// Records that the session exists. The period to collect it starts with the first call.
    #[must_use]
    pub fn ready(self, who: PersonPreview, now: Timestamp) -> Self {
        if matches!(self.stage, SignInStage::Ready { .. } | SignInStage::Over) {
            return self;
        }
        let (expires_at, confirm) =
            (self.expires_at.max(now + REDELIVERY_PERIOD), self.claim().map(|claim| claim.confirm));
        let stage = SignInStage::Ready { who, delivered_at: None, by_phone: confirm.is_some(), confirm };
        Self { expires_at, stage, ..self }
    }

    /// Records that the session could not be created for a temporary reason: the phone may confirm again. A request whose
    /// confirmation has another time than `at` is not affected.
    #[must_use]
    pub fn reopened(self, at: Timestamp) -> Self {
        match self.stage {
            SignInStage::Confirmed { claim, since } if since == at => {
                Self { stage: SignInStage::Scanned(claim), ..self }
            }
            stage => Self { stage, ..self },
        }
    }

    /// Records that the session will not be created, unless another request has created it.
    #[must_use]
    pub fn refused(self, why: EarlyEnd) -> Self {
        match self.stage {
            SignInStage::Ready { .. } | SignInStage::Over => self,
            _ => self.over(why),
        }
    }

    /// Records that the token was delivered. From now on, the same response may be repeated for a limited period.
    pub fn delivered(self, now: Timestamp) -> Result<Self, InvalidTransition> {
        let SignInStage::Ready { who, delivered_at, by_phone, confirm } = self.stage else {
            return Err(InvalidTransition);
        };
        let first = delivered_at.unwrap_or(now);
        if now >= first + REDELIVERY_PERIOD {
            return Err(InvalidTransition);
        }
        // Only a phone asks for the outcome.
        let expires_at = self.expires_at.max(first + if by_phone { OUTCOME_PERIOD } else { REDELIVERY_PERIOD });
        Ok(Self { stage: SignInStage::Ready { who, delivered_at: Some(first), by_phone, confirm }, expires_at, ..self })
    }

    /// The same for a store that keeps the outcome for the phone elsewhere: a delivered sign-in lasts as long as the
    /// response may be repeated.
    #[must_use]
    pub fn without_outcome(self) -> Self {
        match self.stage {
            SignInStage::Ready { delivered_at: Some(first), .. } => {
                Self { expires_at: first + REDELIVERY_PERIOD, ..self }
            }
            _ => self,
        }
    }
}

#[cfg(test)]
mod tests;
