//! Programs whose pages do the work: a real browser signs their user in, with the service's own page in between.

use deskpass_core::oidc::{ClientKind, ClientRegistration};
use serde_json::json;

use super::program::Program;
use super::registered::Registered;
use super::{DOMAIN, provider};
use crate::harness::{Browser, Driver, Options, TestApp, fragment, until};

/// Signs in at the service's page with the phone.
async fn scan(browser: &Browser, app: &TestApp, who: &str) {
    browser.wait_for("#welcome[data-state=waiting]").await;
    let link = browser.script("return document.querySelector('#simulated').href", &[]).await;
    let mut phone = app.client().await;
    let confirm = fragment(&phone.follow_link(link.as_str().unwrap(), who).await, "confirm");
    phone.decide("confirm", &confirm).await.data();
}

/// oidc-client-ts: a page without a server signs in, refreshes, hears of the end at the renewal, and signs out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_without_a_server_signs_its_user_in_and_out() {
    let (app, driver) = (provider().await, Driver::shared());
    let page = Registered::with(&app, "oidc-client-ts", "/callback", |registration, origin| ClientRegistration {
        kind: ClientKind::Public,
        origins: vec![origin.to_owned()],
        ..registration
    });
    let page = page.await;
    let discovery = app.client().await.discovery().await;
    let mut program = Program::node("single_page.mjs", &page.settings(&discovery, ""));
    assert_eq!(program.hear()["address"], page.origin);
    let browser = driver.browser(Options::default()).await;
    let shows = async |words: &str| {
        let shown = "document.querySelector('#state').textContent";
        browser.wait_until(&format!("{shown} === {}", json!(words))).await;
    };
    let known = "Arno Agent role:agent,role:user true";
    browser.goto(&page.at("/")).await;
    shows("nobody").await;
    for round in 0..2 {
        browser.click("#in").await;
        scan(&browser, &app, "agent01").await;
        shows(known).await;
        assert!(browser.url().await.starts_with(&page.at("/callback")));
        browser.click("#refresh").await;
        shows(&format!("{known} again")).await;
        if round == 0 {
            app.auth().operator().end_sessions_of(app.key("agent01")).await.unwrap();
            browser.click("#refresh").await;
            shows("failed: invalid_grant").await;
        }
    }
    browser.click("#out").await;
    shows("nobody").await;
    assert!(browser.url().await.starts_with(&page.at("/bye")));
    // The session is over as well: the next sign-in begins with the code.
    browser.click("#in").await;
    browser.wait_for("#welcome[data-state=waiting]").await;
}

/// Streamlit: `st.login` and `st.logout`, whose address after the sign-out is that of the sign-in.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_streamlit_app_signs_its_user_in_and_out() {
    let (app, driver) = (provider().await, Driver::shared());
    let streamlit = Registered::with(&app, "Streamlit", "/oauth2callback", |registration, _| ClientRegistration {
        post_logout_redirect_uris: registration.redirect_uris.clone(),
        ..registration
    });
    let streamlit = streamlit.await;
    let discovery = app.client().await.discovery().await;
    let program = Program::python("streamlit_app.py", &streamlit.settings(&discovery, ""));
    let address = streamlit.origin.strip_prefix("http://").unwrap();
    until("Streamlit listens", async || tokio::net::TcpStream::connect(address).await.is_ok()).await;
    let browser = driver.browser(Options::default()).await;
    browser.goto(&streamlit.at("/")).await;
    // Streamlit replaces its elements at any time: found and pressed at once.
    let press = async |label: &str| {
        let found = format!("[...document.querySelectorAll('button')].find((b) => b.textContent.trim() === '{label}')");
        browser.wait_until(&format!("((button) => button && (button.click(), true))({found})")).await;
    };
    press("Sign in").await;
    scan(&browser, &app, "agent01").await;
    let shown = format!("Arno Agent agent01@{DOMAIN} role:agent role:user");
    browser.wait_until(&format!("document.body.innerText.includes({})", json!(shown))).await;
    browser.script("window.isSignedIn = true", &[]).await;
    press("Sign out").await;
    browser.wait_until("!window.isSignedIn && location.pathname === '/'").await;
    // The session is over as well.
    assert!(browser.url().await.starts_with(&streamlit.origin), "it returns");
    press("Sign in").await;
    browser.wait_for("#welcome[data-state=waiting]").await;
    drop(program);
}
