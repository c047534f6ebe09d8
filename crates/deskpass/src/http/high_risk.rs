//! The operations of high risk, as the route table has them.

use std::sync::OnceLock;

use crate::http::request::RequiredAccess;
use crate::http::route::Route;
use crate::http::routes::routes;

/// The routes of each path, for the paths of the API.
type Paths = matchit::Router<Vec<Route>>;

/// What an operation of high risk does, in English and Chinese; `None` if there is no such operation.
pub(crate) fn summary(method: &str, path: &str) -> Option<[&'static str; 2]> {
    static PATHS: OnceLock<Paths> = OnceLock::new();
    let found = PATHS.get_or_init(paths).at(path).ok()?;
    let mut routes = found.value.iter().filter(|route| route.access == RequiredAccess::HighRisk);
    routes.find(|route| route.method.as_str() == method).map(|route| route.summary)
}

/// All of them, since a path may also fit a route that is not of high risk.
fn paths() -> Paths {
    let mut paths = Paths::new();
    for route in routes().into_iter().filter(Route::is_described) {
        let path = route.path;
        match paths.at_mut(path) {
            Ok(found) => found.value.push(route),
            // Two paths do not conflict: the dispatcher has the same ones.
            Err(_) => drop(paths.insert(path, vec![route])),
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_operations_of_high_risk_have_a_summary() {
        for (method, path, known) in [
            ("PUT", "/api/admin/ip-rules", true),
            ("GET", "/api/admin/ip-rules", false),
            ("POST", "/api/admin/ip-rules/dry-run", false),
            ("POST", "/api/admin/agents/agent01/reset-otp", true),
            ("DELETE", "/api/admin/links/wwpartner/a%20b", true),
            ("delete", "/api/admin/links/wwpartner/a", false),
            ("POST", "/api/auth/logout", false),
            ("PUT", "/api/admin/ip-rules/", false),
            ("PUT", "", false),
        ] {
            assert_eq!(summary(method, path).is_some(), known, "{method} {path}");
        }
    }
}
