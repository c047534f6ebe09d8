//! The user's own sign-ins: listing them, and disowning one that the user did not make.

use std::time::Duration;

use deskpass_core::ClientInfo;
use deskpass_store::{AuditEvent, DisownEffects, DisownRequest, ListedSignIn, LogEntry, LogRow, SignInListLimits};

use crate::notice::MAX_NOTIFIED_ADMINS;
use crate::{Auth, Error, Refusal, TokenHolder};

const LISTED_LIMITS: SignInListLimits = SignInListLimits { sign_ins: 50, refused: 10 };
const LISTED_PERIOD: Duration = Duration::from_hours(90 * 24);

impl Auth {
    /// The user's sign-ins of the last 90 days, at most 50, and refused ones, at most 10, newest first. Sign-ins with a live
    /// session are always included.
    pub async fn sign_ins(&self, holder: &TokenHolder) -> Result<Vec<ListedSignIn>, Error> {
        let (employee, now) = (holder.session().employee.clone(), self.clock.now());
        Ok(self.store.own_sign_ins(employee, now - LISTED_PERIOD, now, LISTED_LIMITS).await?)
    }

    /// Records that the user disowns a sign-in: its session ends, and administrators are notified. Repeating it has no effect.
    pub async fn disown_sign_in(
        &self,
        holder: &TokenHolder,
        id: String,
        visitor: &ClientInfo,
    ) -> Result<DisownEffects, Error> {
        let (session, now) = (holder.session(), self.clock.now());
        // Log rows never change, so the row can be read before the transaction.
        let sign_in = self.store.sign_in(&session.employee, id).await?.ok_or(Refusal::NoSuchSignIn)?;
        let entry = self.entry(AuditEvent::SignInDisowned, session, now, visitor)?;
        let disowning = DisownRequest {
            entry: LogEntry { detail: describe_sign_in(&sign_in), ..entry },
            who: self.display_id(holder),
            home: self.policy.home_corp.as_str().to_owned(),
            notices: (0..MAX_NOTIFIED_ADMINS).map(|_| self.notice_id(now, visitor)).collect::<Result<_, _>>()?,
            deny_until: self.deny_until(now),
            sign_in,
        };
        let Some(done) = self.store.disown(holder.as_author(now), disowning).await? else {
            return Ok(DisownEffects::default());
        };
        self.notices_due.notify_one();
        let DisownEffects { ended, told } = done;
        tracing::info!(employee = %session.employee, ended, notified = told, "sign-in disowned");
        Ok(done)
    }

    /// The user's id in notices to administrators of the home corporation.
    fn display_id(&self, holder: &TokenHolder) -> String {
        let person = holder.person();
        let (corp, id) = (person.key.corp(), person.employee_id());
        if corp == self.policy.home_corp.as_str() { id.to_owned() } else { format!("{corp}/{id}") }
    }
}

/// The description of a sign-in for the log.
fn describe_sign_in(sign_in: &LogRow) -> String {
    let LogRow { at, reason, ip_address, method, .. } = sign_in;
    // Limits and allow-lists used the first address; the second may be forged.
    let from = match sign_in.address() {
        address if address == ip_address => ip_address.clone(),
        address => format!("{address} (it said {ip_address})"),
    };
    let at = jiff::Timestamp::from_millisecond(at.millis()).unwrap_or_default();
    let refused = if reason.is_some() { "refused " } else { "" };
    let method = if method.is_empty() { String::new() } else { format!(" by {method}") };
    format!("{refused}sign-in of {at} from {from}{method}")
}
