//! The routes below /api/admin.

use crate::http::admin::employees::{Assigned, Employee};
use crate::http::admin::{
    agents, employees, ip_rules, links, login_log, oidc_clients, role_rules, roles, service_keys, sessions, statistics,
};
use crate::http::approval_sentence::ApprovalSentence;
use crate::http::request::RequiredAccess::{Admin, HighRisk, Reader};
use crate::http::route::Route;

/// The routes for administration.
pub(super) fn admin_routes() -> Vec<Route> {
    let mut table = general_routes();
    table.extend(role_rule_routes());
    table.extend(oidc_client_routes());
    table
}

/// All but those for role rules and OpenID Connect clients.
#[expect(clippy::too_many_lines, reason = "a table")]
fn general_routes() -> Vec<Route> {
    vec![
        Route::get("/api/admin/roles", Reader, roles::roles)
            .summary("List roles", "列出角色")
            .error_title("Listing roles failed", "获取角色失败"),
        Route::get("/api/admin/roles/user-roles", Reader, employees::list::<Assigned>)
            .summary("List users and their roles", "列出用户与角色的分配")
            .error_title("Listing roles failed", "获取角色失败"),
        Route::put("/api/admin/roles/user-roles", HighRisk, roles::assign)
            .sentence(ApprovalSentence::SetRoles)
            .summary("Set the roles of a user", "设置用户的角色")
            .error_title("Changing roles failed", "修改角色失败")
            .refuses(&[1004, 1019]),
        Route::post("/api/admin/roles/temporary", HighRisk, roles::grant_temporarily)
            .sentence(ApprovalSentence::GrantTemporarily)
            .summary("Give a user a temporary role, which ends by itself", "授予用户临时角色，到期自动收回")
            .error_title("Giving the role failed", "授予角色失败")
            .refuses(&[1004, 1019]),
        Route::get("/api/admin/corporations", Reader, employees::corporations)
            .summary("List the corporations whose employees the caller may see", "列出可查看的企业")
            .error_title("Listing corporations failed", "获取企业失败"),
        Route::get("/api/admin/employees", Reader, employees::list::<Employee>)
            .summary("List employees", "列出员工")
            .error_title("Listing employees failed", "获取员工失败"),
        Route::get("/api/admin/employees/{corp_id}/{employee_id}", Reader, employees::show)
            .summary("Show an employee with their roles and credentials", "查看员工及其角色和凭据")
            .error_title("Reading the employee failed", "获取员工失败"),
        Route::patch("/api/admin/employees/{corp_id}/{employee_id}", HighRisk, employees::update)
            .sentence(ApprovalSentence::DisableOrEnable)
            .summary("Disable or enable an employee", "停用或启用员工")
            .error_title("Changing the employee failed", "修改员工失败")
            .refuses(&[1019]),
        Route::post("/api/admin/employees/{corp_id}/{employee_id}/confirm", HighRisk, employees::confirm_holder)
            .sentence(ApprovalSentence::ConfirmHolder)
            .summary("Confirm the person who has an employee id now", "确认员工账号现在的持有人")
            .error_title("Confirming the person failed", "确认身份失败")
            .refuses(&[1019]),
        Route::get("/api/admin/sessions", Reader, sessions::list)
            .summary("List sessions", "列出会话")
            .error_title("Listing sessions failed", "获取会话失败"),
        Route::delete("/api/admin/sessions/{id}", HighRisk, sessions::end)
            .sentence(ApprovalSentence::EndSession)
            .summary("End a session", "结束会话")
            .error_title("Ending the session failed", "结束会话失败"),
        Route::delete("/api/admin/employees/{corp_id}/{employee_id}/sessions", HighRisk, sessions::end_all)
            .sentence(ApprovalSentence::EndSessions)
            .summary("End all sessions of an employee", "结束员工的所有会话")
            .error_title("Ending sessions failed", "结束会话失败"),
        Route::get("/api/admin/login-log", Reader, login_log::list)
            .summary(
                "Read the audit log, or export it as CSV or JSON Lines",
                "查询审计日志，或导出为 CSV 或 JSON Lines",
            )
            .error_title("Reading the audit log failed", "获取审计日志失败"),
        Route::get("/api/admin/statistics", Reader, statistics::list)
            .summary("Get sign-in statistics by the hour", "按小时统计登录情况")
            .error_title("Reading the statistics failed", "获取登录统计失败"),
        Route::get("/api/admin/matrix", Reader, roles::matrix)
            .summary("Get the permissions of all roles", "获取所有角色的权限")
            .error_title("Reading permissions failed", "获取权限失败"),
        Route::get("/api/admin/agents", Admin, agents::list)
            .summary("List agents", "列出坐席")
            .error_title("Listing agents failed", "获取坐席失败"),
        Route::post("/api/admin/agents", HighRisk, agents::add)
            .sentence(ApprovalSentence::AddAgent)
            .summary("Add an agent", "添加坐席")
            .error_title("Adding the agent failed", "添加坐席失败")
            .refuses(&[1004, 1019]),
        Route::get("/api/admin/ip-rules", Admin, ip_rules::show)
            .summary("Get the address allow-list of each role", "获取各角色的地址白名单")
            .error_title("Reading the allow-lists failed", "获取地址白名单失败"),
        Route::put("/api/admin/ip-rules", HighRisk, ip_rules::replace)
            .sentence(ApprovalSentence::ReplaceNetworks)
            .summary("Replace the address allow-lists of all roles", "修改各角色的地址白名单")
            .error_title("Changing the allow-lists failed", "修改地址白名单失败")
            .refuses(&[1019]),
        Route::post("/api/admin/ip-rules/dry-run", Admin, ip_rules::dry_run)
            .summary("Test address allow-lists without changing anything", "试运行地址白名单，不作修改")
            .error_title("Testing the allow-lists failed", "试运行地址白名单失败"),
        Route::get("/api/admin/service-keys", Admin, service_keys::list)
            .summary("List service keys", "列出服务密钥")
            .error_title("Listing service keys failed", "获取服务密钥失败"),
        Route::post("/api/admin/service-keys", HighRisk, service_keys::create)
            .sentence(ApprovalSentence::CreateServiceKey)
            .summary("Create a service key, which is shown only once", "创建服务密钥，仅显示一次")
            .error_title("Creating the service key failed", "创建服务密钥失败"),
        Route::delete("/api/admin/service-keys/{id}", HighRisk, service_keys::revoke)
            .sentence(ApprovalSentence::RevokeServiceKey)
            .summary("Revoke a service key", "吊销服务密钥")
            .error_title("Revoking the service key failed", "吊销服务密钥失败"),
        Route::get("/api/admin/links", Admin, links::list)
            .summary("List links of connected corporations", "列出互联企业关联")
            .error_title("Listing links failed", "获取关联失败"),
        Route::post("/api/admin/links", HighRisk, links::approve)
            .sentence(ApprovalSentence::ApproveLink)
            .summary("Approve a link: a user of a connected corporation may act as an employee", "批准互联企业关联")
            .error_title("Approving the link failed", "批准关联失败")
            .refuses(&[1004]),
        Route::delete("/api/admin/links/{corp_id}/{user_id}", HighRisk, links::remove)
            .sentence(ApprovalSentence::RemoveLink)
            .summary("Remove a link of a connected corporation", "移除互联企业关联")
            .error_title("Removing the link failed", "移除关联失败"),
        Route::post("/api/admin/agents/{employee_id}/unlock", HighRisk, agents::unlock)
            .sentence(ApprovalSentence::Unlock)
            .summary("Unlock an agent", "解锁坐席")
            .error_title("Unlocking failed", "解锁失败"),
        Route::post("/api/admin/agents/{employee_id}/reset-otp", HighRisk, agents::reset_otp)
            .sentence(ApprovalSentence::ResetAuthenticator)
            .summary("Reset an agent's authenticator and create a setup code", "重置坐席的身份验证器并生成设置码")
            .error_title("Resetting the authenticator failed", "重置身份验证器失败"),
        Route::post("/api/admin/agents/{employee_id}/reset-password", HighRisk, agents::reset_password)
            .sentence(ApprovalSentence::ResetPassword)
            .summary("Reset an agent's password and create a setup code", "重置坐席密码并生成设置码")
            .error_title("Resetting the password failed", "重置密码失败"),
    ]
}

/// The routes for role rules.
fn role_rule_routes() -> Vec<Route> {
    vec![
        Route::get("/api/admin/role-rules", Admin, role_rules::show)
            .summary(
                "Get the role rules, and the departments and tags that they can name",
                "获取角色规则及可用的部门和标签",
            )
            .error_title("Reading the role rules failed", "获取角色规则失败"),
        Route::put("/api/admin/role-rules", HighRisk, role_rules::replace)
            .sentence(ApprovalSentence::ReplaceRoleRules)
            .summary("Replace the role rules and apply them", "修改角色规则并立即应用")
            .error_title("Changing the role rules failed", "修改角色规则失败")
            .refuses(&[1005]),
        Route::post("/api/admin/role-rules/dry-run", Admin, role_rules::dry_run)
            .summary("Test role rules without changing anything", "试运行角色规则，不作修改")
            .error_title("Testing the role rules failed", "试运行角色规则失败")
            .refuses(&[1005]),
    ]
}

/// The routes for OpenID Connect clients.
fn oidc_client_routes() -> Vec<Route> {
    vec![
        Route::get("/api/admin/oidc-clients", Admin, oidc_clients::list)
            .summary("List OpenID Connect clients", "列出 OpenID Connect 客户端")
            .error_title("Listing clients failed", "获取客户端失败"),
        Route::post("/api/admin/oidc-clients", HighRisk, oidc_clients::create)
            .sentence(ApprovalSentence::AddClient)
            .summary(
                "Register an OpenID Connect client, whose secret is shown only once",
                "登记 OpenID Connect 客户端，密钥仅显示一次",
            )
            .error_title("Registering the client failed", "登记客户端失败"),
        Route::get("/api/admin/oidc-clients/{id}", Admin, oidc_clients::show)
            .summary("Show an OpenID Connect client", "查看 OpenID Connect 客户端")
            .error_title("Reading the client failed", "获取客户端失败"),
        Route::put("/api/admin/oidc-clients/{id}", HighRisk, oidc_clients::change)
            .sentence(ApprovalSentence::ChangeClient)
            .summary("Replace the registration of an OpenID Connect client", "修改 OpenID Connect 客户端的登记信息")
            .error_title("Changing the client failed", "修改客户端失败")
            .refuses(&[1019]),
        Route::delete("/api/admin/oidc-clients/{id}", HighRisk, oidc_clients::remove)
            .sentence(ApprovalSentence::RemoveClient)
            .summary(
                "Remove an OpenID Connect client and sign its users out of it",
                "移除 OpenID Connect 客户端并使其用户退出",
            )
            .error_title("Removing the client failed", "移除客户端失败")
            .refuses(&[1019]),
        Route::post("/api/admin/oidc-clients/{id}/secret", HighRisk, oidc_clients::rotate_secret)
            .sentence(ApprovalSentence::RotateSecret)
            .summary(
                "Give an OpenID Connect client a new secret, which is shown only once",
                "更换 OpenID Connect 客户端的密钥，新密钥仅显示一次",
            )
            .error_title("Changing the secret failed", "更换密钥失败")
            .refuses(&[1019]),
        Route::post("/api/admin/oidc-clients/{id}/disable", HighRisk, oidc_clients::disable)
            .sentence(ApprovalSentence::DisableClient)
            .summary(
                "Disable an OpenID Connect client and sign its users out of it",
                "停用 OpenID Connect 客户端并使其用户退出",
            )
            .error_title("Disabling the client failed", "停用客户端失败")
            .refuses(&[1019]),
        Route::post("/api/admin/oidc-clients/{id}/enable", HighRisk, oidc_clients::enable)
            .sentence(ApprovalSentence::EnableClient)
            .summary("Enable an OpenID Connect client", "启用 OpenID Connect 客户端")
            .error_title("Enabling the client failed", "启用客户端失败")
            .refuses(&[1019]),
    ]
}
