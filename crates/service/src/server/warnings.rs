//! Warnings of the service log about the settings and their files.

use crate::App;
use crate::app::own_pages;
use crate::secret_files::exposed_files;

/// Logs what is weaker than necessary.
pub(super) fn log_warnings(app: &App) {
    for warning in app.settings.warnings() {
        tracing::warn!("{warning}");
    }
    for file in exposed_files(&app.settings.secret_files) {
        tracing::warn!("{}", file.warning());
    }
    if let Some(warning) = own_pages::warning(&app.settings) {
        tracing::warn!("{warning}");
    }
}
