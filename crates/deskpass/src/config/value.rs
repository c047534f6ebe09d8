//! A value that its kind has accepted.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use deskpass_core::Rate;
use ipnet::IpNet;

use super::secret::{EncryptionKey, MASK, SecretText};
use super::secret_url::SecretUrl;
use super::{duration, rate, size};

/// An accepted value. `Display` writes it as TOML, with secrets masked.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Address(SocketAddr),
    Path(PathBuf),
    Text(String),
    Texts(Vec<String>),
    Word(&'static str),
    Flag(bool),
    Count(usize),
    Duration(Duration),
    Size(usize),
    Rate(Option<Rate>),
    Networks(Vec<IpNet>),
    Secret(SecretText),
    EncryptionKey(EncryptionKey),
    Url(SecretUrl),
}

impl Value {
    fn toml(&self) -> Option<toml::Value> {
        Some(match self {
            Self::Address(address) => address.to_string().into(),
            Self::Path(path) => path.to_string_lossy().as_ref().into(),
            Self::Text(text) => text.as_str().into(),
            Self::Texts(texts) => texts.clone().into(),
            Self::Word(word) => (*word).into(),
            Self::Flag(flag) => (*flag).into(),
            Self::Count(count) => toml::Value::Integer(i64::try_from(*count).ok()?),
            Self::Duration(duration) => duration::format(*duration).into(),
            Self::Size(size) => size::format(*size).into(),
            Self::Rate(rate) => rate::format(*rate).into(),
            Self::Networks(networks) => networks.iter().map(ToString::to_string).collect::<Vec<_>>().into(),
            Self::Url(url) => url.to_string().into(),
            Self::Secret(_) | Self::EncryptionKey(_) => return None,
        })
    }
}

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.toml() {
            Some(value) => value.fmt(out),
            None => out.write_str(MASK),
        }
    }
}

/// A type of a field of the settings, converted from the value of its key.
pub(super) trait FromValue: Sized {
    fn from_value(value: &Value) -> Option<Self>;
}

macro_rules! from_value {
    ($($type:ty: $(Value::$variant:ident)|+;)+) => {
        $(impl FromValue for $type {
            fn from_value(value: &Value) -> Option<Self> {
                match value {
                    $(Value::$variant(inner) => Some(inner.clone()),)+
                    _ => None,
                }
            }
        })+
    };
}

from_value! {
    SocketAddr: Value::Address;
    PathBuf: Value::Path;
    String: Value::Text;
    Vec<String>: Value::Texts;
    bool: Value::Flag;
    usize: Value::Count | Value::Size;
    Duration: Value::Duration;
    Option<Rate>: Value::Rate;
    Vec<IpNet>: Value::Networks;
    SecretText: Value::Secret;
    EncryptionKey: Value::EncryptionKey;
    SecretUrl: Value::Url;
}
