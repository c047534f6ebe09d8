//! Events that close an open socket: within a second, with a code and a reason that tell the client what to do.

use std::time::Duration;

use deskpass_core::Role;
use serde_json::json;

use super::limits::until;
use crate::harness::{TestApp, request, settings};

on_every_store! {
    async fn signing_out_everywhere_ends_all_own_sockets(app) {
        let mut client = app.client().await;
        let (one, two, other) = (client.sign_in("user01").await, client.sign_in("user01").await, client.sign_in("agent01").await);
        let mut own = [app.socket("employee", &one).await, app.socket("employee", &one).await, app.socket("employee", &two).await];
        let mut other = app.socket("agent", &other).await;
        client.send(&request("POST", "/api/auth/logout-all", &[("authorization", &format!("Bearer {one}"))], b"")).await.data();
        for socket in &mut own {
            socket.ends_soon(4401, "signed_out").await;
        }
        other.is_quiet().await;
    }

    async fn signing_out_ends_every_socket_of_the_session_and_no_other(app) {
        let mut client = app.client().await;
        let (one, two) = (client.sign_in("agent01").await, client.sign_in("agent01").await);
        let mut own = [app.socket("employee", &one).await, app.socket("agent", &one).await];
        let mut other = app.socket("agent", &two).await;
        client.logout(&one).await.data();
        for socket in &mut own {
            socket.ends_soon(4401, "signed_out").await;
        }
        other.is_quiet().await;
    }

    async fn an_administrator_ends_it(app) {
        let mut client = app.client().await;
        let (admin, device) = app.administrator().await;
        let (one, two) = (client.sign_in("user01").await, client.sign_in("user01").await);
        let mut first = app.socket("employee", &one).await;
        let sessions = client.get_as(&admin, "/api/admin/sessions?employee_id=user01").await.data();
        let oldest = sessions["items"].as_array().unwrap().last().unwrap()["id"].as_str().unwrap().to_owned();
        let mut second = app.socket("employee", &two).await;
        let path = format!("/api/admin/sessions/{oldest}");
        client.admin_request(&admin, &device.next_code(), "DELETE", &path, &json!({})).await.data();
        let ended = [client.is_valid(&one).await, client.is_valid(&two).await];
        let (gone, stays) = if ended[0] { (&mut second, &mut first) } else { (&mut first, &mut second) };
        gone.ends_soon(4401, "kicked").await;
        stays.is_quiet().await;
        client.admin_request(&admin, &device.next_code(), "DELETE", "/api/admin/employees/wwdeskpass/user01/sessions", &json!({})).await.data();
        stays.ends_soon(4401, "kicked").await;
    }

    async fn one_session_too_many_ends_the_oldest() {
        let app = TestApp::with(settings(&[("development.enabled", "true"), ("session.max_per_employee", "1")])).await;
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        let mut socket = app.socket("employee", &token).await;
        app.clock.advance(Duration::from_secs(1));
        client.sign_in("user01").await;
        socket.ends_soon(4401, "kicked").await;
    }

    async fn a_disabled_employee_is_disconnected(app) {
        let mut client = app.client().await;
        let (token, other) = (client.sign_in("agent01").await, client.sign_in("user01").await);
        let mut sockets = [app.socket("employee", &token).await, app.socket("agent", &token).await];
        let mut other = app.socket("employee", &other).await;
        app.auth().operator().disable(app.key("agent01")).await.unwrap();
        for socket in &mut sockets {
            socket.ends_soon(4401, "disabled").await;
        }
        other.is_quiet().await;
    }

    async fn a_role_that_is_taken_away_ends_what_it_opened(app) {
        let mut client = app.client().await;
        let (agent, user) = (client.sign_in("agent01").await, client.sign_in("agent01").await);
        client.switch(&user, "user").await.data();
        let mut sockets = [app.socket("employee", &agent).await, app.socket("agent", &agent).await];
        let mut in_another = app.socket("employee", &user).await;
        app.auth().operator().revoke(app.key("agent01"), Role::Agent.name()).await.unwrap();
        for socket in &mut sockets {
            socket.ends_soon(4403, "role_taken_away").await;
        }
        in_another.is_quiet().await;
    }

    async fn a_role_change_is_reported_and_closes_forbidden_sockets(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        let (mut employee, mut agent) = (app.socket("employee", &token).await, app.socket("agent", &token).await);
        client.switch(&token, "agent").await.data();
        for socket in [&mut employee, &mut agent] {
            let shown = socket.event("role_changed").await;
            assert_eq!(shown["content"], json!({ "event": "role_changed", "current_role": "agent" }));
        }
        client.switch(&token, "user").await.data();
        agent.ends_soon(4403, "role_needed").await;
        assert_eq!(employee.event("role_changed").await["content"]["current_role"], "user");
        client.switch(&token, "user").await.data();
        employee.is_quiet().await;
    }

    async fn an_address_that_may_not_any_more_ends_it(app) {
        let mut client = app.client().await;
        let (agent, user) = (client.sign_in("agent01").await, client.sign_in("user01").await);
        let mut sockets = [app.socket("employee", &agent).await, app.socket("agent", &agent).await];
        let mut other = app.socket("employee", &user).await;
        app.set_list("agent", &["127.0.0.0/8"]).await;
        other.is_quiet().await;
        for socket in &mut sockets {
            socket.is_quiet().await;
        }
        app.set_list("agent", &["10.0.0.0/8"]).await;
        for socket in &mut sockets {
            socket.ends_soon(4403, "address_not_allowed").await;
        }
        other.is_quiet().await;
    }

    async fn time_ends_it_and_a_minute_before_it_says_so(app) {
        let mut client = app.client().await;
        let (key, _) = app.service_key("messages").await;
        let token = client.sign_in("user01").await;
        let mut socket = app.socket("employee", &token).await;
        app.clock.advance(Duration::from_hours(8) - Duration::from_secs(61));
        assert_eq!(client.send_card(&key, &json!({ "employee_id": "user01" }), &json!(1)).await, 1);
        assert_eq!(socket.text().await["content"], 1, "nothing is said two minutes before");
        app.clock.advance(Duration::from_secs(1));
        let ending = socket.event("ending").await;
        assert_eq!(ending["content"], json!({ "event": "ending", "reason": "expired", "expires_in": 60 }));
        let late = app.socket("employee", &token).await;
        drop(late);
        app.clock.advance(Duration::from_millis(59_999));
        socket.is_quiet().await;
        app.clock.advance(Duration::from_millis(1));
        assert_eq!(client.send_card(&key, &json!({ "employee_id": "user01" }), &json!(2)).await, 0);
        socket.ends_soon(4401, "expired").await;
    }

    /// A client that connects in the last minute is warned at once, and only once.
    async fn a_client_that_connects_near_expiry_is_warned_at_once(app) {
        let token = app.client().await.sign_in("user01").await;
        app.clock.advance(Duration::from_hours(8) - Duration::from_secs(30));
        let mut socket = app.socket("employee", &token).await;
        assert_eq!(socket.event("ending").await["content"]["expires_in"], 30);
        socket.is_quiet().await;
        app.clock.advance(Duration::from_secs(30));
        socket.ends_soon(4401, "expired").await;
    }

    async fn a_desk_that_leaves_says_so() {
        let mut app = TestApp::start().await;
        let token = app.client().await.sign_in("agent01").await;
        let mut sockets = [app.socket("employee", &token).await, app.socket("agent", &token).await];
        app.ask_to_stop();
        for socket in &mut sockets {
            socket.ends_soon(1012, "restarting").await;
        }
        app.stop().await;
    }

    async fn a_client_that_says_goodbye_is_answered_and_gone(app) {
        let token = app.client().await.sign_in("user01").await;
        let mut socket = app.socket("employee", &token).await;
        socket.frame(0x88, &[&1000_u16.to_be_bytes()[..], b"bye"].concat()).await;
        socket.ends_soon(1000, "bye").await;
        assert!(socket.rest().await.is_ok());
        until(&app, 0).await;
    }
}
