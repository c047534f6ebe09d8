//! Builds [`Settings`] from checked values.

use std::num::NonZeroUsize;

use super::problem::{ConfigError, ConfigProblem};
use super::resolved::ResolvedSettings;
use super::rules;
use super::settings::{
    Access, Agents, Audit, Bind, BindChoice, Limits, Log, Platform, Server, Session, Settings, Shared, Sockets, Store,
    Tls,
};

impl ResolvedSettings {
    /// Checks the settings as a whole.
    ///
    /// # Errors
    ///
    /// All problems of the settings: unknown keys, invalid values, unsafe combinations.
    pub fn check(&self) -> Result<Settings, ConfigError> {
        let mut problems = self.problems.clone();
        if self.complete {
            problems.extend(rules::violations(self));
        }
        if !problems.is_empty() {
            return Err(ConfigError::new(problems));
        }
        settings(self).ok_or_else(|| ConfigError::new(vec![missing_value_bug()]))
    }
}

/// Occurs only if a name or type below does not match the table, which the tests rule out.
fn missing_value_bug() -> ConfigProblem {
    ConfigProblem::new(
        "deskpass",
        "a setting passed all checks but has no value",
        "this is a defect of deskpass, please report it",
    )
}

/// Returns `None` if a value is missing that the rules guarantee.
fn settings(resolved: &ResolvedSettings) -> Option<Settings> {
    Some(Settings {
        listen: resolved.get("listen")?,
        data: resolved.get("data")?,
        public_url: resolved.get("public_url")?,
        default_language: resolved.get("default_language")?,
        encryption_key: resolved.get("encryption_key"),
        trusted_proxies: resolved.get("trusted_proxies")?,
        development: resolved.get("development.enabled")?,
        development_remote: resolved.get("development.allow_remote")?,
        development_hosts: resolved.get("development.hosts")?,
        redirect_origins: resolved.get("redirect_origins")?,
        default_role: resolved.get("default_role")?,
        store: Store { url: resolved.get("store.url"), connections: resolved.get("store.connections")? },
        shared: Shared { url: resolved.get("shared.url"), prefix: resolved.get("shared.prefix")? },
        tls: Tls { ca_file: resolved.get("tls.ca_file") },
        platform: platform(resolved)?,
        session: session(resolved)?,
        bind: bind(resolved)?,
        agents: Agents { password_fallback: resolved.get("agents.password_fallback")? },
        access: Access { matrix: resolved.matrix.clone(), matrix_file: resolved.get("access.matrix_file") },
        audit: Audit { retention: resolved.get("audit.retention")? },
        sockets: sockets(resolved)?,
        limits: limits(resolved)?,
        server: server(resolved)?,
        log: Log { level: resolved.get("log.level")?, format: resolved.get("log.format")? },
        secret_files: resolved.secret_files(),
    })
}

fn platform(resolved: &ResolvedSettings) -> Option<Platform> {
    Some(Platform {
        corp_id: resolved.get("platform.corp_id")?,
        secret: resolved.get("platform.secret"),
        agent_id: resolved.get("platform.agent_id"),
        api_url: resolved.get("platform.api_url")?,
        authorize_url: resolved.get("platform.authorize_url")?,
        web_login_url: resolved.get("platform.web_login_url")?,
        proxy: resolved.get("platform.proxy"),
        verify_file: resolved.get("platform.verify_file"),
    })
}

fn session(resolved: &ResolvedSettings) -> Option<Session> {
    Some(Session {
        lifetime: resolved.get("session.lifetime")?,
        max_per_employee: NonZeroUsize::new(resolved.get("session.max_per_employee")?),
        cache_entries: resolved.get("session.cache_entries")?,
    })
}

fn bind(resolved: &ResolvedSettings) -> Option<Bind> {
    let development = resolved.get("development.enabled")?;
    let choice: BindChoice = resolved.get("bind.mode")?;
    Some(Bind { mode: choice.resolve(development), networks: resolved.get("bind.networks")? })
}

fn sockets(resolved: &ResolvedSettings) -> Option<Sockets> {
    Some(Sockets {
        query_token: resolved.get("sockets.query_token")?,
        ping: resolved.get("sockets.ping")?,
        max_per_employee: resolved.get("sockets.max_per_employee")?,
        max_per_address: resolved.get("sockets.max_per_address")?,
    })
}

fn limits(resolved: &ResolvedSettings) -> Option<Limits> {
    Some(Limits {
        enabled: resolved.get("limits.enabled")?,
        qrcode: resolved.get("limits.qrcode")?,
        oauth_url: resolved.get("limits.oauth_url")?,
        sign_in: resolved.get("limits.sign_in")?,
        scan_status: resolved.get("limits.scan_status")?,
        bind: resolved.get("limits.bind")?,
        agents_login: resolved.get("limits.agents_login")?,
        otp: resolved.get("limits.otp")?,
        verify: resolved.get("limits.verify")?,
    })
}

fn server(resolved: &ResolvedSettings) -> Option<Server> {
    Some(Server {
        max_connections: resolved.get("server.max_connections")?,
        max_connections_per_address: resolved.get("server.max_connections_per_address")?,
        header_timeout: resolved.get("server.header_timeout")?,
        idle_timeout: resolved.get("server.idle_timeout")?,
        body_timeout: resolved.get("server.body_timeout")?,
        max_body: resolved.get("server.max_body")?,
        settle: resolved.get("server.settle")?,
        drain_timeout: resolved.get("server.drain_timeout")?,
        operator_networks: resolved.get("server.operator_networks")?,
    })
}
