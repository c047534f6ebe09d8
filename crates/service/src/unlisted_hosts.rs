//! Host names that requests named and that the settings do not list. This version still answers programs under them.

use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use deskpass_core::{Timestamp, nearby_network};

use crate::recently_seen::{RecentlySeen, Seen};

/// The host names, for the log and for `deskpass doctor`.
#[derive(Debug, Default)]
pub(crate) struct UnlistedHosts(Mutex<RecentlySeen<String>>);

impl UnlistedHosts {
    /// Records a request of this client, and logs it unless it was logged recently.
    pub(crate) fn note(&self, host: &str, client: IpAddr, now: Timestamp) {
        let (name, from) = (host.to_ascii_lowercase(), nearby_network(client));
        let is_due = self.0.lock().unwrap_or_else(PoisonError::into_inner).note(name, from, now);
        if is_due {
            tracing::warn!(
                host,
                "answered under a host name that is not listed, which a later version refuses: if it is a name of this \
                 service, add it to server.hosts"
            );
        }
    }

    /// The remembered host names, most recently seen first.
    pub(crate) fn list(&self) -> Vec<Seen<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).list()
    }
}
