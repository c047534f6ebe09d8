//! Values that are each fine but unsafe together. The service refuses to start with them.

use std::net::SocketAddr;

use ipnet::IpNet;

use super::key::{Fallback, Key};
use super::network;
use super::origin::Origin;
use super::problem::Problem;
use super::public_url;
use super::resolved::{Entry, Resolved, State};
use super::settings::BindChoice;
use super::web_url;

/// A rule names the problem if the settings break it. `None` also when a value it needs is not
/// valid: that is reported already.
type Rule = fn(&Resolved) -> Option<Problem>;

const RULES: [Rule; 10] = [
    the_pair_is_whole,
    no_real_secret_in_development,
    no_strangers_in_development,
    remote_development_is_development,
    public_url_protects_tokens,
    platform_is_reached_safely,
    open_bind_knows_its_networks,
    bind_networks_exclude_someone,
    open_bind_knows_its_proxies,
    trusted_proxies_exclude_someone,
];

/// Everything that the settings break.
pub(super) fn broken(resolved: &Resolved) -> Vec<Problem> {
    let missing = missing_in_production(resolved);
    let unsafe_together = RULES.iter().filter_map(|rule| rule(resolved));
    missing.into_iter().chain(unsafe_together).collect()
}

fn missing_in_production(resolved: &Resolved) -> Vec<Problem> {
    if development(resolved) != Some(false) {
        return Vec::new();
    }
    let required = |entry: &&Entry| matches!(entry.key.fallback, Fallback::RequiredInProduction { .. });
    let unset = resolved.entries().filter(required).filter(|entry| matches!(entry.state, State::Unset));
    unset.map(|entry| missing(entry.key)).collect()
}

fn missing(key: &Key) -> Problem {
    let variables = match key.file_variable() {
        Some(file) => format!("{} or {file}", key.variable()),
        None => key.variable(),
    };
    let expected = key.kind.expected();
    let mend = format!("set it in the settings file or as {variables}; expected {expected}");
    Problem::missing(key, mend)
}

fn the_pair_is_whole(resolved: &Resolved) -> Option<Problem> {
    let (store, shared) = (resolved.entry("store.url")?, resolved.entry("shared.url")?);
    let given = |entry: &Entry| !matches!(entry.state, State::Unset);
    match (given(store), given(shared)) {
        (true, false) => Some(refused(
            store,
            "PostgreSQL without Redis is half a pair: nodes that share their data also share sign-ins under way and limits",
            "set shared.url too, or leave out both for the embedded database of one node",
        )),
        (false, true) => Some(refused(
            shared,
            "Redis without PostgreSQL is half a pair: in Redis is only what may be lost, and the embedded database \
             belongs to one node",
            "set store.url too, or leave out both",
        )),
        _ => None,
    }
}

fn no_real_secret_in_development(resolved: &Resolved) -> Option<Problem> {
    let entry = resolved.entry("platform.secret")?;
    let given = !matches!(entry.state, State::Unset);
    if !development(resolved)? || !given {
        return None;
    }
    Some(refused(
        entry,
        "development mode lets anyone sign in, so it must not hold a real secret",
        "remove the secret, or leave development mode (no --dev, development.enabled = false)",
    ))
}

fn no_strangers_in_development(resolved: &Resolved) -> Option<Problem> {
    let listen: SocketAddr = resolved.get("listen")?;
    let allowed: bool = resolved.get("development.allow_remote")?;
    let reachable = !listen.ip().to_canonical().is_loopback();
    if !development(resolved)? || !reachable || allowed {
        return None;
    }
    Some(refused(
        resolved.entry("listen")?,
        format!("development mode lets anyone who reaches {listen} sign in as anyone"),
        "listen on 127.0.0.1, or accept that with --dev-allow-remote \
         (development.allow_remote = true)",
    ))
}

fn remote_development_is_development(resolved: &Resolved) -> Option<Problem> {
    let allowed: bool = resolved.get("development.allow_remote")?;
    if development(resolved)? || !allowed {
        return None;
    }
    Some(refused(
        resolved.entry("development.allow_remote")?,
        "it means nothing outside development mode",
        "remove it, or turn development mode on with --dev (development.enabled = true)",
    ))
}

fn public_url_protects_tokens(resolved: &Resolved) -> Option<Problem> {
    let url: String = resolved.get("public_url")?;
    if development(resolved)? || public_url::protects_tokens(&url) {
        return None;
    }
    Some(refused(
        resolved.entry("public_url")?,
        format!("{url} would carry tokens and cookies unencrypted"),
        "use https; http is only for localhost, 127.0.0.1 and [::1]",
    ))
}

fn open_bind_knows_its_networks(resolved: &Resolved) -> Option<Problem> {
    let mode: BindChoice = resolved.get("bind.mode")?;
    let networks: Vec<IpNet> = resolved.get("bind.networks")?;
    let careless = mode == BindChoice::Open && networks.is_empty();
    if development(resolved)? || !careless {
        return None;
    }
    Some(refused(
        resolved.entry("bind.mode")?,
        "open lets anyone sign in as any employee",
        "list who may in bind.networks, or use bind.mode = \"proof\"",
    ))
}

fn bind_networks_exclude_someone(resolved: &Resolved) -> Option<Problem> {
    let networks: Vec<IpNet> = resolved.get("bind.networks")?;
    let everyone = networks.iter().find(|network| network::is_everyone(network))?;
    Some(refused(
        resolved.entry("bind.networks")?,
        format!("{everyone} is everyone"),
        "list only the networks whose people may bind",
    ))
}

/// Behind a proxy that is not listed everyone has the address of the proxy, so the operator has to say which ones there are.
fn open_bind_knows_its_proxies(resolved: &Resolved) -> Option<Problem> {
    let mode: BindChoice = resolved.get("bind.mode")?;
    let by_default = matches!(resolved.entry("trusted_proxies")?.origin, Origin::Default | Origin::ProfileDefault(_));
    if development(resolved)? || mode != BindChoice::Open || !by_default {
        return None;
    }
    Some(refused(
        resolved.entry("bind.mode")?,
        "open goes by addresses, and behind a proxy that is not listed every client has the address of the proxy",
        "list your proxies, and only those, in trusted_proxies ([] when there are none)",
    ))
}

fn trusted_proxies_exclude_someone(resolved: &Resolved) -> Option<Problem> {
    let networks: Vec<IpNet> = resolved.get("trusted_proxies")?;
    let everyone = networks.iter().find(|network| network::is_everyone(network))?;
    Some(refused(
        resolved.entry("trusted_proxies")?,
        format!("{everyone} is everyone, who could then claim any address"),
        "list only your proxies",
    ))
}

fn platform_is_reached_safely(resolved: &Resolved) -> Option<Problem> {
    let unsafe_key =
        ["platform.api_url", "platform.authorize_url", "platform.web_login_url"].into_iter().find(|key| {
            resolved.get::<String>(key).is_some_and(|url| !public_url::protects_tokens(web_url::origin(&url)))
        })?;
    if development(resolved)? {
        return None;
    }
    Some(refused(
        resolved.entry(unsafe_key)?,
        "secrets and codes would travel unencrypted",
        "use https (http only for a platform simulated on this machine)",
    ))
}

fn development(resolved: &Resolved) -> Option<bool> {
    resolved.get("development.enabled")
}

fn refused(entry: &Entry, what: impl Into<String>, mend: &str) -> Problem {
    Problem::of(entry.key.name, what, mend).at(&entry.origin)
}
