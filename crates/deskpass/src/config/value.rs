//! The types of settings: how each is parsed, explained and written.

mod choice;
mod duration;
mod list;
mod newtype;
mod number;
mod postgres_url;
mod rate;
mod redis_url;
mod secret;
mod secret_url;
mod size;
mod text;
mod web_origin;
mod web_url;

use std::fmt::Debug;
use std::net::SocketAddr;
use std::path::PathBuf;

use super::key::SettingKey;
use super::raw::{RawSetting, quoted};

pub(super) use choice::choice;
pub use list::HostName;
pub use postgres_url::PostgresUrl;
pub use redis_url::RedisUrl;
pub(super) use secret::MASK;
pub use secret::{EncryptionKey, SecretText};
pub(super) use secret_url::PASSWORD_MASK;
pub use secret_url::SecretUrl;
pub use size::Size;
pub use text::{AgentId, Identifier};
pub use web_origin::WebOrigin;
pub use web_url::WebUrl;

/// A type of a setting.
pub(super) trait SettingValue: Clone + Debug {
    /// Whether values are masked, wholly or in part, and may be read from a separate file.
    const SECRET: bool = false;

    /// Parses a value, or returns what is wrong with it. The message never repeats a secret.
    fn parse(raw: &RawSetting, key: &SettingKey) -> Result<Self, String>;

    /// The expected form of a value, with an example; it ends a sentence.
    fn expected(key: &SettingKey) -> String;

    /// The value as in the file; `None` if it must not be shown.
    fn to_toml(&self) -> Option<toml::Value> {
        None
    }
}

impl SettingValue for bool {
    fn parse(raw: &RawSetting, _: &SettingKey) -> Result<Self, String> {
        raw.boolean()
    }

    fn expected(_: &SettingKey) -> String {
        "true or false".to_owned()
    }

    fn to_toml(&self) -> Option<toml::Value> {
        Some((*self).into())
    }
}

impl SettingValue for SocketAddr {
    fn parse(raw: &RawSetting, _: &SettingKey) -> Result<Self, String> {
        let text = raw.text()?;
        text.parse().map_err(|_| format!("{} is not an IP address with a port", quoted(text)))
    }

    fn expected(_: &SettingKey) -> String {
        r#"an IP address and port such as "127.0.0.1:8080""#.to_owned()
    }

    fn to_toml(&self) -> Option<toml::Value> {
        Some(self.to_string().into())
    }
}

impl SettingValue for PathBuf {
    fn parse(raw: &RawSetting, _: &SettingKey) -> Result<Self, String> {
        let text = raw.text()?;
        if text.is_empty() || text.chars().any(char::is_control) {
            return Err(format!("{} is not a path", quoted(text)));
        }
        Ok(Self::from(text))
    }

    fn expected(_: &SettingKey) -> String {
        r#"a path such as "./data""#.to_owned()
    }

    fn to_toml(&self) -> Option<toml::Value> {
        Some(self.to_string_lossy().as_ref().into())
    }
}
