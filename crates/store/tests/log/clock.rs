//! The latest recorded time, and its repair after a wrong clock has advanced it.

use deskpass_core::Digest;
use deskpass_store::{AuditEvent, Chore, ClockRepair, Location, LogEntry, Mode, read_latest_recorded_time};

use crate::log::fixture::{Fixture, START, at, on_every_store};

const HOUR: i64 = 3_600_000;
const YEARS: i64 = 3 * 365 * 24 * HOUR;

on_every_store! {
    async fn a_row_far_after_the_record_does_not_count(fixture: &Fixture) {
        let newest = || async {
            let newest = fixture.store().latest_recorded_time().await.unwrap();
            assert_eq!(read_latest_recorded_time(&fixture.location, Mode::Development).await.unwrap(), newest);
            newest
        };
        assert_eq!(newest().await, None, "nothing was ever recorded");
        fixture.write([5]).await;
        assert_eq!(newest().await, Some(at(5)), "a command wrote it before the service ran");
        fixture.store().record_time(at(1_000)).await.unwrap();
        assert_eq!(newest().await, Some(at(1_000)));
        fixture.write([2_000]).await;
        assert_eq!(newest().await, Some(at(2_000)));
        fixture.write([YEARS]).await;
        assert_eq!(newest().await, Some(at(2_000)), "a wrong clock wrote it");
    }
}

/// Inserts a session that was last used at `seen`.
fn session(name: &[u8], created: i64, seen: i64) -> String {
    let digest = Digest::of(&[name]).to_text();
    format!(
        "INSERT INTO session (digest, corp_id, employee_key, role_id, login_method, login_source, created_at, expires_at, seen_at)
         VALUES ('{digest}', 'ww', 'agent01', 3, 'dev', 'H5', {created}, {created} + {HOUR}, {seen})"
    )
}

on_every_store! {
    async fn a_repair_brings_back_what_is_from_the_future(fixture: &Fixture) {
        let (then, now, early) = (START + YEARS, at(HOUR).millis(), at(0).millis());
        fixture.write([0, YEARS]).await;
        fixture.store().record_time(at(YEARS)).await.unwrap();
        fixture.employ("ww", "agent01", "").await;
        for text in [
            format!(
                "INSERT INTO agent (corp_id, employee_key, role_id, created_at, otp_step, setup_code, setup_code_until,
                 otp_setup_code_until) VALUES ('ww', 'agent01', 2, 1, {then} / 30000, 'code', {then}, {then})"
            ),
            format!("INSERT INTO employee_network VALUES ('ww', 'agent01', '192.0.2.0/24', {then})"),
            format!("INSERT INTO used_once VALUES ('used', 'me', 0, {then})"),
            format!("INSERT INTO used_once VALUES ('statistics', 'me', 0, {now} + 24 * {HOUR})"),
            session(b"a", early, then),
            session(b"b", then, then),
            format!("INSERT INTO guess VALUES ('ww', 'agent01', 'password', 5, 5, {then})"),
            format!(
                "INSERT INTO notice (id, corp_id, employee_key, subject, ip_address, at, tries, due_at)
                 VALUES ('n', 'ww', 'agent01', 'password_used', '', {then}, 0, {then})"
            ),
            format!(
                "INSERT INTO service_key (id, digest, name, scopes, created_at, expires_at)
                 VALUES ('k', 'd', 'k', 'introspect', {then}, {then} + {HOUR})"
            ),
            format!("UPDATE chore SET until = {then}"),
            format!("UPDATE chore SET state = '{{\"last_at\":{then}}}' WHERE name = 'synchronise'"),
            format!("UPDATE employee SET left_at = {then}, left_why = 'left'"),
        ] {
            fixture.sql(&text).await;
        }
        let entry = LogEntry { event: AuditEvent::ClockSet, ..fixture.entry(HOUR) };
        let repaired = fixture.store().repair_clock(at(HOUR), at(9 * HOUR), entry).await.unwrap();
        assert_eq!(repaired, ClockRepair { sessions: 1, others: 15, log_rows: 1 });
        assert_eq!(fixture.store().latest_recorded_time().await.unwrap(), Some(at(HOUR)));
        for (text, expected) in [
            ("SELECT created_at FROM session", early),
            ("SELECT seen_at FROM session", now),
            ("SELECT COUNT(*) FROM denied_token", 1),
            ("SELECT last_at FROM guess", now),
            ("SELECT due_at FROM notice", now),
            ("SELECT setup_code_until FROM agent", now),
            ("SELECT otp_setup_code_until FROM agent", now),
            ("SELECT seen_at FROM employee_network", now),
            ("SELECT until FROM used_once WHERE digest = 'used'", now + HOUR),
            ("SELECT until FROM used_once WHERE digest = 'statistics'", now + 24 * HOUR),
            ("SELECT otp_step FROM agent", now / 30_000 + 1),
            ("SELECT expires_at FROM service_key", now + HOUR),
            ("SELECT until FROM chore", now),
            ("SELECT COUNT(*) FROM chore WHERE state IS NOT NULL", 0),
            ("SELECT left_at FROM employee", now),
            ("SELECT COUNT(*) FROM login_log", 3),
        ] {
            assert_eq!(fixture.sql(text).await[0][0].as_deref(), Some(&*expected.to_string()), "{text}");
        }
        assert_eq!(fixture.faults().await, [], "the log is as it was written");
    }
}

on_every_store! {
    async fn a_lease_of_years_is_none(fixture: &Fixture) {
        let then = START + YEARS;
        assert!(fixture.store().claim_chore(Chore::Sweep, at(2 * HOUR), at(2 * HOUR + 50_000)).await.unwrap());
        fixture.sql(&format!("UPDATE chore SET until = {then}")).await;
        let claimed = fixture.store().claim_chore(Chore::Sweep, at(3 * HOUR), at(3 * HOUR + 50_000)).await.unwrap();
        assert!(claimed);
    }
}

on_every_store! {
    async fn a_database_on_this_machine_is_no_other_clock(fixture: &Fixture) {
        let common = fixture.store().database_time().await.unwrap();
        match fixture.location {
            Location::Embedded(_) => assert_eq!(common, None),
            Location::Postgres(_) => assert!(common.is_some_and(|common| !common.on_other_machine), "it is reached by loopback"),
        }
    }
}

/// The columns that a repair leaves unchanged: they record a time and decide nothing, or a longer life does no harm.
const LEFT: [&str; 30] = [
    "agent.created_at",
    "agent.disabled_at",
    "agent.otp_bound_at",
    "agent.otp_verified_at",
    "agent.password_set_at",
    "bind_proof.used_at",
    "denied_token.until",
    "disowned.at",
    "employee.created_at",
    "employee.disabled_at",
    "employee.unconfirmed_at",
    "journal.at",
    "link.approved_at",
    "link.bound_at",
    "login_log.at",
    "migration.applied_at",
    "oidc_browser.expires_at",
    "oidc_client.created_at",
    "oidc_client.disabled_at",
    "oidc_client.removed_at",
    "oidc_grant.created_at",
    "oidc_grant.ended_at",
    "oidc_grant.expires_at",
    "oidc_key.withdrawn_at",
    "oidc_token.created_at",
    "service_key.revoked_at",
    "session.created_at",
    "session.expires_at",
    "sign_in_count.hour",
    "user_role.told_at",
];

/// A column that is added later is repaired, or listed as left unchanged on purpose.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_time_column_is_handled() {
    let fixture = Fixture::embedded().await;
    let text = r"SELECT t.name, c.name FROM sqlite_master t JOIN pragma_table_info(t.name) c WHERE t.type = 'table'
        AND (c.name IN ('at', 'until', 'hour') OR c.name LIKE '%\_at' ESCAPE '\' OR c.name LIKE '%\_until' ESCAPE '\')
        ORDER BY 1, 2";
    let mut left = Vec::new();
    for row in fixture.sql(text).await {
        let [Some(table), Some(column)] = &row[..] else { panic!("{row:?}") };
        let mut statements =
            include_str!("../../src/clock.rs").lines().filter(|line| line.contains(&format!("UPDATE {table} SET")));
        if !statements.any(|line| line.contains(&format!(" {column} = "))) {
            left.push(format!("{table}.{column}"));
        }
    }
    assert_eq!(left, LEFT);
}
