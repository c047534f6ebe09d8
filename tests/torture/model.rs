//! The model: what a correct service may answer. It finds acknowledged effects that were lost, tokens that came back to life, effects
//! that happened twice, and messages out of order.
//!
//! It is sound: it accepts every answer that a correct service can give. What is not known to have happened (no answer, 503) may have
//! happened, at any time after the request; but once its effect was seen, it stays.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::history::{Chain, Event, FIRST_ROLE, History, Op, Outcome, Seen};

/// How long a node may take to learn of a change on another one: a second, and what the ticks of the stopwatch may hide.
const LAG: Duration = Duration::from_millis(1_050);

/// What is wrong with a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// An acknowledged effect is gone.
    Lost,
    /// A session that had ended is valid, or receives messages.
    Revived,
    /// One effect happened twice, or one that was refused happened.
    Double,
    /// Messages came in another order than they were sent.
    Disorder,
    /// A message came to a person to whom nobody sent it.
    Foreign,
}

/// A violation, and the events that prove it.
#[derive(Clone, Debug)]
pub(super) struct Violation {
    pub(super) kind: Kind,
    pub(super) text: String,
}

impl Event {
    /// Whether a later request must be answered as this one requires: at once on the same node, and after the lag on others.
    fn is_settled_at(&self, later: &Self) -> bool {
        let same_node = self.node.is_some() && self.node == later.node;
        let wait = if same_node { Duration::ZERO } else { LAG };
        self.precedes(later) && later.invoked.counted >= self.completed.counted + wait
    }

    /// Whether this was over when the other one began.
    fn precedes(&self, later: &Self) -> bool {
        self.completed.at <= later.invoked.at
    }

    /// Whether this can have had an effect before the other one was over.
    fn may_affect(&self, other: &Self) -> bool {
        self.outcome != Outcome::Refused && self.invoked.at <= other.completed.at
    }

    fn is_done(&self) -> bool {
        self.outcome == Outcome::Done
    }

    /// The role that this makes the active one.
    fn role(&self) -> Option<&str> {
        match &self.op {
            Op::SignIn { .. } => Some(FIRST_ROLE),
            Op::Switch { role, .. } => Some(role),
            _ => None,
        }
    }

    fn seen(&self) -> Option<&Seen> {
        if let Op::Verify { seen, .. } = &self.op { Some(seen) } else { None }
    }
}

/// Everything wrong with a history.
pub(super) fn check(history: &History) -> Vec<Violation> {
    let end_alls: Vec<_> = history.events.iter().filter(|event| event.op == Op::EndAll).collect();
    let index = Index::of(history, &end_alls);
    let mut found = Vec::new();
    for session in index.sessions.values() {
        session.check(&mut found);
    }
    check_codes(history, &mut found);
    for chain in &history.chains {
        index.check_chain(chain, &mut found);
    }
    if let Some(rows) = &history.audit {
        index.check_audit(rows, &mut found);
    }
    found
}

/// The events of one sign-in and its session.
#[derive(Debug)]
struct Session<'a> {
    sign_in: &'a Event,
    switches: Vec<&'a Event>,
    logouts: Vec<&'a Event>,
    verifies: Vec<&'a Event>,
    /// What ended all sessions of the person, or may have.
    end_alls: &'a [&'a Event],
}

impl<'a> Session<'a> {
    /// The events that have ended the session for certain.
    fn certain_ends(&self) -> impl Iterator<Item = &'a Event> {
        let sign_in = self.sign_in;
        let all = self.end_alls.iter().copied().filter(move |end| sign_in.precedes(end));
        self.logouts.iter().copied().chain(all).filter(|end| end.is_done())
    }

    /// Whether the session may be over in this answer. A request without an answer may end also what begins later.
    fn may_be_over(&self, verify: &Event) -> bool {
        let late = |end: &&&Event| !end.is_done() || !end.precedes(self.sign_in);
        self.logouts.iter().chain(self.end_alls.iter().filter(late)).any(|end| end.may_affect(verify))
    }

    fn check(&self, found: &mut Vec<Violation>) {
        // Without the answer of the sign-in nobody has the token.
        if !self.sign_in.is_done() {
            return;
        }
        for verify in &self.verifies {
            match verify.seen() {
                Some(Seen::Invalid) => self.check_invalid(verify, found),
                Some(Seen::Valid(role)) => self.check_valid(verify, role.as_deref(), found),
                None => {}
            }
        }
    }

    fn check_invalid(&self, verify: &Event, found: &mut Vec<Violation>) {
        if self.sign_in.is_settled_at(verify) && !self.may_be_over(verify) {
            found.push(violation(Kind::Lost, "an acknowledged session is not valid", &[self.sign_in, verify]));
        }
    }

    fn check_valid(&self, verify: &Event, role: Option<&str>, found: &mut Vec<Violation>) {
        if let Some(end) = self.certain_ends().find(|end| end.is_settled_at(verify)) {
            found.push(violation(Kind::Revived, "an ended session is valid", &[self.sign_in, end, verify]));
        } else if let Some(before) = self.seen_over_before(verify) {
            let text = "a session that was seen to be over is valid";
            found.push(violation(Kind::Revived, text, &[self.sign_in, before, verify]));
        }
        let Some(role) = role else { return };
        let mut causes = std::iter::once(self.sign_in).chain(self.switches.iter().copied());
        let fits = |cause: &Event| {
            cause.role() == Some(role) && cause.may_affect(verify) && !self.is_superseded(cause, verify)
        };
        if !causes.any(fits) {
            let mut proof = vec![self.sign_in];
            proof.extend(self.switches.iter().filter(|switch| switch.may_affect(verify)));
            proof.push(verify);
            found.push(violation(Kind::Lost, "the role is not that of the last acknowledged switch", &proof));
        }
    }

    /// An earlier answer by which the session was over.
    fn seen_over_before(&self, verify: &Event) -> Option<&'a Event> {
        let over = |before: &&&Event| {
            before.seen() == Some(&Seen::Invalid) && self.sign_in.is_settled_at(before) && before.is_settled_at(verify)
        };
        self.verifies.iter().find(over).copied()
    }

    /// Whether a role cannot be active any more because another one was acknowledged or seen since. A switch without an answer may
    /// take effect later than that.
    fn is_superseded(&self, cause: &Event, verify: &Event) -> bool {
        let acknowledged = |next: &Event| next.is_done() && cause.precedes(next) && next.is_settled_at(verify);
        let seen = |between: &Event| {
            let another = matches!(between.seen(), Some(Seen::Valid(Some(role))) if Some(&**role) != cause.role());
            another && cause.is_settled_at(between) && between.is_settled_at(verify)
        };
        let replaced = || self.switches.iter().any(|next| acknowledged(next));
        cause.is_done() && (replaced() || self.verifies.iter().any(|between| seen(between)))
    }
}

/// Each code counts once.
fn check_codes(history: &History, found: &mut Vec<Violation>) {
    let mut accepted: BTreeMap<i64, Vec<&Event>> = BTreeMap::new();
    for event in history.events.iter().filter(|event| event.is_done()) {
        if let Op::Code { step } = event.op {
            accepted.entry(step).or_default().push(event);
        }
    }
    for twice in accepted.values().filter(|events| events.len() > 1) {
        found.push(violation(Kind::Double, "a one-time password was accepted twice", twice));
    }
}

/// The events of a history by what they are about.
#[derive(Debug)]
struct Index<'a> {
    sessions: BTreeMap<usize, Session<'a>>,
    posts: BTreeMap<usize, &'a Event>,
}

impl<'a> Index<'a> {
    fn of(history: &'a History, end_alls: &'a [&'a Event]) -> Self {
        let mut this = Self { sessions: BTreeMap::new(), posts: BTreeMap::new() };
        for event in &history.events {
            if let Op::SignIn { token } = event.op {
                let (switches, logouts, verifies) = (Vec::new(), Vec::new(), Vec::new());
                this.sessions.insert(token, Session { sign_in: event, switches, logouts, verifies, end_alls });
            }
        }
        for event in &history.events {
            this.add(event);
        }
        this
    }

    fn add(&mut self, event: &'a Event) {
        let about = match event.op {
            Op::Switch { token, .. } | Op::Logout { token } | Op::Verify { token, .. } => token,
            Op::Post { number } => {
                self.posts.insert(number, event);
                return;
            }
            Op::SignIn { .. } | Op::EndAll | Op::Code { .. } => return,
        };
        let Some(session) = self.sessions.get_mut(&about) else { return };
        match event.op {
            Op::Switch { .. } => session.switches.push(event),
            Op::Logout { .. } => session.logouts.push(event),
            _ => session.verifies.push(event),
        }
    }

    /// Messages come once, in the order in which they were sent, without a hole, and not after the end of the session.
    fn check_chain(&self, chain: &Chain, found: &mut Vec<Violation>) {
        let mut heard = BTreeSet::new();
        let mut newest: Option<&Event> = None;
        for number in &chain.heard {
            let Some(post) = self.posts.get(number).copied() else {
                found.push(violation(Kind::Foreign, &format!("message {number} was not for this person"), &[]));
                continue;
            };
            if !heard.insert(*number) {
                found.push(violation(Kind::Double, "a message came twice", &[post]));
                continue;
            }
            if let Some(newer) = newest.filter(|newer| post.is_done() && post.precedes(newer)) {
                found.push(violation(Kind::Disorder, "a message came after a later one", &[post, newer]));
            }
            self.check_late(chain, post, found);
            if newest.is_none_or(|newest| newest.invoked.at < post.invoked.at) {
                newest = Some(post);
            }
        }
        let expected = |post: &Event| {
            let is_over = chain.is_complete || newest.is_some_and(|newest| post.precedes(newest));
            post.is_done() && chain.began.at <= post.invoked.at && is_over
        };
        for (_, post) in self.posts.iter().filter(|(number, post)| !heard.contains(*number) && expected(post)) {
            let text = format!("a message did not come on a socket of session {}", chain.token);
            found.push(violation(Kind::Lost, &text, &[*post]));
        }
    }

    fn check_late(&self, chain: &Chain, post: &Event, found: &mut Vec<Violation>) {
        let Some(session) = self.sessions.get(&chain.token) else { return };
        let is_late = |end: &&Event| end.precedes(post) && post.invoked.counted >= end.completed.counted + LAG;
        if let Some(end) = session.certain_ends().find(is_late) {
            found.push(violation(Kind::Revived, "an ended session received a message", &[session.sign_in, end, post]));
        }
    }

    /// What was acknowledged is in the audit log once, and what is not known to have happened at most once.
    fn check_audit(&self, rows: &BTreeMap<(String, usize), usize>, found: &mut Vec<Violation>) {
        for (token, session) in &self.sessions {
            let (begun, left, switched) = ([session.sign_in], &session.logouts[..], &session.switches[..]);
            for (name, events, least, most) in [
                ("sign_in", &begun[..], done(&begun), possible(&begun)),
                ("logout", left, done(left).min(1), possible(left).min(1)),
                // A switch to the role that is active already may have no row.
                ("switch_role", switched, 0, possible(switched)),
            ] {
                let count = rows.get(&(name.to_owned(), *token)).copied().unwrap_or_default();
                let text =
                    format!("session {token} has {count} rows of {name} in the audit log, not {least} to {most}");
                if count < least {
                    found.push(violation(Kind::Lost, &text, events));
                } else if count > most {
                    found.push(violation(Kind::Double, &text, events));
                }
            }
        }
    }
}

/// How many have taken effect.
fn done(events: &[&Event]) -> usize {
    events.iter().filter(|event| event.is_done()).count()
}

/// How many may have taken effect.
fn possible(events: &[&Event]) -> usize {
    events.iter().filter(|event| event.outcome != Outcome::Refused).count()
}

fn violation(kind: Kind, text: &str, proof: &[&Event]) -> Violation {
    let lines: Vec<_> = proof.iter().map(|event| format!("\n    {event:?}")).collect();
    Violation { kind, text: format!("{text}{}", lines.concat()) }
}
