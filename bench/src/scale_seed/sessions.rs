//! Sessions, and the counts of the statistics.

use deskpass_core::{LoginMethod, LoginSource, Timestamp};
use deskpass_store::SignInStep;
use fastrand::Rng;

use super::layout::{ScaleLayout, USER_AGENT, address, days_before};
use super::people::role;
use super::table::Column::{Int, Text};
use super::table::{Cell, Table};
use crate::seed::{CORP, employee};

pub(super) const SESSION: Table = Table {
    name: "session",
    columns: &[
        Text("digest"),
        Text("corp_id"),
        Text("employee_key"),
        Int("role_id"),
        Text("login_method"),
        Text("login_source"),
        Int("created_at"),
        Int("expires_at"),
        Text("ip_address"),
        Text("user_agent"),
        Int("seen_at"),
    ],
    is_replaced: true,
};

pub(super) const SIGN_IN_COUNT: Table =
    Table { name: "sign_in_count", columns: &[Int("hour"), Text("step"), Int("times")], is_replaced: true };

/// How long ago the oldest statistics are: not as long as they are kept.
const STATISTICS_DAYS: i64 = 390;

const HOUR_MILLIS: i64 = 3_600_000;

const STEPS: [SignInStep; 6] = [
    SignInStep::QrShown,
    SignInStep::QrScanned,
    SignInStep::QrConfirmed,
    SignInStep::QrCollected,
    SignInStep::SignedIn,
    SignInStep::Refused,
];

/// The letters of a digest, in the order in which databases compare them.
const LETTERS: &[u8; 64] = b"-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
/// The letters that a digest can end with: 43 letters have two bits more than 32 bytes.
const LAST_LETTERS: &[u8; 16] = b"048AEIMQUYcgkosw";
/// The first letters of a digest ascend; the others are random.
const ORDERED_LETTERS: usize = 5;
const RANDOM_LETTERS: usize = 37;

/// A digest of no token, greater than those of smaller numbers: so rows come in the order of the primary key, and are appended to its
/// index instead of being inserted all over it.
fn digest(number: usize, count: usize, rng: &mut Rng) -> String {
    // As many as the ordered letters can count.
    let places = 1_usize << (6 * ORDERED_LETTERS);
    let mut place = number * (places / count.max(1)).max(1);
    let mut ordered = [0_u8; ORDERED_LETTERS];
    for letter in ordered.iter_mut().rev() {
        *letter = LETTERS.get(place % LETTERS.len()).copied().unwrap_or_default();
        place /= LETTERS.len();
    }
    let random: Vec<_> = (0..RANDOM_LETTERS).filter_map(|_| rng.choice(LETTERS)).copied().collect();
    let last = rng.choice(LAST_LETTERS).copied();
    ordered.into_iter().chain(random).chain(last).map(char::from).collect()
}

/// The sessions. One in a hundred has expired long ago; the others began in the last eight hours and outlive the measurement.
pub(super) fn sessions(layout: ScaleLayout, now: Timestamp) -> impl Iterator<Item = Vec<Cell>> {
    let mut rng = Rng::with_seed(12);
    (0..layout.sessions).map(move |number| -> Vec<Cell> {
        let owner = rng.usize(..layout.employees.max(1));
        let (role, age) = (role(owner), rng.i64(0..8 * HOUR_MILLIS));
        let has_expired = number % 100 == 50;
        let began = if has_expired { days_before(now, 10) } else { now.millis() - age };
        let ends = days_before(now, if has_expired { 9 } else { -2 });
        vec![
            digest(number, layout.sessions, &mut rng).into(),
            CORP.into(),
            employee(owner).into(),
            role.id().into(),
            LoginMethod::Qrcode.name().into(),
            LoginSource::of(role).name().into(),
            began.into(),
            ends.into(),
            address(&mut rng).to_string().into(),
            USER_AGENT.into(),
            began.into(),
        ]
    })
}

/// The statistics of every hour.
pub(super) fn statistics(now: Timestamp) -> impl Iterator<Item = Vec<Cell>> {
    let mut rng = Rng::with_seed(13);
    let this_hour = now.millis() - now.millis().rem_euclid(HOUR_MILLIS);
    let hours = (1..STATISTICS_DAYS * 24).map(move |hour| this_hour - hour * HOUR_MILLIS);
    let steps = hours.flat_map(|hour| STEPS.into_iter().map(move |step| (hour, step.name())));
    steps.map(move |(hour, step)| -> Vec<Cell> { vec![hour.into(), step.into(), rng.i64(1..100_000).into()] })
}

#[cfg(test)]
mod tests {
    use deskpass_core::Digest;

    use super::*;

    #[test]
    fn digests_ascend_and_can_be_read() {
        for count in [100, 10_000, 10_000_000] {
            let mut rng = Rng::with_seed(1);
            let numbers = [0, count / 3, count / 2, count - 1];
            let digests = numbers.map(|number| digest(number, count, &mut rng));
            assert!(digests.is_sorted() && digests.iter().all(|text| text.len() == 43), "{digests:?}");
            assert!(digests.iter().all(|text| Digest::from_text(text).is_some()), "{digests:?}");
        }
    }

    #[test]
    fn rows_have_a_value_for_every_column() {
        let (layout, now) = (ScaleLayout::QUICK, Timestamp::from_millis(1_800_000_000_000));
        assert!(sessions(layout, now).all(|row| row.len() == SESSION.columns.len()));
        assert!(statistics(now).all(|row| row.len() == SIGN_IN_COUNT.columns.len()));
    }
}
