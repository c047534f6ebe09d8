//! The directory: what the platform knows about members and departments.

use deskpass_platform::client::{ApiResponse, DepartmentName, is_visible_ascii, sanitize_name};
use deskpass_platform::{
    Answer, Department, Directory, DirectoryDepartment, DirectoryMember, DirectoryPage, DirectoryTag, Error, ErrorCode,
    Identity, InvalidResponse, Meaning, MemberStatus, Profile, TagMember,
};
use tokio::time::Instant;

use crate::api::{CHILDREN, DEPARTMENT, MEMBERS, USER};
use crate::errcode::{NO_SUCH_DEPARTMENT, NO_SUCH_USER, USER_ID_MISSING, is_missing_permission};
use crate::identity::is_member_id;
use crate::{Feishu, UserIdKind, member};

/// The id of the topmost department, whatever the tenant.
const ROOT_DEPARTMENT: &str = "0";
/// The number of entries in a part of a list: the platform's maximum.
const PAGE_SIZE: &str = "50";

impl Directory for Feishu {
    fn profile<'a>(&'a self, identity: &'a Identity) -> Answer<'a, Profile> {
        Box::pin(async move {
            match identity {
                Identity::Member { userid, .. } => self.fetch_member(userid).await,
                Identity::Linked { .. } | Identity::Outsider => {
                    Ok(Profile::empty(Department::Unspecified, MemberStatus::Unknown))
                }
            }
        })
    }

    fn root_department(&self) -> &'static str {
        ROOT_DEPARTMENT
    }

    fn members<'a>(
        &'a self,
        department: &'a str,
        cursor: Option<&'a str>,
    ) -> Answer<'a, DirectoryPage<DirectoryMember>> {
        Box::pin(self.list_members(department, cursor))
    }

    fn departments<'a>(
        &'a self,
        parent: &'a str,
        cursor: Option<&'a str>,
    ) -> Answer<'a, DirectoryPage<DirectoryDepartment>> {
        Box::pin(self.list_departments(parent, cursor))
    }

    fn tags<'a>(&'a self, cursor: Option<&'a str>) -> Answer<'a, DirectoryPage<DirectoryTag>> {
        Box::pin(self.list_groups(cursor))
    }

    fn tag_members<'a>(&'a self, tag: &'a str, cursor: Option<&'a str>) -> Answer<'a, DirectoryPage<TagMember>> {
        Box::pin(self.list_group_members(tag, cursor))
    }

    fn lookups_per_day(&self) -> Option<u32> {
        None
    }
}

impl Feishu {
    async fn fetch_member(&self, userid: &str) -> Result<Profile, Error> {
        if !is_member_id(userid) {
            return Err(Error::refused(NO_SUCH_USER, Meaning::Administrator));
        }
        let deadline = self.0.client.deadline();
        let response = match self.0.client.request(&self.contact_call(USER, userid), deadline).await {
            // The application may not see the member's current department, and the former one is out of date.
            Err(error) if error.is_refused_as(Meaning::OutOfRange) => {
                return Ok(Profile::empty(Department::None, MemberStatus::OutOfRange));
            }
            response => response?,
        };
        let record = response.object("data").and_then(|data| data.object("user"));
        let record = record.ok_or(InvalidResponse::MissingField("user"))?;
        // Without a permission the record has no user id; a record with another one is another member's.
        let kind = self.0.settings.user_id.name();
        if record.text(kind).is_some_and(|id| !id.eq_ignore_ascii_case(userid)) {
            return Err(InvalidResponse::MissingField(kind).into());
        }
        let profile = member::profile(&record);
        Ok(Profile { department: self.name_department(profile.department, deadline).await, ..profile })
    }

    /// Adds the name of a department. Its id is useful even without its name.
    async fn name_department(&self, department: Department, deadline: Instant) -> Department {
        let Department::Known { id, .. } = department else { return department };
        let name = self.department_name(&id, deadline).await.ok();
        let name = name.map(|name| name.map(|name| name.to_string()).unwrap_or_default());
        Department::Known { id, name }
    }

    async fn department_name(&self, id: &str, deadline: Instant) -> Result<DepartmentName, Error> {
        if let Some(name) = self.0.departments.get(id) {
            return Ok(name);
        }
        let name: DepartmentName = match self.0.client.request(&self.contact_call(DEPARTMENT, id), deadline).await {
            Ok(response) => {
                let record = response.object("data").and_then(|data| data.object("department"));
                record.and_then(|record| record.text("name").and_then(sanitize_name)).map(Into::into)
            }
            // Not visible to this application, or without the permission: that rarely changes between sign-ins.
            Err(error)
                if error.is_refused_as(Meaning::OutOfRange) || error.code().is_some_and(is_missing_permission) =>
            {
                None
            }
            Err(error) => return Err(error),
        };
        self.0.departments.insert(id, name.clone());
        Ok(name)
    }

    async fn list_members(
        &self,
        department: &str,
        cursor: Option<&str>,
    ) -> Result<DirectoryPage<DirectoryMember>, Error> {
        check_department(department)?;
        let call = self.contact_call(MEMBERS, "").query("department_id", department).query("page_size", PAGE_SIZE);
        let call = if let Some(cursor) = cursor { call.query("page_token", cursor) } else { call };
        let response = self.0.client.request(&call, self.0.client.deadline()).await?;
        let (records, next) = read_page(&response, "items", cursor)?;
        let items = records.iter().filter_map(|record| self.read_member(record).transpose());
        Ok(DirectoryPage { items: items.collect::<Result<_, _>>()?, next })
    }

    /// A member in a list; `None` if the identifier cannot be one of an employee.
    fn read_member(&self, record: &ApiResponse) -> Result<Option<DirectoryMember>, Error> {
        let kind = self.0.settings.user_id;
        let Some(userid) = record.text(kind.name()) else {
            return Err(match kind {
                UserIdKind::UserId => Error::refused(ErrorCode::word(USER_ID_MISSING), Meaning::Administrator),
                UserIdKind::OpenId => InvalidResponse::MissingField(kind.name()).into(),
            });
        };
        let (departments, profile) = (member::departments(record), member::profile(record));
        if !is_member_id(userid) {
            tracing::debug!("left out a member of a list whose identifier is not accepted");
            return Ok(None);
        }
        Ok(Some(DirectoryMember { userid: userid.to_owned(), departments, profile }))
    }

    async fn list_departments(
        &self,
        parent: &str,
        cursor: Option<&str>,
    ) -> Result<DirectoryPage<DirectoryDepartment>, Error> {
        check_department(parent)?;
        let call = self.contact_call(CHILDREN, parent).query("page_size", PAGE_SIZE);
        let call = if let Some(cursor) = cursor { call.query("page_token", cursor) } else { call };
        let response = self.0.client.request(&call, self.0.client.deadline()).await?;
        let (records, next) = read_page(&response, "items", cursor)?;
        let items = records.iter().filter_map(|record| member::department(record).transpose());
        Ok(DirectoryPage { items: items.collect::<Result<_, InvalidResponse>>()?, next })
    }
}

fn check_department(id: &str) -> Result<(), Error> {
    let missing = || Error::refused(NO_SUCH_DEPARTMENT, Meaning::OutOfRange);
    if member::is_department_id(id) { Ok(()) } else { Err(missing()) }
}

/// The entries of a part of a list, and where the next part begins. An empty part may have no list. Everything else
/// that is unclear is an error: the service may take members who are missing from a list for members who left.
pub(crate) fn read_page(
    response: &ApiResponse,
    list: &'static str,
    cursor: Option<&str>,
) -> Result<(Vec<ApiResponse>, Option<String>), InvalidResponse> {
    let missing = InvalidResponse::MissingField;
    let data = response.object("data").ok_or(missing("data"))?;
    let more = data.flag("has_more").ok_or(missing("has_more"))?;
    let items = match data.objects(list) {
        Some(items) => items,
        None if !data.contains(list) => Vec::new(),
        None => return Err(missing(list)),
    };
    let fits = |token: &&str| more && is_visible_ascii(token) && Some(*token) != cursor;
    let next = data.text("page_token").filter(fits).map(str::to_owned);
    if more && next.is_none() {
        return Err(missing("page_token"));
    }
    Ok((items, next))
}
