//! The routes below /api/auth: sign-in and sessions.

use deskpass_core::ServiceScope;
use hyper::Method;

use crate::http::auth::{bind, entry, oauth2, permissions, scan, scan_outcome, session, sessions, sign_ins};
use crate::http::request::RequiredAccess::{ActiveUser, Anyone, PartialOrFull, Service, TokenHolder};
use crate::http::response::redirect;
use crate::http::route::RateLimit::{Bind, OauthUrl, QrCode, ScanStatus, SignIn, Verify};
use crate::http::route::Route;

/// The routes for sign-in with a QR code.
pub(super) fn scan_routes() -> Vec<Route> {
    vec![
        Route::get("/api/auth/qrcode", Anyone, scan::qrcode)
            .limit(QrCode)
            .with_side_effects()
            .summary("Start a QR code sign-in: get a ticket and its QR code", "开始扫码登录：获取票据与二维码")
            .error_title("QR code failed", "二维码生成失败")
            .refuses(&[1019]),
        Route::get(redirect::SCAN_PATH, Anyone, entry::open)
            .limit(SignIn)
            .with_side_effects()
            .linked()
            .summary("Lead a phone that scanned a QR code to the platform", "将扫码的手机引导至平台")
            .error_title("Opening the QR code failed", "打开二维码失败"),
        Route::get("/api/auth/scan/status", Anyone, scan::scan_status)
            .limit(ScanStatus)
            .with_side_effects()
            .summary("Get the scan status, with the token once confirmed", "查询扫码状态，确认后返回令牌")
            .error_title("Scan status failed", "扫码状态查询失败"),
        Route::get("/api/auth/scan/events", Anyone, scan::scan_events)
            .limit(ScanStatus)
            .with_side_effects()
            .summary("Stream the scan status as server-sent events", "以服务器推送事件的方式获取扫码状态")
            .error_title("Scan events failed", "扫码事件推送失败"),
        Route::post("/api/auth/scan/request", Anyone, scan::scan_request)
            .limit(SignIn)
            .summary("Read the sign-in request to confirm on the phone", "读取手机待确认的登录请求")
            .error_title("Reading the scan failed", "读取扫码请求失败")
            .refuses(&[1019]),
        Route::post("/api/auth/scan/confirm", Anyone, scan::confirm)
            .limit(SignIn)
            .summary("Confirm the sign-in on the phone", "在手机上确认登录")
            .error_title("Confirming failed", "确认登录失败")
            .refuses(&[1003, 1017, 1019]),
        Route::post("/api/auth/scan/cancel", Anyone, scan::cancel)
            .limit(SignIn)
            .summary("Cancel the sign-in on the phone", "在手机上取消登录")
            .error_title("Cancelling failed", "取消登录失败")
            .refuses(&[1019]),
        Route::post("/api/auth/scan/outcome", Anyone, scan_outcome::outcome)
            .limit(SignIn)
            .summary("Check on the phone whether the computer is signed in", "在手机上查询电脑是否已登录")
            .error_title("Reading the outcome failed", "查询登录结果失败")
            .refuses(&[1019]),
    ]
}

/// The routes for sign-in through the platform.
pub(super) fn platform_routes() -> Vec<Route> {
    vec![
        Route::get("/api/auth/oauth2/url", Anyone, oauth2::url)
            .limit(OauthUrl)
            .with_side_effects()
            .summary("Get the platform's authorization address", "获取平台授权地址")
            .error_title("Authorization address failed", "生成授权地址失败"),
        Route::get("/api/auth/oauth2/script", Anyone, entry::script)
            .limit(OauthUrl)
            .summary("Get the platform's own script for sign-in, where it has one", "获取平台自身的登录脚本（如有）")
            .error_title("Reading the script failed", "获取登录脚本失败")
            .refuses(&[1004, 1019]),
        Route::get(redirect::CALLBACK_PATH, Anyone, oauth2::callback)
            .limit(SignIn)
            .with_side_effects()
            .linked()
            .summary(
                "Handle the platform's callback and redirect to the destination",
                "平台回调地址，随后跳转到目标页面",
            )
            .error_title("Sign-in failed", "登录失败"),
        Route::post("/api/auth/oauth2/pending", Anyone, oauth2::pending)
            .limit(SignIn)
            .summary("Get the identity of a sign-in that awaits confirmation", "查询待继续的登录属于谁")
            .error_title("Reading the sign-in failed", "读取登录请求失败")
            .refuses(&[1019]),
        Route::post("/api/auth/oauth2/continue", Anyone, oauth2::continue_sign_in)
            .limit(SignIn)
            .summary("Continue a sign-in that was not started in this browser", "继续未在本浏览器开始的登录")
            .error_title("Sign-in failed", "登录失败")
            .refuses(&[1003, 1017, 1019]),
        Route::post("/api/auth/bind", Anyone, bind::bind)
            .limit(Bind)
            .summary(
                "Bind a user of a connected corporation to an employee and sign in",
                "互联企业人员绑定本企业员工并登录",
            )
            .error_title("Binding failed", "绑定失败")
            .refuses(&[1003, 1017]),
    ]
}

/// The routes for sessions.
pub(super) fn session_routes() -> Vec<Route> {
    let mut table = vec![
        Route::post("/api/auth/verify", Anyone, session::verify)
            .limit(Verify)
            .summary("Verify a token", "校验令牌")
            .error_title("Token verification failed", "令牌校验失败"),
        Route::get("/api/auth/me", ActiveUser, session::me)
            .summary("Get the current user", "获取当前用户")
            .error_title("Reading the current user failed", "获取当前用户失败"),
        Route::post("/api/auth/switch-role", TokenHolder, session::switch_role)
            .summary("Switch the active role", "切换当前角色")
            .error_title("Role switch failed", "切换角色失败")
            .refuses(&[1003, 1004, 1006, 1017]),
        Route::get("/api/auth/sessions", TokenHolder, sessions::list)
            .summary("List the caller's sessions", "列出本人的会话")
            .error_title("Listing sessions failed", "获取会话失败"),
        Route::delete("/api/auth/sessions/{id}", TokenHolder, sessions::end)
            .summary("End one of the caller's sessions", "结束本人的某个会话")
            .error_title("Ending the session failed", "结束会话失败"),
        Route::post("/api/auth/logout-all", TokenHolder, sessions::logout_all)
            .summary(
                "End all of the caller's sessions, or all except the current one",
                "结束本人的所有会话，或除当前会话外的所有会话",
            )
            .error_title("Logout failed", "退出登录失败"),
        Route::get("/api/auth/sign-ins", TokenHolder, sign_ins::list)
            .summary("List the caller's recent sign-ins and refused attempts", "列出本人最近的登录与被拒绝的登录")
            .error_title("Listing sign-ins failed", "获取登录记录失败"),
        Route::post("/api/auth/sign-ins/{id}/not-me", TokenHolder, sign_ins::not_me)
            .summary(
                "Report a sign-in as not the caller's: end its session and notify the administrators",
                "报告非本人登录：结束该会话并通知管理员",
            )
            .error_title("Reporting the sign-in failed", "报告登录记录失败"),
        Route::get("/api/auth/permissions", ActiveUser, permissions::permissions)
            .summary("Get the permissions of the active role", "获取当前角色的权限")
            .error_title("Reading permissions failed", "获取权限失败"),
        Route::post("/api/auth/check", ActiveUser, permissions::check)
            .summary("Check whether the active role permits an operation", "检查当前角色是否有权限")
            .error_title("Permission check failed", "权限检查失败"),
        Route::post("/api/auth/introspect", Service(ServiceScope::Introspect), session::introspect)
            .summary("Introspect a token, for services (RFC 7662)", "供其他服务查询令牌（RFC 7662）")
            .error_title("Introspection failed", "令牌查询失败"),
        proxied(Route::get("/api/auth/forward", ActiveUser, permissions::forward))
            .summary(
                "Check the identity and permissions of a request, for reverse proxies",
                "供反向代理校验请求的身份与权限",
            )
            .error_title("Permission check failed", "权限检查失败"),
    ];
    for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
        let route = proxied(Route::new(method, "/api/auth/forward", ActiveUser, permissions::forward))
            .summary("Same as GET, for proxies that keep the method of the request", "同上，供沿用原请求方法的代理使用")
            .error_title("Permission check failed", "权限检查失败");
        table.push(route);
    }
    let logout = Route::post("/api/auth/logout", PartialOrFull, session::logout)
        .summary("Log out", "退出登录")
        .error_title("Logout failed", "退出登录失败");
    table.push(logout);
    table
}

/// A route for proxies, which pass on what a browser sent to another host.
fn proxied(route: Route) -> Route {
    route.open_to_other_sites().under_any_host()
}
