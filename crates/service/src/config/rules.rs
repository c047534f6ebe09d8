//! Values that are valid individually but unsafe together. The service refuses to start with them.

use deskpass_platform::PlatformKind;
use ipnet::IpNet;

use super::event_rules::{event_secrets_are_set_together, event_token_fits_the_platform};
use super::key::SettingKey;
use super::origin::Origin;
use super::platform_keys;
use super::problem::ConfigProblem;
use super::resolved::ResolvedSettings;
use super::section::SettingEntry;
use super::settings::{BindMode, SettingsEntries};
use super::value::ApprovalMethod;

/// A rule returns the problem if the settings violate it. It also returns `None` if a value that it needs is invalid,
/// which is already reported.
type Rule = fn(&SettingsEntries) -> Option<ConfigProblem>;

const RULES: [Rule; 19] = [
    postgres_and_redis_are_set_together,
    no_real_secret_in_development,
    development_listens_locally,
    allow_remote_needs_development,
    public_url_protects_tokens,
    certificate_and_key_are_set_together,
    public_url_is_https_with_a_certificate,
    simulated_platform_has_no_certificate,
    platform_is_reached_safely,
    reply_url_and_secret_are_set_together,
    replies_are_sent_safely,
    open_bind_lists_networks,
    bind_networks_are_limited,
    open_bind_lists_proxies,
    trusted_proxies_are_limited,
    event_secrets_are_set_together,
    event_token_fits_the_platform,
    changes_can_be_confirmed,
    phones_can_be_asked,
];

pub(super) fn violations(resolved: &ResolvedSettings) -> Vec<ConfigProblem> {
    let missing = missing_in_production(resolved);
    let foreign = platform_keys::foreign(&resolved.settings.platform);
    let unsafe_together = RULES.iter().filter_map(|rule| rule(&resolved.settings));
    missing.into_iter().chain(foreign).chain(unsafe_together).collect()
}

fn missing_in_production(resolved: &ResolvedSettings) -> Vec<ConfigProblem> {
    if resolved.settings.development.enabled.value != Some(false) {
        return Vec::new();
    }
    let kind = resolved.settings.platform.kind.value;
    let missing_entry = |entry: &&SettingEntry| {
        let required = entry.key.required && !entry.is_set();
        required || platform_keys::is_missing(&resolved.settings.platform, entry.key.name)
    };
    resolved.entries.iter().filter(missing_entry).map(|entry| missing(entry.key, kind)).collect()
}

fn missing(key: &SettingKey, kind: Option<PlatformKind>) -> ConfigProblem {
    let variables = match key.file_variable() {
        Some(file) => format!("{} or {file}", key.variable()),
        None => key.variable(),
    };
    let expected = key.expected_by(kind);
    let fix = format!("set it in the settings file or as {variables}; expected {expected}");
    ConfigProblem::missing(key, fix)
}

fn postgres_and_redis_are_set_together(settings: &SettingsEntries) -> Option<ConfigProblem> {
    let (store, shared) = (&settings.store.url.entry, &settings.shared.url.entry);
    match (store.is_set(), shared.is_set()) {
        (true, false) => Some(store.problem(
            "PostgreSQL without Redis is half a pair: nodes that share their data also share sign-ins under way and limits",
            "set shared.url too, or leave out both for the embedded database of one node",
        )),
        (false, true) => Some(shared.problem(
            "Redis without PostgreSQL is half a pair: in Redis is only what may be lost, and the embedded database \
             belongs to one node",
            "set store.url too, or leave out both",
        )),
        _ => None,
    }
}

fn no_real_secret_in_development(settings: &SettingsEntries) -> Option<ConfigProblem> {
    let secret = &settings.platform.secret.entry;
    if !settings.development.enabled.value? || !secret.is_set() {
        return None;
    }
    Some(secret.problem(
        "development mode lets anyone sign in, so it must not hold a real secret",
        "remove the secret, or leave development mode (no --dev, development.enabled = false)",
    ))
}

fn development_listens_locally(settings: &SettingsEntries) -> Option<ConfigProblem> {
    let listen = settings.listen.value?;
    let allowed = settings.development.allow_remote.value?;
    let reachable = !listen.ip().to_canonical().is_loopback();
    if !settings.development.enabled.value? || !reachable || allowed {
        return None;
    }
    Some(settings.listen.entry.problem(
        format!("development mode lets anyone who reaches {listen} sign in as anyone"),
        "listen on 127.0.0.1, or accept that with --dev-allow-remote \
         (development.allow_remote = true)",
    ))
}

fn allow_remote_needs_development(settings: &SettingsEntries) -> Option<ConfigProblem> {
    let allow_remote = &settings.development.allow_remote;
    if settings.development.enabled.value? || !allow_remote.value? {
        return None;
    }
    Some(allow_remote.entry.problem(
        "it means nothing outside development mode",
        "remove it, or turn development mode on with --dev (development.enabled = true)",
    ))
}

fn public_url_protects_tokens(settings: &SettingsEntries) -> Option<ConfigProblem> {
    let url = settings.public_url.value.as_ref()?;
    if settings.development.enabled.value? || url.protects_tokens() {
        return None;
    }
    Some(settings.public_url.entry.problem(
        format!("{url} would carry tokens and cookies unencrypted"),
        "use https; http is only for localhost, 127.0.0.1 and [::1]",
    ))
}

fn platform_is_reached_safely(settings: &SettingsEntries) -> Option<ConfigProblem> {
    let platform = &settings.platform;
    let urls = [
        &platform.api_url,
        &platform.authorize_url,
        &platform.web_login_url,
        &platform.legacy_api_url,
        &platform.token_url,
        &platform.script_url,
    ];
    let unsafe_url = urls.into_iter().find(|url| url.value.as_ref().is_some_and(|url| !url.protects_tokens()))?;
    if settings.development.enabled.value? {
        return None;
    }
    Some(unsafe_url.entry.problem(
        "secrets and codes would travel unencrypted",
        "use https (http only for a platform simulated on this machine)",
    ))
}

fn reply_url_and_secret_are_set_together(settings: &SettingsEntries) -> Option<ConfigProblem> {
    let (url, secret) = (&settings.messages.reply_url.entry, &settings.messages.reply_secret.entry);
    match (url.is_set(), secret.is_set()) {
        (true, false) => Some(url.problem(
            "without messages.reply_secret the back end could not know who sends the replies",
            "set messages.reply_secret too; make one with: openssl rand -hex 32",
        )),
        (false, true) => Some(
            secret
                .problem("it signs replies, and no back end receives them", "set messages.reply_url too, or remove it"),
        ),
        _ => None,
    }
}

/// In development mode too: a back end on the same machine needs no encryption, and any other does.
fn replies_are_sent_safely(settings: &SettingsEntries) -> Option<ConfigProblem> {
    let url = &settings.messages.reply_url;
    if url.value.as_ref()?.protects_tokens() {
        return None;
    }
    Some(url.entry.problem(
        "what employees reply would travel unencrypted",
        "use https; http is only for localhost, 127.0.0.1 and [::1]",
    ))
}

fn certificate_and_key_are_set_together(settings: &SettingsEntries) -> Option<ConfigProblem> {
    let (certificate, key) = (&settings.server.tls_certificate.entry, &settings.server.tls_key.entry);
    match (certificate.is_set(), key.is_set()) {
        (true, false) => Some(certificate.problem(
            "a certificate without its private key cannot be used",
            "set server.tls.key too, or leave out both and let a proxy in front speak TLS",
        )),
        (false, true) => Some(key.problem(
            "a private key without its certificate cannot be used",
            "set server.tls.certificate too, or leave out both and let a proxy in front speak TLS",
        )),
        _ => None,
    }
}

fn public_url_is_https_with_a_certificate(settings: &SettingsEntries) -> Option<ConfigProblem> {
    settings.server.tls_certificate.value.as_ref()?;
    if settings.public_url.value.as_ref()?.starts_with("https://") {
        return None;
    }
    Some(settings.public_url.entry.problem(
        "with server.tls.certificate the service speaks TLS, and this address does not",
        "begin it with https://, or remove server.tls.certificate and server.tls.key",
    ))
}

/// In development mode the service calls the simulated platform at its own address, without TLS, unless told otherwise.
fn simulated_platform_has_no_certificate(settings: &SettingsEntries) -> Option<ConfigProblem> {
    let certificate = &settings.server.tls_certificate;
    let by_default = matches!(settings.platform.api_url.entry.origin, Origin::Default | Origin::ProfileDefault(_));
    if certificate.value.is_none() || !settings.development.enabled.value? || !by_default {
        return None;
    }
    Some(certificate.entry.problem(
        "development mode reaches its simulated platform at the same address without TLS",
        "remove server.tls.certificate and server.tls.key, or run `deskpass simulate` and set platform.api_url",
    ))
}

fn open_bind_lists_networks(settings: &SettingsEntries) -> Option<ConfigProblem> {
    let careless = settings.bind.mode.value? == BindMode::Open && settings.bind.networks.value.as_ref()?.is_empty();
    if settings.development.enabled.value? || !careless {
        return None;
    }
    Some(settings.bind.mode.entry.problem(
        "open lets anyone sign in as any employee",
        "list who may in bind.networks, or use bind.mode = \"proof\"",
    ))
}

fn bind_networks_are_limited(settings: &SettingsEntries) -> Option<ConfigProblem> {
    let networks = &settings.bind.networks;
    let everyone = any_address(networks.value.as_ref()?)?;
    Some(networks.entry.problem(format!("{everyone} is everyone"), "list only the networks whose people may bind"))
}

/// Behind an unlisted proxy, all clients have the proxy's address, so the operator must list the proxies explicitly.
fn open_bind_lists_proxies(settings: &SettingsEntries) -> Option<ConfigProblem> {
    let proxies = &settings.trusted_proxies.entry;
    let by_default = matches!(proxies.origin, Origin::Default | Origin::ProfileDefault(_));
    if settings.development.enabled.value? || settings.bind.mode.value? != BindMode::Open || !by_default {
        return None;
    }
    Some(settings.bind.mode.entry.problem(
        "open goes by addresses, and behind a proxy that is not listed every client has the address of the proxy",
        "list your proxies, and only those, in trusted_proxies ([] when there are none)",
    ))
}

fn trusted_proxies_are_limited(settings: &SettingsEntries) -> Option<ConfigProblem> {
    let proxies = &settings.trusted_proxies;
    let everyone = any_address(proxies.value.as_ref()?)?;
    let what = format!("{everyone} is everyone, who could then claim any address");
    Some(proxies.entry.problem(what, "list only your proxies"))
}

fn changes_can_be_confirmed(settings: &SettingsEntries) -> Option<ConfigProblem> {
    let methods = &settings.approval.methods;
    if !methods.value.as_ref()?.is_empty() {
        return None;
    }
    Some(methods.entry.problem("nobody could confirm a high-risk change", "list \"otp\", \"phone\" or both"))
}

/// Where the platform has an `AgentId`, it sends messages only with it, and so questions.
fn phones_can_be_asked(settings: &SettingsEntries) -> Option<ConfigProblem> {
    let (methods, platform) = (&settings.approval.methods, &settings.platform);
    let only_phone = methods.value.as_ref()?.iter().all(|method| *method == ApprovalMethod::Phone);
    let cannot_ask = platform.kind.value? != PlatformKind::Feishu && !platform.agent_id.entry.is_set();
    if !only_phone || methods.value.as_ref()?.is_empty() || !cannot_ask {
        return None;
    }
    Some(methods.entry.problem(
        "without platform.agent_id no phone can be asked, so nobody could confirm a high-risk change",
        "set platform.agent_id, or list \"otp\" too",
    ))
}

/// The network that contains every address, if there is one.
fn any_address(networks: &[IpNet]) -> Option<&IpNet> {
    networks.iter().find(|network| network.prefix_len() == 0)
}
