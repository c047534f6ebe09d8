//! Every route of the service, in one table.
//!
//! A row says who may call the route, how often, and which handler runs. A route below /api stands under a tag of the API
//! description and also has a summary and the codes with which it refuses for reasons of its own; everything else in the
//! description follows from the row and from the types of the handler. The code 1005 means that the route calls the platform,
//! which has errors of its own.
//!
//! An argument or a result that no other handler has needs `DescribeInput` or `DescribeOutput`, and the payload of a reply
//! derives `JsonSchema` beside `Serialize`; the compiler asks for both.

mod admin;
mod agents;
mod auth;
mod oidc;
mod questions;
mod system;

use hyper::Method;

use crate::http::pages;
use crate::http::request::RequiredAccess::{Anyone, Developer, Operator};
use crate::http::route::Route;
use crate::http::system::{health, simulator};

/// The table. Tags and the routes under them stand in the order in which the API description shows them.
#[must_use]
pub fn routes() -> Vec<Route> {
    let mut table = Vec::new();
    table.extend(tagged(["Signing in with a QR code", "扫码登录"], auth::scan_routes()));
    table.extend(tagged(["Signing in through the platform", "通过平台登录"], auth::platform_routes()));
    table.extend(tagged(["OpenID Connect", "OpenID Connect"], oidc::page_routes()));
    table.extend(tagged(["Sessions", "会话"], auth::session_routes()));
    table.extend(tagged(["Agents and one-time passwords", "坐席与一次性密码"], agents::agent_routes()));
    table.extend(tagged(["Approvals and caller verification", "手机批准与来电验证"], questions::question_routes()));
    table.extend(tagged(["Administration", "管理"], admin::admin_routes()));
    table.extend(tagged(["Sockets and messages", "实时连接与消息"], system::socket_routes()));
    table.extend(tagged(["Events of the platform", "平台事件"], questions::event_routes()));
    table.extend(tagged(["Service", "服务"], system::service_routes()));
    table.extend(tagged(["Development", "开发"], system::development_routes()));
    table.extend(oidc::provider_routes());
    table.extend(operator_routes());
    table.extend(page_routes());
    table
}

/// Puts routes under a tag of the API description, named in English and Chinese.
fn tagged(tag: [&'static str; 2], routes: Vec<Route>) -> impl Iterator<Item = Route> {
    routes.into_iter().map(move |route| route.tag(tag))
}

/// Routes outside /api that are not pages.
fn operator_routes() -> Vec<Route> {
    vec![
        Route::get("/version", Anyone, health::version)
            .under_any_host()
            .error_title("Reading the version failed", "获取版本失败"),
        Route::get("/healthz", Anyone, health::alive).under_any_host().error_title("Not alive", "服务异常"),
        Route::get("/metrics", Operator, health::metrics).error_title("Reading metrics failed", "获取指标失败"),
        Route::get("/WW_verify_{file}", Anyone, pages::verify_file)
            .error_title("Reading the file failed", "读取文件失败"),
    ]
}

/// The pages, their files, and the simulated platform of development mode.
fn page_routes() -> Vec<Route> {
    let page = |route: Route| route.error_title("Reading the page failed", "读取页面失败");
    let mut table = Vec::new();
    for path in ["/", "/h5/", "/itagent/", "/itadmin/", "/scan/", "/continue/", "/approve/", "/verify/"] {
        table.push(page(Route::get(path, Anyone, pages::page)));
    }
    table.push(page(Route::get("/open/", Anyone, pages::open::open_page)));
    for path in ["/assets/{file}", "/assets/{version}/{file}"] {
        table.push(page(Route::get(path, Anyone, pages::asset)));
    }
    for path in ["/app", "/app/", "/app/{*path}"] {
        table.push(page(Route::get(path, Anyone, pages::own::own_page)));
    }
    for path in ["/h5", "/itagent", "/itadmin"] {
        table.push(page(Route::get(path, Anyone, pages::add_slash)));
    }
    for path in ["/sim", "/sim/", "/sim/{*rest}"] {
        for method in [Method::GET, Method::POST, Method::PUT, Method::DELETE] {
            let route = Route::new(method, path, Developer, simulator::answer);
            table.push(route.error_title("The simulated platform failed", "模拟的平台出现故障"));
        }
    }
    table
}
