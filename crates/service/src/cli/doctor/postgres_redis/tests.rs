use super::*;
use crate::config::{self, Override, PostgresUrl, Sources};

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

/// The address of a database with a password in it.
fn address() -> PostgresUrl {
    let nothing = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
    let value = "postgres://desk:hunter2@db.example.com/desk".to_owned();
    let overrides = vec![Override { key: "store.url", value, flag: "a test" }];
    let sources = Sources { file: None, environment: Vec::new(), overrides, read: &nothing };
    config::destination(&sources).map_or_else(|error| panic!("{error}"), |to| to.url)
}

fn healthy() -> PostgresStatus {
    let tables = SchemaFit::Same;
    PostgresStatus { version: 150_004, read_only: false, encrypted: true, tables, known: 2, now: NOW }
}

/// The report on PostgreSQL, which never contains the password.
fn message(status: PostgresStatus) -> String {
    let message = format!("{:?}", postgres(&address(), Some(Ok(status))));
    assert!(!message.contains("hunter2"), "{message}");
    message
}

#[track_caller]
fn says(message: &str, beginning: &str, words: &[&str]) {
    assert!(message.starts_with(beginning) && words.iter().all(|word| message.contains(word)), "{words:?}: {message}");
}

#[test]
fn a_good_database_is_reported_with_its_version_and_whether_it_is_encrypted() {
    let at = "postgres://desk:***@db.example.com/desk";
    says(&message(healthy()), "Good", &[&format!("{at} responds (version 15.4, encrypted)"), "版本 15.4，已加密"]);
    let plain = message(PostgresStatus { encrypted: false, version: 130_000, ..healthy() });
    says(&plain, "Good", &["version 13.0, not encrypted", "sslmode=require", "未加密"]);
}

#[test]
fn an_unsuitable_database_is_reported() {
    let old = message(PostgresStatus { version: 120_017, ..healthy() });
    says(&old, "Bad", &["PostgreSQL 12.17 is too old", "use 13 or later", "版本过低"]);
    let standby = message(PostgresStatus { read_only: true, ..healthy() });
    says(&standby, "Bad", &["is read-only", "target_session_attrs=read-write", "不可写入"]);
    let silent = format!("{:?}", postgres(&address(), None));
    says(&silent, "Bad", &["did not respond within 10 s", "store.url sets its address", "没有响应"]);
}

#[test]
fn tables_are_compared_with_what_this_program_knows() {
    let of = |tables| format!("{:?}", tables_of(tables));
    says(&of(SchemaFit::Older(0)), "Good", &["none yet", "尚未创建"]);
    says(&of(SchemaFit::Older(1)), "Good", &["version 1, the latest is 2", "deskpass migrate"]);
    says(&of(SchemaFit::Same), "Good", &["up to date (version 2)", "已是最新"]);
    says(&of(SchemaFit::Compatible(3)), "Good", &["version 3 of a newer deskpass", "(version 2) can use", "可以使用"]);
    let newer = SchemaFit::Newer { found: 3, known: 2 };
    says(&of(newer), "Bad", &["the tables have version 3", "newer deskpass", "最高支持 2"]);
}

fn tables_of(tables_found: SchemaFit) -> Finding {
    tables(&PostgresStatus { tables: tables_found, ..healthy() })
}

#[test]
fn redis_has_a_version_and_needs_no_disk() {
    let of = |version: &str| {
        let status = RedisStatus { version: version.to_owned(), eviction: None, encrypted: false, now: NOW };
        format!("{:?}", redis(&address(), Some(Ok(status))))
    };
    says(&of("6.2.0"), "Good", &["version 6.2.0", "rediss in the address", "persistence is not needed", "无需持久化"]);
    says(&of("10.0"), "Good", &["version 10.0"]);
    for old in ["6.0.16", "5.0", "", "unknown"] {
        says(&of(old), "Bad", &["is too old", "use 6.2 or later"]);
    }
}

#[test]
fn only_a_redis_that_drops_nothing_is_good() {
    let of = |policy| format!("{:?}", eviction(policy));
    says(&of(Some("noeviction")), "Good", &["noeviction"]);
    says(&of(Some("allkeys-lru")), "Bad", &["with maxmemory-policy allkeys-lru,", "set maxmemory-policy noeviction"]);
    says(&of(None), "Skipped", &["should be noeviction", "应为 noeviction"]);
}

#[test]
fn five_seconds_are_the_farthest_apart() {
    let of = |millis: i64| format!("{:?}", clock(NOW, Timestamp::from_millis(NOW.millis() + millis)));
    for near in [-5_000, -1, 0, 5_000] {
        says(&of(near), "Good", &["differs from this machine's", "与本机相差"]);
    }
    says(&of(5_001), "Bad", &["this machine is 5.001s ahead of it", "快 5.001s", "NTP"]);
    says(&of(-60_000), "Bad", &["this machine is 60s behind it", "慢 60s"]);
}
