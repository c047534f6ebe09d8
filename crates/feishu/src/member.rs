//! The records of members and departments as the platform writes them.

use deskpass_core::is_platform_department;
use deskpass_platform::client::{ApiResponse, avatar_url, email_address, sanitize_name};
use deskpass_platform::{Department, DirectoryDepartment, InvalidResponse, MemberStatus, Profile};

use crate::identity::open_id;

/// The profile in a member's record; its department has no name.
pub(crate) fn profile(record: &ApiResponse) -> Profile {
    let picture = record.object("avatar");
    let picture = picture.as_ref().and_then(|sizes| sizes.text("avatar_240").or_else(|| sizes.text("avatar_72")));
    Profile {
        name: record.text("name").and_then(sanitize_name),
        department: main_department(record),
        avatar: picture.and_then(avatar_url),
        // The corporation assigns it; `email` is the member's own to change.
        email: record.any_text("enterprise_email").and_then(email_address),
        holder_id: open_id(record),
        status: status(record),
    }
}

/// The status of the account. Without a permission the platform leaves it out.
fn status(record: &ApiResponse) -> MemberStatus {
    let Some(flags) = record.object("status") else { return MemberStatus::Unknown };
    let is = |name| flags.flag(name) == Some(true);
    match flags.flag("is_activated") {
        // A member who quit becomes one who resigned after a while.
        _ if is("is_resigned") || is("is_exited") => MemberStatus::Left,
        _ if is("is_frozen") => MemberStatus::Suspended,
        _ if is("is_unjoin") => MemberStatus::NotActivated,
        Some(true) => MemberStatus::Active,
        Some(false) => MemberStatus::NotActivated,
        None => MemberStatus::Unknown,
    }
}

/// The main department, which is marked in the order of departments, or else the first one.
fn main_department(record: &ApiResponse) -> Department {
    let Some(ids) = record.texts("department_ids") else { return Department::Unspecified };
    let orders = record.objects("orders").unwrap_or_default();
    let main = orders.iter().find(|order| order.flag("is_primary_dept") == Some(true));
    let main = main.and_then(|order| order.text("department_id")).filter(|id| ids.contains(id));
    match main.or_else(|| ids.first().copied()) {
        None => Department::None,
        Some(id) if is_department_id(id) => Department::Known { id: id.to_owned(), name: None },
        Some(_) => Department::Unspecified,
    }
}

/// The ids of all departments of a member.
pub(crate) fn departments(record: &ApiResponse) -> Vec<String> {
    let ids = record.texts("department_ids").unwrap_or_default();
    ids.into_iter().filter(|id| is_department_id(id)).map(str::to_owned).collect()
}

/// A department in a list; `None` if its id is not accepted. A record without an id is an error.
pub(crate) fn department(record: &ApiResponse) -> Result<Option<DirectoryDepartment>, InvalidResponse> {
    let id = record.text("open_department_id").ok_or(InvalidResponse::MissingField("open_department_id"))?;
    if !is_department_id(id) {
        tracing::debug!("left out a department of a list whose id is not accepted");
        return Ok(None);
    }
    let parent = record.text("parent_department_id").filter(|id| is_department_id(id)).map(str::to_owned);
    let name = record.text("name").and_then(sanitize_name).unwrap_or_default();
    Ok(Some(DirectoryDepartment { id: id.to_owned(), parent, name }))
}

/// Whether a text can be the id of a department.
pub(crate) fn is_department_id(id: &str) -> bool {
    is_platform_department(id) && !id.contains('/')
}
