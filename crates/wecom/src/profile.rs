//! The profile of a user on the platform.

use deskpass_core::is_platform_department;
use serde_json::json;
use tokio::time::Instant;
use url::Url;

use crate::api::{Api, ApiCall};
use crate::department::DepartmentName;
use crate::response::ApiResponse;
use crate::sanitize::sanitize;
use crate::{Error, Identity, InvalidResponse, Wecom};

/// The platform's error code for an identifier without an account.
const NO_SUCH_USER: i64 = 60111;
const MAX_NAME_CHARS: usize = 128;
const MAX_AVATAR_URL_BYTES: usize = 512;

/// The profile of a user on the platform. Each field may be missing, depending on the application's visible range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Display name.
    pub name: Option<String>,
    /// The main department.
    pub department: Department,
    /// The URL of a picture.
    pub avatar: Option<String>,
    /// The status of the account.
    pub status: MemberStatus,
}

/// The main department of a user, as far as the platform reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Department {
    /// The platform did not report whether there is one.
    Unspecified,
    /// There is none that the application may see.
    None,
    /// The department is known.
    Known {
        /// The id. Departments are compared by id because names are not unique.
        id: String,
        /// The name; empty when the application may not see it, `None` when the platform did not report it.
        name: Option<String>,
    },
}

/// The status of an account on the platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberStatus {
    /// In use.
    Active,
    /// Disabled by the corporation's administrator.
    Disabled,
    /// Created, but never used.
    NotActivated,
    /// The user has left the corporation.
    Left,
    /// The platform did not report it.
    Unknown,
}

impl MemberStatus {
    const fn from_code(status: Option<i64>) -> Self {
        match status {
            Some(1) => Self::Active,
            Some(2) => Self::Disabled,
            Some(4) => Self::NotActivated,
            Some(5) => Self::Left,
            _ => Self::Unknown,
        }
    }
}

impl Profile {
    /// The profile of a user about whom the platform reports nothing else.
    #[must_use]
    pub const fn empty(department: Department) -> Self {
        Self { name: None, department, avatar: None, status: MemberStatus::Unknown }
    }

    fn read(response: &ApiResponse, department: Department) -> Self {
        Self {
            name: name(response),
            department,
            avatar: response.text("avatar").and_then(avatar_url),
            status: MemberStatus::from_code(response.number("status")),
        }
    }
}

impl Wecom {
    /// Returns the profile of a user; an empty one for a user who is not a member. A sign-in continues without a profile.
    pub async fn profile(&self, identity: &Identity) -> Result<Profile, Error> {
        let deadline = self.deadline();
        let profile = match identity {
            Identity::Member { userid } => self.fetch_member(userid, deadline).await,
            Identity::Linked { corp_id, userid } => self.fetch_linked_member(corp_id, userid, deadline).await,
            Identity::Outsider => Ok(Profile::empty(Department::Unspecified)),
        };
        match (identity, profile) {
            // For users of connected corporations the platform reports no status: users who left are not found. For members,
            // the same error also means that they are outside the application's visible range.
            (Identity::Linked { .. }, Err(Error::Refused { errcode: NO_SUCH_USER, .. })) => {
                Ok(Profile { status: MemberStatus::Left, ..Profile::empty(Department::Unspecified) })
            }
            (_, profile) => profile,
        }
    }

    async fn fetch_member(&self, userid: &str, deadline: Instant) -> Result<Profile, Error> {
        let response = self.request(&ApiCall::get(Api::User, &[("userid", userid)]), deadline).await?;
        let department = match response.number("main_department").or_else(|| response.first_number("department")) {
            Some(id) => {
                // The department's id is useful even without its name.
                let name = self.department_name(id, deadline).await.ok();
                let name = name.map(|name| name.map(|name| name.to_string()).unwrap_or_default());
                Department::Known { id: id.to_string(), name }
            }
            None => Department::None,
        };
        Ok(Profile::read(&response, department))
    }

    async fn fetch_linked_member(&self, corp_id: &str, userid: &str, deadline: Instant) -> Result<Profile, Error> {
        let body = json!({ "userid": format!("{corp_id}/{userid}") });
        let response = self.request(&ApiCall::post(Api::LinkedUser, body), deadline).await?;
        let person = response.take("user_info").ok_or(InvalidResponse::MissingField("user_info"))?;
        // The names of these departments are visible only to their own corporation.
        let department = match person.texts("department").as_deref() {
            Some([]) => Department::None,
            Some([id, ..]) if is_platform_department(id) => Department::Known { id: id.to_string(), name: None },
            Some(_) | None => Department::Unspecified,
        };
        Ok(Profile::read(&person, department))
    }

    async fn department_name(&self, id: i64, deadline: Instant) -> Result<DepartmentName, Error> {
        if let Some(name) = self.0.departments.get(id) {
            return Ok(name);
        }
        let asked = self.request(&ApiCall::get(Api::Department, &[("id", &id.to_string())]), deadline).await;
        let name = match asked {
            Ok(response) => response.take("department").and_then(|record| name(&record)).map(Into::into),
            // Unknown, or not visible to this application: that does not change between sign-ins.
            Err(Error::Refused { errcode: 40066 | 60003 | 60011 | 60123, .. }) => None,
            Err(error) => return Err(error),
        };
        self.0.departments.insert(id, name.clone());
        Ok(name)
    }
}

fn name(record: &ApiResponse) -> Option<String> {
    record.text("name").map(|name| sanitize(name, MAX_NAME_CHARS)).filter(|name| !name.is_empty())
}

/// The URL of a picture, normalized so that it can be put into a page.
fn avatar_url(text: &str) -> Option<String> {
    let fits = |text: &str| text.len() <= MAX_AVATAR_URL_BYTES;
    let url = Url::parse(text).ok().filter(|url| fits(text) && matches!(url.scheme(), "http" | "https"))?;
    Some(url.into()).filter(|url: &String| fits(url))
}
