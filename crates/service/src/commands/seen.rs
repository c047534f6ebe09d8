//! What a running service has seen that the settings do not list.

use crate::App;
use crate::config::Language;
use crate::recently_seen::Seen;
use crate::timestamp::format_utc;
use crate::untrusted_proxies::{ForwardOutcome, UntrustedProxy};

/// The proxies that are not trusted and forward requests, one per line.
pub(super) fn untrusted_proxies(app: &App, language: Language) -> String {
    let line = |seen: &Seen<UntrustedProxy>| {
        let Seen { item: UntrustedProxy { address, outcome }, requests, last, .. } = seen;
        let outcome = language.of(match outcome {
            ForwardOutcome::Refused => ["refused", "被拒绝"],
            ForwardOutcome::LetThrough => ["passed on by a trusted proxy", "由受信任的代理转发"],
        });
        let last = format_utc(*last);
        language.of([
            format!("{address}: {requests} request(s) {outcome}, the last at {last}"),
            format!("{address}：{requests} 个请求{outcome}，最近一次在 {last}"),
        ])
    };
    app.untrusted_proxies.list().iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The host names that are not listed and were answered, one per line.
pub(super) fn unlisted_hosts(app: &App, language: Language) -> String {
    let line = |seen: &Seen<String>| {
        let Seen { item: host, requests, last, .. } = seen;
        let last = format_utc(*last);
        language.of([
            format!("{host}: {requests} request(s), the last at {last}"),
            format!("{host}：{requests} 个请求，最近一次在 {last}"),
        ])
    };
    app.unlisted_hosts.list().iter().map(line).collect::<Vec<_>>().join("\n")
}
