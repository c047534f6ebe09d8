//! The synchronisation that an operator started in this process. It goes on when the command line that started it is gone.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use deskpass_auth::{Auth, RuleEffect, SyncOptions, SyncProgress, SyncReport, SyncStep};
use deskpass_core::{EmployeeKey, Role, RoleRule, Roles, RuleGroup};
use futures_util::FutureExt as _;
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;

/// The newest synchronisation.
#[derive(Debug, Default)]
pub(crate) struct SyncRuns(Mutex<SyncRun>);

#[derive(Debug, Default)]
struct SyncRun {
    number: u64,
    state: Option<SyncState>,
    task: Option<JoinHandle<()>>,
}

/// How far a synchronisation is.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) enum SyncState {
    /// It runs; the text says how far it is.
    Running(String),
    Done(SyncResult),
    Failed(String),
}

/// What a synchronisation changed, or would change.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct SyncResult {
    pub(crate) dry_run: bool,
    /// The number of departments and of members that the platform has.
    pub(crate) departments: usize,
    pub(crate) members: usize,
    pub(crate) updated: Vec<UpdatedEmployee>,
    pub(crate) left: Vec<LeftEmployee>,
    pub(crate) returned: Vec<SyncedEmployee>,
    pub(crate) roles: Vec<RoleChange>,
    /// The groups in rules of the settings file that the platform does not have.
    #[serde(default)]
    pub(crate) unmatched: Vec<String>,
    /// Whether so many people would be locked out that nobody was.
    pub(crate) halted: bool,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct SyncedEmployee {
    pub(crate) employee_id: String,
    pub(crate) name: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct UpdatedEmployee {
    #[serde(flatten)]
    pub(crate) employee: SyncedEmployee,
    pub(crate) fields: Vec<String>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct LeftEmployee {
    #[serde(flatten)]
    pub(crate) employee: SyncedEmployee,
    pub(crate) reason: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct RoleChange {
    #[serde(flatten)]
    pub(crate) employee: SyncedEmployee,
    pub(crate) gained: Vec<String>,
    pub(crate) lost: Vec<String>,
    /// Whether the role admin stayed because there is no other administrator.
    pub(crate) kept_last_admin: bool,
}

impl SyncRuns {
    /// Starts a synchronisation and returns its number; `None` if one is running.
    pub(crate) fn start(self: &Arc<Self>, auth: Auth, options: SyncOptions) -> Option<u64> {
        let mut run = self.lock();
        if run.task.as_ref().is_some_and(|task| !task.is_finished()) {
            return None;
        }
        run.number += 1;
        run.state = Some(SyncState::Running("asking the platform".to_owned()));
        let (runs, dry_run) = (Arc::clone(self), options.dry_run);
        let synchronising = async move {
            let note = |progress: SyncProgress| runs.set(SyncState::Running(describe(&progress)));
            let ended = auth.synchronise(options, &note).await;
            runs.set(match ended {
                Ok(report) => SyncState::Done(SyncResult::new(&report, dry_run)),
                Err(error) => SyncState::Failed(error.to_string()),
            });
        };
        run.task = Some(tokio::spawn(synchronising.boxed()));
        Some(run.number)
    }

    /// How far the synchronisation with this number is; `None` if it is not the newest.
    pub(crate) fn state(&self, number: u64) -> Option<SyncState> {
        let run = self.lock();
        let state = run.state.clone().filter(|_| run.number == number)?;
        let stopped = run.task.as_ref().is_none_or(JoinHandle::is_finished);
        Some(match state {
            SyncState::Running(_) if stopped => SyncState::Failed("it stopped unexpectedly".to_owned()),
            state => state,
        })
    }

    fn set(&self, state: SyncState) {
        self.lock().state = Some(state);
    }

    fn lock(&self) -> MutexGuard<'_, SyncRun> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn describe(progress: &SyncProgress) -> String {
    let step = match progress.step {
        SyncStep::Departments => "departments",
        SyncStep::Members => "members",
        SyncStep::Tags => "tags",
        SyncStep::People => "people",
        SyncStep::Rules => "role rules",
    };
    let done = progress.done;
    progress.total.map_or_else(|| format!("{step}: {done}"), |total| format!("{step}: {done} of {total}"))
}

impl SyncResult {
    fn new(report: &SyncReport, dry_run: bool) -> Self {
        let updated = report.updated.iter().map(|updated| UpdatedEmployee {
            employee: SyncedEmployee::new(&updated.employee, &updated.name),
            fields: updated.fields.iter().map(|field| (*field).to_owned()).collect(),
        });
        let left = report.left.iter().map(|(employee, name, reason)| LeftEmployee {
            employee: SyncedEmployee::new(employee, name),
            reason: reason.name().to_owned(),
        });
        let returned = report.returned.iter().map(|(employee, name)| SyncedEmployee::new(employee, name));
        Self {
            dry_run,
            departments: report.departments,
            members: report.members,
            updated: updated.collect(),
            left: left.collect(),
            returned: returned.collect(),
            roles: report.roles.iter().map(RoleChange::new).collect(),
            unmatched: report.unmatched.iter().map(describe_rule).collect(),
            halted: report.halted,
        }
    }
}

fn describe_rule(RoleRule { role, group }: &RoleRule) -> String {
    match group {
        RuleGroup::Department(id) => format!("{} for department {id}", role.name()),
        RuleGroup::Tag(id) => format!("{} for tag {id}", role.name()),
    }
}

impl SyncedEmployee {
    fn new(employee: &EmployeeKey, name: &str) -> Self {
        Self { employee_id: employee.id().to_owned(), name: name.to_owned() }
    }
}

impl RoleChange {
    fn new(effect: &RuleEffect) -> Self {
        let names = |roles: Roles| roles.iter().map(|role: Role| role.name().to_owned()).collect();
        Self {
            employee: SyncedEmployee::new(&effect.employee, &effect.name),
            gained: names(effect.gained),
            lost: names(effect.lost),
            kept_last_admin: effect.kept_last_admin,
        }
    }
}
