//! Checks of the configuration at the platform. The API tells little about it, so what cannot be checked says what to enter.

use deskpass_platform::{Check, CheckOutcome, Deployment, Error, InvalidResponse, Messenger as _};

use crate::api::SCOPES;
use crate::errcode::is_missing_permission;
use crate::{Feishu, UserIdKind};

/// The number of entries that show whether the application may see anyone.
const SAMPLE_SIZE: &str = "50";

/// Checks the configuration with two calls. The check of the credentials is another one, which says what is wrong with them.
pub(crate) async fn configuration(feishu: &Feishu, deployment: &Deployment<'_>) -> Vec<Check> {
    let scope = match feishu.check_credentials().await {
        Ok(()) => contact_scope(feishu).await.unwrap_or_else(|error| bad(feishu, &error)),
        Err(_) => CheckOutcome::Skipped(both("", "")),
    };
    vec![
        Check { name: ["contact scope", "通讯录权限范围"], outcome: scope },
        Check {
            name: ["tenant key", "tenant key（platform.corp_id）"], outcome: CheckOutcome::Skipped(tenant_key())
        },
        Check { name: ["redirect URL", "重定向 URL"], outcome: CheckOutcome::Skipped(redirect_url(deployment)) },
        Check { name: ["permissions", "权限"], outcome: CheckOutcome::Skipped(permissions(feishu)) },
        Check { name: ["availability", "可用范围"], outcome: CheckOutcome::Skipped(availability()) },
    ]
}

/// What the application may see of the directory.
async fn contact_scope(feishu: &Feishu) -> Result<CheckOutcome, Error> {
    let call = feishu.contact_call(SCOPES, "").query("page_size", SAMPLE_SIZE);
    let response = feishu.0.client.request(&call, feishu.0.client.deadline()).await?;
    let data = response.object("data").ok_or(InvalidResponse::MissingField("data"))?;
    let count = |name: &str| data.texts(name).map_or(0, |ids| ids.len());
    let [departments, people, groups] = ["department_ids", "user_ids", "group_ids"].map(count);
    if departments + people + groups > 0 {
        return Ok(CheckOutcome::Good([
            format!(
                "the application may see {departments} department(s), {people} member(s) and {groups} group(s) or more"
            ),
            format!("应用可见 {departments} 个部门、{people} 名成员、{groups} 个用户组（或更多）"),
        ]));
    }
    Ok(CheckOutcome::Bad {
        what: both(
            "the application may see no department and no member: names and departments stay empty",
            "应用看不到任何部门和成员：姓名和部门将为空",
        ),
        fix: both(
            "set the scope in the developer console (开发者后台), the application, Permissions & Scopes (权限管理), data permissions \
             (数据权限), contact scope (通讯录权限范围), and publish a version",
            "请设置范围：开发者后台 → 该应用 → 权限管理 → 数据权限 → 通讯录权限范围，并发布应用版本",
        ),
    })
}

/// Neither the console nor an API names it.
fn tenant_key() -> [String; 2] {
    both(
        "whether platform.corp_id is right shows at the first sign-in: if it is not, the sign-in is refused and the service log has \
         the tenant_key to enter; correct it before you add employees",
        "platform.corp_id 是否正确要到首次登录时才知道：如不正确，登录会被拒绝，服务日志中有应填写的 tenant_key；请在添加员工之前更正",
    )
}

fn redirect_url(deployment: &Deployment<'_>) -> [String; 2] {
    let address = deployment.callback_url;
    [
        format!(
            "the platform compares the address character by character; enter {address} in the developer console (开发者后台), the \
             application, Security Settings (安全设置), redirect URLs (重定向 URL)"
        ),
        format!("飞书逐字符比较该地址；请填写 {address}：开发者后台 → 该应用 → 安全设置 → 重定向 URL"),
    ]
}

fn permissions(feishu: &Feishu) -> [String; 2] {
    let mut names = vec![
        // Names and pictures, departments, the status by which leavers are known, and the names of departments.
        "contact:contact.base:readonly",
        "contact:user.base:readonly",
        "contact:user.department:readonly",
        "contact:user.employee:readonly",
        "contact:department.base:readonly",
        // Notices, for which the application also needs a bot.
        "im:message:send_as_bot",
    ];
    if feishu.0.settings.user_id == UserIdKind::UserId {
        names.insert(0, "contact:user.employee_id:readonly");
    }
    let names = names.join(", ");
    [
        format!(
            "open these in the developer console (开发者后台), the application, Permissions & Scopes (权限管理): {names}; add the \
             bot ability (机器人) for notices; then publish a version"
        ),
        format!("请开通：开发者后台 → 该应用 → 权限管理：{names}；发送通知需添加“机器人”能力；最后发布应用版本"),
    ]
}

fn availability() -> [String; 2] {
    both(
        "two ranges must contain all employees: availability (可用范围, under version management and release, 版本管理与发布) decides \
         who may sign in and get messages, the contact scope (通讯录权限范围, under permissions, 权限管理) whose names and departments \
         can be read",
        "两个范围都应包含全体员工：可用范围（版本管理与发布）决定谁能登录和接收消息，通讯录权限范围（权限管理 → 数据权限）决定能读取谁的姓名和部门",
    )
}

fn bad(feishu: &Feishu, error: &Error) -> CheckOutcome {
    let refused = error.code().map(|code| (format!("飞书拒绝了请求（错误码 {code}）"), feishu.explain(code).text));
    let (chinese, fix) = match refused {
        Some((chinese, [english_fix, chinese_fix])) => (chinese, both(english_fix, chinese_fix)),
        None => (
            "无法完成对飞书的请求".to_owned(),
            both(
                "check the network, platform.api_url and platform.proxy",
                "请检查网络、platform.api_url 和 platform.proxy",
            ),
        ),
    };
    // The platform names the missing one only in a text, which is not kept.
    let fix = if error.code().is_some_and(is_missing_permission) { permissions(feishu) } else { fix };
    CheckOutcome::Bad { what: [error.to_string(), chinese], fix: feishu.advise(error).unwrap_or(fix) }
}

fn both(english: &str, chinese: &str) -> [String; 2] {
    [english.to_owned(), chinese.to_owned()]
}
