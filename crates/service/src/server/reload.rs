//! Reloads the settings of the running service: all that can change does so at once, or nothing does.

use std::sync::{Arc, Mutex, PoisonError};

use deskpass_core::oidc::ClientRegistration;
use deskpass_core::opaque_debug;
use tokio::sync::watch;
use tokio::task::spawn_blocking;

use super::warnings::log_warnings;
use crate::app::current::CurrentApp;
use crate::config::{ConfigError, LogLevel, ResolvedSettings, Settings, SettingsDiff};
use crate::{App, StartError, service_manager};

/// Where the settings come from, and what depends on them outside the service.
pub struct SettingsSource {
    /// The settings as they were read at start.
    pub settings: Settings,
    /// The same with their origins.
    pub resolved: ResolvedSettings,
    /// Reads them again, from the same sources as at start.
    pub read: Box<dyn Fn() -> ResolvedSettings + Send + Sync>,
    /// Adapts them to what this process may use.
    pub adapt: fn(&mut Settings),
    /// Changes the level of the log.
    pub set_log_level: Box<dyn Fn(LogLevel) + Send + Sync>,
}

opaque_debug!(SettingsSource);

/// Why a reload changed nothing.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// The settings are invalid.
    #[error(transparent)]
    Settings(#[from] ConfigError),
    /// The settings are valid, but not together with those that stay as they are until a restart.
    #[error("{0}\nthe new settings fit together only after a restart: restart the service; nothing was reloaded")]
    NeedsRestart(ConfigError),
    /// Something that the settings name cannot be used.
    #[error(transparent)]
    Parts(#[from] StartError),
    /// Development mode was turned on or off.
    #[error(
        "development.enabled has changed, and the defaults of other settings depend on it: restart the service; nothing \
         was reloaded"
    )]
    Mode,
    /// The service was started without a source of settings.
    #[error("this service has no settings to read again")]
    NoSource,
    /// The reload panicked.
    #[error("the reload failed unexpectedly; the service goes on with its settings")]
    Panicked,
}

/// Reloads the settings. Clones share the service.
#[derive(Clone, Debug)]
pub struct Reloader(Arc<ReloaderState>);

#[derive(Debug)]
struct ReloaderState {
    newest: watch::Sender<App>,
    source: Option<Mutex<SettingsSource>>,
}

impl Reloader {
    pub(super) fn new(app: App, source: Option<SettingsSource>) -> Self {
        Self(Arc::new(ReloaderState { newest: watch::Sender::new(app), source: source.map(Mutex::new) }))
    }

    /// The service, which follows the reloads.
    pub(super) fn current(&self) -> CurrentApp {
        CurrentApp::new(self.0.newest.subscribe())
    }

    /// Reads the settings again and applies what can change without a restart. After an error nothing has changed. The log and
    /// the metrics report the result.
    pub async fn reload(&self) -> Result<SettingsDiff, ReloadError> {
        let (state, before) = (Arc::clone(&self.0), self.current());
        let applied = spawn_blocking(move || state.apply()).await;
        let result = applied.unwrap_or_else(|_| {
            let result = Err(ReloadError::Panicked);
            self.0.report(&result);
            result
        });
        match &result {
            Ok(diff) => {
                let (reloaded, need_restart) = (diff.reloaded.join(", "), diff.need_restart.join(", "));
                tracing::info!(reloaded, need_restart, "settings reloaded");
                log_warnings(&self.current());
                end_grants_of_former_clients(&before, &self.current()).await;
            }
            Err(error) => {
                let problems = error.to_string().replace('\n', "; ");
                tracing::error!(problems, "settings not reloaded: nothing was changed");
            }
        }
        result
    }
}

/// Ends what clients got that are no longer in the settings file, or whose new registration may permit less. They are told.
async fn end_grants_of_former_clients(before: &App, now: &App) {
    let (former, clients) = (&before.auth.policy.oidc.clients, &now.auth.policy.oidc.clients);
    for (id, client) in former.iter() {
        if clients.get(id).is_some_and(|new| keeps_grants(&client.registration, &new.registration)) {
            continue;
        }
        match now.auth.operator().end_grants_of_file_client(id, &client.registration).await {
            Ok(0) => {}
            Ok(ended) => tracing::info!(client = %id, ended, "the settings changed a client: what it got has ended"),
            Err(error) => {
                tracing::error!(client = %id, %error, "could not end what a former client of the settings got");
            }
        }
    }
}

/// Whether a client keeps what it got when its registration changes.
fn keeps_grants(old: &ClientRegistration, new: &ClientRegistration) -> bool {
    let same_access = old.roles == new.roles && old.corporations == new.corporations;
    same_access && old.kind == new.kind && old.scopes == new.scopes
}

impl ReloaderState {
    /// Reloads the settings, and reports the result to metrics and service manager.
    fn apply(&self) -> Result<SettingsDiff, ReloadError> {
        // The lock makes reloads follow one another, so that the last result is the one reported. A panic cannot leave anything half
        // changed.
        let source = self.source.as_ref().ok_or(ReloadError::NoSource)?;
        let mut source = source.lock().unwrap_or_else(PoisonError::into_inner);
        service_manager::reloading();
        let result = self.replace(&mut source);
        self.report(&result);
        result
    }

    /// Records the result for the metrics, and tells the service manager, which shows it as the status of the service.
    fn report(&self, result: &Result<SettingsDiff, ReloadError>) {
        let app = self.newest.borrow().clone();
        app.reload_status.record(result.is_ok(), app.auth.clock.now());
        match result {
            Ok(diff) => service_manager::status(&describe(diff)),
            Err(error) => service_manager::status(&format!("settings not reloaded: {error}")),
        }
        service_manager::ready();
    }

    /// Makes the service with the new settings, and replaces the running one when everything in it is ready.
    fn replace(&self, source: &mut SettingsSource) -> Result<SettingsDiff, ReloadError> {
        let resolved = (source.read)();
        let new = resolved.check()?;
        if new.development.enabled != source.settings.development.enabled {
            return Err(ReloadError::Mode);
        }
        let resolved = resolved.keep_fixed(&source.resolved).map_err(ReloadError::NeedsRestart)?;
        let running = self.newest.borrow().clone();
        let (settings, mut diff) = source.settings.reload(new);
        // Port 0 stands for the port that was selected at start.
        let mut adapted = settings.clone().with_listen_address(running.settings.listen);
        (source.adapt)(&mut adapted);
        let app = running.reloaded(adapted)?;
        app.add_changed_files(&running, &mut diff);
        (source.set_log_level)(settings.log.level);
        let tls_ended = running.tls.is_some() && app.tls.is_none();
        running.follow(self.newest.subscribe());
        self.newest.send_replace(app);
        if tls_ended {
            running.clear_certificate_gauge();
        }
        (source.settings, source.resolved) = (settings, resolved);
        Ok(diff)
    }
}

/// The result of a reload, for the operator.
pub(super) fn describe(diff: &SettingsDiff) -> String {
    let reloaded = match diff.reloaded.as_slice() {
        [] => "nothing to reload".to_owned(),
        names => format!("reloaded: {}", names.join(", ")),
    };
    match diff.need_restart.as_slice() {
        [] => reloaded,
        names => format!("{reloaded}; needs a restart: {}", names.join(", ")),
    }
}
