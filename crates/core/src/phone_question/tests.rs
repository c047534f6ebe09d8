use proptest::prelude::*;

use super::*;
use crate::{ClientAddress, Entropy, Networks, UserAgent};

const OWN_SESSION: u8 = 100;
const OPERATION: u8 = 200;

fn digest(of: u8) -> Digest {
    Digest::of(&[&[of]])
}

fn employee(id: &str) -> EmployeeKey {
    EmployeeKey::from_parts("ww", id)
}

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_millis(0) + Duration::from_secs(seconds)
}

fn question(is_caller: bool) -> PhoneQuestion {
    let address = ClientAddress::read([127, 0, 0, 1].into(), std::iter::empty(), &Networks::default());
    let subject = if is_caller {
        QuestionSubject::Caller { reason: None }
    } else {
        let (method, path) = ("POST".to_owned(), "/api/admin/x".to_owned());
        let summary = ["Do x".to_owned(), "执行 x".to_owned()];
        let (body, fields) = (String::new(), Vec::new());
        QuestionSubject::Approval { operation: digest(OPERATION), method, path, body, fields, summary }
    };
    PhoneQuestion {
        subject,
        asker: employee("asker"),
        shown: AskerPreview {
            employee_id: "asker".into(),
            name: "Asker".into(),
            department: String::new(),
            avatar: String::new(),
        },
        session: digest(OWN_SESSION),
        asked: employee("asked"),
        origin: ClientInfo { address, user_agent: UserAgent::default(), reference: None },
        numbers: NumberMatch::generate(&Entropy::system()).unwrap(),
        created_at: at(0),
        expires_at: at(0) + QUESTION_LIFETIME,
        stage: QuestionStage::Open { answer: None },
    }
}

/// A step to try. A phone is the secret that it got when it opened the question.
#[derive(Clone, Copy, Debug)]
enum Step {
    Open {
        by_asked: bool,
        phone: u8,
    },
    /// The place among the choices; the fourth is a number that was not offered.
    Pick {
        phone: u8,
        place: usize,
    },
    Refuse {
        phone: u8,
    },
    Use {
        session: u8,
        operation: u8,
    },
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let session = prop_oneof![3 => Just(OWN_SESSION), 1 => Just(OWN_SESSION + 1)];
    let operation = prop_oneof![3 => Just(OPERATION), 1 => Just(OPERATION + 1)];
    let step = prop_oneof![
        3 => (prop::bool::weighted(0.8), 0..3u8).prop_map(|(by_asked, phone)| Step::Open { by_asked, phone }),
        4 => (0..3u8, 0..4usize).prop_map(|(phone, place)| Step::Pick { phone, place }),
        1 => (0..3u8).prop_map(|phone| Step::Refuse { phone }),
        3 => (session, operation).prop_map(|(session, operation)| Step::Use { session, operation }),
        2 => (0..90u64).prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 0..30)
}

/// What happened to a question, in the plainest words: the step that counts, and when.
#[derive(Debug)]
struct Model {
    is_caller: bool,
    now: u64,
    /// The phone that opened it last.
    phone: Option<u8>,
    /// Whether it was accepted, and when.
    verdict: Option<(bool, u64)>,
    is_used: bool,
}

impl Model {
    fn is_alive(&self) -> bool {
        match self.verdict {
            Some((true, since)) if self.is_caller => self.now < since + VERIFIED_PERIOD.as_secs(),
            _ => self.now < QUESTION_LIFETIME.as_secs(),
        }
    }

    /// Takes a step if it is allowed; returns whether it was.
    fn take(&mut self, step: Step, is_right: impl Fn(usize) -> bool) -> bool {
        let is_open = self.is_alive() && self.verdict.is_none();
        match step {
            Step::Open { by_asked: true, phone } if is_open => self.phone = Some(phone),
            Step::Pick { phone, place } if is_open && self.phone == Some(phone) => {
                self.verdict = Some((is_right(place), self.now));
            }
            Step::Refuse { phone } if is_open && self.phone == Some(phone) => self.verdict = Some((false, self.now)),
            Step::Use { session: OWN_SESSION, operation: OPERATION }
                if self.is_alive() && !self.is_caller && !self.is_used && matches!(self.verdict, Some((true, _))) =>
            {
                self.is_used = true;
            }
            _ => return false,
        }
        true
    }

    fn status(&self) -> QuestionStatus {
        match self.verdict {
            _ if self.is_used || !self.is_alive() => QuestionStatus::Expired,
            None => QuestionStatus::Pending,
            Some((true, _)) => QuestionStatus::Accepted,
            Some((false, _)) => QuestionStatus::Refused,
        }
    }
}

/// The number at a place among the choices; the fourth is none of them.
fn number(numbers: &NumberMatch, place: usize) -> MatchNumber {
    let choices = numbers.choices();
    let mut others = (10..=99).filter_map(|number: u8| MatchNumber::parse(&number.to_string()));
    let not_offered = others.find(|number| !choices.contains(number));
    choices.get(place).copied().or(not_offered).unwrap()
}

fn try_step(was: PhoneQuestion, step: Step, now: Timestamp) -> Result<PhoneQuestion, InvalidAnswer> {
    match step {
        Step::Open { by_asked, phone } => {
            // The employee who asks is not the one who is asked, and a colleague is neither.
            let other = if phone == 0 { "asker" } else { "colleague" };
            let by = if by_asked { "asked" } else { other };
            was.opened(&employee(by), digest(phone), now)
        }
        Step::Pick { phone, place } => {
            let picked = number(&was.numbers, place);
            was.answered(digest(phone), picked, now)
        }
        Step::Refuse { phone } => was.refused(digest(phone), now),
        Step::Use { session, operation } => was.used(digest(session), digest(operation), now),
        Step::Wait(_) => Err(InvalidAnswer),
    }
}

proptest! {
    #[test]
    fn a_question_does_what_the_model_does(is_caller in any::<bool>(), steps in steps()) {
        let mut question = question(is_caller);
        let mut model = Model { is_caller, now: 0, phone: None, verdict: None, is_used: false };
        for step in steps {
            if let Step::Wait(seconds) = step {
                model.now += seconds;
            }
            let numbers = question.numbers.clone();
            let is_right = |place| number(&numbers, place) == numbers.number();
            let next = try_step(question.clone(), step, at(model.now));
            prop_assert_eq!(next.is_ok(), model.take(step, is_right), "{:?} {:?}", step, &model);
            question = next.unwrap_or(question);
            prop_assert_eq!(question.status(at(model.now)), model.status(), "{:?} {:?}", step, &model);
            prop_assert_eq!(question.may_open(at(model.now)), model.is_alive() && model.verdict.is_none());
        }
    }
}

#[test]
fn an_approval_ends_with_its_question_and_a_verified_caller_stays_verified_for_a_while() {
    for is_caller in [false, true] {
        let asked = question(is_caller);
        let right = asked.numbers.number();
        let accepted = asked.opened(&employee("asked"), digest(1), at(0));
        let accepted = accepted.and_then(|opened| opened.answered(digest(1), right, at(119))).unwrap();
        let end = if is_caller { 119 + VERIFIED_PERIOD.as_secs() } else { QUESTION_LIFETIME.as_secs() };
        assert_eq!(accepted.status(at(end - 1)), QuestionStatus::Accepted);
        assert_eq!(accepted.status(at(end)), QuestionStatus::Expired);
    }
}

#[test]
fn only_the_phone_that_opened_a_question_last_answers_it() {
    let asked = question(true);
    let right = asked.numbers.number();
    let opened = asked.opened(&employee("asked"), digest(1), at(0)).unwrap();
    let again = opened.opened(&employee("asked"), digest(2), at(1)).unwrap();
    assert!(
        again.clone().answered(digest(1), right, at(2)).is_err() && again.clone().refused(digest(1), at(2)).is_err()
    );
    assert!(again.answered(digest(2), right, at(2)).is_ok());
}

#[test]
fn operations_differ_in_each_of_their_parts() {
    let operation = operation_digest("POST", "/api/a?b", b"{}");
    for other in [
        operation_digest("PUT", "/api/a?b", b"{}"),
        operation_digest("POST", "/api/a", b"?b{}"),
        operation_digest("POST", "/api/a?b{", b"}"),
        operation_digest("POST", "/api/a?b", b"{} "),
        operation_digest("POST", "/api/a?b", b""),
    ] {
        assert_ne!(operation, other);
    }
}
