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
        "The platform refused with an unknown error code. Look it up at https://open.work.weixin.qq.com/devtool/query.",
        "企业微信拒绝了请求，原因未收录。请到 https://open.work.weixin.qq.com/devtool/query 查询该错误码。",
    ],
};

/// Every error code that the platform is known to return for the calls of this service.
pub(super) const TABLE: &[ErrcodeRow] = &[
    row(&[-1], Nobody, "The platform is busy. Try again in a moment.", "企业微信系统繁忙，请稍后重试。"),
    row(
        &[6000],
        Nobody,
        "Concurrent changes conflicted on the platform. Try again in a moment.",
        "企业微信数据版本冲突，请稍后重试。",
    ),
    row(
        &[40001],
        Administrator,
        "The secret is wrong, does not belong to this corp id, or the application is stopped. Copy the application's \
         secret again, without spaces.",
        "Secret 错误、与企业 ID 不匹配，或应用已停用。请重新复制该应用的 Secret，注意不要带空格。",
    ),
    row(
        &[40003],
        Administrator,
        "The platform does not know this member: left, deleted, or mistyped. Check the member in the directory.",
        "企业微信没有该成员：可能已离职、被删除或账号有误。请在通讯录中核对。",
    ),
    row(
        &[40008, 44004, 45002],
        Developer,
        "The platform does not accept the kind, the length or the emptiness of a message. Report this with the hint from the log.",
        "消息类型、长度不合法或内容为空。请连同日志中的 hint 一起反馈给开发者。",
    ),
    row(
        &[40013],
        Administrator,
        "The corp id is wrong. Copy it from the console: My Company, Company Information.",
        "企业 ID（CorpID）错误。请在管理后台“我的企业 - 企业信息”中重新复制。",
    ),
    row(
        &[40014],
        Administrator,
        "The access token was not accepted, even after a new one was fetched. Check that corp id, secret and API \
         address belong together.",
        "access_token 无效，重新获取后仍被拒绝。请确认企业 ID、Secret 与接口地址属于同一环境。",
    ),
    row(
        &[40029],
        Person,
        "The code was used already, has expired, or was made for another application. Start signing in again.",
        "code 已被使用、已过期，或属于其他应用。请重新登录。",
    ),
    row(
        &[40056],
        Administrator,
        "The agent id is not a number or does not exist. Copy it from the application's page.",
        "AgentId 不是数字或不存在。请从应用详情页重新复制。",
    ),
    row(
        &[40058],
        Developer,
        "The platform does not accept a parameter of this call. Report this with the hint from the log.",
        "请求参数不合法。请连同日志中的 hint 一起反馈给开发者。",
    ),
    row(
        &[40066, 60003, 60123],
        Nobody,
        "The department is unknown, or outside what the application may see; its name stays empty.",
        "部门不存在或不在应用可见范围内；部门名称将留空。",
    ),
    row(
        &[40068],
        Administrator,
        "The tag does not exist, or the application may not see it. Check the tag in the directory, and the rules that name it.",
        "标签不存在或应用不可见。请在通讯录中核对标签，并检查引用它的规则。",
    ),
    row(
        &[40073],
        Developer,
        "The platform does not accept this openid. Report this with the hint from the log.",
        "openid 不合法。请连同日志中的 hint 一起反馈给开发者。",
    ),
    row(
        &[40078],
        Person,
        "The authorisation code was used already or is wrong. Start signing in again.",
        "授权码已被使用或不正确。请重新登录。",
    ),
    row(
        &[40082, 40083, 40084, 40085],
        Administrator,
        "A credential of a third-party suite is invalid. Configure the secret of your own application instead.",
        "第三方应用（套件）的凭证无效。请改用企业自建应用的 Secret。",
    ),
    row(
        &[40091],
        Administrator,
        "The secret belongs to another corporation. Configure corp id and secret of the same corporation.",
        "Secret 属于其他企业。请填写同一企业的企业 ID 与 Secret。",
    ),
    row(
        &[41001],
        Developer,
        "The call carried no access token. Report this with the hint from the log.",
        "请求缺少 access_token。请连同日志中的 hint 一起反馈给开发者。",
    ),
    row(
        &[41002],
        Administrator,
        "The corp id is missing. Set it in this service's settings.",
        "缺少企业 ID（CorpID）。请在本服务的配置中填写。",
    ),
    row(
        &[41004],
        Administrator,
        "The secret is missing. Set it in this service's settings.",
        "缺少应用 Secret。请在本服务的配置中填写。",
    ),
    row(&[41008], Person, "The code is missing. Start signing in again.", "缺少 code 参数。请重新登录。"),
    row(
        &[41009],
        Developer,
        "The call carried no user id. Report this with the hint from the log.",
        "请求缺少 userid。请连同日志中的 hint 一起反馈给开发者。",
    ),
    row(
        &[41011],
        Administrator,
        "The agent id is missing. Set it in this service's settings.",
        "缺少 AgentId。请在本服务的配置中填写。",
    ),
    row(
        &[42001],
        Administrator,
        "The access token has expired, even after a new one was fetched. Check that corp id, secret and API address belong together.",
        "access_token 已过期，重新获取后仍被拒绝。请确认企业 ID、Secret 与接口地址属于同一环境。",
    ),
    row(&[42003], Person, "The code has expired. Start signing in again.", "code 已过期。请重新登录。"),
    row(
        &[42007, 42009],
        Administrator,
        "A credential of a third-party suite has expired. Configure the secret of your own application instead.",
        "第三方应用（套件）的凭证已过期。请改用企业自建应用的 Secret。",
    ),
    row(
        &[42014, 42016, 42022, 42027, 42028, 42029, 42030, 42031, 42033, 42035, 42038, 42039, 42045, 42050, 42051],
        Developer,
        "The platform does not accept a part of a card, or its number. Report this with the hint from the log.",
        "模板卡片的内容或编号不合法。请连同日志中的 hint 一起反馈给开发者。",
    ),
    row(
        &[43012],
        Administrator,
        "The application receives no events, so it cannot send buttons. Set the address for events in the console: the \
         application, Receive Messages.",
        "应用未设置接收消息服务器，无法发送带按钮的卡片。请在管理后台该应用的“接收消息”中设置。",
    ),
    row(
        &[45009],
        Nobody,
        "Too many calls, or too many wrong secrets: the platform answers again after a minute to an hour. The console can lift the block sooner.",
        "接口调用过于频繁或 Secret 多次错误，一分钟至一小时后恢复。也可在管理后台自助解除。",
    ),
    row(
        &[45029],
        Developer,
        "The answer would be too large. Report this with the hint from the log.",
        "返回数据过大。请连同日志中的 hint 一起反馈给开发者。",
    ),
    row(
        &[45031],
        Administrator,
        "The platform no longer accepts this secret as safe. Reset the application's secret in the console and configure the new one.",
        "Secret 安全性不足。请在管理后台重置应用的 Secret 并更新配置。",
    ),
    row(&[45033], Nobody, "Too many calls at once. Try again in a moment.", "接口并发调用超过限制，请稍后重试。"),
    row(
        &[46004],
        Person,
        "The platform has no such member. Sign in with the account of this corporation.",
        "企业微信没有该成员。请使用本企业的账号登录。",
    ),
    row(
        &[48001],
        Administrator,
        "The corporation has no licence for this function. Check the corporation's verification and its edition.",
        "企业未开通该功能。请检查企业认证状态与版本。",
    ),
    row(
        &[48002],
        Administrator,
        "This application may not make this call. Configure the secret of your own application, not the one for \
         directory sync.",
        "该应用无权调用此接口。请使用自建应用的 Secret，而不是通讯录同步的 Secret。",
    ),
    row(
        &[48004],
        Administrator,
        "The authorisation of the application is void. Authorise it again in the console.",
        "应用授权已失效。请在管理后台重新授权。",
    ),
    row(
        &[48005],
        Developer,
        "The platform has retired this call. Update this service.",
        "该接口已被企业微信停用。请升级本服务。",
    ),
    row(
        &[48006],
        Administrator,
        "The application lost its permission because it was not used for long. Enable it again in the console.",
        "应用因长期未使用被收回权限。请在管理后台重新启用。",
    ),
    row(
        &[48009],
        Administrator,
        "The directory-sync secret may not read details from this address. Configure the secret of your own \
         application.",
        "通讯录同步 Secret 不能从新 IP 读取成员详情。请改用自建应用的 Secret。",
    ),
    row(
        &[50001],
        Administrator,
        "The host of the redirect address is not a trusted domain of this application, or the code belongs to another \
         application. Enter host and port exactly under Web Authorisation and under WeCom Login.",
        "回调地址的域名不是该应用的可信域名，或 code 属于其他应用。请在“网页授权及JS-SDK”和“企业微信授权登录”中准确填写域名（含端口）。",
    ),
    row(
        &[50002, 60021, 60030],
        Administrator,
        "The member is outside the application's visible range. Add the member or the department to it in the console.",
        "成员不在应用可见范围内。请在管理后台将成员或部门加入可见范围。",
    ),
    row(
        &[50003],
        Administrator,
        "The application is disabled. Enable it in the console.",
        "应用已被停用。请在管理后台启用。",
    ),
    row(
        &[60011],
        Administrator,
        "The application may not see this member, department or tag. Add it to the visible range if its details are wanted; signing in works without.",
        "应用无权访问该成员、部门或标签。如需读取详情请加入可见范围；登录不受影响。",
    ),
    row(
        &[60020],
        Administrator,
        "The address this service calls from is not trusted. Add it to the application's trusted IPs in the console; this takes effect after a minute.",
        "本服务的出口 IP 不在企业可信 IP 中。请在应用详情页的“企业可信IP”中添加，约一分钟后生效。",
    ),
    row(
        &[60031],
        Administrator,
        "The application is barred from the API. Ask the platform's support why.",
        "应用被禁止调用接口。请联系企业微信客服了解原因。",
    ),
    row(
        &[60111],
        Administrator,
        "The member is not in the directory, or outside the visible range: left, deleted, or not added. Check the member and the range.",
        "成员不在通讯录或不在可见范围内：可能已离职、被删除或未加入。请核对成员与可见范围。",
    ),
    row(
        &[80001],
        Administrator,
        "The trusted domain is wrong or has no ICP filing. Configure a domain filed by this corporation.",
        "可信域名不正确或未通过 ICP 备案校验。请配置本企业已备案的域名。",
    ),
    row(
        &[81013],
        Administrator,
        "None of the recipients exists or is in the visible range. Check the recipients and the range.",
        "接收人全部无效或不在可见范围内。请核对接收人与可见范围。",
    ),
    row(
        &[82001],
        Developer,
        "The message names no recipient. Report this with the hint from the log.",
        "消息没有指定接收人。请连同日志中的 hint 一起反馈给开发者。",
    ),
    row(
        &[84014, 84015, 84090],
        Person,
        "The ticket for personal details is missing, wrong or has expired. Start signing in again.",
        "user_ticket 缺失、无效或已过期。请重新登录。",
    ),
    row(
        &[84025],
        Developer,
        "The platform does not accept the state of the link. Report this with the hint from the log.",
        "state 参数不合法。请连同日志中的 hint 一起反馈给开发者。",
    ),
    row(
        &[85005],
        Administrator,
        "The ownership of the trusted domain is not verified; signing in works, page functions do not. Serve the \
         WW_verify file at the domain's root.",
        "可信域名未完成归属校验；登录可用，JS-SDK 受限。请将 WW_verify 校验文件放到域名根目录。",
    ),
    row(
        &[85008],
        Administrator,
        "The ICP filing of the trusted domain could not be verified. Configure a domain filed by this corporation.",
        "可信域名的 ICP 备案校验失败。请配置本企业已备案的域名。",
    ),
    row(
        &[85111],
        Administrator,
        "The trusted domain belongs to a service provider. Configure a domain of this corporation.",
        "可信域名属于服务商。请配置本企业自己的域名。",
    ),
    row(
        &[301_002],
        Administrator,
        "The agent id belongs to another application than the secret. Copy both from the same application, without \
         spaces.",
        "AgentId 与 Secret 不属于同一应用。请从同一应用重新复制，注意不要带空格。",
    ),
    row(
        &[301_007],
        Administrator,
        "The corporation is not available on the platform. Check its state in the console.",
        "企业当前不可用。请在管理后台检查企业状态。",
    ),
    row(
        &[301_021],
        Developer,
        "Some of the user ids are unknown. Report this with the hint from the log.",
        "部分 userid 不存在。请连同日志中的 hint 一起反馈给开发者。",
    ),
    row(
        &[670_001],
        Administrator,
        "The application is not shared with this connected corporation. Share it in the console and have the other side confirm.",
        "应用未共享给该互联企业。请在管理后台共享应用并由对方确认。",
    ),
    row(
        &[670_004],
        Administrator,
        "The corporation is not in the chain of connected corporations. Add it in the console.",
        "该企业不在上下游（互联）范围内。请在管理后台添加。",
    ),
    row(
        &[670_029],
        Administrator,
        "The member or department is not in the chain of connected corporations. Add it in the console.",
        "该成员或部门不在上下游（互联）范围内。请在管理后台添加。",
    ),
    row(
        &[2_000_002],
        Administrator,
        "The platform does not know this corp id. Copy it from the console: My Company, Company Information.",
        "企业 ID（CorpID）不存在。请在管理后台“我的企业 - 企业信息”中重新复制。",
    ),
];
