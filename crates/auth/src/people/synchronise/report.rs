//! How a synchronisation is asked for, how far it is, and what it changed.

use deskpass_core::{EmployeeKey, LeftReason, RoleRule};

use super::super::role_rules::RuleEffect;

/// How to synchronise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SyncOptions {
    /// Changes nothing, and reports what would change.
    pub dry_run: bool,
    /// Locks people, and takes roles of rules from people, also if there are very many.
    pub force: bool,
}

/// A step of the synchronisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncStep {
    /// Reads the departments.
    Departments,
    /// Reads the members of the departments.
    Members,
    /// Reads the tags and their members.
    Tags,
    /// Compares the employees with the directory.
    People,
    /// Applies the role rules.
    Rules,
}

/// How far the synchronisation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncProgress {
    /// The step.
    pub step: SyncStep,
    /// How many departments, members, tags or people are done in this step.
    pub done: usize,
    /// How many there are, if that is known.
    pub total: Option<usize>,
}

/// What the synchronisation changed, or would change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncReport {
    /// The number of departments at the platform.
    pub departments: usize,
    /// The number of members at the platform.
    pub members: usize,
    /// The employees whose record changed.
    pub updated: Vec<UpdatedPerson>,
    /// The employees who left, with their names. If `halted`, they were not locked.
    pub left: Vec<(EmployeeKey, String, LeftReason)>,
    /// The employees who came back, with their names.
    pub returned: Vec<(EmployeeKey, String)>,
    /// The roles that changed.
    pub roles: Vec<RuleEffect>,
    /// The rules of the settings file whose department or tag the platform does not have.
    pub unmatched: Vec<RoleRule>,
    /// Whether nobody was locked, or the stored directory was kept, because too many people seem to have left or would lose roles.
    pub halted: bool,
}

/// An employee whose record changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdatedPerson {
    /// The employee.
    pub employee: EmployeeKey,
    /// The name.
    pub name: String,
    /// The fields that changed.
    pub fields: Vec<&'static str>,
}

/// What receives the progress.
pub(super) type ProgressListener<'a> = &'a (dyn Fn(SyncProgress) + Send + Sync);
