//! The operations of high risk, as the route table has them.

use std::sync::OnceLock;

use crate::http::handler::OperationSpec;
use crate::http::request::{HighRiskOperation, RequiredAccess};
use crate::http::route::Route;
use crate::http::routes::routes;

/// The routes of each path, for the paths of the API.
type Paths = matchit::Router<Vec<Route>>;

/// The operation of high risk with this method and path; `None` if there is none.
pub(crate) fn operation(method: &str, path: &str) -> Option<HighRiskOperation> {
    static PATHS: OnceLock<Paths> = OnceLock::new();
    let found = PATHS.get_or_init(paths).at(path).ok()?;
    let mut routes = found.value.iter().filter(|route| route.access == RequiredAccess::HighRisk);
    let route = routes.find(|route| route.method.as_str() == method)?;
    let mut spec = OperationSpec::default();
    (route.describe)(&mut spec);
    let fields = spec.input.body.map(|body| body.fields).unwrap_or_default();
    let params = found.params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    Some(HighRiskOperation { summary: route.summary, sentence: route.sentence, params, fields })
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
    fn only_operations_of_high_risk_are_found() {
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
            assert_eq!(operation(method, path).is_some(), known, "{method} {path}");
        }
    }

    #[test]
    fn an_operation_knows_the_members_that_it_reads() {
        let names = |method, path| {
            let fields = operation(method, path).map(|found| found.fields).unwrap_or_default();
            fields.into_iter().map(|field| field.name).collect::<Vec<_>>()
        };
        assert!(names("PUT", "/api/admin/roles/user-roles").contains(&"employee_id"));
        assert!(names("POST", "/api/admin/agents/agent01/reset-otp").is_empty());
    }

    /// Otherwise the members that it reads would be refused.
    #[test]
    fn every_body_is_described_by_its_fields() {
        for route in routes().into_iter().filter(|route| route.access == RequiredAccess::HighRisk) {
            let mut spec = OperationSpec::default();
            (route.describe)(&mut spec);
            assert!(spec.input.body.is_none_or(|body| body.form.is_none() && !body.fields.is_empty()), "{route:?}");
        }
    }
}
