//! A sign-in that somebody waits for in one browser while somebody decides about it on a phone.
//!
//! Every step is a function from what was to what is, and says no where the step does not fit. Whoever keeps tickets
//! applies a step to all of it or to none of it, so that of two that come at once one wins.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Digest, Identified, LoginSource, Sealed, Timestamp, Visitor};

/// How long a delivered token may be asked for again, should the answer have been lost.
pub const REPEATS: Duration = Duration::from_secs(30);

/// A sign-in under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignIn {
    /// Who waits for it.
    pub asked: Asked,
    /// The cookie of the browser that waits; without one, whoever has the ticket.
    pub bound_to: Option<Digest>,
    /// The token's digest, and the token for the holder of the ticket alone.
    pub token: (Digest, Sealed),
    /// When it is over, whatever its stage.
    pub expires_at: Timestamp,
    /// How far it has come.
    pub stage: Stage,
}

/// Who asked for a sign-in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// For which client.
    pub source: LoginSource,
    /// From where.
    pub visitor: Visitor,
    /// When.
    pub at: Timestamp,
}

/// How far a sign-in has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stage {
    /// Nobody has scanned it.
    Waiting,
    /// A phone has scanned it and decides.
    Scanned(Claim),
    /// The phone said yes; the session is being made.
    Confirmed(Claim),
    /// The session is there, for the ticket's holder to collect.
    Ready {
        /// Whose it is.
        who: Shown,
        /// When it was collected first.
        delivered_at: Option<Timestamp>,
    },
    /// Cancelled or refused.
    Over,
}

/// A phone's claim on a sign-in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// What the phone's secret hashes to.
    pub confirm: Digest,
    /// Who the platform says is holding the phone.
    pub who: Identified,
    /// Where the phone is.
    pub phone: Visitor,
}

/// What the waiting browser may see of a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    /// The identifier as the corporation writes it.
    pub employee_id: String,
    /// Display name.
    pub name: String,
}

/// A step that does not fit the stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this sign-in was decided, taken by another phone, or is over")]
pub struct OutOfStep;

impl SignIn {
    /// A phone scans the code: the first one wins.
    ///
    /// # Errors
    /// When another one was first.
    pub fn scanned(self, claim: Claim) -> Result<Self, OutOfStep> {
        match self.stage {
            Stage::Waiting => Ok(Self { stage: Stage::Scanned(claim), ..self }),
            _ => Err(OutOfStep),
        }
    }

    /// The phone says yes: once. It does not become too late while the session is being made.
    ///
    /// # Errors
    /// When it has decided already, or another phone has the sign-in.
    pub fn confirmed(self, confirm: Digest, now: Timestamp) -> Result<Self, OutOfStep> {
        let expires_at = self.expires_at.max(now + REPEATS);
        match self.stage {
            Stage::Scanned(claim) if claim.confirm == confirm => {
                Ok(Self { stage: Stage::Confirmed(claim), expires_at, ..self })
            }
            _ => Err(OutOfStep),
        }
    }

    /// The phone says no: once.
    ///
    /// # Errors
    /// As [`SignIn::confirmed`].
    pub fn cancelled(self, confirm: Digest) -> Result<Self, OutOfStep> {
        match self.stage {
            Stage::Scanned(claim) if claim.confirm == confirm => Ok(Self { stage: Stage::Over, ..self }),
            _ => Err(OutOfStep),
        }
    }

    /// The session is there. Whoever waits has time to collect it.
    #[must_use]
    pub fn ready(self, who: Shown, now: Timestamp) -> Self {
        let expires_at = self.expires_at.max(now + REPEATS);
        Self { stage: Stage::Ready { who, delivered_at: None }, expires_at, ..self }
    }

    /// The session could not be made for a reason that may pass: the phone may say yes again.
    #[must_use]
    pub fn undecided(self) -> Self {
        match self.stage {
            Stage::Confirmed(claim) => Self { stage: Stage::Scanned(claim), ..self },
            stage => Self { stage, ..self },
        }
    }

    /// The session will not be made.
    #[must_use]
    pub fn refused(self) -> Self {
        Self { stage: Stage::Over, ..self }
    }

    /// The token is handed over: from now on the same answer may be repeated for a while.
    ///
    /// # Errors
    /// When there is none yet, or that while is over.
    pub fn delivered(self, now: Timestamp) -> Result<Self, OutOfStep> {
        let Stage::Ready { who, delivered_at } = self.stage else { return Err(OutOfStep) };
        let first = delivered_at.unwrap_or(now);
        if now >= first + REPEATS {
            return Err(OutOfStep);
        }
        let expires_at = self.expires_at.max(first + REPEATS);
        Ok(Self { stage: Stage::Ready { who, delivered_at: Some(first) }, expires_at, ..self })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{ClientAddress, EmployeeKey, Entropy, Networks, Secret, UserAgent, kind};

    fn visitor() -> Visitor {
        let address = ClientAddress::read([127, 0, 0, 1].into(), std::iter::empty(), &Networks::default());
        Visitor { address, user_agent: UserAgent::default() }
    }

    fn digest(of: u8) -> Digest {
        Digest::of(&[&[of]])
    }

    fn claim(phone: u8) -> Claim {
        let key = EmployeeKey::from_parts("ww", "a");
        let who =
            Identified { key, employee_id: "a".into(), through: None, name: None, department: None, avatar: None };
        Claim { confirm: digest(phone), who, phone: visitor() }
    }

    fn waiting() -> SignIn {
        let ticket = Secret::<kind::Ticket>::generate(&Entropy::system());
        let ticket = ticket.unwrap_or_else(|_| unreachable!("the system has entropy"));
        let token = Secret::<kind::Access>::generate(&Entropy::system());
        let token = token.unwrap_or_else(|_| unreachable!("the system has entropy"));
        let at = Timestamp::from_millis(0);
        let asked = Asked { source: LoginSource::H5, visitor: visitor(), at };
        let token = (token.digest(), token.seal(&ticket));
        SignIn { asked, bound_to: None, token, expires_at: at + Duration::from_mins(3), stage: Stage::Waiting }
    }

    /// What can be tried on a sign-in; the number names the phone.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Scan(u8),
        Confirm(u8),
        Cancel(u8),
        Begin,
        Fail,
        Refuse,
        Deliver,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            (0..3u8).prop_map(Step::Scan),
            (0..3u8).prop_map(Step::Confirm),
            (0..3u8).prop_map(Step::Cancel),
            Just(Step::Begin),
            Just(Step::Fail),
            Just(Step::Refuse),
            Just(Step::Deliver),
        ];
        prop::collection::vec(step, 0..20)
    }

    proptest! {
        #[test]
        fn one_phone_decides_once_and_only_a_yes_delivers(steps in steps()) {
            let now = Timestamp::from_millis(1_000);
            let shown = Shown { employee_id: "a".into(), name: "A".into() };
            let (mut sign_in, mut scanner, mut yes, mut ready) = (waiting(), None, false, false);
            for step in steps {
                let was = sign_in.clone();
                // Whoever makes the session does so between a yes and its settlement, and nobody else.
                let making = matches!(was.stage, Stage::Confirmed(_));
                let next = match step {
                    Step::Scan(phone) => was.scanned(claim(phone)).inspect(|_| {
                        assert_eq!(scanner.replace(phone), None, "scanned twice");
                    }),
                    Step::Confirm(phone) => was.confirmed(digest(phone), now).inspect(|_| {
                        assert!(scanner == Some(phone) && !yes, "confirmed by another phone, or twice");
                        yes = true;
                    }),
                    Step::Cancel(phone) => was.cancelled(digest(phone)).inspect(|_| {
                        assert!(scanner == Some(phone) && !yes, "cancelled by another phone, or after a yes");
                    }),
                    Step::Begin if making => {
                        ready = true;
                        Ok(was.ready(shown.clone(), now))
                    }
                    Step::Fail if making => {
                        yes = false;
                        Ok(was.undecided())
                    }
                    Step::Refuse if making => Ok(was.refused()),
                    Step::Begin | Step::Fail | Step::Refuse => Err(OutOfStep),
                    Step::Deliver => was.delivered(now).inspect(|_| assert!(ready, "delivered without a session")),
                };
                sign_in = next.unwrap_or(sign_in);
            }
        }
    }

    #[test]
    fn a_delivery_may_be_repeated_for_a_while() {
        let shown = Shown { employee_id: "a".into(), name: "A".into() };
        let at = |millis| Timestamp::from_millis(millis);
        let ready = waiting().ready(shown, at(179_000));
        assert_eq!(ready.expires_at, at(209_000), "whoever confirms late still has time to collect");
        let delivered = ready.delivered(at(180_000)).and_then(|again| again.delivered(at(209_999)));
        assert!(delivered.is_ok_and(|again| again.expires_at == at(210_000) && again.delivered(at(210_000)).is_err()));
    }

    #[test]
    fn what_may_pass_can_be_tried_again() {
        let late = Timestamp::from_millis(179_999);
        let confirmed = waiting().scanned(claim(1)).and_then(|scanned| scanned.confirmed(digest(1), late));
        assert!(confirmed.as_ref().is_ok_and(|confirmed| confirmed.expires_at == late + REPEATS));
        let again = confirmed.map(SignIn::undecided).and_then(|undecided| undecided.confirmed(digest(1), late));
        assert!(again.is_ok_and(|confirmed| confirmed.refused().confirmed(digest(1), late).is_err()));
    }
}
