//! Every audit event is written once, and nothing else is written.

mod administration;

use std::collections::HashSet;

use deskpass_core::{AllowLists, EmployeeKey, Role, Roles};
use deskpass_store::{Location, LogVerdict, LogVerification, Mode, PostgresSettings, verify_log};
use serde_json::{Value, json};

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
        let shown = |row: &String| {
            let parts: Vec<_> = row.split('|').collect();
            let actor = if parts[7] == "-" { "-".to_owned() } else { format!("{}/{}", parts[6], parts[7]) };
            format!("{} {}/{} {} {} {actor} {}", parts[1], parts[2], parts[3], parts[4], parts[5], parts[8..].join("|"))
        };
        new.into_iter().map(|row| shown(row).trim_end().to_owned()).collect()
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
        log.says("sign_in_refused", "user01", "disabled_here", "bind");
    }

    /// The operator can remove the last administrator of a corporation; the log says that it was the last one.
    async fn removing_the_last_administrator(app) {
        let (auth, mut log) = (app.auth(), Log::of(&app));
        auth.operator().disable(app.key("admin01")).await.unwrap();
        log.run("employee_disabled", "admin01", "0 session(s) ended; last administrator");
        auth.operator().enable(app.key("admin01")).await.unwrap();
        log.news();
        auth.operator().revoke(app.key("admin01"), "admin").await.unwrap();
        log.run("roles_changed", "admin01", "-admin; last administrator");
        for who in ["admin01", "user01"] {
            auth.operator().grant(app.key(who), "admin").await.unwrap();
        }
        log.news();
        auth.operator().revoke(app.key("user01"), "admin").await.unwrap();
        log.run("roles_changed", "user01", "-admin");
        auth.operator().set_roles(app.key("admin01"), Roles::NONE.with(Role::User)).await.unwrap();
        log.run("roles_changed", "admin01", "admin, agent, user -> user; last administrator");
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
        log.says("sign_in_refused", "user01", "disabled_here", "qrcode");
        let code = client.qrcode().await;
        client.scan(&code, "user01").await;
        log.says("sign_in_refused", "user01", "disabled_here", "qrcode");
        // That code has ended.
        client.scan(&code, "outsider01").await;
        log.says("sign_in_refused", "", "over", "qrcode");
        let code = client.qrcode().await;
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
        for (who, about, word, reason) in [
            ("deny", "", "denied", "denied"), ("outsider01", "", "not_a_member", "not_a_member"), ("left01", "left01", "disabled", "left_platform"),
        ] {
            let (landed, ..) = come_back(&mut client, who).await;
            assert_eq!(fragment(&landed, "error"), word);
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
        StoreBackend::ScaledOut => Location::Postgres(PostgresSettings::new(app.cluster_store().store.clone())),
    };
    let keys = &app.auth().chain_keys;
    verify_log(LogVerification::new(&location, Mode::Development, keys, |_| true)).await.unwrap()
}
