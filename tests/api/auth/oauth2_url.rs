//! GET /api/auth/oauth2/url without an application id.

use crate::harness::{TestApp, encoded};

on_one_store! {
    async fn without_an_agent_id_the_link_has_none_and_there_is_no_web_link() {
        let app = TestApp::production().await;
        let mut client = app.client().await;
        let page = encoded("https://desk.example.com/h5/");
        let url = client.get(&format!("/api/auth/oauth2/url?redirect_uri={page}"), &[]).await.data();
        assert!(!url["authorize_url"].as_str().unwrap().contains("agentid"));
        let web = client.get(&format!("/api/auth/oauth2/url?redirect_uri={page}&mode=web"), &[]).await;
        assert!(web.refused(400, 1002).json()["data"]["fields"]["mode"].as_str().unwrap().contains("platform.agent_id"));
    }
}
