//! POST /api/auth/bind

mod ticket;

use deskpass_core::{CorpId, EmployeeId, Person, Role, Roles};
use serde_json::json;

use crate::harness::{PRODUCTION, TestApp, settings};

on_every_store! {
    async fn in_development_signs_the_named_employee_in(app) {
        let mut client = app.client().await;
        let agent = [("x-forwarded-for", "198.51.100.7, 10.0.0.1"), ("user-agent", "Mozilla/5.0 (H5)")];
        let login = client.post("/api/auth/bind", &agent, &json!({ "employee_id": "agent01" })).await.data();
        let token = login["token"].as_str().unwrap().to_owned();
        assert_eq!(
            login,
            json!({
                "token": token, "token_type": "Bearer", "expires_in": 28_800, "expires_at": "2027-01-15T16:00:00Z",
                "employee_id": "agent01", "corp_id": "wwdeskpass", "name": "Arno Agent", "department": "IT Service Desk",
                "avatar": "", "roles": ["agent", "user"], "current_role": "agent", "login_method": "bind", "login_source": "h5"
            })
        );
        assert!(client.is_valid(&token).await);
        let log = app.query("SELECT event, employee_key, login_method, login_source, ip_address, peer_address, user_agent FROM login_log");
        assert_eq!(log, ["sign_in|agent01|bind|h5|198.51.100.7|127.0.0.1|Mozilla/5.0 (H5)"]);
        let seen = app.query("SELECT last_login_ip, last_login_at FROM employee WHERE employee_key = 'agent01'");
        assert_eq!(seen, ["198.51.100.7|1800000000000"]);
    }

    async fn takes_the_highest_role_and_carries_all(app) {
        let mut client = app.client().await;
        for (employee, current, roles) in [
            ("admin01", "admin", json!(["admin", "agent", "user"])),
            ("supervisor01", "user", json!(["user", "supervisor"])),
            ("security01", "user", json!(["user", "security"])),
        ] {
            let login = client.post("/api/auth/bind", &[], &json!({ "employee_id": employee })).await.data();
            assert_eq!((&login["current_role"], &login["roles"]), (&json!(current), &roles));
        }
    }

    async fn refuses_who_is_unknown_and_who_has_no_role(app) {
        let mut client = app.client().await;
        let unknown = client.post("/api/auth/bind", &[], &json!({ "employee_id": "nobody" })).await;
        assert!(unknown.refused(403, 1003).json()["message"].as_str().unwrap().contains("through the platform"));
        let elsewhere = json!({ "employee_id": "admin01", "corp_id": "wwother" });
        client.post("/api/auth/bind", &[], &elsewhere).await.refused(403, 1003);
        let no_role = client.post("/api/auth/bind", &[], &json!({ "employee_id": "norole01" })).await;
        assert!(no_role.refused(403, 1003).json()["message"].as_str().unwrap().contains("contact the administrator"));
        let log = app.query("SELECT event, corp_id, employee_key, reason FROM login_log ORDER BY employee_key");
        let expected = ["wwother|admin01|unknown_employee", "wwdeskpass|nobody|unknown_employee", "wwdeskpass|norole01|no_role"];
        assert_eq!(log, expected.map(|row| format!("sign_in_refused|{row}")));
    }

    async fn keeps_corporations_apart(app) {
        let partner = CorpId::parse("wwpartner").unwrap();
        let key = |id: &str| app.auth().resolve_key(Some(&partner), &EmployeeId::parse(id).unwrap());
        for (id, roles) in [("admin01", Roles::NONE.with(Role::User)), ("Admin01", Roles::NONE), ("agent01", Roles::NONE)] {
            let person = Person { name: format!("partner {id}"), roles, ..Person::new(key(id), id) };
            app.auth().operator().add_employee(person).await.unwrap();
        }
        let mut client = app.client().await;
        let mut bind = async |id: &str| client.post("/api/auth/bind", &[], &json!({ "employee_id": id, "corp_id": "wwpartner" })).await;
        let login = bind("admin01").await.data();
        assert_eq!((&login["roles"], &login["corp_id"], &login["name"]), (&json!(["user"]), &json!("wwpartner"), &json!("partner admin01")));
        bind("Admin01").await.refused(403, 1003);
        bind("agent01").await.refused(403, 1003);
        assert_eq!(bind("ADMIN01").await.refused(403, 1003).json()["data"], json!(null));
    }
}

on_every_store! {
    async fn in_production_is_refused_alike_for_everyone() {
        let app = TestApp::production().await;
        app.auth().seed_dev_users().await.unwrap();
        let mut client = app.client().await;
        let mut answers = Vec::new();
        for employee in ["admin01", "agent01", "norole01", "nobody", "ADMIN01"] {
            for corp in [json!(null), json!("wwdeskpass"), json!("wwother")] {
                let ask = json!({ "employee_id": employee, "corp_id": corp });
                let answer = client.post("/api/auth/bind", &[("x-request-id", "same")], &ask).await;
                answers.push((answer.status, answer.code(), answer.body));
            }
        }
        answers.dedup();
        assert_eq!(answers.len(), 1, "{answers:?}");
        assert_eq!((answers[0].0, answers[0].1), (403, 1003));
        assert_eq!(app.query("SELECT count(*) FROM session"), ["0"]);
    }

    async fn open_in_production_serves_its_networks_and_never_an_administrator() {
        let mut given = PRODUCTION.to_vec();
        given.extend([("bind.mode", "open"), ("bind.networks", "198.51.100.0/24"), ("trusted_proxies", "127.0.0.1")]);
        let app = TestApp::with(settings(&given)).await;
        app.auth().seed_dev_users().await.unwrap();
        let mut client = app.client().await;
        let ask = json!({ "employee_id": "admin01" });
        client.post("/api/auth/bind", &[], &ask).await.refused(403, 1003);
        client.post("/api/auth/bind", &[("x-forwarded-for", "198.51.100.7, 203.0.113.1")], &ask).await.refused(403, 1003);
        let inside = [("x-forwarded-for", "198.51.100.7")];
        let login = client.post("/api/auth/bind", &inside, &ask).await.data();
        assert_eq!((&login["roles"], &login["current_role"]), (&json!(["agent", "user"]), &json!("agent")));
        let token = login["token"].as_str().unwrap().to_owned();
        client.switch(&token, "admin").await.refused(403, 1003);
        assert_eq!(client.verify(&token).await["roles"], json!(["agent", "user"]));
        // Turning bind off does not promote sessions that it created.
        let app = app.restart_with(settings(&PRODUCTION)).await;
        let mut client = app.client().await;
        client.switch(&token, "admin").await.refused(403, 1003);
        assert_eq!(client.verify(&token).await["roles"], json!(["agent", "user"]));
    }
}
