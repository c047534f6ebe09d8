//! The platform's messages for its error codes.

use std::net::IpAddr;

use deskpass_core::{Entropy, Timestamp};
use serde_json::{Map, Value};

/// A refusal of the platform, and the fields that come with it.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) errcode: i64,
    pub(crate) fields: Map<String, Value>,
}

impl Refused {
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(name.to_owned(), value.into());
        self
    }
}

impl From<i64> for Refused {
    fn from(errcode: i64) -> Self {
        Self { errcode, fields: Map::new() }
    }
}

/// The error message: text, hint, caller and help page, in the platform's format.
pub(crate) fn errmsg(errcode: i64, peer: IpAddr, now: Timestamp, entropy: Entropy) -> String {
    let text = wording(errcode);
    if errcode == 0 {
        return text.to_owned();
    }
    let (seconds, more) = (now.millis().max(0) / 1_000, entropy.bytes().map_or(0, u64::from_be_bytes));
    let hint = format!("{:010}{:014}", seconds % 10_000_000_000, more % 100_000_000_000_000);
    let page = format!("https://open.work.weixin.qq.com/devtool/query?e={errcode}");
    format!("{text}, hint: [{hint}], from ip: {}, more info at {page}", peer.to_canonical())
}

fn wording(errcode: i64) -> &'static str {
    match errcode {
        0 => "ok",
        -1 => "system busy",
        40001 => "invalid credential",
        40008 => "invalid message type",
        40013 => "invalid corpid",
        40014 => "invalid access_token",
        40029 => "invalid code",
        40056 => "invalid agentid",
        40058 => "invalid Request Parameter",
        40068 => "invalid tagid",
        40091 => "secret is invalid",
        41001 => "access_token missing",
        41002 => "corpid missing",
        41004 => "corpsecret missing",
        41008 => "missing code",
        41009 => "missing userid",
        41011 => "missing agentid",
        42001 => "access_token expired",
        42003 => "code expired",
        42014 => "invalid task_id",
        42022 => "code has been used",
        42027..=42051 => "invalid template card",
        43012 => "no callback url",
        44004 => "empty content",
        45009 => "api freq out of limit",
        45033 => "api concurrent out of limit",
        48002 => "api forbidden",
        50001 => "redirect_uri unauthorized",
        60003 => "department not found",
        60011 => "no privilege to access/modify contact/party/agent",
        60020 => "not allow to access from your ip",
        60111 => "userid not found",
        81013 => "user & party & tag all invalid",
        82001 => "touser & toparty & totag all empty",
        301_002 => "not allow operate another agent with this accesstoken.",
        _ => "unknown error",
    }
}
