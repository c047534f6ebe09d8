//! Every route the desk answers, in one table.

mod answer;
mod bind;
mod dev;
mod envelope;
mod extract;
mod failure;
mod fields;
mod health;
mod language;
mod session;

use axum::Router;
use axum::routing::{MethodRouter, get, post};
use hyper::Method;

use crate::Desk;

pub(crate) use answer::Answerer;
pub(crate) use health::Readiness;

/// Who may call a route. The handler's extractors enforce it; tests hold the two against each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// Anyone.
    Anyone,
    /// Whoever holds a live token.
    Holder,
    /// Whoever is signed in and still holds their active role.
    Caller,
    /// Anyone, but only in development mode.
    Developer,
    /// Whoever comes from an operator's network.
    Operator,
}

/// A row of the table.
#[derive(Clone, Debug)]
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path.
    pub path: &'static str,
    /// Who may call it.
    pub who: Who,
    /// What went wrong when it fails unexpectedly, in English and Chinese.
    pub phrase: [&'static str; 2],
    handler: MethodRouter<Desk>,
}

/// The table.
#[must_use]
#[rustfmt::skip]
pub fn routes() -> Vec<Route> {
    use Who::{Anyone, Caller, Developer, Holder, Operator};
    let get_ = |path, who, phrase, handler| Route { method: Method::GET, path, who, phrase, handler };
    let post_ = |path, who, phrase, handler| Route { method: Method::POST, path, who, phrase, handler };
    vec![
        post_("/api/auth/verify",      Anyone,    ["Token verification failed", "令牌校验失败"],  post(session::verify)),
        post_("/api/auth/logout",      Holder,    ["Logout failed", "退出登录失败"],              post(session::logout)),
        get_ ("/api/auth/me",          Caller,    ["Reading the current user failed", "获取当前用户失败"], get(session::me)),
        post_("/api/auth/switch-role", Holder,    ["Role switch failed", "切换角色失败"],         post(session::switch_role)),
        post_("/api/auth/bind",        Anyone,    ["Binding failed", "绑定失败"],                 post(bind::bind)),
        get_ ("/api/dev/health",       Developer, ["Development health failed", "开发健康检查失败"], get(dev::health)),
        get_ ("/api/dev/users",        Developer, ["Listing development users failed", "获取开发用户失败"], get(dev::users)),
        post_("/api/dev/login",        Developer, ["Development login failed", "开发登录失败"],   post(dev::login)),
        get_ ("/api/ready",            Anyone,    ["Not ready", "服务未就绪"],                    get(health::ready)),
        get_ ("/api/version",          Anyone,    ["Reading the version failed", "获取版本失败"], get(health::version)),
        get_ ("/version",              Anyone,    ["Reading the version failed", "获取版本失败"], get(health::version)),
        get_ ("/healthz",              Anyone,    ["Not alive", "服务异常"],                      get(health::alive)),
        get_ ("/metrics",              Operator,  ["Reading metrics failed", "获取指标失败"],     get(health::metrics)),
    ]
}

/// The table as a router.
fn router(desk: Desk) -> Router {
    let table = routes().into_iter().fold(Router::new(), |router, route| router.route(route.path, route.handler));
    table.fallback(failure::no_such_path).method_not_allowed_fallback(failure::no_such_method).with_state(desk)
}
