//! Two corporations with employees of the same names: neither sees or changes data of the other, by any route.

use deskpass::http::{RequiredAccess, Route, routes};
use deskpass_core::{EmployeeKey, Person, Role, Roles};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::harness::{Client, Device, StoreBackend, TestApp, request, rounds, settings};

const HOME: &str = "wwdeskpass";
const ABROAD: &str = "wwpartner";
/// The employees of both corporations.
const NAMES: [&str; 4] = ["user01", "agent01", "security01", "boss"];
/// Marks that every text about an employee of the corporation contains.
const MARKS: [(&str, &str); 2] = [(HOME, "HOMEMADE"), (ABROAD, "FOREIGN")];

/// The roles of the namesakes, in each corporation.
type Cast = Vec<[Vec<Role>; 2]>;

fn cast() -> impl Strategy<Value = Cast> {
    let roles = || proptest::sample::subsequence(Role::ALL.to_vec(), 1..=5);
    proptest::collection::vec([roles(), roles()], NAMES.len())
}

/// A service with all employees of the cast, with a session each. The last of them is an administrator, in each corporation.
async fn stage(cast: &Cast) -> TestApp {
    let app = TestApp::with(settings(&[("development.enabled", "true"), ("bind.mode", "proof")])).await;
    for (id, roles) in NAMES.into_iter().zip(cast) {
        for ((corp, mark), roles) in MARKS.into_iter().zip(roles) {
            let extra = (id == "boss").then_some(Role::Admin);
            let roles: Roles = roles.iter().copied().chain(extra).collect();
            let key = EmployeeKey::from_parts(corp, id);
            if app.auth().store.person(&key).await.unwrap().is_none() {
                let (department, department_id) = (mark.to_owned(), mark.to_owned());
                let name = format!("{mark} {id}");
                let person = Person { name, department, department_id, roles, ..Person::new(key, id) };
                app.auth().operator().add_employee(person).await.unwrap();
            } else {
                app.auth().operator().set_roles(key, roles).await.unwrap();
            }
        }
    }
    let mut client = app.client().await;
    for id in NAMES {
        for (corp, _) in MARKS {
            sign_in(&mut client, corp, id).await;
        }
    }
    app
}

async fn sign_in(client: &mut Client, corp: &str, id: &str) -> String {
    let ask = json!({ "employee_id": id, "corp_id": corp });
    let agent = ("user-agent", if corp == HOME { "HOMEMADE/1" } else { "FOREIGN/1" });
    client.post("/api/dev/login", &[agent], &ask).await.data()["token"].as_str().unwrap().to_owned()
}

/// All data of a corporation, except for the times of last use.
fn belongings(app: &TestApp, corp: &str) -> Vec<String> {
    let of = |columns: &str, table: &str, whose: &str| {
        app.query(&format!("SELECT {columns} FROM {table} WHERE {whose} = '{corp}' ORDER BY {columns}"))
    };
    [
        of(
            "employee_key, name, department, department_id, disabled_at, left_at, unconfirmed_at",
            "employee",
            "corp_id",
        ),
        of("employee_key, role_id", "user_role", "corp_id"),
        of("employee_key, role_id, disabled_at, password_hash, otp_secret", "agent", "corp_id"),
        of("digest, employee_key, role_id", "session", "corp_id"),
        of("corp_id, user_id, target_key", "link", "target_corp_id"),
    ]
    .concat()
}

/// A path of the table with the identifiers of a corporation.
fn leading(route: &Route, corp: &str, id: &str, session: &str) -> String {
    let pieces = [("{corp_id}", corp), ("{employee_id}", id), ("{user_id}", id), ("{id}", session)];
    pieces.into_iter().fold(route.path.to_owned(), |path, (place, piece)| path.replace(place, piece))
}

/// A body with all fields of any route, about an employee of a corporation.
fn everything(corp: &str, id: &str) -> Value {
    json!({
        "corp_id": corp, "target_corp_id": corp, "employee_id": id, "user_id": id, "roles": [], "role": "user", "disabled": true,
        "token": "dpa_none", "name": "a key", "scopes": ["introspect"], "resource": "account", "operation": "read", "scope": "all",
        "except_current": true, "code": "123456", "password": "four horses crossed a bridge", "new_password": "four horses crossed a bridge",
        "admin": ["127.0.0.1"], "agent": ["192.0.2.1"], "user": ["192.0.2.1"], "supervisor": ["192.0.2.1"], "security": ["192.0.2.1"],
    })
}

/// Routes without a token concern no employee, and development mode allows any identity.
fn names_an_employee(route: &Route) -> bool {
    route.path.starts_with("/api/")
        && !matches!(route.access, RequiredAccess::Anyone | RequiredAccess::Developer | RequiredAccess::Operator)
}

struct Intruder<'a> {
    app: &'a TestApp,
    corp: &'static str,
    id: &'static str,
    device: Option<Device>,
}

impl Intruder<'_> {
    /// Requests data of the other corporation by a route, and checks the result.
    async fn try_out(&self, route: &Route, target: &'static str, session: &str) {
        let mut client = self.app.client().await;
        let token = sign_in(&mut client, self.corp, self.id).await;
        let before = belongings(self.app, target);
        let (path, body) = (leading(route, target, self.id, session), everything(target, self.id));
        let path =
            if route.method == "GET" { format!("{path}?corp_id={target}&employee_id={}", self.id) } else { path };
        let (bearer, code) =
            (format!("Bearer {token}"), self.device.as_ref().map(Device::next_code).unwrap_or_default());
        let headers = [("authorization", &*bearer), ("x-otp-code", &code), ("content-type", "application/json")];
        let body = if route.method == "GET" { String::new() } else { body.to_string() };
        let answer = client.send(&request(route.method.as_str(), &path, &headers, body.as_bytes())).await;
        let (_, mark) = MARKS.into_iter().find(|(corp, _)| *corp == target).unwrap();
        assert!(!answer.body.contains(mark), "{} of {} saw {target} by {route:?}: {answer:?}", self.id, self.corp);
        assert_eq!(belongings(self.app, target), before, "{} of {} touched {target} by {route:?}", self.id, self.corp);
    }

    /// Reads a list without naming any corporation.
    async fn look_around(&self, route: &Route) {
        let mut client = self.app.client().await;
        let token = sign_in(&mut client, self.corp, self.id).await;
        let answer = client.get_as(&token, route.path).await;
        for (corp, mark) in MARKS.into_iter().filter(|(corp, _)| *corp != self.corp) {
            assert!(!answer.body.contains(mark), "{} of {} saw {corp} by {route:?}: {answer:?}", self.id, self.corp);
        }
    }
}

/// The session of a namesake.
fn session_of(app: &TestApp, corp: &str, id: &str) -> String {
    app.query(&format!("SELECT digest FROM session WHERE corp_id = '{corp}' AND employee_key = '{id}'")).remove(0)
}

async fn keep_apart(cast: &Cast) {
    let app = stage(cast).await;
    // The administrator of the other corporation has a device, so that only the corporation keeps them out.
    let key = EmployeeKey::from_parts(ABROAD, "boss");
    app.auth().operator().add_agent(key, "admin").await.unwrap();
    let mut client = app.client().await;
    let token = sign_in(&mut client, ABROAD, "boss").await;
    let (device, _) = client.bind_device(&token, &app.clock).await;
    let mut intruders = vec![Intruder { app: &app, corp: ABROAD, id: "boss", device: Some(device) }];
    for id in ["user01", "agent01", "security01"] {
        intruders.extend([ABROAD, HOME].map(|corp| Intruder { app: &app, corp, id, device: None }));
    }
    for intruder in &intruders {
        let target = if intruder.corp == HOME { ABROAD } else { HOME };
        // A user with full read access at home may read of every corporation by naming it, and the rules there apply to all.
        let everywhere = intruder.corp == HOME;
        let session = session_of(&app, target, intruder.id);
        for route in routes().iter().filter(|route| names_an_employee(route)) {
            if !(everywhere && matches!(route.access, RequiredAccess::Reader | RequiredAccess::Admin)) {
                intruder.try_out(route, target, &session).await;
            }
            if route.method == "GET" && !route.path.contains('{') {
                intruder.look_around(route).await;
            }
        }
    }
}

fn on(stage: StoreBackend, cases: usize) {
    let cases = u32::try_from(rounds(cases)).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let config = ProptestConfig { cases, max_shrink_iters: 20, failure_persistence: None, ..ProptestConfig::default() };
    let ran = TestRunner::new(config).run(&cast(), |cast| {
        runtime.block_on(stage.run(keep_apart(&cast)));
        Ok(())
    });
    ran.unwrap();
}

mod two_corporations_are_kept_apart_on_every_route {
    use super::*;

    #[test]
    fn embedded() {
        on(StoreBackend::Embedded, 10);
    }

    #[test]
    fn scaled_out() {
        on(StoreBackend::ScaledOut, 5);
    }
}
