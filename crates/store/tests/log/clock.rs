//! The time on record, and its repair after a wrong clock has written it.

use deskpass_store::{ClockRepaired, Event, LogEntry, Mode, read_newest_moment};

use crate::desk::{Desk, START, at, on_every_store};

const HOUR: i64 = 3_600_000;
const YEARS: i64 = 3 * 365 * 24 * HOUR;

on_every_store! {
    async fn a_row_far_after_the_record_does_not_count(desk: &Desk) {
        let newest = || async {
            let newest = desk.store().newest_moment().await.unwrap();
            assert_eq!(read_newest_moment(&desk.location, Mode::Development).await.unwrap(), newest);
            newest
        };
        assert_eq!(newest().await, None, "nothing was ever recorded");
        desk.write([5]).await;
        assert_eq!(newest().await, Some(at(5)), "a command wrote it before the service ran");
        desk.store().note_time(at(1_000)).await.unwrap();
        assert_eq!(newest().await, Some(at(1_000)));
        desk.write([2_000]).await;
        assert_eq!(newest().await, Some(at(2_000)));
        desk.write([YEARS]).await;
        assert_eq!(newest().await, Some(at(2_000)), "a wrong clock wrote it");
    }
}

on_every_store! {
    async fn a_repair_brings_back_what_is_from_the_future(desk: &Desk) {
        let (then, now, early) = (START + YEARS, at(HOUR).millis(), at(0).millis());
        desk.write([0, YEARS]).await;
        desk.store().note_time(at(YEARS)).await.unwrap();
        desk.employ("ww", "agent01", "").await;
        let session = |name: &str, created: i64| {
            format!(
                "INSERT INTO session (digest, corp_id, employee_key, role_id, login_method, login_source, created_at, expires_at,
                 seen_at) VALUES ('{name}', 'ww', 'agent01', 3, 'dev', 'H5', {created}, {created} + {HOUR}, {then})"
            )
        };
        for text in [
            format!(
                "INSERT INTO agent (corp_id, employee_key, role_id, created_at, otp_step, setup_code, setup_code_until)
                 VALUES ('ww', 'agent01', 2, 1, {then} / 30000, 'code', {then})"
            ),
            session(&"a".repeat(64), early),
            session(&"b".repeat(64), then),
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
        ] {
            desk.sql(&text).await;
        }
        let entry = LogEntry { event: Event::ClockSet, ..desk.entry(HOUR) };
        let repaired = desk.store().repair_clock(at(HOUR), at(9 * HOUR), entry).await.unwrap();
        assert_eq!(repaired, ClockRepaired { sessions: 1, others: 8, log_rows: 1 });
        assert_eq!(desk.store().newest_moment().await.unwrap(), Some(at(HOUR)));
        for (text, expected) in [
            ("SELECT created_at FROM session", early),
            ("SELECT seen_at FROM session", now),
            ("SELECT COUNT(*) FROM denied_token", 1),
            ("SELECT last_at FROM guess", now),
            ("SELECT due_at FROM notice", now),
            ("SELECT setup_code_until FROM agent", now),
            ("SELECT otp_step FROM agent", now / 30_000 + 1),
            ("SELECT expires_at FROM service_key", now + HOUR),
            ("SELECT until FROM chore", now),
            ("SELECT COUNT(*) FROM login_log", 3),
        ] {
            assert_eq!(desk.sql(text).await[0][0].as_deref(), Some(&*expected.to_string()), "{text}");
        }
        assert_eq!(desk.faults().await, [], "the log is as it was written");
        assert!(desk.store().takes_broom(at(2 * HOUR), at(2 * HOUR + 50_000)).await.unwrap());
        desk.sql(&format!("UPDATE chore SET until = {then}")).await;
        assert!(desk.store().takes_broom(at(3 * HOUR), at(3 * HOUR + 50_000)).await.unwrap(), "a turn of years is none");
    }
}
