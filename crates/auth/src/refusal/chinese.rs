//! The Chinese explanations of the reasons in the audit log. The English ones stand with their refusals.

/// What happened and what to do, in Chinese. `EMPLOYEE` stands for the employee, `{platform}` for the platform.
pub(super) fn chinese_explanation(reason: &str) -> Option<[&'static str; 2]> {
    EXPLANATIONS.iter().find(|(name, _)| *name == reason).map(|(_, texts)| *texts)
}

#[rustfmt::skip]
const EXPLANATIONS: &[(&str, [&str; 2])] = &[
    ("unknown_employee", [
        "没有该员工，或用于确认身份的票据缺失、无效、已使用或已过期。",
        "请让本人先通过{platform}登录一次，或运行 `deskpass employee add EMPLOYEE`；互联企业的人员请运行 `deskpass link approve`。",
    ]),
    ("disabled_here", ["该员工已被运维人员或管理员在本系统停用。", "如需启用：`deskpass employee enable EMPLOYEE`。"]),
    ("left_platform", [
        "{platform}显示该成员已离职或已被禁用。",
        "如与事实不符，请在{platform}管理后台的通讯录中启用该成员。",
    ]),
    ("disabled", [
        "该员工已在本系统停用，或已在{platform}离职；这条旧记录没有区分。",
        "如需启用：`deskpass employee enable EMPLOYEE`；否则请在{platform}管理后台的通讯录中启用该成员。",
    ]),
    ("holder_unconfirmed", [
        "{platform}显示该账号现已属于另一人。在运维人员或管理员确认之前，原有角色不生效。",
        "请当面核实。如为同一人，请运行 `deskpass employee confirm EMPLOYEE`；如为另一人，请先收回其不应拥有的角色，运行 `deskpass employee new-person EMPLOYEE`，再确认。",
    ]),
    ("no_role", [
        "该员工没有可用于此种登录方式的角色，也没有适用的默认角色。",
        "请运行 `deskpass role grant EMPLOYEE ROLE` 授予角色，或为所有人设置 default_role。",
    ]),
    ("role_not_held", ["该员工没有所请求的角色。", "请选择其他角色，或运行 `deskpass role grant EMPLOYEE ROLE`。"]),
    ("role_taken_away", ["当前角色已被收回。", "请切换到其他角色，或运行 `deskpass role grant EMPLOYEE ROLE`。"]),
    ("denied", ["用户在{platform}中拒绝了登录。", "请重新登录并同意授权。"]),
    ("cancelled", [
        "用户在手机上取消了登录。",
        "如登录不是本人发起，说明有他人尝试且未成功；否则请重新登录。",
    ]),
    ("invalid_code", [
        "{platform}的授权码已使用、已过期，或来自并未发起登录的浏览器。",
        "请重新登录。如所有人都这样，请检查时钟以及会重复发送请求的代理：`deskpass doctor`。",
    ]),
    ("not_a_member", [
        "{platform}确认了用户身份，但该用户不是 platform.corp_id 的成员，或无权使用该应用。",
        "该用户属于其他企业或租户、是外部联系人，或已离职：请检查 platform.corp_id（如为其他租户，服务日志会写明），并在{platform}管理后台查看该成员以及谁可以使用该应用。",
    ]),
    ("somebody_else", ["授权码属于另一个人，与所填的员工不符。", "请在{platform}中切换到该员工本人的账号后登录。"]),
    ("over", ["该登录请求已处理、已被另一部手机扫描，或已过期。", "请刷新二维码后重新扫描。"]),
    ("not_asked", [
        "有人打开了发给其他员工的请求链接。",
        "请询问该员工是否转发了消息及原因：链接只供其本人的手机使用。",
    ]),
    ("codes_limited", [
        "授权码没有任何标记表明浏览器是由本服务送往{platform}的，或同一次登录的授权码超过三个，或{platform}在十分钟内已拒绝该网段的 30 个授权码；且此类授权码的限额（limits.foreign_codes、limits.foreign_codes_total）已用完，未向{platform}查询。",
        "请从本服务的登录页重新开始。如果浏览器丢失 Cookie，或登录由其他来源的页面发起，请提高这两项限额；否则可能有程序在尝试授权码：请查看来源地址。该程序停止半分钟后，同网段的其他人即可照常登录。",
    ]),
    ("phone_needed", ["手机请求的链接在非手机浏览器中被打开或回答。", "请在手机上的{platform}中打开该消息。"]),
    ("wrong_number", [
        "手机上所选的数字与屏幕上显示或对方念出的不一致。",
        "如不是本人发起，说明有他人尝试且已被阻止：请查看来源地址；否则请重新开始。",
    ]),
    ("approval_invalid", [
        "手机批准未通过、已过期、已使用，或用于其他操作或会话。",
        "请重新批准，并原样发送所批准的内容。如反复出现，请检查是哪个程序发送的。",
    ]),
    ("caller_not_verified", [
        "需重置密码或身份验证器，但其所有者未在 10 分钟内作为来电人核实身份。",
        "请先在其手机上核实来电人，或设置 verification.before_resets = false。",
    ]),
    ("cannot_ask", [
        "未能发送手机请求：该员工不存在、已停用或已离职，或{platform}无法联系到其手机。",
        "详情中有该员工的账号，可用 `deskpass employee list` 查看。同一人出现大量此类记录，可能是在试探有哪些员工。",
    ]),
    ("approvals_paused", [
        "手机拒绝了批准或选错数字后 10 分钟内，该会话再次请求批准。",
        "请询问本人是否发起过请求。如没有，说明有他人在使用其会话：请结束其会话并查看来源地址。",
    ]),
    ("oidc_request_gone", [
        "OpenID Connect 程序的请求已处理、已超过 10 分钟，或在其他浏览器中发起。",
        "请回到该程序重新开始。如不是用户本人发起，说明有他人发送了链接。",
    ]),
    ("client_not_allowed", [
        "该 OpenID Connect 程序已停用，或不适用于该员工的角色或企业。",
        "请查看 `deskpass oidc client show CLIENT`，或运行 `deskpass role grant EMPLOYEE ROLE`。",
    ]),
    ("otp_wrong", [
        "一次性密码错误或已使用过。",
        "请等待下一个。如始终不对，请校准手机时间，或运行 `deskpass agent reset-otp EMPLOYEE`。",
    ]),
    ("setup_over", ["身份验证器的绑定已过期，或已重新开始。", "请重新从 otp-setup 开始。"]),
    ("password_wrong", [
        "密码错误，或没有可用密码登录的坐席使用此账号。",
        "请重试，用 `deskpass agent list` 查看，或运行 `deskpass agent reset-password EMPLOYEE` 生成设置码。",
    ]),
    ("no_password", [
        "该坐席尚未设置密码。",
        "请在通过{platform}登录后设置，或运行 `deskpass agent reset-password EMPLOYEE` 生成设置码。",
    ]),
    ("too_many_failures", [
        "错误次数过多，几分钟内不再接受尝试。",
        "请稍候，或运行 `deskpass agent unlock EMPLOYEE`。如不是坐席本人操作，则可能是攻击：请查看来源地址。",
    ]),
    ("locked", [
        "连续错误一百次，该坐席已被锁定。",
        "请运行 `deskpass agent unlock EMPLOYEE`。如不是坐席本人操作，则可能是攻击：请查看来源地址。",
    ]),
    ("old_password_wrong", ["旧密码错误。", "请重试，或运行 `deskpass agent reset-password EMPLOYEE`。"]),
    ("device_not_allowed", [
        "该员工只有 user 角色，或其坐席记录已被停用。",
        "请运行 `deskpass role grant EMPLOYEE ROLE`，或 `deskpass agent enable EMPLOYEE`。",
    ]),
    ("setup_code", [
        "密码或身份验证器的设置码未提供、错误、已使用，或已超过一天。",
        "如需新的设置码，请运行 `deskpass agent reset-password EMPLOYEE`；身份验证器请用 `reset-otp`。",
    ]),
    ("not_proven", [
        "首次设置密码或绑定身份验证器，须在{platform}确认过本人身份的会话中进行。",
        "请通过{platform}登录，或运行 `deskpass agent reset-password EMPLOYEE`（身份验证器用 `reset-otp`）生成设置码。",
    ]),
    ("recent_sign_in_needed", [
        "首次设置密码或绑定身份验证器，须在登录后 5 分钟内完成。",
        "请通过{platform}重新登录，或运行 `deskpass agent reset-password EMPLOYEE`（身份验证器用 `reset-otp`）生成设置码。",
    ]),
    ("password_off", ["密码登录已关闭。", "请通过{platform}登录；如需开启密码登录，请设置 agents.password_fallback。"]),
    ("platform_works", [
        "仅在{platform}不可用时才能使用密码，而{platform}目前可用。",
        "请通过{platform}登录；设置 agents.password_fallback = \"always\" 则随时可用密码。",
    ]),
    ("not_an_agent", ["该员工不是坐席。", "如需添加：`deskpass agent add EMPLOYEE`。"]),
    ("role_needed", ["该操作需要切换到其他角色。", "如拥有该角色，请先切换。"]),
    ("address_not_allowed", [
        "该角色的白名单不允许客户端的地址。",
        "请查看 `deskpass ip-rule list`。如前面有代理，以哪个地址为准由 trusted_proxies 决定。",
    ]),
    ("temporary_role", [
        "管理员的角色是临时角色，却给自己授予角色、指定管理员、添加角色规则，或启用、确认、关联管理员的账号或重置其密码。",
        "可由其他管理员操作；如需长期担任管理员，请运行 `deskpass role grant EMPLOYEE admin`。",
    ]),
    ("last_admin", ["该更改会移除最后一名管理员。", "请先指定另一名管理员：`deskpass role grant`。"]),
    ("would_shut_you_out", [
        "该白名单会使设置它的管理员自己无法访问。",
        "请把该管理员所在的网络加入 admin 的白名单，或运行 `deskpass ip-rule set`。",
    ]),
    ("unknown", ["令牌不是本系统签发的，或早已过期。", "请重新登录，并确认客户端连接的是本系统。"]),
    ("expired", ["令牌已过期。", "请重新登录；会话时长由 session.lifetime 决定。"]),
    ("left", [
        "{platform}显示该员工已离职、已被禁用，或不在应用的可见范围内，其会话因此结束。",
        "如与事实不符，请在{platform}管理后台的通讯录中更正，然后重新登录。",
    ]),
    ("signed_out", ["用户已退出登录。", "请重新登录即可。"]),
    ("kicked", [
        "会话已被结束：由管理员、由用户在别处、因新的登录，或因修改密码。",
        "请重新登录；`deskpass explain login` 和审计日志可查看当时的情况。",
    ]),
];
