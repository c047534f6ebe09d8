//! What clients are told about a user.

use std::time::Duration;

use deskpass_core::oidc::{ClientRegistration, RoleClaims};
use deskpass_core::{Person, Role};
use serde_json::{Value, json};

use super::{desk, unlimited};
use crate::harness::{OidcClient, PASSWORD, TestApp, decoded, registration};

/// The answer of userinfo and the claims of the ID token, after a sign-in with every scope.
async fn told(app: &TestApp, client: &OidcClient, who: &str) -> (Value, Value) {
    let (mut browser, tokens) = app.oidc_sign_in(client, who).await;
    let user = browser.http.userinfo(&tokens.access).await.json();
    (user, browser.http.claims(&tokens.id_token).await)
}

on_every_store! {
    /// One identifier for all clients, for ever; another one for everyone else.
    async fn the_subject_belongs_to_one_person() {
        let (app, client) = desk().await;
        let other = app.oidc_client(registration()).await;
        let subject = told(&app, &client, "agent01").await.0["sub"].clone();
        app.auth().operator().grant(app.key("agent01"), "security").await.unwrap();
        app.auth().operator().disable(app.key("agent01")).await.unwrap();
        app.auth().operator().enable(app.key("agent01")).await.unwrap();
        assert_eq!(told(&app, &other, "Agent01").await.0["sub"], subject);
        let app = app.restart().await;
        assert_eq!(told(&app, &client, "agent01").await.1["sub"], subject);
        assert_ne!(told(&app, &client, "user01").await.1["sub"], subject);
        let text = subject.as_str().unwrap();
        assert!(text.len() == 22 && text.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_".contains(&c)), "{text}");
        // Services that introspect sessions see the same subject.
        let mut http = app.client().await;
        let (key, _) = app.service_key("introspect").await;
        let token = http.sign_in("agent01").await;
        assert_eq!(http.introspect(&key, &token).await.json()["sub"], subject);
    }
}

on_one_store! {
    async fn groups_and_roles_are_as_the_client_is_set() {
        let app = TestApp::with(unlimited(&[])).await;
        let plain = app.oidc_client(registration()).await;
        let (user, claims) = told(&app, &plain, "agent01").await;
        assert_eq!((&user["groups"], &user["roles"]), (&json!(["role:agent", "role:user"]), &json!(["agent", "user"])));
        assert_eq!(claims["groups"], user["groups"]);

        let groups = [(Role::Agent, "desk".to_owned())].into();
        let mapped = ClientRegistration { groups, department_groups: true, ..registration() };
        let mapped = app.oidc_client(mapped).await;
        assert_eq!(told(&app, &mapped, "agent01").await.0["groups"], json!(["dept-id:3", "dept:IT Service Desk", "desk", "role:user"]));

        let active = app.oidc_client(ClientRegistration { role_claims: RoleClaims::Active, ..registration() }).await;
        let (user, _) = told(&app, &active, "agent01").await;
        assert_eq!((&user["groups"], &user["roles"]), (&json!(["role:agent"]), &json!(["agent"])), "always an array");

        let strict = app.oidc_client(ClientRegistration { id_token_claims: false, ..registration() }).await;
        let (user, claims) = told(&app, &strict, "agent01").await;
        assert_eq!((user["name"].as_str(), claims.get("name"), claims.get("groups")), (Some("Arno Agent"), None, None));
        assert_eq!(claims["sub"], user["sub"]);
    }

    /// Departments may have the same name. A program that grants something to one of them must not grant it to the other.
    async fn departments_with_the_same_name_are_told_apart() {
        let app = TestApp::with(unlimited(&[])).await;
        let client = app.oidc_client(ClientRegistration { department_groups: true, ..registration() }).await;
        let groups = async |app: &TestApp| told(app, &client, "agent01").await.0["groups"].clone();
        assert_eq!(groups(&app).await, json!(["dept-id:3", "dept:IT Service Desk", "role:agent", "role:user"]));
        let (department, department_id) = ("IT Service Desk".to_owned(), "7".to_owned());
        let namesake = Person { department, department_id, ..Person::new(app.key("finance01"), "finance01") };
        app.auth().operator().add_employee(namesake).await.unwrap();
        assert_eq!(groups(&app).await, json!(["dept-id:3", "role:agent", "role:user"]));
        // Existing mappings can be kept.
        let app = app.restart_with(unlimited(&[("oidc.shared_department_names", "true")])).await;
        assert_eq!(groups(&app).await, json!(["dept-id:3", "dept:IT Service Desk", "role:agent", "role:user"]));
    }

    /// A role that may not be used from the browser's address is not told, and the client's own address does not count.
    async fn roles_are_those_of_the_browsers_address() {
        let (app, client) = desk().await;
        let allowed = vec!["192.0.2.0/24".parse().unwrap()];
        app.auth().operator().set_ip_rules_of(Role::Security, allowed).await.unwrap();
        app.auth().operator().grant(app.key("agent01"), "security").await.unwrap();
        let (mut browser, asked) = (app.oidc_browser().await, client.authorization());
        let id = browser.begin(&asked).await;
        let body = json!({ "employee_id": "agent01", "role": "agent" });
        let login = browser.http.post("/api/dev/login", &[], &body).await.data();
        browser.token = Some(login["token"].as_str().unwrap().to_owned());
        let code = browser.proceed_to_client(&id).await.code();
        let form = client.redemption(&code, &asked.verifier);
        let headers = [("authorization", &*client.basic()), ("x-forwarded-for", "192.0.2.9")];
        let tokens = browser.http.post_form("/oidc/token", &headers, &form).await.json();
        let told = decoded(tokens["id_token"].as_str().unwrap()).1;
        assert_eq!(told["roles"], json!(["agent", "user"]), "{told}");
        let access = format!("Bearer {}", tokens["access_token"].as_str().unwrap());
        let from = [("authorization", access.as_str()), ("x-forwarded-for", "192.0.2.9")];
        assert_eq!(browser.http.get("/oidc/userinfo", &from).await.json()["roles"], json!(["agent", "user"]));
    }

    async fn a_password_with_a_code_is_told_as_such() {
        let app = TestApp::with(unlimited(&[("agents.password_fallback", "always")])).await;
        let client = app.oidc_client(registration()).await;
        let device = app.agent_with_device("agent01").await;
        let (mut browser, asked) = (app.oidc_browser().await, client.authorization());
        let id = browser.begin(&asked).await;
        let half = browser.http.agent_login("agent01", PASSWORD).await.data()["token"].as_str().unwrap().to_owned();
        let verify = json!({ "code": device.next_code() });
        // The partial session opens nothing.
        browser.token = Some(half.clone());
        assert_ne!(browser.proceed(&id).await.status, 200);
        let whole = browser.http.post_as(&half, "/api/auth/otp-verify", &verify).await.data();
        browser.token = Some(whole["token"].as_str().unwrap().to_owned());
        let code = browser.proceed_to_client(&id).await.code();
        let tokens = client.redeem(&mut browser.http, &code, &asked.verifier).await.json();
        let claims = browser.http.claims(tokens["id_token"].as_str().unwrap()).await;
        assert_eq!((&claims["acr"], &claims["amr"]), (&json!("otp"), &json!(["pwd", "otp", "mfa"])));
    }

    /// An address that two employees have, one by the record and one by the domain, is told about neither; none is told without a source.
    async fn an_address_is_told_only_if_it_is_the_users_own() {
        let (app, client) = desk().await;
        assert_eq!(told(&app, &client, "user01").await.0.get("email"), None);
        app.query("UPDATE employee SET email = 'user01@example.com', email_source = 'operator' WHERE employee_key = 'agent01'");
        let app = app.restart_with(unlimited(&[("oidc.email_domain", "example.com")])).await;
        for who in ["agent01", "user01"] {
            let (user, _) = told(&app, &client, who).await;
            assert_eq!((user.get("email"), user.get("email_verified")), (None, None), "{who}");
        }
        assert_eq!(told(&app, &client, "supervisor01").await.0["email"], "supervisor01@example.com");
    }

    /// The kept answer of userinfo ends when another employee gets its address.
    async fn an_address_that_another_employee_gets_is_no_longer_told() {
        let app = TestApp::with(unlimited(&[("oidc.email_domain", "example.com")])).await;
        let client = app.oidc_client(registration()).await;
        let (mut browser, tokens) = app.oidc_sign_in(&client, "user01").await;
        for _ in 0..2 {
            assert_eq!(browser.http.userinfo(&tokens.access).await.json()["email"], "user01@example.com");
        }
        let operator = app.auth().operator();
        operator.set_email(app.key("agent01"), Some("user01@example.com")).await.unwrap();
        assert_eq!(browser.http.userinfo(&tokens.access).await.json().get("email"), None);
        operator.set_email(app.key("agent01"), None).await.unwrap();
        assert_eq!(browser.http.userinfo(&tokens.access).await.json()["email"], "user01@example.com");
    }

    async fn an_id_token_and_its_user_survive_no_longer_than_promised() {
        let (app, client) = desk().await;
        // The session has five minutes left.
        let (mut browser, asked) = (app.oidc_browser().await, client.authorization());
        browser.sign_in("user01").await;
        app.clock.advance(Duration::from_mins(8 * 60 - 5));
        let id = browser.begin(&asked).await;
        let code = browser.proceed_to_client(&id).await.code();
        let answer = client.redeem(&mut browser.http, &code, &asked.verifier).await.json();
        assert_eq!(answer["expires_in"], 300, "an access token ends with the session");
        let claims = browser.http.claims(answer["id_token"].as_str().unwrap()).await;
        assert_eq!(claims["exp"].as_i64().unwrap(), app.clock.now().millis() / 1000 + 300);
        app.clock.advance(Duration::from_mins(5));
        assert_eq!(browser.http.userinfo(answer["access_token"].as_str().unwrap()).await.status, 401);
    }

    async fn an_access_token_lives_for_fifteen_minutes() {
        let (app, client) = desk().await;
        let (mut browser, tokens) = app.oidc_sign_in(&client, "user01").await;
        app.clock.advance(Duration::from_secs(15 * 60 - 1));
        assert!(client.is_live(&mut browser.http, &tokens).await);
        app.clock.advance(Duration::from_secs(1));
        let refused = browser.http.userinfo(&tokens.access).await;
        let challenge = refused.header("www-authenticate").unwrap();
        assert!(refused.status == 401 && challenge.contains("error=\"invalid_token\""), "{refused:?}");
        let next = crate::harness::Tokens::of(&client.refresh(&mut browser.http, tokens.refresh()).await);
        assert!(client.is_live(&mut browser.http, &next).await);
    }
}
