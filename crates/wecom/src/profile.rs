//! The profile of a user on the platform.

use deskpass_core::is_platform_department;
use deskpass_platform::client::{ApiResponse, DepartmentName, avatar_url, email_address, sanitize_name};
use deskpass_platform::{Department, Error, ErrorCode, Identity, InvalidResponse, Meaning, MemberStatus, Profile};
use serde_json::json;
use tokio::time::Instant;

use crate::api::{DEPARTMENT, LINKED_USER, USER};
use crate::client::Wecom;

/// The application may not call this API.
const NO_PERMISSION: i64 = 48002;

impl Wecom {
    pub(crate) async fn fetch_profile(&self, identity: &Identity) -> Result<Profile, Error> {
        let deadline = self.0.client.deadline();
        match identity {
            Identity::Member { userid, .. } => match self.fetch_member(userid, deadline).await {
                // The application may not see the member's current department, and the former one is out of date.
                Err(error) if error.is_refused_as(Meaning::OutOfRange) => {
                    Ok(Profile::empty(Department::None, MemberStatus::OutOfRange))
                }
                profile => profile,
            },
            Identity::Linked { corp_id, userid } => match self.fetch_linked_member(corp_id, userid, deadline).await {
                // For users of connected corporations the platform reports no status: users who left are not found.
                Err(error) if error.is_refused_as(Meaning::Gone) => {
                    Ok(Profile::empty(Department::Unspecified, MemberStatus::Left))
                }
                profile => profile,
            },
            Identity::Outsider => Ok(Profile::empty(Department::Unspecified, MemberStatus::Unknown)),
        }
    }

    async fn fetch_member(&self, userid: &str, deadline: Instant) -> Result<Profile, Error> {
        let call = self.0.protocol.get(USER).query("userid", userid);
        let response = self.0.client.request(&call, deadline).await?;
        let department = match main_department(&response) {
            Some(id) => {
                // The department's id is useful even without its name.
                let name = self.department_name(&id, deadline).await.ok();
                let name = name.map(|name| name.map(|name| name.to_string()).unwrap_or_default());
                Department::Known { id, name }
            }
            None => Department::None,
        };
        Ok(read(&response, department))
    }

    async fn fetch_linked_member(&self, corp_id: &str, userid: &str, deadline: Instant) -> Result<Profile, Error> {
        let call = self.0.protocol.post(LINKED_USER, json!({ "userid": format!("{corp_id}/{userid}") }));
        let response = self.0.client.request(&call, deadline).await?;
        let person = response.object("user_info").ok_or(InvalidResponse::MissingField("user_info"))?;
        // The names of these departments are visible only to their own corporation.
        let department = match person.texts("department").as_deref() {
            Some([]) => Department::None,
            Some([id, ..]) if is_platform_department(id) => Department::Known { id: (*id).to_owned(), name: None },
            Some(_) | None => Department::Unspecified,
        };
        // Another corporation cannot say which address is whose here.
        Ok(Profile { email: None, ..read(&person, department) })
    }

    async fn department_name(&self, id: &str, deadline: Instant) -> Result<DepartmentName, Error> {
        if let Some(name) = self.0.departments.get(id) {
            return Ok(name);
        }
        let call = self.0.protocol.get(DEPARTMENT).query("id", id);
        let name = match self.0.client.request(&call, deadline).await {
            Ok(response) => response.object("department").and_then(|record| name(&record)).map(Into::into),
            // Unknown, not visible to this application, or without the permission: that rarely changes between sign-ins.
            Err(error) if error.is_refused_as(Meaning::OutOfRange) || is_missing_permission(&error) => None,
            Err(error) => return Err(error),
        };
        self.0.departments.insert(id, name.clone());
        Ok(name)
    }
}

/// Whether the application lacks the permission for a call.
fn is_missing_permission(error: &Error) -> bool {
    error.code().and_then(ErrorCode::number) == Some(NO_PERMISSION)
}

/// Reads the record of a user whose department is known otherwise.
pub(crate) fn read(record: &ApiResponse, department: Department) -> Profile {
    Profile {
        name: name(record),
        department,
        avatar: record.text("avatar").and_then(avatar_url),
        // The corporation assigns it; `email` is the member's own to change.
        email: record.any_text("biz_mail").and_then(email_address),
        // The platform has none: an identifier is all that a corporation's application gets.
        holder_id: None,
        status: status(record.number("status")),
    }
}

/// The id of a member's main department.
pub(crate) fn main_department(record: &ApiResponse) -> Option<String> {
    let id = record.number("main_department").or_else(|| record.first_number("department"));
    id.map(|id| id.to_string())
}

/// The name in a record of a user or a department.
pub(crate) fn name(record: &ApiResponse) -> Option<String> {
    record.text("name").and_then(sanitize_name)
}

const fn status(status: Option<i64>) -> MemberStatus {
    match status {
        Some(1) => MemberStatus::Active,
        Some(2) => MemberStatus::Suspended,
        Some(4) => MemberStatus::NotActivated,
        Some(5) => MemberStatus::Left,
        _ => MemberStatus::Unknown,
    }
}
