//! Tags in new rules, whose members are read at once, so that the rules have an effect before the next synchronisation.

use std::collections::HashMap;
use std::time::Duration;

use deskpass_core::{Digest, EmployeeKey, Memberships, RoleRule, RuleGroup};
use deskpass_platform::Error as PlatformError;
use deskpass_store::{DirectoryChange, KnownTagMember};

use super::lookups::no_calls_left;
use super::pace::{LookupPurpose, Pace};
use crate::{Auth, Error, InternalError};

const CALLS_PER_SECOND: u32 = 10;
/// The most calls for one list of rules. The synchronisation reads the rest.
const MAX_CALLS: u32 = 50;
/// How often an administrator may have the platform asked for a preview.
const MAX_PREVIEWS: u32 = 10;
const PREVIEW_PERIOD: Duration = Duration::from_mins(1);

/// The members of tags that rules did not name before.
#[derive(Debug, Default)]
pub(crate) struct NewTags {
    members: HashMap<String, Vec<KnownTagMember>>,
    /// Whether there are others that could not be read.
    pub(crate) is_incomplete: bool,
}

impl NewTags {
    /// The groups of a member, given those that are stored.
    pub(crate) fn memberships(&self, member: &str, mut stored: Memberships) -> Memberships {
        for (tag, members) in &self.members {
            let is_member = members.iter().any(|known| match known {
                KnownTagMember::Member(id) => id == member,
                KnownTagMember::Department(id) => stored.departments.contains(id),
            });
            if is_member {
                stored.tags.insert(tag.clone());
            } else {
                stored.tags.remove(tag);
            }
        }
        stored
    }

    /// What must change about the stored directory, in which the tags `known` have a name.
    fn changes(self, known: &[(String, String)]) -> Vec<DirectoryChange> {
        let mut changes = Vec::new();
        for (tag, members) in self.members {
            if known.iter().all(|(id, _)| *id != tag) {
                // So that the synchronisation removes it if the platform does not list it.
                changes.push(DirectoryChange::SetTag { id: tag.clone(), name: tag.clone() });
            }
            changes.push(DirectoryChange::SetTagMembers { tag, members });
        }
        changes
    }
}

impl Auth {
    /// Reads the members of the tags in these rules that current rules do not name: those are up to date. A failure of the platform is
    /// no reason to refuse the rules. Stores nothing.
    pub(crate) async fn read_new_tags(&self, rules: &[RoleRule]) -> Result<NewTags, Error> {
        let (mut read, mut calls) = (NewTags::default(), TagCalls::new());
        for tag in self.new_tags(rules).await? {
            match self.tag_members(&tag, &mut calls).await {
                Ok(members) => drop(read.members.insert(tag, members)),
                Err(Error::Internal(InternalError::Platform(error))) => {
                    tracing::info!(%error, tag, "could not read the members of a tag from the platform");
                    read.is_incomplete = true;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(read)
    }

    /// Stores the members of new tags.
    pub(crate) async fn store_new_tags(&self, tags: NewTags) -> Result<(), Error> {
        if tags.members.is_empty() {
            return Ok(());
        }
        let corp = self.policy.home_corp.as_str();
        let known = self.store.known_tags(corp.to_owned()).await?;
        for change in tags.changes(&known) {
            // One at a time: a tag may have everyone.
            self.store.change_directory(corp.to_owned(), vec![change]).await?;
        }
        Ok(())
    }

    /// Counts a preview that asks the platform, and refuses it if there were too many.
    pub(crate) async fn limit_previews(&self, by: &EmployeeKey, rules: &[RoleRule]) -> Result<(), Error> {
        if self.new_tags(rules).await?.is_empty() {
            return Ok(());
        }
        let key = Digest::of(&[b"role rule preview", by.corp().as_bytes(), by.id().as_bytes()]);
        Ok(self.limit(key, MAX_PREVIEWS, PREVIEW_PERIOD).await?)
    }

    /// The tags in these rules that no current rule names.
    async fn new_tags(&self, rules: &[RoleRule]) -> Result<Vec<String>, Error> {
        let current = self.all_role_rules().await?;
        let names = |rules: &[RoleRule], tag: &str| {
            rules.iter().any(|rule| matches!(&rule.group, RuleGroup::Tag(named) if named == tag))
        };
        let mut tags = Vec::new();
        for rule in rules {
            if let RuleGroup::Tag(tag) = &rule.group
                && !names(&current, tag)
                && !tags.contains(tag)
            {
                tags.push(tag.clone());
            }
        }
        Ok(tags)
    }

    async fn tag_members(&self, tag: &str, calls: &mut TagCalls) -> Result<Vec<KnownTagMember>, Error> {
        let (mut members, mut cursor) = (Vec::new(), None::<String>);
        loop {
            calls.begin(self).await?;
            let page = self.platform.tag_members(tag, cursor.as_deref()).await?;
            members.extend(page.items.into_iter().filter_map(|member| self.known_tag_member(member)));
            cursor = page.next;
            if cursor.is_none() {
                return Ok(members);
            }
        }
    }
}

/// The calls for one list of rules: few, at a pace, and within the budget of the day.
struct TagCalls {
    pace: Pace,
    remaining: u32,
}

impl TagCalls {
    fn new() -> Self {
        Self { pace: Pace::per_second(CALLS_PER_SECOND), remaining: MAX_CALLS }
    }

    /// Waits until a call may begin.
    async fn begin(&mut self, auth: &Auth) -> Result<(), Error> {
        self.remaining = self.remaining.checked_sub(1).ok_or_else(too_many)?;
        if !auth.take_lookup(LookupPurpose::Other).await? {
            return Err(no_calls_left().into());
        }
        self.pace.wait().await;
        Ok(())
    }
}

fn too_many() -> PlatformError {
    tracing::info!(calls = MAX_CALLS, "the tags of new role rules are many; the synchronisation reads the rest");
    no_calls_left()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new_tags(members: &[KnownTagMember]) -> NewTags {
        NewTags { members: [("t".to_owned(), members.to_vec())].into(), is_incomplete: false }
    }

    #[test]
    fn what_was_read_replaces_what_is_stored_in_memory_only() {
        let stored = |tags: &[&str]| Memberships {
            departments: ["2".to_owned()].into(),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        };
        let of = |tags: &NewTags, known: &[&str]| tags.memberships("a", stored(known)).tags;
        let (person, department) = (KnownTagMember::Member("a".into()), KnownTagMember::Department("2".into()));
        for members in [vec![person], vec![department]] {
            assert_eq!(of(&new_tags(&members), &["other"]), stored(&["other", "t"]).tags);
        }
        let others = [KnownTagMember::Member("A".into()), KnownTagMember::Department("3".into())];
        assert_eq!(of(&new_tags(&others), &["other", "t"]), stored(&["other"]).tags, "no longer a member");
    }

    #[test]
    fn a_tag_without_a_name_is_stored_with_one() {
        let of = |known: &[(String, String)]| new_tags(&[]).changes(known).len();
        assert_eq!(of(&[]), 2);
        assert_eq!(of(&[("t".to_owned(), "T".to_owned())]), 1);
    }
}
