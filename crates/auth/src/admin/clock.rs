//! The service's clock, set by the operator or after an independent clock has confirmed the time.

use deskpass_core::{ClientInfo, Timestamp};
use deskpass_store::{AuditEvent, ClockRepair};

use super::Administrator;
use crate::{Auth, Error};

impl Auth {
    /// Logs that the service moved its clock forwards, and records the new time.
    pub async fn record_clock_set(&self, detail: String) -> Result<(), Error> {
        let service = Administrator { visitor: ClientInfo::service(), ..self.operator() };
        let entry = service.entry(AuditEvent::ClockSet, &self.deployment_key(), detail)?;
        self.store.record(entry).await?;
        Ok(self.store.record_time(self.clock.now()).await?)
    }
}

impl Administrator<'_> {
    /// Records the current time in place of the former record, and corrects rows from the future. If it fails, nothing changes.
    pub async fn repair_clock(&self, detail: String) -> Result<ClockRepair, Error> {
        let now: Timestamp = self.auth.clock.now();
        let entry = self.entry(AuditEvent::ClockSet, &self.auth.deployment_key(), detail)?;
        Ok(self.auth.store.repair_clock(now, self.auth.deny_until(now), entry).await?)
    }
}
