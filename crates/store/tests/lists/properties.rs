//! For any names and any search: exactly the people that the rule matches are found, each once, on pages of any size.

use std::collections::{BTreeMap, BTreeSet};

use deskpass_core::{Person, Role, Roles};
use deskpass_store::{DepartmentFilter, PeopleCount, PeopleFilter, PeopleOrder, PeopleSelection, Store};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use crate::agents::fixture::{Fixture, on_every_store};
use crate::lists::people::{add, by_cursor, by_number, by_scans, of, person};

/// The number of people and of searches.
const PEOPLE: usize = 100;
const QUESTIONS: usize = 30;

fn any_of<T: std::fmt::Debug>(runner: &mut TestRunner, strategy: &impl Strategy<Value = T>) -> T {
    strategy.new_tree(runner).unwrap().current()
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[A-Da-d]{1,3}( {1,2}[A-Da-d']{1,3}){0,2}",
        "[张三李伟]{1,4}",
        "[张三ab] ?[李伟AB ().-]{0,5}",
        "\\PC{1,8}",
        "[ab]{22,30}",
    ]
}

fn people(runner: &mut TestRunner, corp: &str, ids: &BTreeSet<String>) -> Vec<Person> {
    let roles = proptest::sample::subsequence(Role::ALL.to_vec(), 0..=3);
    let department = proptest::sample::select(vec!["", "IT", "Law"]);
    let all = ids.iter().map(|id| {
        let roles: Roles = any_of(runner, &roles).into_iter().collect();
        person(corp, id, &any_of(runner, &name()), any_of(runner, &department), roles)
    });
    all.collect()
}

/// A prefix of an identifier or a name, or any other text.
fn question(runner: &mut TestRunner, people: &[Person]) -> String {
    let (someone, cut, length) = any_of(runner, &(0..people.len(), 0..6_usize, 1..5_usize));
    let text = if cut % 2 == 0 { &people[someone].name } else { &people[someone].employee_id };
    let some: String = text.chars().skip(cut / 2).take(length).collect();
    let odd = prop_oneof![Just(some.to_uppercase()), Just(format!(" {some} ")), name(), "[%_'\\\\*]{1,2}", Just(some)];
    any_of(runner, &odd)
}

fn is_chinese(c: char) -> bool {
    ('\u{3400}'..='\u{9fff}').contains(&c)
        || ('\u{f900}'..='\u{faff}').contains(&c)
        || c >= '\u{20000}'
        || "々〇".contains(c)
}

/// The rule: a word of the identifier or of the name begins with the search.
fn fits(person: &Person, q: &str) -> bool {
    let plain = |text: &str| {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        text.chars().flat_map(char::to_lowercase).collect::<Vec<char>>()
    };
    let cut = |text: &[char]| text.iter().collect::<String>().bytes().take(24).collect::<Vec<u8>>();
    let q = cut(&plain(q));
    [&person.employee_id, &person.name].into_iter().map(|text| plain(text)).any(|text| {
        (0..text.len()).any(|at| {
            let before = at.checked_sub(1).map(|before| text[before]);
            let follows = before.is_some_and(|before| before.is_alphanumeric() && !is_chinese(before));
            let begins = before.is_none() || is_chinese(text[at]) || (text[at].is_alphanumeric() && !follows);
            begins && cut(&text[at..]).starts_with(&q)
        })
    })
}

fn is_on(filter: &PeopleFilter, person: &Person) -> bool {
    let sought = match &filter.selection {
        PeopleSelection::Everyone(_) => true,
        PeopleSelection::Role(role) => person.roles.holds(*role),
        PeopleSelection::Term { q, role } => fits(person, q) && role.is_none_or(|role| person.roles.holds(role)),
    };
    let there = filter.department.as_ref().is_none_or(|department| match department {
        DepartmentFilter::Id(id) => *id == person.department_id,
        DepartmentFilter::Name(name) => *name == person.department,
    });
    sought && there
}

fn filters(runner: &mut TestRunner, corp: &str, q: &str) -> Vec<PeopleFilter> {
    let role = any_of(runner, &proptest::sample::select(Role::ALL.to_vec()));
    let orders = [PeopleOrder::Id, PeopleOrder::Name, PeopleOrder::LastLogin].map(PeopleSelection::Everyone);
    let found = [None, Some(role)].map(|role| PeopleSelection::Term { q: q.to_owned(), role });
    let all: Vec<_> = orders
        .into_iter()
        .chain(found)
        .chain([PeopleSelection::Role(role)])
        .map(|selection| of(corp, selection))
        .collect();
    let some = [DepartmentFilter::Id("name:IT".to_owned()), DepartmentFilter::Name("IT".to_owned())].map(|there| {
        all.clone().into_iter().map(move |filter| PeopleFilter { department: Some(there.clone()), ..filter })
    });
    all.iter().cloned().chain(some.into_iter().flatten()).collect()
}

/// Wherever the scans for pages end, the same people are found, and no count exceeds their number.
async fn check_short_scans(store: &Store, filter: &PeopleFilter, limit: i64, max_scanned: usize, found: &[String]) {
    assert_eq!(by_scans(store, filter, limit, max_scanned).await, found, "{max_scanned} at once: {filter:?}");
    let PeopleCount { count, exact } = store.count_people_within(filter.clone(), 100, max_scanned).await.unwrap();
    let all = i64::try_from(found.len()).unwrap();
    assert!(if exact { count == all } else { count <= all }, "{count} of {all} among {max_scanned}: {filter:?}");
}

on_every_store! {
    async fn those_are_found_whom_the_rule_says(fixture: &Fixture) {
        let (store, mut runner) = (fixture.store(), TestRunner::default());
        let ids = proptest::collection::btree_map("[a-c]{1,3}[._@-]?[a-c0-2]{0,3}", any::<bool>(), PEOPLE);
        let ids: BTreeMap<String, bool> = any_of(&mut runner, &ids);
        let ids: BTreeSet<_> = ids.into_iter().map(|(id, upper)| if upper { id.to_uppercase() } else { id }).collect();
        // The same identifiers in both corporations, with different names.
        let corps = ["wwone", "wwtwo"].map(|corp| (corp, people(&mut runner, corp, &ids)));
        for person in corps.iter().flat_map(|(_, people)| people) {
            add(store, person.clone()).await;
        }
        for round in 0..QUESTIONS {
            let (corp, people) = &corps[round % 2];
            let q = question(&mut runner, people);
            for filter in filters(&mut runner, corp, &q) {
                let limit = any_of(&mut runner, &(4..80_i64));
                let found = by_cursor(store, &filter, limit).await;
                assert_eq!(by_number(store, &filter, limit).await, found, "{limit} of {filter:?}");
                let expected = people.iter().filter(|person| is_on(&filter, person));
                let expected: BTreeSet<_> = expected.map(|person| person.key.id().to_owned()).collect();
                let each: BTreeSet<_> = found.iter().cloned().collect();
                assert_eq!(each.len(), found.len(), "each once: {filter:?} {found:?}");
                assert_eq!(each, expected, "{filter:?}");
                let PeopleCount { count, exact } = store.count_people(filter.clone(), 100).await.unwrap();
                assert_eq!((count, exact), (i64::try_from(found.len()).unwrap(), true), "{filter:?}");
                // Not for each list: short scans take many pages.
                if any_of(&mut runner, &(0..4)) == 0 {
                    check_short_scans(store, &filter, limit, any_of(&mut runner, &(2..60_usize)), &found).await;
                }
            }
        }
    }
}
