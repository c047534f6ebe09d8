use proptest::prelude::*;

use super::*;

/// The events on a machine and its service between two reviews.
#[derive(Clone, Copy, Debug)]
struct Minute {
    /// The duration in milliseconds.
    passes: i64,
    /// The new time of day, if it is set.
    set: Option<i64>,
    /// The reading of a reference relative to the real time, if there is one. Some references are wrong.
    reference: Option<i64>,
}

const REAL: i64 = 1_800_000_000_000;
const TEN_YEARS: i64 = 3_650 * MAX_RECORD_GAP_MILLIS;

fn wrong() -> impl Strategy<Value = i64> {
    prop_oneof![
        -TEN_YEARS..TEN_YEARS,
        -2 * MAX_RECORD_GAP_MILLIS..2 * MAX_RECORD_GAP_MILLIS,
        -SMALL_GAP_MILLIS..SMALL_GAP_MILLIS,
        Just(0)
    ]
}

fn minutes(reference: impl Strategy<Value = Option<i64>>) -> impl Strategy<Value = Vec<Minute>> {
    let minute = (0..2 * MAX_FOLLOWED_STEP_MILLIS, proptest::option::weighted(0.3, wrong()), reference);
    proptest::collection::vec(minute.prop_map(|(passes, set, reference)| Minute { passes, set, reference }), 1..40)
}

/// Runs a service through these minutes and passes every time it uses to `look`, together with the real time.
fn run(record: i64, wrong: i64, minutes: &[Minute], look: impl FnMut(i64, i64, TrustState)) {
    run_by(ReferenceSource::Platform, record, wrong, minutes, look);
}

fn run_by(
    source: ReferenceSource,
    record: i64,
    wrong: i64,
    minutes: &[Minute],
    mut look: impl FnMut(i64, i64, TrustState),
) {
    let (mut real, mut wrong) = (REAL, wrong);
    let (now, mut state) = start(Timestamp(real + wrong), Some(Timestamp(record)));
    let mut now = now.0;
    look(now, real, state);
    for minute in minutes {
        (real, now) = (real + minute.passes, now + minute.passes);
        wrong = minute.set.unwrap_or(wrong);
        let reference = minute.reference.map(|lie| ReferenceTime { time: Timestamp(real + lie), source });
        let verdict = review(state, Timestamp(real + wrong), Timestamp(now), reference);
        state = verdict.state;
        now += super::super::millis(verdict.forward);
        look(now, real, state);
    }
}

proptest! {
    /// No expired session is revived: the time does not go back, whatever the machine and the references show.
    #[test]
    fn time_never_goes_back(off in 0..TEN_YEARS, by in wrong(), minutes in minutes(proptest::option::of(wrong()))) {
        let mut last = REAL - off;
        run(REAL - off, by, &minutes, |now, _, _| {
            assert!(now >= last);
            last = now;
        });
    }

    /// Nothing is deleted too early: without a reference that confirms it, no time of day moves the clock further than a day
    /// past the record and the time passed since, plus a second for each review.
    #[test]
    fn a_wrong_time_of_day_alone_changes_little(off in 0..TEN_YEARS, by in wrong(), minutes in minutes(Just(None))) {
        let (record, mut reviews) = (REAL - off, -1);
        run(record, by, &minutes, |now, real, _| {
            reviews += 1;
            assert!(now <= record + (real - REAL) + MAX_RECORD_GAP_MILLIS + reviews * MAX_SLEW_MILLIS);
        });
    }

    /// A database on the same host shows the machine's time. Even if that is not detected, it moves nothing by more than a day.
    #[test]
    fn a_database_with_the_machines_clock_confirms_no_far_jump(
        off in 0..TEN_YEARS,
        by in 2 * MAX_RECORD_GAP_MILLIS..TEN_YEARS,
        passes in proptest::collection::vec(0..2 * MAX_FOLLOWED_STEP_MILLIS, 1..40),
    ) {
        let minutes: Vec<_> =
            passes.into_iter().map(|passes| Minute { passes, set: Some(by), reference: Some(by) }).collect();
        for (record, wrong) in [(REAL - off, by), (REAL, 0)] {
            run_by(ReferenceSource::Database, record, wrong, &minutes, |now, real, state| {
                assert!(now <= record + (real - REAL) + MAX_RECORD_GAP_MILLIS);
                assert!(state.trust != ClockTrust::Trusted || real == REAL);
            });
        }
    }

    /// With a correct reference the clock is at most a day ahead of the real time, however wrong the machine's time is.
    #[test]
    fn a_correct_reference_keeps_the_clock_right(off in 0..TEN_YEARS, by in wrong(), minutes in minutes(Just(Some(0)))) {
        run(REAL - off, by, &minutes, |now, real, _| assert!(now <= real + MAX_RECORD_GAP_MILLIS + 60_000));
    }

    /// A machine whose time is correct and confirmed is trusted immediately, however long it was off.
    #[test]
    fn a_right_and_confirmed_time_is_adopted(off in 0..TEN_YEARS, by in -SMALL_GAP_MILLIS..SMALL_GAP_MILLIS) {
        let minute = Minute { passes: 1_000, set: Some(by), reference: Some(0) };
        let mut last = None;
        run(REAL - off, by, &[minute], |now, real, state| last = Some((now - real, state)));
        let (ahead, state) = last.unwrap_or((i64::MAX, TrustState::default()));
        assert!(state == TrustState::default() && (-2 * SMALL_GAP_MILLIS..=SMALL_GAP_MILLIS).contains(&ahead), "{ahead} {state:?}");
    }
}

/// A database that drifts does not invalidate the one-time passwords of all users.
#[test]
fn a_database_does_not_overrule_a_machine_that_agrees_with_the_steady_time() {
    let now = Timestamp(REAL);
    let by = |source, minutes| ReferenceTime { source, time: now + Duration::from_mins(minutes) };
    let mut state = TrustState::default();
    for _ in 0..3 {
        state = review(state, now, now, Some(by(ReferenceSource::Database, 4))).state;
        let doubt = ClockDoubt { reason: ClockDoubtReason::Contradicted(ReferenceSource::Database), ahead: -240_000 };
        assert_eq!((state.trust, state.wall_offset), (ClockTrust::Doubted(doubt), Some(0)), "told, and not followed");
    }
    let state = review(state, now, now, Some(by(ReferenceSource::Platform, 6))).state;
    assert_eq!(state.wall_offset, Some(360_000), "phones go by the platform's time");
    let state = review(state, now, now, Some(by(ReferenceSource::Database, 6))).state;
    assert_eq!(state.wall_offset, Some(360_000), "two say so");
}
