//! Admin commands about the encryption keys. The command line rotates a key in small steps, so that it can show progress and can be
//! stopped and started again; their results are JSON for it.

use deskpass_auth::{KeyStatus, KeyUse};
use deskpass_core::{EmployeeKey, key_id};
use deskpass_store::{KeyForgetting, KeySwitch};
use serde::{Deserialize, Serialize};

use super::CommandResult;
use super::text::describe_error;
use crate::App;

/// The number of employees whose devices one step looks at.
const STEP_SIZE: i64 = 50;

/// An admin command about the encryption keys. It contains no secrets, because it is logged.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum KeyAdminCommand {
    /// Continues the audit log with the first key, which has this name.
    Switch { to: String },
    /// Moves the devices of the next employees to the first key, and the signing keys before the first of them.
    Reseal { to: String, after: Option<(String, String)> },
    /// Counts which keys the data uses.
    Status,
    /// Ends what a key that was replaced is still good for, except for verifying the audit log.
    Forget { id: String },
}

/// The result of [`KeyAdminCommand::Reseal`].
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct ResealStep {
    pub(crate) checked: u64,
    pub(crate) moved: u64,
    /// The number of signing keys that were moved.
    #[serde(default)]
    pub(crate) signing_keys: u64,
    pub(crate) next: Option<(String, String)>,
}

/// The result of [`KeyAdminCommand::Status`].
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct KeyReport {
    /// The name of the key that the audit log is written with.
    pub(crate) current: String,
    /// The names of the keys in the settings, in their order.
    pub(crate) configured: Vec<String>,
    /// The names of the keys that were replaced, and when, oldest first.
    pub(crate) retired: Vec<RetiredKeyReport>,
    /// How much of the data uses each key.
    pub(crate) keys: Vec<KeyUseReport>,
    /// The number of devices that another key than the first protects.
    pub(crate) devices_left: u64,
    /// The number of passwords that another key than the first protects.
    pub(crate) passwords_left: u64,
    /// The number of signing keys that another key than the first protects.
    #[serde(default)]
    pub(crate) signing_keys_left: u64,
    /// The number of devices, passwords and signing keys that no known key protects.
    pub(crate) unreadable: u64,
}

#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct RetiredKeyReport {
    pub(crate) key: String,
    /// Milliseconds since 1970.
    pub(crate) at: i64,
    /// Whether it only verifies the audit log.
    pub(crate) forgotten: bool,
}

#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct KeyUseReport {
    pub(crate) key: String,
    pub(crate) devices: u64,
    pub(crate) passwords: u64,
    #[serde(default)]
    pub(crate) signing_keys: u64,
}

const NOT_REPLACED: &str =
    "no key with this name was replaced; `deskpass key status` shows the names. Nothing was changed";
const STILL_LISTED: &str = "that key is in encryption_key: remove it from the settings of every node, restart the nodes, and \
                            run this again. Nothing was changed";
const REPLACED_FIRST: &str = "the first key of encryption_key was replaced by another one before; list the newest key \
                              first. Nothing was changed";

impl KeyAdminCommand {
    pub(super) async fn run(&self, app: &App) -> CommandResult {
        match self {
            Self::Switch { to } => {
                require_first(app, to)?;
                match app.auth.operator().switch_key().await.map_err(describe_error)? {
                    KeySwitch::Switched => json(&true),
                    KeySwitch::Already => json(&false),
                    KeySwitch::Replaced => Err(REPLACED_FIRST.to_owned()),
                }
            }
            Self::Reseal { to, after } => {
                require_first(app, to)?;
                let operator = app.auth.operator();
                let signing_keys = if after.is_none() { operator.reseal_signing_keys().await } else { Ok(0) };
                let after = after.as_ref().map(|(corp, id)| EmployeeKey::from_parts(corp, id));
                let batch = operator.reseal_devices(after, STEP_SIZE).await.map_err(describe_error)?;
                let signing_keys = signing_keys.map_err(describe_error)?;
                let next = batch.next.map(|next| (next.corp().to_owned(), next.id().to_owned()));
                json(&ResealStep { checked: batch.checked, moved: batch.moved, signing_keys, next })
            }
            Self::Forget { id } => match app.auth.operator().forget_key(id.clone()).await.map_err(describe_error)? {
                KeyForgetting::Forgotten => json(&true),
                KeyForgetting::Already => json(&false),
                KeyForgetting::NotReplaced => Err(NOT_REPLACED.to_owned()),
                KeyForgetting::Configured => Err(STILL_LISTED.to_owned()),
            },
            Self::Status => json(&report(&app.auth.key_status().await.map_err(describe_error)?)),
        }
    }
}

/// Requires that the process that makes the change lists first the key that the operator wants to move to: a service that was not
/// restarted since the settings were changed does not.
fn require_first(app: &App, to: &str) -> Result<(), String> {
    if key_id(&app.settings.sealing_key()) == to {
        return Ok(());
    }
    Err("the running service does not use the first key of these settings yet; restart it, then run this again. Nothing \
         was changed"
        .to_owned())
}

fn report(status: &KeyStatus) -> KeyReport {
    let state = &status.state;
    let keys = status.credentials.iter().filter_map(|(key, KeyUse { devices, passwords, signing_keys })| {
        let (devices, passwords, signing_keys) = (*devices, *passwords, *signing_keys);
        Some(KeyUseReport { key: key.clone()?, devices, passwords, signing_keys })
    });
    let lost = status.credentials.get(&None::<String>).copied().unwrap_or_default();
    let retired = state.retired.iter().map(|(key, at)| RetiredKeyReport {
        key: key.clone(),
        at: at.millis(),
        forgotten: state.forgotten.contains(key),
    });
    KeyReport {
        current: state.current.clone(),
        configured: state.configured.clone(),
        retired: retired.collect(),
        keys: keys.collect(),
        devices_left: status.devices_left(),
        passwords_left: status.passwords_left(),
        signing_keys_left: status.signing_keys_left(),
        unreadable: lost.devices + lost.passwords + lost.signing_keys,
    }
}

fn json(result: &impl Serialize) -> CommandResult {
    serde_json::to_string(result).map_err(|error| error.to_string())
}
