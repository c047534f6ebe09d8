//! Every change is refused when the session that makes it is no longer valid.

use deskpass_core::{Digest, EmployeeKey, LeftReason, LoginMethod, Person, Role, Roles};
use deskpass_store::{
    Actor, AuditEvent, BeginOutcome, ChangeAuthor, ChangeError, DisableOutcome, DisownRequest, EndReason, LogEntry,
    LogFilter, NewEmployee, NewSession, NoticeSubject, PasswordPrecondition, Precondition, Revocation, ServiceKey,
    SessionLookup, SessionSelection, Store,
};
use tokio::task::JoinSet;

use crate::agents::fixture::{
    DAY, Fixture, agent01, at, binding, digest, entry, half, leaving, new_session, notice, on_every_store, password,
    pending, used,
};

/// The time of the changes.
const NOW: i64 = 2_000;

fn boss() -> EmployeeKey {
    EmployeeKey::from_parts("ww", "boss")
}

fn actor(session: Digest) -> Actor {
    let from = Some([192, 0, 2, 1].into());
    Actor { session, employee: boss(), role: Some(Role::Admin), from, now: at(NOW) }
}

/// A session of an administrator.
async fn sign_in(fixture: &Fixture, name: &str) -> Actor {
    let plain = new_session(name, LoginMethod::Dev, None, Precondition::None);
    let mut session = plain.session.clone();
    (session.employee, session.current_role) = (boss(), Role::Admin);
    let entry = LogEntry { about: boss(), ..plain.entry.clone() };
    let begun = fixture.store().begin_session(NewSession { session, entry, ..plain }).await.unwrap();
    assert_eq!(begun, BeginOutcome::Begun);
    actor(digest(name))
}

async fn with_boss(fixture: &Fixture) {
    fixture.employ("boss").await;
    let roles = Roles::NONE.with(Role::Admin).with(Role::User);
    fixture.store().set_roles(ChangeAuthor::NoSession, boss(), roles, true, at(DAY), entry()).await.unwrap();
}

/// Every way in which the rights of a session are revoked, by the name of its result.
const REVOCATIONS: [&str; 8] = ["ended", "disabled", "left", "expired", "unknown", "switched", "taken", "excluded"];

async fn revoke(store: &Store, how: &str, actor: &mut Actor) -> Revocation {
    let end = SessionSelection::One(actor.session);
    match how {
        "ended" => {
            let ended =
                store.end_sessions(ChangeAuthor::NoSession, boss(), end, EndReason::Kicked, at(DAY), entry()).await;
            assert_eq!(ended.unwrap(), 1);
            Revocation::Ended(EndReason::Kicked)
        }
        "disabled" => {
            store.disable(ChangeAuthor::NoSession, boss(), true, at(DAY), entry()).await.unwrap();
            Revocation::Ended(EndReason::Disabled)
        }
        "left" => {
            store.mark_left(leaving(&boss(), LeftReason::Left, NOW)).await.unwrap();
            Revocation::Ended(EndReason::Left)
        }
        "expired" => {
            actor.now = at(DAY);
            Revocation::Expired
        }
        "unknown" => {
            actor.session = digest("nobody's");
            Revocation::Unknown
        }
        "switched" => {
            assert!(store.switch_role(actor.clone(), Role::User, entry()).await.unwrap());
            Revocation::RoleSwitched
        }
        "taken" => {
            store.revoke(ChangeAuthor::NoSession, boss(), Role::Admin, true, entry()).await.unwrap();
            Revocation::RoleTakenAway(Role::Admin)
        }
        _ => {
            let elsewhere = vec!["198.51.100.0/24".parse().unwrap()];
            assert!(store.set_ip_rules_of(ChangeAuthor::NoSession, Role::Admin, elsewhere, entry()).await.unwrap());
            Revocation::AddressNotAllowed(Role::Admin)
        }
    }
}

async fn restore(store: &Store) {
    store.enable(ChangeAuthor::NoSession, boss(), entry()).await.unwrap();
    store.mark_returned(boss(), at(NOW), entry()).await.unwrap();
    store.grant(ChangeAuthor::NoSession, boss(), Role::Admin, entry()).await.unwrap();
    store.set_ip_rules(ChangeAuthor::NoSession, Vec::new(), entry()).await.unwrap();
}

fn key() -> ServiceKey {
    ServiceKey {
        id: "key".to_owned(),
        name: "key".to_owned(),
        scopes: std::iter::empty().collect(),
        created_at: at(0),
        created_by: None,
        expires_at: at(DAY),
        revoked_at: None,
    }
}

/// A request to disown a sign-in of `agent01`.
async fn disowning(store: &Store) -> DisownRequest {
    let filter = LogFilter { corp: "ww".to_owned(), event: Some(AuditEvent::SignIn), ..LogFilter::default() };
    let sign_in = store.log_page(filter, None, 1).await.unwrap().rows.remove(0);
    let (who, home) = ("agent01".to_owned(), "ww".to_owned());
    DisownRequest { sign_in, who, home, notices: Vec::new(), deny_until: at(DAY), entry: entry() }
}

/// Makes every kind of change; returns the result of each.
async fn everything(store: &Store, by: &ChangeAuthor) -> Vec<(&'static str, Result<(), ChangeError>)> {
    let (by, until, me) = (|| by.clone(), at(DAY), agent01);
    let all = Roles::NONE.with(Role::Admin);
    let known = store.person(&boss()).await.unwrap().unwrap();
    let person = Person { key: EmployeeKey::from_parts("ww", "new"), ..Person::clone(&known) };
    let new = NewEmployee { person, at: at(0), entry: None };
    let network = vec![(Role::User, "192.0.2.0/24".parse().unwrap())];
    let told = notice("told", NoticeSubject::DeviceUnbound);
    vec![
        ("record_question", store.record_question(by(), entry()).await),
        ("add_employee", store.add_employee(by(), new).await.map(drop)),
        ("grant", store.grant(by(), me(), Role::Admin, entry()).await.map(drop)),
        ("revoke", store.revoke(by(), me(), Role::User, true, entry()).await.map(drop)),
        ("set_roles", store.set_roles(by(), me(), all, true, until, entry()).await.map(drop)),
        ("grant_until", store.grant_until(by(), me(), Role::Agent, until, String::new(), entry()).await.map(drop)),
        ("set_role_rules", store.set_role_rules(by(), "ww".to_owned(), Vec::new(), entry()).await.map(drop)),
        ("disable", store.disable(by(), me(), true, until, entry()).await.map(drop)),
        ("enable", store.enable(by(), me(), entry()).await.map(drop)),
        (
            "end_sessions",
            store.end_sessions(by(), me(), SessionSelection::All, EndReason::Kicked, until, entry()).await.map(drop),
        ),
        ("confirm_holder", store.confirm_holder(by(), me(), String::new(), at(DAY), entry()).await.map(drop)),
        ("renew_subject", store.renew_subject(by(), me(), until, entry()).await.map(drop)),
        ("add_agent", store.add_agent(by(), boss(), Role::Agent, at(0), None).await.map(drop)),
        ("set_agent_role", store.set_agent_role(by(), me(), Role::User, until, entry()).await.map(drop)),
        ("disable_agent", store.disable_agent(by(), me(), until, entry()).await.map(drop)),
        ("enable_agent", store.enable_agent(by(), me(), entry()).await.map(drop)),
        ("unlock_agent", store.unlock_agent(by(), me(), entry()).await.map(drop)),
        ("begin_device", store.begin_device(by(), me(), pending("sealed", 100), at(0)).await.map(drop)),
        ("bind_device", store.bind_device(by(), binding("sealed", &[digest("code")])).await.map(drop)),
        ("use_totp_step", store.use_totp_step(by(), used("sealed", 11)).await.map(drop)),
        ("use_recovery_code", store.use_recovery_code(by(), me(), digest("code"), at(60)).await.map(drop)),
        ("unbind_device", store.unbind_device(by(), me(), "sealed".to_owned(), told, entry()).await.map(drop)),
        ("reset_device", store.reset_device(by(), me(), digest("setup"), until, entry()).await.map(drop)),
        ("begin_device_by_code", by_code(store, by()).await),
        (
            "set_password",
            store.set_password(by(), password("hash", PasswordPrecondition::NoPassword, at(0))).await.map(drop),
        ),
        ("reset_password", store.reset_password(by(), me(), digest("c"), until, until, entry()).await.map(drop)),
        ("approve_link", store.approve_link(by(), partner(), me(), entry()).await.map(drop)),
        ("remove_link", store.remove_link(by(), partner(), entry()).await.map(drop)),
        ("add_service_key", store.add_service_key(by(), digest("key"), key(), entry()).await),
        ("revoke_service_key", store.revoke_service_key(by(), "key".to_owned(), at(1), entry()).await.map(drop)),
        ("set_ip_rules", store.set_ip_rules(by(), network, entry()).await.map(drop)),
        ("set_ip_rules_of", store.set_ip_rules_of(by(), Role::User, Vec::new(), entry()).await.map(drop)),
        ("disown", store.disown(by(), disowning(store).await).await.map(drop)),
    ]
}

async fn by_code(store: &Store, by: ChangeAuthor) -> Result<(), ChangeError> {
    store.begin_device_by_code(by, agent01(), pending("sealed", 100), digest("setup"), at(0)).await.map(drop)
}

fn partner() -> EmployeeKey {
    EmployeeKey::from_parts("wwpartner", "partner01")
}

on_every_store! {
    async fn no_change_is_made_in_a_session_that_does_not_stand(fixture: &Fixture) {
        with_boss(fixture).await;
        fixture.session("agent's", LoginMethod::Dev, None).await;
        for (number, how) in REVOCATIONS.into_iter().enumerate() {
            let mut actor = sign_in(fixture, how).await;
            let expected = revoke(&fixture.node(number), how, &mut actor).await;
            for (change, outcome) in everything(&fixture.node(number + 1), &ChangeAuthor::Session(actor.clone())).await {
                assert!(matches!(outcome, Err(ChangeError::Revoked(why)) if why == expected), "{change}, {how}: {outcome:?}");
            }
            restore(fixture.store()).await;
        }
        assert!(fixture.lives("agent's").await);
    }
}

on_every_store! {
    async fn every_change_is_made_in_a_valid_session(fixture: &Fixture) {
        with_boss(fixture).await;
        fixture.session("agent's", LoginMethod::Dev, None).await;
        let by = ChangeAuthor::Session(sign_in(fixture, "boss's").await);
        for (change, outcome) in everything(fixture.store(), &by).await {
            assert!(outcome.is_ok(), "{change}: {outcome:?}");
        }
    }
}

on_every_store! {
    async fn a_role_is_switched_to_while_it_is_held_and_the_session_is_valid(fixture: &Fixture) {
        with_boss(fixture).await;
        for (number, how) in ["ended", "disabled", "left", "expired", "unknown"].into_iter().enumerate() {
            let mut actor = sign_in(fixture, how).await;
            let expected = revoke(&fixture.node(number), how, &mut actor).await;
            let outcome = fixture.node(number + 1).switch_role(actor, Role::User, entry()).await;
            assert!(matches!(outcome, Err(ChangeError::Revoked(why)) if why == expected), "{how}: {outcome:?}");
            restore(fixture.store()).await;
        }
        let (actor, node) = (sign_in(fixture, "boss's").await, fixture.node(1));
        let active = || async {
            let SessionLookup::Session(standing) = node.session(&actor.session).await.unwrap() else { panic!("it is \
                 unchanged") };
            standing.session.current_role
        };
        fixture.store().revoke(ChangeAuthor::NoSession, boss(), Role::User, true, entry()).await.unwrap();
        assert!(!node.switch_role(actor.clone(), Role::User, entry()).await.unwrap());
        assert_eq!(active().await, Role::Admin);
        assert!(fixture.store().grant(ChangeAuthor::NoSession, boss(), Role::User, entry()).await.unwrap());
        assert!(node.switch_role(actor.clone(), Role::User, entry()).await.unwrap());
        assert_eq!(active().await, Role::User);
    }
}

on_every_store! {
    async fn a_half_that_does_not_stand_binds_nothing_and_uses_nothing_up(fixture: &Fixture) {
        fixture.set_password("hash").await;
        assert!(fixture.half("half", "hash").await);
        let by = |now: i64| ChangeAuthor::PartialSession { digest: digest("half"), employee: agent01(), now: at(now) };
        let store = fixture.store();
        assert!(store.begin_device(by(NOW), agent01(), pending("sealed", 100), at(0)).await.unwrap());
        let late = store.bind_device(by(half("half").expires_at.millis()), binding("sealed", &[])).await;
        assert!(matches!(late, Err(ChangeError::Revoked(Revocation::Unknown))), "{late:?}");
        assert!(store.end_partial_session(digest("half"), at(DAY)).await.unwrap());
        let ended = store.bind_device(by(NOW), binding("sealed", &[])).await;
        assert!(matches!(ended, Err(ChangeError::Revoked(Revocation::Ended(EndReason::SignedOut)))), "{ended:?}");
        assert!(store.agent(agent01()).await.unwrap().unwrap().device.is_none());
    }
}

on_every_store! {
    /// Administrators change each other and themselves at the same time, on two nodes: each change is made or refused, and no
    /// deadlock occurs.
    async fn administrators_who_change_each_other_do_not_block_each_other(fixture: &Fixture) {
        with_boss(fixture).await;
        let mut tasks = JoinSet::new();
        for number in 0..24 {
            let (actor, node) = (sign_in(fixture, &format!("{number}")).await, fixture.node(number));
            tasks.spawn(async move {
                let (by, own) = (ChangeAuthor::Session(actor.clone()), ChangeAuthor::Session(Actor { role: None, ..actor.clone() }));
                let but_mine = SessionSelection::AllBut(actor.session);
                match number % 4 {
                    0 => node.end_sessions(own, boss(), but_mine, EndReason::SignedOut, at(DAY), entry()).await.map(drop),
                    1 => node.add_agent(by, boss(), Role::Agent, at(0), None).await.map(drop),
                    2 => node.unlock_agent(by, boss(), entry()).await.map(drop),
                    _ => node.end_sessions(by, boss(), SessionSelection::All, EndReason::Kicked, at(DAY), entry()).await.map(drop),
                }
            });
        }
        for outcome in tasks.join_all().await {
            assert!(matches!(outcome, Ok(()) | Err(ChangeError::Revoked(_))), "{outcome:?}");
        }
    }
}

on_every_store! {
    /// Once an administrator is disabled and the call has returned, no later change of theirs commits.
    async fn nothing_is_changed_after_its_actor_was_disabled(fixture: &Fixture) {
        with_boss(fixture).await;
        for round in 0..15 {
            let (by, nodes) = (ChangeAuthor::Session(sign_in(fixture, &format!("{round}")).await), (fixture.node(0), fixture.node(1)));
            let granting = tokio::spawn(async move { nodes.0.grant(by, agent01(), Role::Admin, entry()).await });
            let disabled = nodes.1.disable(ChangeAuthor::NoSession, boss(), true, at(DAY), entry()).await.unwrap();
            let held = fixture.store().listed_person(agent01()).await.unwrap().unwrap().person.roles.holds(Role::Admin);
            let granted = granting.await.unwrap();
            assert!(disabled != DisableOutcome::Unknown && granted.is_ok() == held, "round {round}: {granted:?}");
            restore(fixture.store()).await;
            fixture.store().revoke(ChangeAuthor::NoSession, agent01(), Role::Admin, true, entry()).await.unwrap();
        }
    }
}
