//! The model on histories made by hand: each kind of violation is found, and what a correct service may do is accepted.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::history::{Chain, Event, History, Moment, Op, Outcome, Seen};
use super::{Kind, check};
use Outcome::{Done, Refused, Unknown};

fn moment(millis: u64) -> Moment {
    let at = Duration::from_millis(millis);
    Moment { at, counted: at }
}

/// An event on node 0 from one moment to another.
fn event(op: Op, span: [u64; 2], outcome: Outcome) -> Event {
    Event { op, node: Some(0), invoked: moment(span[0]), completed: moment(span[1]), outcome }
}

fn elsewhere(event: Event) -> Event {
    Event { node: Some(1), ..event }
}

/// The sign-in of session 1, from 0 to 10 ms.
fn sign_in() -> Event {
    event(Op::SignIn { token: 1 }, [0, 10], Done)
}

fn switch(role: &str, span: [u64; 2], outcome: Outcome) -> Event {
    event(Op::Switch { token: 1, role: role.to_owned() }, span, outcome)
}

fn logout(span: [u64; 2], outcome: Outcome) -> Event {
    event(Op::Logout { token: 1 }, span, outcome)
}

/// The command line ends all sessions.
fn end_all(span: [u64; 2], outcome: Outcome) -> Event {
    Event { node: None, ..event(Op::EndAll, span, outcome) }
}

fn valid(role: &str, at: u64) -> Event {
    let seen = Seen::Valid(Some(role.to_owned()));
    event(Op::Verify { token: 1, seen }, [at, at + 5], Done)
}

fn invalid(at: u64) -> Event {
    event(Op::Verify { token: 1, seen: Seen::Invalid }, [at, at + 5], Done)
}

fn code(step: i64, outcome: Outcome) -> Event {
    event(Op::Code { step }, [20, 30], outcome)
}

/// Message `number` at `100 * number` ms.
fn post(number: usize, outcome: Outcome) -> Event {
    let at = 100 * u64::try_from(number).unwrap();
    event(Op::Post { number }, [at, at + 50], outcome)
}

/// A socket of session 1 that is ready at 20 ms.
fn chain(heard: &[usize]) -> Chain {
    Chain { token: 1, began: moment(20), heard: heard.to_vec(), is_complete: false }
}

fn found(history: &History) -> Vec<Kind> {
    check(history).into_iter().map(|violation| violation.kind).collect()
}

#[track_caller]
fn assert_events(events: Vec<Event>, kinds: &[Kind]) {
    let history = History { events, ..History::default() };
    assert_eq!(found(&history), kinds, "{:?}", check(&history));
}

#[track_caller]
fn assert_heard(chains: &[Chain], posts: Vec<Event>, kinds: &[Kind]) {
    let events = [vec![sign_in()], posts].concat();
    let history = History { events, chains: chains.to_vec(), audit: None };
    assert_eq!(found(&history), kinds, "{:?}", check(&history));
}

#[track_caller]
fn assert_audit(events: Vec<Event>, rows: &[(&str, usize)], kinds: &[Kind]) {
    let rows: BTreeMap<_, _> = rows.iter().map(|(name, count)| (((*name).to_owned(), 1), *count)).collect();
    let history = History { events, audit: Some(rows), ..History::default() };
    assert_eq!(found(&history), kinds, "{:?}", check(&history));
}

#[test]
fn a_history_without_surprises_is_accepted() {
    let events = vec![
        sign_in(),
        valid("agent", 20),
        switch("user", [30, 40], Done),
        valid("user", 50),
        logout([60, 70], Done),
        invalid(80),
        elsewhere(invalid(3_000)),
    ];
    assert_events(events, &[]);
}

#[test]
fn a_lost_sign_in_is_found() {
    assert_events(vec![sign_in(), invalid(20)], &[Kind::Lost]);
    assert_events(vec![sign_in(), elsewhere(invalid(1_100))], &[Kind::Lost]);
    // A refused request has no effect, and a later one has none yet.
    assert_events(vec![sign_in(), logout([15, 18], Refused), invalid(20)], &[Kind::Lost]);
    assert_events(vec![sign_in(), invalid(20), logout([40, 50], Done)], &[Kind::Lost]);
    // What had ended all sessions before does not end this one.
    let before = Event { invoked: moment(100), completed: moment(110), ..sign_in() };
    assert_events(vec![end_all([0, 50], Done), before, invalid(120)], &[Kind::Lost]);
}

#[test]
fn other_nodes_may_take_a_second() {
    assert_events(vec![sign_in(), elsewhere(invalid(500))], &[]);
    assert_events(vec![sign_in(), logout([20, 30], Done), elsewhere(valid("agent", 900))], &[]);
    assert_events(vec![sign_in(), end_all([20, 30], Done), valid("agent", 900)], &[]);
    assert_events(vec![sign_in(), switch("user", [20, 30], Done), elsewhere(valid("agent", 900))], &[]);
    // A machine that stands still takes longer than it counts.
    let late = |event: Event| Event { invoked: Moment { at: Duration::from_secs(9), ..event.invoked }, ..event };
    assert_events(vec![sign_in(), logout([20, 30], Done), late(elsewhere(valid("agent", 900)))], &[]);
}

#[test]
fn a_revived_session_is_found() {
    assert_events(vec![sign_in(), logout([20, 30], Done), valid("agent", 40)], &[Kind::Revived]);
    assert_events(vec![sign_in(), logout([20, 30], Done), elsewhere(valid("agent", 1_100))], &[Kind::Revived]);
    assert_events(vec![sign_in(), end_all([20, 30], Done), valid("agent", 1_100)], &[Kind::Revived]);
}

#[test]
fn a_logout_without_an_answer_may_have_happened_but_not_be_undone() {
    let unknown = || vec![sign_in(), logout([20, 30], Unknown)];
    assert_events([unknown(), vec![valid("agent", 5_000)]].concat(), &[]);
    assert_events([unknown(), vec![invalid(40)]].concat(), &[]);
    assert_events([unknown(), vec![valid("agent", 40), invalid(50), elsewhere(invalid(2_000))]].concat(), &[]);
    assert_events([unknown(), vec![invalid(40), elsewhere(valid("agent", 500))]].concat(), &[]);
    assert_events([unknown(), vec![invalid(40), valid("agent", 50)]].concat(), &[Kind::Revived]);
    assert_events([unknown(), vec![invalid(40), elsewhere(valid("agent", 2_000))]].concat(), &[Kind::Revived]);
    // It may take effect at any time: also on a session that began later.
    let later = Event { invoked: moment(100), completed: moment(110), ..sign_in() };
    assert_events(vec![end_all([0, 50], Unknown), later, invalid(9_000)], &[]);
}

#[test]
fn a_lost_switch_is_found() {
    let switched = || vec![sign_in(), switch("user", [20, 30], Done)];
    assert_events([switched(), vec![valid("agent", 40)]].concat(), &[Kind::Lost]);
    assert_events([switched(), vec![elsewhere(valid("agent", 1_100))]].concat(), &[Kind::Lost]);
    assert_events([switched(), vec![valid("security", 40)]].concat(), &[Kind::Lost]);
    let back = [switched(), vec![switch("agent", [40, 50], Done)]].concat();
    assert_events([back.clone(), vec![valid("agent", 60)]].concat(), &[]);
    assert_events([back, vec![valid("user", 60)]].concat(), &[Kind::Lost]);
    // Two at once may come in either order.
    let both = [switched(), vec![elsewhere(switch("agent", [25, 35], Done))]].concat();
    assert_events([both.clone(), vec![valid("agent", 2_000)]].concat(), &[]);
    assert_events([both, vec![valid("user", 2_000)]].concat(), &[]);
}

#[test]
fn a_switch_without_an_answer_may_have_happened_but_not_be_undone() {
    let unknown = || vec![sign_in(), switch("user", [20, 30], Unknown)];
    assert_events([unknown(), vec![valid("agent", 40), valid("user", 5_000)]].concat(), &[]);
    assert_events([unknown(), vec![valid("user", 40), elsewhere(valid("agent", 500))]].concat(), &[]);
    assert_events([unknown(), vec![valid("user", 40), valid("agent", 50)]].concat(), &[Kind::Lost]);
    // It may overtake one that was acknowledged later.
    let overtaken = [unknown(), vec![switch("agent", [40, 50], Done)]].concat();
    assert_events([overtaken, vec![valid("agent", 60), valid("user", 70)]].concat(), &[]);
}

#[test]
fn a_code_that_counts_twice_is_found() {
    assert_events(vec![code(7, Done), code(7, Refused), code(7, Unknown), code(8, Done)], &[]);
    assert_events(vec![code(7, Done), elsewhere(code(7, Done))], &[Kind::Double]);
}

#[test]
fn messages_come_once_and_in_order() {
    let sent = || (1..=3).map(|number| post(number, Done)).collect::<Vec<_>>();
    assert_heard(&[chain(&[1, 2, 3])], sent(), &[]);
    assert_heard(&[chain(&[1, 2])], sent(), &[]);
    assert_heard(&[chain(&[1, 2, 2, 3])], sent(), &[Kind::Double]);
    assert_heard(&[chain(&[2, 1, 3])], sent(), &[Kind::Disorder]);
    assert_heard(&[chain(&[1, 4])], sent(), &[Kind::Foreign]);
    // Another socket gets all of them, too.
    assert_heard(&[chain(&[1, 2, 3]), chain(&[1, 2, 3])], sent(), &[]);
    // A request without an answer may be carried out at any time, once.
    let lost = || vec![post(1, Unknown), post(2, Done), post(3, Done)];
    assert_heard(&[chain(&[2, 1, 3])], lost(), &[]);
    assert_heard(&[chain(&[2, 3])], lost(), &[]);
    assert_heard(&[chain(&[1, 2, 1, 3])], lost(), &[Kind::Double]);
}

#[test]
fn a_message_that_is_passed_over_is_found() {
    let sent = || (1..=3).map(|number| post(number, Done)).collect::<Vec<_>>();
    assert_heard(&[chain(&[1, 3])], sent(), &[Kind::Lost]);
    // A client that was told of a gap, or came later, misses what was before.
    let later = Chain { began: moment(250), ..chain(&[3]) };
    assert_heard(&[chain(&[1]), later.clone()], sent(), &[]);
    assert_heard(&[Chain { is_complete: true, ..later }], sent(), &[]);
    assert_heard(&[Chain { is_complete: true, ..chain(&[1, 2]) }], sent(), &[Kind::Lost]);
}

#[test]
fn a_message_to_an_ended_session_is_found() {
    let posts = vec![logout([30, 40], Done), post(5, Done), post(20, Done)];
    assert_heard(&[chain(&[5])], posts.clone(), &[]);
    assert_heard(&[chain(&[5, 20])], posts, &[Kind::Revived]);
}

#[test]
fn the_audit_log_has_what_was_acknowledged_and_nothing_twice() {
    let events = || vec![sign_in(), switch("user", [20, 30], Done), logout([40, 50], Done)];
    assert_audit(events(), &[("sign_in", 1), ("switch_role", 1), ("logout", 1)], &[]);
    assert_audit(events(), &[("logout", 1)], &[Kind::Lost]);
    assert_audit(events(), &[("sign_in", 1)], &[Kind::Lost]);
    assert_audit(events(), &[("sign_in", 2), ("logout", 1)], &[Kind::Double]);
    assert_audit(events(), &[("sign_in", 1), ("logout", 2)], &[Kind::Double]);
    assert_audit(events(), &[("sign_in", 1), ("logout", 1), ("switch_role", 2)], &[Kind::Double]);
    let unknown = || vec![event(Op::SignIn { token: 1 }, [0, 10], Unknown)];
    assert_audit(unknown(), &[], &[]);
    assert_audit(unknown(), &[("sign_in", 1)], &[]);
    assert_audit(unknown(), &[("sign_in", 2)], &[Kind::Double]);
    let refused = vec![event(Op::SignIn { token: 1 }, [0, 10], Refused)];
    assert_audit(refused, &[("sign_in", 1)], &[Kind::Double]);
}
