//! Acts as another service, and as clients at other addresses.

use std::time::Duration;

use deskpass_core::{CorpId, EmployeeId, EmployeeKey, Person, Role, Roles, ServiceKeyName, ServiceScopes};
use serde_json::{Value, json};

use super::{Client, Device, Response, TestApp, request};

impl Client {
    /// Sends a request with a token, from an address that a trusted proxy reports.
    pub(crate) async fn ask_from(
        &mut self,
        address: &str,
        token: &str,
        method: &str,
        path: &str,
        body: &Value,
    ) -> Response {
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", &*bearer), ("x-forwarded-for", address), ("content-type", "application/json")];
        self.send(&request(method, path, &headers, body.to_string().as_bytes())).await
    }

    /// Signs in through the development route from an address that a trusted proxy reports.
    pub(crate) async fn sign_in_from(&mut self, address: &str, body: &Value) -> Response {
        self.post("/api/dev/login", &[("x-forwarded-for", address)], body).await
    }

    /// Sends an administrator's request with a body and a code.
    pub(crate) async fn admin_request(
        &mut self,
        token: &str,
        code: &str,
        method: &str,
        path: &str,
        body: &Value,
    ) -> Response {
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", &*bearer), ("x-otp-code", code), ("content-type", "application/json")];
        self.send(&request(method, path, &headers, body.to_string().as_bytes())).await
    }

    /// Introspects a token with this service key.
    pub(crate) async fn introspect(&mut self, key: &str, token: &str) -> Response {
        let bearer = format!("Bearer {key}");
        self.post("/api/auth/introspect", &[("authorization", &bearer)], &json!({ "token": token })).await
    }
}

impl TestApp {
    /// A service key, and its id.
    pub(crate) async fn service_key(&self, scopes: &str) -> (String, String) {
        let (name, scopes) = (ServiceKeyName::parse("a service").unwrap(), ServiceScopes::parse(scopes).unwrap());
        let year = Duration::from_hours(365 * 24);
        let made = self.auth().operator().create_service_key(&name, scopes, year).await.unwrap();
        (made.value.expose().to_owned(), made.kept.id)
    }

    /// An administrator with a device, signed in.
    pub(crate) async fn administrator(&self) -> (String, Device) {
        let mut client = self.client().await;
        let token = client.sign_in("admin01").await;
        let (device, _) = client.bind_device(&token, &self.clock).await;
        (token, device)
    }

    /// An administrator of a connected corporation with a device, signed in.
    pub(crate) async fn partner_administrator(&self) -> (String, Device) {
        let (corp, id) = (CorpId::parse("wwother").unwrap(), EmployeeId::parse("boss").unwrap());
        let key: EmployeeKey = self.auth().resolve_key(Some(&corp), &id);
        let (name, roles) = ("Boss".to_owned(), Roles::NONE.with(Role::Admin));
        let person = Person { name, roles, ..Person::new(key.clone(), "boss") };
        self.auth().operator().add_employee(person).await.unwrap();
        self.auth().operator().add_agent(key, "admin").await.unwrap();
        let mut client = self.client().await;
        let answer = client.post("/api/dev/login", &[], &json!({ "employee_id": "boss", "corp_id": "wwother" })).await;
        let token = answer.data()["token"].as_str().unwrap().to_owned();
        let (device, _) = client.bind_device(&token, &self.clock).await;
        (token, device)
    }
}
