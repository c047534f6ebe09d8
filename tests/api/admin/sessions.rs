//! `/api/admin/sessions`, `/api/admin/employees/{corp_id}/{employee_id}/sessions`

use std::collections::HashSet;
use std::time::Duration;

use deskpass_core::Role;
use serde_json::{Value, json};

use super::people::{Admin, enter};
use super::read_in_pages;
use crate::harness::{Client, Response, Stopwatch, StoreBackend, TestApp};

const SESSIONS: &str = "/api/admin/sessions";

async fn sign_in(client: &mut Client, corp: &str, id: &str) -> String {
    let login = client.post("/api/dev/login", &[], &json!({ "employee_id": id, "corp_id": corp })).await.data();
    login["token"].as_str().unwrap().to_owned()
}

async fn seen(client: &mut Client, token: &str, query: &str) -> Vec<Value> {
    client.get_as(token, &format!("{SESSIONS}{query}")).await.data()["items"].as_array().unwrap().clone()
}

fn whose(items: &[Value]) -> Vec<&str> {
    items.iter().map(|item| item["employee_id"].as_str().unwrap()).collect()
}

impl Admin {
    async fn id_of(&mut self, employee: &str) -> String {
        let found = self.items(&format!("{SESSIONS}?employee_id={employee}")).await;
        found[0]["id"].as_str().unwrap().to_owned()
    }

    async fn end(&mut self, id: &str) -> Response {
        self.do_it("DELETE", &format!("{SESSIONS}/{id}"), &json!({})).await
    }
}

on_every_store! {
    async fn who_is_signed_in_from_where(app) {
        let mut client = app.client().await;
        let from = [("x-forwarded-for", "198.51.100.7"), ("user-agent", "curl/8.5.0")];
        client.post("/api/auth/bind", &from, &json!({ "employee_id": "Agent01" })).await.data();
        app.clock.advance(Duration::from_secs(1));
        client.sign_in("user01").await;
        app.clock.advance(Duration::from_secs(1));
        let mut admin = Admin::of(&app).await;
        let all = admin.get(SESSIONS).await.data();
        let items = all["items"].as_array().unwrap();
        assert_eq!((whose(items), &all["next"]), (vec!["admin01", "user01", "agent01"], &Value::Null));
        assert_eq!(items.iter().map(|item| item["current"] == true).collect::<Vec<_>>(), [true, false, false]);
        assert_eq!(
            items[2],
            json!({
                "corp_id": "wwdeskpass", "employee_id": "agent01", "name": "Arno Agent", "id": items[2]["id"], "current": false,
                "device": "curl", "user_agent": "curl/8.5.0", "ip_address": "198.51.100.7", "login_method": "bind",
                "login_source": "h5", "current_role": "agent", "created_at": "2027-01-15T08:00:00Z", "last_seen_at": "2027-01-15T08:00:00Z",
                "expires_at": "2027-01-15T16:00:00Z", "clients": []
            })
        );
        for (query, found) in [
            ("?employee_id=AGENT01", &["agent01"][..]), ("?role=user", &["user01"]), ("?role=security", &[]),
            ("?employee_id=user01&role=admin", &[]), ("?employee_id=nobody", &[]), ("?corp_id=wwdeskpass&role=admin", &["admin01"]),
        ] {
            assert_eq!(whose(&admin.items(&format!("{SESSIONS}{query}")).await), found, "{query}");
        }
        app.clock.advance(Duration::from_hours(8) - Duration::from_secs(1));
        let token = client.sign_in("admin01").await;
        assert_eq!(whose(&seen(&mut client, &token, "").await), ["admin01", "admin01"], "what has expired is over");
    }

    async fn a_list_is_of_one_corporation(app) {
        enter(&app, "wwpartner", "user01", "Namesake", "Sales", &[Role::User]).await;
        enter(&app, "wwpartner", "boss", "Boss", "HQ", &[Role::Admin]).await;
        let mut client = app.client().await;
        let (home, abroad) = (client.sign_in("user01").await, sign_in(&mut client, "wwpartner", "user01").await);
        let boss = sign_in(&mut client, "wwpartner", "boss").await;
        let mut admin = Admin::of(&app).await;
        let names = async |client: &mut Client, token: &str, query: &str| -> Vec<(String, String)> {
            let items = seen(client, token, query).await;
            let text = |item: &Value, name: &str| item[name].as_str().unwrap().to_owned();
            items.iter().map(|item| (text(item, "corp_id"), text(item, "name"))).collect()
        };
        let here = names(&mut client, &admin.token, "?employee_id=user01").await;
        assert_eq!(here, [("wwdeskpass".into(), "Uma User".into())]);
        let there = names(&mut client, &admin.token, "?corp_id=wwpartner&employee_id=user01").await;
        assert_eq!(there, [("wwpartner".into(), "Namesake".into())]);
        let own = names(&mut client, &boss, "?employee_id=user01").await;
        assert_eq!(own, there);
        let refused = client.get_as(&boss, &format!("{SESSIONS}?corp_id=wwdeskpass")).await;
        assert_eq!(refused.refused(403, 1003).reason(), "role_needed");
        let log = "SELECT corp_id, employee_key, reason FROM login_log WHERE event = 'administration_refused'";
        assert_eq!(app.query(log), ["wwpartner|boss|role_needed"]);

        let ended = admin.do_it("DELETE", "/api/admin/employees/wwpartner/user01/sessions", &json!({})).await.data();
        assert_eq!(ended, json!({ "success": true, "ended": 1 }));
        assert!(client.is_valid(&home).await && !client.is_valid(&abroad).await);
    }

    async fn reading_goes_as_far_as_the_matrix_says(app) {
        let mut client = app.client().await;
        for employee in ["admin01", "agent01", "user01"] {
            client.sign_in(employee).await;
        }
        let (security, supervisor) = (client.sign_in("security01").await, client.sign_in("supervisor01").await);
        for token in [&security, &supervisor] {
            assert_eq!(client.get_as(token, SESSIONS).await.refused(403, 1003).reason(), "role_needed");
        }
        client.switch(&security, "security").await.data();
        client.switch(&supervisor, "supervisor").await.data();
        assert_eq!(seen(&mut client, &security, "").await.len(), 5);
        let items = seen(&mut client, &supervisor, "").await;
        let department: HashSet<_> = whose(&items).into_iter().collect();
        assert_eq!(department, HashSet::from(["agent01", "supervisor01"]));
        assert!(seen(&mut client, &supervisor, "?employee_id=user01").await.is_empty());
        let id = items[0]["id"].as_str().unwrap();
        let refused = client.send(&crate::harness::request("DELETE", &format!("{SESSIONS}/{id}"), &[("authorization", &format!("Bearer {security}"))], b"")).await;
        assert_eq!(refused.refused(403, 1003).reason(), "role_needed");
    }

    async fn agents_are_refused_and_that_is_written_down(app) {
        let mut client = app.client().await;
        let token = client.sign_in("agent01").await;
        for path in [SESSIONS, "/api/admin/login-log"] {
            assert_eq!(client.get_as(&token, path).await.refused(403, 1003).reason(), "role_needed");
        }
        let log = "SELECT employee_key, reason, login_method FROM login_log WHERE event = 'administration_refused'";
        assert_eq!(app.query(log), ["agent01|role_needed|dev"; 2]);
    }

    async fn a_session_is_ended_with_a_code(app) {
        let mut client = app.client().await;
        let (token, other) = (client.sign_in("user01").await, client.sign_in("agent01").await);
        let mut admin = Admin::of(&app).await;
        let id = admin.id_of("user01").await;
        admin.change("DELETE", &format!("{SESSIONS}/{id}"), &json!({}), None).await.refused(403, 1007);
        assert!(client.is_valid(&token).await);
        assert_eq!(admin.end(&id).await.data(), json!({ "success": true }));
        assert_eq!(client.me(&token).await.refused(401, 1001).reason(), "kicked");
        assert!(client.is_valid(&other).await);
        admin.end(&id).await.refused(404, 1004);
        admin.end(&"A".repeat(43)).await.refused(404, 1004);
        let code = admin.device.next_code();
        admin.change("DELETE", &format!("{SESSIONS}/x"), &json!({}), Some(&code)).await.refused(400, 1002);
        admin.change("DELETE", &format!("{SESSIONS}/{}", "A".repeat(43)), &json!({}), Some(&code)).await.refused(404, 1004);
        let log = "SELECT employee_key, actor_corp_id, actor_key, detail FROM login_log WHERE event = 'sessions_ended'";
        assert_eq!(app.query(log), ["user01|wwdeskpass|admin01|1 session(s) ended"]);
    }

    async fn all_sessions_of_an_employee_are_ended(app) {
        let mut client = app.client().await;
        let tokens = [client.sign_in("user01").await, client.sign_in("user01").await];
        let other = client.sign_in("agent01").await;
        let mut admin = Admin::of(&app).await;
        let path = "/api/admin/employees/wwdeskpass/User01/sessions";
        assert_eq!(admin.do_it("DELETE", path, &json!({})).await.data()["ended"], 2);
        for token in &tokens {
            assert_eq!(client.me(token).await.refused(401, 1001).reason(), "kicked");
        }
        assert!(client.is_valid(&other).await);
        assert_eq!(admin.do_it("DELETE", path, &json!({})).await.data()["ended"], 0);
        admin.do_it("DELETE", "/api/admin/employees/wwdeskpass/nobody/sessions", &json!({})).await.refused(404, 1004);
        assert_eq!(app.query("SELECT count(*) FROM login_log WHERE event = 'sessions_ended'"), ["1"]);
        client.sign_in("user01").await;
    }

    /// An administrator of a connected corporation does not learn which sessions exist elsewhere.
    async fn an_administrator_elsewhere_ends_nothing_here(app) {
        enter(&app, "wwpartner", "boss", "Boss", "HQ", &[Role::Admin]).await;
        enter(&app, "wwpartner", "user01", "Namesake", "HQ", &[Role::User]).await;
        let key = deskpass_core::EmployeeKey::from_parts("wwpartner", "boss");
        app.auth().operator().add_agent(key, "admin").await.unwrap();
        let mut client = app.client().await;
        let (home, abroad) = (client.sign_in("user01").await, sign_in(&mut client, "wwpartner", "user01").await);
        let id = Admin::of(&app).await.id_of("user01").await;
        let token = sign_in(&mut client, "wwpartner", "boss").await;
        let (device, _) = client.bind_device(&token, &app.clock).await;
        let mut boss = Admin { client, token, device };
        let refused = boss.end(&id).await.refused(404, 1004).json()["message"].clone();
        assert_eq!(boss.end(&"A".repeat(43)).await.refused(404, 1004).json()["message"], refused);
        for whom in ["wwdeskpass/user01", "wwdeskpass/nobody", "wwpartner/nobody"] {
            boss.do_it("DELETE", &format!("/api/admin/employees/{whom}/sessions"), &json!({})).await.refused(404, 1004);
        }
        assert!(boss.client.is_valid(&home).await);
        boss.do_it("DELETE", "/api/admin/employees/wwpartner/user01/sessions", &json!({})).await.data();
        assert!(!boss.client.is_valid(&abroad).await);
    }

    async fn pages_have_each_session_once_also_while_others_begin(app) {
        let mut client = app.client().await;
        for _ in 0..119 {
            client.sign_in("user01").await;
        }
        app.clock.advance(Duration::from_secs(1));
        let token = client.sign_in("admin01").await;
        read_in_pages(&app, &mut client, &token, SESSIONS).await;
        assert_eq!(seen(&mut client, &token, "").await.len(), 50, "fifty by default");
        assert_eq!(seen(&mut client, &token, "?page_size=200").await.len(), 123);
    }
}

on_one_store! {
    async fn what_cannot_be_asked_is_named(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        client.sign_in("user01").await;
        let next = client.get_as(&token, &format!("{SESSIONS}?page_size=1")).await.data()["next"].as_str().unwrap().to_owned();
        assert_eq!(seen(&mut client, &token, &format!("?page_size=1&after={next}")).await.len(), 1);
        for (query, field) in [
            ("page_size=0", "page_size"), ("page_size=201", "page_size"), ("page_size=-1", "page_size"), ("page_size=x", "page_size"),
            ("after=", "after"), ("after=x", "after"), (&*format!("after={next}x"), "after"), ("role=root", "role"),
            ("corp_id=a%20b", "corp_id"), ("employee_id=a%2Fb", "employee_id"), ("role=user&role=user", "role"),
        ] {
            let refused = client.get_as(&token, &format!("{SESSIONS}?{query}")).await;
            assert!(refused.refused(400, 1002).json()["data"]["fields"][field].is_string(), "{query} {refused:?}");
        }
    }
}

/// A session that one node ends is ended on the others within a second.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_is_ended_is_over_on_every_node() {
    Box::pin(StoreBackend::ScaledOut.run(end_across_nodes())).await;
}

async fn end_across_nodes() {
    let app = TestApp::start().await;
    let other = app.second_node().await;
    let mut there = other.client().await;
    let tokens = [there.sign_in("user01").await, there.sign_in("user01").await, there.sign_in("user01").await];
    for token in &tokens {
        there.me(token).await.data();
    }
    let mut admin = Admin::of(&app).await;
    let id = admin.id_of("user01").await;
    admin.end(&id).await.data();
    let (begun, mut alive) = (Stopwatch::start(), 3);
    while alive == 3 {
        assert!(begun.elapsed() < Duration::from_secs(1), "still good elsewhere");
        alive = 0;
        for token in &tokens {
            alive += usize::from(there.me(token).await.status == 200);
        }
    }
    assert_eq!(alive, 2);
    admin.do_it("DELETE", "/api/admin/employees/wwdeskpass/user01/sessions", &json!({})).await.data();
    let begun = Stopwatch::start();
    for token in &tokens {
        while there.me(token).await.status == 200 {
            assert!(begun.elapsed() < Duration::from_secs(1), "still good elsewhere");
        }
        assert_eq!(there.me(token).await.refused(401, 1001).reason(), "kicked");
    }
}
