//! Follows people at the platform: events, people with sessions, the directory, and roles that end by themselves.

use std::sync::Arc;
use std::time::Duration;

use deskpass_auth::SyncReport;
use deskpass_core::RoleRule;
use futures_util::FutureExt as _;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::app::current::CurrentApp;

/// How often the task looks for events that another node stored, and for retries.
const EVENT_INTERVAL: Duration = Duration::from_secs(1);
/// How often the task looks for roles whose time is over.
const ROLE_INTERVAL: Duration = Duration::from_millis(500);
/// How often the tasks look for people to be checked and for a synchronisation that is due. Each node looks; one does it.
const CHECK_INTERVAL: Duration = Duration::from_mins(1);
/// How long a task waits after it failed, so that a store that is down is not asked without pause.
const FAILURE_PAUSE: Duration = Duration::from_secs(2);

/// Starts the tasks. A failure of one is only logged.
pub(super) fn spawn(tasks: &mut JoinSet<()>, app: &CurrentApp) {
    tasks.spawn(handle_events(app.clone()).boxed());
    tasks.spawn(note_holder_source(app.clone()).boxed());
    tasks.spawn(end_roles(app.clone()).boxed());
    tasks.spawn(recheck(app.clone()).boxed());
    tasks.spawn(synchronise(app.clone()).boxed());
}

/// Records once where the platform's ids of people come from.
async fn note_holder_source(mut app: CurrentApp) {
    if let Err(error) = app.refresh().auth.note_holder_source().await {
        tracing::warn!(%error, "cannot record where the platform's ids of people come from");
    }
}

/// Handles events until it is dropped.
async fn handle_events(mut app: CurrentApp) {
    let mut is_failing = false;
    loop {
        app.refresh();
        match app.auth.handle_events().await {
            Ok(0) => {
                is_failing = false;
                drop(timeout(EVENT_INTERVAL, app.auth.events_due.notified()).await);
            }
            Ok(_) => is_failing = false,
            Err(error) => {
                if !is_failing {
                    tracing::warn!(%error, "cannot handle events of the platform");
                }
                is_failing = true;
                sleep(FAILURE_PAUSE).await;
            }
        }
    }
}

/// Ends roles until it is dropped.
async fn end_roles(mut app: CurrentApp) {
    let mut is_failing = false;
    loop {
        let ended = app.refresh().auth.end_due_roles().await;
        if let Err(error) = &ended
            && !is_failing
        {
            tracing::warn!(%error, "cannot end roles whose time is over");
        }
        is_failing = ended.is_err();
        sleep(if is_failing { FAILURE_PAUSE } else { ROLE_INTERVAL }).await;
    }
}

/// Checks people with sessions until it is dropped.
async fn recheck(mut app: CurrentApp) {
    loop {
        if let Err(error) = app.refresh().auth.watch_people_with_sessions().await {
            tracing::warn!(%error, "cannot look for people with sessions");
        }
        drop(timeout(CHECK_INTERVAL, app.auth.recheck_due.notified()).await);
        match app.refresh().auth.recheck().await {
            Ok(0) => {}
            Ok(checked) => tracing::debug!(checked, "people with sessions checked at the platform"),
            Err(error) => tracing::warn!(%error, "cannot check people with sessions at the platform"),
        }
    }
}

/// Synchronises with the directory, and applies role rules that a start or a reload changed, until it is dropped.
async fn synchronise(mut app: CurrentApp) {
    let mut applied_rules: Option<Arc<Vec<RoleRule>>> = None;
    loop {
        sleep(CHECK_INTERVAL).await;
        let rules = Some(Arc::clone(&app.refresh().auth.policy.people.role_rules));
        if applied_rules != rules && apply_rules(&app).await {
            applied_rules = rules;
        }
        match app.auth.synchronise_if_due().await {
            Ok(None) => {}
            Ok(Some(report)) => log(&report),
            Err(error) => tracing::warn!(%error, "cannot synchronise with the platform's directory"),
        }
    }
}

/// Applies the role rules of the settings, after a start or a reload that changed them; `false` if that failed.
async fn apply_rules(app: &CurrentApp) -> bool {
    match app.auth.apply_rules_of_settings().await {
        Ok(effects) => {
            if !effects.is_empty() {
                tracing::info!(people = effects.len(), "roles changed by the rules of the settings");
            }
            true
        }
        Err(error) => {
            tracing::warn!(%error, "cannot apply the role rules of the settings");
            false
        }
    }
}

fn log(report: &SyncReport) {
    tracing::info!(
        departments = report.departments,
        members = report.members,
        updated = report.updated.len(),
        left = report.left.len(),
        returned = report.returned.len(),
        roles = report.roles.len(),
        halted = report.halted,
        "synchronised with the platform's directory"
    );
}
