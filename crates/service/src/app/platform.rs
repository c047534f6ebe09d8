//! The platform's client as the settings describe it, and the simulated platform. No other module knows which clients there are.

mod addresses;
mod verify_file;

use std::sync::Arc;
use std::time::Duration;

use deskpass_core::{Clock, Entropy};
use deskpass_dingtalk::{Dingtalk, DingtalkSettings};
use deskpass_feishu::{Feishu, FeishuSettings};
use deskpass_platform::client::NoSharedCache;
use deskpass_platform::{Messenger, PlatformKind, SettingsError, Timeouts, TokenCache, Url};
use deskpass_simulator::{Domains, Kind, Simulator, SimulatorConfig};
use deskpass_wecom::{Wecom, WecomSettings};

use addresses::in_use;
pub(crate) use addresses::{SIMULATOR_BASE, api_url, simulated_addresses};
pub(crate) use verify_file::{VerifyFileProblem, has_verify_file, verify_file};

use crate::config::{Settings, UserIdKind};

/// The secret that the service and the simulated platform share. It gives access to nothing else.
pub(crate) const SIMULATED_SECRET: &str = "simulated";

/// The platform's client. It shares its access token with the other nodes that use this token cache.
pub(super) fn messenger(
    settings: &Settings,
    clock: Clock,
    cache: Arc<dyn TokenCache>,
) -> Result<Arc<dyn Messenger>, SettingsError> {
    let client: Arc<dyn Messenger> = match settings.platform.kind {
        PlatformKind::Wecom => Arc::new(Wecom::with_token_cache(wecom(settings)?, clock, cache)?),
        PlatformKind::Dingtalk => Arc::new(Dingtalk::with_token_cache(dingtalk(settings)?, clock, cache)?),
        PlatformKind::Feishu => Arc::new(Feishu::with_token_cache(feishu(settings)?, clock, cache)?),
    };
    Ok(client)
}

/// The platform's client, for commands that do not run as a node.
pub(crate) fn client(settings: &Settings, clock: Clock) -> Result<Arc<dyn Messenger>, SettingsError> {
    messenger(settings, clock, Arc::new(NoSharedCache))
}

fn wecom(settings: &Settings) -> Result<WecomSettings, SettingsError> {
    let platform = &settings.platform;
    Ok(WecomSettings {
        corp_id: platform.corp_id.to_string(),
        secret: secret(settings),
        agent_id: platform.agent_id.as_deref().map(str::to_owned),
        hosts: addresses::wecom(&mut |address| in_use(settings, &address))?,
        proxy: proxy(settings)?,
        timeouts: timeouts(),
        events: event_secrets(settings).map(|(token, aes_key)| deskpass_wecom::EventSettings { token, aes_key }),
    })
}

fn dingtalk(settings: &Settings) -> Result<DingtalkSettings, SettingsError> {
    let platform = &settings.platform;
    Ok(DingtalkSettings {
        corp_id: platform.corp_id.to_string(),
        client_id: client_id(settings)?,
        secret: secret(settings),
        agent_id: platform.agent_id.as_deref().map(str::to_owned),
        hosts: addresses::dingtalk(&mut |address| in_use(settings, &address))?,
        proxy: proxy(settings)?,
        timeouts: timeouts(),
        events: event_secrets(settings).map(|(token, aes_key)| deskpass_dingtalk::EventSettings { token, aes_key }),
    })
}

fn feishu(settings: &Settings) -> Result<FeishuSettings, SettingsError> {
    let platform = &settings.platform;
    Ok(FeishuSettings {
        tenant_key: platform.corp_id.to_string(),
        app_id: client_id(settings)?,
        secret: secret(settings),
        user_id: match platform.user_id {
            UserIdKind::UserId => deskpass_feishu::UserIdKind::UserId,
            UserIdKind::OpenId => deskpass_feishu::UserIdKind::OpenId,
        },
        hosts: addresses::feishu(&mut |address| in_use(settings, &address))?,
        proxy: proxy(settings)?,
        timeouts: timeouts(),
        events: platform.events_encrypt_key.as_ref().map(|key| deskpass_feishu::EventSettings {
            encrypt_key: key.expose().to_owned(),
            token: platform.events_token.as_ref().map_or("", |token| token.expose()).to_owned(),
        }),
    })
}

/// The token and the key of events, where the platform has both.
fn event_secrets(settings: &Settings) -> Option<(String, String)> {
    let platform = &settings.platform;
    let (token, key) = (platform.events_token.as_ref()?, platform.events_aes_key.as_ref()?);
    Some((token.expose().to_owned(), key.expose().to_owned()))
}

fn client_id(settings: &Settings) -> Result<String, SettingsError> {
    let client_id = settings.platform.client_id.as_deref().map(str::to_owned);
    client_id.ok_or(SettingsError::Missing("client id"))
}

fn secret(settings: &Settings) -> String {
    settings.platform.secret.as_ref().map_or(SIMULATED_SECRET, |secret| secret.expose()).to_owned()
}

fn proxy(settings: &Settings) -> Result<Option<Url>, SettingsError> {
    let proxy = settings.platform.proxy.as_deref();
    proxy.map(|proxy| Url::parse(proxy).map_err(|_| SettingsError::Proxy)).transpose()
}

/// Together with the requests that follow, users who return from the platform wait at most five seconds.
fn timeouts() -> Timeouts {
    Timeouts { operation: Duration::from_millis(3_500), ..Timeouts::default() }
}

/// The simulated platform, which knows this service as an application of the main corporation.
pub(super) fn simulator(settings: &Settings, clock: Clock, entropy: Entropy) -> Simulator {
    let platform = &settings.platform;
    let host = settings.public_url.split_once("://").map_or("", |(_, host)| host);
    let world = SimulatorConfig {
        kind: simulated_kind(platform.kind),
        corp_id: platform.corp_id.to_string(),
        client_id: platform.client_id.as_deref().unwrap_or_default().to_owned(),
        secret: SIMULATED_SECRET.to_owned(),
        agent_id: platform.agent_id.as_deref().unwrap_or_default().to_owned(),
        domains: Domains::LoopbackAnd(vec![host.to_owned()]),
        base: SIMULATOR_BASE.to_owned(),
    };
    Simulator::new(world, clock, entropy)
}

/// The kind of platform, as the simulator calls it.
pub(crate) fn simulated_kind(kind: PlatformKind) -> Kind {
    match kind {
        PlatformKind::Wecom => Kind::Wecom,
        PlatformKind::Dingtalk => Kind::Dingtalk,
        PlatformKind::Feishu => Kind::Feishu,
    }
}
