//! Refusals of the platform: the older API hides them in a success, the newer API has words and HTTP statuses.

use std::net::IpAddr;

use bytes::Bytes;
use deskpass_core::Entropy;
use http::{Response, StatusCode};
use serde_json::{Value, json};

use crate::faults::FaultCode;
use crate::reply;

/// A refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// A number of the older API.
    Number(i64),
    /// A failed authentication at the older API: 88, and the cause as a text, which is empty when the platform timed out.
    Authentication(String),
    /// A word of the newer API.
    Word(String),
}

impl Refused {
    /// A failed authentication at the older API.
    pub(super) fn authentication(sub_code: i64) -> Self {
        Self::Authentication(sub_code.to_string())
    }
}

impl From<i64> for Refused {
    fn from(errcode: i64) -> Self {
        Self::Number(errcode)
    }
}

impl From<&str> for Refused {
    fn from(word: &str) -> Self {
        Self::Word(word.to_owned())
    }
}

/// An injected error: what belongs to 88 is shown as the platform shows it, and `88/…` names the cause.
impl From<&FaultCode> for Refused {
    fn from(code: &FaultCode) -> Self {
        match code {
            FaultCode::Number(88) => Self::Authentication(String::new()),
            FaultCode::Number(number @ (40014 | 42001)) => Self::authentication(*number),
            FaultCode::Number(number) => Self::Number(*number),
            FaultCode::Word(word) => match word.strip_prefix("88/") {
                Some(sub_code) => Self::Authentication(sub_code.to_owned()),
                None => Self::Word(word.clone()),
            },
        }
    }
}

/// The answer of the older or the newer API.
pub(super) fn render(refused: &Refused, newer: bool, peer: IpAddr, entropy: Entropy) -> Response<Bytes> {
    tracing::debug!(?refused, "the simulated platform refuses a call");
    let request_id = request_id(entropy);
    match refused {
        Refused::Word(word) => newer_refusal(word, &request_id, peer),
        Refused::Number(number) if newer => newer_refusal(&number.to_string(), &request_id, peer),
        Refused::Number(number) => {
            let errmsg = wording(*number, peer);
            let body = json!({ "errcode": number, "errmsg": errmsg, "request_id": request_id });
            reply::json(StatusCode::OK, &body)
        }
        Refused::Authentication(sub_code) => {
            let sub_msg = sub_code.parse::<i64>().map_or_else(|_| "timeout".to_owned(), |code| sub_wording(code, peer));
            let errmsg = format!("ding talk error[subcode={sub_code},submsg={sub_msg}]");
            let body = json!({
                "errcode": 88, "errmsg": errmsg, "sub_code": sub_code, "sub_msg": sub_msg, "request_id": request_id,
            });
            reply::json(StatusCode::OK, &body)
        }
    }
}

fn newer_refusal(word: &str, request_id: &str, peer: IpAddr) -> Response<Bytes> {
    let status = match word {
        "unknownError" => StatusCode::INTERNAL_SERVER_ERROR,
        word if word.starts_with("Forbidden.") => StatusCode::FORBIDDEN,
        _ => StatusCode::BAD_REQUEST,
    };
    let message = match word {
        "Forbidden.AccessDenied.IpNotInWhiteList" => wording(60020, peer),
        word => format!("simulated: {word}"),
    };
    let mut body = json!({ "code": word, "message": message, "requestid": request_id });
    if word == "Forbidden.AccessDenied.AccessTokenPermissionDenied"
        && let Value::Object(fields) = &mut body
    {
        let detail = json!({ "requiredScopes": ["Contact.User.Read"] });
        fields.insert("accessdenieddetail".to_owned(), detail);
    }
    reply::json(status, &body)
}

/// What the platform's support asks for.
pub(super) fn request_id(entropy: Entropy) -> String {
    format!("{:x}", entropy.bytes().map_or(0, u64::from_be_bytes))
}

fn sub_wording(sub_code: i64, peer: IpAddr) -> String {
    match sub_code {
        60011 => "应用尚未开通所需的权限：[qyapi_get_member]".to_owned(),
        other => wording(other, peer),
    }
}

fn wording(errcode: i64, peer: IpAddr) -> String {
    let text = match errcode {
        -1 => "系统繁忙",
        15 => "remote service timeout",
        22 => "Invalid method",
        33012 | 40003 => "无效的USERID",
        40014 => "不合法的access_token",
        40035 => "不合法的参数",
        40056 => "不合法的agentid",
        40078 => "不存在的临时授权码",
        40089 => "不合法的corpid或corpsecret",
        40096 => "不合法的appKey或appSecret",
        42001 => "access_token已过期",
        60003 => "部门不存在",
        60011 => "没有该成员或部门的权限",
        60020 => return format!("访问ip不在白名单之中,request ip={}", peer.to_canonical()),
        60121 => "找不到该用户",
        90018 => "您的应用调用该接口的频率超过限制",
        90020 => "贵组织本月调用钉钉OpenAPI次数超过限制",
        _ => "error",
    };
    text.to_owned()
}
