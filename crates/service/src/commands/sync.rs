//! The synchronisation with the platform's directory, which takes minutes: it is started, and then asked for its state.

use deskpass_auth::SyncOptions;
use serde::{Deserialize, Serialize};

use super::CommandResult;
use super::table::table;
use crate::App;
use crate::app::sync_runs::{RoleChange, SyncedEmployee};

pub(crate) use crate::app::sync_runs::{SyncResult, SyncState};

/// A step of a synchronisation. The results are JSON for the command line.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum SyncAdminCommand {
    /// Starts one; the result is its number.
    Start { dry_run: bool, force: bool },
    /// How far it is.
    State { run: u64 },
}

impl SyncAdminCommand {
    pub(super) fn run(&self, app: &App) -> CommandResult {
        match self {
            Self::Start { dry_run, force } => {
                let options = SyncOptions { dry_run: *dry_run, force: *force };
                let run = app.sync_runs.start(app.auth.clone(), options);
                run.map(|run| run.to_string()).ok_or_else(|| {
                    "another `deskpass sync` is running; nothing was started: try again when it is done".to_owned()
                })
            }
            Self::State { run } => {
                let state = app.sync_runs.state(*run).ok_or_else(|| {
                    "the synchronisation is not known: the service was restarted, or another one was started".to_owned()
                })?;
                serde_json::to_string(&state).map_err(|error| error.to_string())
            }
        }
    }

    /// The command as typed.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Start { dry_run, force } => {
                let flag = |given: bool, flag: &'static str| if given { flag } else { "" };
                format!("sync{}{}", flag(*dry_run, " --dry-run"), flag(*force, " --force"))
            }
            Self::State { .. } => "sync".to_owned(),
        }
    }
}

impl SyncResult {
    /// The result for an operator: one line for each person, and a summary.
    pub(crate) fn text(&self) -> String {
        let row = |what: &str, employee: &SyncedEmployee, detail: String| {
            [what.to_owned(), employee.employee_id.clone(), employee.name.clone(), detail]
        };
        // If there are too many, nobody was locked out.
        let word = if self.halted { "not locked" } else { "left" };
        let left = self.left.iter().map(|left| row(word, &left.employee, left.reason.replace('_', " ")));
        let returned = self.returned.iter().map(|returned| row("returned", returned, String::new()));
        let updated = self.updated.iter().map(|updated| row("updated", &updated.employee, updated.fields.join(", ")));
        let roles = self.roles.iter().map(|change| row("roles", &change.employee, describe_roles(change)));
        let rows: Vec<_> = left.chain(returned).chain(updated).chain(roles).collect();
        let warn =
            |rule: &String| format!("warning: a role rule of the settings file matches no known group: {rule}\n");
        let warnings = self.unmatched.iter().map(warn).collect::<Vec<_>>().concat();
        let lines = if rows.is_empty() { String::new() } else { format!("{}\n", table(&rows)) };
        let Self { departments, members, .. } = self;
        let (left, returned) = (self.left.len(), self.returned.len());
        let (updated, roles) = (self.updated.len(), self.roles.len());
        let dry = if self.dry_run { "; this was a dry run: nothing was changed" } else { "" };
        format!(
            "{lines}{warnings}{departments} department(s) and {members} member(s) at the platform; {updated} updated, {left} left, \
             {returned} returned, {roles} with other roles{dry}"
        )
    }
}

fn describe_roles(change: &RoleChange) -> String {
    let signed = |sign: char, roles: &[String]| roles.iter().map(|role| format!("{sign}{role}")).collect::<Vec<_>>();
    let mut words = signed('+', &change.gained);
    words.extend(signed('-', &change.lost));
    if change.kept_last_admin {
        words.push("keeps admin: there is no other administrator".to_owned());
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_names_everyone_and_says_if_nothing_was_changed() {
        let employee = |id: &str, name: &str| SyncedEmployee { employee_id: id.to_owned(), name: name.to_owned() };
        let change = |gained: &[&str], lost: &[&str]| RoleChange {
            employee: employee("boss", "老板"),
            gained: gained.iter().map(|role| (*role).to_owned()).collect(),
            lost: lost.iter().map(|role| (*role).to_owned()).collect(),
            kept_last_admin: lost.is_empty(),
        };
        let result = SyncResult {
            dry_run: true,
            departments: 3,
            members: 40,
            updated: Vec::new(),
            left: Vec::new(),
            returned: vec![employee("user01", "U")],
            roles: vec![change(&["agent"], &["user"]), change(&[], &[])],
            unmatched: vec!["agent for department 77".to_owned()],
            halted: false,
        };
        assert_eq!(
            result.text(),
            "returned  user01  U\nroles     boss    老板  +agent -user\n\
             roles     boss    老板  keeps admin: there is no other administrator\n\
             warning: a role rule of the settings file matches no known group: agent for department 77\n\
             3 department(s) and 40 member(s) at the platform; 0 updated, 0 left, 1 returned, 2 with other roles; this was a \
             dry run: nothing was changed"
        );
    }
}
