//! Checks of the configuration at the platform, for operators, and advice about failed calls.

use deskpass_platform::client::ApiCall;
use deskpass_platform::{Check, CheckOutcome, Deployment, Error, Meaning, Refused};
use serde_json::json;
use url::Url;

use crate::client::Dingtalk;
use crate::refusal::REQUIRED;
use crate::{api, errcode, protocol};

/// A userid that belongs to no member.
const NO_USERID: &str = "deskpass-probe";

impl Dingtalk {
    /// Makes at most four calls: the access token, and one for each permission that can be tried without a user. The check of
    /// the credentials is another one, which says what is wrong with them.
    pub(crate) async fn run_checks(&self, deployment: &Deployment<'_>) -> Vec<Check> {
        let accepted = self.0.client.check_credentials().await.is_ok();
        let mut checks = Vec::new();
        for (name, permission, call) in self.probes() {
            let found = if accepted { self.probe(&call, permission).await } else { without_token() };
            checks.push(check(name, found));
        }
        checks.push(check(["permission to identify users", "获取登录用户身份的权限"], personal_permission()));
        checks.push(check(["redirect URL", "重定向URL"], redirect_url(deployment)));
        checks.push(check(["agent id", "AgentId"], self.agent_id_outcome()));
        checks
    }

    /// The calls about nobody, with the permission that each needs.
    fn probes(&self) -> [([&'static str; 2], &'static str, ApiCall); 3] {
        let user = self.legacy_call(api::USER, json!({ "userid": NO_USERID }));
        let department = self.legacy_call(api::DEPARTMENT, json!({ "dept_id": 1 }));
        [
            (
                ["permission to find members", "查询成员的权限"],
                "getbyunionid",
                protocol::probe(&self.0.hosts.legacy_api),
            ),
            (["permission to read members", "读取成员信息的权限"], "qyapi_get_member", user),
            (["permission to read departments", "读取部门信息的权限"], "qyapi_get_department_list", department),
        ]
    }

    async fn probe(&self, call: &ApiCall, permission: &str) -> CheckOutcome {
        match self.0.client.request(call, self.0.client.deadline()).await {
            // The platform looked for the person or the department, so the call is permitted.
            Err(error) if matches!(error.meaning(), Meaning::Gone | Meaning::OutOfRange) => permitted(permission),
            Ok(_) => permitted(permission),
            Err(error) => self.bad(&error),
        }
    }

    fn bad(&self, error: &Error) -> CheckOutcome {
        let chinese = match (error, error.code()) {
            (Error::CircuitOpen { .. }, Some(code)) => format!("对钉钉的调用已暂停（错误码 {code}）"),
            (_, Some(code)) => format!("钉钉拒绝了请求（错误码 {code}）"),
            (Error::InvalidResponse(_), None) => "无法识别钉钉的响应".to_owned(),
            (_, None) => "无法完成对钉钉的请求".to_owned(),
        };
        let fix = advise(error).unwrap_or_else(|| match error.code() {
            Some(code) => errcode::explain(code).text.map(str::to_owned),
            None => self.unreachable(),
        });
        CheckOutcome::Bad { what: [error.to_string(), chinese], fix }
    }

    fn unreachable(&self) -> [String; 2] {
        let [api, legacy_api] = [&self.0.hosts.api, &self.0.hosts.legacy_api].map(Url::as_str);
        [
            format!("Check that this machine can reach {api} and {legacy_api}, directly or through platform.proxy."),
            format!("请确认本机可以直接或通过 platform.proxy 访问 {api} 与 {legacy_api}。"),
        ]
    }

    fn agent_id_outcome(&self) -> CheckOutcome {
        match &self.0.agent_id {
            Some(agent_id) if agent_id.parse::<u64>().is_ok() => CheckOutcome::Skipped([
                format!("{agent_id}: whether it is right shows with the first message."),
                format!("{agent_id}：是否正确要到发送第一条消息时才知道。"),
            ]),
            Some(agent_id) => CheckOutcome::Bad {
                what: [format!("{agent_id} is not a number."), format!("{agent_id} 不是数字。")],
                fix: errcode_text(errcode::BAD_AGENT_ID),
            },
            None => CheckOutcome::Skipped([
                "It is not set, so no messages are sent to members. It is on the application's page in the developer console."
                    .to_owned(),
                "未填写，因此不会向成员发送消息。AgentId 在开发者后台该应用的“凭证与基础信息”中。".to_owned(),
            ]),
        }
    }
}

fn check(name: [&'static str; 2], outcome: CheckOutcome) -> Check {
    Check { name, outcome }
}

fn permitted(permission: &str) -> CheckOutcome {
    CheckOutcome::Good([format!("{permission}: granted."), format!("{permission}：已开通。")])
}

/// The check of the credentials says why.
fn without_token() -> CheckOutcome {
    CheckOutcome::Skipped([String::new(), String::new()])
}

/// Only a user who signs in can show it.
fn personal_permission() -> CheckOutcome {
    CheckOutcome::Skipped([
        "Cannot be checked without a user. In the developer console (开发者后台), the application, Permission Management \
         (权限管理), grant Contact.User.Read."
            .to_owned(),
        "没有用户登录时无法检查。请在开发者后台该应用的“权限管理”中开通“通讯录个人信息读权限”（Contact.User.Read）。".to_owned(),
    ])
}

fn redirect_url(deployment: &Deployment<'_>) -> CheckOutcome {
    let url = deployment.callback_url;
    CheckOutcome::Skipped([
        format!(
            "DingTalk does not tell it. In the developer console (开发者后台), the application, Security Settings (安全设置), \
             Redirect URL (重定向URL) must be exactly {url}."
        ),
        format!("钉钉没有查询接口。请在开发者后台该应用的“安全设置 - 重定向URL”中填写：{url}，须逐字一致。"),
    ])
}

fn errcode_text(word: &str) -> [String; 2] {
    errcode::explain(&deskpass_platform::ErrorCode::word(word)).text.map(str::to_owned)
}

/// What the platform said beyond its error code: the address that it saw, or the permissions that it misses.
pub(crate) fn advise(error: &Error) -> Option<[String; 2]> {
    let Error::Refused(refused) = error else { return None };
    let Refused { from_ip, hint, .. } = &**refused;
    if let Some(ip) = from_ip {
        return Some([
            format!(
                "DingTalk saw the call come from {ip}. Add this address in the developer console (开发者后台): the application, \
                 Security Settings (安全设置), Server Exit IP (服务器出口IP)."
            ),
            format!("钉钉看到的来源 IP 是 {ip}。请在开发者后台该应用的“安全设置 - 服务器出口IP”中添加。"),
        ]);
    }
    let (_, scopes) = hint.as_deref()?.split_once(REQUIRED)?;
    Some([
        format!(
            "The application lacks {scopes}. Grant it in the developer console (开发者后台): the application, Permission \
             Management (权限管理)."
        ),
        format!("应用缺少权限 {scopes}。请在开发者后台该应用的“权限管理”中申请开通。"),
    ])
}
