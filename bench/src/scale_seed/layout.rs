//! The size of a large store, and what its rows have in common.

use std::net::Ipv4Addr;

use deskpass_core::Timestamp;
use fastrand::Rng;

/// The number of an employee whom about one row in a hundred of the log concerns.
pub(crate) const BUSY_EMPLOYEE: usize = 7;
/// The number of an employee who is a supervisor.
pub(crate) const SUPERVISOR: usize = 2;

pub(super) const DAY_MILLIS: i64 = 86_400_000;

/// The most people in a department.
const DEPARTMENT_SIZE: usize = 1_000;

pub(super) const USER_AGENT: &str = "Mozilla/5.0 (X11; Linux x86_64) Chrome/130.0";

/// The numbers of rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScaleLayout {
    pub(crate) employees: usize,
    pub(crate) sessions: usize,
    pub(crate) log_rows: usize,
}

impl ScaleLayout {
    pub(crate) const FULL: Self = Self { employees: 1_000_000, sessions: 10_000_000, log_rows: 20_000_000 };
    pub(crate) const QUICK: Self = Self { employees: 1_000, sessions: 10_000, log_rows: 20_000 };

    /// The disk space that a store takes in bytes, with its indexes and the temporary files of the largest one.
    pub(crate) fn disk_bytes(self) -> u64 {
        let bytes = self.employees * 1_700 + self.sessions * 500 + self.log_rows * 1_050;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// The number of departments.
    pub(crate) fn departments(self) -> usize {
        (self.employees / DEPARTMENT_SIZE).max(10)
    }

    /// The department of an employee.
    pub(super) fn department_of(self, number: usize) -> usize {
        number % self.departments()
    }

    /// The name of a department; no character in it has a meaning in a URL.
    pub(crate) fn department_name(self, department: usize) -> String {
        format!("Department{:05}", department % self.departments())
    }

    /// The number of rows of the log that are old enough to be pruned.
    pub(super) fn prunable_rows(self) -> usize {
        self.log_rows / 25
    }
}

/// A time so many days before another, in milliseconds.
pub(crate) fn days_before(now: Timestamp, days: i64) -> i64 {
    now.millis() - days * DAY_MILLIS
}

/// One of 65 536 addresses.
pub(super) fn address(rng: &mut Rng) -> Ipv4Addr {
    Ipv4Addr::new(10, 20, rng.u8(..), rng.u8(..))
}

pub(super) fn int(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
