//! The routes below /api/auth: sign-in and sessions.

use crate::http::auth::{bind, introspect, oauth2, permissions, scan, session, sessions, sign_ins};
use crate::http::request::access::RequiredAccess::{ActiveUser, Anyone, PartialOrFull, Service, TokenHolder};
use crate::http::response::redirect;
use crate::http::route::RateLimit::{Bind, OauthUrl, QrCode, ScanStatus, SignIn, Verify};
use crate::http::route::Route;

/// Signing in with a QR code.
pub(super) fn scan_routes() -> Vec<Route> {
    vec![
        Route::get("/api/auth/qrcode", Anyone, scan::qrcode)
            .limit(QrCode)
            .with_side_effects()
            .summary("Begin a sign-in: a ticket and the QR code for it", "开始扫码登录：获取票据与二维码")
            .error_title("QR code failed", "二维码生成失败"),
        Route::get("/api/auth/scan/status", Anyone, scan::scan_status)
            .limit(ScanStatus)
            .with_side_effects()
            .summary("How far a sign-in has come; the token once it is confirmed", "查询扫码状态，确认后返回令牌")
            .error_title("Scan status failed", "扫码状态查询失败"),
        Route::get("/api/auth/scan/events", Anyone, scan::scan_events)
            .limit(ScanStatus)
            .with_side_effects()
            .summary("The same as server-sent events, as it happens", "以服务器推送事件的方式获取扫码状态")
            .error_title("Scan events failed", "扫码事件推送失败"),
        Route::post("/api/auth/scan/request", Anyone, scan::scan_request)
            .limit(SignIn)
            .summary("What the phone is asked to confirm", "读取手机待确认的登录请求")
            .error_title("Reading the scan failed", "读取扫码请求失败")
            .refuses(&[1019]),
        Route::post("/api/auth/scan/confirm", Anyone, scan::confirm)
            .limit(SignIn)
            .summary("The phone says yes", "在手机上确认登录")
            .error_title("Confirming failed", "确认登录失败")
            .refuses(&[1003, 1017, 1019]),
        Route::post("/api/auth/scan/cancel", Anyone, scan::cancel)
            .limit(SignIn)
            .summary("The phone says no", "在手机上取消登录")
            .error_title("Cancelling failed", "取消登录失败")
            .refuses(&[1019]),
    ]
}

/// Signing in through the platform.
pub(super) fn platform_routes() -> Vec<Route> {
    vec![
        Route::get("/api/auth/oauth2/url", Anyone, oauth2::url)
            .limit(OauthUrl)
            .with_side_effects()
            .summary("The platform's address at which people identify themselves", "获取平台授权地址")
            .error_title("Authorization address failed", "生成授权地址失败"),
        Route::get(redirect::CALLBACK_PATH, Anyone, oauth2::callback)
            .limit(SignIn)
            .with_side_effects()
            .summary("Where the platform sends browsers back to; they are sent on", "平台回调地址，随后跳转到目标页面")
            .error_title("Sign-in failed", "登录失败"),
        Route::post("/api/auth/oauth2/pending", Anyone, oauth2::pending)
            .limit(SignIn)
            .summary("As whom a browser that did not begin here would go on", "查询待继续的登录身份")
            .error_title("Reading the sign-in failed", "读取登录请求失败")
            .refuses(&[1019]),
        Route::post("/api/auth/oauth2/continue", Anyone, oauth2::continue_sign_in)
            .limit(SignIn)
            .summary("Go on with a sign-in that did not begin here", "继续未在本浏览器开始的登录")
            .error_title("Sign-in failed", "登录失败")
            .refuses(&[1003, 1017, 1019]),
        Route::post("/api/auth/bind", Anyone, bind::bind)
            .limit(Bind)
            .summary("Sign a person of a connected corporation in as an employee", "互联企业人员绑定员工身份并登录")
            .error_title("Binding failed", "绑定失败")
            .refuses(&[1003, 1017]),
    ]
}

/// Sessions.
#[expect(clippy::too_many_lines, reason = "a table")]
pub(super) fn session_routes() -> Vec<Route> {
    vec![
        Route::post("/api/auth/verify", Anyone, session::verify)
            .limit(Verify)
            .summary("Whether a token is good, and whose it is", "校验令牌")
            .error_title("Token verification failed", "令牌校验失败"),
        Route::get("/api/auth/me", ActiveUser, session::me)
            .summary("Who is calling", "获取当前用户")
            .error_title("Reading the current user failed", "获取当前用户失败"),
        Route::post("/api/auth/switch-role", TokenHolder, session::switch_role)
            .summary("Act in another role", "切换当前角色")
            .error_title("Role switch failed", "切换角色失败")
            .refuses(&[1003, 1004, 1006, 1017]),
        Route::get("/api/auth/sessions", TokenHolder, sessions::list)
            .summary("Where one is signed in", "列出本人的会话")
            .error_title("Listing sessions failed", "获取会话失败"),
        Route::delete("/api/auth/sessions/{id}", TokenHolder, sessions::end)
            .summary("End one of one's own sessions", "结束本人的某个会话")
            .error_title("Ending the session failed", "结束会话失败"),
        Route::post("/api/auth/logout-all", TokenHolder, sessions::logout_all)
            .summary("End all of one's own sessions, or all but this one", "退出所有登录，或除当前外的所有登录")
            .error_title("Logout failed", "退出登录失败"),
        Route::get("/api/auth/sign-ins", TokenHolder, sign_ins::list)
            .summary("How one signed in lately, and who was turned away", "列出本人最近的登录与被拒绝的登录")
            .error_title("Listing sign-ins failed", "获取登录记录失败"),
        Route::post("/api/auth/sign-ins/{id}/not-me", TokenHolder, sign_ins::not_me)
            .summary(
                "Say that a sign-in was somebody else's: ends it and tells the administrators",
                "报告非本人登录：结束该会话并通知管理员",
            )
            .error_title("Reporting the sign-in failed", "报告登录记录失败"),
        Route::get("/api/auth/permissions", ActiveUser, permissions::permissions)
            .summary("What the active role permits", "获取当前角色的权限")
            .error_title("Reading permissions failed", "获取权限失败"),
        Route::post("/api/auth/check", ActiveUser, permissions::check)
            .summary("Whether the active role permits something", "检查当前角色是否有权限")
            .error_title("Permission check failed", "权限检查失败"),
        Route::post("/api/auth/introspect", Service, introspect::introspect)
            .summary(
                "For services: whether a token is good, and whose it is (RFC 7662)",
                "供其他服务查询令牌（RFC 7662）",
            )
            .error_title("Introspection failed", "令牌查询失败"),
        Route::get("/api/auth/forward", ActiveUser, permissions::forward)
            .summary("For proxies: who sends a request, and whether they may", "供反向代理校验请求的身份与权限")
            .error_title("Permission check failed", "权限检查失败"),
        Route::post("/api/auth/forward", ActiveUser, permissions::forward)
            .summary(
                "The same, for proxies that ask with the method of the request",
                "同上，供沿用原请求方法的代理使用",
            )
            .error_title("Permission check failed", "权限检查失败"),
        Route::put("/api/auth/forward", ActiveUser, permissions::forward)
            .summary(
                "The same, for proxies that ask with the method of the request",
                "同上，供沿用原请求方法的代理使用",
            )
            .error_title("Permission check failed", "权限检查失败"),
        Route::patch("/api/auth/forward", ActiveUser, permissions::forward)
            .summary(
                "The same, for proxies that ask with the method of the request",
                "同上，供沿用原请求方法的代理使用",
            )
            .error_title("Permission check failed", "权限检查失败"),
        Route::delete("/api/auth/forward", ActiveUser, permissions::forward)
            .summary(
                "The same, for proxies that ask with the method of the request",
                "同上，供沿用原请求方法的代理使用",
            )
            .error_title("Permission check failed", "权限检查失败"),
        Route::post("/api/auth/logout", PartialOrFull, session::logout)
            .summary("End this session", "退出登录")
            .error_title("Logout failed", "退出登录失败"),
    ]
}
