//! The state of the service, as metrics.

use deskpass_core::{ClockTrust, Timestamp};
use deskpass_wecom::Circuit;

use super::App;

impl App {
    /// All metrics in Prometheus' text format.
    pub(crate) fn render_metrics(&self) -> String {
        let auth = &self.auth;
        // Whether recent requests to the platform succeeded.
        let platform_ok = matches!(auth.platform.circuit(), Circuit::Closed | Circuit::Untried);
        let seconds = |at: Timestamp| usize::try_from(at.millis() / 1_000).unwrap_or_default();
        let mut gauges = vec![
            ("deskpass_cached_sessions", auth.store.cached_sessions()),
            // QR codes that can still be scanned and tokens that can still be collected.
            ("deskpass_sign_ins_under_way", auth.shared.sign_ins.len()),
            ("deskpass_platform_ok", usize::from(platform_ok)),
            ("deskpass_shared_ok", usize::from(auth.shared.is_up())),
            ("deskpass_cache_in_step", usize::from(auth.store.is_cache_trusted())),
            ("deskpass_sockets", auth.sockets.len()),
            ("deskpass_clock_ok", usize::from(auth.clock.trust() == ClockTrust::Trusted)),
            ("deskpass_config_last_reload_successful", usize::from(self.reload_status.is_successful())),
            ("deskpass_config_last_reload_success_timestamp_seconds", seconds(self.reload_status.last_success())),
        ];
        let expiry = self.tls.as_ref().and_then(|tls| tls.expires_at());
        gauges.extend(expiry.map(|end| ("deskpass_tls_certificate_expiry_timestamp_seconds", seconds(end))));
        self.metrics.render(&gauges, auth.shared.messages.dropped())
    }
}
