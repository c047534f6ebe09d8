//! The stored directory, and what must change about it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use deskpass_platform::DirectoryDepartment;
use deskpass_store::{DirectoryChange, KnownDepartment, KnownTagMember};

use super::super::leaver_guard::is_too_many;
use super::listing::{ListedTag, Listing};
use crate::{Auth, Error};

const PAGE_SIZE: i64 = 1_000;

/// The directory as it was at the last synchronisation.
#[derive(Debug, Default)]
pub(super) struct StoredDirectory {
    departments: BTreeMap<String, KnownDepartment>,
    /// The departments of each member.
    members: HashMap<String, BTreeSet<String>>,
    /// The names of the tags.
    tags: BTreeMap<String, String>,
    tag_members: HashMap<String, Vec<KnownTagMember>>,
}

impl StoredDirectory {
    /// Reads the stored directory.
    pub(super) async fn read(auth: &Auth, corp: &str) -> Result<Self, Error> {
        let (mut stored, mut after) = (Self::default(), None);
        let departments = auth.store.known_departments(corp.to_owned()).await?;
        stored.departments = departments.into_iter().map(|department| (department.id.clone(), department)).collect();
        loop {
            let page = auth.store.known_members(corp.to_owned(), after, PAGE_SIZE).await?;
            after = page.last().map(|(key, _)| key.clone());
            stored.members.extend(page.into_iter().map(|(key, departments)| (key, departments.into_iter().collect())));
            if after.is_none() {
                break;
            }
        }
        stored.tags = auth.store.known_tags(corp.to_owned()).await?.into_iter().collect();
        for tag in stored.tags.keys() {
            let members = auth.store.known_tag_members(corp.to_owned(), tag.clone()).await?;
            stored.tag_members.insert(tag.clone(), members);
        }
        Ok(stored)
    }

    /// The members whose departments changed since this was read: they signed in, and the platform said where they are now. That is newer
    /// than a listing that began before.
    pub(super) async fn moved_since(&self, auth: &Auth, corp: &str) -> Result<BTreeSet<String>, Error> {
        let (mut moved, mut after) = (BTreeSet::new(), None);
        loop {
            let page = auth.store.known_members(corp.to_owned(), after, PAGE_SIZE).await?;
            after = page.last().map(|(member, _)| member.clone());
            let is_moved = |(member, now): &(String, Vec<String>)| {
                let before = self.members.get(member);
                before.is_none_or(|before| *before != now.iter().cloned().collect::<BTreeSet<_>>())
            };
            moved.extend(page.into_iter().filter(is_moved).map(|(member, _)| member));
            if after.is_none() {
                return Ok(moved);
            }
        }
    }

    /// Adds to a listing what the application was not let read, as it is stored: that is not known to be gone.
    pub(super) fn keep_unread(&self, listing: &mut Listing) {
        for department in self.departments.values() {
            if !listing.departments.contains_key(&department.id) && self.is_below(department, &listing.unread_children)
            {
                let KnownDepartment { id, parent, name } = department.clone();
                listing.unread.insert(id.clone());
                listing.departments.insert(id.clone(), DirectoryDepartment { id, parent, name });
            }
        }
        if listing.unread.is_empty() {
            return;
        }
        for (member, departments) in &self.members {
            let kept: BTreeSet<_> = departments.intersection(&listing.unread).cloned().collect();
            if !kept.is_empty() {
                listing.kept.insert(member.clone(), kept);
            }
        }
    }

    /// Whether a department is below one of these.
    fn is_below(&self, department: &KnownDepartment, others: &BTreeSet<String>) -> bool {
        let mut next = department.parent.as_deref();
        // Not more steps than there are departments, so that a tree with a loop ends as well.
        for _ in 0..self.departments.len() {
            let Some(id) = next else { return false };
            if others.contains(id) {
                return true;
            }
            next = self.departments.get(id).and_then(|above| above.parent.as_deref());
        }
        false
    }

    /// How many members are missing from the listing, if they are so many that it is not believed.
    pub(super) fn unbelievable_loss(&self, listing: &Listing) -> Option<usize> {
        let listed = listing.departments_by_member();
        let lost = self.members.keys().filter(|member| !listed.contains_key(member.as_str())).count();
        let is_unbelievable = (lost > 0 && listed.is_empty()) || is_too_many(lost, self.members.len());
        is_unbelievable.then_some(lost)
    }

    /// What must change, except about members who `moved` meanwhile. `rule_tags` are the tags in rules: one that the platform does not
    /// list has no members, whether it was stored as a tag or not.
    pub(super) fn changes_to(
        &self,
        listing: &Listing,
        moved: &BTreeSet<String>,
        rule_tags: &BTreeSet<String>,
    ) -> Vec<DirectoryChange> {
        let mut changes = self.department_changes(listing);
        changes.extend(self.member_changes(listing, moved));
        changes.extend(listing.tags.as_deref().map(|tags| self.tag_changes(tags, rule_tags)).unwrap_or_default());
        changes
    }

    fn department_changes(&self, listing: &Listing) -> Vec<DirectoryChange> {
        let mut changes = Vec::new();
        for (id, listed) in &listing.departments {
            let differs = |known: &KnownDepartment| known.parent != listed.parent || known.name != listed.name;
            if self.departments.get(id).is_none_or(differs) {
                let (id, parent, name) = (id.clone(), listed.parent.clone(), listed.name.clone());
                changes.push(DirectoryChange::SetDepartment(KnownDepartment { id, parent, name }));
            }
        }
        let gone = self.departments.keys().filter(|id| !listing.departments.contains_key(*id));
        changes.extend(gone.cloned().map(DirectoryChange::RemoveDepartment));
        changes
    }

    fn member_changes(&self, listing: &Listing, moved: &BTreeSet<String>) -> Vec<DirectoryChange> {
        let listed = listing.departments_by_member();
        let is_known = |member: &str, departments: &BTreeSet<&str>| {
            let known = self.members.get(member);
            known.is_some_and(|known| known.iter().map(String::as_str).eq(departments.iter().copied()))
        };
        let changed =
            listed.iter().filter(|(member, departments)| !moved.contains(**member) && !is_known(member, departments));
        let set = changed.map(|(member, departments)| DirectoryChange::SetMember {
            key: (*member).to_owned(),
            departments: departments.iter().map(|id| (*id).to_owned()).collect(),
        });
        let gone =
            self.members.keys().filter(|member| !listed.contains_key(member.as_str()) && !moved.contains(*member));
        set.chain(gone.cloned().map(DirectoryChange::RemoveMember)).collect()
    }

    fn tag_changes(&self, listed: &[ListedTag], rule_tags: &BTreeSet<String>) -> Vec<DirectoryChange> {
        let mut changes = Vec::new();
        for ListedTag { tag, members } in listed {
            if self.tags.get(&tag.id) != Some(&tag.name) {
                changes.push(DirectoryChange::SetTag { id: tag.id.clone(), name: tag.name.clone() });
            }
            let Some(members) = members else { continue };
            let known: BTreeSet<_> = self.tag_members.get(&tag.id).into_iter().flatten().collect();
            // A set, so that each is stored once.
            let members: BTreeSet<_> = members.iter().collect();
            if known != members {
                let members = members.into_iter().cloned().collect();
                changes.push(DirectoryChange::SetTagMembers { tag: tag.id.clone(), members });
            }
        }
        let known: BTreeSet<&String> = self.tags.keys().chain(rule_tags).collect();
        let gone = known.into_iter().filter(|id| listed.iter().all(|listed| listed.tag.id != **id));
        changes.extend(gone.cloned().map(DirectoryChange::RemoveTag));
        changes
    }
}

#[cfg(test)]
mod tests {
    use deskpass_platform::{Department, DirectoryTag, MemberStatus, Profile};

    use super::super::listing::ListedMember;
    use super::*;

    fn texts(texts: &[&str]) -> BTreeSet<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    /// Departments as `id` and `parent`, and members with their departments.
    fn stored(departments: &[(&str, Option<&str>)], members: &[(&str, &[&str])]) -> StoredDirectory {
        let department = |(id, parent): &(&str, Option<&str>)| {
            let (id, parent) = ((*id).to_owned(), parent.map(str::to_owned));
            (id.clone(), KnownDepartment { name: id.clone(), id, parent })
        };
        StoredDirectory {
            departments: departments.iter().map(department).collect(),
            members: members.iter().map(|(id, departments)| ((*id).to_owned(), texts(departments))).collect(),
            ..StoredDirectory::default()
        }
    }

    fn listing(departments: &[(&str, Option<&str>)], members: &[(&str, &[&str])]) -> Listing {
        let department = |(id, parent): &(&str, Option<&str>)| {
            let (id, parent) = ((*id).to_owned(), parent.map(str::to_owned));
            (id.clone(), DirectoryDepartment { name: id.clone(), id, parent })
        };
        let member = |(id, departments): &(&str, &[&str])| {
            let profile = Profile::empty(Department::Unspecified, MemberStatus::Active);
            ((*id).to_owned(), ListedMember { userid: (*id).to_owned(), departments: texts(departments), profile })
        };
        Listing {
            departments: departments.iter().map(department).collect(),
            members: members.iter().map(member).collect(),
            ..Listing::default()
        }
    }

    #[test]
    fn what_the_application_may_not_read_stays_as_it_is_stored() {
        let tree = [("1", None), ("2", Some("1")), ("3", Some("2")), ("4", Some("3"))];
        let known = stored(&tree, &[("a", &["2"]), ("b", &["4"]), ("c", &["1"])]);
        let mut listed = listing(&[("1", None), ("2", Some("1")), ("3", Some("2"))], &[("a", &["1"])]);
        (listed.unread, listed.unread_children) = (texts(&["2"]), texts(&["2"]));
        known.keep_unread(&mut listed);
        assert!(listed.departments.contains_key("4"), "below a department whose children are not visible");
        let by_member = listed.departments_by_member();
        assert_eq!(by_member.get("a"), Some(&BTreeSet::from(["1", "2"])));
        assert_eq!(by_member.get("b"), Some(&BTreeSet::from(["4"])));
        assert_eq!(by_member.get("c"), None, "department 1 was read");
        let mut complete = listing(&[("1", None), ("2", Some("1"))], &[]);
        known.keep_unread(&mut complete);
        assert!(complete.kept.is_empty() && complete.departments.len() == 2);
    }

    #[test]
    fn a_member_who_moved_meanwhile_is_not_moved_back() {
        let known = stored(&[("1", None)], &[("a", &["1"]), ("b", &["1"])]);
        let listed = listing(&[("1", None)], &[("c", &["1"])]);
        let changes = |moved: &[&str]| known.member_changes(&listed, &texts(moved)).len();
        assert_eq!(changes(&[]), 3);
        assert_eq!(changes(&["a", "c"]), 1);
    }

    #[test]
    fn a_tag_that_is_not_listed_has_no_members() {
        let known = StoredDirectory { tags: [("1".into(), "one".into())].into(), ..StoredDirectory::default() };
        let tag = DirectoryTag { id: "2".into(), name: "two".into() };
        let changes = known.tag_changes(&[ListedTag { tag, members: None }], &texts(&["2", "9"]));
        assert_eq!(
            changes,
            [
                DirectoryChange::SetTag { id: "2".into(), name: "two".into() },
                DirectoryChange::RemoveTag("1".into()),
                DirectoryChange::RemoveTag("9".into()),
            ]
        );
    }
}
