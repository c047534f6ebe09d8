//! The types of settings: how each is parsed, explained and written.

mod approval_method;
mod choice;
mod colour;
mod duration;
mod event_key;
mod list;
mod newtype;
mod number;
mod platform_kind;
mod postgres_url;
mod rate;
mod redis_url;
mod secret;
mod secret_url;
pub(super) mod setting_value;
mod size;
mod text;
mod time_zone;
mod web_origin;
mod web_url;

use std::net::SocketAddr;
use std::path::PathBuf;

use super::declaration::Declaration;
use super::raw::{RawSetting, quoted};

pub use approval_method::ApprovalMethod;
pub(super) use choice::choice;
pub use colour::{AccentColour, Colour};
pub use event_key::EventKey;
pub use list::HostName;
pub use postgres_url::PostgresUrl;
pub use redis_url::RedisUrl;
pub use secret::{KeyList, SecretText, SigningSecret};
pub(super) use secret::{MASK, client_secret_digest};
pub(super) use secret_url::PASSWORD_MASK;
pub use secret_url::SecretUrl;
pub(super) use setting_value::SettingValue;
pub use size::Size;
pub use text::{AgentId, Identifier, Label, MailDomain};
pub use time_zone::ZoneName;
pub use web_origin::WebOrigin;
pub use web_url::{EndpointUrl, WebUrl};

impl SettingValue for bool {
    fn parse(raw: &RawSetting, _: &Declaration) -> Result<Self, String> {
        raw.boolean()
    }

    fn expected(_: &Declaration) -> String {
        "true or false".to_owned()
    }

    fn to_toml(&self) -> Option<toml::Value> {
        Some((*self).into())
    }
}

impl SettingValue for SocketAddr {
    fn parse(raw: &RawSetting, _: &Declaration) -> Result<Self, String> {
        let text = raw.text()?;
        text.parse().map_err(|_| format!("{} is not an IP address with a port", quoted(text)))
    }

    fn expected(_: &Declaration) -> String {
        r#"an IP address and port such as "127.0.0.1:8080""#.to_owned()
    }

    fn to_toml(&self) -> Option<toml::Value> {
        Some(self.to_string().into())
    }
}

impl SettingValue for PathBuf {
    fn parse(raw: &RawSetting, _: &Declaration) -> Result<Self, String> {
        let text = raw.text()?;
        if text.is_empty() || text.chars().any(char::is_control) {
            return Err(format!("{} is not a path", quoted(text)));
        }
        Ok(Self::from(text))
    }

    fn expected(_: &Declaration) -> String {
        r#"a path such as "./data""#.to_owned()
    }

    fn to_toml(&self) -> Option<toml::Value> {
        Some(self.to_string_lossy().as_ref().into())
    }
}
