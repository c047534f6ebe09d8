//! Every route the service answers, in one table.

mod admin;
mod admission;
mod agents;
mod auth;
mod dispatcher;
mod error;
mod messages;
mod openapi;
mod pages;
mod rate_limit;
mod request;
mod response;
mod system;
mod ws;

use std::fmt;

use axum::extract::Request;
use axum::response::Response;
use futures_util::future::BoxFuture;
use hyper::Method;
use openapi::{DescribedHandler, OperationSpec};

pub(crate) use admission::ReserveConnection;
pub(crate) use dispatcher::{Dispatcher, RequestContext};
pub(crate) use error::malformed_head::MalformedHead;
pub use openapi::description;
pub use rate_limit::RateLimit;
pub(crate) use request::user_agent::device_name;
pub(crate) use ws::PendingUpgrade;

/// Who may call a route. The handler's extractors enforce it; tests hold the two against each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequiredAccess {
    /// Anyone.
    Anyone,
    /// Whoever holds a live token, of a session or of half a sign-in.
    PartialOrFull,
    /// Whoever holds the live token of a session.
    TokenHolder,
    /// Whoever is signed in and still holds their active role.
    ActiveUser,
    /// Whoever is signed in in a role that may read others' accounts.
    Reader,
    /// Whoever is signed in as an administrator.
    Admin,
    /// Whoever is signed in as an administrator and shows a fresh one-time password.
    HighRisk,
    /// A service that shows a key which is good for it.
    Service,
    /// Anyone, but only in development mode.
    Developer,
    /// Whoever comes from an operator's network.
    Operator,
}

/// A row of the table.
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path.
    pub path: &'static str,
    /// Who may call it.
    pub access: RequiredAccess,
    /// How often.
    pub limit: RateLimit,
    /// What went wrong when it fails unexpectedly, in English and Chinese.
    pub error_title: [&'static str; 2],
    /// Whether asking changes something, even by GET: then nobody may ask in passing, by HEAD or ahead of time.
    pub has_side_effects: bool,
    /// Says what the handler reads and answers.
    describe: fn(&mut OperationSpec),
    handler: Box<dyn Fn(Request, RequestContext) -> BoxFuture<'static, Response> + Send + Sync>,
}

impl Route {
    fn new<H: DescribedHandler<T> + Sync, T: 'static>(
        method: Method,
        path: &'static str,
        access: RequiredAccess,
        limit: RateLimit,
        error_title: [&'static str; 2],
        handler: H,
    ) -> Self {
        let handler = Box::new(move |request, context| -> BoxFuture<'static, Response> {
            Box::pin(handler.clone().call(request, context))
        });
        Self { method, path, access, limit, error_title, has_side_effects: false, describe: H::describe, handler }
    }

    fn with_side_effects(self) -> Self {
        Self { has_side_effects: true, ..self }
    }
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({:?})", self.method, self.path, self.access)
    }
}

/// The table.
#[must_use]
#[rustfmt::skip]
#[expect(clippy::too_many_lines, reason = "one table, which reads best in one piece")]
pub fn routes() -> Vec<Route> {
    use RateLimit::{AgentsLogin, Bind, Unlimited, OauthUrl, Otp, QrCode, ScanStatus, SignIn, Verify};
    use RequiredAccess::{Admin, Anyone, ActiveUser, Developer, PartialOrFull, HighRisk, TokenHolder, Operator, Reader, Service};
    const GET: Method = Method::GET;
    const POST: Method = Method::POST;
    const PUT: Method = Method::PUT;
    const PATCH: Method = Method::PATCH;
    const DELETE: Method = Method::DELETE;
    let mut table = vec![
        Route::new(GET,  "/api/auth/qrcode",           Anyone,    QrCode,      ["QR code failed", "二维码生成失败"],                       auth::scan::qrcode).with_side_effects(),
        Route::new(GET,  "/api/auth/scan/status",      Anyone,    ScanStatus,  ["Scan status failed", "扫码状态查询失败"],                 auth::scan::scan_status).with_side_effects(),
        Route::new(GET,  "/api/auth/scan/events",      Anyone,    ScanStatus,  ["Scan events failed", "扫码事件推送失败"],                 auth::scan::scan_events).with_side_effects(),
        Route::new(POST, "/api/auth/scan/request",     Anyone,    SignIn,      ["Reading the scan failed", "读取扫码请求失败"],            auth::scan::scan_request),
        Route::new(POST, "/api/auth/scan/confirm",     Anyone,    SignIn,      ["Confirming failed", "确认登录失败"],                      auth::scan::confirm),
        Route::new(POST, "/api/auth/scan/cancel",      Anyone,    SignIn,      ["Cancelling failed", "取消登录失败"],                      auth::scan::cancel),
        Route::new(GET,  "/api/auth/oauth2/url",       Anyone,    OauthUrl,    ["Authorization address failed", "生成授权地址失败"],       auth::oauth2::url).with_side_effects(),
        Route::new(GET,  response::redirect::CALLBACK_PATH,           Anyone,    SignIn,      ["Sign-in failed", "登录失败"],                             auth::oauth2::callback).with_side_effects(),
        Route::new(POST, "/api/auth/oauth2/pending",   Anyone,    SignIn,      ["Reading the sign-in failed", "读取登录请求失败"],         auth::oauth2::pending),
        Route::new(POST, "/api/auth/oauth2/continue",  Anyone,    SignIn,      ["Sign-in failed", "登录失败"],                             auth::oauth2::continue_sign_in),
        Route::new(POST, "/api/auth/verify",           Anyone,    Verify,      ["Token verification failed", "令牌校验失败"],              auth::session::verify),
        Route::new(POST, "/api/auth/introspect",       Service,   Unlimited,        ["Introspection failed", "令牌查询失败"],                   auth::introspect::introspect),
        Route::new(POST, "/api/auth/logout",           PartialOrFull,   Unlimited,        ["Logout failed", "退出登录失败"],                          auth::session::logout),
        Route::new(GET,  "/api/auth/me",               ActiveUser,    Unlimited,        ["Reading the current user failed", "获取当前用户失败"],    auth::session::me),
        Route::new(POST, "/api/auth/switch-role",      TokenHolder,    Unlimited,        ["Role switch failed", "切换角色失败"],                     auth::session::switch_role),
        Route::new(GET,  "/api/auth/permissions",      ActiveUser,    Unlimited,        ["Reading permissions failed", "获取权限失败"],             auth::permissions::permissions),
        Route::new(POST, "/api/auth/check",            ActiveUser,    Unlimited,        ["Permission check failed", "权限检查失败"],                auth::permissions::check),
        Route::new(GET,  "/api/auth/sessions",         TokenHolder,    Unlimited,        ["Listing sessions failed", "获取会话失败"],              auth::sessions::list),
        Route::new(DELETE, "/api/auth/sessions/{id}",  TokenHolder,    Unlimited,        ["Ending the session failed", "结束会话失败"],            auth::sessions::end),
        Route::new(POST, "/api/auth/logout-all",       TokenHolder,    Unlimited,        ["Logout failed", "退出登录失败"],                          auth::sessions::logout_all),
        Route::new(GET,  "/api/auth/sign-ins",         TokenHolder,    Unlimited,        ["Listing sign-ins failed", "获取登录记录失败"],          auth::sign_ins::list),
        Route::new(POST, "/api/auth/sign-ins/{id}/not-me", TokenHolder, Unlimited,       ["Reporting the sign-in failed", "报告登录记录失败"],     auth::sign_ins::not_me),
        Route::new(POST, "/api/auth/bind",             Anyone,    Bind,        ["Binding failed", "绑定失败"],                             auth::bind::bind),
        Route::new(GET,  "/api/auth/otp-status",       PartialOrFull,   Otp,         ["Reading the device failed", "获取一次性密码设备失败"],    auth::otp::status),
        Route::new(POST, "/api/auth/otp-setup",        PartialOrFull,   Otp,         ["Setting up the device failed", "设置一次性密码设备失败"], auth::otp::setup),
        Route::new(POST, "/api/auth/otp-bind",         PartialOrFull,   Otp,         ["Binding the device failed", "绑定一次性密码设备失败"],    auth::otp::bind),
        Route::new(POST, "/api/auth/otp-verify",       PartialOrFull,   Otp,         ["One-time password failed", "一次性密码校验失败"],         auth::otp::verify),
        Route::new(POST, "/api/auth/otp-unbind",       PartialOrFull,   Otp,         ["Unbinding the device failed", "解绑一次性密码设备失败"],  auth::otp::unbind),
        Route::new(POST, "/api/agents/login",          Anyone,    AgentsLogin, ["Agent sign-in failed", "坐席登录失败"],                   agents::login::login),
        Route::new(POST, "/api/agents/password",       ActiveUser,    AgentsLogin, ["Setting the password failed", "设置密码失败"],            agents::password::change),
        Route::new(POST, "/api/agents/password/setup", Anyone,    AgentsLogin, ["Setting the password failed", "设置密码失败"],            agents::password::set_up),
        Route::new(GET,  "/api/admin/roles",            Reader,   Unlimited, ["Listing roles failed", "获取角色失败"],          admin::employees::roles),
        Route::new(GET,  "/api/admin/roles/user-roles", Reader,   Unlimited, ["Listing roles failed", "获取角色失败"],          admin::employees::user_roles),
        Route::new(PUT,  "/api/admin/roles/user-roles", HighRisk, Unlimited, ["Changing roles failed", "修改角色失败"],         admin::employees::assign),
        Route::new(GET,  "/api/admin/corporations",     Reader,   Unlimited, ["Listing corporations failed", "获取企业失败"],   admin::employees::corporations),
        Route::new(GET,  "/api/admin/employees",        Reader,   Unlimited, ["Listing employees failed", "获取员工失败"],      admin::employees::employees),
        Route::new(PATCH, "/api/admin/employees/{corp_id}/{employee_id}",  HighRisk, Unlimited, ["Changing the employee failed", "修改员工失败"],          admin::employees::update),
        Route::new(GET,  "/api/admin/agents",           Admin,    Unlimited, ["Listing agents failed", "获取坐席失败"],         admin::agents::list),
        Route::new(POST, "/api/admin/agents",           HighRisk, Unlimited, ["Adding the agent failed", "添加坐席失败"],       admin::agents::add),
        Route::new(POST, "/api/admin/agents/{employee_id}/unlock",         HighRisk, Unlimited, ["Unlocking failed", "解锁失败"],                          admin::agents::unlock),
        Route::new(POST, "/api/admin/agents/{employee_id}/reset-otp",      HighRisk, Unlimited, ["Resetting the device failed", "重置一次性密码设备失败"], admin::agents::reset_otp),
        Route::new(POST, "/api/admin/agents/{employee_id}/reset-password", HighRisk, Unlimited, ["Resetting the password failed", "重置密码失败"],         admin::agents::reset_password),
        Route::new(GET,  "/api/admin/sessions",         Reader,   Unlimited, ["Listing sessions failed", "获取会话失败"],       admin::sessions::list),
        Route::new(DELETE, "/api/admin/sessions/{id}",                     HighRisk, Unlimited, ["Ending the session failed", "结束会话失败"],              admin::sessions::end),
        Route::new(DELETE, "/api/admin/employees/{corp_id}/{employee_id}/sessions", HighRisk, Unlimited, ["Ending sessions failed", "结束会话失败"],        admin::sessions::end_all),
        Route::new(GET,  "/api/admin/login-log",        Reader,   Unlimited, ["Reading the log failed", "获取登录日志失败"],    admin::login_log::list),
        Route::new(GET,  "/api/admin/statistics",       Reader,   Unlimited, ["Reading the figures failed", "获取登录统计失败"], admin::statistics::list),
        Route::new(GET,  "/api/admin/matrix",           Reader,   Unlimited, ["Reading permissions failed", "获取权限失败"],    auth::permissions::matrix),
        Route::new(GET,  "/api/admin/links",            Admin,    Unlimited, ["Listing links failed", "获取关联失败"],          admin::links::list),
        Route::new(POST, "/api/admin/links",            HighRisk, Unlimited, ["Approving the link failed", "批准关联失败"],     admin::links::approve),
        Route::new(DELETE, "/api/admin/links/{corp_id}/{user_id}",         HighRisk, Unlimited, ["Removing the link failed", "删除关联失败"],              admin::links::remove),
        Route::new(GET,    "/api/admin/ip-rules",          Admin,    Unlimited, ["Reading the allow-lists failed", "获取地址白名单失败"],     admin::ip_rules::show),
        Route::new(PUT,    "/api/admin/ip-rules",          HighRisk, Unlimited, ["Changing the allow-lists failed", "修改地址白名单失败"],    admin::ip_rules::replace),
        Route::new(POST,   "/api/admin/ip-rules/dry-run",  Admin,    Unlimited, ["Trying the allow-lists failed", "试运行地址白名单失败"],    admin::ip_rules::dry_run),
        Route::new(GET,    "/api/admin/service-keys",      Admin,    Unlimited, ["Listing service keys failed", "获取服务密钥失败"],          admin::service_keys::list),
        Route::new(POST,   "/api/admin/service-keys",      HighRisk, Unlimited, ["Creating the service key failed", "创建服务密钥失败"],      admin::service_keys::create),
        Route::new(DELETE, "/api/admin/service-keys/{id}", HighRisk, Unlimited, ["Revoking the service key failed", "吊销服务密钥失败"],      admin::service_keys::revoke),
        Route::new(GET,  "/api/ws/employee",           ActiveUser,    Unlimited,        ["Connecting failed", "建立连接失败"],                       ws::employee).with_side_effects(),
        Route::new(GET,  "/api/ws/agent",              ActiveUser,    Unlimited,        ["Connecting failed", "建立连接失败"],                       ws::agent).with_side_effects(),
        Route::new(POST, "/api/messages",              Service,   Unlimited,        ["Sending failed", "发送消息失败"],                         messages::send),
        Route::new(GET,  "/api/dev/health",            Developer, Unlimited,        ["Development health failed", "开发健康检查失败"],          system::development::health),
        Route::new(GET,  "/api/dev/users",             Developer, Unlimited,        ["Listing development users failed", "获取开发用户失败"],   system::development::users),
        Route::new(POST, "/api/dev/login",             Developer, Unlimited,        ["Development login failed", "开发登录失败"],               system::development::login),
        Route::new(GET,  "/api/ready",                 Anyone,    Unlimited,        ["Not ready", "服务未就绪"],                                system::health::ready),
        Route::new(GET,  "/api/version",               Anyone,    Unlimited,        ["Reading the version failed", "获取版本失败"],             system::health::version),
        Route::new(GET,  "/api/openapi.json",          Anyone,    Unlimited,        ["Reading the description failed", "获取接口文档失败"],       openapi::document),
        Route::new(GET,  "/api/docs",                  Anyone,    Unlimited,        ["Reading the page failed", "读取页面失败"],                openapi::docs),
        Route::new(GET,  "/version",                   Anyone,    Unlimited,        ["Reading the version failed", "获取版本失败"],             system::health::version),
        Route::new(GET,  "/healthz",                   Anyone,    Unlimited,        ["Not alive", "服务异常"],                                  system::health::alive),
        Route::new(GET,  "/metrics",                   Operator,  Unlimited,        ["Reading metrics failed", "获取指标失败"],                 system::health::metrics),
        Route::new(GET,  "/WW_verify_{file}",          Anyone,    Unlimited,        ["Reading the file failed", "读取文件失败"],                pages::verify_file),
    ];
    // Some proxies ask with the method of the request that waits for the answer.
    for method in [GET, POST, PUT, PATCH, DELETE] {
        table.push(Route::new(method, "/api/auth/forward", ActiveUser, Unlimited, ["Permission check failed", "权限检查失败"], auth::permissions::forward));
    }
    for path in ["/", "/h5/", "/itagent/", "/itadmin/", "/scan/", "/continue/"] {
        table.push(Route::new(GET, path, Anyone, Unlimited, ["Reading the page failed", "读取页面失败"], pages::page));
    }
    for path in ["/assets/{file}", "/assets/{version}/{file}"] {
        table.push(Route::new(GET, path, Anyone, Unlimited, ["Reading the page failed", "读取页面失败"], pages::asset));
    }
    for path in ["/h5", "/itagent", "/itadmin"] {
        table.push(Route::new(GET, path, Anyone, Unlimited, ["Reading the page failed", "读取页面失败"], pages::add_slash));
    }
    for path in ["/sim", "/sim/", "/sim/{*rest}"] {
        for method in [GET, POST, PUT, DELETE] {
            table.push(Route::new(method, path, Developer, Unlimited, ["The simulated platform failed", "模拟平台失败"], system::simulator::answer));
        }
    }
    table
}
