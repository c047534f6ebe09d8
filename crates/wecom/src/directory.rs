//! The directory: profiles, and lists of members, departments and tags. The platform has no pages: a list comes at once.

use std::collections::BTreeSet;

use deskpass_core::EmployeeId;
use deskpass_platform::client::{ApiResponse, sanitize_name};
use deskpass_platform::{
    Answer, Department, Directory, DirectoryDepartment, DirectoryMember, DirectoryPage, DirectoryTag, Error, Identity,
    InvalidResponse, Meaning, Profile, TagMember,
};

use crate::api::{DEPARTMENT_LIST, TAG, TAG_LIST, USER_LIST};
use crate::client::Wecom;
use crate::profile;

/// The department that is the corporation itself.
const ROOT: &str = "1";

impl Directory for Wecom {
    fn profile<'a>(&'a self, identity: &'a Identity) -> Answer<'a, Profile> {
        Box::pin(self.fetch_profile(identity))
    }

    fn root_department(&self) -> &'static str {
        ROOT
    }

    fn members<'a>(&'a self, department: &'a str, _: Option<&'a str>) -> Answer<'a, DirectoryPage<DirectoryMember>> {
        Box::pin(self.list_members(department))
    }

    fn departments<'a>(
        &'a self,
        parent: &'a str,
        _: Option<&'a str>,
    ) -> Answer<'a, DirectoryPage<DirectoryDepartment>> {
        Box::pin(self.list_departments(parent))
    }

    fn tags<'a>(&'a self, _: Option<&'a str>) -> Answer<'a, DirectoryPage<DirectoryTag>> {
        Box::pin(self.list_tags())
    }

    fn tag_members<'a>(&'a self, tag: &'a str, _: Option<&'a str>) -> Answer<'a, DirectoryPage<TagMember>> {
        Box::pin(self.list_tag_members(tag))
    }

    fn lookups_per_day(&self) -> Option<u32> {
        None
    }
}

impl Wecom {
    async fn list_members(&self, department: &str) -> Result<DirectoryPage<DirectoryMember>, Error> {
        let listed = self.request(&self.0.protocol.get(USER_LIST).query("department_id", department)).await;
        let list = match listed {
            Ok(response) => response.objects("userlist").ok_or(InvalidResponse::MissingField("userlist"))?,
            // An application for some departments only may not see the members of the topmost one.
            Err(error) if department == ROOT && error.is_refused_as(Meaning::OutOfRange) => Vec::new(),
            Err(error) => return Err(error),
        };
        let items: Result<Vec<_>, _> = list.iter().filter_map(|record| member(record).transpose()).collect();
        Ok(DirectoryPage { items: items?, next: None })
    }

    /// Lists all departments below one.
    async fn list_departments(&self, parent: &str) -> Result<DirectoryPage<DirectoryDepartment>, Error> {
        let call = self.0.protocol.get(DEPARTMENT_LIST);
        // Without an id the platform lists all departments that the application may see, even if the topmost is not among them.
        let call = if parent == ROOT { call } else { call.query("id", parent) };
        let response = self.request(&call).await?;
        let list = response.objects("department").ok_or(InvalidResponse::MissingField("department"))?;
        let visible: BTreeSet<i64> = list.iter().filter_map(|record| record.number("id")).collect();
        let mut items: Vec<_> =
            list.iter().map(|record| department(record, &visible)).collect::<Result<_, InvalidResponse>>()?;
        items.retain(|department| department.id != parent);
        Ok(DirectoryPage { items, next: None })
    }

    async fn list_tags(&self) -> Result<DirectoryPage<DirectoryTag>, Error> {
        let response = self.request(&self.0.protocol.get(TAG_LIST)).await?;
        let list = response.objects("taglist").ok_or(InvalidResponse::MissingField("taglist"))?;
        let items = list.iter().map(tag).collect::<Result<_, InvalidResponse>>()?;
        Ok(DirectoryPage { items, next: None })
    }

    /// Lists the members of a tag that the application may see, and its departments.
    async fn list_tag_members(&self, tag: &str) -> Result<DirectoryPage<TagMember>, Error> {
        let response = self.request(&self.0.protocol.get(TAG).query("tagid", tag)).await?;
        let users = response.objects("userlist").ok_or(InvalidResponse::MissingField("userlist"))?;
        let departments = match response.numbers("partylist") {
            Some(departments) => departments,
            None if !response.contains("partylist") => Vec::new(),
            None => return Err(InvalidResponse::MissingField("partylist").into()),
        };
        let users = users.iter().filter_map(|record| accepted_userid(record).transpose());
        let mut items: Vec<_> =
            users.map(|userid| userid.map(TagMember::Member)).collect::<Result<_, InvalidResponse>>()?;
        items.extend(departments.iter().map(|id| TagMember::Department(id.to_string())));
        Ok(DirectoryPage { items, next: None })
    }
}

/// The identifier in a record; `None` if this service does not accept it, so that the member cannot sign in. A record without an
/// identifier is an error: the service may take members who are missing from a list for members who left.
fn accepted_userid(record: &ApiResponse) -> Result<Option<String>, InvalidResponse> {
    let userid = record.text("userid").ok_or(InvalidResponse::MissingField("userid"))?;
    if EmployeeId::parse(userid).is_err() {
        tracing::debug!("left out a member of a list whose identifier is not accepted");
        return Ok(None);
    }
    Ok(Some(userid.to_owned()))
}

/// A member in a list; `None` for a member whose identifier this service does not accept.
fn member(record: &ApiResponse) -> Result<Option<DirectoryMember>, InvalidResponse> {
    let Some(userid) = accepted_userid(record)? else { return Ok(None) };
    let departments = record.numbers("department").unwrap_or_default();
    let main = profile::main_department(record);
    let department = main.map_or(Department::None, |id| Department::Known { id, name: None });
    Ok(Some(DirectoryMember {
        userid,
        departments: departments.iter().map(ToString::to_string).collect(),
        profile: profile::read(record, department),
    }))
}

fn tag(record: &ApiResponse) -> Result<DirectoryTag, InvalidResponse> {
    let id = record.number("tagid").ok_or(InvalidResponse::MissingField("tagid"))?;
    let name = record.text("tagname").and_then(sanitize_name).unwrap_or_default();
    Ok(DirectoryTag { id: id.to_string(), name })
}

fn department(record: &ApiResponse, visible: &BTreeSet<i64>) -> Result<DirectoryDepartment, InvalidResponse> {
    let id = record.number("id").ok_or(InvalidResponse::MissingField("id"))?;
    let parent = record.number("parentid").filter(|id| visible.contains(id));
    Ok(DirectoryDepartment {
        id: id.to_string(),
        parent: parent.map(|id| id.to_string()),
        name: profile::name(record).unwrap_or_default(),
    })
}
