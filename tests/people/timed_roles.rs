//! Temporary roles: they end by themselves on every node, and the person is told before.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Desk, control};
use crate::cluster::soon;
use crate::harness::{Device, Messenger, Response, StoreBackend, message_text, until};
use crate::notices::{inbox, settled};

const TEMPORARY: &str = "/api/admin/roles/temporary";
const MINUTE: Duration = Duration::from_mins(1);

impl Desk {
    /// Gives an employee a temporary role, with a fresh code.
    async fn give(&mut self, admin: (&str, &Device), who: &str, role: &str, minutes: u64) -> Response {
        let body = json!({ "employee_id": who, "role": role, "minutes": minutes, "reason": "on call" });
        let (token, code) = (admin.0, admin.1.next_code());
        self.client.admin_request(token, &code, "POST", TEMPORARY, &body).await
    }

    /// Where an employee has a role from.
    async fn origin(&mut self, admin: &str, who: &str, role: &str) -> Value {
        let path = format!("/api/admin/employees/{}/{who}", Messenger::current().corp_id);
        let details = self.client.get_as(admin, &path).await.data();
        let origins = details["role_origins"].as_array().unwrap();
        origins.iter().find(|origin| origin["role"] == role).cloned().unwrap_or_default()
    }

    /// Waits until an employee has these roles.
    async fn until_roles(&mut self, token: &str, expected: &[&str]) {
        until(&format!("{expected:?}"), async || self.roles(token).await == expected).await;
    }
}

on_every_store! {
    async fn a_role_ends_by_itself_and_its_holder_is_told_before() {
        let mut desk = Desk::without_events().await;
        let (admin, device) = desk.app.administrator().await;
        let token = desk.sign_in_as_user("user01").await;
        let until_when = desk.give((admin.as_str(), &device), "user01", "supervisor", 30).await.data()["until"].clone();
        assert_eq!(desk.roles(&token).await, ["supervisor", "user"]);
        let origin = desk.origin(&admin, "user01", "supervisor").await;
        let expected =
            json!({ "role": "supervisor", "by_hand": false, "by_rule": false, "until": until_when, "reason": "on call" });
        assert_eq!(origin, expected);
        settled(&desk.app).await;
        control(&mut desk.client, "DELETE", "inbox", &json!(null)).await;
        // Nineteen minutes in, nobody is told; after twenty they are, once.
        desk.app.clock.advance(MINUTE * 19);
        assert_eq!(Box::pin(desk.app.auth().end_due_roles()).await.unwrap(), 0);
        assert_eq!(desk.app.query("SELECT count(*) FROM notice"), ["0"]);
        desk.app.clock.advance(MINUTE * 2);
        until("the notice", async || !inbox(&mut desk.client).await.is_empty()).await;
        Box::pin(desk.app.auth().end_due_roles()).await.unwrap();
        settled(&desk.app).await;
        let told = inbox(&mut desk.client).await;
        assert_eq!((told.len(), &told[0]["touser"]), (1, &json!(["user01"])), "{told:?}");
        let text = message_text(&told[0]);
        assert!(text.contains("your role supervisor ends at ") && text.contains("您的角色 supervisor 将于 "), "{text}");
        assert_eq!(desk.roles(&token).await, ["supervisor", "user"]);

        desk.app.clock.advance(MINUTE * 10);
        desk.until_roles(&token, &["user"]).await;
        let rows = "SELECT event, detail FROM login_log WHERE employee_key = 'user01' AND event IN ('roles_changed', 'role_ended') ORDER BY rowid";
        let given = "roles_changed|+supervisor for 30 minutes: on call";
        // The role ends by its time; the row follows.
        until("the row", async || desk.app.query(rows) == [given, "role_ended|-supervisor"]).await;
    }

    async fn a_session_in_the_role_ends_being_so() {
        let mut desk = Desk::without_events().await;
        let (admin, device) = desk.app.administrator().await;
        desk.give((admin.as_str(), &device), "user01", "agent", 5).await.data();
        let login = json!({ "employee_id": "user01", "role": "agent" });
        let token = desk.client.post("/api/dev/login", &[], &login).await.data()["token"].as_str().unwrap().to_owned();
        let mut socket = desk.app.socket("agent", &token).await;
        desk.app.clock.advance(MINUTE * 6);
        socket.ends_with(4403, "role_taken_away").await;
        assert_eq!(desk.client.me(&token).await.refused(403, 1003).reason(), "role_taken_away");
        // The end of a short one is not announced.
        settled(&desk.app).await;
        let told = inbox(&mut desk.client).await;
        assert!(!told.iter().any(|message| message_text(message).contains("your role")), "{told:?}");
        desk.client.switch(&token, "user").await.data();
    }

    async fn ends_are_replaced_and_what_is_held_for_good_stays() {
        let mut desk = Desk::without_events().await;
        let (admin, device) = desk.app.administrator().await;
        let (by, token) = ((admin.as_str(), &device), desk.sign_in_as_user("user01").await);
        desk.give(by, "user01", "security", 60).await.data();
        // A shorter time replaces a longer one.
        desk.give(by, "user01", "security", 5).await.data();
        desk.app.clock.advance(MINUTE * 6);
        desk.until_roles(&token, &["user"]).await;
        // By hand, it is permanent.
        desk.give(by, "user01", "security", 5).await.data();
        desk.app.auth().operator().grant(desk.app.key("user01"), "security").await.unwrap();
        desk.give(by, "user01", "security", 5).await.refused(409, 1019);
        desk.app.clock.advance(MINUTE * 6);
        Box::pin(desk.app.auth().end_due_roles()).await.unwrap();
        assert_eq!(desk.roles(&token).await, ["security", "user"]);
        // Revoked by hand, it ends at once.
        desk.give(by, "user01", "supervisor", 60).await.data();
        assert!(desk.app.auth().operator().revoke(desk.app.key("user01"), "supervisor").await.unwrap());
        assert_eq!(desk.roles(&token).await, ["security", "user"]);
        for (who, minutes, status) in [("nobody", 30, 404), ("user01", 4, 400), ("user01", 43_201, 400)] {
            assert_eq!(desk.give(by, who, "agent", minutes).await.status, status, "{who} {minutes}");
        }
    }

    /// Who would be the last administrator when the time is over is not a second one.
    async fn a_temporary_administrator_replaces_nobody() {
        let mut desk = Desk::without_events().await;
        let (admin, device) = desk.app.administrator().await;
        desk.give((admin.as_str(), &device), "user01", "admin", 60).await.data();
        let without = json!({ "employee_id": "admin01", "roles": ["user"] });
        let code = device.next_code();
        let refused = desk.client.admin_request(&admin, &code, "PUT", "/api/admin/roles/user-roles", &without).await;
        assert_eq!(refused.refused(409, 1019).reason(), "last_admin");
        let user = desk.sign_in_as_user("user01").await;
        assert_eq!(desk.roles(&user).await, ["admin", "user"]);
        desk.app.clock.advance(MINUTE * 61);
        desk.until_roles(&user, &["user"]).await;
    }
}

/// Of two nodes that find the same role, one ends it; both refuse it within a second.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_ends_on_every_node_once() {
    let test = async {
        let mut desk = Desk::without_events().await;
        let other = desk.app.second_node().await;
        let mut there = other.client().await;
        let (admin, device) = desk.app.administrator().await;
        for who in ["user01", "security01", "norole01"] {
            desk.give((admin.as_str(), &device), who, "agent", 30).await.data();
        }
        let token = desk.sign_in_as_user("user01").await;
        soon("a temporary role", async || there.verify(&token).await["roles"] == json!(["agent", "user"])).await;
        desk.app.clock.advance(MINUTE * 31);
        // Half a second until a node looks, and a second until the other one knows.
        until("the end of a role", async || desk.client.verify(&token).await["roles"] == json!(["user"])).await;
        soon("the end of a role", async || there.verify(&token).await["roles"] == json!(["user"])).await;
        let rows = "SELECT count(*) FROM login_log WHERE event = 'role_ended'";
        until("all ends", async || desk.app.query(rows) == ["3"]).await;
        assert_eq!(Box::pin(other.auth().end_due_roles()).await.unwrap(), 0);
        assert_eq!(desk.app.query(rows), ["3"]);
    };
    StoreBackend::ScaledOut.run(Box::pin(test)).await;
}
