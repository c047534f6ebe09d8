//! The types of fields that several requests have, or that come from other crates.

use std::collections::BTreeMap;
use std::net::IpAddr;

use deskpass_core::oidc::{
    ClientKind, ClientRegistration, OidcScope, OidcScopes, PkceRequirement, RoleClaims, SigningAlgorithm, SsoMode,
    is_client_id,
};
use deskpass_core::{
    CorpId, Digest, EmployeeId, LoginMethod, LoginSource, MatchNumber, MessageId, Operation, Password, PermissionScope,
    Resource, Role, Roles, ServiceKeyName, ServiceScope, ServiceScopes, Timestamp, parse_network, parse_reason,
};
use deskpass_store::AuditEvent;
use ipnet::IpNet;

use super::value::{BoundedInteger, FieldKind, FieldValue, FormattedText, GivenValue, TextFormat};
use crate::http::error::FieldError;

/// Identifiers.
macro_rules! identifiers {
    ($($id:ty),*) => {$(
        impl FieldValue for $id {
            fn kind() -> FieldKind {
                // An empty text is never an identifier, so parsing it returns the error with the rule.
                Self::parse("").err().map_or(FieldKind::Text, FieldKind::Id)
            }

            fn read(given: GivenValue) -> Result<Self, FieldError> {
                Self::parse(&given.text()?).map_err(FieldError::Id)
            }
        }
    )*};
}
identifiers!(CorpId, EmployeeId);

/// Words of a closed list.
macro_rules! closed_lists {
    ($($list:ty),*) => {$(
        impl FieldValue for $list {
            fn kind() -> FieldKind {
                FieldKind::OneOf(&Self::NAMES)
            }

            fn read(given: GivenValue) -> Result<Self, FieldError> {
                Self::from_name(&given.text()?).ok_or(FieldError::NotOneOf(&Self::NAMES))
            }
        }
    )*};
}
closed_lists!(
    AuditEvent,
    ClientKind,
    LoginMethod,
    LoginSource,
    Operation,
    PermissionScope,
    PkceRequirement,
    Resource,
    Role,
    RoleClaims,
    SigningAlgorithm,
    SsoMode
);

impl FieldValue for Password {
    fn kind() -> FieldKind {
        FieldKind::Password(Self::MAX_BYTES)
    }

    fn read(given: GivenValue) -> Result<Self, FieldError> {
        Self::parse(given.text()?).ok_or(FieldError::TooLong(Self::MAX_BYTES))
    }
}

/// A number of two digits, which a phone picks.
impl FieldValue for MatchNumber {
    fn kind() -> FieldKind {
        BoundedInteger::<10, 99>::kind()
    }

    fn read(given: GivenValue) -> Result<Self, FieldError> {
        let BoundedInteger(number) = BoundedInteger::<10, 99>::read(given)?;
        Self::parse(&number.to_string()).ok_or(FieldError::NotInteger(10, 99))
    }
}

impl FieldValue for Roles {
    fn kind() -> FieldKind {
        FieldKind::StringList(Role::ALL.len())
    }

    fn read(given: GivenValue) -> Result<Self, FieldError> {
        let names = given.texts(Role::ALL.len())?;
        let roles: Option<Self> = names.iter().map(|name| Role::from_name(name)).collect();
        roles.ok_or(FieldError::NotOneOf(&Role::NAMES))
    }
}

impl FieldValue for ServiceScopes {
    fn kind() -> FieldKind {
        FieldKind::StringList(ServiceScope::ALL.len())
    }

    fn read(given: GivenValue) -> Result<Self, FieldError> {
        const WORDS: [&str; ServiceScope::ALL.len()] = [ServiceScope::Introspect.name(), ServiceScope::Messages.name()];
        let words = given.texts(WORDS.len())?;
        let scopes: Option<Self> = words.iter().map(|word| ServiceScope::from_name(word)).collect();
        scopes.filter(|scopes| !scopes.is_empty()).ok_or(FieldError::NotSomeOf(&WORDS))
    }
}

impl FieldValue for OidcScopes {
    fn kind() -> FieldKind {
        FieldKind::StringList(OidcScope::ALL.len())
    }

    fn read(given: GivenValue) -> Result<Self, FieldError> {
        let names = given.texts(OidcScope::ALL.len())?;
        let scopes: Option<Self> = names.iter().map(|name| OidcScope::from_name(name)).collect();
        scopes.ok_or(FieldError::NotSomeOf(&OidcScope::NAMES))
    }
}

/// The addresses and names of a client's registration.
impl FieldValue for Vec<String> {
    fn kind() -> FieldKind {
        FieldKind::StringList(ClientRegistration::MAX_ENTRIES)
    }

    fn read(given: GivenValue) -> Result<Self, FieldError> {
        given.texts(ClientRegistration::MAX_ENTRIES)
    }
}

/// The group of each role, for a client.
#[derive(Debug, Default)]
pub(crate) struct RoleGroups(pub(crate) BTreeMap<Role, String>);

impl FieldValue for RoleGroups {
    fn kind() -> FieldKind {
        FieldKind::TextsByName(&Role::NAMES)
    }

    fn read(given: GivenValue) -> Result<Self, FieldError> {
        let groups = match given {
            GivenValue::Text(_) => None,
            GivenValue::Json(value) => serde_json::from_value(value).ok(),
        };
        groups.map(Self).ok_or(FieldError::Format([
            "must be an object with a text for each role, such as {\"agent\":\"helpdesk\"}",
            "必须是由角色到文本的对象，例如 {\"agent\":\"helpdesk\"}",
        ]))
    }
}

/// The most networks in a list.
const MAX_NETWORKS: usize = 200;

/// A single address counts as a network.
impl FieldValue for Vec<IpNet> {
    fn kind() -> FieldKind {
        FieldKind::StringList(MAX_NETWORKS)
    }

    fn read(given: GivenValue) -> Result<Self, FieldError> {
        let (mut networks, mut invalid) = (Self::new(), Vec::new());
        for text in given.texts(MAX_NETWORKS)? {
            match parse_network(&text) {
                Ok(network) => networks.push(network),
                Err(problem) => invalid.push((text, problem)),
            }
        }
        if invalid.is_empty() { Ok(networks) } else { Err(FieldError::Networks(invalid)) }
    }
}

/// Texts of a format: its name, pattern and example, the rule for people, and how a text is read.
macro_rules! formats {
    ($($(#[$doc:meta])* $type:ty: $name:literal, $pattern:expr, $example:literal, $rule:expr, $read:expr;)*) => {$(
        $(#[$doc])*
        impl FormattedText for $type {
            const FORMAT: &'static TextFormat =
                &TextFormat { name: $name, pattern: $pattern, example: $example, rule: $rule };

            fn from_text(text: String) -> Option<Self> {
                let read: fn(String) -> Option<Self> = $read;
                read(text)
            }
        }
    )*};
}

/// The id of a sign-in.
#[derive(Debug)]
pub(crate) struct SignInId(pub(crate) String);

/// The id of a service key.
#[derive(Debug)]
pub(crate) struct ServiceKeyId(pub(crate) String);

/// Why something is done, in the words of the person who does it.
#[derive(Debug)]
pub(crate) struct ReasonText(pub(crate) String);

/// The id of an OpenID Connect client.
#[derive(Debug)]
pub(crate) struct OidcClientId(pub(crate) String);

formats! {
    IpAddr: "ip-address", None, "192.0.2.1",
        ["must be an IPv4 or IPv6 address", "必须是 IPv4 或 IPv6 地址"],
        |text| text.parse().ok().map(|address: Self| address.to_canonical());
    Timestamp: "date-time", None, "2026-11-15T08:00:00Z",
        ["must be a time such as 2026-11-15T08:00:00Z", "必须是时间，例如 2026-11-15T08:00:00Z"],
        |text| text.parse().ok().map(|at: jiff::Timestamp| Self::from_millis(at.as_millisecond()));
    MessageId: "message-id", Some("^[0-9]{1,19}-[0-9]{1,20}$"), "1794733200000-0",
        ["must be the id of a message, as in frames", "必须是消息帧中的 id"],
        |text| text.parse().ok();
    /// The id of a session is the digest of its token.
    Digest: "session-id", Some("^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$"), "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        ["must be the id of a session, as in the list", "必须是列表中显示的会话编号"],
        |text| Self::from_text(&text);
    SignInId: "sign-in-id", Some("^[0-9a-f]{32}$"), "00000000000000000000000000000000",
        ["must be the id of a sign-in, as in the list", "必须是列表中显示的登录记录编号"],
        |text| is_hexadecimal(&text).then_some(Self(text));
    ServiceKeyId: "service-key-id", Some("^[0-9a-f]{32}$"), "00000000000000000000000000000000",
        ["must be the id of a service key, as in the list", "必须是列表中显示的服务密钥编号"],
        |text| is_hexadecimal(&text).then_some(Self(text));
    OidcClientId: "oidc-client-id", Some("^[A-Za-z0-9_-]{1,64}$"), "zammad",
        ["must be the id of a client, as in the list", "必须是列表中显示的客户端编号"],
        |text| is_client_id(&text).then_some(Self(text));
    ReasonText: "reason-text", None, "on call this weekend",
        [
            "must be 1 to 200 visible characters",
            "必须是 1 到 200 个可见字符",
        ],
        |text| parse_reason(&text).map(|reason| Self(reason.to_owned()));
    ServiceKeyName: "service-key-name", None, "billing",
        [
            "must be 1 to 64 visible characters without leading or trailing spaces",
            "必须是 1 到 64 个可见字符，首尾不得有空格",
        ],
        |text| Self::parse(&text);
}

/// Whether a text is sixteen bytes in lowercase hexadecimal.
pub(crate) fn is_hexadecimal(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'))
}
