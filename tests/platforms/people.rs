//! Who may sign in: members of the corporation, and nobody else.

use deskpass_platform::PlatformKind;
use serde_json::json;

use super::{come_back_as, land, trade};
use crate::harness::{Messenger, fragment, location};

on_every_platform! {
    both stores:
    async fn no_code_signs_in_an_outsider_a_leaver_or_a_disabled_employee(app) {
        let mut client = app.client().await;
        app.auth().operator().disable(app.key("agent01")).await.unwrap();
        // A leaver is gone from the directory of DingTalk; elsewhere the record says so.
        let left = if Messenger::current().kind == PlatformKind::Dingtalk { "not_a_member" } else { "disabled" };
        for (who, word) in [("agent01", "disabled"), ("left01", left), ("outsider01", "not_a_member"), ("deny", "denied")] {
            let code = client.qrcode().await;
            let landed = client.scan(&code, who).await;
            assert!(landed.starts_with(&format!("http://{}/scan/#error={word}&code=1003&ref=", app.address)), "{who}: {landed}");
            let landed = land(&mut client, &format!("http://{}/h5/", app.address), who).await;
            assert!(landed.starts_with(&format!("http://{}/h5/#error={word}&code=1003&ref=", app.address)), "{who}: {landed}");
        }
        assert_eq!(app.query("SELECT count(*) FROM session"), ["0"]);
        assert_eq!(app.query("SELECT count(*) FROM employee WHERE employee_key IN ('left01', 'outsider01')"), ["0"]);
    }
}

on_every_platform! {
    /// A person of another corporation is a stranger, whatever their identifier; on WeCom a connected one may be bound.
    async fn a_person_of_another_corporation_is_no_member(app) {
        let mut client = app.client().await;
        let page = format!("http://{}/h5/", app.address);
        let landed = land(&mut client, &page, "wwpartner/partner01").await;
        if Messenger::current().kind == PlatformKind::Wecom {
            assert!(landed.contains("bind_ticket="), "{landed}");
        } else {
            assert!(landed.starts_with(&format!("{page}#error=not_a_member&code=1003&ref=")), "{landed}");
        }
        assert_eq!(app.query("SELECT count(*) FROM session"), ["0"]);
        assert_eq!(app.query("SELECT count(*) FROM employee WHERE employee_key LIKE '%partner01'"), ["0"]);
    }

    /// Outside the application's range the platform names a person and gives no details, or lets them not use the application.
    async fn a_person_out_of_range_is_known_by_identifier_or_refused(app) {
        let mut client = app.client().await;
        let page = format!("http://{}/h5/", app.address);
        let (answer, cookies) = come_back_as(&mut client, &page, "hidden01").await;
        let landed = location(&answer);
        if landed.contains("#ticket=") {
            let state = trade(&mut client, landed, &cookies).await;
            assert_eq!((&state["employee_id"], &state["name"]), (&json!("hidden01"), &json!("hidden01")));
        } else {
            assert_eq!(fragment(landed, "error"), "not_a_member");
        }
        // Either way that says nothing about the platform.
        assert_eq!(client.get("/api/ready", &[]).await.data()["dependencies"]["platform"], "ok");
    }

    /// Most platforms distinguish upper and lower case. The first sign-in decides how an employee is written whom an operator added.
    async fn identifiers_that_differ_in_case_only_are_of_two_people(app) {
        let (mut client, messenger) = (app.client().await, Messenger::current());
        let (page, key) = (format!("http://{}/h5/", app.address), app.key("user01"));
        let identity = match messenger.kind {
            PlatformKind::Wecom => return,
            PlatformKind::Dingtalk => json!({ "errcode": 0, "result": { "userid": "USER01", "contact_type": 0 } }),
            PlatformKind::Feishu => {
                json!({ "code": 0, "data": { "tenant_key": messenger.corp_id, "user_id": "USER01", "open_id": "ou_1" } })
            }
        };
        let store = &app.auth().store;
        assert!(store.adopt_spelling(key.clone(), "User01".to_owned()).await.unwrap());
        assert!(land(&mut client, &page, "user01").await.contains("#ticket="));
        let written = || app.query("SELECT employee_id FROM employee WHERE employee_key = 'user01'");
        assert_eq!(written(), ["user01"]);
        assert!(!store.adopt_spelling(key, "User01".to_owned()).await.unwrap());
        client.set_fault(&json!({ "api": messenger.identify, "body": identity.to_string() })).await;
        assert_eq!(fragment(&land(&mut client, &page, "user01").await, "error"), "not_a_member");
        assert_eq!((written(), app.query("SELECT count(*) FROM session")), (vec!["user01".to_owned()], vec!["1".to_owned()]));
    }

    async fn the_first_sign_in_adds_an_employee_and_later_sign_ins_update_it(app) {
        let (mut client, messenger) = (app.client().await, Messenger::current());
        let page = format!("http://{}/h5/", app.address);
        let named = |name: &str| match messenger.kind {
            PlatformKind::Wecom => json!({ "errcode": 0, "userid": "user01", "name": name, "department": [1], "status": 1 }),
            PlatformKind::Dingtalk => json!({
                "errcode": 0, "result": { "userid": "user01", "name": name, "dept_id_list": [1], "active": true }
            }),
            PlatformKind::Feishu => json!({ "code": 0, "data": { "user": {
                "user_id": "user01", "name": name, "department_ids": ["1"], "status": { "is_activated": true }
            } } }),
        };
        let name = || app.query("SELECT name FROM employee WHERE employee_key = 'user01'");
        assert!(land(&mut client, &page, "user01").await.contains("#ticket="));
        assert_eq!(name(), ["Uma User"]);
        client.set_fault(&json!({ "api": messenger.profile, "body": named("Uma Married").to_string() })).await;
        assert!(land(&mut client, &page, "user01").await.contains("#ticket="));
        assert_eq!(name(), ["Uma Married"]);
        // Details that the platform does not return stay unchanged.
        client.set_fault(&json!({ "api": messenger.profile, "http_status": 500, "body": "" })).await;
        assert!(land(&mut client, &page, "user01").await.contains("#ticket="));
        assert_eq!(name(), ["Uma Married"]);
    }
}
