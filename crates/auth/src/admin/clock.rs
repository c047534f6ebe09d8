//! The time that the service goes by, set by the operator or once an independent clock has confirmed it.

use deskpass_core::{ClientInfo, Timestamp};
use deskpass_store::{AuditEvent, ClockRepair};

use super::Administrator;
use crate::{Auth, Error};

impl Auth {
    /// Writes down that the service moved its time forwards by itself, and puts the new time on record.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn record_clock_set(&self, detail: String) -> Result<(), Error> {
        let service = Administrator { auth: self, who: None, acting: None, visitor: ClientInfo::service() };
        let entry = service.entry(AuditEvent::ClockSet, &self.deployment_key(), detail)?;
        self.store.record(entry).await?;
        Ok(self.store.record_time(self.clock.now()).await?)
    }
}

impl Administrator<'_> {
    /// Puts the time now on record in place of what was there, and brings back what has a time in the future.
    ///
    /// # Errors
    /// When the store fails; then nothing has changed.
    pub async fn repair_clock(&self, detail: String) -> Result<ClockRepair, Error> {
        let now: Timestamp = self.auth.clock.now();
        let entry = self.entry(AuditEvent::ClockSet, &self.auth.deployment_key(), detail)?;
        Ok(self.auth.store.repair_clock(now, self.auth.deny_until(now), entry).await?)
    }
}
