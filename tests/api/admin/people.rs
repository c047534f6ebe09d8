//! /api/admin/roles, /api/admin/employees, /api/admin/agents, /api/admin/links: employees and their roles.

use deskpass_core::{EmployeeKey, Person, Role, Roles, entered_department_id};
use serde_json::{Value, json};

use crate::harness::{Client, Device, Response, TestApp, request};

const USER_ROLES: &str = "/api/admin/roles/user-roles";

/// An administrator with a device.
pub(super) struct Admin {
    pub(super) client: Client,
    pub(super) token: String,
    pub(super) device: Device,
}

impl Admin {
    pub(super) async fn of(app: &TestApp) -> Self {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        let (device, _) = client.bind_device(&token, &app.clock).await;
        Self { client, token, device }
    }

    pub(super) async fn get(&mut self, path: &str) -> Response {
        self.client.get_as(&self.token, path).await
    }

    pub(super) async fn items(&mut self, path: &str) -> Vec<Value> {
        self.get(path).await.data()["items"].as_array().unwrap().clone()
    }

    /// Sends a change with a fresh code, an old code or none.
    pub(super) async fn change(&mut self, method: &str, path: &str, body: &Value, code: Option<&str>) -> Response {
        let bearer = format!("Bearer {}", self.token);
        let mut headers = vec![("authorization", &*bearer), ("content-type", "application/json")];
        headers.extend(code.map(|code| ("x-otp-code", code)));
        self.client.send(&request(method, path, &headers, body.to_string().as_bytes())).await
    }

    pub(super) async fn do_it(&mut self, method: &str, path: &str, body: &Value) -> Response {
        let code = self.device.next_code();
        self.change(method, path, body, Some(&code)).await
    }
}

pub(super) async fn enter(app: &TestApp, corp: &str, id: &str, name: &str, department: &str, roles: &[Role]) {
    let person = Person {
        name: name.to_owned(),
        department: department.to_owned(),
        // The development users have the department ids of the simulated platform.
        department_id: if department == "IT Service Desk" { "3".to_owned() } else { entered_department_id(department) },
        roles: roles.iter().copied().collect::<Roles>(),
        ..Person::new(EmployeeKey::from_parts(corp, &id.to_lowercase()), id)
    };
    app.auth().operator().add_employee(person).await.unwrap();
}

fn ids(items: &[Value]) -> Vec<&str> {
    items.iter().map(|item| item["employee_id"].as_str().unwrap()).collect()
}

on_every_store! {
    async fn the_list_of_roles_and_who_has_them(app) {
        let mut admin = Admin::of(&app).await;
        let roles = admin.items("/api/admin/roles").await;
        assert_eq!(roles[0], json!({ "id": 1, "name": "admin", "priority": 3 }));
        assert_eq!(roles.len(), 5);
        let all = admin.get(USER_ROLES).await.data();
        assert_eq!((&all["total"], &all["total_exact"], &all["page"], &all["page_size"]), (&json!(6), &json!(true), &json!(1), &json!(50)));
        assert_eq!(
            all["items"][0],
            json!({ "corp_id": "wwdeskpass", "employee_id": "admin01", "name": "Ada Admin", "department": "IT", "roles": ["admin", "agent", "user"] })
        );
        let agents = admin.items(&format!("{USER_ROLES}?role=agent")).await;
        assert_eq!(ids(&agents), ["admin01", "agent01"]);
    }

    async fn people_are_found_by_the_beginnings_of_names_and_ids(app) {
        enter(&app, "wwdeskpass", "Zhang.San", "张三丰", "研发", &[Role::User]).await;
        enter(&app, "wwdeskpass", "li-si", "Li Si 李四", "Sales", &[]).await;
        let mut admin = Admin::of(&app).await;
        for (q, found) in [
            ("zhang", &["Zhang.San"][..]), ("ZHANG", &["Zhang.San"]), ("san", &["Zhang.San"]), ("%E5%BC%A0", &["Zhang.San"]), ("%E4%B8%B0", &["Zhang.San"]),
            ("si", &["li-si"]), ("%E6%9D%8E", &["li-si"]), ("hang", &[]), ("ada", &["admin01"]), ("%25", &[]), ("_", &[]),
        ] {
            let items = admin.items(&format!("/api/admin/employees?q={q}")).await;
            assert_eq!(ids(&items), found, "{q}");
        }
        let both = admin.items("/api/admin/employees?q=a&role=agent").await;
        assert_eq!(ids(&both), ["admin01", "agent01"]);
    }

    async fn lists_come_in_pages_and_orders(app) {
        for at in 0..120 {
            enter(&app, "wwdeskpass", &format!("p{at:03}"), &format!("Name {:03}", 119 - at), "Many", &[]).await;
        }
        let mut admin = Admin::of(&app).await;
        let whole: Vec<_> = {
            let first = admin.items("/api/admin/employees?page_size=200").await;
            ids(&first).into_iter().map(str::to_owned).collect()
        };
        assert_eq!(whole.len(), 126);
        let (mut by_page, mut by_cursor, mut after) = (Vec::new(), Vec::new(), String::new());
        for page in 1..=3 {
            let items = admin.items(&format!("/api/admin/employees?page={page}&page_size=50")).await;
            by_page.extend(ids(&items).into_iter().map(str::to_owned));
            let data = admin.get(&format!("/api/admin/employees?page_size=50{after}")).await.data();
            by_cursor.extend(ids(data["items"].as_array().unwrap()).into_iter().map(str::to_owned));
            after = data["next"].as_str().map(|next| format!("&after={next}")).unwrap_or_default();
        }
        assert_eq!((by_page, by_cursor, after.as_str()), (whole.clone(), whole, ""));
        let by_name = admin.items("/api/admin/employees?sort=name&department=Many&page_size=2").await;
        assert_eq!(ids(&by_name), ["p000", "p001"], "within a department by identifier");
        let by_name = admin.items("/api/admin/employees?sort=name&page_size=1").await;
        assert_eq!(ids(&by_name), ["admin01"]);
        let latest = admin.items("/api/admin/employees?sort=last_login&page_size=1").await;
        assert_eq!((ids(&latest), latest[0]["last_login_ip"].as_str()), (vec!["admin01"], Some("127.0.0.1")));
        assert_eq!(admin.get(&format!("{USER_ROLES}?page=9")).await.data()["items"], json!([]));
    }
}

on_one_store! {
    async fn what_cannot_be_asked_is_named(app) {
        let mut admin = Admin::of(&app).await;
        for (query, field) in [
            ("page=0", "page"), ("page=x", "page"), ("page_size=0", "page_size"), ("page_size=201", "page_size"), ("role=root", "role"),
            ("sort=age", "sort"), ("sort=name&q=a", "sort"), ("sort=name&role=user", "sort"), ("after=nonsense", "after"), ("corp_id=a%20b", "corp_id"), ("page=1&page=2", "page"),
        ] {
            for path in [USER_ROLES, "/api/admin/employees"] {
                let refused = admin.get(&format!("{path}?{query}")).await;
                let fields = refused.refused(400, 1002).json()["data"]["fields"].clone();
                assert!(fields[field].is_string(), "{query} {fields}");
            }
        }
        let long = "x".repeat(200);
        admin.get(&format!("{USER_ROLES}?q={long}")).await.refused(400, 1002);
    }
}

on_every_store! {
    async fn roles_are_changed_with_a_code_and_count_at_once(app) {
        let mut admin = Admin::of(&app).await;
        let mut other = app.client().await;
        let token = other.sign_in("agent01").await;
        let ask = json!({ "employee_id": "Agent01", "roles": ["user", "security"] });
        admin.change("PUT", USER_ROLES, &ask, None).await.refused(403, 1007);
        assert!(other.is_valid(&token).await);
        let changed = admin.do_it("PUT", USER_ROLES, &ask).await.data();
        assert_eq!(changed["roles"], json!(["user", "security"]));
        assert_eq!(other.me(&token).await.refused(403, 1003).reason(), "role_taken_away");
        let log = "SELECT event, employee_key, actor_key, detail FROM login_log WHERE event = 'roles_changed'";
        assert_eq!(app.query(log), ["roles_changed|agent01|admin01|agent, user -> user, security"]);
        admin.do_it("PUT", USER_ROLES, &ask).await.data();
        assert_eq!(app.query(log).len(), 1, "nothing changed, nothing is logged");
    }

    /// An invalid change uses up no code.
    async fn a_bad_change_uses_no_code_up(app) {
        let mut admin = Admin::of(&app).await;
        let code = admin.device.next_code();
        for (body, status, code_of_it) in [
            (json!({ "employee_id": "nobody", "roles": [] }), 404, 1004),
            (json!({ "employee_id": "agent01", "roles": ["root"] }), 400, 1002),
            (json!({ "employee_id": "agent01" }), 400, 1002),
            (json!({ "employee_id": "agent01", "corp_id": "wwother", "roles": [] }), 404, 1004),
        ] {
            admin.change("PUT", USER_ROLES, &body, Some(&code)).await.refused(status, code_of_it);
        }
        admin.change("PATCH", "/api/admin/employees/wwdeskpass/nobody", &json!({ "disabled": true }), Some(&code)).await.refused(404, 1004);
        admin.change("PATCH", "/api/admin/employees/wwdeskpass/user01", &json!({ "disabled": 1 }), Some(&code)).await.refused(400, 1002);
        admin.change("POST", "/api/admin/links", &json!({ "corp_id": "wwdeskpass", "user_id": "x", "employee_id": "user01" }), Some(&code)).await.refused(400, 1002);
        admin.change("POST", "/api/admin/links", &json!({ "corp_id": "wwpartner", "user_id": "x", "employee_id": "nobody" }), Some(&code)).await.refused(404, 1004);
        admin.change("PATCH", "/api/admin/employees/wwdeskpass/user01", &json!({ "disabled": true }), Some(&code)).await.data();
    }

    async fn employees_are_disabled_and_enabled(app) {
        let mut admin = Admin::of(&app).await;
        let mut other = app.client().await;
        let token = other.sign_in("user01").await;
        let path = "/api/admin/employees/wwdeskpass/USER01";
        admin.do_it("PATCH", path, &json!({ "disabled": true })).await.data();
        assert_eq!(other.me(&token).await.refused(401, 1001).reason(), "disabled");
        let listed = admin.items("/api/admin/employees?q=user01").await;
        assert_eq!(listed[0]["disabled"], true);
        admin.do_it("PATCH", path, &json!({ "disabled": false })).await.data();
        other.sign_in("user01").await;
        let log = "SELECT event, actor_key FROM login_log WHERE event IN ('employee_disabled', 'employee_enabled') ORDER BY id";
        assert_eq!(app.query(log), ["employee_disabled|admin01", "employee_enabled|admin01"]);
    }

    async fn the_last_administrator_stays(app) {
        let mut admin = Admin::of(&app).await;
        let myself = "/api/admin/employees/wwdeskpass/admin01";
        let without = json!({ "employee_id": "admin01", "roles": ["user"] });
        assert_eq!(admin.do_it("PATCH", myself, &json!({ "disabled": true })).await.refused(409, 1019).reason(), "last_admin");
        assert_eq!(admin.do_it("PUT", USER_ROLES, &without).await.refused(409, 1019).reason(), "last_admin");
        // Neither an administrator of another corporation nor a disabled administrator could restore access.
        enter(&app, "wwpartner", "boss", "Boss", "", &[Role::Admin]).await;
        app.auth().operator().grant(app.key("user01"), "admin").await.unwrap();
        app.auth().operator().disable(app.key("user01")).await.unwrap();
        assert_eq!(admin.do_it("PUT", USER_ROLES, &without).await.refused(409, 1019).reason(), "last_admin");
        app.auth().operator().enable(app.key("user01")).await.unwrap();
        admin.do_it("PUT", USER_ROLES, &without).await.data();
        admin.get(USER_ROLES).await.refused(403, 1003);
    }

    async fn reading_goes_as_far_as_the_matrix_says(app) {
        enter(&app, "wwdeskpass", "colleague", "Carla", "IT Service Desk", &[]).await;
        let mut client = app.client().await;
        let (security, supervisor) = (client.sign_in("security01").await, client.sign_in("supervisor01").await);
        // They sign in as users.
        for token in [&security, &supervisor] {
            assert_eq!(client.get_as(token, USER_ROLES).await.refused(403, 1003).reason(), "role_needed");
        }
        client.switch(&security, "security").await.data();
        assert_eq!(client.get_as(&security, USER_ROLES).await.data()["total"], 7);
        client.get_as(&security, "/api/admin/agents").await.refused(403, 1003);
        client.switch(&supervisor, "supervisor").await.data();
        let seen = client.get_as(&supervisor, USER_ROLES).await.data();
        assert_eq!(ids(seen["items"].as_array().unwrap()), ["agent01", "colleague", "supervisor01"]);
        let found = client.get_as(&supervisor, &format!("{USER_ROLES}?q=a")).await.data();
        assert_eq!(ids(found["items"].as_array().unwrap()), ["agent01"]);
        client.get_as(&supervisor, &format!("{USER_ROLES}?department=IT")).await.refused(403, 1003);
        client.get_as(&supervisor, &format!("{USER_ROLES}?corp_id=wwpartner")).await.refused(403, 1003);
        let refused = "SELECT employee_key FROM login_log WHERE event = 'administration_refused' ORDER BY employee_key";
        assert_eq!(app.query(refused), ["security01", "security01", "supervisor01", "supervisor01", "supervisor01"]);
    }

    /// Forbidden requests are limited, so that a user cannot fill the log with them.
    async fn forbidden_requests_are_rate_limited(app) {
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        for _ in 0..60 {
            client.get_as(&token, USER_ROLES).await.refused(403, 1003);
        }
        let waits = client.get_as(&token, USER_ROLES).await;
        assert_eq!(waits.refused(429, 1006).header("retry-after"), Some("1"));
        client.switch(&token, "admin").await.refused(429, 1006);
        let rows = "SELECT count(*) FROM login_log WHERE event = 'administration_refused'";
        assert_eq!(app.query(rows), ["60"]);
        client.me(&token).await.data();
        app.clock.advance(std::time::Duration::from_secs(1));
        client.get_as(&token, USER_ROLES).await.refused(403, 1003);
    }

    async fn granted_roles_replace_a_default_role(app) {
        let mut admin = Admin::of(&app).await;
        let listed = admin.get("/api/admin/employees?q=norole01").await.data();
        assert_eq!(listed["items"][0]["default_role"], "user");
        app.auth().operator().add_agent(app.key("norole01"), "security").await.unwrap();
        let mut client = app.client().await;
        let code = client.qrcode().await;
        let confirm = client.scan_as(&code, "norole01").await;
        client.decide("confirm", &confirm).await.data();
        let shown = client.scan_status(code["ticket"].as_str().unwrap()).await;
        let token = shown["token"].as_str().unwrap().to_owned();
        assert_eq!(client.verify(&token).await["roles"], json!(["security"]));
        admin.do_it("PUT", USER_ROLES, &json!({ "employee_id": "norole01", "roles": ["user"] })).await.data();
        assert_eq!(client.me(&token).await.refused(401, 1001).reason(), "kicked");
    }

    /// This node does not know of the role yet: the change of another node, played by the database itself, is on its way.
    async fn a_role_that_another_node_assigned_replaces_a_default_role_at_once(app) {
        let mut client = app.client().await;
        let mut sign_in = async || {
            let code = client.qrcode().await;
            let confirm = client.scan_as(&code, "norole01").await;
            client.decide("confirm", &confirm).await.data();
            let shown = client.scan_status(code["ticket"].as_str().unwrap()).await;
            client.verify(shown["token"].as_str().unwrap()).await["roles"].clone()
        };
        let agent = app.query("SELECT id FROM role WHERE name = 'agent'").remove(0);
        assert_eq!(sign_in().await, json!(["user"]));
        app.query(&format!(
            "INSERT INTO user_role (corp_id, employee_key, role_id, by_hand) VALUES ('wwdeskpass', 'norole01', {agent}, 1)"
        ));
        app.clock.advance(std::time::Duration::from_secs(1));
        assert_eq!(sign_in().await, json!(["agent"]), "also at this node");
        let with_default_role = "SELECT count(*) FROM session WHERE lent_role_id IS NOT NULL";
        assert_eq!(app.query(with_default_role), ["1"], "only the first session has a default role");
    }

    async fn the_home_desk_shuts_a_connected_corporations_last_administrator_out(app) {
        enter(&app, "wwpartner", "boss", "Boss", "HQ", &[Role::Admin]).await;
        let mut admin = Admin::of(&app).await;
        admin.do_it("PATCH", "/api/admin/employees/wwpartner/boss", &json!({ "disabled": true })).await.data();
    }

    async fn no_text_has_a_nul_in_it(app) {
        let mut admin = Admin::of(&app).await;
        for query in ["department=%00", "after=%00"] {
            admin.get(&format!("{USER_ROLES}?{query}")).await.refused(400, 1002);
        }
    }

    async fn agents_are_listed_and_made(app) {
        let mut admin = Admin::of(&app).await;
        let agents = admin.items("/api/admin/agents").await;
        assert_eq!(ids(&agents), ["admin01", "agent01", "supervisor01"]);
        assert_eq!((&agents[0]["has_device"], &agents[1]["has_device"], &agents[1]["has_password"]), (&json!(true), &json!(false), &json!(false)));
        let first = admin.get("/api/admin/agents?page_size=2").await.data();
        let rest = admin.get(&format!("/api/admin/agents?page_size=2&after={}", first["next"].as_str().unwrap())).await.data();
        assert_eq!((ids(rest["items"].as_array().unwrap()), &rest["next"]), (vec!["supervisor01"], &Value::Null));
        let ask = json!({ "employee_id": "user01" });
        admin.do_it("POST", "/api/admin/agents", &ask).await.data();
        admin.do_it("POST", "/api/admin/agents", &ask).await.refused(409, 1019);
        admin.do_it("POST", "/api/admin/agents", &json!({ "employee_id": "nobody" })).await.refused(404, 1004);
        assert!(ids(&admin.items("/api/admin/agents").await).contains(&"user01"));
    }

    async fn links_are_listed_approved_and_removed(app) {
        let mut admin = Admin::of(&app).await;
        let ask = json!({ "corp_id": "wwpartner", "user_id": "Partner01", "employee_id": "user01" });
        admin.do_it("POST", "/api/admin/links", &ask).await.data();
        let links = admin.items("/api/admin/links").await;
        assert_eq!((&links[0]["identity"], &links[0]["target"]), (&json!({ "corp_id": "wwpartner", "user_id": "Partner01" }), &json!({ "corp_id": "wwdeskpass", "employee_id": "user01" })));
        admin.do_it("DELETE", "/api/admin/links/wwpartner/Partner01", &json!({})).await.data();
        admin.do_it("DELETE", "/api/admin/links/wwpartner/Partner01", &json!({})).await.refused(404, 1004);
        assert_eq!(admin.items("/api/admin/links").await, Vec::<Value>::new());
        let log = "SELECT event, employee_key, detail FROM login_log WHERE event LIKE 'link%' ORDER BY id";
        assert_eq!(app.query(log), ["link_approved|user01|for wwpartner/Partner01", "link_removed|user01|for wwpartner/Partner01"]);
    }

    /// With a code or without, an administrator of another corporation does not learn who works here.
    async fn an_administrator_elsewhere_cannot_tell_who_is_here(app) {
        enter(&app, "wwpartner", "boss", "Boss", "HQ", &[Role::Admin]).await;
        app.auth().operator().add_agent(EmployeeKey::from_parts("wwpartner", "boss"), "admin").await.unwrap();
        let mut client = app.client().await;
        let login = client.post("/api/dev/login", &[], &json!({ "employee_id": "boss", "corp_id": "wwpartner" })).await.data();
        let token = login["token"].as_str().unwrap().to_owned();
        let (device, _) = client.bind_device(&token, &app.clock).await;
        let mut boss = Admin { client, token, device };
        let session = app.client().await.sign_in("user01").await;
        let digest = app.query("SELECT digest FROM session WHERE employee_key = 'user01'").remove(0);
        let code = boss.device.next_code();
        for code in ["000000", &code] {
            for id in ["user01", "nobody"] {
                let path = format!("/api/admin/employees/wwdeskpass/{id}");
                boss.change("PATCH", &path, &json!({ "disabled": true }), Some(code)).await.refused(404, 1004);
                boss.change("DELETE", &format!("{path}/sessions"), &json!({}), Some(code)).await.refused(404, 1004);
                let roles = json!({ "corp_id": "wwdeskpass", "employee_id": id, "roles": [] });
                boss.change("PUT", USER_ROLES, &roles, Some(code)).await.refused(404, 1004);
            }
            for id in [&*digest, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"] {
                boss.change("DELETE", &format!("/api/admin/sessions/{id}"), &json!({}), Some(code)).await.refused(404, 1004);
            }
        }
        assert!(app.client().await.is_valid(&session).await);
        let own = json!({ "corp_id": "wwpartner", "employee_id": "boss", "roles": ["admin", "user"] });
        boss.change("PUT", USER_ROLES, &own, Some(&code)).await.data();
    }

    /// An administrator of a connected corporation sees and changes the people of that corporation.
    async fn an_administrator_elsewhere_stays_there(app) {
        enter(&app, "wwpartner", "boss", "Boss", "HQ", &[Role::Admin, Role::User]).await;
        enter(&app, "wwpartner", "user01", "Namesake", "HQ", &[Role::User]).await;
        let mut client = app.client().await;
        let login = client.post("/api/dev/login", &[], &json!({ "employee_id": "boss", "corp_id": "wwpartner" })).await.data();
        let boss = login["token"].as_str().unwrap().to_owned();
        let seen = client.get_as(&boss, USER_ROLES).await.data();
        assert_eq!(ids(seen["items"].as_array().unwrap()), ["boss", "user01"]);
        client.get_as(&boss, &format!("{USER_ROLES}?corp_id=wwdeskpass")).await.refused(403, 1003);
        assert_eq!(client.get_as(&boss, "/api/admin/corporations").await.data()["items"], json!([{ "corp_id": "wwpartner", "home": false }]));
        for path in ["/api/admin/agents", "/api/admin/links"] {
            client.get_as(&boss, path).await.refused(403, 1003);
        }
        let mut admin = Admin::of(&app).await;
        let partners = admin.items(&format!("{USER_ROLES}?corp_id=wwpartner")).await;
        assert_eq!(ids(&partners), ["boss", "user01"]);
        assert_eq!(admin.items("/api/admin/corporations").await.len(), 2);
    }

    /// One employee is shown to those who may list them, their credentials to administrators alone.
    async fn one_employee_with_their_credentials(app) {
        enter(&app, "wwpartner", "boss", "Boss", "HQ", &[Role::Admin, Role::User]).await;
        let mut admin = Admin::of(&app).await;
        let shown = admin.get("/api/admin/employees/wwdeskpass/ADMIN01").await.data();
        assert_eq!((&shown["employee_id"], &shown["name"]), (&json!("admin01"), &json!("Ada Admin")));
        assert_eq!(shown["roles"], json!(["admin", "agent", "user"]));
        let credentials = &shown["credentials"];
        assert_eq!((&credentials["has_device"], &credentials["has_password"]), (&json!(true), &json!(false)));
        assert_eq!(admin.get("/api/admin/employees/wwdeskpass/user01").await.data()["credentials"], Value::Null);
        assert_eq!(admin.get("/api/admin/employees/wwpartner/boss").await.data()["name"], "Boss");
        admin.get("/api/admin/employees/wwdeskpass/nobody").await.refused(404, 1004);
        // Who was assigned no role signs in with a default one.
        let roles = |shown: &Value| [&shown["roles"], &shown["sign_in_roles"], &shown["default_role"]].map(Value::clone);
        assert_eq!(roles(&shown), [json!(["admin", "agent", "user"]), json!(["admin", "agent", "user"]), Value::Null]);
        let nora = "/api/admin/employees/wwdeskpass/norole01";
        assert_eq!(roles(&admin.get(nora).await.data()), [json!([]), json!(["user"]), json!("user")]);
        app.auth().operator().add_agent(app.key("norole01"), "security").await.unwrap();
        assert_eq!(roles(&admin.get(nora).await.data()), [json!([]), json!(["security"]), json!("security")]);

        let mut client = app.client().await;
        let security = client.sign_in("security01").await;
        client.switch(&security, "security").await.data();
        let seen = client.get_as(&security, "/api/admin/employees/wwdeskpass/admin01").await.data();
        assert_eq!(seen["credentials"], Value::Null);
        // A supervisor sees their department alone, and does not learn who else there is.
        let supervisor = client.sign_in("supervisor01").await;
        client.switch(&supervisor, "supervisor").await.data();
        client.get_as(&supervisor, "/api/admin/employees/wwdeskpass/agent01").await.data();
        client.get_as(&supervisor, "/api/admin/employees/wwdeskpass/admin01").await.refused(404, 1004);
        client.get_as(&supervisor, "/api/admin/employees/wwpartner/boss").await.refused(403, 1003);
        let user = client.sign_in("user01").await;
        client.get_as(&user, "/api/admin/employees/wwdeskpass/user01").await.refused(403, 1003);
    }

    /// The audit log names people as they are called now.
    async fn entries_of_the_log_come_with_names(app) {
        let mut admin = Admin::of(&app).await;
        let roles = json!({ "employee_id": "user01", "roles": ["user", "agent"] });
        admin.do_it("PUT", USER_ROLES, &roles).await.data();
        let log = admin.get("/api/admin/login-log?event=roles_changed").await.data();
        let mut named = log["people"].as_array().unwrap().iter().map(|one| &one["name"]).collect::<Vec<_>>();
        named.sort_unstable_by_key(ToString::to_string);
        assert_eq!(named, ["Ada Admin", "Uma User"]);
    }
}
