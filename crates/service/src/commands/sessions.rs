//! The admin command that ends the sessions of all employees.

use deskpass_core::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::CommandResult;
use super::text::describe_error;
use crate::App;
use crate::timestamp::{format_utc, rfc3339};

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
