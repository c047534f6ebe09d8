//! Which people are found, in which order, and on which page.

use deskpass_core::{EmployeeKey, IdentifiedPerson, Person, Role, Roles, entered_department_id};
use deskpass_store::{
    ChangeAuthor, DepartmentFilter, NewEmployee, PageStart, PeopleCount, PeopleFilter, PeopleOrder, PeopleSelection,
    Store,
};

use crate::agents::fixture::{Fixture, agent01, at, on_every_store};
use crate::lists::scene::{bulk, sign_in, term_of};

pub(crate) fn person(corp: &str, id: &str, name: &str, department: &str, roles: Roles) -> Person {
    Person {
        key: EmployeeKey::from_parts(corp, &id.to_lowercase()),
        employee_id: id.to_owned(),
        name: name.to_owned(),
        department: department.to_owned(),
        department_id: entered_department_id(department),
        avatar: String::new(),
        roles,
        role_ends: Vec::new(),
        disabled: false,
        left: None,
        seen: false,
        unconfirmed: false,
        subject: None,
        email: None,
    }
}

pub(crate) async fn add(store: &Store, person: Person) {
    assert!(store.add_employee(ChangeAuthor::NoSession, NewEmployee { person, at: at(0), entry: None }).await.unwrap());
}

pub(crate) fn of(corp: &str, selection: PeopleSelection) -> PeopleFilter {
    PeopleFilter { corp: corp.to_owned(), department: None, selection }
}

pub(crate) fn term(q: &str) -> PeopleSelection {
    PeopleSelection::Term { q: q.to_owned(), role: None }
}

/// All people on a list, page by page, each page by the cursor of the previous one.
pub(crate) async fn by_cursor(store: &Store, filter: &PeopleFilter, limit: i64) -> Vec<String> {
    by_scans(store, filter, limit, 10_000).await
}

/// The same, with so many entries of the index scanned for a page.
pub(crate) async fn by_scans(store: &Store, filter: &PeopleFilter, limit: i64, max_scanned: usize) -> Vec<String> {
    let (mut found, mut from) = (Vec::new(), PageStart::Offset(0));
    loop {
        let page = store.people_within(filter.clone(), from, limit, max_scanned).await.unwrap();
        assert!(page.people.len() <= usize::try_from(limit).unwrap());
        found.extend(page.people.iter().map(|listed| listed.person.key.id().to_owned()));
        match page.next {
            Some(next) => from = PageStart::After(filter.cursor(&next).unwrap()),
            None => return found,
        }
    }
}

/// All people on a list, page by page, by offset.
pub(crate) async fn by_number(store: &Store, filter: &PeopleFilter, limit: i64) -> Vec<String> {
    let mut found = Vec::new();
    loop {
        let offset = i64::try_from(found.len()).unwrap();
        let page = store.people(filter.clone(), PageStart::Offset(offset), limit).await.unwrap();
        found.extend(page.people.iter().map(|listed| listed.person.key.id().to_owned()));
        if page.next.is_none() {
            return found;
        }
    }
}

async fn found(store: &Store, filter: &PeopleFilter) -> Vec<String> {
    let found = by_cursor(store, filter, 2).await;
    assert_eq!(by_number(store, filter, 3).await, found, "{filter:?}");
    assert_eq!(by_cursor(store, filter, 500).await, found, "{filter:?}");
    let count = i64::try_from(found.len()).unwrap();
    assert_eq!(counted(store, filter, 100).await, (count, true), "{filter:?}");
    assert_eq!(counted(store, filter, 1).await, (count.min(1), count <= 1), "{filter:?}");
    found
}

/// The number of people on a list, and whether it is exact.
async fn counted(store: &Store, filter: &PeopleFilter, at_most: i64) -> (i64, bool) {
    let PeopleCount { count, exact } = store.count_people(filter.clone(), at_most).await.unwrap();
    (count, exact)
}

async fn scene(store: &Store) {
    let (user, both) = (Roles::NONE.with(Role::User), Roles::NONE.with(Role::User).with(Role::Security));
    add(store, person("ww", "zoe", "Anna Berg", "IT", both)).await;
    add(store, person("ww", "Adam", "Zacharias Li", "IT", user)).await;
    add(store, person("ww", "li.wei", "李伟", "Law", Roles::NONE)).await;
    add(store, person("wwother", "adam", "Li Li", "IT", both)).await;
}

on_every_store! {
    async fn people_come_in_the_order_asked_for(fixture: &Fixture) {
        let store = fixture.store();
        scene(store).await;
        sign_in(store, "one", &EmployeeKey::from_parts("ww", "zoe"), 50, "192.0.2.1").await;
        sign_in(store, "two", &agent01(), 40, "192.0.2.1").await;
        let everyone = |order| of("ww", PeopleSelection::Everyone(order));
        assert_eq!(found(store, &everyone(PeopleOrder::Id)).await, ["adam", "agent01", "li.wei", "zoe"]);
        let by_name = found(store, &everyone(PeopleOrder::Name)).await;
        assert_eq!(by_name[..3], ["zoe", "agent01", "adam"], "Anna, Name of, Zacharias");
        assert_eq!(found(store, &everyone(PeopleOrder::LastLogin)).await, ["zoe", "agent01", "li.wei", "adam"]);
        let page = store.people(everyone(PeopleOrder::Id), PageStart::Offset(3), 5).await.unwrap();
        let zoe = &page.people[0];
        assert_eq!((zoe.person.roles.iter().collect::<Vec<_>>(), zoe.last_login_at), (vec![Role::User, Role::Security], Some(at(50))));
        assert_eq!(zoe.last_login_ip.as_deref(), Some("192.0.2.1"));
        assert_eq!(found(store, &of("wwother", PeopleSelection::Everyone(PeopleOrder::Name))).await, ["adam"]);
        assert!(found(store, &of("wwnobody", PeopleSelection::Everyone(PeopleOrder::Id))).await.is_empty());
    }
}

on_every_store! {
    async fn people_are_found_by_role_by_department_and_by_what_begins_like_it(fixture: &Fixture) {
        let store = fixture.store();
        scene(store).await;
        assert_eq!(found(store, &of("ww", PeopleSelection::Role(Role::Security))).await, ["zoe"]);
        assert_eq!(found(store, &of("ww", PeopleSelection::Role(Role::User))).await, ["adam", "agent01", "zoe"]);
        let it = |selection| PeopleFilter { department: Some(DepartmentFilter::Name("IT".to_owned())), ..of("ww", selection) };
        for order in [PeopleOrder::Id, PeopleOrder::Name, PeopleOrder::LastLogin] {
            assert_eq!(found(store, &it(PeopleSelection::Everyone(order))).await, ["adam", "zoe"]);
        }
        assert_eq!(found(store, &it(PeopleSelection::Role(Role::Security))).await, ["zoe"]);
        assert_eq!(found(store, &of("ww", term("LI"))).await, ["adam", "li.wei"], "each once");
        assert_eq!(found(store, &it(term("LI"))).await, ["adam"]);
        assert_eq!(found(store, &of("ww", term("伟"))).await, ["li.wei"]);
        assert_eq!(found(store, &of("ww", term("a"))).await, ["adam", "agent01", "zoe"]);
        let secure = PeopleSelection::Term { q: "a".to_owned(), role: Some(Role::Security) };
        assert_eq!(found(store, &of("ww", secure.clone())).await, ["zoe"]);
        assert_eq!(found(store, &it(secure)).await, ["zoe"]);
        assert_eq!(found(store, &of("wwother", term("l"))).await, ["adam"]);
        for no_match in ["zo e", "%", "_", "'", "nn", "\0"] {
            assert!(found(store, &of("ww", term(no_match))).await.is_empty(), "{no_match}");
        }
        assert_eq!(found(store, &of("ww", term(" "))).await.len(), 4, "nothing is how everybody begins");
    }
}

on_every_store! {
    async fn a_place_in_one_list_is_none_in_another(fixture: &Fixture) {
        let store = fixture.store();
        scene(store).await;
        let all = [
            of("ww", PeopleSelection::Everyone(PeopleOrder::Id)),
            of("ww", PeopleSelection::Everyone(PeopleOrder::Name)),
            of("ww", PeopleSelection::Everyone(PeopleOrder::LastLogin)),
            of("ww", term("")),
        ];
        for (one, filter) in all.iter().enumerate() {
            let next = store.people(filter.clone(), PageStart::Offset(0), 1).await.unwrap().next.unwrap();
            for (other, filter) in all.iter().enumerate() {
                assert_eq!(filter.cursor(&next).is_ok(), one == other);
            }
            assert!(filter.cursor("").is_err() && filter.cursor(&next[1..]).is_err());
        }
    }
}

on_every_store! {
    async fn a_renamed_person_is_found_by_the_new_name(fixture: &Fixture) {
        let store = fixture.store();
        let identified = |name: Option<&str>| IdentifiedPerson {
            key: EmployeeKey::from_parts("ww", "mei"),
            employee_id: "Mei".to_owned(),
            through: None,
            name: name.map(str::to_owned),
            department: None,
            department_id: None,
            avatar: None,
            email: None,
            asked_at: None, identified_at: None,
            seen: false,
            holder: None,
        };
        store.upsert_person(identified(Some("韩梅梅")), at(0)).await.unwrap();
        assert_eq!(found(store, &of("ww", term("梅"))).await, ["mei"]);
        store.upsert_person(identified(None), at(1)).await.unwrap();
        assert_eq!(found(store, &of("ww", term("韩"))).await, ["mei"], "no other name was told");
        store.upsert_person(identified(Some("Mei Han")), at(2)).await.unwrap();
        assert!(found(store, &of("ww", term("梅"))).await.is_empty());
        assert_eq!(found(store, &of("ww", term("han"))).await, ["mei"]);
        assert_eq!(found(store, &of("ww", term("me"))).await, ["mei"]);
        assert_eq!(store.index_terms(100).await.unwrap(), 0, "no person is without a department");
    }
}

on_every_store! {
    async fn a_person_from_before_terms_is_found_too(fixture: &Fixture) {
        let store = fixture.store();
        bulk(fixture, "INSERT INTO employee (corp_id, employee_key, employee_id, name, department, avatar, created_at)
            SELECT 'ww', 'old' || n, 'Old' || n, 'Name ' || n, '', '', 0 FROM numbers", 120).await;
        assert!(found(store, &of("ww", term("old"))).await.is_empty());
        assert_eq!(store.index_terms(70).await.unwrap(), 70);
        let (one, other) = (fixture.node(0), fixture.node(1));
        let (one, other) = tokio::join!(one.index_terms(100), other.index_terms(100));
        assert_eq!(one.unwrap() + other.unwrap(), 50);
        assert_eq!(counted(store, &of("ww", term("old")), 500).await, (120, true));
        assert_eq!(found(store, &of("ww", term("old77"))).await, ["old77"]);
        assert_eq!(store.index_terms(70).await.unwrap(), 0);
    }
}

/// Adds people of one department, of whom one among the last has a role that as many others have whom no search finds.
async fn many(fixture: &Fixture) {
    let term = term_of(fixture, "'x' || (100000 + n)");
    for statement in [
        "INSERT INTO employee (corp_id, employee_key, employee_id, name, department, avatar, created_at)
         SELECT 'ww', 'p' || (100000 + n), 'p' || (100000 + n), 'Name', 'Many', '', 0 FROM numbers",
        "INSERT INTO user_role (corp_id, employee_key, role_id) SELECT 'ww', 'p' || (100000 + n), 5 FROM numbers
         WHERE n > 10500 OR n = 10400",
        &format!(
            "INSERT INTO employee_term (corp_id, employee_key, term) SELECT 'ww', 'p' || (100000 + n), {term}
             FROM numbers WHERE n <= 10500"
        ),
    ] {
        bulk(fixture, statement, 12_600).await;
    }
}

on_every_store! {
    async fn a_page_scans_a_limited_number_of_entries(fixture: &Fixture) {
        let store = fixture.store();
        many(fixture).await;
        let secure = PeopleSelection::Term { q: "x".to_owned(), role: Some(Role::Security) };
        let there = PeopleFilter {
            department: Some(DepartmentFilter::Name("Many".to_owned())),
            ..of("ww", PeopleSelection::Role(Role::Security))
        };
        for filter in [of("ww", secure), there] {
            let first = store.people(filter.clone(), PageStart::Offset(0), 1).await.unwrap();
            assert!(first.people.is_empty(), "{filter:?}");
            assert_eq!(counted(store, &filter, 100).await, (0, false), "{filter:?}");
            let next = PageStart::After(filter.cursor(&first.next.unwrap()).unwrap());
            let page = store.people(filter.clone(), next, 1).await.unwrap();
            assert_eq!(page.people[0].person.key.id(), "p110400", "{filter:?}");
        }
        // A page with a high number has nobody, and goes on where the scan ended.
        let everyone = of("ww", PeopleSelection::Everyone(PeopleOrder::Id));
        let far = store.people(everyone.clone(), PageStart::Offset(12_000), 10).await.unwrap();
        assert!(far.people.is_empty());
        let next = PageStart::After(everyone.cursor(&far.next.unwrap()).unwrap());
        let page = store.people(everyone.clone(), next, 1).await.unwrap();
        // Before them is the agent of every fixture.
        assert_eq!(page.people[0].person.key.id(), "p110000");
        assert_eq!(counted(store, &everyone, 20_000).await, (10_000, false));
        assert_eq!(counted(store, &of("ww", term("x100")), 2_000).await, (999, true));
    }
}

on_every_store! {
    async fn every_corporation_is_listed_once(fixture: &Fixture) {
        let store = fixture.store();
        scene(store).await;
        add(store, person("aa", "x", "X", "", Roles::NONE)).await;
        assert_eq!(store.corporations().await.unwrap(), ["aa", "ww", "wwother"]);
    }
}
