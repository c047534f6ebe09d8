//! The kinds of audit events: name in the log, and label in English and Chinese.

macro_rules! events {
    ($($(#[$doc:meta])* $event:ident = $word:literal, $label:expr;)+) => {
        /// The kind of an audit event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum AuditEvent {
            $($(#[$doc])* $event,)+
        }

        impl AuditEvent {
            /// All kinds.
            pub const ALL: &'static [Self] = &[$(Self::$event),+];

            /// The names of all kinds in the log.
            pub const NAMES: &'static [&'static str] = &[$($word),+];

            /// The kind's name in the log.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$event => $word,)+
                }
            }

            /// What happened, in English and Chinese, for people.
            #[must_use]
            pub const fn label(self) -> [&'static str; 2] {
                match self {
                    $(Self::$event => $label,)+
                }
            }

            /// The kind with this name.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|event| event.name() == name)
            }
        }
    };
}

events! {
    /// A user signed in.
    SignIn = "sign_in", ["Signed in", "登录"];
    /// A sign-in was refused.
    SignInRefused = "sign_in_refused", ["Sign-in refused", "登录被拒绝"];
    /// Requests that name no employee were refused, more than are logged individually.
    RefusalsSummarised = "refusals_summarised", ["More anonymous refusals, summarised", "其余匿名拒绝（汇总）"];
    /// A user signed out.
    Logout = "logout", ["Signed out", "退出登录"];
    /// A user ended one of their other sessions.
    SessionEnded = "session_ended", ["Ended one of their own sessions", "结束本人的某个会话"];
    /// A user ended several of their sessions at once.
    LogoutAll = "logout_all", ["Signed out of several sessions", "结束本人的多个会话"];
    /// A user disowned one of their sign-ins.
    SignInDisowned = "sign_in_disowned", ["Sign-in reported: “not me”", "报告“非本人登录”"];
    /// A user switched to another role.
    SwitchRole = "switch_role", ["Switched role", "切换角色"];
    /// A user was refused a role.
    SwitchRoleRefused = "switch_role_refused", ["Role switch refused", "切换角色被拒绝"];
    /// A one-time password was refused.
    OtpRefused = "otp_refused", ["One-time password refused", "一次性密码被拒绝"];
    /// The owner bound a device.
    DeviceBound = "device_bound", ["Authenticator set up", "绑定身份验证器"];
    /// The owner unbound a device.
    DeviceUnbound = "device_unbound", ["Authenticator removed", "解绑身份验证器"];
    /// An agent set their password.
    PasswordChanged = "password_changed", ["Password set", "设置密码"];
    /// An agent was refused setting their password.
    PasswordRefused = "password_refused", ["Password not set", "设置密码被拒绝"];
    /// A user was refused an administrative action.
    AdministrationRefused = "administration_refused", ["Administration refused", "管理操作被拒绝"];
    /// An employee was added.
    EmployeeAdded = "employee_added", ["Employee added", "添加员工"];
    /// An employee was disabled.
    EmployeeDisabled = "employee_disabled", ["Employee disabled", "停用员工"];
    /// An employee was enabled again.
    EmployeeEnabled = "employee_enabled", ["Employee enabled", "启用员工"];
    /// Roles were granted or revoked.
    RolesChanged = "roles_changed", ["Roles changed", "修改角色"];
    /// Another user ended sessions of an employee.
    SessionsEnded = "sessions_ended", ["Sessions ended by an administrator", "会话被管理员结束"];
    /// The operator ended the sessions of all employees.
    AllSessionsEnded = "all_sessions_ended", ["Sessions of everyone ended", "结束所有人的会话"];
    /// An employee became an agent.
    AgentAdded = "agent_added", ["Agent added", "添加坐席"];
    /// The role of an agent record was changed.
    AgentRoleChanged = "agent_role_changed", ["Agent’s role changed", "修改坐席角色"];
    /// An agent record was disabled.
    AgentDisabled = "agent_disabled", ["Agent disabled", "停用坐席"];
    /// An agent record was enabled again.
    AgentEnabled = "agent_enabled", ["Agent enabled", "启用坐席"];
    /// Failed attempts at an agent's credentials were cleared.
    AgentUnlocked = "agent_unlocked", ["Agent unlocked", "解锁坐席"];
    /// Another user unbound a device.
    DeviceReset = "device_reset", ["Authenticator reset", "重置身份验证器"];
    /// A password was removed.
    PasswordReset = "password_reset", ["Password reset", "重置密码"];
    /// An identity of a connected corporation was linked to an employee.
    LinkApproved = "link_approved", ["Link approved", "批准关联"];
    /// Such a link was removed.
    LinkRemoved = "link_removed", ["Link removed", "移除关联"];
    /// The allow lists were changed.
    IpRulesChanged = "ip_rules_changed", ["Allow-lists changed", "修改地址白名单"];
    /// A service key was created.
    ServiceKeyCreated = "service_key_created", ["Service key created", "创建服务密钥"];
    /// The chains of this log were restarted with another key.
    LogRestarted = "log_restarted", ["Audit log restarted with a new key", "审计日志改用新密钥重新开始"];
    /// The data was restored from a backup.
    Restored = "restored", ["Data restored from a backup", "从备份恢复数据"];
    /// The encryption key was replaced.
    KeyRotated = "key_rotated", ["Encryption key replaced", "更换加密密钥"];
    /// A replaced encryption key was forgotten.
    KeyForgotten = "key_forgotten", ["Replaced encryption key forgotten", "弃用已更换的加密密钥"];
    /// A service key was revoked.
    ServiceKeyRevoked = "service_key_revoked", ["Service key revoked", "吊销服务密钥"];
    /// An employee's email address was entered or removed.
    EmailChanged = "email_changed", ["Email address changed", "修改邮箱地址"];
    /// The user ID of an employee was given to another person.
    SubjectRenewed = "subject_renewed", ["User ID given to another person", "账号转给另一人"];
    /// An OpenID Connect client got tokens for a user.
    OidcAuthorized = "oidc_authorized", ["Signed in to a program", "登录到其他程序"];
    /// A user was refused an OpenID Connect client, or the client was refused.
    OidcRefused = "oidc_refused", ["Program refused", "登录其他程序被拒绝"];
    /// A code or a refresh token was used twice, and what it gave was ended.
    OidcReused = "oidc_reused", ["Code or token of a program used twice", "程序的授权码或令牌被重复使用"];
    /// What an OpenID Connect client got was ended, and the session continues.
    OidcEnded = "oidc_ended", ["Signed out of a program", "退出其他程序"];
    /// An OpenID Connect client could not be told that a session ended.
    OidcLogoutFailed = "oidc_logout_failed", ["Program not told of a sign-out", "未能通知程序退出登录"];
    /// An OpenID Connect client was registered.
    OidcClientAdded = "oidc_client_added", ["Program connected", "接入程序"];
    /// The registration of an OpenID Connect client was changed.
    OidcClientChanged = "oidc_client_changed", ["Connected program changed", "修改已接入的程序"];
    /// An OpenID Connect client was enabled again.
    OidcClientEnabled = "oidc_client_enabled", ["Connected program enabled", "启用已接入的程序"];
    /// An OpenID Connect client was disabled.
    OidcClientDisabled = "oidc_client_disabled", ["Connected program disabled", "停用已接入的程序"];
    /// An OpenID Connect client was removed.
    OidcClientRemoved = "oidc_client_removed", ["Connected program removed", "移除已接入的程序"];
    /// An OpenID Connect client got a new secret.
    OidcSecretRotated = "oidc_secret_rotated", ["Secret of a connected program replaced", "更换已接入程序的密钥"];
    /// A signing key for OpenID Connect was made.
    OidcKeyAdded = "oidc_key_added", ["Signing key added", "添加签名密钥"];
    /// Signing keys for OpenID Connect were withdrawn.
    OidcKeyWithdrawn = "oidc_key_withdrawn", ["Signing key withdrawn", "撤回签名密钥"];
    /// An employee left, according to the platform.
    EmployeeLeft = "employee_left", ["No longer active on the platform", "在平台上已离职或停用"];
    /// An employee who had left is back, according to the platform.
    EmployeeReturned = "employee_returned", ["Active on the platform again", "在平台上恢复有效"];
    /// The platform gave an employee another identifier.
    EmployeeRenamed = "employee_renamed", ["User ID changed", "账号已更改"];
    /// The platform says that another person has an employee's identifier now.
    HolderUnconfirmed = "holder_unconfirmed", ["User ID seems to be another person’s now", "账号似已转给另一人，待确认"];
    /// An administrator confirmed who has an employee's identifier.
    HolderConfirmed = "holder_confirmed", ["Holder of the user ID confirmed", "确认账号持有人"];
    /// A role that was given until a time ended.
    RoleEnded = "role_ended", ["Temporary role ended", "临时角色到期"];
    /// The rules that give roles were changed.
    RoleRulesChanged = "role_rules_changed", ["Role rules changed", "修改角色规则"];
    /// Rules gave an employee roles, or took them away.
    RuleRoles = "rule_roles", ["Roles changed by rules", "角色按规则变更"];
    /// A user asked to approve an operation on their phone.
    ApprovalAsked = "approval_asked", ["Approval on the phone requested", "请求手机批准"];
    /// A user approved an operation on their phone.
    ApprovalGiven = "approval_given", ["Approved on the phone", "手机已批准"];
    /// A user refused an operation on their phone, or picked a wrong number.
    ApprovalRefused = "approval_refused", ["Refused on the phone", "手机已拒绝"];
    /// An agent asked an employee to prove on their phone that they are calling.
    CallerAsked = "caller_asked", ["Caller verification requested", "请求核实来电人"];
    /// An employee proved on their phone that they are calling.
    CallerVerified = "caller_verified", ["Caller verified", "来电人已核实"];
    /// An employee said that they are not calling, or picked a wrong number.
    CallerRefused = "caller_refused", ["Caller verification refused", "来电人核实被拒绝"];
    /// The link of a question to a phone was opened by another person, or on a computer.
    QuestionRefused = "question_refused", ["Question opened by another person or on a computer", "请求被他人或在电脑上打开"];
    /// The time of the service was set.
    ClockSet = "clock_set", ["Service time set", "调整服务时间"];
}
