//! What the platform says of a person.

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
    /// Name of the main department.
    pub department: Option<String>,
    /// Address of a picture.
    pub avatar: Option<String>,
    /// Whether the account is in use.
    pub standing: Standing,
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
    /// Nothing but whether the account is in use.
    #[must_use]
    pub const fn nothing(standing: Standing) -> Self {
        Self { name: None, department: None, avatar: None, standing }
    }

    fn read(answer: &Answer) -> Self {
        Self {
            name: name(answer),
            department: None,
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
            Identity::Outsider => Ok(Profile::nothing(Standing::Unknown)),
        };
        match told {
            // Of people of connected corporations the platform tells no status: those who left are not found.
            Err(Error::Refused { errcode: NO_SUCH_USER, .. }) => Ok(Profile::nothing(Standing::Left)),
            told => told,
        }
    }

    async fn member(&self, userid: &str, deadline: Instant) -> Result<Profile, Error> {
        let answer = self.ask(&Question::get(Api::User, &[("userid", userid)]), deadline).await?;
        let mut profile = Profile::read(&answer);
        if let Some(id) = answer.number("main_department").or_else(|| answer.first_number("department")) {
            // Without the department's name the rest is still worth having.
            let name = self.department(id, deadline).await.unwrap_or_default();
            profile.department = name.map(|name| name.to_string());
        }
        Ok(profile)
    }

    async fn linked(&self, corp_id: &str, userid: &str, deadline: Instant) -> Result<Profile, Error> {
        let body = json!({ "userid": format!("{corp_id}/{userid}") });
        let answer = self.ask(&Question::post(Api::LinkedUser, body), deadline).await?;
        let person = answer.take("user_info").ok_or(Garbled::Incomplete("user_info"))?;
        Ok(Profile::read(&person))
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
