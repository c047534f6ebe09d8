//! The platform's directory is what the changes say, batch by batch, for each corporation alone.

use deskpass_store::{DirectoryChange, KnownDepartment, KnownTagMember, Store};

use crate::agents::fixture::{Fixture, on_every_store};
use crate::lists::scene::bulk;

const MEMBERS: usize = 450;

fn department(id: &str, parent: Option<&str>, name: &str) -> KnownDepartment {
    KnownDepartment { id: id.to_owned(), parent: parent.map(str::to_owned), name: name.to_owned() }
}

fn member(key: &str, departments: &[&str]) -> DirectoryChange {
    let departments = departments.iter().map(|id| (*id).to_owned()).collect();
    DirectoryChange::SetMember { key: key.to_owned(), departments }
}

fn person(key: &str) -> KnownTagMember {
    KnownTagMember::Member(key.to_owned())
}

fn of_department(id: &str) -> KnownTagMember {
    KnownTagMember::Department(id.to_owned())
}

async fn change(store: &Store, corp: &str, changes: Vec<DirectoryChange>) {
    store.change_directory(corp.to_owned(), changes).await.unwrap();
}

/// All members, in pages of this size.
async fn members(store: &Store, corp: &str, limit: i64) -> Vec<(String, Vec<String>)> {
    let (mut all, mut after): (Vec<(String, Vec<String>)>, _) = (Vec::new(), None);
    loop {
        let page = store.known_members(corp.to_owned(), after, limit).await.unwrap();
        assert!(i64::try_from(page.len()).unwrap() <= limit);
        let Some((last, _)) = page.last() else { return all };
        after = Some(last.clone());
        all.extend(page);
    }
}

async fn tag_members(store: &Store, corp: &str, tag: &str) -> Vec<KnownTagMember> {
    store.known_tag_members(corp.to_owned(), tag.to_owned()).await.unwrap()
}

on_every_store! {
    async fn departments_and_tags_are_set_renamed_and_removed(fixture: &Fixture) {
        let store = fixture.store();
        let tag = |id: &str, name: &str| DirectoryChange::SetTag { id: id.to_owned(), name: name.to_owned() };
        let (one, two) = (department("1", None, "All"), department("2", Some("1"), "IT"));
        change(store, "ww", vec![DirectoryChange::SetDepartment(two.clone()), DirectoryChange::SetDepartment(one.clone()), tag("t", "Tag"), tag("u", "Other")]).await;
        change(store, "wwother", vec![DirectoryChange::SetDepartment(two.clone()), tag("t", "Theirs")]).await;
        assert_eq!(store.known_departments("ww".to_owned()).await.unwrap(), [one, two.clone()]);
        let moved = department("2", None, "Service desk");
        change(store, "ww", vec![
            DirectoryChange::SetDepartment(moved.clone()),
            DirectoryChange::RemoveDepartment("1".to_owned()),
            tag("t", "Renamed"),
            DirectoryChange::RemoveTag("u".to_owned()),
        ]).await;
        assert_eq!(store.known_departments("ww".to_owned()).await.unwrap(), [moved]);
        assert_eq!(store.known_tags("ww".to_owned()).await.unwrap(), [("t".to_owned(), "Renamed".to_owned())]);
        assert_eq!(store.known_departments("wwother".to_owned()).await.unwrap(), [two]);
        assert_eq!(store.known_tags("wwother".to_owned()).await.unwrap(), [("t".to_owned(), "Theirs".to_owned())]);
    }
}

on_every_store! {
    async fn members_have_the_departments_set_last(fixture: &Fixture) {
        let store = fixture.store();
        let key = |number: usize| format!("member{number:03}");
        let all: Vec<_> = (0..MEMBERS).map(|number| member(&key(number), &["1", "2"][number % 2..])).collect();
        for batch in all.chunks(200) {
            change(store, "ww", batch.to_vec()).await;
        }
        change(store, "wwother", vec![member("member000", &["9"])]).await;
        let found = members(store, "ww", 100).await;
        assert_eq!(found.len(), MEMBERS);
        for (number, (found, departments)) in found.iter().enumerate() {
            assert_eq!((found, departments.len()), (&key(number), 2 - number % 2), "each once, in order");
        }
        change(store, "ww", vec![
            member("member000", &["3", "1", "3"]),
            member("member001", &[]),
            DirectoryChange::RemoveMember("member002".to_owned()),
            member("member003", &["2"]),
        ]).await;
        let found = members(store, "ww", 7).await;
        assert_eq!(found.len(), MEMBERS - 2);
        assert_eq!(found[0], ("member000".to_owned(), vec!["1".to_owned(), "3".to_owned()]));
        assert_eq!(found[1], ("member003".to_owned(), vec!["2".to_owned()]));
        change(store, "ww", vec![DirectoryChange::RemoveDepartment("2".to_owned())]).await;
        let found = members(store, "ww", 100).await;
        assert!(found.iter().all(|(_, departments)| !departments.contains(&"2".to_owned())));
        assert_eq!(found.len(), MEMBERS / 2 - 1, "those who are in another one as well");
        assert_eq!(members(store, "wwother", 100).await.len(), 1);
    }
}

on_every_store! {
    async fn tags_have_the_members_set_last(fixture: &Fixture) {
        let store = fixture.store();
        let set = |tag: &str, members: Vec<KnownTagMember>| DirectoryChange::SetTagMembers { tag: tag.to_owned(), members };
        let mut many: Vec<_> = (0..MEMBERS).map(|number| person(&format!("member{number:03}"))).collect();
        many.push(of_department("2"));
        change(store, "ww", vec![set("t", many.clone()), set("u", vec![person("member007"), of_department("2"), person("member007")])]).await;
        change(store, "wwother", vec![set("t", vec![person("member007")])]).await;
        assert_eq!(tag_members(store, "ww", "t").await, many);
        assert_eq!(tag_members(store, "ww", "u").await, [person("member007"), of_department("2")]);
        many.retain(|member| *member != person("member011"));
        many.push(of_department("3"));
        change(store, "ww", vec![set("t", many.clone())]).await;
        assert_eq!(tag_members(store, "ww", "t").await, many);
        change(store, "ww", vec![DirectoryChange::RemoveMember("member007".to_owned()), DirectoryChange::RemoveDepartment("2".to_owned())]).await;
        assert!(tag_members(store, "ww", "u").await.is_empty(), "gone from all tags");
        assert_eq!(tag_members(store, "ww", "t").await.len(), many.len() - 2);
        change(store, "ww", vec![DirectoryChange::RemoveTag("t".to_owned()), set("v", Vec::new())]).await;
        assert!(tag_members(store, "ww", "t").await.is_empty());
        assert_eq!(tag_members(store, "wwother", "t").await, [person("member007")]);
    }
}

on_every_store! {
    async fn concurrent_changes_of_one_member_do_not_fail(fixture: &Fixture) {
        for round in 0..20 {
            let (here, there) = (fixture.node(0), fixture.node(1));
            let departments = [format!("{round}"), format!("{round} too")];
            let set = |at: usize| vec![member("member", &["1", departments[at].as_str()])];
            tokio::join!(change(&here, "ww", set(0)), change(&there, "ww", set(1)));
            let found = members(&here, "ww", 10).await;
            assert!(found.len() == 1 && found[0].1.contains(&"1".to_owned()), "round {round}: {found:?}");
        }
    }
}

on_every_store! {
    async fn changes_of_very_many_rows_are_made_as_well(fixture: &Fixture) {
        let store = fixture.store();
        bulk(fixture, "INSERT INTO directory_member (corp_id, employee_key, department) SELECT 'ww', 'member' || n, '1' FROM numbers", 2_500).await;
        change(store, "ww", vec![DirectoryChange::SetDepartment(department("1", None, "All"))]).await;
        let set = |members: Vec<KnownTagMember>| DirectoryChange::SetTagMembers { tag: "t".to_owned(), members };
        let all: Vec<_> = (0..2_500).map(|number| person(&format!("member{number:04}"))).collect();
        change(store, "ww", vec![member("first", &["2"]), set(all.clone()), member("last", &["2"])]).await;
        assert_eq!(tag_members(store, "ww", "t").await, all);
        change(store, "ww", vec![set(all[2_000..].to_vec()), DirectoryChange::RemoveDepartment("1".to_owned())]).await;
        assert_eq!(tag_members(store, "ww", "t").await, all[2_000..]);
        assert_eq!(members(store, "ww", 100).await.len(), 2);
        change(store, "ww", vec![set(all), DirectoryChange::RemoveTag("t".to_owned())]).await;
        assert!(tag_members(store, "ww", "t").await.is_empty());
    }
}
