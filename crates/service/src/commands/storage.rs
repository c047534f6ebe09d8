//! How a running service finds the disk with its data.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::CommandResult;
use crate::App;
use crate::app::disk_space::DiskSpace;

/// A slower disk is too slow for users who wait for a page.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// What a running service says about its data.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct StorageReport {
    /// Why nothing can be written; nothing while it can.
    pub(crate) fault: Option<String>,
    /// The space of the disk; nothing where the system does not tell it.
    pub(crate) space: Option<DiskSpace>,
}

/// Writes to the data, and looks at the disk.
pub(super) async fn report(app: &App) -> CommandResult {
    let written = timeout(WRITE_TIMEOUT, app.auth.store.probe(app.auth.clock.now())).await;
    let fault = match written {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) => Some(format!("no response within {} s", WRITE_TIMEOUT.as_secs())),
    };
    let space = DiskSpace::of(&app.settings.data).ok();
    serde_json::to_string(&StorageReport { fault, space }).map_err(|error| error.to_string())
}
