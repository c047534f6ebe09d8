//! Refusals of requests that name no employee. Any client can cause them, so the number of log rows is limited. The others are
//! counted, and once a minute a summary row says how many there were, why, and from where.
//!
//! A row that names an employee is never left out. Counts since the last summary are lost when the process is killed.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use deskpass_core::{ClientAddress, ClientInfo, Debt, Rate, Timestamp, UserAgent, rate_limit_address};
use deskpass_store::{AuditEvent, LogEntry};

use crate::{Auth, Error};

const MINUTE: Duration = Duration::from_mins(1);
const DAY: Duration = Duration::from_hours(24);

/// The rows of one address, per minute and per day. An IPv6 address counts as its /64.
const ROWS_PER_ADDRESS: [(u32, Duration); 2] = [(60, MINUTE), (500, DAY)];
/// The rows of all addresses, per minute and per day. A row with its indexes takes about 1 KB.
const ROWS_IN_TOTAL: [(u32, Duration); 2] = [(300, MINUTE), (5_000, DAY)];
/// The number of addresses that are tracked. All others share one bucket.
const MAX_ADDRESSES: usize = 4_096;
/// The number of addresses that a summary names.
const NAMED_ADDRESSES: usize = 5;
/// Stands for all untracked addresses, and for several addresses in a summary row.
const OTHER_ADDRESSES: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// Counters of refusals that name no employee.
#[derive(Debug, Default)]
pub struct AnonymousRefusals(Mutex<RefusalCounts>);

#[derive(Debug, Default)]
struct RefusalCounts {
    total: [Debt; 2],
    addresses: HashMap<IpAddr, [Debt; 2]>,
    summary: Summary,
    /// A summary row that may be written, and its number of refusals.
    unsettled: Option<(LogEntry, u64)>,
}

/// The refusals since the last summary that have no row.
#[derive(Debug, Default)]
struct Summary {
    reasons: BTreeMap<&'static str, u64>,
    addresses: HashMap<IpAddr, u64>,
}

impl AnonymousRefusals {
    fn state(&self) -> MutexGuard<'_, RefusalCounts> {
        // Every change leaves the state consistent, so a poisoned lock is harmless.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a refusal gets a row of its own. If not, it is counted.
    pub(crate) fn admit(&self, from: IpAddr, reason: &'static str, now: Timestamp) -> bool {
        let mut state = self.state();
        let from = state.bucket_of(rate_limit_address(from), now);
        let own = state.addresses.get(&from).copied().unwrap_or_default();
        let admitted = admit(ROWS_PER_ADDRESS, own, now).zip(admit(ROWS_IN_TOTAL, state.total, now));
        if let Some((own, total)) = admitted {
            state.addresses.insert(from, own);
            state.total = total;
        } else {
            state.summary.add(reason, from, 1);
        }
        admitted.is_some()
    }
}

impl RefusalCounts {
    /// The bucket of an address: its own, or that of all others.
    fn bucket_of(&mut self, address: IpAddr, now: Timestamp) -> IpAddr {
        if self.addresses.contains_key(&address) {
            return address;
        }
        if self.addresses.len() >= MAX_ADDRESSES {
            let now = now.millis().saturating_mul(1_000);
            self.addresses.retain(|_, debts| debts.iter().any(|debt| debt.micros() > now));
        }
        if self.addresses.len() < MAX_ADDRESSES { address } else { OTHER_ADDRESSES }
    }
}

/// The debts after one more row, unless it exceeds one of the rates.
fn admit(rates: [(u32, Duration); 2], [short, long]: [Debt; 2], now: Timestamp) -> Option<[Debt; 2]> {
    let owed = |(count, per), debt| Rate::new(count, per).and_then(|rate: Rate| rate.admit(debt, now).ok());
    let [per_minute, per_day] = rates;
    Some([owed(per_minute, short)?, owed(per_day, long)?])
}

impl Summary {
    fn add(&mut self, reason: &'static str, from: IpAddr, times: u64) {
        *self.reasons.entry(reason).or_default() += times;
        let known = self.addresses.contains_key(&from) || self.addresses.len() < MAX_ADDRESSES;
        *self.addresses.entry(if known { from } else { OTHER_ADDRESSES }).or_default() += times;
    }

    fn count(&self) -> u64 {
        self.reasons.values().sum()
    }

    /// The address of the refusals, if all came from one.
    fn only_address(&self) -> Option<IpAddr> {
        self.addresses.keys().next().copied().filter(|_| self.addresses.len() == 1)
    }

    /// The number of refusals, the reasons, and the most frequent addresses.
    fn detail(&self) -> String {
        let mut text = format!("{} more refusals without a row of their own:", self.count());
        let separators = std::iter::once(" ").chain(std::iter::repeat(", "));
        for (separator, (reason, times)) in separators.zip(&self.reasons) {
            let _ = write!(text, "{separator}{reason} {times}");
        }
        let mut from: Vec<_> = self.addresses.iter().filter(|(address, _)| **address != OTHER_ADDRESSES).collect();
        from.sort_unstable_by_key(|(address, times)| (std::cmp::Reverse(**times), **address));
        let _ = write!(text, "; from {} address(es)", self.addresses.len());
        for (address, times) in from.into_iter().take(NAMED_ADDRESSES) {
            let _ = write!(text, ", {address} {times}");
        }
        text
    }

    fn absorb(&mut self, other: Self) {
        for (reason, times) in other.reasons {
            *self.reasons.entry(reason).or_default() += times;
        }
        for (address, times) in other.addresses {
            let known = self.addresses.contains_key(&address) || self.addresses.len() < MAX_ADDRESSES;
            *self.addresses.entry(if known { address } else { OTHER_ADDRESSES }).or_default() += times;
        }
    }
}

impl Auth {
    /// Writes a summary row of the refusals since the last call, if there were any; returns how many. Must be called every
    /// minute, and before the process ends. If the store fails, the next call writes the counts; if it is unknown whether the row
    /// was written, the next call writes the same row, unless it is there.
    pub async fn summarise_refusals(&self) -> Result<u64, Error> {
        let settled = self.settle_summary().await?;
        let summary = std::mem::take(&mut self.anonymous_refusals.state().summary);
        let count = summary.count();
        if count == 0 {
            return Ok(settled);
        }
        let (entry, written) = match self.summary_entry(&summary) {
            Ok(entry) => (Some(entry.clone()), self.store.record(entry).await.map_err(Error::from)),
            Err(error) => (None, Err(error)),
        };
        if let Err(error) = &written {
            let mut state = self.anonymous_refusals.state();
            match entry {
                Some(entry) if error.is_outcome_unknown() => state.unsettled = Some((entry, count)),
                _ => state.summary.absorb(summary),
            }
        }
        written.map(|()| settled + count)
    }

    /// Writes the summary row that may be written already, if there is one; returns its number of refusals.
    async fn settle_summary(&self) -> Result<u64, Error> {
        let unsettled = self.anonymous_refusals.state().unsettled.clone();
        let Some((entry, count)) = unsettled else { return Ok(0) };
        self.store.record_once(entry).await?;
        self.anonymous_refusals.state().unsettled = None;
        Ok(count)
    }

    fn summary_entry(&self, summary: &Summary) -> Result<LogEntry, Error> {
        let from = summary.only_address().unwrap_or(OTHER_ADDRESSES);
        let address = ClientAddress { logged: from, decided: from, peer: from };
        let visitor = ClientInfo { address, user_agent: UserAgent::default(), reference: None };
        let anonymous = self.deployment_key();
        let plain = self.plain_entry(AuditEvent::RefusalsSummarised, &anonymous, self.clock.now(), &visitor)?;
        Ok(LogEntry { detail: summary.detail(), ..plain })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(1_750_000_000_000 + seconds * 1_000)
    }

    fn admitted(refusals: &AnonymousRefusals, from: impl Fn(u32) -> IpAddr, times: u32, seconds: i64) -> usize {
        (0..times).filter(|number| refusals.admit(from(*number), "invalid_code", at(seconds))).count()
    }

    #[test]
    fn rows_are_limited_per_address_and_in_total() {
        let refusals = AnonymousRefusals::default();
        let one = |_| IpAddr::from([192, 0, 2, 1]);
        assert_eq!(admitted(&refusals, one, 1_500, 0), 60);
        assert_eq!(refusals.state().summary.count(), 1_440);
        assert_eq!(admitted(&refusals, one, 100, 60), 60, "a minute later");
        let network = |number: u32| IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 1, u16::try_from(number).unwrap_or(0)]);
        assert_eq!(admitted(&refusals, network, 100, 120), 60, "one /64 is one");
        let many = |number: u32| IpAddr::from(number.to_be_bytes());
        assert!(admitted(&refusals, many, 10_000, 600) <= 300);
        assert!(refusals.state().addresses.len() <= MAX_ADDRESSES + 1);
    }

    #[test]
    fn a_flood_from_many_addresses_writes_few_rows() {
        for minutes in [1, 60, 24 * 60, 7 * 24 * 60] {
            let (refusals, all) = (AnonymousRefusals::default(), 1_000_000);
            let from = |number: u32| IpAddr::from((number % 100_000).to_be_bytes());
            let rows = (0..all).filter(|number| {
                let seconds = i64::from(*number) * minutes * 60 / i64::from(all);
                refusals.admit(from(*number), "over", at(seconds))
            });
            let rows = i64::try_from(rows.count()).unwrap_or(i64::MAX);
            // A row takes about 1 KB, and there is a summary every minute.
            assert!((rows + minutes) * 1_024 <= 64 * 1_024 * 1_024, "{minutes} minutes: {rows} rows");
        }
    }

    #[test]
    fn a_summary_has_the_count_the_reasons_and_the_addresses() {
        let mut summary = Summary::default();
        summary.add("over", [192, 0, 2, 1].into(), 3);
        assert_eq!(summary.only_address(), Some([192, 0, 2, 1].into()));
        summary.add("invalid_code", [192, 0, 2, 2].into(), 40);
        assert_eq!((summary.only_address(), summary.count()), (None, 43));
        let expected = "43 more refusals without a row of their own: invalid_code 40, over 3; from 2 address(es), 192.0.2.2 40, 192.0.2.1 3";
        assert_eq!(summary.detail(), expected);
    }
}
