//! Every audit event is written once, and nothing else is written.

use std::collections::HashSet;

use deskpass_core::{AllowLists, EmployeeKey, Role, ServiceKeyName, ServiceScopes};
use deskpass_store::{Location, LogVerdict, Mode, PostgresSettings, verify_log};
use serde_json::{Value, json};

use super::people::{Admin, enter};
use crate::harness::{Client, Device, PASSWORD, StoreBackend, TestApp, fragment, location, request, settings};

/// Reads the audit events written since the last read.
struct Log<'a> {
    app: &'a TestApp,
    seen: HashSet<String>,
}

impl<'a> Log<'a> {
    fn of(app: &'a TestApp) -> Self {
        let mut log = Self { app, seen: HashSet::new() };
        log.news();
        log
    }

    /// The new events: event, employee, reason, sign-in method, actor, detail.
    fn news(&mut self) -> Vec<String> {
        let text = "SELECT id, event, corp_id, employee_key, reason, login_method, actor_corp_id, actor_key, detail FROM login_log";
        let rows = self.app.query(text);
        let new: Vec<_> = rows.iter().filter(|row| self.seen.insert((*row).clone())).collect();
        let told = |row: &String| {
            let parts: Vec<_> = row.split('|').collect();
            let actor = if parts[7] == "-" { "-".to_owned() } else { format!("{}/{}", parts[6], parts[7]) };
            format!("{} {}/{} {} {} {actor} {}", parts[1], parts[2], parts[3], parts[4], parts[5], parts[8..].join("|"))
        };
        new.into_iter().map(|row| told(row).trim_end().to_owned()).collect()
    }

    /// Asserts that exactly this event was written.
    #[track_caller]
    fn has(&mut self, expected: &str) {
        assert_eq!(self.news(), [expected]);
    }

    /// Asserts one event about an employee of the home corporation: a sign-in, a refusal, or an action of their own.
    #[track_caller]
    fn says(&mut self, event: &str, who: &str, reason: &str, method: &str) {
        let news = self.news();
        let expected = format!("{event} wwdeskpass/{who} {reason} {method} -");
        assert!(news.len() == 1 && news[0].starts_with(&expected), "{news:?} instead of {expected}");
    }

    /// Asserts one event by which an administrator changed an employee of the home corporation.
    #[track_caller]
    fn done(&mut self, event: &str, whom: &str, detail: &str) {
        self.has(format!("{event} wwdeskpass/{whom} -  wwdeskpass/admin01 {detail}").trim_end());
    }

    /// Asserts one event by which the command line changed an employee.
    #[track_caller]
    fn run(&mut self, event: &str, whom: &str, detail: &str) {
        self.has(format!("{event} wwdeskpass/{whom} -  - {detail}").trim_end());
    }

    #[track_caller]
    fn nothing(&mut self) {
        assert_eq!(self.news(), Vec::<String>::new());
    }
}

async fn bind(client: &mut Client, employee: &str) -> crate::harness::Response {
    client.post("/api/auth/bind", &[], &json!({ "employee_id": employee })).await
}

async fn otp(client: &mut Client, token: &str, what: &str, code: &str) -> crate::harness::Response {
    client.post_as(token, &format!("/api/auth/otp-{what}"), &json!({ "code": code })).await
}

on_every_store! {
    async fn signing_in_without_the_platform(app) {
        let (mut client, mut log) = (app.client().await, Log::of(&app));
        let dev = async |client: &mut Client, body: Value| client.post("/api/dev/login", &[], &body).await;
        dev(&mut client, json!({ "employee_id": "user01" })).await.data();
        log.says("sign_in", "user01", "-", "dev");
        dev(&mut client, json!({ "employee_id": "nobody" })).await.refused(403, 1003);
        log.says("sign_in_refused", "nobody", "unknown_employee", "dev");
        dev(&mut client, json!({ "employee_id": "user01", "role": "admin" })).await.refused(403, 1003);
        log.has("sign_in_refused wwdeskpass/user01 role_not_held dev - role admin");
        bind(&mut client, "Agent01").await.data();
        log.says("sign_in", "agent01", "-", "bind");
        bind(&mut client, "nobody").await.refused(403, 1003);
        log.says("sign_in_refused", "nobody", "unknown_employee", "bind");
        bind(&mut client, "norole01").await.refused(403, 1003);
        log.says("sign_in_refused", "norole01", "no_role", "bind");
        client.post("/api/auth/bind", &[], &json!({ "employee_id": "x", "corp_id": "wwother" })).await.refused(403, 1003);
        log.has("sign_in_refused wwother/x unknown_employee bind -");
        app.auth().operator().disable(app.key("user01")).await.unwrap();
        log.run("employee_disabled", "user01", "1 session(s) ended");
        bind(&mut client, "user01").await.refused(403, 1003);
        log.says("sign_in_refused", "user01", "disabled", "bind");
    }

    async fn signing_in_with_a_phone(app) {
        let (mut client, mut log) = (app.client().await, Log::of(&app));
        let code = client.qrcode().await;
        let confirm = client.scan_as(&code, "user01").await;
        client.decide("request", &confirm).await.data();
        log.nothing();
        client.decide("confirm", &confirm).await.data();
        log.says("sign_in", "user01", "-", "qrcode");
        client.scan_status(code["ticket"].as_str().unwrap()).await;
        client.decide("confirm", &confirm).await.refused(409, 1019);
        log.nothing();
        let code = client.qrcode().await;
        let confirm = client.scan_as(&code, "user01").await;
        client.decide("cancel", &confirm).await.data();
        log.says("sign_in_refused", "user01", "cancelled", "qrcode");
        client.decide("cancel", &confirm).await.refused(409, 1019);
        log.nothing();
        let code = client.qrcode().await;
        let confirm = client.scan_as(&code, "user01").await;
        app.auth().operator().disable(app.key("user01")).await.unwrap();
        log.news();
        client.decide("confirm", &confirm).await.refused(403, 1003);
        log.says("sign_in_refused", "user01", "disabled", "qrcode");
        let code = client.qrcode().await;
        client.scan(&code, "user01").await;
        log.says("sign_in_refused", "user01", "disabled", "qrcode");
        client.scan(&code, "outsider01").await;
        log.says("sign_in_refused", "", "not_a_member", "qrcode");
    }

    async fn signing_in_through_the_platform(app) {
        let (mut client, mut log) = (app.client().await, Log::of(&app));
        let page = format!("http://{}/h5/", app.address);
        let come_back = async |client: &mut Client, who: &str| {
            let (link, cookies) = client.begin_oauth(&page).await;
            let back = client.authorize(&link, who).await;
            (location(&client.oauth_callback(&back, &cookies).await).to_owned(), back, cookies)
        };
        let (_, back, cookies) = come_back(&mut client, "user01").await;
        log.says("sign_in", "user01", "-", "oauth2");
        client.oauth_callback(&back, &cookies).await;
        log.nothing();
        // Another browser sends the same code, twice.
        for _ in 0..2 {
            assert_eq!(fragment(location(&client.oauth_callback(&back, "").await), "error"), "invalid_code");
            log.says("sign_in_refused", "", "invalid_code", "oauth2");
        }
        // A made-up code, loaded twice by the same browser.
        let made_up = format!("{page}?code=made-up&state=auth_login");
        client.oauth_callback(&made_up, "").await;
        log.says("sign_in_refused", "", "invalid_code", "oauth2");
        client.oauth_callback(&made_up, "").await;
        log.nothing();
        for (who, about, reason) in [("deny", "", "denied"), ("outsider01", "", "not_a_member"), ("left01", "left01", "disabled")] {
            let (landed, ..) = come_back(&mut client, who).await;
            assert_eq!(fragment(&landed, "error"), reason);
            log.says("sign_in_refused", about, reason, "oauth2");
        }
        // The user is asked first, then signed in.
        let (link, _) = client.begin_oauth(&page).await;
        let back = client.authorize(&link, "agent01").await;
        let pending = fragment(location(&client.oauth_callback(&back, "").await), "continue");
        log.nothing();
        client.post("/api/auth/oauth2/continue", &[], &json!({ "continue": pending })).await.data();
        log.says("sign_in", "agent01", "-", "oauth2");
        // An employee of a connected corporation, who binds.
        let (landed, ..) = come_back(&mut client, "wwpartner/partner01").await;
        log.nothing();
        let proof = fragment(&landed, "bind_ticket");
        app.auth().operator().approve_link(EmployeeKey::from_parts("wwpartner", "partner01"), app.key("user01")).await.unwrap();
        log.run("link_approved", "user01", "for wwpartner/partner01");
        client.post("/api/auth/bind", &[], &json!({ "employee_id": "user01", "bind_ticket": proof })).await.data();
        log.says("sign_in", "user01", "-", "bind");
    }

    async fn agents_with_passwords_and_devices(app) {
        let (mut client, mut log) = (app.client().await, Log::of(&app));
        client.agent_login("agent01", PASSWORD).await.refused(403, 1012);
        log.says("sign_in_refused", "agent01", "no_password", "password");
        client.agent_login("stranger", PASSWORD).await.refused(401, 1011);
        log.says("sign_in_refused", "stranger", "password_wrong", "password");
        let token = client.sign_in("agent01").await;
        log.news();
        let password = "/api/agents/password";
        client.post_as(&token, password, &json!({ "new_password": "weak" })).await.refused(400, 1014);
        log.nothing();
        client.post_as(&token, password, &json!({ "new_password": PASSWORD })).await.data();
        log.says("password_changed", "agent01", "-", "");
        client.post_as(&token, password, &json!({ "new_password": PASSWORD })).await.refused(400, 1015);
        log.nothing();
        client.post_as(&token, password, &json!({ "old_password": "wrong", "new_password": PASSWORD })).await.refused(403, 1016);
        log.says("password_refused", "agent01", "old_password_wrong", "dev");
        let setup = json!({ "employee_id": "agent01", "setup_code": "aaaa-bbbb-cccc-dddd", "new_password": PASSWORD });
        client.post("/api/agents/password/setup", &[], &setup).await.refused(403, 1003);
        log.says("password_refused", "agent01", "setup_code", "");
        client.agent_login("agent01", "wrong").await.refused(401, 1011);
        log.says("sign_in_refused", "agent01", "password_wrong", "password");

        let setup = client.post_as(&token, "/api/auth/otp-setup", &json!({})).await.data();
        log.nothing();
        let device = Device::scan(&setup, &app.clock);
        otp(&mut client, &token, "bind", &device.wrong_code()).await.refused(401, 1008);
        log.says("otp_refused", "agent01", "otp_wrong", "dev");
        otp(&mut client, &token, "bind", &device.code()).await.data();
        log.says("device_bound", "agent01", "-", "");
        otp(&mut client, &token, "verify", &device.next_code()).await.data();
        log.nothing();
        otp(&mut client, &token, "verify", &device.code()).await.refused(401, 1008);
        log.says("otp_refused", "agent01", "otp_wrong", "dev");

        let half = client.partial_sign_in("agent01").await;
        log.nothing();
        otp(&mut client, &half, "verify", &device.wrong_code()).await.refused(401, 1008);
        log.says("sign_in_refused", "agent01", "otp_wrong", "password");
        otp(&mut client, &half, "verify", &device.next_code()).await.data();
        log.says("sign_in", "agent01", "-", "password");
        let half = client.partial_sign_in("agent01").await;
        client.logout(&half).await.data();
        log.nothing();
        otp(&mut client, &token, "unbind", &device.next_code()).await.data();
        log.says("device_unbound", "agent01", "-", "");
        for _ in 0..5 {
            client.agent_login("agent01", "wrong").await.refused(401, 1011);
        }
        assert_eq!(log.news().len(), 5);
        client.agent_login("agent01", PASSWORD).await.refused(429, 1013);
        log.says("sign_in_refused", "agent01", "too_many_failures", "password");
        client.post("/api/agents/login", &[], &json!({ "employee_id": "agent01", "code": "made-up" })).await.refused(403, 1003);
        log.says("sign_in_refused", "agent01", "invalid_code", "oauth2");
    }

    async fn sessions_and_roles(app) {
        let (mut client, mut log) = (app.client().await, Log::of(&app));
        let tokens = [client.sign_in("admin01").await, client.sign_in("admin01").await, client.sign_in("admin01").await];
        log.news();
        client.switch(&tokens[0], "agent").await.data();
        log.has("switch_role wwdeskpass/admin01 - dev -");
        client.switch(&tokens[0], "security").await.refused(403, 1003);
        log.has("switch_role_refused wwdeskpass/admin01 role_not_held dev - role security");
        let sessions = client.get_as(&tokens[0], "/api/auth/sessions").await.data();
        let other = sessions["items"].as_array().unwrap().iter().find(|session| session["current"] == false).unwrap();
        let path = format!("/api/auth/sessions/{}", other["id"].as_str().unwrap());
        let end = request("DELETE", &path, &[("authorization", &format!("Bearer {}", tokens[0]))], b"");
        client.send(&end).await.data();
        log.has("session_ended wwdeskpass/admin01 - dev - 1 session(s) ended");
        client.send(&end).await.refused(404, 1004);
        log.nothing();
        client.post_as(&tokens[0], "/api/auth/logout-all", &json!({ "except_current": true })).await.data();
        log.has("logout_all wwdeskpass/admin01 - dev - 1 session(s) ended");
        client.logout(&tokens[0]).await.data();
        log.has("logout wwdeskpass/admin01 - dev -");
        client.logout(&tokens[0]).await.refused(401, 1001);
        log.nothing();
    }

    async fn addresses_that_are_not_allowed(app) {
        let (mut client, mut log) = (app.client().await, Log::of(&app));
        let token = client.sign_in("agent01").await;
        log.news();
        let rules: AllowLists = [(Role::User, "10.0.0.0/8".parse().unwrap())].into_iter().collect();
        assert!(app.auth().operator().set_ip_rules(&rules).await.unwrap());
        log.run("ip_rules_changed", "", "user: 10.0.0.0/8");
        assert!(!app.auth().operator().set_ip_rules(&rules).await.unwrap());
        log.nothing();
        bind(&mut client, "user01").await.refused(403, 1017);
        log.has("sign_in_refused wwdeskpass/user01 address_not_allowed bind - role user");
        client.switch(&token, "user").await.refused(403, 1017);
        log.has("switch_role_refused wwdeskpass/agent01 address_not_allowed dev - role user");
    }

    async fn what_administrators_do(app) {
        let mut admin = Admin::of(&app).await;
        app.agent_with_device("agent01").await;
        let mut client = app.client().await;
        client.sign_in("user01").await;
        for _ in 0..2 {
            client.agent_login("agent01", "wrong").await.refused(401, 1011);
        }
        let mut log = Log::of(&app);
        let (roles, user) = ("/api/admin/roles/user-roles", "/api/admin/employees/wwdeskpass/user01");
        for (method, path, body, event, whom, detail) in [
            ("PUT", roles, json!({ "employee_id": "security01", "roles": ["user"] }), "roles_changed", "security01", "user, security -> user"),
            ("DELETE", "/api/admin/employees/wwdeskpass/user01/sessions", json!({}), "sessions_ended", "user01", "1 session(s) ended"),
            ("PATCH", user, json!({ "disabled": true }), "employee_disabled", "user01", "0 session(s) ended"),
            ("PATCH", user, json!({ "disabled": false }), "employee_enabled", "user01", ""),
            ("POST", "/api/admin/agents", json!({ "employee_id": "user01" }), "agent_added", "user01", "role agent"),
            ("POST", "/api/admin/agents/agent01/unlock", json!({}), "agent_unlocked", "agent01", ""),
            ("POST", "/api/admin/links", json!({ "corp_id": "wwpartner", "user_id": "P1", "employee_id": "user01" }), "link_approved", "user01", "for wwpartner/P1"),
            ("DELETE", "/api/admin/links/wwpartner/P1", json!({}), "link_removed", "user01", "for wwpartner/P1"),
        ] {
            admin.do_it(method, path, &body).await.data();
            log.done(event, whom, detail);
            // Repeating the change has no effect and writes no event; approving a link again would write one.
            if event != "link_approved" {
                admin.do_it(method, path, &body).await;
                log.nothing();
            }
        }
        // Each reset issues a new code.
        for (path, event) in [("reset-otp", "device_reset"), ("reset-otp", "device_reset"), ("reset-password", "password_reset")] {
            admin.do_it("POST", &format!("/api/admin/agents/agent01/{path}"), &json!({})).await.data();
            log.done(event, "agent01", "");
        }
        let token = client.sign_in("user01").await;
        log.news();
        let id = admin.items("/api/admin/sessions?employee_id=user01").await[0]["id"].as_str().unwrap().to_owned();
        admin.do_it("DELETE", &format!("/api/admin/sessions/{id}"), &json!({})).await.data();
        log.done("sessions_ended", "user01", "1 session(s) ended");
        assert!(!client.is_valid(&token).await);
    }

    async fn a_user_without_administration_rights(app) {
        let mut admin = Admin::of(&app).await;
        enter(&app, "wwpartner", "boss", "Boss", "HQ", &[Role::Admin]).await;
        let mut client = app.client().await;
        let agent = client.sign_in("agent01").await;
        let login = client.post("/api/dev/login", &[], &json!({ "employee_id": "boss", "corp_id": "wwpartner" })).await.data();
        let boss = login["token"].as_str().unwrap();
        let mut log = Log::of(&app);
        let unlock = "/api/admin/agents/agent01/unlock";
        client.post_with_otp(&agent, unlock, None).await.refused(403, 1003);
        log.has("administration_refused wwdeskpass/agent01 role_needed dev -");
        client.get_as(&agent, "/api/admin/login-log").await.refused(403, 1003);
        log.has("administration_refused wwdeskpass/agent01 role_needed dev -");
        client.get_as(boss, "/api/admin/login-log?corp_id=wwdeskpass").await.refused(403, 1003);
        log.has("administration_refused wwpartner/boss role_needed dev -");
        client.get_as(boss, "/api/admin/agents").await.refused(403, 1003);
        log.has("administration_refused wwpartner/boss role_needed dev -");
        client.post_with_otp(boss, unlock, None).await.refused(403, 1009);
        log.nothing();
        let myself = "/api/admin/employees/wwdeskpass/admin01";
        admin.do_it("PATCH", myself, &json!({ "disabled": true })).await.refused(409, 1019);
        log.has("administration_refused wwdeskpass/admin01 last_admin dev -");
        let without = json!({ "employee_id": "admin01", "roles": ["user"] });
        admin.do_it("PUT", "/api/admin/roles/user-roles", &without).await.refused(409, 1019);
        log.has("administration_refused wwdeskpass/admin01 last_admin dev -");
        client.post_with_otp(&admin.token, unlock, None).await.refused(403, 1007);
        log.nothing();
        client.post_with_otp(&admin.token, unlock, Some("no code")).await.refused(401, 1008);
        log.has("otp_refused wwdeskpass/admin01 otp_wrong dev -");
        let wrong = admin.device.wrong_code();
        client.post_with_otp(&admin.token, unlock, Some(&wrong)).await.refused(401, 1008);
        log.has("otp_refused wwdeskpass/admin01 otp_wrong dev -");
    }

    async fn what_the_command_line_does(app) {
        let (operator, mut log) = (app.auth().operator(), Log::of(&app));
        let user = || app.key("user01");
        enter(&app, "wwdeskpass", "fresh", "Fresh", "", &[Role::User, Role::Agent]).await;
        log.run("employee_added", "fresh", "agent, user");
        assert!(operator.grant(user(), "agent").await.unwrap());
        log.run("roles_changed", "user01", "+agent");
        assert!(!operator.grant(user(), "agent").await.unwrap());
        log.nothing();
        assert!(operator.revoke(user(), "agent").await.unwrap() && !operator.revoke(user(), "agent").await.unwrap());
        log.run("roles_changed", "user01", "-agent");
        operator.add_agent(user(), "agent").await.unwrap();
        log.run("agent_added", "user01", "role agent");
        operator.add_agent(user(), "agent").await.unwrap_err();
        log.nothing();
        for _ in 0..2 {
            operator.set_agent_role(user(), "supervisor").await.unwrap();
        }
        log.run("agent_role_changed", "user01", "role supervisor");
        for _ in 0..2 {
            operator.disable_agent(user()).await.unwrap();
        }
        log.run("agent_disabled", "user01", "");
        for _ in 0..2 {
            operator.enable_agent(user()).await.unwrap();
        }
        log.run("agent_enabled", "user01", "");
        operator.unlock_agent(user()).await.unwrap();
        log.nothing();
        // There was no device, but the employee got a code with which to bind one.
        operator.reset_device(user()).await.unwrap();
        log.run("device_reset", "user01", "");
        let scopes = ServiceScopes::parse("introspect").unwrap();
        let made = operator.create_service_key(&ServiceKeyName::parse("gateway").unwrap(), scopes, std::time::Duration::from_hours(1)).await.unwrap();
        log.run("service_key_created", "", "gateway: introspect");
        assert!(operator.revoke_service_key(made.kept.id.clone()).await.unwrap());
        log.run("service_key_revoked", "", &format!("gateway: {}", made.kept.id));
        assert!(!operator.revoke_service_key(made.kept.id).await.unwrap());
        operator.revoke_service_key("nothing".into()).await.unwrap_err();
        operator.disable(app.key("nobody")).await.unwrap_err();
        log.nothing();
    }

    async fn what_is_no_audit_event() {
        let limited = settings(&[("development.enabled", "true"), ("limits.enabled", "true"), ("limits.bind", "2/min")]);
        let app = TestApp::with(limited).await;
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        let mut log = Log::of(&app);
        for garbage in ["", "x", "dpa_x", &token.replace("dpa_", "dph_")] {
            assert!(!client.is_valid(garbage).await);
            client.me(garbage).await.refused(401, 1001);
            client.logout(garbage).await.refused(401, 1001);
        }
        client.post("/api/auth/bind", &[], &json!({})).await.refused(400, 1002);
        client.post("/api/auth/bind", &[], &json!({ "employee_id": "a b" })).await.refused(400, 1002);
        bind(&mut client, "nobody").await.refused(429, 1006);
        client.switch(&token, "user").await.data();
        client.me(&token).await.data();
        client.get("/api/nowhere", &[]).await.refused(404, 1004);
        log.has("switch_role wwdeskpass/user01 - dev -");
    }

    /// A refusal that cannot be written to the log becomes an internal error.
    async fn a_refusal_that_cannot_be_written_down(app) {
        let mut client = app.client().await;
        let mut log = Log::of(&app);
        let held = app.block_writes().await;
        bind(&mut client, "nobody").await.refused(503, 1005);
        held.release().await;
        for _ in 0..3 {
            bind(&mut client, "nobody").await.refused(403, 1003);
        }
        assert_eq!(log.news(), ["sign_in_refused wwdeskpass/nobody unknown_employee bind -"; 3]);
    }

    async fn a_hundred_at_once_are_a_hundred(app) {
        let other = if StoreBackend::current() == StoreBackend::ScaledOut { Some(app.second_node().await) } else { None };
        let addresses = [app.address.clone(), other.as_ref().map_or(&app, |other| other).address.clone()];
        let crowd = (0..100).map(|number| {
            let address = addresses[number % 2].clone();
            // Each client has its own address, since the rows of one address are limited.
            let from = format!("198.51.100.{number}");
            tokio::spawn(async move {
                let mut client = Client::connect(&address).await;
                let body = json!({ "employee_id": format!("nobody{number}") });
                client.post("/api/auth/bind", &[("x-forwarded-for", &*from)], &body).await.status
            })
        });
        for one in crowd.collect::<Vec<_>>() {
            assert_eq!(one.await.unwrap(), 403);
        }
        assert_eq!(app.query("SELECT count(*), count(DISTINCT employee_key) FROM login_log"), ["100|100"]);
        let verdict = verdict(&app).await;
        assert_eq!((verdict.rows, verdict.fitting, verdict.unchained, verdict.faults.len()), (100, 100, 0, 0), "{verdict:?}");
    }
}

/// Verifies the log and returns the verdict.
async fn verdict(app: &TestApp) -> LogVerdict {
    let location = match StoreBackend::current() {
        StoreBackend::Embedded => Location::Embedded(app.database().parent().unwrap().to_owned()),
        StoreBackend::ScaledOut => Location::Postgres(PostgresSettings {
            url: app.cluster_store().store.clone(),
            connections: 1,
            ca_file: None,
        }),
    };
    verify_log(&location, Mode::Development, &app.auth().chain_key, |_| true, None, |_, _| {}).await.unwrap()
}
