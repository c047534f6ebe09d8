//! The doctor on real PostgreSQL and Redis servers.

use super::fixture::DoctorFixture;
use crate::harness::{ClusterStore, Servers};

/// A fixture on this cluster store.
fn patient_at(place: &ClusterStore) -> DoctorFixture {
    let mut patient = DoctorFixture::new();
    for (key, value) in place.settings() {
        patient.set(key, value);
    }
    patient
}

#[test]
fn a_healthy_pair_passes_every_check() {
    let servers = Servers::with_passwords();
    let patient = patient_at(&servers.cluster_store());
    let [english, chinese] = patient.both();
    english.line("✓ tables: none yet; the first start creates them");
    chinese.line("✓ 数据表：尚未创建");
    assert!(patient.command(&["migrate"]).output().unwrap().status.success());
    let [english, chinese] = patient.both();
    for output in [&english, &chinese] {
        output.wrong(&[]);
        assert!(!output.text.contains("canary"), "{}", output.text);
    }
    for line in [
        "✓ PostgreSQL: postgres://postgres:***@127.0.0.1:",
        "✓ tables: up to date (version ",
        "✓ PostgreSQL clock: ",
        "✓ Redis: redis://:***@127.0.0.1:",
        "✓ Redis memory: no early eviction",
        "✓ Redis clock: ",
        "✓ trusted domain",
    ] {
        english.line(line);
    }
    assert!(!patient.data().exists(), "the embedded database is not touched");
}

#[test]
fn a_stopped_server_is_reported_and_the_other_checked() {
    let servers = Servers::private();
    let patient = patient_at(&servers.cluster_store());
    servers.stop_postgres();
    let [english, chinese] = patient.both();
    english.wrong(&["PostgreSQL: postgres://postgres@127.0.0.1:"]);
    english.below("✗ PostgreSQL", &["make sure that it runs", "store.url"]);
    chinese.below("✗ PostgreSQL：无法使用", &["store.url"]);
    english.line("- tables: skipped");
    english.line("✓ Redis: ");
    servers.start_postgres();
    servers.kill_redis();
    let [english, chinese] = patient.both();
    english.wrong(&["Redis: redis://127.0.0.1:"]);
    english.below("✗ Redis", &["make sure that it runs", "shared.url"]);
    chinese.below("✗ Redis：无法使用", &["shared.url"]);
    english.line("✓ PostgreSQL: ");
    english.line("- Redis memory: skipped");
}

#[test]
fn wrong_passwords_are_reported_without_them() {
    let servers = Servers::with_passwords();
    let mut patient = patient_at(&servers.cluster_store());
    for key in ["store.url", "shared.url"] {
        let right = patient.settings.iter().find(|(given, _)| *given == key).unwrap().1.clone();
        patient.set(key, &right.replace("canary-", "canary-wrong-"));
    }
    let [english, chinese] = patient.both();
    english.wrong(&["PostgreSQL: postgres://postgres:***@", "Redis: redis://:***@"]);
    english.below("✗ PostgreSQL", &["password"]);
    english.below("✗ Redis", &["password"]);
    for output in [&english, &chinese] {
        assert!(!output.text.contains("canary"), "{}", output.text);
    }
    assert!(english.text.contains("password authentication failed"), "{}", english.text);
}

#[test]
fn a_redis_that_evicts_data_is_reported() {
    let servers = Servers::private();
    let patient = patient_at(&servers.cluster_store());
    servers.redis_command(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]);
    let [english, chinese] = patient.both();
    english.wrong(&["Redis memory: with maxmemory-policy allkeys-lru,"]);
    english.below("✗ Redis memory", &["maxmemory-policy noeviction"]);
    chinese.below("✗ Redis 内存", &["noeviction"]);
}

#[test]
fn a_read_only_database_is_reported() {
    let servers = Servers::private();
    let patient = patient_at(&servers.cluster_store());
    servers.postgres_command("ALTER SYSTEM SET default_transaction_read_only = on");
    servers.postgres_command("SELECT pg_reload_conf()");
    let [english, chinese] = patient.both();
    english.wrong(&["PostgreSQL: postgres://postgres@127.0.0.1:"]);
    english.below("✗ PostgreSQL", &["standby", "target_session_attrs=read-write"]);
    chinese.below("✗ PostgreSQL：", &["只读", "store.url"]);
}
