//! Answers questions as the phone of the person who was asked.

use serde_json::{Value, json};

use super::{Response, TestApp, fragment};

impl TestApp {
    /// Opens the newest link that the platform delivered to `who` on their phone, and answers there: with a number, or with a
    /// refusal. `kind` is `approval` or `verification`. For a service with the built-in simulated platform.
    pub(crate) async fn answer_on_phone(&self, who: &str, kind: &str, number: Option<u64>) -> Response {
        let mut phone = self.client().await;
        let inbox: Value = serde_json::from_str(&phone.get("/sim/inbox", &[]).await.body).unwrap();
        let is_for = |message: &&Value| message["touser"] == json!([who]) && message["url"].is_string();
        let newest = inbox["messages"].as_array().unwrap().iter().rev().find(is_for);
        let newest = newest.unwrap_or_else(|| panic!("no message to {who} has a link: {inbox}"));
        let landed = phone.scan(&json!({ "qrcode_url": newest["url"] }), who).await;
        let secret = fragment(&landed, "answer");
        let (word, value) = number.map_or(("refuse", json!(true)), |number| ("number", json!(number)));
        let path = if kind == "approval" { "/api/auth/approvals/answer" } else { "/api/verifications/answer" };
        phone.post(path, &[], &json!({ kind: secret, word: value })).await
    }
}
