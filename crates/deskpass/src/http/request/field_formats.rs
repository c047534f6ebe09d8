//! Text formats that several requests use.

use std::net::IpAddr;

use deskpass_core::{Digest, MessageId, ServiceKeyName, ServiceScope, ServiceScopes, Timestamp, parse_network};
use ipnet::IpNet;

use crate::http::error::field_error::FieldError;
use crate::http::request::fields::{Fields, TextFormat};

static ADDRESS: TextFormat = TextFormat {
    name: "ip-address",
    pattern: None,
    example: "192.0.2.1",
    rule: ["must be an IPv4 or IPv6 address", "必须是 IPv4 或 IPv6 地址"],
};

static MOMENT: TextFormat = TextFormat {
    name: "date-time",
    pattern: None,
    example: "2026-11-15T08:00:00Z",
    rule: ["must be a time such as 2026-11-15T08:00:00Z", "必须是时间，例如 2026-11-15T08:00:00Z"],
};

static MESSAGE: TextFormat = TextFormat {
    name: "message-id",
    pattern: Some("^[0-9]{1,19}-[0-9]{1,20}$"),
    example: "1794733200000-0",
    rule: ["must be the id of a message, as in frames", "必须是消息帧中的 id"],
};

static SESSION: TextFormat = TextFormat {
    name: "session-id",
    pattern: Some("^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$"),
    example: "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    rule: ["must be the id of a session, as in the list", "必须是列表中显示的会话编号"],
};

static SIGN_IN: TextFormat = TextFormat {
    name: "sign-in-id",
    pattern: Some("^[0-9a-f]{32}$"),
    example: "00000000000000000000000000000000",
    rule: ["must be the id of a sign-in, as in the list", "必须是列表中显示的登录记录编号"],
};

static KEY: TextFormat = TextFormat {
    name: "service-key-id",
    pattern: Some("^[0-9a-f]{32}$"),
    example: "00000000000000000000000000000000",
    rule: ["must be the id of a service key, as in the list", "必须是列表中显示的服务密钥编号"],
};

static KEY_NAME: TextFormat = TextFormat {
    name: "service-key-name",
    pattern: None,
    example: "billing",
    rule: [
        "must be 1 to 64 visible characters without leading or trailing spaces",
        "必须是 1 到 64 个可见字符，首尾不得有空格",
    ],
};

/// Sixteen bytes in lowercase hexadecimal.
fn hexadecimal(text: &str) -> Option<String> {
    let plain = text.len() == 32 && text.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'));
    plain.then(|| text.to_owned())
}

/// The most networks in a list.
const MAX_NETWORKS: usize = 200;

#[expect(clippy::option_option, reason = "None: invalid and already reported; Some(None): absent")]
impl Fields {
    /// An optional address.
    pub(crate) fn maybe_address(&mut self, name: &'static str) -> Option<Option<IpAddr>> {
        self.maybe_formatted(name, &ADDRESS, |text| text.parse().ok().map(|address: IpAddr| address.to_canonical()))
    }

    /// An optional timestamp.
    pub(crate) fn maybe_timestamp(&mut self, name: &'static str) -> Option<Option<Timestamp>> {
        let read =
            |text: &str| text.parse().ok().map(|at: jiff::Timestamp| Timestamp::from_millis(at.as_millisecond()));
        self.maybe_formatted(name, &MOMENT, read)
    }

    /// An optional message id.
    pub(crate) fn maybe_message_id(&mut self, name: &'static str) -> Option<Option<MessageId>> {
        self.maybe_formatted(name, &MESSAGE, |text| text.parse().ok())
    }

    /// The id of a session.
    pub(crate) fn session_id(&mut self, name: &'static str) -> Option<Digest> {
        self.formatted(name, &SESSION, Digest::from_text)
    }

    /// The id of a sign-in.
    pub(crate) fn sign_in_id(&mut self, name: &'static str) -> Option<String> {
        self.formatted(name, &SIGN_IN, hexadecimal)
    }

    /// The id of a service key.
    pub(crate) fn key_id(&mut self, name: &'static str) -> Option<String> {
        self.formatted(name, &KEY, hexadecimal)
    }

    /// The name of a service key.
    pub(crate) fn key_name(&mut self, name: &'static str) -> Option<ServiceKeyName> {
        self.formatted(name, &KEY_NAME, ServiceKeyName::parse)
    }

    /// The scopes of a service key.
    pub(crate) fn scopes(&mut self, name: &'static str) -> Option<ServiceScopes> {
        const WORDS: [&str; ServiceScope::ALL.len()] = [ServiceScope::Introspect.name(), ServiceScope::Messages.name()];
        let words = self.texts(name, WORDS.len())?;
        let scopes: Option<ServiceScopes> = words.iter().map(|word| ServiceScope::from_name(word)).collect();
        let some = scopes.filter(|scopes| !scopes.is_empty());
        if some.is_none() {
            self.reject(name, FieldError::NotSomeOf(&WORDS));
        }
        some
    }

    /// A list of networks; a single address counts as a network.
    pub(crate) fn networks(&mut self, name: &'static str) -> Option<Vec<IpNet>> {
        let texts = self.texts(name, MAX_NETWORKS)?;
        let (mut networks, mut bad) = (Vec::new(), Vec::new());
        for text in texts {
            match parse_network(&text) {
                Ok(network) => networks.push(network),
                Err(problem) => bad.push((text, problem)),
            }
        }
        if bad.is_empty() {
            return Some(networks);
        }
        self.reject(name, FieldError::Networks(bad));
        None
    }
}
