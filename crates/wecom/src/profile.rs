//! What the platform says of a person.

use deskpass_core::is_platform_department;
use serde_json::json;
use tokio::time::Instant;
use url::Url;

use crate::answer::Answer;
use crate::api::{Api, Question};
use crate::department::Name;
use crate::plain::plain;
use crate::{Error, Garbled, Identity, Wecom};

/// What the platform says where there is no account with an identifier.
const NO_SUCH_USER: i64 = 60111;
/// The longest name kept, in characters.
const LONGEST_NAME: usize = 128;
/// The longest address of a picture kept, in bytes.
const LONGEST_ADDRESS: usize = 512;

/// What the platform says of a person. Each part may be missing: it depends on what the application may see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Display name.
    pub name: Option<String>,
    /// The main department.
    pub department: Department,
    /// Address of a picture.
    pub avatar: Option<String>,
    /// Whether the account is in use.
    pub standing: Standing,
}

/// The main department of a person, as far as the platform tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Department {
    /// The platform did not say whether there is one.
    Untold,
    /// There is none that the application may see.
    None,
    /// This one.
    Known {
        /// Its id: departments are compared by it, since two may have the same name.
        id: String,
        /// Its name; empty when the application may not see it, `None` when the platform did not say.
        name: Option<String>,
    },
}

/// Whether an account on the platform is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// In use.
    Active,
    /// Shut by the corporation's administrator.
    Disabled,
    /// Made, but never used.
    NotActivated,
    /// The person has left the corporation.
    Left,
    /// The platform did not say.
    Unknown,
}

impl Standing {
    const fn from_status(status: Option<i64>) -> Self {
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
    /// Of somebody of whom the platform tells nothing.
    #[must_use]
    pub const fn empty(department: Department) -> Self {
        Self { name: None, department, avatar: None, standing: Standing::Unknown }
    }

    fn read(answer: &Answer, department: Department) -> Self {
        Self {
            name: name(answer),
            department,
            avatar: answer.text("avatar").and_then(picture),
            standing: Standing::from_status(answer.number("status")),
        }
    }
}

impl Wecom {
    /// What the platform says of a person; of somebody who is no member, nothing.
    ///
    /// # Errors
    /// When the platform does not say. A sign-in goes on without it.
    pub async fn profile(&self, identity: &Identity) -> Result<Profile, Error> {
        let deadline = self.deadline();
        let told = match identity {
            Identity::Member { userid } => self.member(userid, deadline).await,
            Identity::Linked { corp_id, userid } => self.linked(corp_id, userid, deadline).await,
            Identity::Outsider => Ok(Profile::empty(Department::Untold)),
        };
        match (identity, told) {
            // Of people of connected corporations the platform tells no status: those who left are not found. Of members it says the
            // same where they are out of the application's visible range.
            (Identity::Linked { .. }, Err(Error::Refused { errcode: NO_SUCH_USER, .. })) => {
                Ok(Profile { standing: Standing::Left, ..Profile::empty(Department::Untold) })
            }
            (_, told) => told,
        }
    }

    async fn member(&self, userid: &str, deadline: Instant) -> Result<Profile, Error> {
        let answer = self.ask(&Question::get(Api::User, &[("userid", userid)]), deadline).await?;
        let department = match answer.number("main_department").or_else(|| answer.first_number("department")) {
            Some(id) => {
                // Without the department's name its id is still worth having.
                let name = self.department(id, deadline).await.ok();
                let name = name.map(|name| name.map(|name| name.to_string()).unwrap_or_default());
                Department::Known { id: id.to_string(), name }
            }
            None => Department::None,
        };
        Ok(Profile::read(&answer, department))
    }

    async fn linked(&self, corp_id: &str, userid: &str, deadline: Instant) -> Result<Profile, Error> {
        let body = json!({ "userid": format!("{corp_id}/{userid}") });
        let answer = self.ask(&Question::post(Api::LinkedUser, body), deadline).await?;
        let person = answer.take("user_info").ok_or(Garbled::Incomplete("user_info"))?;
        // What these departments are called is for their own corporation to know.
        let department = match person.texts("department").as_deref() {
            Some([]) => Department::None,
            Some([id, ..]) if is_platform_department(id) => Department::Known { id: id.to_string(), name: None },
            Some(_) | None => Department::Untold,
        };
        Ok(Profile::read(&person, department))
    }

    async fn department(&self, id: i64, deadline: Instant) -> Result<Name, Error> {
        if let Some(name) = self.departments().recall(id) {
            return Ok(name);
        }
        let asked = self.ask(&Question::get(Api::Department, &[("id", &id.to_string())]), deadline).await;
        let name = match asked {
            Ok(answer) => answer.take("department").and_then(|record| name(&record)).map(Into::into),
            // Unknown, or not for this application to see: that does not change from one sign-in to the next.
            Err(Error::Refused { errcode: 40066 | 60003 | 60011 | 60123, .. }) => None,
            Err(error) => return Err(error),
        };
        self.departments().remember(id, name.clone());
        Ok(name)
    }
}

fn name(record: &Answer) -> Option<String> {
    record.text("name").map(|name| plain(name, LONGEST_NAME)).filter(|name| !name.is_empty())
}

/// The address of a picture, written so that it can go into a page.
fn picture(text: &str) -> Option<String> {
    let fits = |text: &str| text.len() <= LONGEST_ADDRESS;
    let url = Url::parse(text).ok().filter(|url| fits(text) && matches!(url.scheme(), "http" | "https"))?;
    Some(url.into()).filter(|url: &String| fits(url))
}
