//! Ending all sessions: what else ends, and sessions that a clock which is behind dates back.

use std::time::Duration;

use deskpass_core::{EmployeeKey, LoginMethod, Role, TotpStep};
use deskpass_store::{
    AttemptKind, ChangeAuthor, EndReason, EndedBatch, Location, LogEntry, NewPassword, NoticeSubject,
    PartialSessionLookup, PartialSessionRecord, PasswordPrecondition, SessionLookup, Store,
};
use tokio::time::{sleep, timeout};
use tokio_postgres::{Client, NoTls};

use crate::agents::fixture::{
    DAY, Fixture, HOUR, agent01, at, binding, digest, entry, half, notice, on_every_store, password, pending, used,
};

/// Runs a step at this time, for sessions that began before two seconds.
async fn step(store: &Store, after: Option<String>) -> EndedBatch {
    let entry = LogEntry { at: at(5_000), ..entry() };
    store.end_all_sessions(Some(at(2_000)), after, at(DAY), entry).await.unwrap()
}

on_every_store! {
    async fn used_codes_end_too(fixture: &Fixture) {
        fixture.bind("sealed", &[]).await;
        let store = fixture.store();
        let entry = LogEntry { at: at(HOUR), ..entry() };
        let ended = store.end_all_sessions(None, None, at(DAY), entry).await.unwrap();
        assert_eq!(ended, EndedBatch { ended: 0, next: None });
        let current = TotpStep::at(at(HOUR)).number();
        for (number, is_accepted) in [(current, false), (current + 1, false), (current + 2, true)] {
            let outcome = store.use_totp_step(ChangeAuthor::NoSession, used("sealed", number)).await.unwrap();
            assert_eq!(outcome, is_accepted, "{number}");
        }
    }
}

on_every_store! {
    async fn a_setup_under_way_ends_too(fixture: &Fixture) {
        let store = fixture.store();
        assert!(store.begin_device(ChangeAuthor::NoSession, agent01(), pending("sealed", DAY), at(0)).await.unwrap());
        step(store, None).await;
        assert!(!store.bind_device(ChangeAuthor::NoSession, binding("sealed", &[])).await.unwrap());
    }
}

on_every_store! {
    async fn a_session_that_is_dated_back_meanwhile_ends_too(fixture: &Fixture) {
        let store = fixture.store();
        fixture.session("first", LoginMethod::Oauth2, None).await;
        let passed = step(store, None).await;
        assert_eq!(passed, EndedBatch { ended: 1, next: Some(String::new()) });
        fixture.session("second", LoginMethod::Oauth2, None).await;
        let passed = step(store, passed.next).await;
        assert_eq!(passed.ended, 1);
        assert_eq!(step(store, passed.next).await, EndedBatch { ended: 0, next: None });
        assert!(!fixture.lives("first").await && !fixture.lives("second").await);
    }
}

/// A connection to the database of this fixture.
pub(super) async fn connect(fixture: &Fixture) -> Client {
    let Location::Postgres(server) = fixture.location() else { panic!("only PostgreSQL has several writers") };
    let (client, connection) = tokio_postgres::connect(&server.url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Waits until another connection waits for a lock of this one.
pub(super) async fn until_blocking(client: &Client) {
    let waiting = "SELECT 1 FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))";
    let blocked = async {
        while client.query(waiting, &[]).await.unwrap().is_empty() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(15), blocked).await.expect("another connection waits for this one");
}

/// Runs the first step, and `begin` while the step waits: another transaction has denied the same token, and is rolled back.
async fn begin_during_step(fixture: &Fixture, denied: &str, begin: impl Future<Output = ()>) {
    let client = connect(fixture).await;
    let deny = "BEGIN; INSERT INTO denied_token (digest, reason, until) VALUES";
    client.batch_execute(&format!("{deny} ('{}', 'kicked', 1)", digest(denied).to_text())).await.unwrap();
    let node = fixture.node(1);
    let ending = tokio::spawn(async move { step(&node, None).await });
    until_blocking(&client).await;
    begin.await;
    client.batch_execute("ROLLBACK").await.unwrap();
    ending.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_session_that_begins_meanwhile_ends_without_a_reason() {
    let fixture = Fixture::scaled_out().await;
    // The second one begins among the digests that the step ends.
    let texts = ["one", "two"].map(|name| format!("('{}', '{name}')", digest(name).to_text()));
    let sorted = format!("SELECT name FROM (VALUES {}) AS texts (digest, name) ORDER BY digest", texts.join(", "));
    let sorted = connect(&fixture).await.query(&sorted, &[]).await.unwrap();
    let [second, first] = [0, 1].map(|row: usize| sorted[row].get::<_, String>(0));
    fixture.session(&first, LoginMethod::Oauth2, None).await;
    begin_during_step(&fixture, &first, fixture.session(&second, LoginMethod::Oauth2, None)).await;
    let found = async |name: &str| fixture.node(1).session(&digest(name)).await.unwrap();
    assert!(matches!(found(&first).await, SessionLookup::Denied(EndReason::Kicked)));
    assert!(!matches!(found(&second).await, SessionLookup::NotFound), "it lives, or was ended for a reason");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_partial_session_that_begins_meanwhile_ends_without_a_reason() {
    let fixture = Fixture::scaled_out().await;
    let (store, other) = (fixture.store(), EmployeeKey::from_parts("ww", "agent02"));
    fixture.employ("agent02").await;
    assert!(store.add_agent(ChangeAuthor::NoSession, other.clone(), Role::Agent, at(0), None).await.unwrap());
    let theirs = password("theirs", PasswordPrecondition::NoPassword, at(0));
    let theirs = NewPassword { employee: other.clone(), ..theirs };
    assert_eq!(store.set_password(ChangeAuthor::NoSession, theirs).await.unwrap(), Some(0));
    fixture.set_password("hash").await;
    assert!(fixture.half("first", "hash").await);
    let second = PartialSessionRecord { employee: other, ..half("second") };
    let told = notice("second", NoticeSubject::PasswordUsed);
    let begin = async {
        assert!(store.begin_partial_session(second, "theirs".to_owned(), AttemptKind::Password, told).await.unwrap());
    };
    begin_during_step(&fixture, "first", begin).await;
    let found = async |name: &str| store.partial_session(&digest(name)).await.unwrap();
    assert!(matches!(found("first").await, PartialSessionLookup::Denied(EndReason::Kicked)));
    assert!(!matches!(found("second").await, PartialSessionLookup::NotFound), "it lives, or was ended for a reason");
}
