//! Who belongs to which departments and tags, whatever the directory looks like.

use std::collections::BTreeSet;
use std::sync::Arc;

use deskpass_core::{Memberships, Role, Roles};
use deskpass_store::{DirectoryChange, KnownDepartment, KnownTagMember, RuleSubject, Store, SubjectPage};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

use super::scene::{USER, apply, department, key, tag};
use crate::agents::fixture::{Fixture, on_every_store};

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn below(id: &str, parent: Option<&str>) -> DirectoryChange {
    let (id, parent) = (id.to_owned(), parent.map(str::to_owned));
    DirectoryChange::SetDepartment(KnownDepartment { name: format!("Department {id}"), id, parent })
}

fn member(key: &str, departments: &[&str]) -> DirectoryChange {
    DirectoryChange::SetMember { key: key.to_owned(), departments: texts(departments) }
}

fn tagged(tag: &str, members: &[KnownTagMember]) -> DirectoryChange {
    DirectoryChange::SetTagMembers { tag: tag.to_owned(), members: members.to_vec() }
}

async fn change(store: &Store, changes: Vec<DirectoryChange>) {
    store.change_directory("ww".to_owned(), changes).await.unwrap();
}

async fn of(store: &Store, id: &str) -> Memberships {
    store.memberships_of(key(id)).await.unwrap()
}

/// All subjects, in pages of this size.
async fn subjects(store: &Store, limit: i64) -> Vec<RuleSubject> {
    subjects_of(store, limit, false).await
}

/// As [`subjects`], of a platform that distinguishes case, if `exact`.
async fn subjects_of(store: &Store, limit: i64, exact: bool) -> Vec<RuleSubject> {
    let (mut all, mut after): (Vec<RuleSubject>, _) = (Vec::new(), None);
    let tree = Arc::new(store.directory_tree("ww".to_owned()).await.unwrap());
    loop {
        let page = SubjectPage { corp: "ww".to_owned(), after, limit, exact };
        let page = store.rule_subjects(page, Arc::clone(&tree)).await.unwrap();
        assert!(i64::try_from(page.len()).unwrap() <= limit);
        let Some(last) = page.last() else { return all };
        after = Some(last.key.id().to_owned());
        all.extend(page);
    }
}

on_every_store! {
    async fn a_department_has_the_members_of_its_descendants_and_a_tag_those_of_its_departments(fixture: &Fixture) {
        let store = fixture.store();
        let all = KnownTagMember::Department("2".to_owned());
        change(store, vec![
            below("1", None),
            below("2", Some("1")),
            below("3", Some("2")),
            below("8", Some("9")),
            below("9", Some("8")),
            member("deep", &["3"]),
            member("top", &["1"]),
            member("loop", &["8", "1"]),
            member("lost", &["77"]),
            tagged("people", &[KnownTagMember::Member("top".to_owned())]),
            tagged("team", &[all, KnownTagMember::Member("lost".to_owned())]),
        ]).await;
        let expected: [(&str, &[&str], &[&str]); 5] = [
            ("deep", &["1", "2", "3"], &["team"]),
            ("top", &["1"], &["people"]),
            ("loop", &["1", "8", "9"], &[]),
            ("lost", &["77"], &["team"]),
            ("agent01", &[], &[]),
        ];
        for (id, departments, tags) in expected {
            let found = of(store, id).await;
            assert_eq!(found.departments, texts(departments).into_iter().collect::<BTreeSet<_>>(), "{id}");
            assert_eq!(found.tags, texts(tags).into_iter().collect::<BTreeSet<_>>(), "{id}");
        }
        let rules = [department(Role::Agent, "2"), tag(Role::Security, "team"), department(Role::Admin, "team")];
        assert_eq!(of(store, "deep").await.roles(&rules), Roles::NONE.with(Role::Agent).with(Role::Security));
        assert_eq!(of(store, "top").await.roles(&rules), Roles::NONE);
        let other = deskpass_core::EmployeeKey::from_parts("wwother", "deep");
        assert_eq!(store.memberships_of(other).await.unwrap(), Memberships::default(), "of another corporation");
    }
}

on_every_store! {
    async fn subjects_have_their_roles_and_those_of_rules(fixture: &Fixture) {
        let store = fixture.store();
        fixture.employ("one").await;
        fixture.employ_in("wwother", "two").await;
        apply(store, "one", Roles::NONE.with(Role::Agent)).await;
        let found = subjects(store, 1).await;
        let found: Vec<_> = found.iter().map(|it| (it.key.id(), &*it.employee_id, &*it.name, it.held, it.by_rule)).collect();
        let agent = Roles::NONE.with(Role::Agent);
        assert_eq!(found, [
            ("agent01", "AGENT01", "Name of agent01", USER, Roles::NONE),
            ("one", "ONE", "Name of one", USER.with(Role::Agent), agent),
        ]);
    }
}

on_every_store! {
    /// The employee is written `ONE`, and another member `one`.
    async fn a_member_who_differs_in_case_only_is_another_person_where_the_platform_says_so(fixture: &Fixture) {
        let store = fixture.store();
        fixture.employ("one").await;
        let is = |id: &str| KnownTagMember::Member(id.to_owned());
        change(store, vec![
            below("1", None),
            below("2", Some("1")),
            member("one", &["2"]),
            tagged("lower", &[is("one")]),
            tagged("upper", &[is("ONE"), KnownTagMember::Department("1".to_owned())]),
        ]).await;
        let groups = |found: Vec<RuleSubject>| found.into_iter().find(|it| it.key.id() == "one").unwrap().memberships;
        let by_key = groups(subjects_of(store, 5, false).await);
        assert_eq!(by_key.departments, texts(&["1", "2"]).into_iter().collect::<BTreeSet<_>>());
        assert_eq!(by_key.tags, texts(&["lower", "upper"]).into_iter().collect::<BTreeSet<_>>());
        let exact = groups(subjects_of(store, 5, true).await);
        assert_eq!(exact.departments, BTreeSet::new());
        assert_eq!(exact.tags, texts(&["upper"]).into_iter().collect::<BTreeSet<_>>());
        let departments = |department: &str| {
            store.member_departments("ww".to_owned(), "one".to_owned(), department.to_owned())
        };
        let known = departments("1").await.unwrap();
        assert_eq!((known.direct.into_iter().collect::<Vec<_>>(), known.is_known), (texts(&["2"]), true));
        assert!(!departments("9").await.unwrap().is_known);
    }
}

const DEPARTMENTS: usize = 8;
const TAGS: usize = 4;
const PEOPLE: usize = 12;

/// A directory: the parent of each department, the departments of each person, and the people and departments of each tag.
#[derive(Debug)]
struct Tree {
    parents: Vec<Option<usize>>,
    members: Vec<BTreeSet<usize>>,
    tags: Vec<(BTreeSet<usize>, BTreeSet<usize>)>,
}

fn tree() -> impl Strategy<Value = Tree> {
    let some = |of: usize| proptest::collection::btree_set(0..of, 0..3);
    let parents = proptest::collection::vec(proptest::option::weighted(0.8, 0..DEPARTMENTS), DEPARTMENTS);
    let members = proptest::collection::vec(some(DEPARTMENTS), PEOPLE);
    let tags = proptest::collection::vec((some(PEOPLE), some(DEPARTMENTS)), TAGS);
    (parents, members, tags).prop_map(|(parents, members, tags)| Tree { parents, members, tags })
}

fn person(number: usize) -> String {
    format!("person{number:02}")
}

impl Tree {
    fn changes(&self) -> Vec<DirectoryChange> {
        let departments = self.parents.iter().enumerate();
        let departments =
            departments.map(|(id, parent)| below(&id.to_string(), parent.map(|id| id.to_string()).as_deref()));
        let members = self.members.iter().enumerate().map(|(number, departments)| DirectoryChange::SetMember {
            key: person(number),
            departments: departments.iter().map(ToString::to_string).collect(),
        });
        let tags = self.tags.iter().enumerate().map(|(tag, (people, departments))| {
            let people = people.iter().map(|number| KnownTagMember::Member(person(*number)));
            let departments = departments.iter().map(|id| KnownTagMember::Department(id.to_string()));
            tagged(&tag.to_string(), &people.chain(departments).collect::<Vec<_>>())
        });
        departments.chain(members).chain(tags).collect()
    }

    /// The rule: a department's members are its own and those of the departments below it.
    fn memberships(&self, number: usize) -> Memberships {
        let mut departments = self.members[number].clone();
        for _ in 0..DEPARTMENTS {
            let above: Vec<_> = departments.iter().filter_map(|id| self.parents[*id]).collect();
            departments.extend(above);
        }
        let tags = self.tags.iter().enumerate();
        let tags = tags.filter(|(_, (people, of))| people.contains(&number) || !of.is_disjoint(&departments));
        Memberships {
            tags: tags.map(|(tag, _)| tag.to_string()).collect(),
            departments: departments.iter().map(ToString::to_string).collect(),
        }
    }
}

on_every_store! {
    async fn one_person_and_all_people_are_found_as_the_rule_says(fixture: &Fixture) {
        let (store, mut runner) = (fixture.store(), TestRunner::default());
        for number in 0..PEOPLE {
            fixture.employ(&person(number)).await;
        }
        for _ in 0..10 {
            let tree = tree().new_tree(&mut runner).unwrap().current();
            // Over the previous directory: what is not in the new one goes.
            change(store, tree.changes()).await;
            let found = subjects(store, 5).await;
            assert_eq!(found.len(), PEOPLE + 1);
            for number in 0..PEOPLE {
                let expected = tree.memberships(number);
                assert_eq!(of(store, &person(number)).await, expected, "{number} in {tree:?}");
                let subject = found.iter().find(|subject| subject.key == key(&person(number))).unwrap();
                assert_eq!(subject.memberships, expected, "{number} in {tree:?}");
            }
        }
    }
}
