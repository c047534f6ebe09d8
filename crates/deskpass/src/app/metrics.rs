//! The state of the service, as metrics.

use deskpass_core::ClockTrust;
use deskpass_wecom::Circuit;

use super::App;
use crate::telemetry::Gauges;

impl App {
    /// All metrics in Prometheus' text format.
    pub(crate) fn render_metrics(&self) -> String {
        let auth = &self.auth;
        self.metrics.render(&Gauges {
            cached_sessions: auth.store.cached_sessions(),
            sockets: auth.sockets.len(),
            under_way: auth.shared.sign_ins.len(),
            platform: usize::from(matches!(auth.platform.circuit(), Circuit::Closed | Circuit::Untried)),
            shared: usize::from(auth.shared.is_up()),
            cache_in_sync: usize::from(auth.store.is_cache_trusted()),
            clock: usize::from(auth.clock.trust() == ClockTrust::Trusted),
            dropped: auth.shared.messages.dropped(),
        })
    }
}
