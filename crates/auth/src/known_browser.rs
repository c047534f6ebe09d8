//! Known browsers: browsers in which an agent has signed in before.

use std::time::Duration;

use deskpass_core::{EmployeeKey, KnownBrowser, Secret};

use crate::{Auth, Error};

/// How long a browser stays known after a sign-in.
const KNOWN_BROWSER_LIFETIME: Duration = Duration::from_hours(90 * 24);

impl Auth {
    /// Remembers an agent's browser, or renews it. Returns its cookie: the presented one if it is known, otherwise a new one.
    pub async fn remember_browser(
        &self,
        agent: &EmployeeKey,
        presented: Option<Secret<KnownBrowser>>,
    ) -> Result<(Secret<KnownBrowser>, Duration), Error> {
        let now = self.clock.now();
        let browser = match presented {
            Some(presented) if self.store.is_browser_known(presented.digest(), now).await? => presented,
            _ => Secret::generate(&self.entropy)?,
        };
        self.store.remember_browser(browser.digest(), agent.clone(), now + KNOWN_BROWSER_LIFETIME).await?;
        Ok((browser, KNOWN_BROWSER_LIFETIME))
    }
}
