//! What the settings decide about the flows.

use std::num::NonZeroUsize;
use std::sync::Arc;

use deskpass_auth::{
    AgentPolicy, BindPolicy, FileClient, ForeignCodePolicy, KeptRequestPolicy, OidcPolicy, PasswordPolicy,
    PeoplePolicy, Policy, QuestionPolicy,
};
use deskpass_core::{CorpId, InvalidId, Rate, Role};

use crate::config::{ApprovalMethod, BindMode, DefaultRole, Limits, OidcClient, PasswordFallback, Settings};

/// The policy of these settings.
pub(super) fn policy(settings: &Settings) -> Result<Policy, InvalidId> {
    let bind = match settings.bind.mode {
        BindMode::Auto | BindMode::Open if settings.development.enabled => BindPolicy::Open,
        BindMode::Open => BindPolicy::OpenTo(settings.bind.networks.iter().copied().collect()),
        BindMode::Auto | BindMode::Proof => BindPolicy::Proof,
        BindMode::Off => BindPolicy::Off,
    };
    Ok(Policy {
        home_corp: CorpId::parse(&settings.platform.corp_id)?,
        session_lifetime: settings.session.lifetime,
        max_sessions_per_employee: settings.session.max_per_employee.map(NonZeroUsize::get),
        default_role: match settings.default_role {
            DefaultRole::User => Some(Role::User),
            DefaultRole::Agent => Some(Role::Agent),
            DefaultRole::Supervisor => Some(Role::Supervisor),
            DefaultRole::Security => Some(Role::Security),
            DefaultRole::None => None,
        },
        bind,
        matrix: settings.access.matrix.clone(),
        reveal_scanner_at_once: settings.development.enabled,
        agents: AgentPolicy {
            fallback: match settings.agents.password_fallback {
                PasswordFallback::Always => PasswordPolicy::Always,
                PasswordFallback::Outage => PasswordPolicy::Outage,
                PasswordFallback::Off => PasswordPolicy::Off,
            },
            trust_unproven: settings.development.enabled,
        },
        log_retention: settings.audit.retention,
        limits_requests: settings.limits.enabled,
        sockets_per_employee: settings.sockets.max_per_employee,
        oidc: oidc_policy(settings),
        people: PeoplePolicy {
            recheck_period: settings.recheck.period,
            sync_period: settings.sync.period,
            role_rules: Arc::new(settings.role_rules.clone()),
        },
        questions: question_policy(settings),
        foreign_codes: foreign_codes(&settings.limits),
        kept_requests: kept_requests(&settings.limits),
    })
}

/// What the settings decide about codes whose sign-ins did not begin here.
fn foreign_codes(limits: &Limits) -> ForeignCodePolicy {
    let counted = |rate: Option<Rate>| rate.filter(|_| limits.enabled);
    let per_address = counted(limits.foreign_codes);
    ForeignCodePolicy {
        per_address,
        per_network: per_address.map(doubled),
        in_total: counted(limits.foreign_codes_total),
    }
}

/// The rate of a network: an office may have two addresses in it.
fn doubled(rate: Rate) -> Rate {
    Rate::new(rate.count().saturating_mul(2), rate.per()).unwrap_or(rate)
}

/// How many requests of which a record is kept the limits allow.
fn kept_requests(limits: &Limits) -> KeptRequestPolicy {
    let counted = |rate: Option<Rate>| rate.filter(|_| limits.enabled);
    KeptRequestPolicy {
        begun: counted(limits.oauth_url),
        codes: counted(limits.qrcode),
        oidc: counted(limits.oidc),
        // A code may also come with a page before it comes with the callback.
        code_claims: counted(limits.sign_in).map(doubled),
    }
}

/// What the settings decide about OpenID Connect.
fn oidc_policy(settings: &Settings) -> OidcPolicy {
    let client = |OidcClient { id, registration, secrets }: &OidcClient| {
        (id.clone(), FileClient { registration: registration.clone(), secrets: secrets.clone() })
    };
    OidcPolicy {
        issuer: settings.public_url.to_string(),
        clients: Arc::new(settings.oidc.clients.iter().map(client).collect()),
        email_domain: settings.oidc.email_domain.as_ref().map(ToString::to_string),
        shared_department_names: settings.oidc.shared_department_names,
        production: !settings.development.enabled,
    }
}

/// What the settings decide about the questions that phones are asked.
fn question_policy(settings: &Settings) -> QuestionPolicy {
    let accepts = |method| settings.approval.methods.contains(&method);
    QuestionPolicy {
        accepts_otp: accepts(ApprovalMethod::Otp),
        accepts_phone: accepts(ApprovalMethod::Phone),
        verify_before_reset: settings.verification.before_resets,
        any_browser_is_a_phone: settings.development.enabled,
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::config::{self, Override, Sources};

    /// The bind policy of development mode, or of production with a required minimum of settings.
    fn bind_policy(development: bool, mode: &str) -> BindPolicy {
        let given = [
            ("development.enabled", development.to_string()),
            ("bind.mode", mode.to_owned()),
            ("bind.networks", "192.0.2.0/24".to_owned()),
            ("trusted_proxies", String::new()),
            ("public_url", "https://desk.example.com".to_owned()),
            ("platform.corp_id", "wwexample".to_owned()),
            ("encryption_key", format!("{}=", "A".repeat(43))),
        ];
        let secret = (!development).then(|| ("platform.secret", "secret".to_owned()));
        let overrides = given.into_iter().chain(secret);
        let overrides = overrides.map(|(key, value)| Override { key, value, flag: "a test" }).collect();
        let nothing = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
        let sources = Sources { file: None, environment: Vec::new(), overrides, read: &nothing };
        policy(&config::load(&sources).unwrap()).unwrap().bind
    }

    #[test]
    fn the_bind_policy_depends_on_the_mode_and_the_profile() {
        for mode in ["auto", "open"] {
            assert!(matches!(bind_policy(true, mode), BindPolicy::Open), "{mode}");
        }
        assert!(matches!(bind_policy(false, "auto"), BindPolicy::Proof));
        assert!(matches!(bind_policy(false, "open"), BindPolicy::OpenTo(_)));
        for development in [true, false] {
            assert!(matches!(bind_policy(development, "proof"), BindPolicy::Proof));
            assert!(matches!(bind_policy(development, "off"), BindPolicy::Off));
        }
    }
}
