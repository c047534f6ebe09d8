//! The service with the settings of the last reload.

use std::ops::Deref;

use tokio::sync::watch;

use super::App;

/// The service as of the last call of [`CurrentApp::refresh`]. A request or a round of a task keeps one service to its end, so that
/// it never sees a part of the old settings and a part of the new ones.
#[derive(Clone, Debug)]
pub(crate) struct CurrentApp {
    app: App,
    newest: watch::Receiver<App>,
}

impl CurrentApp {
    pub(crate) fn new(mut newest: watch::Receiver<App>) -> Self {
        let app = newest.borrow_and_update().clone();
        Self { app, newest }
    }

    /// Changes to the newest service. Costs one atomic read unless there was a reload.
    pub(crate) fn refresh(&mut self) -> &App {
        // It fails when the server has ended. Then there is no newer one.
        if self.newest.has_changed().unwrap_or(false) {
            self.app = self.newest.borrow_and_update().clone();
        }
        &self.app
    }
}

impl Deref for CurrentApp {
    type Target = App;

    fn deref(&self) -> &App {
        &self.app
    }
}
