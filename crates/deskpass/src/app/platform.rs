//! The platform's client as the settings describe it, and the simulated platform.

use std::fs;
use std::path::Path;
use std::time::Duration;

use deskpass_core::{Clock, Entropy};
use deskpass_wecom::{Hosts, SettingsError, Timeouts, Url, Wecom, WecomSettings};
use deskpass_simulator::{Domains, Kind, Simulator, SimulatorConfig};

use super::StartError;
use crate::config::Settings;

/// The secret that the service and the simulated platform share. It gives access to nothing else.
pub(crate) const SIMULATED_SECRET: &str = "simulated";

/// The size limit of verification files, which are one line long.
const MAX_VERIFY_FILE_BYTES: u64 = 4096;

/// What is wrong with the platform's verification file.
#[derive(Debug, thiserror::Error)]
pub enum VerifyFileProblem {
    /// Its name is wrong.
    #[error("the file must keep the name that the platform gave it, WW_verify_….txt")]
    Name,
    /// It is too large.
    #[error("the file is too large for a verification file")]
    TooLarge,
    /// It cannot be read.
    #[error("it cannot be read: {0}")]
    Unreadable(#[from] std::io::Error),
}

/// The platform's client, for commands that do not run as a node.
pub(crate) fn client(settings: &Settings, clock: Clock) -> Result<Wecom, SettingsError> {
    Wecom::new(client_settings(settings)?, clock)
}

/// The settings of the platform's client.
pub(super) fn client_settings(settings: &Settings) -> Result<WecomSettings, SettingsError> {
    let platform = &settings.platform;
    let url = |name, text: &str| Url::parse(text).map_err(|_| SettingsError::Address(name));
    let secret = platform.secret.as_ref().map_or(SIMULATED_SECRET, |secret| secret.expose());
    Ok(WecomSettings {
        corp_id: platform.corp_id.to_string(),
        secret: secret.to_owned(),
        agent_id: platform.agent_id.as_deref().map(str::to_owned),
        hosts: Hosts {
            api: url("platform.api_url", &platform.api_url)?,
            authorize: url("platform.authorize_url", &platform.authorize_url)?,
            web_login: url("platform.web_login_url", &platform.web_login_url)?,
        },
        proxy: platform.proxy.as_deref().map(|proxy| url("platform.proxy", proxy)).transpose()?,
        // Together with the requests that follow, users who return from the platform wait at most five seconds.
        timeouts: Timeouts { operation: Duration::from_millis(3_500), ..Timeouts::default() },
    })
}

/// The simulated platform, which knows this service as an application of the main corporation.
pub(super) fn simulator(settings: &Settings, clock: Clock, entropy: Entropy) -> Simulator {
    let host = settings.public_url.split_once("://").map_or("", |(_, host)| host);
    let world = SimulatorConfig {
        kind: Kind::Wecom,
        corp_id: settings.platform.corp_id.to_string(),
        client_id: String::new(),
        secret: SIMULATED_SECRET.to_owned(),
        agent_id: settings.platform.agent_id.as_deref().unwrap_or_default().to_owned(),
        domains: Domains::LoopbackAnd(vec![host.to_owned()]),
        base: "/sim".to_owned(),
    };
    Simulator::new(world, clock, entropy)
}

/// Reads the platform's verification file.
pub(crate) fn verify_file(settings: &Settings) -> Result<Option<(String, String)>, StartError> {
    let Some(path) = &settings.platform.verify_file else { return Ok(None) };
    read_verify_file(path).map(Some).map_err(|why| StartError::VerifyFile { path: path.clone(), why })
}

/// Reads and checks a verification file. It is served to everyone, so its name and size must be those of such a file.
fn read_verify_file(path: &Path) -> Result<(String, String), VerifyFileProblem> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let plain = |c: u8| c.is_ascii_alphanumeric() || c == b'_' || c == b'-';
    let stem = name.strip_prefix("WW_verify_").and_then(|rest| rest.strip_suffix(".txt"));
    if !stem.is_some_and(|stem| !stem.is_empty() && stem.bytes().all(plain)) {
        return Err(VerifyFileProblem::Name);
    }
    if fs::metadata(path)?.len() > MAX_VERIFY_FILE_BYTES {
        return Err(VerifyFileProblem::TooLarge);
    }
    Ok((name.to_owned(), fs::read_to_string(path)?))
}
