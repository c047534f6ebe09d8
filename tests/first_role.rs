//! The role with which a session begins: one that the client is for, where the person holds one.

use serde_json::{Value, json};
use url::Url;

use crate::harness::{Client, fragment, location};

/// Signs in by a code that this client shows; returns the active role.
async fn by_code(client: &mut Client, page: &str, who: &str) -> Value {
    let qrcode = client.get(&format!("/api/auth/qrcode?client={page}"), &[]).await.data();
    let confirm = client.scan_as(&qrcode, who).await;
    client.decide("confirm", &confirm).await.data();
    let status = client.scan_status(qrcode["ticket"].as_str().unwrap()).await;
    client.verify(status["token"].as_str().unwrap()).await["current_role"].clone()
}

/// Signs in through the platform from the page of this client; returns the active role.
async fn by_link(client: &mut Client, page: &str, who: &str) -> Value {
    let (link, cookies) = client.begin_oauth(&format!("http://localhost/{page}/")).await;
    let back = client.authorize(&link, who).await;
    let landed = client.oauth_callback(&back, &cookies).await;
    let ticket = fragment(location(&landed), "ticket");
    let headers = [("cookie", &*cookies)];
    let status = client.get(&format!("/api/auth/scan/status?ticket={ticket}"), &headers).await.data();
    client.verify(status["token"].as_str().unwrap()).await["current_role"].clone()
}

on_one_store! {
    async fn a_session_begins_with_a_role_that_its_client_is_for(app) {
        let mut client = app.client().await;
        for (page, who, role) in [
            ("itadmin", "security01", "security"),
            ("itadmin", "supervisor01", "supervisor"),
            ("itagent", "supervisor01", "supervisor"),
            ("itadmin", "admin01", "admin"),
            ("itagent", "admin01", "admin"),
            ("itagent", "agent01", "agent"),
            // None of their roles is for the client: it says so.
            ("itadmin", "agent01", "agent"),
            ("itagent", "security01", "user"),
            ("itadmin", "user01", "user"),
            ("h5", "security01", "user"),
            ("h5", "supervisor01", "user"),
            ("h5", "admin01", "admin"),
        ] {
            assert_eq!(by_code(&mut client, page, who).await, role, "{who} by a code at {page}");
            assert_eq!(by_link(&mut client, page, who).await, role, "{who} by a link at {page}");
        }
        // Agents send a code of the platform to their own door, too.
        for (who, role) in [("supervisor01", "supervisor"), ("agent01", "agent"), ("admin01", "admin")] {
            let (link, _) = client.begin_oauth("http://localhost/itagent/").await;
            let back = Url::parse(&client.authorize(&link, who).await).unwrap();
            let code = back.query_pairs().find(|(name, _)| name == "code").unwrap().1.into_owned();
            let login = json!({ "employee_id": who, "code": code });
            let session = client.post("/api/agents/login", &[], &login).await.data();
            assert_eq!(session["current_role"], role, "{who} at agents/login");
        }
        // A request that names no client, and the ways to sign in that the specification describes, begin with the highest role.
        let token = client.sign_in_by_phone("security01").await;
        assert_eq!(client.verify(&token).await["current_role"], "user");
        let bound = client.post("/api/auth/bind", &[], &json!({ "employee_id": "supervisor01" })).await.data();
        assert_eq!(bound["current_role"], "user");
    }

    /// A role that may not be used at the address does not count as one that fits.
    async fn the_first_role_is_allowed_at_the_address(app) {
        let mut client = app.client().await;
        // Its first password ends other sessions.
        let device = app.agent_with_device("admin01").await;
        let token = client.sign_in("admin01").await;
        let lists = json!({ "admin": [], "agent": [], "user": [], "supervisor": ["10.0.0.0/8"], "security": [] });
        let bearer = format!("Bearer {token}");
        let code = device.next_code();
        let headers = [("authorization", &*bearer), ("x-otp-code", &*code), ("content-type", "application/json")];
        let body = lists.to_string();
        client.send(&crate::harness::request("PUT", "/api/admin/ip-rules", &headers, body.as_bytes())).await.data();
        assert_eq!(by_code(&mut client, "itadmin", "supervisor01").await, "user");
        assert_eq!(by_code(&mut client, "itadmin", "security01").await, "security");
    }
}
