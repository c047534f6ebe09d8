//! One run of the synchronisation.

use deskpass_core::{EmployeeKey, LeftReason, Timestamp};

use super::report::{ProgressListener, SyncOptions, SyncProgress, SyncReport, SyncStep};
use crate::chore_lease::ChoreLease;

/// A run: how it was asked for, and what it has found so far.
pub(super) struct SyncRun<'a> {
    pub(super) options: SyncOptions,
    pub(super) progress: ProgressListener<'a>,
    pub(super) lease: ChoreLease,
    /// When it began. What it lists may be as old as that.
    pub(super) began_at: Timestamp,
    pub(super) report: SyncReport,
    /// Those who left, and when the platform was asked.
    pub(super) leavers: Vec<(EmployeeKey, LeftReason, Timestamp)>,
    /// Where the lookups of people who are missing from the listing go on, if they were too many.
    pub(super) missing_after: Option<String>,
}

impl SyncRun<'_> {
    /// Says how far it is.
    pub(super) fn note(&self, step: SyncStep, done: usize, total: Option<usize>) {
        (self.progress)(SyncProgress { step, done, total });
    }
}
