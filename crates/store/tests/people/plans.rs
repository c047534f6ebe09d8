//! The statements that run often use an index.

use crate::agents::fixture::{Fixture, on_every_store};
use crate::lists::scene::bulk;

const PEOPLE: usize = 20_000;

on_every_store! {
    async fn no_statement_reads_all_people_or_events(fixture: &Fixture) {
        for statement in [
            "INSERT INTO employee (corp_id, employee_key, employee_id, name, department, avatar, created_at, tried_at,
             watched) SELECT 'ww', 'person' || n, 'person' || n, 'Name', '', '', 0, CASE WHEN n % 3 = 0 THEN n ELSE NULL END,
             CASE WHEN n % 10 = 0 THEN 1 ELSE 0 END FROM numbers",
            "INSERT INTO session (digest, corp_id, employee_key, role_id, login_method, login_source, created_at, expires_at)
             SELECT (100000 + n) || 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', 'ww', 'person' || n, 3, 'dev', 'h5', n,
             1000000 FROM numbers",
            // Almost all of them are handled.
            "INSERT INTO platform_event (digest, change, received_at, due_at, urgent, to_lock) SELECT 'event' || n, '', n,
             CASE WHEN n % 100 = 0 THEN n ELSE NULL END, n / 100 % 2, CASE WHEN n % 200 = 0 THEN 1 ELSE 0 END FROM numbers",
        ] {
            bulk(fixture, statement, PEOPLE).await;
        }
        bulk(fixture, "ANALYZE employee; ANALYZE session; ANALYZE platform_event", 0).await;
        for (name, plan) in fixture.store().platform_plans().await.unwrap() {
            // All of the index of leavers to lock is read; it has no others.
            let scans = |line: &str| {
                let line = line.trim_start();
                // These are no tables.
                let part = ["SCAN CONSTANT ROW", "SCAN person", "SCAN p"].contains(&line);
                let scan = line.starts_with("SCAN") && !part && !line.ends_with("INDEX platform_event_to_lock");
                line.contains("Seq Scan") || scan
            };
            assert!(!plan.lines().any(scans), "{name}\n{plan}");
            let sorts = |line: &str| line.contains("Sort  (") && !line.contains("Incremental");
            assert!(name != "people to check" || !plan.lines().any(sorts), "{name}\n{plan}");
        }
    }
}
