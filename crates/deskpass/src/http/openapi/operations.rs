//! What the types of a handler cannot tell: what a route is for, and how it says no for reasons of its own.
//!
//! A route below /api needs one entry here, under the section it belongs to: its method and path as the table has them, what it
//! does in English and Chinese, and the codes of its own refusals. Everything else is told by the row and by the handler's
//! types (`spec`): who may ask, what is read, what a success holds, and the failures that come with a token, a body, a query,
//! a path, a limit. Of the codes, 1005 says that the platform is asked, which may fail in ways of its own.
//!
//! A handler with an argument or a result that no other one has also needs `DescribeInput` or `DescribeOutput` for it, which is where the
//! compiler stops. What goes into the envelope derives `JsonSchema` beside `Serialize`.

/// Routes that belong together.
pub(super) struct Section {
    /// In English and Chinese.
    pub(super) name: [&'static str; 2],
    operations: &'static [OperationText],
}

/// Method and path; what it does, in English and Chinese; the codes of its own refusals.
type OperationText = (&'static str, [&'static str; 2], &'static [u16]);

/// What is told of a route.
pub(super) struct OperationInfo {
    pub(super) section: &'static str,
    /// Its place among all.
    pub(super) place: usize,
    pub(super) summary: [&'static str; 2],
    pub(super) refusals: &'static [u16],
}

/// What is told of the route with this method and path.
pub(super) fn about(method: &str, path: &str) -> Option<OperationInfo> {
    let text = SECTIONS.iter().flat_map(|section| section.operations.iter().map(move |text| (section, text)));
    let mut text = text.enumerate();
    let wanted =
        |(_, (_, (route, ..))): &(usize, (&Section, &OperationText))| route.split_once(' ') == Some((method, path));
    let (place, (section, (_, summary, refusals))) = text.find(wanted)?;
    let [section, _] = section.name;
    Some(OperationInfo { section, place, summary: *summary, refusals })
}

/// Every route that something is told of.
#[cfg(test)]
pub(super) fn all() -> impl Iterator<Item = &'static str> {
    SECTIONS.iter().flat_map(|section| section.operations.iter().map(|(route, ..)| *route))
}

/// In the order in which somebody new would read them.
#[rustfmt::skip]
pub(super) const SECTIONS: &[Section] = &[
    Section { name: ["Signing in with a QR code", "扫码登录"], operations: &[
        ("GET /api/auth/qrcode", ["Begin a sign-in: a ticket and the QR code for it", "开始扫码登录：获取票据与二维码"], &[]),
        ("GET /api/auth/scan/status", ["How far a sign-in has come; the token once it is confirmed", "查询扫码状态，确认后返回令牌"], &[]),
        ("GET /api/auth/scan/events", ["The same as server-sent events, as it happens", "以服务器推送事件的方式获取扫码状态"], &[]),
        ("POST /api/auth/scan/request", ["What the phone is asked to confirm", "读取手机待确认的登录请求"], &[1019]),
        ("POST /api/auth/scan/confirm", ["The phone says yes", "在手机上确认登录"], &[1003, 1017, 1019]),
        ("POST /api/auth/scan/cancel", ["The phone says no", "在手机上取消登录"], &[1019]),
    ] },
    Section { name: ["Signing in through the platform", "通过平台登录"], operations: &[
        ("GET /api/auth/oauth2/url", ["The platform's address at which people identify themselves", "获取平台授权地址"], &[]),
        ("GET /api/auth/oauth2/callback", ["Where the platform sends browsers back to; they are sent on", "平台回调地址，随后跳转到目标页面"], &[]),
        ("POST /api/auth/oauth2/pending", ["As whom a browser that did not begin here would go on", "查询待继续的登录身份"], &[1019]),
        ("POST /api/auth/oauth2/continue", ["Go on with a sign-in that did not begin here", "继续未在本浏览器开始的登录"], &[1003, 1017, 1019]),
        ("POST /api/auth/bind", ["Sign a person of a connected corporation in as an employee", "互联企业人员绑定员工身份并登录"], &[1003, 1017]),
    ] },
    Section { name: ["Sessions", "会话"], operations: &[
        ("POST /api/auth/verify", ["Whether a token is good, and whose it is", "校验令牌"], &[]),
        ("GET /api/auth/me", ["Who is calling", "获取当前用户"], &[]),
        ("POST /api/auth/switch-role", ["Act in another role", "切换当前角色"], &[1003, 1004, 1006, 1017]),
        ("GET /api/auth/sessions", ["Where one is signed in", "列出本人的会话"], &[]),
        ("DELETE /api/auth/sessions/{id}", ["End one of one's own sessions", "结束本人的某个会话"], &[]),
        ("POST /api/auth/logout-all", ["End all of one's own sessions, or all but this one", "退出所有登录，或除当前外的所有登录"], &[]),
        ("GET /api/auth/sign-ins", ["How one signed in lately, and who was turned away", "列出本人最近的登录与被拒绝的登录"], &[]),
        ("POST /api/auth/sign-ins/{id}/not-me", ["Say that a sign-in was somebody else's: ends it and tells the administrators", "报告非本人登录：结束该会话并通知管理员"], &[]),
        ("GET /api/auth/permissions", ["What the active role permits", "获取当前角色的权限"], &[]),
        ("POST /api/auth/check", ["Whether the active role permits something", "检查当前角色是否有权限"], &[]),
        ("POST /api/auth/introspect", ["For services: whether a token is good, and whose it is (RFC 7662)", "供其他服务查询令牌（RFC 7662）"], &[]),
        ("GET /api/auth/forward", ["For proxies: who sends a request, and whether they may", "供反向代理校验请求的身份与权限"], &[]),
        ("POST /api/auth/forward", ["The same, for proxies that ask with the method of the request", "同上，供沿用原请求方法的代理使用"], &[]),
        ("PUT /api/auth/forward", ["The same, for proxies that ask with the method of the request", "同上，供沿用原请求方法的代理使用"], &[]),
        ("PATCH /api/auth/forward", ["The same, for proxies that ask with the method of the request", "同上，供沿用原请求方法的代理使用"], &[]),
        ("DELETE /api/auth/forward", ["The same, for proxies that ask with the method of the request", "同上，供沿用原请求方法的代理使用"], &[]),
        ("POST /api/auth/logout", ["End this session", "退出登录"], &[]),
    ] },
    Section { name: ["Agents and one-time passwords", "坐席与一次性密码"], operations: &[
        ("POST /api/agents/login", ["Sign an agent in by a code of the platform, or half-way by a password", "坐席登录：平台授权码，或以密码完成第一步"], &[1003, 1005, 1011, 1012, 1013, 1017]),
        ("POST /api/agents/password", ["Set one's own password; ends one's other sessions", "设置本人密码，同时结束其他会话"], &[1013, 1014, 1015, 1016]),
        ("POST /api/agents/password/setup", ["Set a password with a code from an administrator", "使用管理员提供的设置码设置密码"], &[1003, 1013, 1014]),
        ("GET /api/auth/otp-status", ["How things stand with one's own device", "查询本人一次性密码设备状态"], &[]),
        ("POST /api/auth/otp-setup", ["A secret for a device to be bound", "获取待绑定设备的密钥"], &[1003, 1010, 1017]),
        ("POST /api/auth/otp-bind", ["Bind the device that shows this code; completes half a sign-in", "绑定设备，并完成第二步登录"], &[1003, 1008, 1010, 1013, 1017, 1019]),
        ("POST /api/auth/otp-verify", ["Show a code; completes half a sign-in", "校验一次性密码，并完成第二步登录"], &[1003, 1008, 1009, 1013, 1017]),
        ("POST /api/auth/otp-unbind", ["Unbind the device that shows this code", "解绑设备"], &[1003, 1008, 1009, 1013, 1017]),
    ] },
    Section { name: ["Administration", "管理"], operations: &[
        ("GET /api/admin/roles", ["The roles there are", "列出角色"], &[]),
        ("GET /api/admin/roles/user-roles", ["Who holds which roles", "列出用户与角色的分配"], &[]),
        ("PUT /api/admin/roles/user-roles", ["Give somebody exactly these roles", "设置用户的角色"], &[1004, 1019]),
        ("GET /api/admin/corporations", ["The corporations whose people one may see", "列出可查看的企业"], &[]),
        ("GET /api/admin/employees", ["Who works here", "列出员工"], &[]),
        ("PATCH /api/admin/employees/{corp_id}/{employee_id}", ["Shut somebody out, or let them in again", "停用或启用员工"], &[1019]),
        ("GET /api/admin/sessions", ["Who is signed in, from where", "列出会话"], &[]),
        ("DELETE /api/admin/sessions/{id}", ["End a session", "结束会话"], &[]),
        ("DELETE /api/admin/employees/{corp_id}/{employee_id}/sessions", ["End all sessions of somebody", "结束员工的所有会话"], &[]),
        ("GET /api/admin/login-log", ["What happened; as CSV or JSON Lines, all of it", "登录日志；可导出为 CSV 或 JSON Lines"], &[]),
        ("GET /api/admin/statistics", ["How far sign-ins came, by the hour", "按小时统计登录进度"], &[]),
        ("GET /api/admin/matrix", ["What every role permits", "获取所有角色的权限"], &[]),
        ("GET /api/admin/agents", ["Who are agents, and what they have to sign in with", "列出坐席"], &[]),
        ("POST /api/admin/agents", ["Make an employee an agent", "添加坐席"], &[1004, 1019]),
        ("GET /api/admin/ip-rules", ["From where each role may be active", "获取各角色的地址白名单"], &[]),
        ("PUT /api/admin/ip-rules", ["Change from where each role may be active", "修改各角色的地址白名单"], &[1019]),
        ("POST /api/admin/ip-rules/dry-run", ["Whom such lists would shut out; changes nothing", "试运行地址白名单，不作修改"], &[]),
        ("GET /api/admin/service-keys", ["What other services identify themselves with", "列出服务密钥"], &[]),
        ("POST /api/admin/service-keys", ["Make a service key; it is told once", "创建服务密钥，仅显示一次"], &[]),
        ("DELETE /api/admin/service-keys/{id}", ["Have a service key count no more", "吊销服务密钥"], &[]),
        ("GET /api/admin/links", ["Who of connected corporations may act as whom", "列出互联企业关联"], &[]),
        ("POST /api/admin/links", ["Let somebody of a connected corporation act as an employee", "批准互联企业关联"], &[1004]),
        ("DELETE /api/admin/links/{corp_id}/{user_id}", ["Take that back", "删除互联企业关联"], &[]),
        ("POST /api/admin/agents/{employee_id}/unlock", ["Forget an agent's failed attempts", "解锁坐席"], &[]),
        ("POST /api/admin/agents/{employee_id}/reset-otp", ["Unbind an agent's device; hands out a setup code", "重置坐席的一次性密码设备并生成设置码"], &[]),
        ("POST /api/admin/agents/{employee_id}/reset-password", ["Take an agent's password away; hands out a setup code", "重置坐席密码并生成设置码"], &[]),
    ] },
    Section { name: ["Sockets and messages", "实时连接与消息"], operations: &[
        ("GET /api/ws/employee", ["Open a WebSocket for the employees' client", "建立员工端 WebSocket 连接"], &[]),
        ("GET /api/ws/agent", ["Open a WebSocket for the agents' client; for agents, supervisors and administrators", "建立坐席端 WebSocket 连接，限坐席、主管与管理员"], &[]),
        ("POST /api/messages", ["For services: send messages to those who are connected", "供其他服务向在线人员发送消息"], &[1019]),
    ] },
    Section { name: ["Service", "服务"], operations: &[
        ("GET /api/ready", ["Whether to send requests here, and what this depends on", "就绪检查"], &[]),
        ("GET /api/version", ["What is running", "版本信息"], &[]),
        ("GET /api/openapi.json", ["This document", "本接口文档（OpenAPI）"], &[]),
        ("GET /api/docs", ["This document as a page", "接口文档页面"], &[]),
    ] },
    Section { name: ["Development", "开发"], operations: &[
        ("GET /api/dev/health", ["That development mode is on", "开发模式检查"], &[]),
        ("GET /api/dev/users", ["The people one can sign in as", "列出可登录的开发用户"], &[]),
        ("POST /api/dev/login", ["Sign in as anyone", "以任意用户登录"], &[1003, 1004, 1017]),
    ] },
];
