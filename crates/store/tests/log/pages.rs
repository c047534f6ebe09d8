//! The log is read newest first, along an index, and every matching row is found.

use deskpass_core::{EmployeeKey, LoginMethod, Reference, Role};
use deskpass_store::{AuditEvent, LogEntry, LogFilter, LogRow};

use crate::log::fixture::{Fixture, at, key, on_every_store};

fn of(corp: &str) -> LogFilter {
    LogFilter { corp: corp.to_owned(), ..LogFilter::default() }
}

/// All matching rows, in pages of `limit`.
async fn all(fixture: &Fixture, filter: LogFilter, limit: i64) -> Vec<LogRow> {
    let (mut rows, mut before) = (Vec::new(), None);
    loop {
        let page = fixture.store().log_page(filter.clone(), before, limit).await.unwrap();
        assert!(page.rows.len() <= usize::try_from(limit).unwrap());
        rows.extend(page.rows);
        before = page.next;
        if before.is_none() {
            return rows;
        }
    }
}

async fn moments(fixture: &Fixture, filter: LogFilter) -> Vec<i64> {
    let rows = all(fixture, filter, 3).await;
    rows.iter().map(|row| row.at.millis() - at(0).millis()).collect()
}

on_every_store! {
    async fn a_row_is_read_as_it_was_written(fixture: &Fixture) {
        let entry = LogEntry {
            event: AuditEvent::SignInRefused,
            role: None,
            method: None,
            source: None,
            actor: Some(EmployeeKey::from_parts("wo", "admin01")),
            reason: Some("disabled"),
            detail: "张三, \"quoted\"".to_owned(),
            ..fixture.entry(5)
        };
        let mut entry = entry;
        entry.visitor.address.decided = [198, 51, 100, 7].into();
        entry.visitor.reference = Some(Reference::new(0x1a2b_3c4d));
        fixture.store().record(entry.clone()).await.unwrap();
        fixture.write([4]).await;
        let rows = all(fixture, of("ww"), 50).await;
        assert_eq!((rows[0].address(), rows[1].address()), ("198.51.100.7", "192.0.2.1"));
        let checked = all(fixture, LogFilter { key: Some(key()), ..of("ww") }, 50).await;
        assert!(checked.iter().all(|row| row.verified == Some(true)), "{checked:?}");
        let row = LogRow {
            id: entry.id,
            at: at(5),
            event: "sign_in_refused".to_owned(),
            about: entry.about,
            role: None,
            method: String::new(),
            source: String::new(),
            ip_address: "192.0.2.1".to_owned(),
            peer_address: "10.0.0.1".to_owned(),
            user_agent: "browser".to_owned(),
            actor: entry.actor,
            reason: Some("disabled".to_owned()),
            detail: entry.detail,
            decided_address: Some("198.51.100.7".to_owned()),
            reference: Some("1a2b3c4d".to_owned()),
            verified: None,
        };
        assert_eq!(rows[0], row);
        let named = |reference: &str| LogFilter { reference: Some(reference.to_owned()), ..of("ww") };
        assert_eq!(all(fixture, named("1a2b3c4d"), 50).await, [row]);
        assert_eq!(all(fixture, named("00000000"), 50).await, []);
        assert_eq!((rows[1].role, &*rows[1].method, &*rows[1].source), (Some(Role::User), "qrcode", "h5"));
        assert_eq!((&rows[1].actor, &rows[1].reason, &*rows[1].detail), (&None, &None, ""));
        // Rows as nodes of the previous version write them, and as those of a later one may.
        fixture.sql("UPDATE login_log SET detail = NULL, chain = NULL, seq = NULL, hash = NULL, event = 'later', role_id = 99").await;
        let checked = all(fixture, LogFilter { key: Some(key()), ..of("ww") }, 50).await;
        assert!(checked.iter().all(|row| row.verified == Some(false)), "{checked:?}");
        let rows = all(fixture, of("ww"), 50).await;
        assert_eq!((rows.len(), &*rows[0].event, rows[0].role, &*rows[0].detail), (2, "later", None, ""));
    }
}

on_every_store! {
    async fn everything_that_fits_is_found_and_nothing_else(fixture: &Fixture) {
        fixture.employ("ww", "user01", "IT").await;
        fixture.employ("wo", "user01", "IT").await;
        fixture.employ("ww", "other", "HR").await;
        let kinds = |number: i64| {
            let id = if number % 2 == 0 { "user01" } else { "other" };
            let corp = if number % 7 == 0 { "wo" } else { "ww" };
            let mut entry = fixture.entry(number * 10);
            entry.about = EmployeeKey::from_parts(corp, id);
            entry.event = if number % 3 == 0 { AuditEvent::Logout } else { AuditEvent::SignIn };
            entry.method = Some(if number % 5 == 0 { LoginMethod::Password } else { LoginMethod::Qrcode });
            entry.reason = (number % 4 == 0).then_some("disabled");
            entry.visitor.address.logged = [192, 0, 2, u8::try_from(number % 6).unwrap()].into();
            entry
        };
        for number in 0..120 {
            fixture.store().record(kinds(number)).await.unwrap();
        }
        let expected = |fits: &dyn Fn(i64) -> bool| -> Vec<i64> {
            (0..120).rev().filter(|number| number % 7 != 0 && fits(*number)).map(|number| number * 10).collect()
        };
        let whole = |number: i64| number % 2 == 0;
        let cases: Vec<(LogFilter, Vec<i64>)> = vec![
            (of("ww"), expected(&|_| true)),
            (LogFilter { employee: Some("user01".into()), ..of("ww") }, expected(&whole)),
            (LogFilter { department_id: Some("name:IT".into()), ..of("ww") }, expected(&whole)),
            (LogFilter { department_id: Some("name:HR".into()), event: Some(AuditEvent::Logout), ..of("ww") }, expected(&|n| n % 2 == 1 && n % 3 == 0)),
            (LogFilter { event: Some(AuditEvent::Logout), ..of("ww") }, expected(&|n| n % 3 == 0)),
            (LogFilter { employee: Some("user01".into()), event: Some(AuditEvent::Logout), ..of("ww") }, expected(&|n| whole(n) && n % 3 == 0)),
            (LogFilter { ip_address: Some("192.0.2.4".into()), ..of("ww") }, expected(&|n| n % 6 == 4)),
            (LogFilter { reason: Some("disabled".into()), ..of("ww") }, expected(&|n| n % 4 == 0)),
            (LogFilter { method: Some(LoginMethod::Password), ..of("ww") }, expected(&|n| n % 5 == 0)),
            (LogFilter { from: Some(at(300)), to: Some(at(400)), ..of("ww") }, expected(&|n| (30..40).contains(&n))),
            (
                LogFilter {
                    employee: Some("user01".into()),
                    ip_address: Some("192.0.2.2".into()),
                    event: Some(AuditEvent::SignIn),
                    from: Some(at(200)),
                    ..of("ww")
                },
                expected(&|n| n % 6 == 2 && n >= 20),
            ),
            (of("nowhere"), vec![]),
            (LogFilter { from: Some(at(400)), to: Some(at(300)), ..of("ww") }, vec![]),
        ];
        for (filter, expected) in cases {
            assert_eq!(moments(fixture, filter.clone()).await, expected, "{filter:?}");
        }
    }
}

on_every_store! {
    async fn a_long_look_is_cut_short_and_goes_on(fixture: &Fixture) {
        let rows = "INSERT INTO login_log (id, at, event, corp_id, employee_key, role_id, login_method, login_source, ip_address,
            peer_address, user_agent)";
        let numbers = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 20500)";
        let id = if fixture.is_embedded() { "printf('%012x%020x', n, n)" } else { "lpad(to_hex(n), 12, '0') || lpad(to_hex(n), 20, '0')" };
        fixture.sql(&format!(
            "{rows} {numbers} SELECT {id}, n, CASE WHEN n = 10 THEN 'logout' ELSE 'sign_in' END, 'ww', 'user01', 0, '', '', '::1', '::1', '' FROM n"
        )).await;
        let filter = LogFilter { reason: Some("none".into()), ..of("ww") };
        let page = fixture.store().log_page(filter.clone(), None, 50).await.unwrap();
        assert!(page.rows.is_empty());
        let next = page.next.expect("there is more to look at");
        let page = fixture.store().log_page(filter, Some(next), 50).await.unwrap();
        assert!(page.rows.is_empty() && page.next.is_none());
        assert_eq!(all(fixture, LogFilter { method: None, event: Some(AuditEvent::Logout), ..of("ww") }, 50).await.len(), 1);
        assert_eq!(all(fixture, of("ww"), 1_000).await.len(), 20_500);
        // Exactly as many rows as fit: there is no next page.
        let page = fixture.store().log_page(of("ww"), Some(format!("{:012x}", 51)), 50).await.unwrap();
        assert_eq!((page.rows.len(), page.next), (50, None));
    }
}

on_every_store! {
    async fn every_page_is_read_along_its_index(fixture: &Fixture) {
        check_plans(fixture, "nothing is there").await;
        if !fixture.is_embedded() {
            // The plans hold with any statistics of PostgreSQL: none yet, or complete ones.
            let rows = "INSERT INTO login_log (id, at, event, corp_id, employee_key, role_id, login_method, login_source,
                ip_address, peer_address, user_agent) SELECT lpad(to_hex(n), 12, '0') || lpad(to_hex(n), 20, '0'), n, 'sign_in',
                CASE WHEN n % 1000 = 0 THEN 'rare' ELSE 'ww' END, 'user' || n % 100, 0, '', '', '::' || n % 50, '::1', ''
                FROM generate_series(1, 30000) AS n";
            fixture.sql(rows).await;
            check_plans(fixture, "nothing is known").await;
            fixture.sql("ANALYZE login_log").await;
            check_plans(fixture, "everything is known").await;
            // Not on through the entries with other values.
            for (name, pages) in fixture.store().log_page_reads().await.unwrap() {
                assert!((1..=10).contains(&pages), "{name} reads {pages} pages to find nothing");
            }
        }
    }
}

async fn check_plans(fixture: &Fixture, when: &str) {
    let indexes = [
        "login_log_by_reference",
        "login_log_of_employee_by_event",
        "login_log_of_employee ",
        "login_log_by_address",
        "login_log_by_event",
        "login_log_of_corp",
    ];
    let plans = fixture.store().log_page_plans().await.unwrap();
    assert_eq!(plans.len(), 12);
    for ((name, plan), index) in plans.iter().zip(indexes.iter().flat_map(|index| [index, index])) {
        assert!(plan.contains(index), "{when}, {name}: {plan}");
        let sorts = ["TEMP B-TREE", "Sort", "Bitmap", "Seq Scan on login_log", "SCAN"];
        assert!(!sorts.iter().any(|sort| plan.contains(sort)), "{when}, {name}: {plan}");
    }
}

on_every_store! {
    async fn a_row_that_is_not_as_it_was_written_is_marked(fixture: &Fixture) {
        fixture.write(0..60).await;
        fixture.prune(20).await;
        let (chain, seq, id) = fixture.middle().await;
        let unverified = async || {
            let rows = all(fixture, LogFilter { key: Some(key()), ..of("ww") }, 7).await;
            rows.into_iter().filter(|row| row.verified != Some(true)).map(|row| row.id).collect::<Vec<_>>()
        };
        assert_eq!(unverified().await, [""; 0], "also the first of each chain after the pruned ones");
        fixture.sql(&format!("UPDATE login_log SET employee_key = 'other' WHERE id = '{id}'")).await;
        assert_eq!(unverified().await, [&*id]);
        fixture.sql(&format!("UPDATE login_log SET employee_key = 'user01' WHERE id = '{id}'")).await;
        // Inserted by hand, in no chain and in a place of its own.
        for (suffix, place) in [("0", "NULL, NULL"), ("1", &*format!("{chain}, {}", seq + 1_000))] {
            fixture.sql(&format!(
                "INSERT INTO login_log (id, at, event, corp_id, employee_key, role_id, login_method, login_source, ip_address,
                 peer_address, user_agent, actor_corp_id, actor_key, reason, detail, decided_address, seen_seq, seen_hash, hash, chain, seq)
                 SELECT '{id}{suffix}', at, event, corp_id, employee_key, role_id, login_method, login_source, ip_address,
                 peer_address, user_agent, actor_corp_id, actor_key, reason, detail, decided_address, seen_seq, seen_hash, hash, {place}
                 FROM login_log WHERE id = '{id}'"
            ))
            .await;
        }
        assert_eq!(unverified().await, [format!("{id}1"), format!("{id}0")]);
    }
}
