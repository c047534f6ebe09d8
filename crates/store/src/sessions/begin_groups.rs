//! Sign-ins that share a transaction.
//!
//! On PostgreSQL, a transaction costs a connection with its thread, eight round trips and a wait for the disk, during which it holds a
//! chain of the log: with a transaction for each sign-in, eight chains and a commit of a millisecond, there were 3 200 sign-ins a second
//! at most. Those that arrive while others are written wait, and share the next transaction, with the same number of round trips in all.
//! On SQLite, writes share a commit in any case; sign-ins share the reads and the writes of the ends of the chains as well, and each
//! statement is prepared once for all of them.
//!
//! A group only makes sign-ins cheaper. Where its transaction fails, or would wait for a row for longer than a moment, each
//! of its members tries again in a transaction of its own, unless it has waited for too long itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use super::begin::{BeginOutcome, begin_all};
use super::new_session::NewSession;
use crate::batches::{Batch, BatchLimits, Batches};
use crate::database::{Database, Tx};
use crate::{Result, Store, StoreError, StoreErrorKind};

/// Two, so that one group prepares its rows while the other is committed: they would wait for the same chains of the log. A group holds
/// these chains for some milliseconds at most.
pub(crate) const SIGN_IN_GROUPS: BatchLimits = BatchLimits { runners: 2, spare_runners: 0, size: 64, shares: 1 };

/// Sign-ins that wait for a transaction.
pub(crate) type SignInGroups = Batches<Arc<PendingSession>, GroupOutcome>;

type SignInGroup = Batch<Arc<PendingSession>, GroupOutcome>;

/// A session that is to begin.
#[derive(Debug)]
pub(crate) struct PendingSession {
    new_session: NewSession,
    since: Instant,
    attempts: Attempts,
}

/// The attempts of one request to begin its session.
#[derive(Debug, Default)]
struct Attempts {
    /// Whether the last one began it. If it is unknown whether that was committed, the next one may find the session.
    has_begun: AtomicBool,
}

/// What a group came to for one of its members.
#[derive(Clone, Debug)]
pub(crate) enum GroupOutcome {
    /// It was committed.
    Done(BeginOutcome),
    /// The member tries again by itself.
    Alone {
        /// Whether the group may have been committed.
        is_repeated: bool,
    },
    /// There is no time to try again.
    Failed(StoreError),
}

impl GroupOutcome {
    /// The outcome of a group that failed, for a member that has waited this long; up to `limit`, there is time to try again. The
    /// other members may have waited for longer.
    fn after(error: &StoreError, waited: Duration, limit: Duration) -> Self {
        if waited < limit {
            Self::Alone { is_repeated: error.is_outcome_unknown() }
        } else {
            Self::Failed(error.clone())
        }
    }
}

impl PendingSession {
    /// The employee, by whom a group is ordered.
    fn employee(&self) -> (&str, &str) {
        let key = &self.new_session.session.employee;
        (key.corp(), key.id())
    }

    /// Begins this session alone.
    fn begin(&self, tx: &mut Tx<'_>, is_repeated: bool) -> Result<BeginOutcome> {
        let outcome = begin_all(tx, &[&self.new_session])?.into_iter().next();
        let outcome = outcome.ok_or_else(|| StoreError::unavailable(&"the session was not begun"))?;
        Ok(self.attempts.outcome(outcome, is_repeated))
    }
}

impl Attempts {
    /// The outcome for the request, from that of an attempt.
    fn outcome(&self, outcome: BeginOutcome, is_repeated: bool) -> BeginOutcome {
        if outcome == BeginOutcome::AlreadyBegun && is_repeated && self.has_begun.load(Ordering::Relaxed) {
            return BeginOutcome::Begun;
        }
        let begins = matches!(outcome, BeginOutcome::Begun | BeginOutcome::BegunWithNotice);
        self.has_begun.store(begins, Ordering::Relaxed);
        outcome
    }
}

impl Store {
    /// Begins a session and logs it, if the preconditions hold. Repetition with the same digest keeps the session as it is, and
    /// logs nothing: so a sign-in may be retried when it is unknown whether it was committed.
    pub async fn begin_session(&self, new_session: NewSession) -> Result<BeginOutcome> {
        let is_grouped = new_session.can_share_transaction();
        let pending = PendingSession { new_session, since: Instant::now(), attempts: Attempts::default() };
        let pending = Arc::new(pending);
        if is_grouped { self.begin_in_group(pending).await } else { self.begin_alone(pending).await }
    }

    async fn begin_alone(&self, pending: Arc<PendingSession>) -> Result<BeginOutcome> {
        let since = pending.since;
        self.database.write_repeatably_since(since, move |tx, is_repeated| pending.begin(tx, is_repeated)).await
    }

    async fn begin_in_group(&self, pending: Arc<PendingSession>) -> Result<BeginOutcome> {
        let database = Arc::clone(&self.database);
        let begin = move |group: Arc<SignInGroup>| {
            let database = Arc::clone(&database);
            async move { Ok(begin_group(&database, group).await.into_iter().map(Ok).collect::<Vec<_>>()) }
        };
        let (limit, since) = (self.database.group_timeout(), pending.since);
        match self.sign_in_groups.run(Arc::clone(&pending), limit, begin).await {
            Ok(GroupOutcome::Done(outcome)) => Ok(outcome),
            Ok(GroupOutcome::Failed(error)) => Err(self.database.report_given_up(since, error)),
            Ok(GroupOutcome::Alone { is_repeated: false }) => self.begin_alone(pending).await,
            Ok(GroupOutcome::Alone { is_repeated: true }) => {
                // If this fails, too, it is still unknown whether the group was committed.
                let again = self.database.write_since(since, move |tx| pending.begin(tx, true));
                again.await.map_err(StoreError::with_unknown_outcome)
            }
            // It was in no group.
            Err(error) if error.kind() == StoreErrorKind::Overloaded => {
                Err(self.database.report_given_up(since, error))
            }
            Err(error) => Err(error.with_unknown_outcome()),
        }
    }
}

/// Begins the sessions of a group in one transaction.
async fn begin_group(database: &Database, group: Arc<SignInGroup>) -> Vec<GroupOutcome> {
    let shared = Arc::clone(&group);
    let work = move |tx: &mut Tx<'_>| {
        let (_, members) = members(shared.requests());
        let begun = begin_all(tx, &members.iter().map(|member| &member.new_session).collect::<Vec<_>>())?;
        Ok(members
            .iter()
            .zip(begun)
            .map(|(member, outcome)| member.attempts.outcome(outcome, false))
            .collect::<Vec<_>>())
    };
    let written = database.write_group(group.since(), work).await;
    let (group, has_begun) = group.end();
    // A transaction that begins now has nothing to commit.
    let written = written.map_err(|error| if has_begun { error } else { error.without_unknown_outcome() });
    let mut outcomes = vec![GroupOutcome::Alone { is_repeated: false }; group.len()];
    let (places, members) = members(group);
    let begun: Vec<_> = match written {
        Ok(begun) => begun.into_iter().map(GroupOutcome::Done).collect(),
        Err(error) => {
            if error.is_outcome_unknown() {
                tracing::info!(%error, sign_ins = members.len(), "the outcome of a commit is unknown");
            } else {
                tracing::debug!(%error, sign_ins = members.len(), "sign-ins could not share a transaction");
            }
            let limit = database.group_retry_limit(&error);
            members.iter().map(|member| GroupOutcome::after(&error, member.since.elapsed(), limit)).collect()
        }
    };
    for (place, outcome) in places.into_iter().zip(begun) {
        if let Some(slot) = outcomes.get_mut(place) {
            *slot = outcome;
        }
    }
    outcomes
}

/// The members of a group, each with its place in it, in the order in which transactions about several employees lock them,
/// so that two groups do not block each other. (A change that locks its actor before its target can be in the way: the group
/// then gives up.) An employee is a member once: what a sign-in does depends on the one before it.
fn members(group: Vec<Arc<PendingSession>>) -> (Vec<usize>, Vec<Arc<PendingSession>>) {
    let mut members: Vec<_> = group.into_iter().enumerate().collect();
    members.sort_by(|(_, one), (_, other)| one.employee().cmp(&other.employee()));
    members.dedup_by(|(_, one), (_, other)| one.employee() == other.employee());
    members.into_iter().unzip()
}

#[cfg(test)]
mod tests {
    use super::BeginOutcome::{AlreadyBegun, Begun};
    use super::*;

    #[test]
    fn a_session_that_an_attempt_finds_counts_as_begun_if_the_attempt_before_may_have_begun_it() {
        // The outcome of each attempt, whether the one before may have been committed, and the outcome for the request.
        let sequences: [&[(BeginOutcome, bool, BeginOutcome)]; 4] = [
            &[(Begun, false, Begun), (AlreadyBegun, true, Begun), (AlreadyBegun, true, Begun)],
            &[(AlreadyBegun, false, AlreadyBegun), (AlreadyBegun, true, AlreadyBegun)],
            // The first was rolled back together with the session that it found.
            &[(AlreadyBegun, false, AlreadyBegun), (Begun, false, Begun), (AlreadyBegun, true, Begun)],
            &[(Begun, false, Begun), (AlreadyBegun, false, AlreadyBegun)],
        ];
        for sequence in sequences {
            let attempts = Attempts::default();
            for (outcome, is_repeated, expected) in sequence {
                assert_eq!(attempts.outcome(*outcome, *is_repeated), *expected, "{sequence:?}");
            }
        }
    }

    #[test]
    fn after_a_failed_group_those_try_again_who_have_the_time() {
        let (limit, lost) = (Duration::from_secs(1), StoreError::timed_out());
        let after = |error: &StoreError, millis| GroupOutcome::after(error, Duration::from_millis(millis), limit);
        // Of one group: it failed because the other member had no time left.
        assert!(matches!(after(&lost, 900), GroupOutcome::Alone { is_repeated: false }));
        assert!(matches!(after(&lost, 1_500), GroupOutcome::Failed(error) if !error.is_outcome_unknown()));
        let lost = lost.with_unknown_outcome();
        assert!(matches!(after(&lost, 900), GroupOutcome::Alone { is_repeated: true }));
        assert!(matches!(after(&lost, 1_500), GroupOutcome::Failed(error) if error.is_outcome_unknown()));
    }
}
