//! The table of error codes, as data.

use deskpass_platform::{FixableBy, Meaning};

use FixableBy::{Administrator, Developer, Nobody, Person};

/// Error codes with the same meaning.
pub(super) struct ErrorRow {
    pub(super) codes: &'static [i64],
    pub(super) words: &'static [&'static str],
    pub(super) meaning: Meaning,
    pub(super) fixable_by: FixableBy,
    pub(super) text: [&'static str; 2],
}

const fn row(
    (codes, words): (&'static [i64], &'static [&'static str]),
    meaning: Meaning,
    fixable_by: FixableBy,
    english: &'static str,
    chinese: &'static str,
) -> ErrorRow {
    ErrorRow { codes, words, meaning, fixable_by, text: [english, chinese] }
}

/// Every error code that the platform is known to return for the calls of this service.
pub(super) const TABLE: &[ErrorRow] = &[
    row(
        (&[-1, 15, 88], &[]),
        Meaning::Retry,
        Nobody,
        "DingTalk is busy, or timed out. Try again in a moment.",
        "钉钉系统繁忙或超时，请稍后重试。",
    ),
    row(
        (&[22], &[]),
        Meaning::Developer,
        Developer,
        "DingTalk has no such API. Check the API addresses in this service's settings, then report this with the hint from \
         the log.",
        "钉钉没有该接口。请检查本服务配置的接口地址，并连同日志中的 hint 一起反馈给开发者。",
    ),
    row(
        (&[40035], &["invalidParameter", "AuthenticationFailed.MissingParameter"]),
        Meaning::Developer,
        Developer,
        "DingTalk does not accept a parameter of this call, or misses one. Report this with the hint from the log.",
        "请求参数不合法或缺失。请连同日志中的 hint 一起反馈给开发者。",
    ),
    row(
        (&[40078], &["invalidParameter.authCode.notFound"]),
        Meaning::StartAgain,
        Person,
        "The code was used already, has expired, or was made for another purpose. Start signing in again.",
        "授权码已被使用、已过期或类型不符。请重新登录。",
    ),
    row(
        (&[40014, 42001], &["InvalidAuthentication", "accesstoken.expired"]),
        Meaning::Refresh,
        Administrator,
        "The access token was not accepted, even after a new one was fetched. Check that corp id, client id, secret and API \
         addresses belong together.",
        "access_token 无效或已过期，重新获取后仍被拒绝。请确认 CorpId、Client ID、Client Secret 与接口地址属于同一环境。",
    ),
    row(
        (&[40089, 40096], &["invalidClientIdOrSecret", "invalid.client"]),
        Meaning::Administrator,
        Administrator,
        "The client id or the secret is wrong. Copy both again from the developer console: the application, Credentials and \
         Basic Information; without spaces.",
        "Client ID（AppKey）或 Client Secret（AppSecret）错误。请在开发者后台该应用的“凭证与基础信息”中重新复制，注意不要带空格。",
    ),
    row(
        (&[], &["unknownError"]),
        Meaning::Administrator,
        Administrator,
        "DingTalk failed without a reason. For an access token, the usual cause is a wrong corp id: copy it from the first page \
         of the developer console.",
        "钉钉返回未知错误。获取 access_token 时，常见原因是 CorpId 填写错误：请在开发者后台首页重新复制。",
    ),
    row(
        (&[], &["88/60011", "Forbidden.AccessDenied.AccessTokenPermissionDenied"]),
        Meaning::Administrator,
        Administrator,
        "The application lacks a permission for this call; the hint in the log names it. Add it in the developer console: the \
         application, Permission Management.",
        "应用没有调用该接口的权限，日志中的 hint 给出了权限名称。请在开发者后台该应用的“权限管理”中申请。",
    ),
    row(
        (&[50002, 60011], &[]),
        Meaning::OutOfRange,
        Administrator,
        "The person or department is outside of what the application may see. Extend the scope in the developer console: the \
         application, Permission Management.",
        "该成员或部门不在应用的通讯录授权范围内。请在开发者后台该应用的“权限管理”中调整授权范围。",
    ),
    row(
        (&[60020], &["Forbidden.AccessDenied.IpNotInWhiteList"]),
        Meaning::Administrator,
        Administrator,
        "DingTalk does not accept calls from this machine's address. Add the address in the developer console: the application, \
         Security Settings, Server Exit IP.",
        "本机出口 IP 不在白名单中。请在开发者后台该应用的“安全设置 - 服务器出口IP”中添加。",
    ),
    row(
        (&[60121, 33012, 40003], &[]),
        Meaning::Gone,
        Person,
        "DingTalk does not know this person in the corporation: left, never a member, or signed in with another account. Sign in \
         with an account of the corporation.",
        "企业中没有该用户：可能已离职、不是成员，或使用了其他账号。请使用本企业的钉钉账号登录。",
    ),
    row(
        (&[60003], &[]),
        Meaning::Gone,
        Nobody,
        "The department does not exist any more; its name stays empty.",
        "部门不存在；部门名称将留空。",
    ),
    row(
        (
            &[
                90001, 90002, 90003, 90004, 90005, 90006, 90007, 90008, 90009, 90010, 90011, 90012, 90013, 90014,
                90018, 90019,
            ],
            &["Forbidden.AccessDenied.QpsLimitForApi", "Forbidden.AccessDenied.QpsLimitForAppkeyAndApi"],
        ),
        Meaning::Limited,
        Nobody,
        "There were too many calls to DingTalk within a second. The service waits by itself and calls again.",
        "调用钉钉接口的频率超过限制。服务会自动等待后重试。",
    ),
    row(
        (&[90020], &["Forbidden.AccessDenied.ApiCountLimitForOrg"]),
        // A limit like the others, and no outage: any client can use the calls up.
        Meaning::Limited,
        Nobody,
        "The organization has used up its calls to DingTalk for this month. An administrator must buy more calls in the \
         developer console, or stop the application that uses them up.",
        "贵组织本月的钉钉接口调用次数已用完。请管理员在开发者后台购买更多调用次数，或停用消耗过多的应用。",
    ),
    row(
        (&[1111], &[]),
        Meaning::Limited,
        Nobody,
        "DingTalk blocks this machine's address for five minutes: there were too many calls from it. Other programs behind the \
         same address may be the cause.",
        "本机出口 IP 调用过于频繁，被钉钉封禁五分钟。原因也可能是同一出口的其他程序。",
    ),
    row(
        (&[40056], &["agent_id.invalid"]),
        Meaning::Rejected,
        Administrator,
        "The agent id is not a number, or is not this application's. Copy it from the developer console: the application, \
         Credentials and Basic Information.",
        "AgentId 不是数字，或不属于该应用。请在开发者后台该应用的“凭证与基础信息”中重新复制。",
    ),
    row(
        (&[], &["agent_id.missing"]),
        Meaning::Rejected,
        Administrator,
        "The agent id is missing, so no message can be sent. Set it in this service's settings.",
        "缺少 AgentId，无法发送消息。请在本服务的配置中填写。",
    ),
    row(
        (&[], &["userid.invalid"]),
        Meaning::Rejected,
        Nobody,
        "The recipient of a message is not a single member of the corporation.",
        "消息接收人不是本企业的单个成员。",
    ),
    row(
        (&[143_105, 143_106], &[]),
        Meaning::Rejected,
        Nobody,
        "DingTalk did not deliver a message: more than 500 to the same person, or the same text twice, on one day.",
        "钉钉未投递消息：同一天内对同一成员超过 500 条，或内容重复。",
    ),
];
