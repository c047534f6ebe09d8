//! Programs that others wrote sign their users in here, and are compared with a provider that others wrote. `tools/relying-parties`
//! installs them.

mod apache;
mod apache_server;
mod authorize_requests;
mod comparison;
mod in_browser;
mod libraries;
mod program;
mod registered;
mod request_tracker;
mod side;
mod token_requests;
mod visitor;

use deskpass_core::oidc::{ClientRegistration, SigningAlgorithm};
use deskpass_core::{Clock, Timestamp};

use crate::harness::{TestApp, development};

/// The domain of the e-mail addresses.
const DOMAIN: &str = "mail.example.com";

/// A service on the machine's time, since the programs compare it with the times in tokens; the test advances it.
async fn provider() -> TestApp {
    let now = Clock::steady(Timestamp::from_millis(0)).now();
    let settings = development(&[("session.lifetime", "5m"), ("oidc.email_domain", DOMAIN)]);
    TestApp::on_data(settings, Clock::manual(now), async |_, _| {}).await
}

/// The registration of a program at `origin`, whose codes go to `callback`.
fn registration(name: &str, origin: &str, callback: &str) -> ClientRegistration {
    ClientRegistration {
        name: name.to_owned(),
        redirect_uris: vec![format!("{origin}{callback}")],
        post_logout_redirect_uris: vec![format!("{origin}/bye")],
        algorithm: SigningAlgorithm::Rs256,
        ..ClientRegistration::default()
    }
}

/// The issuer of a service.
fn issuer(app: &TestApp) -> String {
    format!("http://{}", app.address)
}
