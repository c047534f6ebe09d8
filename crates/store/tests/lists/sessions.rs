//! Current sessions, their ends, and their last use.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use deskpass_core::{AllowLists, Digest, EmployeeKey, Role};
use deskpass_store::{
    Actor, AuditEvent, ChangeAuthor, EndReason, ListedSession, PartialSessionLookup, RoleLockout, SessionFilter,
    SessionLookup, SessionSelection, Store,
};
use ipnet::IpNet;

use crate::agents::fixture::{DAY, Fixture, HOUR, agent01, at, digest, on_every_store};
use crate::lists::scene::{bulk, entry, sign_in, soon};

fn of(corp: &str) -> SessionFilter {
    SessionFilter { corp: corp.to_owned(), department_id: None, employee: None, role: None, now: at(0) }
}

fn ids(sessions: &[ListedSession]) -> Vec<Digest> {
    sessions.iter().map(|listed| listed.id).collect()
}

/// Every page of a list, one after the other.
async fn all(store: &Store, filter: &SessionFilter, limit: i64) -> Vec<Digest> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = store.sessions(filter.clone(), after, limit).await.unwrap();
        assert!(page.sessions.len() <= usize::try_from(limit).unwrap());
        found.extend(ids(&page.sessions));
        match page.next {
            Some(next) => after = Some(filter.cursor(&next).unwrap()),
            None => return found,
        }
    }
}

async fn end(store: &Store, key: &EmployeeKey, which: SessionSelection) -> usize {
    let entry = entry(AuditEvent::SessionsEnded, key);
    store.end_sessions(ChangeAuthor::NoSession, key.clone(), which, EndReason::Kicked, at(DAY), entry).await.unwrap()
}

/// Grants `agent01` the agent role, and makes it the active role of this session.
async fn switch_to_agent(store: &Store, name: &str) {
    let (granted, switched) = (entry(AuditEvent::RolesChanged, &agent01()), entry(AuditEvent::SwitchRole, &agent01()));
    assert!(store.grant(ChangeAuthor::NoSession, agent01(), Role::Agent, granted).await.unwrap());
    let actor = Actor { session: digest(name), employee: agent01(), role: None, from: None, now: at(10) };
    assert!(store.switch_role(actor, Role::Agent, switched).await.unwrap());
}

on_every_store! {
    async fn people_see_their_own_sessions_the_newest_first(fixture: &Fixture) {
        let (store, namesake) = (fixture.store(), EmployeeKey::from_parts("wwother", "agent01"));
        fixture.employ_in("wwother", "agent01").await;
        sign_in(store, "old", &agent01(), 10, "192.0.2.1").await;
        sign_in(store, "new", &agent01(), 20, "2001:db8::1").await;
        sign_in(store, "foreign", &namesake, 30, "192.0.2.1").await;
        let own = store.own_sessions(agent01(), at(30)).await.unwrap();
        assert_eq!(ids(&own), [digest("new"), digest("old")]);
        assert_eq!((&*own[0].employee_id, &*own[0].name), ("AGENT01", "Name of agent01"));
        assert_eq!((own[0].ip_address.as_deref(), own[0].seen_at), (Some("2001:db8::1"), Some(at(20))));
        assert_eq!(own[0].user_agent.as_deref(), Some(""));
        assert_eq!(store.find_session(digest("new")).await.unwrap().as_ref(), Some(&own[0]));
        assert_eq!(store.find_session(digest("no")).await.unwrap(), None);
        let own = store.own_sessions(agent01(), at(10 + 8 * HOUR)).await.unwrap();
        assert_eq!(ids(&own), [digest("new")], "what has expired is not there");
    }
}

on_every_store! {
    async fn a_list_shows_what_was_asked_for_on_pages_of_any_size(fixture: &Fixture) {
        let store = fixture.store();
        fixture.employ("user01").await;
        fixture.employ_in("wwother", "agent01").await;
        let (user, foreign) = (EmployeeKey::from_parts("ww", "user01"), EmployeeKey::from_parts("wwother", "agent01"));
        let mut expected = Vec::new();
        for number in 0..7_i64 {
            let (mine, yours) = (format!("mine {number}"), format!("yours {number}"));
            // Two sessions at the same moment: neither may get lost between two pages.
            sign_in(store, &mine, &agent01(), number, "192.0.2.1").await;
            sign_in(store, &yours, &user, number, "192.0.2.1").await;
            sign_in(store, &format!("foreign {number}"), &foreign, number, "192.0.2.1").await;
            expected.extend([(number, digest(&mine)), (number, digest(&yours))]);
        }
        for limit in [1, 2, 3, 14, 50] {
            let found = all(store, &of("ww"), limit).await;
            let mut known = expected.clone();
            let moments = found.iter().map(|id| known.remove(known.iter().position(|(_, known)| known == id).unwrap()).0);
            let moments: Vec<_> = moments.collect();
            assert!(moments.is_sorted_by(|one, next| one >= next), "{moments:?}");
            assert!(known.is_empty(), "{limit}");
        }
        let mine: Vec<_> = (0..7).rev().map(|number| digest(&format!("mine {number}"))).collect();
        let employee = Some("agent01".to_owned());
        assert_eq!(all(store, &SessionFilter { employee, ..of("ww") }, 2).await, mine);
        assert_eq!(all(store, &SessionFilter { now: at(3 + 8 * HOUR), ..of("ww") }, 2).await.len(), 6);
        assert!(all(store, &of("wwnobody"), 2).await.is_empty());
    }
}

on_every_store! {
    async fn a_list_can_be_of_one_role_or_department(fixture: &Fixture) {
        let store = fixture.store();
        for number in 0..20_i64 {
            sign_in(store, &format!("{number}"), &agent01(), number, "192.0.2.1").await;
        }
        switch_to_agent(store, "4").await;
        let agents = SessionFilter { role: Some(Role::Agent), ..of("ww") };
        assert_eq!(all(store, &agents, 1).await, [digest("4")]);
        assert_eq!(all(store, &SessionFilter { role: Some(Role::User), ..of("ww") }, 3).await.len(), 19);
        let nowhere = SessionFilter { department_id: Some("Nowhere".to_owned()), ..of("ww") };
        assert!(all(store, &nowhere, 3).await.is_empty());
        let here = SessionFilter { department_id: Some(String::new()), ..of("ww") };
        assert_eq!(all(store, &here, 3).await.len(), 20);
        assert!(here.cursor("eh").is_err());
    }
}

on_every_store! {
    async fn what_is_ended_is_over_and_nothing_else(fixture: &Fixture) {
        let (store, foreign) = (fixture.store(), EmployeeKey::from_parts("wwother", "agent01"));
        fixture.employ_in("wwother", "agent01").await;
        for name in ["one", "two", "three", "four"] {
            sign_in(store, name, &agent01(), 10, "192.0.2.1").await;
        }
        sign_in(store, "foreign", &foreign, 10, "192.0.2.1").await;
        assert!(fixture.lives("one").await);
        assert_eq!(end(store, &agent01(), SessionSelection::One(digest("foreign"))).await, 0);
        assert_eq!(end(store, &agent01(), SessionSelection::One(digest("one"))).await, 1);
        assert_eq!(end(store, &agent01(), SessionSelection::One(digest("one"))).await, 0);
        assert!(matches!(store.session(&digest("one")).await.unwrap(), SessionLookup::Denied(EndReason::Kicked)));
        assert_eq!(end(store, &agent01(), SessionSelection::AllBut(digest("two"))).await, 2);
        assert!(fixture.lives("two").await && fixture.lives("foreign").await);
        assert_eq!(end(store, &agent01(), SessionSelection::All).await, 1);
        assert_eq!(end(store, &agent01(), SessionSelection::All).await, 0);
        assert!(fixture.lives("foreign").await);
        assert!(store.own_sessions(agent01(), at(20)).await.unwrap().is_empty());
    }
}

on_every_store! {
    async fn ending_all_sessions_ends_partial_sessions(fixture: &Fixture) {
        fixture.set_password("hash").await;
        assert!(fixture.half("half", "hash").await);
        assert_eq!(end(fixture.store(), &agent01(), SessionSelection::All).await, 0);
        let found = fixture.store().partial_session(&digest("half")).await.unwrap();
        assert!(!matches!(found, PartialSessionLookup::Found(_)), "{found:?}");
    }
}

on_every_store! {
    async fn sessions_that_are_looked_up_at_once_each_get_their_own_answer(fixture: &Fixture) {
        let store = fixture.store();
        for number in 0..40 {
            sign_in(store, &number.to_string(), &agent01(), number, "192.0.2.1").await;
        }
        assert_eq!(end(store, &agent01(), SessionSelection::One(digest("7"))).await, 1);
        let names: Vec<_> = (0..60).map(|number| number.to_string()).collect();
        let look_ups = names.iter().map(|name| async move { store.session(&digest(name)).await.unwrap() });
        let found = futures_util::future::join_all(look_ups).await;
        for (number, found) in (0_i64..).zip(found) {
            match found {
                SessionLookup::Session(record) => {
                    assert!(number < 40 && number != 7 && record.session.created_at == at(number), "{number}");
                    assert_eq!(record.person.name(), "Name of agent01");
                }
                SessionLookup::Denied(why) => assert_eq!((number, why), (7, EndReason::Kicked)),
                SessionLookup::NotFound => assert!(number >= 40, "{number}"),
            }
        }
    }
}

/// The time of last use of a session, as a list shows it.
async fn seen(store: &Store, name: &str) -> Option<i64> {
    store.find_session(digest(name)).await.unwrap().unwrap().seen_at.map(deskpass_core::Timestamp::millis)
}

async fn use_at(store: &Store, name: &str, now: i64) {
    let SessionLookup::Session(standing) = store.session(&digest(name)).await.unwrap() else { panic!("{name} lives") };
    store.touch_session(&standing, &digest(name), at(now));
}

on_every_store! {
    async fn a_use_is_written_down_now_and_then(fixture: &Fixture) {
        let store = fixture.store();
        assert!(soon(async || store.is_cache_trusted()).await);
        sign_in(store, "one", &agent01(), 1_000, "192.0.2.1").await;
        use_at(store, "one", 600_999).await;
        assert_eq!(store.flush_last_uses(100).await.unwrap(), 0, "used a moment ago");
        use_at(store, "one", 601_000).await;
        assert_eq!(seen(store, "one").await, Some(1_000), "nothing is written on the way");
        assert_eq!(store.flush_last_uses(100).await.unwrap(), 1);
        assert_eq!(store.flush_last_uses(100).await.unwrap(), 0);
        assert_eq!(seen(store, "one").await, Some(601_000));
    }
}

on_every_store! {
    async fn many_uses_are_written_down_a_batch_at_a_time(fixture: &Fixture) {
        let store = fixture.store();
        for number in 0..120 {
            let name = format!("{number}");
            sign_in(store, &name, &agent01(), 0, "192.0.2.1").await;
            use_at(store, &name, 700_000).await;
        }
        assert_eq!(store.flush_last_uses(70).await.unwrap(), 70);
        assert_eq!(store.flush_last_uses(70).await.unwrap(), 50);
        for number in 0..120 {
            assert_eq!(seen(store, &format!("{number}")).await, Some(700_000));
        }
        // An earlier use on another node changes nothing.
        use_at(&fixture.node(1), "7", 650_000).await;
        let _ = fixture.node(1).flush_last_uses(70).await.unwrap();
        assert_eq!(seen(store, "7").await, Some(700_000));
    }
}

on_every_store! {
    async fn a_list_says_beforehand_whom_it_would_shut_out(fixture: &Fixture) {
        let store = fixture.store();
        for (number, address) in ["10.0.0.1", "10.9.9.9", "192.0.2.1", "2001:db8::1", "203.0.113.5"].iter().enumerate() {
            sign_in(store, &format!("{number}"), &agent01(), 10, address).await;
        }
        switch_to_agent(store, "4").await;
        let preview = async |role: Role, network: Option<&'static str>, now: i64, listed: usize| {
            let networks: Vec<IpNet> = network.into_iter().map(|network| network.parse().unwrap()).collect();
            let lists = AllowLists::default().with(role, &networks);
            let all = store.preview_lockouts(lists, at(now), listed).await.unwrap();
            assert_eq!(all.iter().map(|lockout| lockout.role).collect::<Vec<_>>(), Role::ALL);
            assert!(all.iter().all(|lockout| lockout.exact && (lockout.role == role || lockout.number == 0)));
            let RoleLockout { number, some, .. } = all.into_iter().find(|lockout| lockout.role == role).unwrap();
            (number, ids(&some))
        };
        let (number, mut some) = preview(Role::User, Some("10.0.0.0/8"), 20, 100).await;
        some.sort_by_key(|id| *id == digest("3"));
        assert_eq!((number, some), (2, vec![digest("2"), digest("3")]));
        let (number, some) = preview(Role::User, Some("2001:db8::/32"), 20, 1).await;
        assert_eq!((number, some.len()), (3, 1));
        assert_eq!(preview(Role::Agent, Some("10.0.0.0/8"), 20, 9).await.0, 1);
        assert_eq!(preview(Role::User, Some("10.0.0.0/8"), 10 + 8 * HOUR, 9).await.0, 0, "what has expired is not shut out");
        assert_eq!(preview(Role::User, None, 20, 9).await.0, 0);
        let both = [(Role::User, "10.0.0.0/8"), (Role::Agent, "10.0.0.0/8")].map(|(role, text)| (role, text.parse::<IpNet>().unwrap()));
        let all = store.preview_lockouts(both.into_iter().collect(), at(20), 9).await.unwrap();
        let numbers: Vec<_> = all.iter().filter(|lockout| lockout.number > 0).map(|lockout| (lockout.role, lockout.number)).collect();
        assert_eq!(numbers, [(Role::Agent, 1), (Role::User, 2)]);
    }
}

on_every_store! {
    async fn lists_of_all_roles_are_tried_in_one_reading_of_a_limited_number_of_sessions(fixture: &Fixture) {
        let store = fixture.store();
        bulk(fixture, "INSERT INTO session (digest, corp_id, employee_key, role_id, login_method, login_source, created_at, expires_at,
            ip_address) SELECT (100000 + n) || 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', 'ww', 'agent01', 1 + n % 4, 'dev', 'h5', 0, 1000000,
            '192.0.2.1' FROM numbers", 20_500).await;
        let reads = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&reads);
        store.observe_operations(move |_| {
            counter.fetch_add(1, Ordering::Relaxed);
        });
        let lists: AllowLists = Role::ALL.into_iter().map(|role| (role, "10.0.0.0/8".parse::<IpNet>().unwrap())).collect();
        let all = store.preview_lockouts(lists.with(Role::Admin, &[]), at(20), 50).await.unwrap();
        assert_eq!(reads.load(Ordering::Relaxed), 1);
        let told: Vec<_> = all.iter().map(|lockout| (lockout.number, lockout.exact, lockout.some.len())).collect();
        assert_eq!(told, [(0, true, 0), (5_000, false, 50), (5_000, false, 50), (5_000, false, 50), (0, false, 0)]);
    }
}
