//! The stored directory, and what must change about it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use deskpass_store::{DirectoryChange, KnownDepartment, KnownTagMember};

use super::super::leaver_guard::is_too_many;
use super::listing::{ListedTag, Listing};
use crate::{Auth, Error};

const PAGE_SIZE: i64 = 1_000;

/// The directory as it was at the last synchronisation.
#[derive(Debug, Default)]
pub(super) struct StoredDirectory {
    departments: BTreeMap<String, KnownDepartment>,
    /// The departments of each member, by key.
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

    /// How many members are missing from the listing, if they are so many that it is not believed.
    pub(super) fn unbelievable_loss(&self, listing: &Listing) -> Option<usize> {
        let listed = listing.departments_by_key();
        let lost = self.members.keys().filter(|key| !listed.contains_key(key.as_str())).count();
        let is_unbelievable = (lost > 0 && listed.is_empty()) || is_too_many(lost, self.members.len());
        is_unbelievable.then_some(lost)
    }

    /// What must change.
    pub(super) fn changes_to(&self, listing: &Listing) -> Vec<DirectoryChange> {
        let mut changes = self.department_changes(listing);
        changes.extend(self.member_changes(listing));
        changes.extend(listing.tags.as_deref().map(|tags| self.tag_changes(tags)).unwrap_or_default());
        changes
    }

    fn department_changes(&self, listing: &Listing) -> Vec<DirectoryChange> {
        let mut changes = Vec::new();
        for (id, listed) in &listing.departments {
            let same = |known: &&KnownDepartment| known.parent == listed.parent && known.name == listed.name;
            if self.departments.get(id).filter(same).is_none() {
                let (id, parent, name) = (id.clone(), listed.parent.clone(), listed.name.clone());
                changes.push(DirectoryChange::SetDepartment(KnownDepartment { id, parent, name }));
            }
        }
        let gone = self.departments.keys().filter(|id| !listing.departments.contains_key(*id));
        changes.extend(gone.cloned().map(DirectoryChange::RemoveDepartment));
        changes
    }

    fn member_changes(&self, listing: &Listing) -> Vec<DirectoryChange> {
        let listed = listing.departments_by_key();
        let is_known = |key: &str, departments: &BTreeSet<&str>| {
            let known = self.members.get(key);
            known.is_some_and(|known| known.iter().map(String::as_str).eq(departments.iter().copied()))
        };
        let changed = listed.iter().filter(|(key, departments)| !is_known(key, departments));
        let set = changed.map(|(key, departments)| DirectoryChange::SetMember {
            key: (*key).to_owned(),
            departments: departments.iter().map(|id| (*id).to_owned()).collect(),
        });
        let gone = self.members.keys().filter(|key| !listed.contains_key(key.as_str()));
        set.chain(gone.cloned().map(DirectoryChange::RemoveMember)).collect()
    }

    fn tag_changes(&self, listed: &[ListedTag]) -> Vec<DirectoryChange> {
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
        let gone = self.tags.keys().filter(|id| listed.iter().all(|listed| listed.tag.id != **id));
        changes.extend(gone.cloned().map(DirectoryChange::RemoveTag));
        changes
    }
}
