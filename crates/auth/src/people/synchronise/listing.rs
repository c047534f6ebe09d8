//! The directory as the platform lists it.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use deskpass_core::{Memberships, RuleGroup};
use deskpass_platform::{
    Answer, DirectoryDepartment, DirectoryMember, DirectoryPage, DirectoryTag, Error as PlatformError, Meaning,
    Profile, TagMember,
};
use deskpass_store::KnownTagMember;

use super::calls::Calls;
use super::report::SyncStep;
use super::run::SyncRun;
use crate::{Auth, Error};

/// The directory of the platform.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) departments: BTreeMap<String, DirectoryDepartment>,
    /// The members, by the identifier of the stored directory.
    pub(super) members: HashMap<String, ListedMember>,
    /// `None` if the application may not see tags.
    pub(super) tags: Option<Vec<ListedTag>>,
    /// The departments whose members, and those whose children the platform did not let the application read.
    pub(super) unread: BTreeSet<String>,
    pub(super) unread_children: BTreeSet<String>,
    /// The departments of members that were not read, and stay as they are stored.
    pub(super) kept: HashMap<String, BTreeSet<String>>,
    pub(super) ignores_case: bool,
}

/// A member.
#[derive(Debug)]
pub(super) struct ListedMember {
    pub(super) userid: String,
    pub(super) departments: BTreeSet<String>,
    pub(super) profile: Profile,
}

/// A tag.
#[derive(Debug)]
pub(super) struct ListedTag {
    pub(super) tag: DirectoryTag,
    /// `None` if they were not read.
    pub(super) members: Option<Vec<KnownTagMember>>,
}

impl Listing {
    /// Reads the directory. Fails if a part of it cannot be read, except tags, which need a permission of their own, and parts that
    /// the application may not see.
    pub(super) async fn read(auth: &Auth, run: &mut SyncRun<'_>) -> Result<Self, Error> {
        let mut reader = Reader { auth, calls: Calls::new(auth, run.options.force), run };
        let listing = reader.listing().await;
        // Calls count also if one of them failed.
        reader.calls.settle(auth).await?;
        listing
    }

    fn add(&mut self, auth: &Auth, department: &str, member: DirectoryMember) {
        let DirectoryMember { userid, departments, profile } = member;
        // A member who cannot be an employee cannot sign in either.
        let Some(id) = auth.member_id(&userid) else { return };
        let new = || ListedMember { userid, departments: BTreeSet::new(), profile };
        let listed = self.members.entry(id).or_insert_with(new);
        listed.departments.extend(departments);
        listed.departments.insert(department.to_owned());
    }

    /// Whether the platform has a group, as far as it tells.
    pub(super) fn has_group(&self, group: &RuleGroup) -> bool {
        match group {
            // The root is not always listed itself, but it is a parent.
            RuleGroup::Department(id) => {
                let is_parent = |department: &DirectoryDepartment| department.parent.as_ref() == Some(id);
                self.departments.contains_key(id) || self.departments.values().any(is_parent)
            }
            RuleGroup::Tag(id) => self.tags.as_ref().is_none_or(|tags| tags.iter().any(|listed| listed.tag.id == *id)),
        }
    }

    /// The member with this identifier.
    pub(super) fn member(&self, userid: &str) -> Option<&ListedMember> {
        if self.ignores_case { self.members.get(&userid.to_ascii_lowercase()) } else { self.members.get(userid) }
    }

    /// The departments of each member, by the identifier of the stored directory.
    pub(super) fn departments_by_member(&self) -> HashMap<&str, BTreeSet<&str>> {
        let mut by_member: HashMap<&str, BTreeSet<&str>> = HashMap::with_capacity(self.members.len());
        let listed = self.members.iter().map(|(id, member)| (id, &member.departments));
        for (id, departments) in listed.chain(&self.kept) {
            by_member.entry(id).or_default().extend(departments.iter().map(String::as_str));
        }
        by_member.retain(|_, departments| !departments.is_empty());
        by_member
    }

    /// The groups of all members.
    pub(super) fn memberships(&self) -> ListedMemberships<'_> {
        let parent = |department: &DirectoryDepartment| Some((department.id.clone(), department.parent.clone()?));
        let parents = self.departments.values().filter_map(parent).collect();
        ListedMemberships { departments: self.departments_by_member(), parents, tags: self.tags.as_deref() }
    }
}

/// The groups of all members.
#[derive(Debug)]
pub(super) struct ListedMemberships<'a> {
    departments: HashMap<&'a str, BTreeSet<&'a str>>,
    parents: HashMap<String, String>,
    tags: Option<&'a [ListedTag]>,
}

impl ListedMemberships<'_> {
    /// The groups of a member, by the identifier of the stored directory. What was not read of tags stays as it is `stored`.
    pub(super) fn of(&self, member: &str, stored: &Memberships) -> Memberships {
        let departments = self.departments.get(member).into_iter().flatten().copied();
        let Memberships { departments, .. } = Memberships::new(departments, [], &self.parents);
        let Some(listed) = self.tags else { return Memberships { departments, tags: stored.tags.clone() } };
        let is_member = |known: &KnownTagMember| match known {
            KnownTagMember::Member(id) => id == member,
            KnownTagMember::Department(id) => departments.contains(id),
        };
        let has = |tag: &&ListedTag| match &tag.members {
            Some(members) => members.iter().any(is_member),
            None => stored.tags.contains(&tag.tag.id),
        };
        let tags = listed.iter().filter(has).map(|listed| listed.tag.id.clone()).collect();
        Memberships { departments, tags }
    }
}

/// Reads the parts of the directory, at a pace.
struct Reader<'a, 'b> {
    auth: &'a Auth,
    calls: Calls,
    run: &'a mut SyncRun<'b>,
}

impl Reader<'_, '_> {
    async fn listing(&mut self) -> Result<Listing, Error> {
        let auth = self.auth;
        let mut listing = Listing { ignores_case: !auth.platform.kind().distinguishes_case(), ..Listing::default() };
        self.departments(&mut listing).await?;
        let root = auth.platform.root_department();
        let ids: BTreeSet<_> =
            listing.departments.keys().map(String::as_str).chain([root]).map(str::to_owned).collect();
        for id in ids {
            match self.members(&id).await? {
                Some(members) => members.into_iter().for_each(|member| listing.add(auth, &id, member)),
                // An application whose range is a few departments may not see the topmost one, which has no members for it. Of
                // another department that is not known to be so.
                None if id == root => {}
                None => {
                    listing.unread.insert(id);
                }
            }
            self.step(SyncStep::Members, listing.members.len(), None).await?;
        }
        listing.tags = self.tags().await?;
        Ok(listing)
    }

    /// Says how far the run is, and makes sure that it is still this node's.
    async fn step(&mut self, step: SyncStep, done: usize, total: Option<usize>) -> Result<(), Error> {
        self.run.note(step, done, total);
        self.calls.settle_some(self.auth).await?;
        self.auth.renew(&mut self.run.lease).await
    }

    async fn departments(&mut self, listing: &mut Listing) -> Result<(), Error> {
        let (auth, found) = (self.auth, &mut listing.departments);
        let platform = &auth.platform;
        let root = platform.root_department();
        let mut parents = VecDeque::from([root.to_owned()]);
        while let Some(parent) = parents.pop_front() {
            let id = &*parent;
            let page = |cursor: Option<String>| -> Answer<'_, DirectoryPage<DirectoryDepartment>> {
                Box::pin(async move { platform.departments(id, cursor.as_deref()).await })
            };
            let children = visible(self.calls.read_all(page).await)?;
            if children.is_none() && parent != root {
                listing.unread_children.insert(parent.clone());
            }
            let children = children.unwrap_or_default();
            let lists_all = children.iter().any(|listed| is_below_child(listed, &parent));
            for listed in children {
                // Some platforms list all departments below one at once, and need not be asked about each.
                if !lists_all && listed.id != parent && !found.contains_key(&listed.id) {
                    parents.push_back(listed.id.clone());
                }
                found.insert(listed.id.clone(), listed);
            }
            let done = found.len();
            self.step(SyncStep::Departments, done, None).await?;
        }
        Ok(())
    }

    /// The members of a department; `None` if the application may not see them.
    async fn members(&mut self, department: &str) -> Result<Option<Vec<DirectoryMember>>, Error> {
        let auth = self.auth;
        let page = |cursor: Option<String>| -> Answer<'_, DirectoryPage<DirectoryMember>> {
            Box::pin(async move { auth.platform.members(department, cursor.as_deref()).await })
        };
        Ok(visible(self.calls.read_all(page).await)?)
    }

    /// The tags; `None` if the application may not see them. Only those in rules have members: a tag may have everyone.
    async fn tags(&mut self) -> Result<Option<Vec<ListedTag>>, Error> {
        let tags = match self.tag_list().await {
            Ok(tags) => tags,
            Err(error) => {
                tracing::info!(%error, "could not read the tags from the platform; the known ones stay");
                return Ok(None);
            }
        };
        let rules = self.auth.all_role_rules().await?;
        let in_rules = |id: &str| rules.iter().any(|rule| matches!(&rule.group, RuleGroup::Tag(tag) if tag == id));
        let (total, mut listed) = (tags.len(), Vec::with_capacity(tags.len()));
        for tag in tags {
            let members = if in_rules(&tag.id) { self.members_of_tag(&tag.id).await } else { None };
            listed.push(ListedTag { tag, members });
            self.step(SyncStep::Tags, listed.len(), Some(total)).await?;
        }
        Ok(Some(listed))
    }

    async fn tag_list(&mut self) -> Result<Vec<DirectoryTag>, PlatformError> {
        let auth = self.auth;
        let page = |cursor: Option<String>| -> Answer<'_, DirectoryPage<DirectoryTag>> {
            Box::pin(async move { auth.platform.tags(cursor.as_deref()).await })
        };
        self.calls.read_all(page).await
    }

    /// The members of a tag; `None` if they cannot be read.
    async fn members_of_tag(&mut self, tag: &str) -> Option<Vec<KnownTagMember>> {
        let auth = self.auth;
        let page = |cursor: Option<String>| -> Answer<'_, DirectoryPage<TagMember>> {
            Box::pin(async move { auth.platform.tag_members(tag, cursor.as_deref()).await })
        };
        let members = self.calls.read_all(page).await;
        let members = members.inspect_err(|error| tracing::info!(%error, tag, "could not read the members of a tag"));
        Some(members.ok()?.into_iter().filter_map(|member| auth.known_tag_member(member)).collect())
    }
}

/// Whether a department in the answer about `parent` is below one of its children.
fn is_below_child(listed: &DirectoryDepartment, parent: &str) -> bool {
    listed.id != parent && listed.parent.as_deref().is_some_and(|other| other != parent)
}

/// A list; `None` if the application may not see what it is about, such as the topmost department.
fn visible<T>(answer: Result<T, PlatformError>) -> Result<Option<T>, PlatformError> {
    match answer {
        Ok(list) => Ok(Some(list)),
        Err(error) if error.is_refused_as(Meaning::OutOfRange) || error.is_refused_as(Meaning::Gone) => Ok(None),
        Err(error) => Err(error),
    }
}
