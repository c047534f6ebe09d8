//! The directory as the platform lists it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::time::Duration;

use deskpass_core::{EmployeeKey, Memberships, RuleGroup};
use deskpass_platform::{
    Answer, DirectoryDepartment, DirectoryMember, DirectoryTag, Error as PlatformError, InvalidResponse, Meaning,
    Profile,
};
use deskpass_store::KnownTagMember;
use tokio::time::sleep;

use super::super::pace::Pace;
use super::report::{ProgressListener, SyncProgress, SyncStep};
use crate::{Auth, Error};

/// Below the limits of all platforms for one API.
const CALLS_PER_SECOND: u32 = 15;
/// The pause after a call that the platform refused as one too many, times the number of attempts.
const RETRY_PAUSE: Duration = Duration::from_secs(2);
const MAX_ATTEMPTS: u32 = 4;
/// The most pages of a list: more are a mistake.
const MAX_PAGES: usize = 10_000;

/// The directory of the platform.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) departments: BTreeMap<String, DirectoryDepartment>,
    /// The members, by the identifier as [`Listing::spelling`] writes it.
    pub(super) members: HashMap<String, ListedMember>,
    /// `None` if the application may not see tags.
    pub(super) tags: Option<Vec<ListedTag>>,
    ignores_case: bool,
}

/// A member.
#[derive(Debug)]
pub(super) struct ListedMember {
    /// The canonical identifier in the records of this service.
    pub(super) key: String,
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
    /// Reads the directory. Fails if any part of it cannot be read, except tags, which need a permission of their own.
    pub(super) async fn read(auth: &Auth, progress: ProgressListener<'_>) -> Result<Self, Error> {
        let mut reader = Reader { auth, progress, pace: Pace::per_second(CALLS_PER_SECOND) };
        let departments = reader.departments().await?;
        let ignores_case = !auth.platform.kind().distinguishes_case();
        let mut listing = Self { departments, ignores_case, ..Self::default() };
        let root = auth.platform.root_department();
        let ids: BTreeSet<_> =
            listing.departments.keys().map(String::as_str).chain([root]).map(str::to_owned).collect();
        for id in ids {
            for member in reader.members(&id).await? {
                listing.add(auth, &id, member);
            }
            reader.report(SyncStep::Members, listing.members.len(), None);
        }
        listing.tags = reader.tags().await?;
        Ok(listing)
    }

    fn add(&mut self, auth: &Auth, department: &str, member: DirectoryMember) {
        let DirectoryMember { userid, departments, profile } = member;
        // A member who cannot be an employee cannot sign in either.
        let Some(key) = auth.member_key(&userid) else { return };
        let spelling = self.spelling(&userid);
        let new = || ListedMember { key, userid, departments: BTreeSet::new(), profile };
        let listed = self.members.entry(spelling).or_insert_with(new);
        listed.departments.extend(departments);
        listed.departments.insert(department.to_owned());
    }

    fn spelling(&self, userid: &str) -> String {
        if self.ignores_case { userid.to_ascii_lowercase() } else { userid.to_owned() }
    }

    /// The member with this identifier.
    pub(super) fn member(&self, userid: &str) -> Option<&ListedMember> {
        self.members.get(&self.spelling(userid))
    }

    /// The departments of each member, by key. Two members with the same key have none: which of them is the employee is not known.
    pub(super) fn departments_by_key(&self) -> HashMap<&str, BTreeSet<&str>> {
        let (mut by_key, mut ambiguous) = (HashMap::new(), HashSet::new());
        for member in self.members.values() {
            let departments: BTreeSet<&str> = member.departments.iter().map(String::as_str).collect();
            if by_key.insert(&*member.key, departments).is_some() {
                ambiguous.insert(&*member.key);
            }
        }
        by_key.retain(|key, departments| !ambiguous.contains(key) && !departments.is_empty());
        by_key
    }

    /// The groups of all members.
    pub(super) fn memberships(&self) -> ListedMemberships<'_> {
        let parent = |department: &DirectoryDepartment| Some((department.id.clone(), department.parent.clone()?));
        let parents = self.departments.values().filter_map(parent).collect();
        ListedMemberships { departments: self.departments_by_key(), parents, tags: self.tags.as_deref() }
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
    /// The groups of a person. What was not read of tags stays as it is `stored`.
    pub(super) fn of(&self, key: &EmployeeKey, stored: Memberships) -> Memberships {
        let departments = self.departments.get(key.id()).into_iter().flatten().copied();
        let Memberships { departments, .. } = Memberships::new(departments, [], &self.parents);
        let Some(listed) = self.tags else { return Memberships { departments, tags: stored.tags } };
        let is_member = |member: &KnownTagMember| match member {
            KnownTagMember::Member(id) => id == key.id(),
            KnownTagMember::Department(id) => departments.contains(id),
        };
        let has = |tag: &&ListedTag| match &tag.members {
            Some(members) => members.iter().any(&is_member),
            None => stored.tags.contains(&tag.tag.id),
        };
        let tags = listed.iter().filter(has).map(|listed| listed.tag.id.clone()).collect();
        Memberships { departments, tags }
    }
}

/// Reads the parts of the directory, at a pace.
struct Reader<'a> {
    auth: &'a Auth,
    progress: ProgressListener<'a>,
    pace: Pace,
}

impl Reader<'_> {
    fn report(&self, step: SyncStep, done: usize, total: Option<usize>) {
        (self.progress)(SyncProgress { step, done, total });
    }

    async fn departments(&mut self) -> Result<BTreeMap<String, DirectoryDepartment>, Error> {
        let platform = &self.auth.platform;
        let mut found: BTreeMap<String, DirectoryDepartment> = BTreeMap::new();
        let mut parents = VecDeque::from([platform.root_department().to_owned()]);
        while let Some(parent) = parents.pop_front() {
            let mut cursor: Option<String> = None;
            for _ in 0..MAX_PAGES {
                let call = || platform.departments(&parent, cursor.as_deref());
                let page = visible(retried(&mut self.pace, call).await)?;
                let Some(page) = page else { break };
                let lists_all = page.items.iter().any(|listed| is_below_child(listed, &parent));
                for listed in page.items {
                    // Some platforms list all departments below one at once, and need not be asked about each.
                    if !lists_all && listed.id != parent && !found.contains_key(&listed.id) {
                        parents.push_back(listed.id.clone());
                    }
                    found.insert(listed.id.clone(), listed);
                }
                cursor = page.next;
                if cursor.is_none() {
                    break;
                }
            }
            self.report(SyncStep::Departments, found.len(), None);
        }
        Ok(found)
    }

    async fn members(&mut self, department: &str) -> Result<Vec<DirectoryMember>, Error> {
        let platform = &self.auth.platform;
        let (mut members, mut cursor) = (Vec::new(), None::<String>);
        for _ in 0..MAX_PAGES {
            let call = || platform.members(department, cursor.as_deref());
            let Some(page) = visible(retried(&mut self.pace, call).await)? else { return Ok(members) };
            members.extend(page.items);
            cursor = page.next;
            if cursor.is_none() {
                return Ok(members);
            }
        }
        Err(PlatformError::InvalidResponse(InvalidResponse::TooLarge).into())
    }

    /// The tags; `None` if the application may not see them.
    async fn tags(&mut self) -> Result<Option<Vec<ListedTag>>, Error> {
        let tags = match self.tag_list().await {
            Ok(tags) => tags,
            Err(error) => {
                tracing::info!(%error, "could not read the tags from the platform; the known ones stay");
                return Ok(None);
            }
        };
        // Where calls are metered, only tags in rules are worth a call each.
        let metered = self.auth.platform.lookups_per_day().is_some();
        let rules = self.auth.all_role_rules().await?;
        let in_rules = |id: &str| rules.iter().any(|rule| matches!(&rule.group, RuleGroup::Tag(tag) if tag == id));
        let (total, mut listed) = (tags.len(), Vec::with_capacity(tags.len()));
        for tag in tags {
            let members = if metered && !in_rules(&tag.id) { None } else { self.members_of_tag(&tag.id).await };
            listed.push(ListedTag { tag, members });
            self.report(SyncStep::Tags, listed.len(), Some(total));
        }
        Ok(Some(listed))
    }

    async fn tag_list(&mut self) -> Result<Vec<DirectoryTag>, PlatformError> {
        let platform = &self.auth.platform;
        let (mut tags, mut cursor) = (Vec::new(), None::<String>);
        for _ in 0..MAX_PAGES {
            let page = retried(&mut self.pace, || platform.tags(cursor.as_deref())).await?;
            tags.extend(page.items);
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        Ok(tags)
    }

    /// The members of a tag; `None` if they cannot be read.
    async fn members_of_tag(&mut self, tag: &str) -> Option<Vec<KnownTagMember>> {
        let (auth, platform) = (self.auth, &self.auth.platform);
        let (mut members, mut cursor) = (Vec::new(), None::<String>);
        for _ in 0..MAX_PAGES {
            let call = || platform.tag_members(tag, cursor.as_deref());
            let page = retried(&mut self.pace, call).await;
            let page = page.inspect_err(|error| tracing::info!(%error, tag, "could not read the members of a tag"));
            let page = page.ok()?;
            members.extend(page.items.into_iter().filter_map(|member| auth.known_tag_member(member)));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        Some(members)
    }
}

/// Whether a department in the answer about `parent` is below one of its children.
fn is_below_child(listed: &DirectoryDepartment, parent: &str) -> bool {
    listed.id != parent && listed.parent.as_deref().is_some_and(|other| other != parent)
}

/// A page; `None` if the application may not see what it is about, such as the topmost department.
fn visible<T>(answer: Result<T, PlatformError>) -> Result<Option<T>, PlatformError> {
    match answer {
        Ok(page) => Ok(Some(page)),
        Err(error) if error.is_refused_as(Meaning::OutOfRange) || error.is_refused_as(Meaning::Gone) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes a call when the pace permits it, and again if the platform is busy.
async fn retried<'a, T>(pace: &mut Pace, call: impl Fn() -> Answer<'a, T>) -> Result<T, PlatformError> {
    let mut attempt = 1;
    loop {
        pace.wait().await;
        match call().await {
            Err(error) if attempt < MAX_ATTEMPTS && is_busy(&error) => sleep(RETRY_PAUSE * attempt).await,
            answer => return answer,
        }
        attempt += 1;
    }
}

/// Whether the platform may accept the call in a moment.
fn is_busy(error: &PlatformError) -> bool {
    matches!(error.meaning(), Meaning::Limited) || error.is_refused_as(Meaning::Retry)
}
