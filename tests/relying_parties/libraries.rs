//! Libraries and programs that others wrote: each signs its user in, uses what it got, and signs out.

use deskpass_core::oidc::{ClientRegistration, PkceRequirement};
use serde_json::{Value, json};

use super::program::Program;
use super::registered::Registered;
use super::visitor::Visitor;
use super::{DOMAIN, issuer, provider};
use crate::harness::{OidcClient, TestApp, until};

/// Signs the user in for a program that names the address to open and wants the one that the browser returns to; returns what the
/// program got.
async fn sign_in(visitor: &mut Visitor, program: &mut Program, client: &OidcClient) -> Value {
    let open = program.hear()["open"].as_str().unwrap().to_owned();
    let returned = visitor.travel(&open, &client.redirect_uri).await;
    program.say(&json!({ "at": returned }));
    program.hear()
}

/// Checks what a program learned about agent01.
fn check_claims(got: &Value, issuer: &str, client: &OidcClient) {
    let (claims, userinfo, refreshed) = (&got["claims"], &got["userinfo"], &got["refreshed"]);
    let email = format!("agent01@{DOMAIN}");
    for (name, expected) in [
        ("iss", json!(issuer)),
        ("aud", json!(client.id)),
        ("acr", json!("wecom")),
        ("amr", json!(["mca", "wecom"])),
        ("preferred_username", json!("agent01")),
        ("name", json!("Arno Agent")),
        ("email", json!(email)),
    ] {
        assert_eq!(claims[name], expected, "{name} in {claims}");
    }
    assert!(claims["groups"].as_array().unwrap().contains(&json!("role:agent")), "{claims}");
    assert!(claims["roles"].as_array().unwrap().contains(&json!("agent")), "{claims}");
    for name in ["sub", "name", "preferred_username", "email", "email_verified", "groups", "roles"] {
        assert_eq!((&userinfo[name], &refreshed[name]), (&claims[name], &claims[name]), "{name}");
    }
    for name in ["sid", "auth_time", "acr", "amr"] {
        assert!(!claims[name].is_null() && refreshed[name] == claims[name], "{name}: {claims} {refreshed}");
    }
    assert!(claims["nonce"].is_string() && refreshed["nonce"].is_null(), "{claims} {refreshed}");
    assert_eq!(got["rotated"], true);
}

/// openid-client: userinfo, refresh, introspection, revocation, sign-out.
async fn openid_client(app: &TestApp, issuer: &str, of: &Registered, program: &mut Program) {
    let mut visitor = Visitor::of(app, issuer, "agent01").await;
    let got = sign_in(&mut visitor, program, &of.client).await;
    check_claims(&got, issuer, &of.client);
    assert_eq!(got["claims"]["at_hash"], got["at_hash"], "{got}");
    let introspected = &got["introspected"];
    assert_eq!((&introspected["active"], &introspected["client_id"]), (&json!(true), &json!(of.client.id)));
    assert_eq!(introspected["sub"], got["claims"]["sub"]);

    program.say(&json!({ "revoke": true }));
    assert_eq!(program.hear(), json!({ "active": false, "refresh": "invalid_grant", "userinfo": 401 }));
    let token = visitor.token();
    assert!(app.client().await.is_valid(&token).await, "a revocation ends the grant, not the session");
    let returned = visitor.travel(got["end"].as_str().unwrap(), &of.at("/bye")).await;
    assert!(returned.ends_with(&format!("state={}", got["state"].as_str().unwrap())), "{returned}");
    assert!(!app.client().await.is_valid(&token).await);
}

/// authlib: the secret in the form, checks with the published keys, refresh, sign-out.
async fn authlib(app: &TestApp, issuer: &str, of: &Registered, program: &mut Program) {
    let mut visitor = Visitor::of(app, issuer, "agent01").await;
    let got = sign_in(&mut visitor, program, &of.client).await;
    check_claims(&got, issuer, &of.client);
    assert_eq!((&got["header"]["alg"], got["header"]["kid"].is_string()), (&json!("RS256"), true), "{got}");
    let token = visitor.token();
    visitor.travel(got["end"].as_str().unwrap(), &of.at("/bye")).await;
    assert!(!app.client().await.is_valid(&token).await);
    program.say(&json!({}));
    assert_eq!(program.hear(), json!({ "userinfo": 401 }));
}

/// A help desk of Django: groups decide who is staff.
async fn help_desk(app: &TestApp, issuer: &str, of: &Registered, program: &mut Program) {
    assert_eq!(program.hear()["address"], of.origin);
    let mut agent = Visitor::of(app, issuer, "agent01").await;
    let page = agent.open(&of.at("/dashboard/")).await;
    assert!(page.answer.status == 200 && page.answer.body.contains("Helpdesk Dashboard"), "{page:?}");
    let me = agent.open(&of.at("/me")).await.answer.json();
    assert_eq!((&me["name"], &me["staff"]), (&json!("Arno Agent"), &json!(true)), "{me}");
    assert_eq!(me["email"], format!("agent01@{DOMAIN}"));
    let mut user = Visitor::of(app, issuer, "user01").await;
    let other = user.open(&of.at("/oidc/authenticate/?next=/me")).await.answer.json();
    assert_eq!(other["staff"], false, "{other}");
    assert_ne!(other["username"], me["username"]);

    let token = agent.token();
    let page = agent.open(&of.at("/oidc/logout/")).await;
    assert_eq!((&*page.address, page.answer.json()), (&*of.at("/bye"), json!({ "bye": true })), "{page:?}");
    assert_eq!(agent.open(&of.at("/me")).await.answer.json(), json!({}));
    assert!(!app.client().await.is_valid(&token).await);
}

/// The strategy of `OmniAuth`: without PKCE, which its client may omit, and with a sign-out that names nobody.
async fn omniauth(app: &TestApp, issuer: &str, of: &Registered, program: &mut Program) {
    assert_eq!(program.hear()["address"], of.origin);
    let mut visitor = Visitor::of(app, issuer, "agent01").await;
    let page = visitor.open(&of.at("/auth/openid_connect")).await;
    assert_eq!(page.answer.status, 200, "{page:?}");
    let got = page.answer.json();
    let (info, claims) = (&got["info"], &got["extra"]["raw_info"]);
    assert_eq!((&info["nickname"], &info["first_name"]), (&json!("agent01"), &json!("Arno Agent")), "{got}");
    assert_eq!((&got["uid"], &claims["iss"]), (&claims["sub"], &json!(issuer)), "{got}");
    assert!(claims["groups"].as_array().unwrap().contains(&json!("role:agent")), "{got}");

    let token = visitor.token();
    let page = visitor.open(&of.at("/auth/openid_connect/logout")).await;
    assert!(page.answer.status == 200 && page.address.starts_with(&format!("{issuer}/?logout=")), "{page:?}");
    assert!(app.client().await.is_valid(&token).await, "the page asks first");
    visitor.confirm_sign_out(&page).await.data();
    assert!(!app.client().await.is_valid(&token).await);
}

/// express-openid-connect: its pages close when the session ends, and its sign-out returns.
async fn express(app: &TestApp, issuer: &str, of: &Registered, program: &mut Program) {
    assert_eq!(program.hear()["address"], of.origin);
    let mut visitor = Visitor::of(app, issuer, "agent01").await;
    let me = visitor.open(&of.at("/me")).await.answer.json();
    assert_eq!((&me["name"], &me["email"]), (&json!("Arno Agent"), &json!(format!("agent01@{DOMAIN}"))), "{me}");
    assert!(me["groups"].as_array().unwrap().contains(&json!("role:agent")), "{me}");
    app.auth().operator().end_sessions_of(app.key("agent01")).await.unwrap();
    until("the page closes", async || visitor.load(&of.at("/me")).await.status == 302).await;

    visitor.open(&of.at("/me")).await.answer.json();
    let token = visitor.token();
    let page = visitor.open(&of.at("/logout")).await;
    assert_eq!((&*page.address, page.answer.json()), (&*of.at("/bye"), json!({ "bye": true })), "{page:?}");
    assert!(!app.client().await.is_valid(&token).await);
}

/// django-allauth: an account with what it was told, recognised by its subject.
async fn allauth(app: &TestApp, issuer: &str, of: &Registered, program: &mut Program) {
    assert_eq!(program.hear()["address"], of.origin);
    let mut visitor = Visitor::of(app, issuer, "agent01").await;
    for _ in 0..2 {
        let page = visitor.open(&of.at("/accounts/oidc/deskpass/login/")).await;
        assert_eq!((&*page.address, page.answer.status), (&*of.at("/me"), 200), "{page:?}");
        let me = page.answer.json();
        let (told, checked) = (&me["told"]["userinfo"], &me["told"]["id_token"]);
        assert_eq!((&me["users"], &me["email"]), (&json!(1), &json!(format!("agent01@{DOMAIN}"))), "{me}");
        assert_eq!((&me["uid"], &told["name"]), (&checked["sub"], &json!("Arno Agent")), "{me}");
        assert!(told["groups"].as_array().unwrap().contains(&json!("role:agent")), "{me}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn libraries_and_a_help_desk_sign_their_users_in_and_out() {
    let app = provider().await;
    let node = Registered::new(&app, "openid-client", "/cb").await;
    let python = Registered::new(&app, "authlib", "/cb").await;
    let desk = Registered::new(&app, "Help desk", "/oidc/callback/").await;
    let optional = |registration, _: &str| ClientRegistration { pkce: PkceRequirement::Optional, ..registration };
    let rack = Registered::with(&app, "OmniAuth", "/auth/openid_connect/callback", optional).await;
    let (issuer, discovery) = (issuer(&app), app.client().await.discovery().await);
    // They start at the same time.
    let bye = [&node, &python, &desk, &rack].map(|program| program.at("/bye"));
    let mut desk_program = Program::python("help_desk.py", &desk.settings(&discovery, &bye[2]));
    let mut rack_program = Program::ruby("omniauth.rb", &rack.settings(&discovery, &bye[3]));
    let mut node_program = Program::node("use_openid_client.mjs", &node.settings(&discovery, &bye[0]));
    let mut python_program = Program::python("use_authlib.py", &python.settings(&discovery, &bye[1]));
    openid_client(&app, &issuer, &node, &mut node_program).await;
    authlib(&app, &issuer, &python, &mut python_program).await;
    omniauth(&app, &issuer, &rack, &mut rack_program).await;
    help_desk(&app, &issuer, &desk, &mut desk_program).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_of_express_and_django_sign_their_users_in() {
    let app = provider().await;
    let told = |registration, origin: &str| {
        let backchannel_logout_uri = Some(format!("{origin}/backchannel-logout"));
        ClientRegistration { backchannel_logout_uri, ..registration }
    };
    let node = Registered::with(&app, "Express", "/callback", told).await;
    let django = Registered::new(&app, "Django", "/accounts/oidc/deskpass/login/callback/").await;
    let (issuer, discovery) = (issuer(&app), app.client().await.discovery().await);
    let mut django_program = Program::python("django_allauth.py", &django.settings(&discovery, ""));
    let mut node_program = Program::node("express.mjs", &node.settings(&discovery, ""));
    express(&app, &issuer, &node, &mut node_program).await;
    allauth(&app, &issuer, &django, &mut django_program).await;
}
