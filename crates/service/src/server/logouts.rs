//! Tells OpenID Connect clients that sessions have ended.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use crate::app::current::CurrentApp;
use crate::app::logout_client;

/// How often the task looks for logouts of other nodes, for expired sessions and for retries.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The same where there are no clients. The first client wakes the task.
const IDLE_POLL_INTERVAL: Duration = Duration::from_secs(30);
/// How long the task waits after it failed, so that a store that is down is not asked without pause.
const FAILURE_PAUSE: Duration = Duration::from_secs(2);

/// Delivers logouts until it is dropped. A failure is only logged.
pub(super) async fn deliver(mut app: CurrentApp, name_server: Option<SocketAddr>) {
    let sender = match logout_client::open(name_server) {
        Ok(sender) => sender,
        Err(error) => {
            tracing::error!(%error, "OpenID Connect clients are not told about the end of sessions");
            return;
        }
    };
    let mut is_failing = false;
    loop {
        app.refresh();
        match app.auth.deliver_logouts(&sender).await {
            Ok(0) => {
                is_failing = false;
                let has_clients = app.auth.oidc_is_on().await.unwrap_or(true);
                let interval = if has_clients { POLL_INTERVAL } else { IDLE_POLL_INTERVAL };
                drop(timeout(interval, app.auth.logouts_due.notified()).await);
            }
            Ok(_) => is_failing = false,
            Err(error) => {
                if !is_failing {
                    tracing::warn!(%error, "cannot read logouts");
                }
                is_failing = true;
                sleep(FAILURE_PAUSE).await;
            }
        }
    }
}
