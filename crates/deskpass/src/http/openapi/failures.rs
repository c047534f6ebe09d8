//! The error responses of a route: those that follow from its row and its input, and those that the row names.

use std::collections::{BTreeMap, BTreeSet};

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::app::readiness::ReadinessReport;
use crate::http::admission;
use crate::http::handler::OperationSpec;
use crate::http::request::access::RequiredAccess;
use crate::http::route::{RateLimit, Route};

/// Every error code: its usual status, and its meaning in English and Chinese.
#[rustfmt::skip]
const CODES: [(u16, u16, [&str; 2]); 19] = [
    (1001, 401, ["no token, or one that is not good (any more)", "缺少令牌，或令牌无效"]),
    (1002, 400, ["the request cannot be read; `fields` names each bad field", "请求无法识别；fields 逐一说明有误的字段"]),
    (1003, 403, ["not allowed, or not to this person; `reason` says why", "无权操作，或该人员不可操作；reason 说明原因"]),
    (1004, 404, ["there is no such thing", "对象不存在"]),
    (1005, 500, ["something broke; the log has more under the reference in the message", "出现故障；可凭提示中的参考编号查日志"]),
    (1006, 429, ["too often; try again after `Retry-After` seconds", "请求过于频繁；请在 Retry-After 秒后重试"]),
    (1007, 403, ["a fresh one-time password is needed in `X-OTP-Code`", "需要在 X-OTP-Code 中提供新的一次性密码"]),
    (1008, 401, ["the one-time password is wrong or was used already", "一次性密码错误或已使用"]),
    (1009, 403, ["no one-time-password device is bound", "尚未绑定一次性密码设备"]),
    (1010, 409, ["a one-time-password device is bound already", "已绑定一次性密码设备"]),
    (1011, 401, ["the employee id or the password is wrong", "员工编号或密码错误"]),
    (1012, 403, ["there is no password yet", "尚未设置密码"]),
    (1013, 429, ["locked after too many wrong attempts; try again after `Retry-After` seconds", "错误次数过多已锁定；请在 Retry-After 秒后重试"]),
    (1014, 400, ["the password is too weak; `fields` says why", "密码强度不足；fields 说明原因"]),
    (1015, 400, ["changing the password needs the old one", "修改密码需要提供旧密码"]),
    (1016, 403, ["the old password is wrong", "旧密码错误"]),
    (1017, 403, ["the active role may not be used from this address", "当前角色不可从此地址使用"]),
    (1018, 403, ["development mode is off", "开发模式未开启"]),
    (1019, 409, ["used already, or exists already", "已被使用，或已存在"]),
];

/// Codes by status.
type ErrorCodes = BTreeMap<u16, BTreeSet<u16>>;

/// The error responses of a route, by status.
pub(super) fn responses(route: &Route, spec: &OperationSpec) -> BTreeMap<u16, Value> {
    let mut failures = ErrorCodes::new();
    let mut may = |status, code| {
        failures.entry(status).or_default().insert(code);
    };
    may(500, 1005);
    may(503, 1005);
    if !admission::allows_untrusted_proxy(route.path) {
        may(403, 1003);
    }
    for code in by_authority(route.access) {
        may(usual_status(*code), *code);
    }
    let reads_token =
        !matches!(route.access, RequiredAccess::Anyone | RequiredAccess::Developer | RequiredAccess::Operator)
            || spec.input.accepts_token;
    if reads_token
        || route.has_side_effects
        || spec.input.body.is_some()
        || !(spec.input.query.is_empty() && spec.input.path.is_empty())
    {
        may(400, 1002);
    }
    if spec.input.body.is_some() {
        may(413, 1002);
        may(415, 1002);
    }
    if !spec.input.path.is_empty() {
        may(404, 1004);
    }
    if spec.output.switches {
        may(426, 1002);
        may(429, 1006);
    }
    if route.limit != RateLimit::Unlimited {
        may(429, 1006);
    }
    for code in route.refusals {
        match code {
            1005 => [502, 504].into_iter().for_each(|status| may(status, 1005)),
            code => may(usual_status(*code), *code),
        }
    }
    failures.into_iter().map(|(status, codes)| (status, response(status, &codes))).collect()
}

/// The error codes for callers who do not have the required access.
fn by_authority(access: RequiredAccess) -> &'static [u16] {
    match access {
        RequiredAccess::Anyone => &[],
        RequiredAccess::PartialOrFull | RequiredAccess::TokenHolder => &[1001],
        RequiredAccess::ActiveUser => &[1001, 1003, 1017],
        RequiredAccess::Reader | RequiredAccess::Admin => &[1001, 1003, 1006, 1017],
        RequiredAccess::Service => &[1001, 1003],
        RequiredAccess::HighRisk => &[1001, 1003, 1006, 1007, 1008, 1009, 1013, 1017],
        RequiredAccess::Developer => &[1018],
        RequiredAccess::Operator => &[1003],
    }
}

fn usual_status(code: u16) -> u16 {
    CODES.iter().find(|(known, ..)| *known == code).map_or(500, |(_, status, _)| *status)
}

fn response(status: u16, codes: &BTreeSet<u16>) -> Value {
    let told = CODES.iter().filter(|(code, ..)| codes.contains(code));
    let told: Vec<_> = told.map(|(code, _, [when, _])| format!("{code}: {when}")).collect();
    let mut response = json!({
        "description": told.join(". "),
        "headers": { "X-Request-Id": { "$ref": "#/components/headers/X-Request-Id" } },
        "content": { "application/json": { "schema": {
            "allOf": [{ "$ref": "#/components/schemas/Failure" }, { "properties": { "code": { "enum": codes } } }],
        } } },
    });
    let header = match status {
        401 => "WWW-Authenticate",
        429 => "Retry-After",
        _ => return response,
    };
    if let Some(headers) = response.get_mut("headers").and_then(Value::as_object_mut) {
        headers.insert(header.into(), json!({ "$ref": format!("#/components/headers/{header}") }));
    }
    response
}

/// The meaning of each code, in English and Chinese.
pub(super) fn codes() -> Map<String, Value> {
    CODES.iter().map(|(code, _, when)| (code.to_string(), json!(when))).collect()
}

/// The headers of responses, for the responses to refer to.
pub(super) fn headers() -> Value {
    let text = json!({ "type": "string" });
    json!({
        "X-Request-Id": {
            "description": "The name of the request: the client's own, where it is 1 to 64 of A-Z a-z 0-9 . _ -",
            "required": true, "schema": text,
        },
        "WWW-Authenticate": { "description": "How to make oneself known", "required": true, "schema": text },
        "Retry-After": {
            "description": "Seconds after which it is worth trying again",
            "required": true, "schema": { "type": "integer", "minimum": 1 },
        },
        "Set-Cookie": { "description": "None of the cookies signs anyone in", "schema": text },
        "Location": { "description": "Where to go on", "required": true, "schema": { "type": "string", "format": "uri" } },
    })
}

/// An error response.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its form is wanted")]
pub(super) struct Failure {
    /// The error code, for programs.
    code: u16,
    /// The error message, for people, in English or Chinese as `Accept-Language` prefers.
    message: String,
    data: Option<Detail>,
    request_id: String,
}

/// Details of an error.
#[derive(JsonSchema)]
#[schemars(rename = "FailureDetail")]
#[serde(untagged)]
#[expect(dead_code, reason = "only its form is wanted")]
enum Detail {
    /// The reason, as one word.
    Reason { reason: String },
    /// The error of each invalid field.
    Fields { fields: BTreeMap<String, String> },
    /// Why the service is not ready.
    NotReady(ReadinessReport),
}

/// Adds the schema of all errors, for the responses to refer to.
pub(super) fn describe(generator: &mut SchemaGenerator) {
    generator.subschema_for::<Failure>();
}
