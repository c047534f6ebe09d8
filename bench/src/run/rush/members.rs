//! Employees who are members of the simulated platform.

use std::path::Path;

use rusqlite::params;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;

use crate::connection::Connection;
use crate::error::BenchError;
use crate::requests::put_json;
use crate::seed::{self, CORP};
use crate::server::Server;
use crate::workspace::Workspace;

/// The result of `deskpass sync`.
#[derive(Deserialize)]
pub(super) struct Synchronised {
    pub(super) updated: Vec<IgnoredAny>,
    pub(super) halted: bool,
}

/// Runs `deskpass sync` on the running service.
pub(super) fn synchronise(workspace: &Workspace, directory: &Path) -> Result<Synchronised, BenchError> {
    let mut command = workspace.command(&workspace.deskpass);
    let made = command.env("DESKPASS_DATA", directory).args(["sync", "--dev", "--json"]).output()?;
    let told = || String::from_utf8_lossy(&made.stderr).into_owned();
    Ok(serde_json::from_slice(&made.stdout).map_err(|error| format!("no result ({error}): {}", told()))?)
}

/// Has the simulated platform generate this many members.
pub(super) async fn generate_members(server: &Server, count: usize) -> Result<(), BenchError> {
    let members = json!({ "members": count }).to_string();
    let mut connection = Connection::open(server.address).await?;
    let answer = connection.exchange(&put_json("/sim/people", &members)).await?;
    if answer.is_ok() {
        return Ok(());
    }
    Err(format!("the simulated platform has no such members:\n{}", answer.text()).into())
}

/// The identifier of a generated member; the first one has the number 1.
pub(super) fn member(number: usize) -> String {
    format!("member{number:05}")
}

/// Stores employees who are members of the simulated platform, under another name than there.
pub(super) fn store_members(directory: &Path, count: usize) -> Result<(), BenchError> {
    let (connection, at) = (seed::open(directory)?, seed::now());
    connection.execute_batch("BEGIN")?;
    let mut person = connection.prepare(
        "INSERT INTO employee (corp_id, employee_key, employee_id, name, department, avatar, created_at)
         VALUES (?1, ?2, ?2, 'Former Name', '', '', ?3)",
    )?;
    for number in 1..=count {
        person.execute(params![CORP, member(number), at.millis()])?;
    }
    Ok(connection.execute_batch("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)")?)
}
