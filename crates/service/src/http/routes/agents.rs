//! The routes for agents and their one-time passwords.

use crate::http::agents::{login, password};
use crate::http::auth::otp;
use crate::http::request::RequiredAccess::{ActiveUser, Anyone, PartialOrFull};
use crate::http::route::RateLimit::{AgentsLogin, Otp, SignIn};
use crate::http::route::Route;

/// The routes for agents and one-time passwords.
pub(super) fn agent_routes() -> Vec<Route> {
    vec![
        Route::get("/api/agents/login-methods", Anyone, login::methods)
            .limit(SignIn)
            .summary("Check whether agents can sign in with a password now", "查询坐席当前能否使用密码登录")
            .error_title("Reading the sign-in methods failed", "查询登录方式失败"),
        Route::post("/api/agents/login", Anyone, login::login)
            .limit(AgentsLogin)
            .brings_code()
            .summary(
                "Sign in an agent with a platform code, or complete the first step with a password",
                "坐席登录：使用平台授权码，或以密码完成第一步",
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
            .summary("Get the state of the caller's authenticator", "查询本人身份验证器的状态")
            .error_title("Reading the authenticator failed", "获取身份验证器失败"),
        Route::post("/api/auth/otp-setup", PartialOrFull, otp::setup)
            .limit(Otp)
            .summary("Get a secret for a new authenticator", "获取待绑定身份验证器的密钥")
            .error_title("Setting up the authenticator failed", "设置身份验证器失败")
            .refuses(&[1003, 1010, 1017]),
        Route::post("/api/auth/otp-bind", PartialOrFull, otp::bind)
            .limit(Otp)
            .summary("Bind an authenticator and complete a partial sign-in", "绑定身份验证器，并完成第二步登录")
            .error_title("Binding the authenticator failed", "绑定身份验证器失败")
            .refuses(&[1003, 1008, 1010, 1013, 1017, 1019]),
        Route::post("/api/auth/otp-verify", PartialOrFull, otp::verify)
            .limit(Otp)
            .summary("Verify a one-time password and complete a partial sign-in", "校验一次性密码，并完成第二步登录")
            .error_title("One-time password failed", "一次性密码校验失败")
            .refuses(&[1003, 1008, 1009, 1013, 1017]),
        Route::post("/api/auth/otp-unbind", PartialOrFull, otp::unbind)
            .limit(Otp)
            .summary("Unbind the authenticator", "解绑身份验证器")
            .error_title("Unbinding the authenticator failed", "解绑身份验证器失败")
            .refuses(&[1003, 1008, 1009, 1013, 1017]),
    ]
}
