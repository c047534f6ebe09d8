//! The method, client and address of a sign-in.

use std::net::{IpAddr, Ipv4Addr};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{ClientAddress, Role, is_invisible};

/// The method of a sign-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoginMethod {
    /// A phone scanned a QR code and confirmed.
    Qrcode,
    /// The platform's redirect carried an authorization code.
    Oauth2,
    /// A user of a connected corporation was bound to an employee.
    Bind,
    /// An agent entered a password and a one-time password.
    Password,
    /// A development route, without the platform.
    Dev,
}

impl LoginMethod {
    /// Every method.
    pub const ALL: [Self; 5] = [Self::Qrcode, Self::Oauth2, Self::Bind, Self::Password, Self::Dev];

    /// The names of all methods.
    pub const NAMES: &'static [&'static str] =
        &[Self::Qrcode.name(), Self::Oauth2.name(), Self::Bind.name(), Self::Password.name(), Self::Dev.name()];

    /// The name in records and responses.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Qrcode => "qrcode",
            Self::Oauth2 => "oauth2",
            Self::Bind => "bind",
            Self::Password => "password",
            Self::Dev => "dev",
        }
    }

    /// The method with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }
}

/// The client that requested the sign-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoginSource {
    /// The employees' web client.
    H5,
    /// The agents' client.
    ItAgent,
    /// The administration client.
    ItAdmin,
}

impl LoginSource {
    /// Every client.
    pub const ALL: [Self; 3] = [Self::H5, Self::ItAgent, Self::ItAdmin];

    /// The names of all clients.
    pub const NAMES: [&'static str; 3] = [Self::H5.name(), Self::ItAgent.name(), Self::ItAdmin.name()];

    /// The name in records and responses.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::H5 => "h5",
            Self::ItAgent => "itagent",
            Self::ItAdmin => "itadmin",
        }
    }

    /// The client for users who act in this role.
    #[must_use]
    pub const fn of(role: Role) -> Self {
        match role {
            Role::Admin => Self::ItAdmin,
            Role::Agent => Self::ItAgent,
            Role::User | Role::Supervisor | Role::Security => Self::H5,
        }
    }

    /// The source with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.name() == name)
    }
}

impl Serialize for LoginMethod {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Serialize for LoginSource {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for LoginSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::from_name(&name).ok_or_else(|| D::Error::custom("no such client"))
    }
}

/// The `User-Agent` of a client. It is untrusted input, so it is truncated and stripped of invisible characters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserAgent(String);

impl UserAgent {
    /// The maximum length in bytes.
    pub const MAX_BYTES: usize = 512;

    /// Keeps the printable part of a header's bytes.
    #[must_use]
    pub fn from_header(bytes: &[u8]) -> Self {
        let mut text: String = String::from_utf8_lossy(bytes).chars().filter(|c| !is_invisible(*c)).collect();
        text.truncate(text.floor_char_boundary(Self::MAX_BYTES));
        Self(text)
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The client as described by its request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientInfo {
    /// The address of the request.
    pub address: ClientAddress,
    /// The `User-Agent` of the client.
    pub user_agent: UserAgent,
}

impl ClientInfo {
    /// The operator at the command line of the machine.
    #[must_use]
    pub fn operator() -> Self {
        Self::local("deskpass command line")
    }

    /// The service itself.
    #[must_use]
    pub fn service() -> Self {
        Self::local("deskpass service")
    }

    fn local(program: &str) -> Self {
        let here = IpAddr::from(Ipv4Addr::LOCALHOST);
        let address = ClientAddress { logged: here, decided: here, peer: here };
        Self { address, user_agent: UserAgent(program.to_owned()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for source in LoginSource::ALL {
            assert_eq!(LoginSource::from_name(source.name()), Some(source));
        }
        assert_eq!(LoginMethod::NAMES, LoginMethod::ALL.map(LoginMethod::name));
        assert_eq!(LoginSource::NAMES, LoginSource::ALL.map(LoginSource::name));
        for method in LoginMethod::ALL {
            assert_eq!(LoginMethod::from_name(method.name()), Some(method));
        }
        assert_eq!(LoginSource::from_name("H5"), None);
    }

    #[test]
    fn user_agents_are_shortened_and_sanitised() {
        assert_eq!(UserAgent::from_header(b"a\x1b[31m\r\nb").as_str(), "a[31mb");
        let long = "界".repeat(400);
        let parsed = UserAgent::from_header(long.as_bytes());
        assert!(parsed.as_str().len() <= UserAgent::MAX_BYTES && long.starts_with(parsed.as_str()));
        assert_eq!(UserAgent::from_header(b"\xff\xfe").as_str(), "\u{fffd}\u{fffd}");
    }
}
