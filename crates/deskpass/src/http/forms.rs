//! Forms of text that several requests take.

use std::net::IpAddr;

use deskpass_core::{Digest, Timestamp};
use ipnet::IpNet;

use super::fields::{Fields, Form};

static ADDRESS: Form = Form {
    name: "ip-address",
    pattern: None,
    example: "192.0.2.1",
    rule: ["must be an IPv4 or IPv6 address", "必须是 IPv4 或 IPv6 地址"],
};

static MOMENT: Form = Form {
    name: "date-time",
    pattern: None,
    example: "2026-11-15T08:00:00Z",
    rule: ["must be a time such as 2026-11-15T08:00:00Z", "必须是时间，例如 2026-11-15T08:00:00Z"],
};

static SESSION: Form = Form {
    name: "session-id",
    pattern: Some("^[A-Za-z0-9_-]{43}$"),
    example: "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    rule: ["must be the id of a session, as lists show it", "必须是列表中显示的会话编号"],
};

#[expect(clippy::option_option, reason = "missing and wrong are two things, and one of them is reported already")]
impl Fields {
    /// An address that may be missing.
    pub(super) fn maybe_address(&mut self, name: &'static str) -> Option<Option<IpAddr>> {
        self.maybe_form(name, &ADDRESS, |text| text.parse().ok().map(|address: IpAddr| address.to_canonical()))
    }

    /// A moment that may be missing.
    pub(super) fn maybe_moment(&mut self, name: &'static str) -> Option<Option<Timestamp>> {
        let read =
            |text: &str| text.parse().ok().map(|at: jiff::Timestamp| Timestamp::from_millis(at.as_millisecond()));
        self.maybe_form(name, &MOMENT, read)
    }

    /// The id of a session.
    pub(super) fn session(&mut self, name: &'static str) -> Option<Digest> {
        self.form(name, &SESSION, Digest::from_text)
    }
}

/// A network, also one that is a single address.
pub(super) fn network(text: &str) -> Option<IpNet> {
    text.parse().ok().or_else(|| text.parse().ok().map(|address: IpAddr| IpNet::from(address)))
}
