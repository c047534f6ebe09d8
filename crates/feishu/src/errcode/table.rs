//! The table of error codes, as data.

use FixableBy::{Administrator, Developer, Nobody, Person};
use deskpass_platform::{Explanation, FixableBy};

/// Error codes with the same meaning.
pub(super) struct ErrcodeRow {
    pub(super) codes: &'static [i64],
    pub(super) fixable_by: FixableBy,
    pub(super) text: [&'static str; 2],
}

const fn row(codes: &'static [i64], fixable_by: FixableBy, english: &'static str, chinese: &'static str) -> ErrcodeRow {
    ErrcodeRow { codes, fixable_by, text: [english, chinese] }
}

pub(super) const UNKNOWN: Explanation = Explanation {
    fixable_by: Administrator,
    text: [
        "The platform refused with an unknown error code. Look it up at https://open.feishu.cn/document/server-docs/api-call-guide/generic-error-code.",
        "飞书拒绝了请求，原因未收录。请到 https://open.feishu.cn/document/server-docs/api-call-guide/generic-error-code 查询该错误码。",
    ],
};

/// The explanation of this client's own word.
pub(super) const USER_ID_MISSING_ROW: ErrcodeRow = row(
    &[],
    Administrator,
    "The platform identifies the user but leaves out the user id, because the application lacks the permission to read it. \
     Open the permission contact:user.employee_id:readonly in the developer console and publish a version of the application, \
     or set platform.user_id to open_id before the first employee signs in.",
    "飞书识别了用户但没有返回 user_id，因为应用缺少“获取用户 user ID”权限。请在开发者后台开通 contact:user.employee_id:readonly \
     并发布应用版本，或在首位员工登录之前将 platform.user_id 设为 open_id。",
);

/// The explanations of the words of OAuth, which the platform may use without a number.
pub(super) const OAUTH_ROWS: &[(&str, ErrcodeRow)] = &[
    (
        "invalid_grant",
        row(
            &[],
            Person,
            "The code is unknown, expired, or was used already. Start signing in again.",
            "code 无效、已过期或已被使用。请重新登录。",
        ),
    ),
    (
        "invalid_client",
        row(
            &[],
            Administrator,
            "The App ID or the App Secret is wrong. Copy both again from the developer console: Credentials & Basic Info.",
            "App ID 或 App Secret 错误。请从开发者后台“凭证与基础信息”重新复制。",
        ),
    ),
];

/// Every error code that the platform is known to return for the calls of this service.
pub(super) const TABLE: &[ErrcodeRow] = &[
    row(
        &[2_200, 20_050, 20_072, 40_003, 230_049],
        Nobody,
        "The platform is busy or has a fault. Try again in a moment.",
        "飞书系统繁忙或内部错误，请稍后重试。",
    ),
    row(
        &[10_003],
        Administrator,
        "The platform does not accept the App ID or the App Secret as they are written. Copy both again, without spaces.",
        "App ID 或 App Secret 的格式不正确。请重新复制，注意不要带空格。",
    ),
    row(
        &[20_009, 20_069, 99_991_662, 99_991_673],
        Administrator,
        "The application is stopped, not installed or not published in this tenant. Enable it in the admin console.",
        "应用已停用、未安装或未在本企业发布。请在管理后台启用该应用。",
    ),
    row(
        &[10_014, 10_015],
        Administrator,
        "The App Secret is wrong, or the application is stopped or not installed in this tenant. Copy the secret again from the \
         developer console: Credentials & Basic Info; then check in the admin console that the application is enabled.",
        "App Secret 错误，或应用已停用、未在本企业安装。请从开发者后台“凭证与基础信息”重新复制 App Secret，并在管理后台确认应用已启用。",
    ),
    row(
        &[20_002],
        Administrator,
        "The App Secret is wrong. Copy it again from the developer console: Credentials & Basic Info.",
        "App Secret 错误。请从开发者后台“凭证与基础信息”重新复制。",
    ),
    row(
        &[11_232, 11_233, 11_247, 230_020, 99_991_400],
        Nobody,
        "Too many calls: the platform answers again after a short time.",
        "接口调用过于频繁，稍后自动恢复。",
    ),
    row(
        &[20_001, 20_036, 20_063, 20_067, 20_068, 20_070, 40_001, 40_011, 40_012, 99_992_402],
        Developer,
        "The platform does not accept a parameter of this call. Report this with the hint from the log.",
        "请求参数不合法。请连同日志中的 hint 一起反馈给开发者。",
    ),
    row(
        &[20_003, 20_007, 20_065],
        Person,
        "The code is unknown or was used already. Start signing in again.",
        "code 无效或已被使用。请重新登录。",
    ),
    row(&[20_004], Person, "The code has expired. Start signing in again.", "code 已过期。请重新登录。"),
    row(
        &[20_005, 20_006, 99_991_677],
        Person,
        "The token of the user is no longer valid. Start signing in again.",
        "用户令牌已失效。请重新登录。",
    ),
    row(
        &[20_008, 20_021, 20_022, 20_023, 20_066],
        Administrator,
        "The user does not exist, left, is suspended or has not joined. Check the member in the admin console.",
        "用户不存在、已离职、已暂停或尚未加入。请在管理后台核对该成员。",
    ),
    row(
        &[20_010],
        Administrator,
        "The user may not use the application. Add the user or the department to the application's availability and publish a \
         version of it.",
        "用户没有使用该应用的权限。请将该用户或部门加入应用的可用范围，并发布应用版本。",
    ),
    row(
        &[20_024],
        Person,
        "The code was made for another application. Start signing in again.",
        "code 属于其他应用。请重新登录。",
    ),
    row(
        &[20_027],
        Administrator,
        "The application lacks a permission that the sign-in page asks for. Open it in the developer console and publish a version.",
        "应用未开通登录页请求的权限。请在开发者后台开通并发布应用版本。",
    ),
    row(
        &[20_029],
        Administrator,
        "The address to which the platform sends browsers back is not registered. Enter it in the developer console under \
         Security Settings, Redirect URLs, character by character.",
        "重定向 URL 未登记。请在开发者后台“安全设置 - 重定向 URL”中逐字符填写。",
    ),
    row(
        &[20_048],
        Administrator,
        "The platform does not know this App ID. Copy it again from the developer console, and check that the addresses belong to \
         the same platform, Feishu or Lark.",
        "App ID 不存在。请从开发者后台重新复制，并确认各地址属于同一平台（飞书或 Lark）。",
    ),
    row(
        &[20_049],
        Person,
        "The code was requested by another browser. Start signing in again.",
        "code 由其他浏览器申请（PKCE 校验失败）。请重新登录。",
    ),
    row(
        &[20_071],
        Person,
        "The code was sent to another address. Start signing in again; if it happens always, public_url was changed.",
        "code 对应的重定向地址不一致。请重新登录；如持续出现，请检查 public_url 是否被修改。",
    ),
    row(
        &[40_004],
        Administrator,
        "The department is outside the application's contact scope; its name stays empty. Add it in the developer console under \
         Permissions, Data permissions if it is wanted.",
        "部门不在应用的通讯录权限范围内，部门名称将留空。如需读取，请在开发者后台“权限管理 - 数据权限”中添加。",
    ),
    row(
        &[41_012, 99_992_351, 99_992_359, 99_992_360],
        Administrator,
        "The platform does not know this member's identifier. Check the member, and that platform.user_id is as it was when the \
         member signed in first.",
        "用户 ID 无效。请核对该成员，并确认 platform.user_id 与该成员首次登录时一致。",
    ),
    row(
        &[41_050],
        Administrator,
        "The member is outside the application's contact scope, which is not its availability. Add the member under Permissions, \
         Data permissions if details are wanted; signing in works without.",
        "成员不在应用的通讯录权限范围内（与可用范围不同）。如需读取详情，请在“权限管理 - 数据权限”中添加；登录不受影响。",
    ),
    row(
        &[230_001, 230_099],
        Developer,
        "The platform does not accept a message. Report this with the hint from the log.",
        "消息参数不合法。请连同日志中的 hint 一起反馈给开发者。",
    ),
    row(
        &[230_002],
        Administrator,
        "The bot is not in the chat. Check that notices go to members and not to groups.",
        "机器人不在会话中。请确认通知的接收者是成员而不是群组。",
    ),
    row(
        &[230_006],
        Administrator,
        "The application has no bot, so it cannot send messages. Add the bot ability in the developer console and publish a version.",
        "应用未启用机器人能力，无法发送消息。请在开发者后台添加机器人能力并发布应用版本。",
    ),
    row(
        &[230_011, 230_031, 230_110, 99_992_354],
        Nobody,
        "The message was recalled or deleted, or is too old to be changed.",
        "消息已撤回、已删除或超过可更新期限。",
    ),
    row(
        &[230_013, 230_029, 230_034, 230_035, 230_038, 230_053, 230_075],
        Administrator,
        "The recipient cannot get messages of the application: outside its availability, gone, or has blocked the bot. Check the \
         member and the availability.",
        "接收人无法收到应用消息：不在可用范围内、已离职或屏蔽了机器人。请核对成员与可用范围。",
    ),
    row(
        &[230_022, 230_025, 230_028],
        Developer,
        "The platform does not accept the text or the length of a message. Report this with the hint from the log.",
        "消息内容或长度未通过飞书检查。请连同日志中的 hint 一起反馈给开发者。",
    ),
    row(
        &[230_027, 99_991_672, 99_991_676, 99_991_679],
        Administrator,
        "The application lacks a permission for this call. `deskpass doctor` lists the permissions to open in the developer console; \
         then publish a version.",
        "应用缺少该接口所需的权限。`deskpass doctor` 会列出需在开发者后台开通的权限；开通后请发布应用版本。",
    ),
    row(
        &[99_991_401],
        Administrator,
        "The address this service calls from is not on the application's list. Add it in the developer console under Security \
         Settings, IP allow list.",
        "本服务的出口 IP 不在应用的 IP 白名单中。请在开发者后台“安全设置 - IP 白名单”中添加。",
    ),
    row(
        // A limit and no outage: any client can use the calls up.
        &[99_991_403],
        Nobody,
        "The tenant has used up its API calls of this month. An administrator must upgrade the edition of the tenant, or wait for \
         the next month.",
        "本月 API 调用次数已达上限。请管理员升级飞书版本，或等待下月恢复。",
    ),
    row(
        &[99_991_661],
        Developer,
        "The call carried no access token. Report this with the hint from the log.",
        "请求缺少 access_token。请连同日志中的 hint 一起反馈给开发者。",
    ),
    row(
        &[99_991_663, 99_991_664, 99_991_665, 99_991_668, 99_991_671],
        Administrator,
        "The access token was not accepted, even after a new one was fetched. Check that App ID, App Secret and API address belong \
         together.",
        "access_token 无效，重新获取后仍被拒绝。请确认 App ID、App Secret 与接口地址属于同一环境。",
    ),
    row(
        &[99_992_361],
        Administrator,
        "The member's open_id belongs to another application: it changes with the App ID. Use the former App ID, or set \
         platform.user_id to user_id in a new deployment.",
        "该 open_id 属于其他应用：更换 App ID 后 open_id 会改变。请使用原来的 App ID，或在新部署中将 platform.user_id 设为 user_id。",
    ),
];
