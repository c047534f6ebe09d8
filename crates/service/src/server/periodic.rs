//! What the server does in the background, every few seconds and every minute.

use std::time::Duration;

use deskpass_core::MAX_CLOCK_SKEW;
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval};

use crate::App;
use crate::app::clock::clock_difference;
use crate::app::current::CurrentApp;

/// How often the files of the certificate are read.
const CERTIFICATE_INTERVAL: Duration = Duration::from_secs(5);

/// Runs the periodic tasks.
pub(super) async fn run_periodic_tasks(mut app: CurrentApp) {
    let mut minute = interval(Duration::from_mins(1));
    // Missed ticks are not made up for: the clock must follow the machine's slowly.
    minute.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        minute.tick().await;
        run_minute_tasks(app.refresh()).await;
    }
}

/// Removes expired data, every minute. It has a task of its own: a long backlog must not stop the other work, above all the review of the
/// clock.
pub(super) async fn sweep_expired(mut app: CurrentApp) {
    let mut ticks = interval(Duration::from_mins(1));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        sweep(app.refresh()).await;
    }
}

async fn sweep(app: &App) {
    let now = app.auth.clock.now();
    match app.database_time().await {
        Ok(Some(common)) if clock_difference(now, common.at) > MAX_CLOCK_SKEW => {
            // Data that looks expired by this clock may not be, so nothing is swept.
            let ahead_seconds = (now.millis() - common.at.millis()) / 1_000;
            tracing::error!(ahead_seconds, "this node's clock and the database's differ: synchronise both with NTP");
        }
        Ok(_) => {
            if let Err(error) = app.auth.sweep_with_lease().await {
                tracing::warn!(%error, "cannot sweep expired rows");
            }
        }
        Err(error) => tracing::warn!(%error, "cannot read from the store"),
    }
}

/// Reads the certificate again and again. It has a task of its own: a disk that does not respond must not stop the other work.
pub(super) async fn refresh_certificates(mut app: CurrentApp) {
    let mut ticks = interval(CERTIFICATE_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        refresh_certificate(app.refresh()).await;
    }
}

/// Reads the certificate again if its files changed. A disk that does not respond must not block other tasks of this thread.
async fn refresh_certificate(app: &App) {
    let (Some(tls), now) = (app.tls.clone(), app.auth.clock.now()) else { return };
    let refreshed = spawn_blocking(move || {
        let refreshed = tls.refresh(now);
        tls.log_expiry(now);
        refreshed
    });
    match refreshed.await {
        Ok(Ok(true)) => tracing::info!("certificate replaced"),
        Ok(Err(error)) => tracing::error!(%error, "new certificate not used: the previous one stays in use"),
        Ok(Ok(false)) | Err(_) => {}
    }
}

/// Writes the summary of anonymous refusals and of failures without a line.
pub(super) async fn summarise_refusals(app: &App) {
    app.failure_log.summarise();
    match app.auth.summarise_refusals().await {
        Ok(0) => {}
        Ok(refusals) => {
            tracing::warn!(refusals, "summarised anonymous refusals beyond the limit in one audit row");
        }
        Err(error) => tracing::warn!(%error, "cannot write the summary of anonymous refusals"),
    }
}

/// The most session uses that are written per minute; the rest wait for the next flush.
const MAX_SESSION_USES_PER_FLUSH: usize = 10_000;

async fn run_minute_tasks(app: &App) {
    app.review_clock().await;
    // Records the time, so that a clock that is behind at the next start does not prolong sessions.
    if let Err(error) = app.auth.store.record_time(app.auth.clock.now()).await {
        tracing::warn!(%error, "cannot write to the store");
    }
    if let Err(error) = app.auth.follow_keys().await {
        tracing::warn!(%error, "cannot read which encryption_key the data uses");
    }
    summarise_refusals(app).await;
    if let Err(error) = app.auth.store.flush_last_uses(MAX_SESSION_USES_PER_FLUSH).await {
        tracing::warn!(%error, "cannot record the last use of sessions");
    }
}
