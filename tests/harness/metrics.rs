//! What a service reports at `/metrics`.

use super::Client;

/// The value of a series, such as `deskpass_sockets` or `deskpass_replies_total{outcome="delivered"}`; a whole number without a fraction.
pub(crate) fn metric<'a>(text: &'a str, series: &str) -> Option<&'a str> {
    let value = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '))?;
    Some(value.strip_suffix(".0").unwrap_or(value))
}

impl Client {
    /// The value of a series now; `None` if the service does not report it.
    pub(crate) async fn metric(&mut self, series: &str) -> Option<u64> {
        let text = self.get("/metrics", &[]).await.body;
        metric(&text, series).map(|value| value.parse().unwrap_or_else(|_| panic!("{series} {value}")))
    }
}
