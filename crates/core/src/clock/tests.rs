use super::*;

const DAY: Duration = Duration::from_hours(24);
const NOW: Timestamp = Timestamp(1_800_000_000_000);

fn years(number: u64) -> Duration {
    DAY * 365 * u32::try_from(number).unwrap_or(u32::MAX)
}

fn reason(clock: &Clock) -> Option<ClockDoubtReason> {
    match clock.trust() {
        ClockTrust::Trusted => None,
        ClockTrust::Doubted(doubt) => Some(doubt.reason),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "as a review takes it")]
fn platform(time: Timestamp) -> Option<ReferenceTime> {
    Some(ReferenceTime { time, source: ReferenceSource::Platform })
}

#[test]
fn a_manual_clock_moves_only_when_advanced() {
    let clock = Clock::manual(Timestamp::from_millis(1_000));
    assert_eq!(clock.now(), clock.clone().now());
    clock.advance(Duration::from_secs(2));
    assert_eq!(clock.now().millis(), 3_000);
    assert_eq!((clock.review(None), clock.wall(), clock.trust()), (Duration::ZERO, clock.now(), ClockTrust::Trusted));
}

#[test]
fn a_clock_never_starts_before_the_record() {
    let machine = MachineClock::manual(NOW);
    let clock = Clock::after_record(machine.clone(), Some(NOW + Duration::from_hours(20)));
    assert_eq!((clock.now(), reason(&clock)), (NOW + Duration::from_hours(20), None));
    clock.review(None);
    assert_eq!(clock.now(), NOW + Duration::from_hours(20), "the machine is behind, and we do not go back for it");
    assert_eq!(clock.wall(), NOW, "but can tell what others' clocks show");
}

/// A record is deleted only at the age that the newest record proves, whatever the machine's time is.
#[test]
fn a_start_far_from_the_record_goes_on_from_the_record() {
    for (wall, doubted) in [
        (NOW + DAY * 800, ClockDoubtReason::AheadOfRecord),
        (NOW + years(10), ClockDoubtReason::AheadOfRecord),
        (NOW - years(10), ClockDoubtReason::BehindRecord),
    ] {
        let machine = MachineClock::manual(wall);
        let clock = Clock::after_record(machine.clone(), Some(NOW));
        machine.advance(Duration::from_secs(6));
        clock.review(None);
        assert_eq!((clock.now(), reason(&clock)), (NOW + Duration::from_secs(6), Some(doubted)));
        // The machine is repaired, and the service recovers with it.
        machine.set_wall(NOW + Duration::from_mins(30));
        clock.review(None);
        assert_eq!(reason(&clock), None, "{doubted:?}");
        assert!(clock.now() <= NOW + Duration::from_mins(30));
    }
}

#[test]
fn a_far_machine_time_is_adopted_once_an_independent_clock_confirms_it() {
    let (machine, week) = (MachineClock::manual(NOW + DAY * 7), NOW + DAY * 7);
    let clock = Clock::after_record(machine.clone(), Some(NOW));
    assert_eq!((clock.now(), clock.review(None)), (NOW, Duration::ZERO));
    clock.review(platform(NOW));
    assert_eq!(reason(&clock), Some(ClockDoubtReason::Contradicted(ReferenceSource::Platform)));
    assert_eq!(clock.review(platform(week + Duration::from_mins(4))), DAY * 7);
    assert_eq!((clock.now(), reason(&clock)), (week, None));
    assert!(clock.was_set_within(Duration::ZERO));
    machine.advance(Duration::from_mins(61));
    clock.review(None);
    assert!(!clock.was_set_within(Duration::from_hours(1)));
}

/// A session that may have expired while the machine was off is rejected in the meantime, but not deleted.
#[test]
fn records_from_before_a_doubted_start_expire_by_the_machines_time() {
    let machine = MachineClock::manual(NOW + DAY * 7);
    let clock = Clock::after_record(machine.clone(), Some(NOW));
    machine.advance(Duration::from_mins(1));
    let (earlier, lately) = (NOW - Duration::from_mins(1), NOW + Duration::from_secs(30));
    assert_eq!(clock.now_for(earlier), NOW + DAY * 7 + Duration::from_mins(1));
    assert_eq!(clock.now_for(lately), clock.now());
    assert_eq!(clock.now_and_for(earlier), (clock.now(), clock.now_for(earlier)));
    for hours in [1, 24, 200] {
        let lifetime = Duration::from_hours(hours);
        let by_end = |issued: Timestamp| issued + lifetime > clock.now_for_lifetime(lifetime);
        assert_eq!(by_end(earlier), earlier + lifetime > clock.now_for(earlier), "{hours}");
        assert!(by_end(lately), "{hours}");
    }
    clock.review(platform(clock.machine()));
    assert_eq!((clock.now_for(earlier), clock.now_for(lately)), (clock.now(), clock.now()));
    assert_eq!(clock.now_for_lifetime(DAY), clock.now());
}

#[test]
fn a_step_while_the_service_runs_is_not_followed() {
    for step in [NOW + DAY * 800, NOW + Duration::from_hours(2), NOW - years(10)] {
        let machine = MachineClock::manual(NOW);
        let clock = Clock::after_record(machine.clone(), Some(NOW));
        machine.set_wall(step);
        clock.review(None);
        assert_eq!((clock.now(), reason(&clock)), (NOW, Some(ClockDoubtReason::Stepped)));
        assert_eq!(clock.wall(), NOW, "authenticators do not follow it, either");
        machine.set_wall(NOW);
        clock.review(None);
        assert_eq!(reason(&clock), None);
    }
}

#[test]
fn a_small_difference_is_followed_by_a_second_a_minute() {
    let machine = MachineClock::manual(NOW);
    let clock = Clock::after_record(machine.clone(), Some(NOW));
    machine.set_wall(NOW + Duration::from_mins(10));
    assert_eq!((clock.review(None), reason(&clock)), (Duration::from_secs(1), None));
    assert_eq!(clock.review(platform(clock.machine())), Duration::from_secs(599), "or at once, if it is confirmed");
    machine.set_wall(NOW - Duration::from_mins(10));
    assert_eq!((clock.review(None), clock.now()), (Duration::ZERO, NOW + Duration::from_mins(10)));
}

/// Until it is followed, a node is not ready.
#[test]
fn a_confirmed_difference_beyond_the_tolerance_is_followed_at_once() {
    for (gap, forward) in
        [(25, 1), (26, 26), (31, 31), (60, 60)].map(|(gap, forward)| (Duration::from_secs(gap), forward))
    {
        let machine = MachineClock::manual(NOW);
        let clock = Clock::after_record(machine.clone(), Some(NOW));
        machine.set_wall(NOW + gap);
        let reference = ReferenceTime { time: NOW + gap, source: ReferenceSource::Database };
        assert_eq!(clock.review(Some(reference)), Duration::from_secs(forward), "{gap:?}");
    }
}

/// Ahead of the database it would take little to make the node unready, and the clock does not go back.
#[test]
fn a_clock_does_not_jump_ahead_of_the_database_that_confirms_the_machine() {
    let machine = MachineClock::manual(NOW);
    let clock = Clock::after_record(machine.clone(), Some(NOW));
    machine.set_wall(NOW + Duration::from_secs(28));
    let database = ReferenceTime { time: NOW, source: ReferenceSource::Database };
    for review in 1..=40 {
        clock.review(Some(database));
        assert_eq!(clock.now(), NOW + Duration::from_secs(review.min(25)), "a second each, and no further than 25 s");
        assert_eq!(reason(&clock), None);
    }
}

/// Reviews the clock as the service does.
fn review_with(clock: &Clock, database: DatabaseClock, platform: Option<Timestamp>) -> Duration {
    let is_asked = !matches!(database, DatabaseClock::Shows(time) if !clock.needs_platform(time));
    clock.review_by(database, platform.filter(|_| is_asked)).0
}

/// Reviews the clock as the service does, with a platform that confirms whatever the machine shows.
fn review_with_database(clock: &Clock, database: Timestamp) -> Duration {
    review_with(clock, DatabaseClock::Shows(database), Some(clock.machine()))
}

/// While the database cannot be read, its last word counts, unless the platform can tell the times apart.
#[test]
fn a_contradiction_of_the_database_outlasts_it() {
    let contradicted = |source| Some(ClockDoubtReason::Contradicted(source));
    for wrong in [31, 45, 299, 301].map(Duration::from_secs) {
        let machine = MachineClock::manual(NOW);
        let clock = Clock::after_record(machine.clone(), Some(NOW));
        machine.set_wall(NOW + wrong);
        // Half a minute ahead, as a platform may be.
        let platform = NOW + Duration::from_secs(30);
        review_with(&clock, DatabaseClock::Shows(NOW), Some(platform));
        assert_eq!(reason(&clock), contradicted(ReferenceSource::Database), "{wrong:?}");
        for platform in [Some(platform), None] {
            let moved = review_with(&clock, DatabaseClock::Unreadable, platform);
            assert_eq!((moved, clock.now()), (Duration::ZERO, NOW), "{wrong:?}");
            assert_eq!(reason(&clock), contradicted(ReferenceSource::Database), "{wrong:?}");
        }
        review_with(&clock, DatabaseClock::Unreadable, Some(NOW - Duration::from_mins(5)));
        assert_eq!(reason(&clock), contradicted(ReferenceSource::Platform), "{wrong:?}");
    }
}

/// A database that moved to this machine shows what the machine shows.
#[test]
fn a_contradiction_of_the_database_ends_when_it_is_no_reference_any_more() {
    let machine = MachineClock::manual(NOW);
    let clock = Clock::after_record(machine.clone(), Some(NOW));
    machine.set_wall(NOW + Duration::from_secs(45));
    review_with(&clock, DatabaseClock::Shows(NOW), None);
    assert_eq!(reason(&clock), Some(ClockDoubtReason::Contradicted(ReferenceSource::Database)));
    assert_eq!(review_with(&clock, DatabaseClock::None, None), Duration::from_secs(1));
    assert_eq!(reason(&clock), None);
    assert_eq!(review_with(&clock, DatabaseClock::None, Some(NOW)), Duration::from_secs(44));
}

/// Where a database decides otherwise, but cannot be read now, the platform does not confirm a difference smaller than it can measure.
/// Without one, it is the best that there is.
#[test]
fn a_platform_alone_moves_the_clock_at_once() {
    let seconds =
        |gap, alone, beside| (Duration::from_secs(gap), Duration::from_secs(alone), Duration::from_secs(beside));
    for (gap, alone, beside) in [seconds(20, 1, 1), seconds(45, 45, 1), seconds(300, 300, 1), seconds(301, 301, 301)] {
        for (database, forward) in [(DatabaseClock::None, alone), (DatabaseClock::Unreadable, beside)] {
            let machine = MachineClock::manual(NOW);
            let clock = Clock::after_record(machine.clone(), Some(NOW));
            machine.set_wall(NOW + gap);
            assert_eq!(review_with(&clock, database, Some(NOW + gap)), forward, "{gap:?} {database:?}");
        }
    }
}

/// The platform's time is too coarse to confirm such a step. A clock that followed it could never go back, and its node would not be
/// ready until a restart.
#[test]
fn a_small_wrong_step_is_not_followed_away_from_the_database() {
    for wrong in [31, 45, 90, 300].map(Duration::from_secs) {
        let machine = MachineClock::manual(NOW);
        let clock = Clock::after_record(machine.clone(), Some(NOW));
        assert_eq!((review_with_database(&clock, NOW), reason(&clock)), (Duration::ZERO, None));
        machine.set_wall(NOW + wrong);
        for _ in 0..3 {
            assert_eq!(review_with_database(&clock, NOW), Duration::ZERO, "{wrong:?}");
            assert_eq!(reason(&clock), Some(ClockDoubtReason::Contradicted(ReferenceSource::Database)));
            assert!(!clock.differs_from(NOW, MAX_CLOCK_SKEW), "the node stays ready");
            assert_eq!(clock.wall(), NOW, "one-time passwords go by the two that agree");
        }
        machine.set_wall(NOW);
        review_with_database(&clock, NOW);
        assert_eq!((reason(&clock), clock.now()), (None, NOW), "trusted again once it is corrected");
    }
}

#[test]
fn the_platform_decides_between_times_that_it_can_tell_apart() {
    let machine = MachineClock::manual(NOW);
    let clock = Clock::after_record(machine.clone(), Some(NOW));
    for (apart, needed) in [(0, false), (30, false), (31, false), (300, false), (301, true), (86_400, true)] {
        machine.set_wall(NOW + Duration::from_secs(apart));
        assert_eq!(clock.needs_platform(NOW), needed, "{apart}");
    }
    let doubted = Clock::after_record(MachineClock::manual(NOW + DAY * 7), Some(NOW));
    assert!(doubted.needs_platform(NOW + DAY * 7), "the machine was off for long, or both are wrong");
}

#[test]
fn time_counts_while_the_machine_is_suspended() {
    let machine = MachineClock::manual(NOW);
    let clock = Clock::after_record(machine.clone(), Some(NOW));
    machine.advance(Duration::from_hours(1));
    assert_eq!(clock.now(), NOW + Duration::from_hours(1));
}

/// The clocks of two nodes may differ by more than a lease lasts, and neither may take over what the other has just claimed.
#[test]
fn leases_end_by_the_time_of_the_database_on_every_node() {
    let apart = Duration::from_secs(25);
    let machines = [NOW - apart, NOW + apart].map(MachineClock::manual);
    let nodes = machines.clone().map(|machine| Clock::after_record(machine, None));
    for (node, machine) in nodes.iter().zip(&machines) {
        assert_eq!(node.lease_now(), node.now(), "no database is shared");
        node.align_leases(NOW);
        assert_eq!((node.lease_now(), node.now()), (NOW, machine.wall()));
        machine.advance(Duration::from_secs(7));
        assert_eq!(node.lease_now(), NOW + Duration::from_secs(7));
    }
}

#[test]
fn leases_do_not_move_with_the_time_of_the_service() {
    let machine = MachineClock::manual(NOW);
    let clock = Clock::after_record(machine.clone(), Some(NOW));
    clock.align_leases(NOW);
    machine.set_wall(NOW + Duration::from_mins(10));
    assert_eq!(clock.review(platform(clock.machine())), Duration::from_mins(10));
    assert_eq!((clock.now(), clock.lease_now()), (NOW + Duration::from_mins(10), NOW));
    clock.align_leases(NOW - Duration::from_secs(1));
    assert_eq!(clock.lease_now(), NOW - Duration::from_secs(1), "the database was found to be behind");
}

#[test]
fn a_clock_differs_beyond_the_tolerance_in_either_direction() {
    let clock = Clock::after_record(MachineClock::manual(NOW), None);
    for (reference, differs) in [
        (NOW, false),
        (NOW + MAX_CLOCK_SKEW, false),
        (NOW - MAX_CLOCK_SKEW, false),
        (NOW + MAX_CLOCK_SKEW + Duration::from_millis(1), true),
        (NOW - MAX_CLOCK_SKEW - Duration::from_millis(1), true),
    ] {
        assert_eq!(clock.differs_from(reference, MAX_CLOCK_SKEW), differs, "{reference:?}");
    }
}

#[test]
fn a_manual_clock_has_no_regard_to_a_database() {
    let clock = Clock::manual(NOW);
    clock.align_leases(NOW + DAY);
    assert_eq!(clock.lease_now(), NOW);
    assert!(!clock.differs_from(NOW + DAY, MAX_CLOCK_SKEW));
}

#[test]
fn a_simulated_machine_can_take_time_for_its_work() {
    let machine = MachineClock::manual(NOW);
    let clock = Clock::after_record(machine.clone(), None);
    machine.advance_on_read(Duration::from_secs(3));
    assert_eq!([clock.now(), clock.now()], [NOW, NOW + Duration::from_secs(3)]);
    machine.advance_on_read(Duration::ZERO);
    assert_eq!([clock.now(), clock.now()], [NOW + Duration::from_secs(6); 2]);
}

/// `CLOCK_MONOTONIC` would stand still; `/proc/uptime` is `CLOCK_BOOTTIME`.
#[cfg(target_os = "linux")]
#[test]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
fn the_uptime_includes_suspension() {
    let shown = std::fs::read_to_string("/proc/uptime").unwrap();
    let shown: f64 = shown.split_whitespace().next().unwrap().parse().unwrap();
    assert!((MachineClock::real().uptime().as_secs_f64() - shown).abs() < 5.0);
}

#[test]
fn spans_are_never_negative() {
    let (early, late) = (Timestamp::from_millis(5), Timestamp::from_millis(9));
    assert_eq!(late.since(early), Duration::from_millis(4));
    assert_eq!(early.since(late), Duration::ZERO);
}
