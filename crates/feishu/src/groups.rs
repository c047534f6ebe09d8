//! User groups (用户组): groups of people across departments, which other platforms call tags.

use deskpass_platform::client::{ApiCall, ApiResponse, sanitize_name};
use deskpass_platform::{DirectoryPage, DirectoryTag, Error, InvalidResponse, TagMember};

use crate::api::{self, GROUP_MEMBERS, GROUPS};
use crate::directory::read_page;
use crate::identity::is_member_id;
use crate::{Feishu, member};

/// The number of entries in a part of a list: the platform's maximum.
const PAGE_SIZE: &str = "100";

/// The platform lists people and departments of a group one after the other; a cursor says which list it belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MemberKind {
    User,
    Department,
}

impl MemberKind {
    const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Department => "department",
        }
    }

    /// The list and the position of a cursor.
    fn parse(cursor: Option<&str>) -> Result<(Self, Option<&str>), InvalidResponse> {
        let Some(cursor) = cursor else { return Ok((Self::User, None)) };
        let (kind, token) = cursor.split_once(':').ok_or(InvalidResponse::MissingField("page_token"))?;
        let kind = [Self::User, Self::Department].into_iter().find(|known| known.name() == kind);
        let kind = kind.ok_or(InvalidResponse::MissingField("page_token"))?;
        Ok((kind, Some(token).filter(|token| !token.is_empty())))
    }

    fn cursor(self, token: &str) -> String {
        format!("{}:{token}", self.name())
    }
}

impl Feishu {
    pub(crate) async fn list_groups(&self, cursor: Option<&str>) -> Result<DirectoryPage<DirectoryTag>, Error> {
        let call = ApiCall::get(GROUPS, &self.0.settings.hosts.api, &api::path(GROUPS, ""));
        let response = self.0.client.request(&paged(call, cursor), self.0.client.deadline()).await?;
        let (records, next) = read_page(&response, "grouplist", cursor)?;
        let items = records.iter().filter_map(|record| read_group(record).transpose());
        Ok(DirectoryPage { items: items.collect::<Result<_, InvalidResponse>>()?, next })
    }

    pub(crate) async fn list_group_members(
        &self,
        group: &str,
        cursor: Option<&str>,
    ) -> Result<DirectoryPage<TagMember>, Error> {
        if !api::is_path_segment(group) {
            return Err(InvalidResponse::MissingField("group_id").into());
        }
        let (kind, token) = MemberKind::parse(cursor)?;
        let id_type = match kind {
            MemberKind::User => self.0.settings.user_id.name(),
            // Of departments this means the open_department_id.
            MemberKind::Department => "open_id",
        };
        let call = ApiCall::get(GROUP_MEMBERS, &self.0.settings.hosts.api, &api::path(GROUP_MEMBERS, group))
            .query("member_id_type", id_type)
            .query("member_type", kind.name());
        let response = self.0.client.request(&paged(call, token), self.0.client.deadline()).await?;
        let (records, next) = read_page(&response, "memberlist", token)?;
        let items = records.iter().filter_map(|record| read_group_member(record, kind).transpose());
        let items = items.collect::<Result<Vec<_>, InvalidResponse>>()?;
        let next = match (next, kind) {
            (Some(token), kind) => Some(kind.cursor(&token)),
            (None, MemberKind::User) => Some(MemberKind::Department.cursor("")),
            (None, MemberKind::Department) => None,
        };
        Ok(DirectoryPage { items, next })
    }
}

fn paged(call: ApiCall, token: Option<&str>) -> ApiCall {
    let call = call.query("page_size", PAGE_SIZE);
    if let Some(token) = token { call.query("page_token", token) } else { call }
}

/// A group in a list; `None` if its id cannot be a part of a path.
fn read_group(record: &ApiResponse) -> Result<Option<DirectoryTag>, InvalidResponse> {
    let id = record.text("id").ok_or(InvalidResponse::MissingField("id"))?;
    if !api::is_path_segment(id) {
        tracing::debug!("left out a group of a list whose id is not accepted");
        return Ok(None);
    }
    let name = record.text("name").and_then(sanitize_name).unwrap_or_default();
    Ok(Some(DirectoryTag { id: id.to_owned(), name }))
}

/// A member of a group; `None` if its id is not accepted. A record without an id is an error: the service may take roles from
/// members who are missing from a list.
fn read_group_member(record: &ApiResponse, kind: MemberKind) -> Result<Option<TagMember>, InvalidResponse> {
    let id = record.text("member_id").ok_or(InvalidResponse::MissingField("member_id"))?;
    let found = match kind {
        MemberKind::User if is_member_id(id) => Some(TagMember::Member(id.to_owned())),
        MemberKind::Department if member::is_department_id(id) => Some(TagMember::Department(id.to_owned())),
        MemberKind::User | MemberKind::Department => None,
    };
    if found.is_none() {
        tracing::debug!("left out a member of a group whose identifier is not accepted");
    }
    Ok(found)
}
