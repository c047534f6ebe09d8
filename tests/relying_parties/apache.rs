//! Apache with `mod_auth_openidc`: its pages open with a sign-in, and close at once when the session ends, for whatever reason.

use std::time::Duration;

use deskpass_core::oidc::SigningAlgorithm;
use deskpass_core::oidc::SigningAlgorithm::{Es256, Rs256};

use super::apache_server::Apache;
use super::visitor::Visitor;
use super::{issuer, provider};
use crate::harness::{TestApp, until};

/// A service, and an Apache whose pages it protects.
struct Site {
    app: TestApp,
    issuer: String,
    apache: Apache,
}

impl Site {
    async fn start(algorithms: &[SigningAlgorithm]) -> Self {
        let app = provider().await;
        let issuer = issuer(&app);
        let apache = Apache::start(&app, &issuer, algorithms).await;
        Self { app, issuer, apache }
    }

    /// Signs a user in at a host; returns the browser.
    async fn sign_in(&self, host: usize, user: &'static str) -> Visitor {
        let mut visitor = Visitor::of(&self.app, &self.issuer, user).await;
        let page = visitor.open(&self.apache.at(host, "/staff/")).await;
        let shown = format!("<p>user {user}</p>");
        assert!(page.answer.status == 200 && page.answer.body.contains(&shown), "{page:?}\n{}", self.apache.log());
        visitor
    }

    /// Whether the browser sees the host's page without another sign-in.
    async fn is_open(&self, host: usize, visitor: &mut Visitor) -> bool {
        let answer = visitor.load(&self.apache.at(host, "/staff/")).await;
        assert!(matches!(answer.status, 200 | 302), "{answer:?}\n{}", self.apache.log());
        answer.status == 200
    }

    /// Waits until the page is closed to the browser.
    async fn closed(&self, why: &str, host: usize, visitor: &mut Visitor) {
        until(why, async || !self.is_open(host, visitor).await).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_apache_closes_when_the_session_ends() {
    let site = Site::start(&[Rs256, Es256]).await;
    let mut stays = site.sign_in(0, "user01").await;
    for host in [0, 1] {
        let mut visitor = site.sign_in(host, "user01").await;
        let token = visitor.token();
        site.app.client().await.logout(&token).await.data();
        site.closed("a sign-out at the service", host, &mut visitor).await;

        let mut visitor = site.sign_in(host, "supervisor01").await;
        site.app.auth().operator().end_sessions_of(site.app.key("supervisor01")).await.unwrap();
        site.closed("an administrator ended the session", host, &mut visitor).await;
    }
    let mut visitor = site.sign_in(0, "supervisor01").await;
    site.app.auth().operator().disable(site.app.key("supervisor01")).await.unwrap();
    site.closed("the person was disabled", 0, &mut visitor).await;
    assert!(site.is_open(0, &mut stays).await, "the others stay");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_apache_closes_when_a_role_is_gone() {
    let site = Site::start(&[Es256]).await;
    let (mut agent, mut user) = (site.sign_in(0, "agent01").await, site.sign_in(0, "user01").await);
    let page = site.apache.at(0, "/agents/");
    let open = agent.open(&page).await.answer;
    assert!(open.status == 200 && open.body.contains("role:agent"), "{open:?}");
    // Its groups are not enough for Apache.
    assert_eq!(user.open(&page).await.answer.status, 401);

    site.app.auth().operator().revoke(site.app.key("agent01"), "agent").await.unwrap();
    site.closed("a role was taken away", 0, &mut agent).await;
    assert!(site.is_open(0, &mut user).await, "the others stay");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sign_out_in_apache_ends_the_session_and_returns() {
    let site = Site::start(&[Es256, Es256]).await;
    let mut visitor = site.sign_in(0, "user01").await;
    // The same session at the other host, after one press.
    assert!(visitor.open(&site.apache.at(1, "/staff/")).await.answer.status == 200);
    let (token, bye) = (visitor.token(), site.apache.at(0, "/bye"));
    let page = visitor.open(&site.apache.at(0, &format!("/cb?logout={}", crate::harness::encoded(&bye)))).await;
    assert_eq!((page.answer.status, &*page.answer.body), (200, "bye"), "{page:?}");
    assert!(page.address.starts_with(&bye), "{page:?}");
    assert!(!site.app.client().await.is_valid(&token).await);
    site.closed("a sign-out at one host", 0, &mut visitor).await;
    site.closed("a sign-out at one host closes the other", 1, &mut visitor).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn apache_is_told_when_it_returns_and_when_the_time_is_over() {
    let mut site = Site::start(&[Es256]).await;
    let mut visitor = site.sign_in(0, "user01").await;
    site.apache.stop();
    let token = visitor.token();
    site.app.client().await.logout(&token).await.data();
    let tries = "SELECT tries FROM oidc_logout WHERE status <> ''";
    until("a first attempt fails", async || !site.app.query(tries).is_empty()).await;
    site.apache.start_again().await;
    assert!(site.is_open(0, &mut visitor).await, "its sessions survive a restart");
    until("it is told when it has returned", async || {
        // The next attempt is due after a pause of seconds.
        let due = site.app.query("SELECT due_at FROM oidc_logout").pop().and_then(|due| due.parse::<i64>().ok());
        let pause = due.map_or(0, |due| due - site.app.clock.now().millis());
        if (1..=6_000).contains(&pause) {
            site.app.clock.advance(Duration::from_millis(pause.unsigned_abs()));
        }
        !site.is_open(0, &mut visitor).await
    })
    .await;

    let mut visitor = site.sign_in(0, "user01").await;
    site.app.clock.advance(Duration::from_mins(5) + Duration::from_secs(1));
    site.closed("the session expired", 0, &mut visitor).await;
    until("nothing is left to tell", async || site.app.query("SELECT sid FROM oidc_logout").is_empty()).await;
}
