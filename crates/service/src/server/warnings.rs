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

/// Logs how to appoint the first administrator, where there is none.
pub(super) async fn log_missing_administrator(app: &App) {
    if app.administrators().await == Some("none") {
        tracing::warn!(
            "nobody administers the desk yet: run `deskpass role grant EMPLOYEE admin` for a person who has signed in, or \
             `deskpass employee add EMPLOYEE --role admin --role user`"
        );
    }
}
