//! Sign-ins at the same time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use deskpass_core::{Digest, EmployeeKey, LoginMethod, LoginSource, PlatformVouching, Role, Roles, Session};
use deskpass_store::{
    BeginOutcome, LogEntry, NewSession, Notice, NoticeSubject, PostgresSettings, Precondition, SignInNetwork,
};
use futures_util::future::{Either, join_all, select};
use tokio_postgres::NoTls;

use crate::log::fixture::{Fixture, at, on_every_store};
use crate::stores;

const NETWORK: &str = "192.0.2.0/24";

fn token(name: &str) -> Digest {
    Digest::of(&[name.as_bytes()])
}

/// A sign-in of an employee, who gets a notice about a new network, and whose earlier sessions end.
fn sign_in(fixture: &Fixture, who: &str, network: &str) -> NewSession {
    let employee = EmployeeKey::from_parts("ww", who);
    let session = Session {
        employee: employee.clone(),
        current_role: Role::User,
        method: LoginMethod::Qrcode,
        source: LoginSource::H5,
        vouched: PlatformVouching::Directly,
        default_role: None,
        created_at: at(1_000),
        expires_at: at(3_600_000),
    };
    let notice = Notice {
        id: format!("notice of {who}"),
        employee: employee.clone(),
        subject: NoticeSubject::NewNetwork,
        address: "192.0.2.1".to_owned(),
        user_agent: String::new(),
        at: at(1_000),
        about: None,
        tries: 0,
    };
    NewSession {
        digest: token(who),
        session,
        default_role_from_record: false,
        held_roles: Roles::NONE,
        asked_at: None,
        precondition: Precondition::None,
        at_most: Some(1),
        deny_until: at(3_600_000),
        network: SignInNetwork { name: network.to_owned(), notice: Some(notice), notify_on_first_sign_in: false },
        entry: LogEntry { about: employee, ..fixture.entry(1_000) },
    }
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("person{number:02}")).collect()
}

async fn employ(fixture: &Fixture, count: usize) -> Vec<String> {
    let people = names(count);
    for who in &people {
        fixture.employ("ww", who, "desk").await;
    }
    people
}

/// Counts the failed operations of a node from now on.
fn count_failures(fixture: &Fixture) -> Arc<AtomicUsize> {
    let failures = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&failures);
    fixture.store().observe_operations(move |report| {
        counter.fetch_add(usize::from(report.failure.is_some()), Ordering::Relaxed);
    });
    failures
}

/// Employs people of five kinds: one who was never here, one who is disabled, one with a session, one whose token was ended, and one who
/// signed in from another network.
async fn employ_all_kinds(fixture: &Fixture) -> Vec<String> {
    let people = employ(fixture, 45).await;
    for (number, who) in people.iter().enumerate() {
        let (old, new) = (token(&format!("old {who}")).to_text(), token(who).to_text());
        let prepared = match number % 5 {
            1 => format!("UPDATE employee SET disabled_at = 1 WHERE employee_key = '{who}'"),
            2 => format!(
                "INSERT INTO session (digest, corp_id, employee_key, role_id, login_method, login_source, created_at, expires_at)
                 VALUES ('{old}', 'ww', '{who}', 3, 'bind', 'h5', 1, 2)"
            ),
            3 => format!("INSERT INTO denied_token (digest, reason, until) VALUES ('{new}', 'kicked', 1)"),
            4 => format!("INSERT INTO employee_network (corp_id, employee_key, network, seen_at) VALUES ('ww', '{who}', '10.0.0.0/8', 1)"),
            _ => continue,
        };
        fixture.sql(&prepared).await;
    }
    people
}

/// What sign-ins leave behind, except for the chains of the log.
async fn effects(fixture: &Fixture) -> Vec<Vec<Vec<Option<String>>>> {
    let mut tables = Vec::new();
    for text in [
        "SELECT digest, employee_key, created_at, ip_address, user_agent, proven FROM session",
        "SELECT digest, reason FROM denied_token",
        "SELECT employee_key, network, seen_at FROM employee_network",
        "SELECT employee_key, last_login_at, last_login_ip, watched FROM employee",
        "SELECT id, event, employee_key, login_method, reference FROM login_log",
        "SELECT id, employee_key, due_at FROM notice",
    ] {
        let mut rows = fixture.sql(text).await;
        rows.sort();
        tables.push(rows);
    }
    tables
}

#[tokio::test]
async fn sign_ins_at_once_have_the_effects_that_they_have_one_by_one() {
    let (shared, single) = (Fixture::scaled_out().await, Fixture::embedded().await);
    let people = employ_all_kinds(&shared).await;
    employ_all_kinds(&single).await;
    // The second time, those who signed in have a session with the same token.
    for round in 0..2 {
        let begin = |who: &String| shared.store().begin_session(sign_in(&shared, who, NETWORK));
        let outcomes: Vec<_> = join_all(people.iter().map(begin)).await.into_iter().map(Result::unwrap).collect();
        for (who, outcome) in people.iter().zip(outcomes) {
            let alone = single.store().begin_session(sign_in(&single, who, NETWORK)).await.unwrap();
            assert_eq!(outcome, alone, "{who}, round {round}");
        }
        assert_eq!(effects(&shared).await, effects(&single).await, "round {round}");
    }
    for fixture in [&shared, &single] {
        let verdict = fixture.verify().await;
        assert_eq!((verdict.rows, verdict.fitting, verdict.faults.len()), (27, 27, 0), "{verdict:?}");
    }
}

on_every_store! {
    /// Roles in memory may be older than those that another node has assigned.
    async fn no_session_begins_with_a_default_role_if_other_roles_are_held_than_it_was_added_to(fixture: &Fixture) {
        let people = employ(fixture, 6).await;
        let until = |number: usize, at: i64| format!(
            "INSERT INTO user_role (corp_id, employee_key, role_id, by_hand, until) VALUES ('ww', '{}', 2, 0, {at})", people[number]
        );
        fixture.sql(&until(3, at(1_000).millis())).await;
        fixture.sql(&until(4, at(1_001).millis())).await;
        let (user, agent) = (Roles::NONE.with(Role::User), Some(Role::Agent));
        // All hold `user`. The fourth and the fifth also hold `agent`: until the sign-in, and until just after it.
        let sign_ins = [
            (agent, user, true),
            (agent, Roles::NONE, false),
            (None, Roles::NONE, true),
            (agent, user, true),
            (agent, user, false),
            (agent, user.with(Role::Agent), false),
        ];
        let begin = |(who, (default_role, held_roles, _)): (&String, (Option<Role>, Roles, bool))| {
            let new = sign_in(fixture, who, NETWORK);
            let session = Session { default_role, ..new.session.clone() };
            fixture.store().begin_session(NewSession { session, held_roles, ..new })
        };
        let outcomes = join_all(people.iter().zip(sign_ins).map(begin)).await;
        for (who, (outcome, (.., begins))) in people.iter().zip(outcomes.into_iter().zip(sign_ins)) {
            let expected = if begins { BeginOutcome::Begun } else { BeginOutcome::DefaultRoleRevoked };
            assert_eq!(outcome.unwrap(), expected, "{who}");
        }
        // Alone, it is the same.
        for (who, sign_in) in people.iter().zip(sign_ins).filter(|(_, (.., begins))| !begins) {
            assert_eq!(begin((who, sign_in)).await.unwrap(), BeginOutcome::DefaultRoleRevoked, "{who}");
        }
        // What began before the roles changed has begun.
        fixture.sql("INSERT INTO user_role (corp_id, employee_key, role_id, by_hand) VALUES ('ww', 'person00', 2, 1)").await;
        assert_eq!(begin((&people[0], sign_ins[0])).await.unwrap(), BeginOutcome::AlreadyBegun);
        let left = "SELECT (SELECT count(*) FROM session), (SELECT count(*) FROM login_log), (SELECT count(*) FROM denied_token)";
        assert_eq!(fixture.sql(left).await, [["3", "3", "0"].map(|count| Some(count.to_owned()))]);
    }
}

#[tokio::test]
async fn a_sign_in_that_fails_fails_alone() {
    let fixture = Fixture::scaled_out().await;
    let (people, failures) = (employ(&fixture, 8).await, count_failures(&fixture));
    // PostgreSQL accepts no text with this character.
    let network = |number: usize| if number == 1 { "\0" } else { NETWORK };
    let begin = |number: usize| fixture.store().begin_session(sign_in(&fixture, &people[number], network(number)));
    let outcomes = join_all((0..people.len()).map(begin)).await;
    for (number, outcome) in outcomes.into_iter().enumerate() {
        assert_eq!(outcome.ok(), (number != 1).then_some(BeginOutcome::Begun), "{number}");
    }
    let verdict = fixture.verify().await;
    assert_eq!((verdict.rows, verdict.faults.len()), (7, 0), "{verdict:?}");
    assert_eq!(failures.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn sign_ins_of_two_nodes_at_once_extend_the_same_chains() {
    let fixture = Fixture::scaled_out().await;
    let people = employ(&fixture, 24).await;
    // The nodes share no employee, and all chains.
    let begin = |(number, who): (usize, &String)| {
        let (node, new) = (fixture.node(number), sign_in(&fixture, who, NETWORK));
        async move { node.begin_session(new).await }
    };
    let outcomes = join_all(people.iter().enumerate().map(begin)).await;
    assert!(outcomes.into_iter().all(|outcome| outcome.unwrap() == BeginOutcome::Begun));
    let verdict = fixture.verify().await;
    assert_eq!((verdict.rows, verdict.fitting, verdict.faults.len()), (24, 24, 0), "{verdict:?}");
}

#[tokio::test]
async fn of_sign_ins_of_one_employee_at_once_the_last_one_has_the_only_session() {
    let fixture = Fixture::scaled_out().await;
    let who = employ(&fixture, 1).await.remove(0);
    let begin = |number: usize| {
        let digest = token(&format!("token {number}"));
        fixture.store().begin_session(NewSession { digest, ..sign_in(&fixture, &who, NETWORK) })
    };
    let outcomes = join_all((0..4).map(begin)).await;
    assert!(outcomes.into_iter().all(|outcome| outcome.unwrap() == BeginOutcome::Begun));
    let ended = fixture.sql("SELECT (SELECT count(*) FROM session), (SELECT count(*) FROM denied_token)").await;
    assert_eq!(ended, [[Some("1".to_owned()), Some("3".to_owned())]]);
}

#[tokio::test]
async fn of_two_employees_with_one_token_at_once_one_signs_in() {
    let fixture = Fixture::scaled_out().await;
    let people = employ(&fixture, 3).await;
    let begin = |who: &String| {
        let digest = token(if who == "person02" { "another" } else { "the same" });
        fixture.store().begin_session(NewSession { digest, ..sign_in(&fixture, who, NETWORK) })
    };
    let outcomes: Vec<_> = join_all(people.iter().map(begin)).await.into_iter().map(Result::unwrap).collect();
    let mut same = outcomes[..2].to_vec();
    same.sort_by_key(|outcome| *outcome != BeginOutcome::Begun);
    assert_eq!(same, [BeginOutcome::Begun, BeginOutcome::PreconditionFailed]);
    assert_eq!(outcomes[2], BeginOutcome::Begun);
    let verdict = fixture.verify().await;
    assert_eq!((verdict.rows, verdict.faults.len()), (2, 0), "{verdict:?}");
}

#[tokio::test]
async fn a_sign_in_that_waits_for_its_employee_holds_up_no_other() {
    let settings = stores::settings(stores::schema().await);
    let (url, timeout) = (settings.url.clone(), Duration::from_secs(8));
    let fixture = Fixture::scaled_out_with(PostgresSettings { timeout, ..settings }).await;
    let (people, failures) = (employ(&fixture, 6).await, count_failures(&fixture));
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute("BEGIN; UPDATE employee SET name = name WHERE employee_key = 'person00'").await.unwrap();
    let begin = |who: &String| fixture.store().begin_session(sign_in(&fixture, who, NETWORK));
    let (first, others) = (Box::pin(begin(&people[0])), join_all(people[1..].iter().map(begin)));
    let Either::Right((outcomes, first)) = select(first, Box::pin(others)).await else {
        panic!("a sign-in did not wait for its employee");
    };
    assert!(outcomes.into_iter().all(|outcome| outcome.unwrap() == BeginOutcome::Begun));
    client.batch_execute("COMMIT").await.unwrap();
    assert_eq!(first.await.unwrap(), BeginOutcome::Begun);
    assert_eq!(failures.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn no_session_begins_with_a_default_role_if_it_waits_for_another_role_to_be_assigned() {
    let settings = stores::settings(stores::schema().await);
    let (url, timeout) = (settings.url.clone(), Duration::from_secs(8));
    let fixture = Fixture::scaled_out_with(PostgresSettings { timeout, ..settings }).await;
    let people = employ(&fixture, 2).await;
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    tokio::spawn(connection);
    let assign = "BEGIN; UPDATE employee SET name = name WHERE employee_key = 'person00';
        INSERT INTO user_role (corp_id, employee_key, role_id, by_hand) VALUES ('ww', 'person00', 2, 1)";
    client.batch_execute(assign).await.unwrap();
    let begin = |who: &String| {
        let new = sign_in(&fixture, who, NETWORK);
        let session = Session { default_role: Some(Role::Supervisor), ..new.session.clone() };
        fixture.store().begin_session(NewSession { session, held_roles: Roles::NONE.with(Role::User), ..new })
    };
    let (first, other) = (Box::pin(begin(&people[0])), Box::pin(begin(&people[1])));
    let Either::Right((outcome, first)) = select(first, other).await else {
        panic!("a sign-in did not wait for its employee");
    };
    assert_eq!(outcome.unwrap(), BeginOutcome::Begun);
    client.batch_execute("COMMIT").await.unwrap();
    assert_eq!(first.await.unwrap(), BeginOutcome::DefaultRoleRevoked);
}
