//! `deskpass reload`: has the running service read its settings again.

use clap::Args;

use super::{CliError, CommonArgs, output};
use crate::commands::AdminCommand;
use crate::config::{self, Language, ServiceLocation};

/// How to reload a service that the command line does not reach.
const BY_SIGNAL: &str = "use `systemctl reload deskpass`, or `kill -HUP` with the process id of the service";

#[derive(Args, Debug)]
pub(super) struct Reload {
    #[command(flatten)]
    common: CommonArgs,
}

impl Reload {
    pub(super) fn run(self) -> Result<(), CliError> {
        // The service checks the settings: its environment may differ from that of this command.
        let location = self.common.with_sources(Vec::new(), config::service_location)?;
        let ServiceLocation { data, shared_database, development } = location;
        if shared_database {
            return Err(
                format!("a service that shares its database has no command socket; on each node, {BY_SIGNAL}").into()
            );
        }
        let sent = AdminCommand::Reload.send_to_service(&data, development, Language::En);
        let message = sent.map_err(|error| {
            let data = data.display();
            format!("no service responds on {data} ({error}); check --data and the settings, or {BY_SIGNAL}")
        })?;
        Ok(output::line(message?)?)
    }
}
