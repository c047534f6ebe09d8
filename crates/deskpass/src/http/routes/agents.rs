//! The routes for agents and their one-time passwords.

use crate::http::agents::{login, password};
use crate::http::auth::otp;
use crate::http::request::RequiredAccess::{ActiveUser, Anyone, PartialOrFull};
use crate::http::route::RateLimit::{AgentsLogin, Otp};
use crate::http::route::Route;

/// The routes for agents and one-time passwords.
pub(super) fn agent_routes() -> Vec<Route> {
    vec![
        Route::post("/api/agents/login", Anyone, login::login)
            .limit(AgentsLogin)
            .summary(
                "Sign in an agent with a platform code, or complete the first step with a password",
                "坐席登录：平台授权码，或以密码完成第一步",
            )
            .error_title("Agent sign-in failed", "坐席登录失败")
            .refuses(&[1003, 1005, 1011, 1012, 1013, 1017]),
        Route::post("/api/agents/password", ActiveUser, password::change)
            .limit(AgentsLogin)
            .summary("Set the caller's password and end their other sessions", "设置本人密码，同时结束其他会话")
            .error_title("Setting the password failed", "设置密码失败")
            .refuses(&[1013, 1014, 1015, 1016]),
        Route::post("/api/agents/password/setup", Anyone, password::set_up)
            .limit(AgentsLogin)
            .summary("Set a password with an administrator's setup code", "使用管理员提供的设置码设置密码")
            .error_title("Setting the password failed", "设置密码失败")
            .refuses(&[1003, 1013, 1014]),
        Route::get("/api/auth/otp-status", PartialOrFull, otp::status)
            .limit(Otp)
            .summary("Get the state of the caller's one-time-password device", "查询本人一次性密码设备状态")
            .error_title("Reading the device failed", "获取一次性密码设备失败"),
        Route::post("/api/auth/otp-setup", PartialOrFull, otp::setup)
            .limit(Otp)
            .summary("Get a secret for a new device", "获取待绑定设备的密钥")
            .error_title("Setting up the device failed", "设置一次性密码设备失败")
            .refuses(&[1003, 1010, 1017]),
        Route::post("/api/auth/otp-bind", PartialOrFull, otp::bind)
            .limit(Otp)
            .summary("Bind a device and complete a partial sign-in", "绑定设备，并完成第二步登录")
            .error_title("Binding the device failed", "绑定一次性密码设备失败")
            .refuses(&[1003, 1008, 1010, 1013, 1017, 1019]),
        Route::post("/api/auth/otp-verify", PartialOrFull, otp::verify)
            .limit(Otp)
            .summary("Verify a one-time password and complete a partial sign-in", "校验一次性密码，并完成第二步登录")
            .error_title("One-time password failed", "一次性密码校验失败")
            .refuses(&[1003, 1008, 1009, 1013, 1017]),
        Route::post("/api/auth/otp-unbind", PartialOrFull, otp::unbind)
            .limit(Otp)
            .summary("Unbind the device", "解绑设备")
            .error_title("Unbinding the device failed", "解绑一次性密码设备失败")
            .refuses(&[1003, 1008, 1009, 1013, 1017]),
    ]
}
