//! The sweep and the lists of agents use an index.

use crate::agents::fixture::{Fixture, on_every_store};
use crate::lists::scene::bulk;

const ROWS: usize = 5_000;

/// Fill the tables with rows that have not expired: most rows have not when the sweep runs.
const STATEMENTS: [&str; 16] = [
    "INSERT INTO employee (corp_id, employee_key, employee_id, name, department, avatar, created_at)
     SELECT 'ww', 'person' || n, 'person' || n, 'Name', '', '', 0 FROM numbers",
    // Most of them only have a device, or had one.
    "INSERT INTO agent (corp_id, employee_key, role_id, created_at, device_only, otp_secret)
     SELECT 'ww', 'person' || n, 3, 0, CASE WHEN n % 500 = 0 THEN 0 ELSE 1 END, CASE WHEN n % 3 = 0 THEN 'x' ELSE NULL END
     FROM numbers",
    "INSERT INTO recovery_code (corp_id, employee_key, digest) SELECT 'ww', 'person' || n, 'code' || n FROM numbers",
    "INSERT INTO session (digest, corp_id, employee_key, role_id, login_method, login_source, created_at, expires_at)
     SELECT (100000 + n) || 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', 'ww', 'person' || n, 3, 'dev', 'h5', n, 1000000 + n
     FROM numbers",
    "INSERT INTO denied_token (digest, reason, until) SELECT 'token' || n, 'kicked', 1000000 + n FROM numbers",
    "INSERT INTO bind_proof (digest, corp_id, user_id, expires_at, attempts)
     SELECT 'proof' || n, 'ww', 'person' || n, 1000000 + n, 0 FROM numbers",
    "INSERT INTO used_once (digest, used_by, undone, until) SELECT 'used' || n, 'by', 0, 1000000 + n FROM numbers",
    "INSERT INTO half_session (digest, corp_id, employee_key, expires_at)
     SELECT 'half' || n, 'ww', 'person' || n, 1000000 + n FROM numbers",
    "INSERT INTO known_browser (digest, corp_id, employee_key, expires_at)
     SELECT 'browser' || n, 'ww', 'person' || n, 1000000 + n FROM numbers",
    "INSERT INTO notice (id, corp_id, employee_key, subject, ip_address, at, tries, due_at)
     SELECT 'notice' || n, 'ww', 'person' || n, 'device_bound', '192.0.2.1', 1000000 + n, 0, 1000000 + n FROM numbers",
    "INSERT INTO oidc_token (digest, grant_id, kind, created_at, expires_at)
     SELECT 'token' || n, 'grant' || n, 'access', n, 1000000 + n FROM numbers",
    "INSERT INTO oidc_browser (digest, session, expires_at) SELECT 'browser' || n, 'session' || n, 1000000 + n FROM numbers",
    "INSERT INTO oidc_logout (sid, client_id, subject, at, tries, due_at)
     SELECT 'sid' || n, 'client' || (n % 7), 'subject' || n, 1000000 + n, 0, 1000000 + n FROM numbers",
    "INSERT INTO platform_event (digest, change, received_at) SELECT 'event' || n, '', 1000000 + n FROM numbers",
    "INSERT INTO sign_in_count (hour, step, times) SELECT 1000000 + n, 'sign_in', 1 FROM numbers",
    "INSERT INTO employee_network (corp_id, employee_key, network, seen_at)
     SELECT 'ww', 'person' || n, '192.0.2.0/24', 1000000 + n FROM numbers",
];

async fn populate(fixture: &Fixture) {
    for statement in STATEMENTS {
        bulk(fixture, statement, ROWS).await;
        let table = statement.split_whitespace().nth(2).unwrap();
        bulk(fixture, &format!("ANALYZE {table}"), 0).await;
    }
}

fn scans(plan: &str) -> bool {
    plan.lines().any(|line| line.contains("Seq Scan") || line.trim_start().starts_with("SCAN"))
}

on_every_store! {
    async fn no_statement_of_the_sweep_and_no_list_of_agents_reads_a_whole_table(fixture: &Fixture) {
        populate(fixture).await;
        let swept = fixture.store().sweep_plans().await.unwrap();
        for (table, plan) in &swept {
            assert!(!scans(plan), "{table}\n{plan}");
        }
        for (table, index) in [("notice", "notice_by_age"), ("oidc_logout", "oidc_logout_by_age")] {
            assert!(swept.iter().any(|(name, plan)| *name == table && plan.contains(index)), "{table}");
        }
        for (list, plan) in fixture.store().agents_plans().await.unwrap() {
            assert!(!scans(&plan), "{list}\n{plan}");
            assert_eq!(plan.contains("agent_with_record"), list == "agents", "{list}\n{plan}");
        }
    }
}
