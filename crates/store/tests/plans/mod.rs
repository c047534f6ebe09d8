//! The table of query plans: every statement that runs in the background, on the command line or over many rows, and its index.
//!
//! A statement that is not in the table fails the test, and so does one that no longer uses its index.

mod data;

use std::collections::BTreeSet;

use deskpass_store::Location;

use crate::agents::fixture::{Fixture, on_every_store};
use crate::lists::scene::bulk;

/// A statement, and the indexes that it uses on both databases; `A|B` is either of two.
type Row = (&'static str, &'static [&'static str]);

/// An index of this name is the primary key of the table that follows.
const PRIMARY_KEY: &str = "primary key of ";

static SWEEPS: [Row; 17] = [
    ("sweep session", &["session_by_end", "primary key of session"]),
    // There are few clients, and all of them are read.
    ("sweep oidc_client", &["oidc_logout_of_client"]),
    ("sweep oidc_grant", &["oidc_grant_by_end", "primary key of session", "primary key of oidc_grant"]),
    ("sweep guess, few", &["guess_few_by_time", "primary key of agent"]),
    ("sweep guess, many", &["guess_by_time", "primary key of agent"]),
    ("sweep denied_token", &["denied_token_by_end"]),
    ("sweep bind_proof", &["bind_proof_by_end"]),
    ("sweep used_once", &["used_once_by_end"]),
    ("sweep half_session", &["half_session_by_end"]),
    ("sweep known_browser", &["known_browser_by_end"]),
    ("sweep notice", &["notice_by_age"]),
    ("sweep oidc_token", &["oidc_token_by_end"]),
    ("sweep oidc_browser", &["oidc_browser_by_end"]),
    ("sweep oidc_logout", &["oidc_logout_by_age"]),
    ("sweep platform_event", &["platform_event_by_time"]),
    ("sweep sign_in_count", &["primary key of sign_in_count"]),
    ("sweep employee_network", &["employee_network_by_time"]),
];

static LOG: [Row; 15] = [
    ("prune, oldest row", &["login_log_by_chain"]),
    ("prune, rows", &["login_log_by_chain"]),
    ("prune, records about rows", &["login_log_by_chain", "primary key of disowned"]),
    ("chain, end of a batch", &["login_log_by_chain"]),
    ("chain, rows of a batch", &["login_log_by_chain"]),
    ("verify, rows up to a position", &["login_log_by_chain"]),
    ("verify, first row between positions", &["login_log_by_chain"]),
    ("verify, last row", &["login_log_by_chain"]),
    ("verify, rows in no chain", &["login_log_by_chain"]),
    ("verify, list of rows in no chain", &["login_log_by_chain"]),
    ("verify, rows without a position", &["login_log_by_chain"]),
    ("verify, list of rows without a position", &["login_log_by_chain"]),
    ("references, rows", &["login_log_by_reference"]),
    ("references, next corporation", &["login_log_by_reference"]),
    ("rows with their predecessors", &["primary key of login_log", "login_log_by_chain"]),
];

static OTHERS: [Row; 16] = [
    ("agent", &["primary key of agent", "primary key of employee", "primary key of recovery_code"]),
    ("next agents", &["primary key of agent"]),
    ("agents", &["primary key of agent", "primary key of employee"]),
    ("agents and devices", &["primary key of agent", "primary key of employee"]),
    ("lockouts of agents", &["primary key of guess"]),
    ("credentials", &["primary key of agent"]),
    ("claim notices", &["notice_by_time"]),
    ("latest events of a kind", &["login_log_of_employee_by_event|login_log_of_employee"]),
    ("preview of a lockout", &["primary key of session"]),
    (
        "session with its person",
        &[
            "primary key of session",
            "primary key of denied_token",
            "primary key of employee",
            "primary key of user_role",
        ],
    ),
    ("last use", &["primary key of session"]),
    ("end all sessions, next", &["primary key of session"]),
    ("end all sessions, batch", &["primary key of session"]),
    ("claim logouts", &["oidc_logout_of_client"]),
    ("pending logouts", &["oidc_logout_by_age"]),
    ("claim events", &["platform_event_due"]),
];

static STATISTICS: [Row; 1] = [("statistics", &["primary key of sign_in_count"])];

/// Only nodes that share a database have a journal.
static SHARED: [Row; 3] = [
    ("journal, read", &["journal_by_transaction"]),
    ("journal, sweep", &["journal_by_time"]),
    ("journal, foreign rows", &["journal_by_transaction"]),
];

fn is_embedded(fixture: &Fixture) -> bool {
    matches!(fixture.location(), Location::Embedded(_))
}

/// The name of an index in the plans of this database, with the blank after it: other indexes begin with the same name.
fn name_of(fixture: &Fixture, index: &str) -> String {
    match index.strip_prefix(PRIMARY_KEY) {
        Some(table) if is_embedded(fixture) => format!("sqlite_autoindex_{table}_1 "),
        Some(table) => format!("{table}_pkey "),
        None => format!("{index} "),
    }
}

/// Whether a line of a plan reads a whole table, other than a small one.
fn is_scan(line: &str, name: &str) -> bool {
    let line = line.trim();
    let is_small = name == "sweep oidc_client" && (line.contains("oidc_client") || line == "SCAN c");
    // The rows of a batch, which were found before.
    let is_listed = ["SCAN batch", "SCAN (subquery"].iter().any(|listed| line.starts_with(listed));
    // Its index is read from the beginning, and no further than the limit.
    let is_limited = name == "pending logouts" && line.contains(" USING INDEX ");
    (line.contains("Seq Scan") || line.starts_with("SCAN")) && !is_small && !is_listed && !is_limited
}

async fn check(fixture: &Fixture, when: &str) {
    let shared = SHARED.iter().filter(|_| !is_embedded(fixture));
    let table: Vec<_> = SWEEPS.iter().chain(&LOG).chain(&OTHERS).chain(&STATISTICS).chain(shared).collect();
    let plans = fixture.store().statement_plans().await.unwrap();
    assert_eq!(plans.len(), table.len(), "each name is that of one statement");
    let known: BTreeSet<_> = table.iter().map(|(name, _)| *name).collect();
    assert_eq!(plans.iter().map(|(name, _)| &**name).collect::<BTreeSet<_>>(), known, "every statement has an entry");
    for (name, indexes) in table {
        let (_, plan) = plans.iter().find(|(of, _)| of == name).unwrap();
        let plan = plan.lines().map(|line| format!("{line} ")).collect::<Vec<_>>().join("\n");
        for index in *indexes {
            let mut names = index.split('|').map(|index| name_of(fixture, index));
            assert!(names.any(|index| plan.contains(&index)), "{when}, {name} uses {index}:\n{plan}");
        }
        let scans: Vec<_> = plan.lines().filter(|line| is_scan(line, name)).collect();
        assert!(scans.is_empty(), "{when}, {name} reads a whole table:\n{plan}");
    }
}

on_every_store! {
    async fn every_statement_uses_its_index(fixture: &Fixture) {
        for statement in data::statements() {
            bulk(fixture, &statement, data::ROWS).await;
        }
        if is_embedded(fixture) {
            check(fixture, "without statistics").await;
        } else {
            bulk(fixture, data::JOURNAL, data::ROWS).await;
        }
        bulk(fixture, &data::TABLES.map(|table| format!("ANALYZE {table}")).join("; "), 0).await;
        check(fixture, "with statistics").await;
    }
}
