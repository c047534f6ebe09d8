//! The routes for OpenID Connect: those of the sign-in page, and those of clients.

use hyper::Method;

use crate::http::auth::oidc as page;
use crate::http::oidc::{authorize, cors, discovery, introspect, logout, revoke, token, userinfo};
use crate::http::request::RequiredAccess::Anyone;
use crate::http::route::RateLimit::Oidc;
use crate::http::route::Route;

/// The routes of the sign-in page.
pub(super) fn page_routes() -> Vec<Route> {
    vec![
        Route::post("/api/auth/oidc/request", Anyone, page::request)
            .limit(Oidc)
            .summary(
                "Show an authorization request of an OpenID Connect client",
                "查看 OpenID Connect 客户端的授权请求",
            )
            .error_title("Reading the request failed", "读取授权请求失败")
            .refuses(&[1019]),
        Route::post("/api/auth/oidc/continue", Anyone, page::continue_request)
            .limit(Oidc)
            .summary(
                "Continue to an OpenID Connect client with a code for the signed-in user",
                "以已登录用户的身份带授权码继续前往 OpenID Connect 客户端",
            )
            .error_title("Continuing to the client failed", "继续前往客户端失败")
            .refuses(&[1001, 1003, 1017, 1019]),
        Route::post("/api/auth/oidc/deny", Anyone, page::deny)
            .limit(Oidc)
            .summary("Return to an OpenID Connect client without signing in", "不登录并返回 OpenID Connect 客户端")
            .error_title("Returning to the client failed", "返回客户端失败")
            .refuses(&[1019]),
        Route::post("/api/auth/oidc/logout", Anyone, page::logout)
            .limit(Oidc)
            .summary(
                "Confirm a logout that an OpenID Connect client requested",
                "确认 OpenID Connect 客户端请求的退出登录",
            )
            .error_title("Logout failed", "退出登录失败")
            .refuses(&[1019]),
    ]
}

/// The routes of clients. None of them has an envelope. The token endpoint and the like are limited by client, not by address: the
/// users of a client share the address of its server. Pages call them, too.
pub(super) fn provider_routes() -> Vec<Route> {
    let mut table = Vec::new();
    for path in ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"] {
        table.push(Route::get(path, Anyone, discovery::configuration));
    }
    table.extend([
        Route::get("/oidc/jwks", Anyone, discovery::jwks).open_to_other_sites(),
        Route::get(authorize::AUTHORIZE, Anyone, authorize::authorize).limit(Oidc).with_side_effects().visited(),
        Route::post(authorize::AUTHORIZE, Anyone, authorize::authorize_of_form).limit(Oidc).visited(),
        Route::post("/oidc/token", Anyone, token::token).open_to_other_sites(),
        Route::get("/oidc/userinfo", Anyone, userinfo::userinfo).open_to_other_sites(),
        Route::post("/oidc/userinfo", Anyone, userinfo::userinfo_of_form).open_to_other_sites(),
        Route::post("/oidc/revoke", Anyone, revoke::revoke).open_to_other_sites(),
        Route::post("/oidc/introspect", Anyone, introspect::introspect),
        Route::get("/oidc/logout", Anyone, logout::logout).limit(Oidc).with_side_effects().visited(),
        Route::post("/oidc/logout", Anyone, logout::logout_of_form).limit(Oidc).visited(),
    ]);
    for path in ["/oidc/token", "/oidc/userinfo", "/oidc/revoke"] {
        table.push(Route::new(Method::OPTIONS, path, Anyone, cors::preflight).open_to_other_sites());
    }
    table.into_iter().map(|route| route.error_title("OpenID Connect failed", "OpenID Connect 请求失败")).collect()
}
