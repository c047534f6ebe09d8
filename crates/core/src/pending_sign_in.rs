//! A sign-in that one browser waits for while a phone decides about it.
//!
//! Every step is a function from the old state to the new state, and fails where the step does not fit. The store applies a
//! step atomically, so that exactly one of two concurrent steps wins.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{ClientInfo, Digest, EmployeeKey, IdentifiedPerson, LoginSource, SealedToken, Timestamp};

/// The period in which a delivered token may be requested again, in case the response was lost.
pub const REDELIVERY_PERIOD: Duration = Duration::from_secs(30);

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
}

/// The stage of a sign-in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SignInStage {
    /// No phone has scanned the code.
    Waiting,
    /// A phone has scanned the code and must decide.
    Scanned(PhoneClaim),
    /// The phone confirmed; the session is being created.
    Confirmed {
        /// The claim of the phone.
        claim: PhoneClaim,
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
#[error("this sign-in was decided, taken by another phone, or is over")]
pub struct InvalidTransition;

impl PendingSignIn {
    /// The employee whose phone has scanned the code.
    #[must_use]
    pub fn who(&self) -> Option<&EmployeeKey> {
        match &self.stage {
            SignInStage::Scanned(claim) | SignInStage::Confirmed { claim, .. } => Some(&claim.who.key),
            SignInStage::Waiting | SignInStage::Ready { .. } | SignInStage::Over => None,
        }
    }

    /// Records that a phone scanned the code. The first phone wins.
    ///
    /// # Errors
    /// When another phone was first.
    pub fn scanned(self, claim: PhoneClaim) -> Result<Self, InvalidTransition> {
        match self.stage {
            SignInStage::Waiting => Ok(Self { stage: SignInStage::Scanned(claim), ..self }),
            _ => Err(InvalidTransition),
        }
    }

    /// The claim of the phone with this secret, while it may confirm: until it has decided, and again when its confirmation
    /// produced no session. A session that may already exist does no harm, because it has the same token.
    #[must_use]
    pub fn may_confirm(&self, confirm: Digest, now: Timestamp) -> Option<&PhoneClaim> {
        match &self.stage {
            SignInStage::Scanned(claim) => Some(claim),
            SignInStage::Confirmed { claim, since } if now >= *since + CONFIRM_LEASE => Some(claim),
            _ => None,
        }
        .filter(|claim| claim.confirm == confirm)
    }

    /// Records that the phone's page has shown the question to the user. Repetition has no effect.
    ///
    /// # Errors
    /// When this phone has no decision to make.
    pub fn shown(self, confirm: Digest) -> Result<Self, InvalidTransition> {
        match self.stage {
            SignInStage::Scanned(claim) if claim.confirm == confirm => {
                Ok(Self { stage: SignInStage::Scanned(PhoneClaim { shown: true, ..claim }), ..self })
            }
            _ => Err(InvalidTransition),
        }
    }

    /// Records the phone's confirmation, once. The sign-in does not expire while the session is being created.
    ///
    /// # Errors
    /// When the phone has already decided, or another phone has the sign-in.
    pub fn confirmed(self, confirm: Digest, now: Timestamp) -> Result<Self, InvalidTransition> {
        let claim = self.may_confirm(confirm, now).ok_or(InvalidTransition)?.clone();
        let expires_at = self.expires_at.max(now + REDELIVERY_PERIOD);
        Ok(Self { stage: SignInStage::Confirmed { claim, since: now }, expires_at, ..self })
    }

    /// Records the phone's rejection, once.
    ///
    /// # Errors
    /// As [`PendingSignIn::confirmed`].
    pub fn cancelled(self, confirm: Digest) -> Result<Self, InvalidTransition> {
        match self.stage {
            SignInStage::Scanned(claim) if claim.confirm == confirm => Ok(Self { stage: SignInStage::Over, ..self }),
            _ => Err(InvalidTransition),
        }
    }

    /// Records that the session exists. The period to collect it starts with the first call.
    #[must_use]
    pub fn ready(self, who: PersonPreview, now: Timestamp) -> Self {
        if matches!(self.stage, SignInStage::Ready { .. } | SignInStage::Over) {
            return self;
        }
        let (expires_at, by_phone) = (self.expires_at.max(now + REDELIVERY_PERIOD), self.stage != SignInStage::Waiting);
        Self { stage: SignInStage::Ready { who, delivered_at: None, by_phone }, expires_at, ..self }
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
    pub fn refused(self) -> Self {
        match self.stage {
            SignInStage::Ready { .. } => self,
            _ => Self { stage: SignInStage::Over, ..self },
        }
    }

    /// Records that the token was delivered. From now on, the same response may be repeated for a limited period.
    ///
    /// # Errors
    /// When there is no token yet, or the period is over.
    pub fn delivered(self, now: Timestamp) -> Result<Self, InvalidTransition> {
        let SignInStage::Ready { who, delivered_at, by_phone } = self.stage else { return Err(InvalidTransition) };
        let first = delivered_at.unwrap_or(now);
        if now >= first + REDELIVERY_PERIOD {
            return Err(InvalidTransition);
        }
        let expires_at = self.expires_at.max(first + REDELIVERY_PERIOD);
        Ok(Self { stage: SignInStage::Ready { who, delivered_at: Some(first), by_phone }, expires_at, ..self })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{ClientAddress, EmployeeKey, Entropy, Networks, Secret, UserAgent, secret_kind};

    fn visitor() -> ClientInfo {
        let address = ClientAddress::read([127, 0, 0, 1].into(), std::iter::empty(), &Networks::default());
        ClientInfo { address, user_agent: UserAgent::default() }
    }

    fn digest(of: u8) -> Digest {
        Digest::of(&[&[of]])
    }

    fn claim(phone: u8) -> PhoneClaim {
        let key = EmployeeKey::from_parts("ww", "a");
        let who = IdentifiedPerson {
            key,
            employee_id: "a".into(),
            through: None,
            name: None,
            department: None,
            department_id: None,
            avatar: None,
        };
        PhoneClaim { confirm: digest(phone), who, phone: visitor(), opened_by_page: false, shown: false }
    }

    fn waiting() -> PendingSignIn {
        let ticket = Secret::<secret_kind::Ticket>::generate(&Entropy::system());
        let ticket = ticket.unwrap_or_else(|_| unreachable!("the system has entropy"));
        let token = Secret::<secret_kind::Access>::generate(&Entropy::system());
        let token = token.unwrap_or_else(|_| unreachable!("the system has entropy"));
        let at = Timestamp::from_millis(0);
        let asked = SignInOrigin { source: LoginSource::H5, visitor: visitor(), at };
        let token = (token.digest(), token.seal(&ticket));
        PendingSignIn {
            asked,
            bound_to: None,
            token,
            expires_at: at + Duration::from_mins(3),
            stage: SignInStage::Waiting,
        }
    }

    /// A step to try. The number identifies the phone, or the request that creates the session, in the order of confirmations.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Scan(u8),
        Confirm(u8),
        Cancel(u8),
        Begin,
        Fail(usize),
        Refuse(usize),
        Deliver,
        Wait(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            (0..3u8).prop_map(Step::Scan),
            (0..3u8).prop_map(Step::Confirm),
            (0..3u8).prop_map(Step::Cancel),
            Just(Step::Begin),
            (0..3usize).prop_map(Step::Fail),
            (0..3usize).prop_map(Step::Refuse),
            Just(Step::Deliver),
            (0..6u64).prop_map(Step::Wait),
        ];
        prop::collection::vec(step, 0..30)
    }

    /// The history of a sign-in.
    #[derive(Default)]
    struct Past {
        scanner: Option<u8>,
        /// The times of the phone's confirmations.
        yeses: Vec<Timestamp>,
        /// Whether the last confirmation was reopened.
        failed: bool,
        ready: bool,
    }

    impl Past {
        /// Whether a confirmation of this phone must be rejected.
        fn is_decided(&self, phone: u8, now: Timestamp) -> bool {
            let at_it = self.yeses.last().is_some_and(|yes| now < *yes + CONFIRM_LEASE);
            self.scanner != Some(phone) || self.ready || (at_it && !self.failed)
        }
    }

    /// Tries a step, and if it succeeds, checks that it was allowed.
    fn attempt(
        was: PendingSignIn,
        step: Step,
        past: &mut Past,
        now: Timestamp,
    ) -> Result<PendingSignIn, InvalidTransition> {
        let shown = PersonPreview { employee_id: "a".into(), name: "A".into() };
        match step {
            Step::Scan(phone) => was.scanned(claim(phone)).inspect(|_| {
                assert_eq!(past.scanner.replace(phone), None, "scanned twice");
            }),
            Step::Confirm(phone) => was.confirmed(digest(phone), now).inspect(|_| {
                assert!(!past.is_decided(phone, now), "confirmed by another phone, or twice");
                past.yeses.push(now);
                past.failed = false;
            }),
            Step::Cancel(phone) => was.cancelled(digest(phone)).inspect(|_| {
                let said_yes = !past.yeses.is_empty() && !past.failed;
                assert!(past.scanner == Some(phone) && !said_yes, "cancelled by another phone, or after a yes");
            }),
            // Only a request with a confirmation creates the session; earlier ones may still be running.
            Step::Begin if !past.yeses.is_empty() => {
                let next = was.clone().ready(shown, now);
                assert!(was.stage != SignInStage::Over || next == was, "what is over came back");
                assert!(!past.ready || next == was, "made ready twice");
                past.ready = matches!(next.stage, SignInStage::Ready { .. });
                Ok(next)
            }
            Step::Fail(nth) => past.yeses.get(nth).copied().ok_or(InvalidTransition).map(|yes| {
                let next = was.clone().reopened(yes);
                assert!(next == was || past.yeses.last() == Some(&yes), "gave back what another one has");
                past.failed |= next != was;
                next
            }),
            Step::Refuse(nth) if nth < past.yeses.len() => Ok(was.refused()),
            Step::Begin | Step::Refuse(_) | Step::Wait(_) => Err(InvalidTransition),
            Step::Deliver => was.delivered(now).inspect(|_| assert!(past.ready, "delivered without a session")),
        }
    }

    proptest! {
        #[test]
        fn one_phone_decides_once_at_a_time_and_only_a_yes_delivers(steps in steps()) {
            let (mut sign_in, mut past, mut now) = (waiting(), Past::default(), Timestamp::from_millis(1_000));
            for step in steps {
                if let Step::Wait(seconds) = step {
                    now = now + Duration::from_secs(seconds);
                }
                let was = sign_in.clone();
                sign_in = attempt(was, step, &mut past, now).unwrap_or(sign_in);
                prop_assert!(!past.ready || matches!(sign_in.stage, SignInStage::Ready { .. }), "a session was lost");
            }
        }
    }

    #[test]
    fn a_delivery_may_be_repeated_for_a_while() {
        let shown = PersonPreview { employee_id: "a".into(), name: "A".into() };
        let at = |millis| Timestamp::from_millis(millis);
        let ready = waiting().ready(shown, at(179_000));
        assert_eq!(ready.expires_at, at(209_000), "a late confirmation leaves time to collect");
        let delivered = ready.delivered(at(180_000)).and_then(|again| again.delivered(at(209_999)));
        assert!(delivered.is_ok_and(|again| again.expires_at == at(210_000) && again.delivered(at(210_000)).is_err()));
    }

    #[test]
    fn only_the_phone_that_scanned_says_that_the_question_was_shown() {
        let scanned = waiting().scanned(claim(1)).unwrap_or_else(|_| unreachable!("no phone was first"));
        assert!(waiting().shown(digest(1)).is_err() && scanned.clone().shown(digest(2)).is_err());
        let shown = scanned.shown(digest(1)).unwrap_or_else(|_| unreachable!("it was scanned"));
        assert!(matches!(&shown.stage, SignInStage::Scanned(claim) if claim.shown));
        assert_eq!(shown.clone().shown(digest(1)), Ok(shown));
    }

    #[test]
    fn what_may_pass_can_be_tried_again() {
        let late = Timestamp::from_millis(179_999);
        let confirmed = waiting().scanned(claim(1)).and_then(|scanned| scanned.confirmed(digest(1), late));
        assert!(confirmed.as_ref().is_ok_and(|confirmed| confirmed.expires_at == late + REDELIVERY_PERIOD));
        let undecided = confirmed.map(|confirmed| confirmed.reopened(late));
        let again = undecided.and_then(|undecided| undecided.confirmed(digest(1), late));
        assert!(again.is_ok_and(|confirmed| confirmed.refused().confirmed(digest(1), late + CONFIRM_LEASE).is_err()));
    }

    #[test]
    fn a_yes_of_which_nothing_came_can_be_said_again_by_the_same_phone() {
        let (at, over) = (Timestamp::from_millis(0), Timestamp::from_millis(0) + CONFIRM_LEASE);
        let confirmed = waiting().scanned(claim(1)).and_then(|scanned| scanned.confirmed(digest(1), at));
        let confirmed = confirmed.unwrap_or_else(|_| unreachable!("it was scanned"));
        let early = Timestamp::from_millis(over.millis() - 1);
        assert!(confirmed.clone().confirmed(digest(1), early).is_err(), "a delivery is in progress");
        assert!(confirmed.clone().confirmed(digest(2), over).is_err(), "another phone");
        let again = confirmed.confirmed(digest(1), over).unwrap_or_else(|_| unreachable!("no delivery is in progress"));
        assert_eq!(again.clone().reopened(at), again, "an expired delivery changes nothing");
        assert!(again.clone().confirmed(digest(1), over).is_err(), "once at a time");
        let ready = again.ready(PersonPreview { employee_id: "a".into(), name: "A".into() }, over);
        assert!(ready.confirmed(digest(1), over + CONFIRM_LEASE).is_err());
    }
}
