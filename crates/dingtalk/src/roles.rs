//! The roles (角色) of the organization: its groups of people across departments, which other platforms call tags.

use deskpass_platform::client::{ApiResponse, sanitize_name};
use deskpass_platform::{DirectoryPage, DirectoryTag, Error, InvalidResponse, TagMember};
use serde_json::json;

use crate::api;
use crate::client::Dingtalk;
use crate::directory::accepted_userid;

/// The numbers of roles and of members in a part of a list: the most that the platform gives.
const ROLES_PAGE: i64 = 200;
const MEMBERS_PAGE: i64 = 100;

impl Dingtalk {
    pub(crate) async fn read_roles(&self, cursor: Option<&str>) -> Result<DirectoryPage<DirectoryTag>, Error> {
        let offset = offset(cursor)?;
        let body = json!({ "size": ROLES_PAGE, "offset": offset });
        let page = self.result(api::ROLES, body, self.0.client.deadline()).await?;
        let mut items = Vec::new();
        for group in page.objects("list").ok_or(InvalidResponse::MissingField("list"))? {
            let roles = group.objects("roles").ok_or(InvalidResponse::MissingField("roles"))?;
            for role in &roles {
                items.push(read_role(role)?);
            }
        }
        Ok(DirectoryPage { items, next: next(&page, offset, ROLES_PAGE)? })
    }

    pub(crate) async fn read_role_members(
        &self,
        role: &str,
        cursor: Option<&str>,
    ) -> Result<DirectoryPage<TagMember>, Error> {
        let role: i64 = role.parse().map_err(|_| InvalidResponse::MissingField("role_id"))?;
        let offset = offset(cursor)?;
        let body = json!({ "role_id": role, "size": MEMBERS_PAGE, "offset": offset });
        let page = self.result(api::ROLE_MEMBERS, body, self.0.client.deadline()).await?;
        let mut items = Vec::new();
        for user in page.objects("list").ok_or(InvalidResponse::MissingField("list"))? {
            items.extend(accepted_userid(&user)?.map(|userid| TagMember::Member(userid.to_owned())));
        }
        Ok(DirectoryPage { items, next: next(&page, offset, MEMBERS_PAGE)? })
    }
}

fn read_role(role: &ApiResponse) -> Result<DirectoryTag, InvalidResponse> {
    let id = role.number("id").ok_or(InvalidResponse::MissingField("id"))?;
    Ok(DirectoryTag { id: id.to_string(), name: role.text("name").and_then(sanitize_name).unwrap_or_default() })
}

fn offset(cursor: Option<&str>) -> Result<i64, InvalidResponse> {
    cursor.map_or(Ok(0), |cursor| cursor.parse().map_err(|_| InvalidResponse::MissingField("offset")))
}

/// Where the next part begins. Only one of the two lists says so; in the other one it is after as many entries as were asked for.
fn next(page: &ApiResponse, offset: i64, size: i64) -> Result<Option<String>, InvalidResponse> {
    if !page.flag("hasMore").ok_or(InvalidResponse::MissingField("hasMore"))? {
        return Ok(None);
    }
    let next = if page.contains("nextCursor") { page.number("nextCursor") } else { offset.checked_add(size) };
    // A list that does not advance would never end.
    let next = next.filter(|next| *next > offset).ok_or(InvalidResponse::MissingField("nextCursor"))?;
    Ok(Some(next.to_string()))
}
