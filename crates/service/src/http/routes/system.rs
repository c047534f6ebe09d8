//! The routes for sockets, messages, the service itself and development mode.

use deskpass_core::ServiceScope;

use crate::http::request::RequiredAccess::{ActiveUser, Anyone, Developer, Service};
use crate::http::route::{RateLimit, Route};
use crate::http::system::{development, docs, health};
use crate::http::{messages, ws};

/// The routes for sockets and messages. A handshake checks the origin of the page itself.
pub(super) fn socket_routes() -> Vec<Route> {
    vec![
        Route::get("/api/ws/employee", ActiveUser, ws::employee)
            .with_side_effects()
            .open_to_other_sites()
            .summary("Open a WebSocket for the employees' client", "建立员工端 WebSocket 连接")
            .error_title("Connecting failed", "建立连接失败"),
        Route::get("/api/ws/agent", ActiveUser, ws::agent)
            .with_side_effects()
            .open_to_other_sites()
            .summary(
                "Open a WebSocket for the agents' client, as an agent, supervisor or administrator",
                "建立坐席端 WebSocket 连接，限坐席、主管与管理员",
            )
            .error_title("Connecting failed", "建立连接失败"),
        Route::post("/api/messages", Service(ServiceScope::Messages), messages::send)
            .summary("Send messages to connected users, for services", "供其他服务向在线人员发送消息")
            .error_title("Sending failed", "发送消息失败")
            .refuses(&[1019]),
        Route::post("/api/messages/reply", ActiveUser, messages::reply)
            .limit(RateLimit::Replies)
            .summary("Send a reply to a message to the help desk's back end", "将对消息的回复发送给服务台后端")
            .error_title("The reply was not confirmed", "回复未得到确认")
            .refuses(&[1003, 1005]),
    ]
}

/// The routes for the service itself.
pub(super) fn service_routes() -> Vec<Route> {
    vec![
        Route::get("/api/ready", Anyone, health::ready)
            .open_to_other_sites()
            .under_any_host()
            .summary("Check readiness and dependencies", "就绪检查")
            .error_title("Not ready", "服务未就绪"),
        Route::get("/api/version", Anyone, health::version)
            .open_to_other_sites()
            .under_any_host()
            .summary("Get the version", "版本信息")
            .error_title("Reading the version failed", "获取版本失败"),
        Route::get("/api/openapi.json", Anyone, docs::document)
            .linked()
            .summary("Get this API description (OpenAPI)", "本接口文档（OpenAPI）")
            .error_title("Reading the description failed", "获取接口文档失败"),
        Route::get("/api/docs", Anyone, docs::docs)
            .linked()
            .summary("Show this API description as a page", "接口文档页面")
            .error_title("Reading the page failed", "读取页面失败"),
    ]
}

/// The routes of development mode.
pub(super) fn development_routes() -> Vec<Route> {
    vec![
        Route::get("/api/dev/health", Developer, development::health)
            .summary("Check that development mode is on", "开发模式检查")
            .error_title("Development health failed", "开发健康检查失败"),
        Route::get("/api/dev/users", Developer, development::users)
            .summary("List the development users", "列出可登录的开发用户")
            .error_title("Listing development users failed", "获取开发用户失败"),
        Route::post("/api/dev/login", Developer, development::login)
            .summary("Sign in as any user", "以任意用户登录")
            .error_title("Development login failed", "开发登录失败")
            .refuses(&[1003, 1004, 1017]),
    ]
}
