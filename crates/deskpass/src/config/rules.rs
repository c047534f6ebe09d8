//! Values that are valid individually but unsafe together. The service refuses to start with them.

use std::net::SocketAddr;

use ipnet::IpNet;

use super::key::{DefaultSpec, SettingKey};
use super::network;
use super::origin::Origin;
use super::problem::ConfigProblem;
use super::public_url;
use super::resolved::{ResolvedSettings, SettingEntry, SettingState};
use super::settings::BindChoice;
use super::web_url;

/// A rule returns the problem if the settings violate it. It also returns `None` if a value that it needs is invalid,
/// which is already reported.
type Rule = fn(&ResolvedSettings) -> Option<ConfigProblem>;

const RULES: [Rule; 10] = [
    postgres_and_redis_are_set_together,
    no_real_secret_in_development,
    development_listens_locally,
    allow_remote_needs_development,
    public_url_protects_tokens,
    platform_is_reached_safely,
    open_bind_lists_networks,
    bind_networks_are_limited,
    open_bind_lists_proxies,
    trusted_proxies_are_limited,
];

/// All rules that the settings violate.
pub(super) fn violations(resolved: &ResolvedSettings) -> Vec<ConfigProblem> {
    let missing = missing_in_production(resolved);
    let unsafe_together = RULES.iter().filter_map(|rule| rule(resolved));
    missing.into_iter().chain(unsafe_together).collect()
}

fn missing_in_production(resolved: &ResolvedSettings) -> Vec<ConfigProblem> {
    if development(resolved) != Some(false) {
        return Vec::new();
    }
    let required = |entry: &&SettingEntry| matches!(entry.key.default_spec, DefaultSpec::RequiredInProduction { .. });
    let unset = resolved.entries().filter(required).filter(|entry| matches!(entry.state, SettingState::Unset));
    unset.map(|entry| missing(entry.key)).collect()
}

fn missing(key: &SettingKey) -> ConfigProblem {
    let variables = match key.file_variable() {
        Some(file) => format!("{} or {file}", key.variable()),
        None => key.variable(),
    };
    let expected = key.kind.expected();
    let fix = format!("set it in the settings file or as {variables}; expected {expected}");
    ConfigProblem::missing(key, fix)
}

fn postgres_and_redis_are_set_together(resolved: &ResolvedSettings) -> Option<ConfigProblem> {
    let (store, shared) = (resolved.entry("store.url")?, resolved.entry("shared.url")?);
    let given = |entry: &SettingEntry| !matches!(entry.state, SettingState::Unset);
    match (given(store), given(shared)) {
        (true, false) => Some(violation(
            store,
            "PostgreSQL without Redis is half a pair: nodes that share their data also share sign-ins under way and limits",
            "set shared.url too, or leave out both for the embedded database of one node",
        )),
        (false, true) => Some(violation(
            shared,
            "Redis without PostgreSQL is half a pair: in Redis is only what may be lost, and the embedded database \
             belongs to one node",
            "set store.url too, or leave out both",
        )),
        _ => None,
    }
}

fn no_real_secret_in_development(resolved: &ResolvedSettings) -> Option<ConfigProblem> {
    let entry = resolved.entry("platform.secret")?;
    let given = !matches!(entry.state, SettingState::Unset);
    if !development(resolved)? || !given {
        return None;
    }
    Some(violation(
        entry,
        "development mode lets anyone sign in, so it must not hold a real secret",
        "remove the secret, or leave development mode (no --dev, development.enabled = false)",
    ))
}

fn development_listens_locally(resolved: &ResolvedSettings) -> Option<ConfigProblem> {
    let listen: SocketAddr = resolved.get("listen")?;
    let allowed: bool = resolved.get("development.allow_remote")?;
    let reachable = !listen.ip().to_canonical().is_loopback();
    if !development(resolved)? || !reachable || allowed {
        return None;
    }
    Some(violation(
        resolved.entry("listen")?,
        format!("development mode lets anyone who reaches {listen} sign in as anyone"),
        "listen on 127.0.0.1, or accept that with --dev-allow-remote \
         (development.allow_remote = true)",
    ))
}

fn allow_remote_needs_development(resolved: &ResolvedSettings) -> Option<ConfigProblem> {
    let allowed: bool = resolved.get("development.allow_remote")?;
    if development(resolved)? || !allowed {
        return None;
    }
    Some(violation(
        resolved.entry("development.allow_remote")?,
        "it means nothing outside development mode",
        "remove it, or turn development mode on with --dev (development.enabled = true)",
    ))
}

fn public_url_protects_tokens(resolved: &ResolvedSettings) -> Option<ConfigProblem> {
    let url: String = resolved.get("public_url")?;
    if development(resolved)? || public_url::protects_tokens(&url) {
        return None;
    }
    Some(violation(
        resolved.entry("public_url")?,
        format!("{url} would carry tokens and cookies unencrypted"),
        "use https; http is only for localhost, 127.0.0.1 and [::1]",
    ))
}

fn open_bind_lists_networks(resolved: &ResolvedSettings) -> Option<ConfigProblem> {
    let mode: BindChoice = resolved.get("bind.mode")?;
    let networks: Vec<IpNet> = resolved.get("bind.networks")?;
    let careless = mode == BindChoice::Open && networks.is_empty();
    if development(resolved)? || !careless {
        return None;
    }
    Some(violation(
        resolved.entry("bind.mode")?,
        "open lets anyone sign in as any employee",
        "list who may in bind.networks, or use bind.mode = \"proof\"",
    ))
}

fn bind_networks_are_limited(resolved: &ResolvedSettings) -> Option<ConfigProblem> {
    let networks: Vec<IpNet> = resolved.get("bind.networks")?;
    let everyone = networks.iter().find(|network| network::is_any_address(network))?;
    Some(violation(
        resolved.entry("bind.networks")?,
        format!("{everyone} is everyone"),
        "list only the networks whose people may bind",
    ))
}

/// Behind an unlisted proxy, all clients have the proxy's address, so the operator must list the proxies explicitly.
fn open_bind_lists_proxies(resolved: &ResolvedSettings) -> Option<ConfigProblem> {
    let mode: BindChoice = resolved.get("bind.mode")?;
    let by_default = matches!(resolved.entry("trusted_proxies")?.origin, Origin::Default | Origin::ProfileDefault(_));
    if development(resolved)? || mode != BindChoice::Open || !by_default {
        return None;
    }
    Some(violation(
        resolved.entry("bind.mode")?,
        "open goes by addresses, and behind a proxy that is not listed every client has the address of the proxy",
        "list your proxies, and only those, in trusted_proxies ([] when there are none)",
    ))
}

fn trusted_proxies_are_limited(resolved: &ResolvedSettings) -> Option<ConfigProblem> {
    let networks: Vec<IpNet> = resolved.get("trusted_proxies")?;
    let everyone = networks.iter().find(|network| network::is_any_address(network))?;
    Some(violation(
        resolved.entry("trusted_proxies")?,
        format!("{everyone} is everyone, who could then claim any address"),
        "list only your proxies",
    ))
}

fn platform_is_reached_safely(resolved: &ResolvedSettings) -> Option<ConfigProblem> {
    let unsafe_key =
        ["platform.api_url", "platform.authorize_url", "platform.web_login_url"].into_iter().find(|key| {
            resolved.get::<String>(key).is_some_and(|url| !public_url::protects_tokens(web_url::origin(&url)))
        })?;
    if development(resolved)? {
        return None;
    }
    Some(violation(
        resolved.entry(unsafe_key)?,
        "secrets and codes would travel unencrypted",
        "use https (http only for a platform simulated on this machine)",
    ))
}

fn development(resolved: &ResolvedSettings) -> Option<bool> {
    resolved.get("development.enabled")
}

fn violation(entry: &SettingEntry, what: impl Into<String>, fix: &str) -> ConfigProblem {
    ConfigProblem::new(entry.key.name, what, fix).at(&entry.origin)
}
