use proptest::prelude::*;

use super::*;
use crate::{ClientAddress, EmployeeKey, Entropy, Networks, Secret, UserAgent, secret_kind};

fn visitor() -> ClientInfo {
    let address = ClientAddress::read([127, 0, 0, 1].into(), std::iter::empty(), &Networks::default());
    ClientInfo { address, user_agent: UserAgent::default(), reference: None }
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
        email: None,
        asked_at: None,
        identified_at: None,
        seen: false,
        holder: None,
    };
    PhoneClaim { confirm: digest(phone), who, phone: visitor(), opened_by_page: false, shown: false }
}

fn waiting() -> PendingSignIn {
    let ticket = Secret::<secret_kind::Ticket>::generate(&Entropy::system());
    let ticket = ticket.unwrap_or_else(|_| unreachable!("the system has entropy"));
    let token = Secret::<secret_kind::Access>::generate(&Entropy::system());
    let token = token.unwrap_or_else(|_| unreachable!("the system has entropy"));
    let at = Timestamp::from_millis(0);
    let asked = SignInOrigin { source: LoginSource::H5, visitor: visitor(), at, client: None };
    let token = (token.digest(), token.seal(&ticket));
    PendingSignIn {
        asked,
        bound_to: None,
        token,
        expires_at: at + Duration::from_mins(3),
        stage: SignInStage::Waiting,
        ended: None,
        numbers: None,
    }
}

/// The same, with a number on the screen.
fn waiting_with_number() -> PendingSignIn {
    let numbers = NumberMatch::generate(&Entropy::system());
    PendingSignIn { numbers: Some(numbers.unwrap_or_else(|_| unreachable!("the system has entropy"))), ..waiting() }
}

/// What the phone sends with its confirmation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pick {
    Shown,
    Another,
    Nothing,
}

impl Pick {
    /// The number; where the screen shows none, any.
    fn number(self, numbers: Option<&NumberMatch>) -> Option<MatchNumber> {
        let Some(numbers) = numbers else { return MatchNumber::parse("42").filter(|_| self != Self::Nothing) };
        match self {
            Self::Shown => Some(numbers.number()),
            Self::Another => numbers.choices().into_iter().find(|choice| *choice != numbers.number()),
            Self::Nothing => None,
        }
    }
}

/// A step to try. The number identifies the phone, or the request that creates the session, in the order of confirmations.
#[derive(Clone, Copy, Debug)]
enum Step {
    Scan(u8),
    Confirm(u8, Pick),
    Cancel(u8),
    Begin,
    Fail(usize),
    Refuse(usize),
    Deliver,
    Wait(u64),
}

fn picks() -> impl Strategy<Value = Pick> {
    prop_oneof![3 => Just(Pick::Shown), 1 => Just(Pick::Another), 1 => Just(Pick::Nothing)]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (0..3u8).prop_map(Step::Scan),
        (0..3u8, picks()).prop_map(|(phone, pick)| Step::Confirm(phone, pick)),
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
    confirmations: Vec<Timestamp>,
    /// Whether the last confirmation was reopened.
    failed: bool,
    ready: bool,
    /// Whether a phone picked another number than the one on the screen.
    mismatched: bool,
}

impl Past {
    /// Whether a confirmation of this phone must be rejected.
    fn is_decided(&self, phone: u8, now: Timestamp) -> bool {
        let in_progress = self.confirmations.last().is_some_and(|yes| now < *yes + CONFIRM_LEASE);
        self.mismatched || self.scanner != Some(phone) || self.ready || (in_progress && !self.failed)
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
        Step::Confirm(phone, pick) => {
            let (picked, mismatched) =
                (pick.number(was.numbers.as_ref()), was.numbers.is_some() && pick != Pick::Shown);
            was.confirmed(digest(phone), picked, now).inspect(|next| {
                assert!(!past.is_decided(phone, now), "confirmed by another phone, or twice");
                assert_eq!(next.ended == Some(EarlyEnd::WrongNumber), mismatched, "{pick:?}");
                if mismatched {
                    past.mismatched = true;
                } else {
                    past.confirmations.push(now);
                    past.failed = false;
                }
            })
        }
        Step::Cancel(phone) => was.cancelled(digest(phone)).inspect(|_| {
            let confirmed = !past.confirmations.is_empty() && !past.failed;
            assert!(past.scanner == Some(phone) && !confirmed, "cancelled by another phone, or after a confirmation");
        }),
        // Only a request with a confirmation creates the session; earlier ones may still be running.
        Step::Begin if !past.confirmations.is_empty() => {
            let next = was.clone().ready(shown, now);
            assert!(was.stage != SignInStage::Over || next == was, "an ended sign-in came back");
            assert!(!past.ready || next == was, "made ready twice");
            past.ready = matches!(next.stage, SignInStage::Ready { .. });
            Ok(next)
        }
        Step::Fail(nth) => past.confirmations.get(nth).copied().ok_or(InvalidTransition).map(|yes| {
            let next = was.clone().reopened(yes);
            assert!(
                next == was || past.confirmations.last() == Some(&yes),
                "reopened the confirmation of another request"
            );
            past.failed |= next != was;
            next
        }),
        Step::Refuse(nth) if nth < past.confirmations.len() => Ok(was.refused(EarlyEnd::NoRole)),
        Step::Begin | Step::Refuse(_) | Step::Wait(_) => Err(InvalidTransition),
        Step::Deliver => was.delivered(now).inspect(|_| assert!(past.ready, "delivered without a session")),
    }
}

proptest! {
    #[test]
    fn one_phone_decides_once_at_a_time_and_only_a_confirmation_delivers(has_number in any::<bool>(), steps in steps()) {
        let mut sign_in = if has_number { waiting_with_number() } else { waiting() };
        let (mut past, mut now) = (Past::default(), Timestamp::from_millis(1_000));
        for step in steps {
            if let Step::Wait(seconds) = step {
                now = now + Duration::from_secs(seconds);
            }
            let was = sign_in.clone();
            sign_in = attempt(was, step, &mut past, now).unwrap_or(sign_in);
            prop_assert!(!past.ready || matches!(sign_in.stage, SignInStage::Ready { .. }), "a session was lost");
            prop_assert!(!past.mismatched || sign_in.stage == SignInStage::Over, "a wrong number did not end it");
        }
    }
}

#[test]
fn a_delivery_may_be_repeated_for_a_while() {
    let shown = PersonPreview { employee_id: "a".into(), name: "A".into() };
    let at = |millis| Timestamp::from_millis(millis);
    let ready = waiting().ready(shown, at(179_000));
    assert_eq!(ready.expires_at, at(209_000), "after a late confirmation there is still time to collect");
    let delivered = ready.delivered(at(180_000)).and_then(|again| again.delivered(at(209_999)));
    assert!(delivered.is_ok_and(|again| again.expires_at == at(210_000) && again.delivered(at(210_000)).is_err()));
}

#[test]
fn only_the_phone_that_scanned_reports_that_the_question_was_shown() {
    let scanned = waiting().scanned(claim(1)).unwrap_or_else(|_| unreachable!("no other phone was first"));
    assert!(waiting().shown(digest(1)).is_err() && scanned.clone().shown(digest(2)).is_err());
    let shown = scanned.shown(digest(1)).unwrap_or_else(|_| unreachable!("it was scanned"));
    assert!(matches!(&shown.stage, SignInStage::Scanned(claim) if claim.shown));
    assert_eq!(shown.clone().shown(digest(1)), Ok(shown));
}

#[test]
fn a_confirmation_can_be_repeated_after_a_temporary_error() {
    let late = Timestamp::from_millis(179_999);
    let confirmed = waiting().scanned(claim(1)).and_then(|scanned| scanned.confirmed(digest(1), None, late));
    assert!(confirmed.as_ref().is_ok_and(|confirmed| confirmed.expires_at == late + REDELIVERY_PERIOD));
    let undecided = confirmed.map(|confirmed| confirmed.reopened(late));
    let again = undecided.and_then(|undecided| undecided.confirmed(digest(1), None, late));
    assert!(again.is_ok_and(|confirmed| {
        confirmed.refused(EarlyEnd::NoRole).confirmed(digest(1), None, late + CONFIRM_LEASE).is_err()
    }));
}

#[test]
fn the_same_phone_can_confirm_again_when_no_session_was_created() {
    let (at, over) = (Timestamp::from_millis(0), Timestamp::from_millis(0) + CONFIRM_LEASE);
    let confirmed = waiting().scanned(claim(1)).and_then(|scanned| scanned.confirmed(digest(1), None, at));
    let confirmed = confirmed.unwrap_or_else(|_| unreachable!("it was scanned"));
    let early = Timestamp::from_millis(over.millis() - 1);
    assert!(confirmed.clone().confirmed(digest(1), None, early).is_err(), "the session is being created");
    assert!(confirmed.clone().confirmed(digest(2), None, over).is_err(), "another phone");
    let again = confirmed.confirmed(digest(1), None, over).unwrap_or_else(|_| unreachable!("the lease has expired"));
    assert_eq!(again.clone().reopened(at), again, "a request considered dead does not reopen it");
    assert!(again.clone().confirmed(digest(1), None, over).is_err(), "once at a time");
    let ready = again.ready(PersonPreview { employee_id: "a".into(), name: "A".into() }, over);
    assert!(ready.confirmed(digest(1), None, over + CONFIRM_LEASE).is_err());
}

#[test]
fn a_sign_in_that_ended_early_says_why_and_one_that_a_phone_has_does_not_end() {
    let turned_away = waiting().turned_away(EarlyEnd::NotAMember);
    assert!(turned_away.is_ok_and(|over| over.stage == SignInStage::Over && over.ended == Some(EarlyEnd::NotAMember)));
    let scanned = waiting().scanned(claim(1)).unwrap_or_else(|_| unreachable!("no other phone was first"));
    assert!(scanned.clone().turned_away(EarlyEnd::NotAMember).is_err(), "another phone is about to decide");
    let cancelled = scanned.cancelled(digest(1)).unwrap_or_else(|_| unreachable!("it was scanned"));
    assert_eq!(cancelled.ended, Some(EarlyEnd::Cancelled));
    assert_eq!(cancelled.clone().refused(EarlyEnd::NoRole), cancelled, "the first end counts");
}

#[test]
fn the_outcome_is_known_for_a_while_after_the_delivery_to_a_browser_that_waited_for_a_phone() {
    let (shown, at) = (PersonPreview { employee_id: "a".into(), name: "A".into() }, Timestamp::from_millis(179_000));
    let scanned = waiting().scanned(claim(1)).unwrap_or_else(|_| unreachable!("no other phone was first"));
    let ready = scanned.ready(shown, at);
    let delivered = ready.delivered(at).unwrap_or_else(|_| unreachable!("it is ready"));
    assert_eq!(delivered.expires_at, at + OUTCOME_PERIOD);
    assert!(delivered.clone().delivered(at + REDELIVERY_PERIOD).is_err(), "the token is not delivered for longer");
    let apart = delivered.without_outcome();
    assert_eq!(apart.expires_at, at + REDELIVERY_PERIOD, "the outcome is kept elsewhere");
    assert!(matches!(apart.stage, SignInStage::Ready { confirm: Some(confirm), .. } if confirm == digest(1)));
    assert_eq!(waiting().without_outcome().expires_at, waiting().expires_at);
}

#[test]
fn a_confirmation_needs_the_number_on_the_screen_once_there_is_one() {
    let at = Timestamp::from_millis(0);
    for pick in [Pick::Shown, Pick::Another, Pick::Nothing] {
        let scanned =
            waiting_with_number().scanned(claim(1)).unwrap_or_else(|_| unreachable!("no other phone was first"));
        let picked = pick.number(scanned.numbers.as_ref());
        assert!(scanned.clone().confirmed(digest(2), picked, at).is_err(), "another phone ends nothing");
        let next = scanned.confirmed(digest(1), picked, at).unwrap_or_else(|_| unreachable!("it was scanned"));
        assert_eq!(next.ended, (pick != Pick::Shown).then_some(EarlyEnd::WrongNumber));
        assert_eq!(matches!(next.stage, SignInStage::Confirmed { .. }), pick == Pick::Shown);
        let right = next.numbers.as_ref().map(NumberMatch::number);
        assert!(next.confirmed(digest(1), right, at).is_err(), "no second guess");
    }
}

#[test]
fn a_decision_whose_answer_was_lost_can_be_recorded_again_by_its_request() {
    let (at, later) = (Timestamp::from_millis(0), Timestamp::from_millis(1));
    let scanned = waiting().scanned(claim(1)).unwrap_or_else(|_| unreachable!("no other phone was first"));
    let confirmed = scanned.clone().confirmed(digest(1), None, at);
    // Whether or not the first attempt was recorded.
    assert_eq!(scanned.clone().confirmed_again(digest(1), None, at), confirmed);
    let confirmed = confirmed.unwrap_or_else(|_| unreachable!("it was scanned"));
    assert_eq!(confirmed.clone().confirmed_again(digest(1), None, at), Ok(confirmed.clone()));
    assert!(confirmed.clone().confirmed_again(digest(1), None, later).is_err(), "another request");
    assert!(confirmed.clone().confirmed_again(digest(2), None, at).is_err(), "another phone");
    let ready = confirmed.ready(PersonPreview { employee_id: "a".into(), name: "A".into() }, at);
    assert!(ready.clone().confirmed_again(digest(1), None, at).is_err() && ready.cancelled_again(digest(1)).is_err());
    let cancelled = scanned.clone().cancelled(digest(1));
    assert_eq!(scanned.clone().cancelled_again(digest(1)), cancelled);
    assert!(scanned.clone().cancelled_again(digest(2)).is_err(), "another phone");
    let cancelled = cancelled.unwrap_or_else(|_| unreachable!("it was scanned"));
    assert_eq!(cancelled.clone().cancelled_again(digest(1)), Ok(cancelled.clone()));
    assert!(cancelled.confirmed_again(digest(1), None, at).is_err(), "a cancellation is no confirmation");
    let refused = scanned.refused(EarlyEnd::NoRole);
    assert!(
        refused.clone().cancelled_again(digest(1)).is_err() && refused.confirmed_again(digest(1), None, at).is_err()
    );
}

#[test]
fn a_wrong_number_whose_answer_was_lost_is_a_wrong_number() {
    let at = Timestamp::from_millis(0);
    let scanned = waiting_with_number().scanned(claim(1)).unwrap_or_else(|_| unreachable!("no other phone was first"));
    let ended = scanned.confirmed(digest(1), None, at).unwrap_or_else(|_| unreachable!("it was scanned"));
    assert_eq!(ended.clone().confirmed_again(digest(1), None, at), Ok(ended));
}
