//! GET /api/admin/login-log

use std::collections::HashSet;
use std::time::Duration;

use deskpass_core::Role;
use serde_json::{Value, json};

use super::people::{Admin, enter};
use super::read_in_pages;
use crate::harness::Client;

const LOG: &str = "/api/admin/login-log";

async fn rows(client: &mut Client, token: &str, query: &str) -> Vec<Value> {
    client.get_as(token, &format!("{LOG}{query}")).await.data()["items"].as_array().unwrap().clone()
}

/// The event and the employee of each row.
fn summaries(rows: &[Value]) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    rows.iter().map(|row| format!("{} {}", text(&row["event"]), text(&row["employee_id"]))).collect()
}

on_every_store! {
    async fn rows_say_what_happened_to_whom_from_where_and_by_whom(app) {
        let mut admin = Admin::of(&app).await;
        admin.do_it("PATCH", "/api/admin/employees/wwdeskpass/user01", &json!({ "disabled": true })).await.data();
        app.clock.advance(Duration::from_secs(1));
        let from = [("x-forwarded-for", "198.51.100.7"), ("user-agent", "curl/8.5.0")];
        let refused = admin.client.post("/api/auth/bind", &from, &json!({ "employee_id": "User01" })).await;
        let reference = refused.refused(403, 1003).json()["request_id"].as_str().unwrap()[..8].to_owned();
        let answer = admin.get(&format!("{LOG}?page_size=2")).await;
        assert_eq!(answer.header("vary"), Some("accept"));
        let page = answer.data();
        let items = page["items"].as_array().unwrap();
        assert_eq!(
            items[0],
            json!({
                "id": items[0]["id"], "at": "2027-01-15T08:00:31Z", "event": "sign_in_refused", "corp_id": "wwdeskpass",
                "employee_id": "user01", "current_role": null, "login_method": "bind", "login_source": null,
                "ip_address": "198.51.100.7", "peer_address": "127.0.0.1", "user_agent": "curl/8.5.0", "actor": null,
                "reason": "disabled_here", "detail": "", "decided_address": "198.51.100.7", "reference": reference, "verified": true
            })
        );
        let disabled = &items[1];
        assert_eq!((&disabled["event"], &disabled["reason"]), (&json!("employee_disabled"), &Value::Null));
        assert_eq!(disabled["actor"], json!({ "corp_id": "wwdeskpass", "employee_id": "admin01" }));
        assert_eq!(page["next"], disabled["id"]);
    }

    async fn rows_are_found_by_everything_they_say(app) {
        let mut client = app.client().await;
        let away = [("x-forwarded-for", "::ffff:198.51.100.7")];
        client.post("/api/auth/bind", &away, &json!({ "employee_id": "user01" })).await.data();
        app.clock.advance(Duration::from_mins(1));
        client.post("/api/auth/bind", &[], &json!({ "employee_id": "norole01" })).await.refused(403, 1003);
        app.clock.advance(Duration::from_mins(1));
        let user = client.sign_in("user01").await;
        client.logout(&user).await.data();
        app.clock.advance(Duration::from_mins(1));
        let token = client.sign_in("admin01").await;
        for (query, found) in [
            ("?employee_id=NoRole01", &["sign_in_refused norole01"][..]),
            ("?event=logout", &["logout user01"]),
            ("?reason=no_role", &["sign_in_refused norole01"]),
            ("?reason=never_heard_of", &[]),
            ("?method=bind", &["sign_in_refused norole01", "sign_in user01"]),
            ("?method=bind&event=sign_in", &["sign_in user01"]),
            ("?ip_address=198.51.100.7", &["sign_in user01"]),
            ("?ip_address=::ffff:198.51.100.7", &["sign_in user01"]),
            ("?ip_address=198.51.100.7&employee_id=norole01", &[]),
            ("?from=2027-01-15T08:03:00Z", &["sign_in admin01"]),
            ("?from=2027-01-15T16:03:00%2B08:00", &["sign_in admin01"]),
            ("?to=2027-01-15T08:01:00Z", &["sign_in user01"]),
            ("?from=2027-01-15T08:01:00Z&to=2027-01-15T08:01:00.001Z", &["sign_in_refused norole01"]),
            ("?from=2027-01-15T08:02:00Z&to=2027-01-15T08:01:00Z", &[]),
        ] {
            assert_eq!(summaries(&rows(&mut client, &token, query).await), found, "{query}");
        }
        assert_eq!(rows(&mut client, &token, "").await.len(), 5);
    }
}

on_one_store! {
    async fn what_cannot_be_asked_is_named(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        for (query, field) in [
            ("event=nothing", "event"), ("method=telepathy", "method"), ("reason=No%20Role", "reason"), ("ip_address=1.2.3", "ip_address"),
            ("from=yesterday", "from"), ("to=2027-01-15", "to"), ("page_size=0", "page_size"), ("page_size=201", "page_size"),
            ("after=x", "after"), ("after=", "after"), (&*format!("after={}", "G".repeat(32)), "after"), ("corp_id=%00", "corp_id"), ("employee_id=a&employee_id=b", "employee_id"),
        ] {
            let refused = client.get_as(&token, &format!("{LOG}?{query}")).await;
            assert!(refused.refused(400, 1002).json()["data"]["fields"][field].is_string(), "{query} {refused:?}");
        }
        assert_eq!(app.query("SELECT count(*) FROM login_log"), ["1"]);
    }
}

on_every_store! {
    async fn reading_goes_as_far_as_the_matrix_says(app) {
        enter(&app, "wwpartner", "user01", "Namesake", "Sales", &[Role::User]).await;
        enter(&app, "wwpartner", "boss", "Boss", "HQ", &[Role::Admin]).await;
        let mut client = app.client().await;
        let sign_in = async |client: &mut Client, corp: &str, id: &str| {
            let login = client.post("/api/dev/login", &[], &json!({ "employee_id": id, "corp_id": corp })).await.data();
            login["token"].as_str().unwrap().to_owned()
        };
        for id in ["user01", "agent01", "security01", "supervisor01"] {
            client.sign_in(id).await;
        }
        sign_in(&mut client, "wwpartner", "user01").await;
        let (boss, admin) = (sign_in(&mut client, "wwpartner", "boss").await, client.sign_in("admin01").await);
        client.post("/api/auth/bind", &[], &json!({ "employee_id": "user01", "corp_id": "wwelsewhere" })).await.refused(403, 1003);
        let security = client.sign_in("security01").await;
        let supervisor = client.sign_in("supervisor01").await;
        client.switch(&security, "security").await.data();
        client.switch(&supervisor, "supervisor").await.data();

        let at_home = rows(&mut client, &security, "?event=sign_in").await;
        assert_eq!(at_home.len(), 7);
        assert!(at_home.iter().all(|row| row["corp_id"] == "wwdeskpass"));
        let department: HashSet<_> = summaries(&rows(&mut client, &supervisor, "").await).into_iter().collect();
        assert_eq!(department, ["sign_in agent01", "sign_in supervisor01", "switch_role supervisor01"].map(str::to_owned).into());
        assert!(rows(&mut client, &supervisor, "?employee_id=user01").await.is_empty());
        let partners = rows(&mut client, &boss, "").await;
        assert_eq!(partners, rows(&mut client, &admin, "?corp_id=wwpartner").await);
        assert_eq!(summaries(&partners).iter().filter(|summary| summary.starts_with("sign_in")).count(), 2);
        assert!(partners.iter().all(|row| row["corp_id"] == "wwpartner"));
        assert_eq!(summaries(&rows(&mut client, &admin, "?corp_id=wwelsewhere").await), ["sign_in_refused user01"]);
        for (token, corp) in [(&boss, "wwdeskpass"), (&supervisor, "wwpartner")] {
            let refused = client.get_as(token, &format!("{LOG}?corp_id={corp}")).await;
            assert_eq!(refused.refused(403, 1003).reason(), "role_needed");
        }
        assert_eq!(app.query("SELECT count(*) FROM login_log WHERE event = 'administration_refused'"), ["2"]);
    }

    async fn pages_have_each_row_once_also_while_others_come(app) {
        let mut client = app.client().await;
        for at in 0..119 {
            client.sign_in("user01").await;
            if at % 10 == 0 {
                app.clock.advance(Duration::from_millis(1));
            }
        }
        app.clock.advance(Duration::from_millis(1));
        let token = client.sign_in("admin01").await;
        let found = read_in_pages(&app, &mut client, &token, LOG).await;
        assert!(found.is_sorted_by(|newer, older| newer > older));
        assert_eq!(rows(&mut client, &token, "").await.len(), 50);
    }

    /// A supervisor learns the names of their department alone, although people of other departments cause its entries.
    async fn entries_of_the_log_name_nobody_outside_the_department(app) {
        let mut admin = Admin::of(&app).await;
        let roles = json!({ "employee_id": "agent01", "roles": ["user", "agent", "security"] });
        admin.do_it("PUT", "/api/admin/roles/user-roles", &roles).await.data();
        let mut client = app.client().await;
        let supervisor = client.sign_in("supervisor01").await;
        client.switch(&supervisor, "supervisor").await.data();
        let log = client.get_as(&supervisor, &format!("{LOG}?event=roles_changed")).await.data();
        assert_eq!(log["items"][0]["actor"]["employee_id"], "admin01", "{log}");
        let named: Vec<_> = log["people"].as_array().unwrap().iter().map(|one| &one["employee_id"]).collect();
        assert_eq!(named, ["agent01"], "{log}");
    }
}
