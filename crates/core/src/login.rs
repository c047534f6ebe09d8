//! The method, client and address of a sign-in.

use std::net::{IpAddr, Ipv4Addr};

use serde::{Deserialize, Serialize};

use crate::named_enum::named_enum;
use crate::{ClientAddress, Reference, Role, is_invisible};

named_enum! {
    /// The method of a sign-in.
    LoginMethod {
        /// A phone scanned a QR code and confirmed.
        Qrcode => "qrcode",
        /// The platform's redirect carried an authorization code.
        Oauth2 => "oauth2",
        /// A user of a connected corporation was bound to an employee.
        Bind => "bind",
        /// An agent entered a password and a one-time password.
        Password => "password",
        /// A development route, without the platform.
        Dev => "dev",
    }
}

named_enum! {
    /// The client that requested the sign-in.
    LoginSource {
        /// The employees' web client.
        H5 => "h5",
        /// The agents' client.
        ItAgent => "itagent",
        /// The administration client.
        ItAdmin => "itadmin",
        /// An OpenID Connect client.
        Oidc => "oidc",
    }
}

impl LoginSource {
    /// The client for users who act in this role.
    #[must_use]
    pub const fn of(role: Role) -> Self {
        match role {
            Role::Admin => Self::ItAdmin,
            Role::Agent => Self::ItAgent,
            Role::User | Role::Supervisor | Role::Security => Self::H5,
        }
    }

    /// Whether the client can be used in this role.
    #[must_use]
    pub const fn is_for(self, role: Role) -> bool {
        match self {
            Self::H5 | Self::Oidc => true,
            Self::ItAgent => matches!(role, Role::Admin | Role::Agent | Role::Supervisor),
            Self::ItAdmin => matches!(role, Role::Admin | Role::Supervisor | Role::Security),
        }
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

    /// Whether the client says that it is a phone or a tablet. A client can say anything, so this keeps honest people from
    /// answering on the computer that asks, and no more.
    #[must_use]
    pub fn is_phone(&self) -> bool {
        PHONE_WORDS.iter().any(|word| self.0.contains(word))
    }
}

/// The words of which a phone's `User-Agent` has at least one.
const PHONE_WORDS: [&str; 5] = ["Mobile", "Android", "iPhone", "iPad", "HarmonyOS"];

/// The client as described by its request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientInfo {
    /// The address of the request.
    pub address: ClientAddress,
    /// The `User-Agent` of the client.
    pub user_agent: UserAgent,
    /// The reference of the request, if it came from one. It is not stored with what a client began: a later request has its
    /// own.
    #[serde(skip)]
    pub reference: Option<Reference>,
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
        Self { address, user_agent: UserAgent(program.to_owned()), reference: None }
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
    fn phones_are_told_from_computers() {
        let is_phone = |text: &str| UserAgent::from_header(text.as_bytes()).is_phone();
        for phone in [
            "Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 wxwork/4.1.22",
            "Mozilla/5.0 (Linux; Android 14; PGT-AN00) AppleWebKit/537.36 Chrome/116.0 Safari/537.36 Messenger/7.5.10",
            "Mozilla/5.0 (Phone; OpenHarmony 5.0; HarmonyOS 5.0) AppleWebKit/537.36 ArkWeb/4.1.6.1 Messenger/7.30",
            "Mozilla/5.0 (iPad; CPU OS 16_0 like Mac OS X) AppleWebKit/605.1.15",
        ] {
            assert!(is_phone(phone), "{phone}");
        }
        for computer in [
            "Mozilla/5.0 (Windows NT 10.0; WOW64) AppleWebKit/537.36 Chrome/108.0 Safari/537.36 wxwork/4.1.22 WindowsWechat",
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 Chrome/120.0 Safari/537.36 Messenger(7.5.10)",
            "curl/8.5.0",
            "",
        ] {
            assert!(!is_phone(computer), "{computer}");
        }
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
