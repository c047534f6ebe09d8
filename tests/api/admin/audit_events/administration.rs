//! Audit events of changes by administrators and on the command line.

use deskpass_core::{Role, ServiceKeyName, ServiceScopes};
use serde_json::json;

use super::Log;
use crate::api::admin::people::{Admin, enter};

on_every_store! {
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
}
