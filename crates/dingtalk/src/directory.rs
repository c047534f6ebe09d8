//! The directory: the profile of a user, and lists of members and departments.

use deskpass_core::EmployeeId;
use deskpass_platform::client::{ApiResponse, DepartmentName, avatar_url, email_address, sanitize_name};
use deskpass_platform::{
    Answer, Department, Directory, DirectoryDepartment, DirectoryMember, DirectoryPage, DirectoryTag, Error, Identity,
    InvalidResponse, Meaning, MemberStatus, Profile, TagMember,
};
use serde_json::json;
use tokio::time::Instant;

use crate::client::Dingtalk;
use crate::redeem::union_id;
use crate::{api, errcode};

/// The topmost department: the corporation itself.
const ROOT: &str = "1";
/// The number of members in a part of a list: the most that the platform gives.
const PAGE_SIZE: i64 = 100;
/// The organization has a number of calls for each month, ten thousand in the platform's own example, of which sign-ins come first.
const LOOKUPS_PER_DAY: u32 = 100;

impl Directory for Dingtalk {
    fn profile<'a>(&'a self, identity: &'a Identity) -> Answer<'a, Profile> {
        Box::pin(async move {
            match identity {
                Identity::Member { userid, .. } => self.read_profile(userid).await,
                Identity::Linked { .. } | Identity::Outsider => Ok(unknown(MemberStatus::Unknown)),
            }
        })
    }

    fn root_department(&self) -> &'static str {
        ROOT
    }

    fn members<'a>(
        &'a self,
        department: &'a str,
        cursor: Option<&'a str>,
    ) -> Answer<'a, DirectoryPage<DirectoryMember>> {
        Box::pin(self.read_members(department, cursor))
    }

    fn departments<'a>(
        &'a self,
        parent: &'a str,
        _cursor: Option<&'a str>,
    ) -> Answer<'a, DirectoryPage<DirectoryDepartment>> {
        Box::pin(self.read_departments(parent))
    }

    fn tags<'a>(&'a self, cursor: Option<&'a str>) -> Answer<'a, DirectoryPage<DirectoryTag>> {
        Box::pin(self.read_roles(cursor))
    }

    fn tag_members<'a>(&'a self, tag: &'a str, cursor: Option<&'a str>) -> Answer<'a, DirectoryPage<TagMember>> {
        Box::pin(self.read_role_members(tag, cursor))
    }

    fn lookups_per_day(&self) -> Option<u32> {
        Some(LOOKUPS_PER_DAY)
    }
}

impl Dingtalk {
    /// One call, and one more an hour for the name of the department.
    async fn read_profile(&self, userid: &str) -> Result<Profile, Error> {
        let deadline = self.0.client.deadline();
        let user = match self.result(api::USER, json!({ "userid": userid }), deadline).await {
            Ok(user) => user,
            Err(error) if error.is_refused_as(Meaning::Gone) => return Ok(unknown(MemberStatus::Left)),
            Err(error) if error.is_refused_as(Meaning::OutOfRange) => return Ok(unknown(MemberStatus::OutOfRange)),
            Err(error) => return Err(error),
        };
        let department = match main_department(&user) {
            Department::Known { id, .. } => {
                // The department's id is useful even without its name.
                let name = self.department_name(&id, deadline).await.ok();
                let name = name.map(|name| name.map(|name| name.to_string()).unwrap_or_default());
                Department::Known { id, name }
            }
            department => department,
        };
        Ok(read_profile(&user, department))
    }

    async fn department_name(&self, id: &str, deadline: Instant) -> Result<DepartmentName, Error> {
        if let Some(name) = self.0.departments.get(id) {
            return Ok(name);
        }
        let asked = self.result(api::DEPARTMENT, json!({ "dept_id": number(id)? }), deadline).await;
        let name = match asked {
            Ok(department) => department.text("name").and_then(sanitize_name).map(Into::into),
            // Unknown, not visible to this application, or without the permission: that rarely changes between sign-ins.
            Err(error) if is_nameless(&error) => None,
            Err(error) => return Err(error),
        };
        self.0.departments.insert(id, name.clone());
        Ok(name)
    }

    async fn read_members(
        &self,
        department: &str,
        cursor: Option<&str>,
    ) -> Result<DirectoryPage<DirectoryMember>, Error> {
        let cursor = cursor
            .map_or(Ok(0), |cursor| cursor.parse::<i64>().map_err(|_| InvalidResponse::MissingField("cursor")))?;
        let body = json!({ "dept_id": number(department)?, "cursor": cursor, "size": PAGE_SIZE });
        let page = self.result(api::USERS, body, self.0.client.deadline()).await?;
        let list = page.objects("list").ok_or(InvalidResponse::MissingField("list"))?;
        let items: Result<Vec<_>, _> = list.iter().filter_map(|user| read_member(user).transpose()).collect();
        let next = match page.flag("has_more") {
            Some(false) => None,
            // A list that does not advance would never end.
            Some(true) => Some(page.number("next_cursor").filter(|next| *next > cursor)),
            None => Some(None),
        };
        let next = next.map(|next| next.ok_or(InvalidResponse::MissingField("next_cursor"))).transpose()?;
        Ok(DirectoryPage { items: items?, next: next.map(|next| next.to_string()) })
    }

    async fn read_departments(&self, parent: &str) -> Result<DirectoryPage<DirectoryDepartment>, Error> {
        let call = self.legacy_call(api::DEPARTMENTS, json!({ "dept_id": number(parent)? }));
        let response = self.0.client.request(&call, self.0.client.deadline()).await?;
        let list = response.objects("result").ok_or(InvalidResponse::MissingField("result"))?;
        let items: Result<Vec<_>, _> = list.iter().map(read_department).collect();
        Ok(DirectoryPage { items: items?, next: None })
    }
}

/// Whether the platform will not tell the name of a department until an administrator acts, so that asking again at every
/// sign-in would only cost calls.
fn is_nameless(error: &Error) -> bool {
    let gone = matches!(error.meaning(), Meaning::Gone | Meaning::OutOfRange);
    gone || error.code().is_some_and(errcode::is_missing_permission)
}

/// The profile of a user about whom nothing but the status is known.
fn unknown(status: MemberStatus) -> Profile {
    Profile::empty(Department::Unspecified, status)
}

fn read_profile(user: &ApiResponse, department: Department) -> Profile {
    Profile {
        // The name in the corporation's directory, not the name that users give themselves.
        name: user.text("name").and_then(sanitize_name),
        department,
        avatar: user.text("avatar").and_then(avatar_url),
        // The corporation assigns it; `email` is the user's own to change.
        email: user.any_text("org_email").and_then(email_address),
        holder_id: union_id(user, "unionid"),
        status: match user.flag("active") {
            Some(true) => MemberStatus::Active,
            Some(false) => MemberStatus::NotActivated,
            None => MemberStatus::Unknown,
        },
    }
}

/// The first department of a user, without its name.
fn main_department(user: &ApiResponse) -> Department {
    match user.numbers("dept_id_list").as_deref() {
        Some([id, ..]) => Department::Known { id: id.to_string(), name: None },
        Some([]) => Department::None,
        None => Department::Unspecified,
    }
}

/// The identifier in a record; `None` if this service does not accept it, so that the member cannot sign in.
pub(crate) fn accepted_userid(user: &ApiResponse) -> Result<Option<&str>, InvalidResponse> {
    let userid = user.text("userid").ok_or(InvalidResponse::MissingField("userid"))?;
    if EmployeeId::parse(userid).is_err() {
        tracing::debug!("left out a member of a list whose identifier is not accepted");
        return Ok(None);
    }
    Ok(Some(userid))
}

/// A member of a list; `None` for a member whose identifier this service does not accept.
fn read_member(user: &ApiResponse) -> Result<Option<DirectoryMember>, InvalidResponse> {
    let Some(userid) = accepted_userid(user)? else { return Ok(None) };
    let departments = user.numbers("dept_id_list").unwrap_or_default();
    Ok(Some(DirectoryMember {
        userid: userid.to_owned(),
        departments: departments.iter().map(i64::to_string).collect(),
        profile: read_profile(user, main_department(user)),
    }))
}

fn read_department(record: &ApiResponse) -> Result<DirectoryDepartment, InvalidResponse> {
    let id = record.number("dept_id").ok_or(InvalidResponse::MissingField("dept_id"))?;
    Ok(DirectoryDepartment {
        id: id.to_string(),
        parent: record.number("parent_id").map(|parent| parent.to_string()),
        name: record.text("name").and_then(sanitize_name).unwrap_or_default(),
    })
}

/// The id of a department, which is a number on this platform.
fn number(department: &str) -> Result<i64, InvalidResponse> {
    department.parse().map_err(|_| InvalidResponse::MissingField("dept_id"))
}
