//! The values for the placeholders of a statement.

use std::borrow::Cow;
use std::net::IpAddr;

use deskpass_core::{Digest, Role, Timestamp};
use serde::{Deserialize, Serialize};

/// A value of a column. In a backup it is a string, a number or null.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged)]
pub(crate) enum SqlValue<'a> {
    Text(Cow<'a, str>),
    Int(i64),
    Null,
}

impl<'a> From<&'a str> for SqlValue<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<bool> for SqlValue<'_> {
    fn from(flag: bool) -> Self {
        Self::Int(flag.into())
    }
}

impl<'a, T: Into<SqlValue<'a>>> From<Option<T>> for SqlValue<'a> {
    fn from(maybe: Option<T>) -> Self {
        maybe.map_or(Self::Null, Into::into)
    }
}

impl From<i64> for SqlValue<'_> {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<Timestamp> for SqlValue<'_> {
    fn from(moment: Timestamp) -> Self {
        Self::Int(moment.millis())
    }
}

impl From<Role> for SqlValue<'_> {
    fn from(role: Role) -> Self {
        Self::Int(role.id())
    }
}

impl From<Digest> for SqlValue<'_> {
    fn from(digest: Digest) -> Self {
        Self::Text(Cow::Owned(digest.to_text()))
    }
}

impl From<IpAddr> for SqlValue<'_> {
    fn from(address: IpAddr) -> Self {
        Self::Text(Cow::Owned(address.to_string()))
    }
}

/// The values for a statement's placeholders, `$1` first.
macro_rules! args {
    ($($value:expr),* $(,)?) => { [$($crate::database::SqlValue::from($value)),*] };
}
