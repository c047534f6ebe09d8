//! The admin commands that end the sessions of one employee, or of all.

use deskpass_auth::Auth;
use deskpass_core::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::text::describe_error;
use super::{CommandResult, EmployeeSelector};
use crate::App;
use crate::timestamp::{format_utc, rfc3339};

/// Ends all sessions of an employee, who may sign in again.
pub(super) async fn end(auth: &Auth, who: &EmployeeSelector) -> CommandResult {
    let ended = auth.operator().end_sessions_of(who.key(auth)?).await.map_err(|error| who.explain(error))?;
    Ok(format!("{ended} session(s) of {} ended", who.employee))
}

#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct EndAllSessions {
    /// Ends only sessions that began before this time.
    pub(crate) before: Option<Timestamp>,
    /// Whether the result is a JSON object.
    pub(crate) json: bool,
}

impl EndAllSessions {
    pub(super) async fn run(&self, app: &App) -> CommandResult {
        let detail = self.before.map(|before| format!("began before {}", rfc3339(before))).unwrap_or_default();
        let ended = app.auth.operator().end_all_sessions(self.before, &detail).await.map_err(describe_error)?;
        if self.json {
            return Ok(json!({ "ended": ended, "before": self.before.map(rfc3339) }).to_string());
        }
        let which = self.before.map(|before| format!(" that began before {}", format_utc(before))).unwrap_or_default();
        Ok(format!("{ended} session(s){which} ended"))
    }

    /// The command as typed.
    pub(super) fn words(&self) -> String {
        let before = self.before.map(|before| format!(" --before {}", rfc3339(before))).unwrap_or_default();
        format!("session end-all{before} --yes")
    }
}
