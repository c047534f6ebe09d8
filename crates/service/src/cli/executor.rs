//! Commands of several steps, which show progress.

use std::path::PathBuf;
use std::time::Duration;

use deskpass_store::OpenError;
use serde::de::DeserializeOwned;
use tokio::time::sleep;

use super::CliError;
use super::command_runtime::{CommandRuntime, runtime};
use crate::app::installation::NewData;
use crate::commands::AdminCommand;
use crate::config::{Language, Settings};
use crate::{App, StartError};

/// Where the steps run: in this process, or in the service that runs on the same embedded data.
pub(super) enum Executor {
    Here(App, CommandRuntime),
    Service { data: PathBuf, development: bool },
}

impl Executor {
    pub(super) fn open(settings: Settings) -> Result<Self, CliError> {
        let (runtime, development) = (runtime()?, settings.development.enabled);
        match runtime.block_on(App::open_with(settings, NewData::Leave)) {
            Ok(app) => {
                runtime.block_on(app.require_encryption_key())?;
                Ok(Self::Here(app, runtime))
            }
            Err(StartError::Open(OpenError::InUse(data))) => Ok(Self::Service { data, development }),
            Err(error) => Err(error.into()),
        }
    }

    /// Runs a step and reads its result.
    pub(super) fn run<T: DeserializeOwned>(&self, command: &AdminCommand) -> Result<T, CliError> {
        self.run_of(None, command)
    }

    /// The same. A running service refuses the step if it has another corporation.
    pub(super) fn run_of<T: DeserializeOwned>(
        &self,
        corporation: Option<&str>,
        command: &AdminCommand,
    ) -> Result<T, CliError> {
        let result = match self {
            Self::Here(app, runtime) => runtime.block_on(command.run(app, Language::En)),
            Self::Service { data, development } => {
                let corporation = corporation.map(str::to_owned);
                command.send_to_service_of(corporation, data, *development, Language::En).map_err(|error| {
                    format!(
                        "the service that runs on {} did not respond ({error}); run this again, it continues where it \
                         stopped",
                        data.display()
                    )
                })?
            }
        };
        Ok(serde_json::from_str(&result?)?)
    }

    /// Waits. What a step started in this process goes on meanwhile.
    pub(super) fn pause(&self, pause: Duration) {
        match self {
            // `sleep` needs the runtime when it is made, not only when it is awaited.
            Self::Here(_, runtime) => runtime.block_on(async { sleep(pause).await }),
            Self::Service { .. } => std::thread::sleep(pause),
        }
    }
}
