//! Back-channel logout: tells the clients of a session that it has ended (OpenID Connect Back-Channel Logout 1.0).
//!
//! The end of a session or a grant writes a row for each client in its own transaction. A node claims rows for a short time, and gives
//! them to the queues of their clients. A row stays until its client has accepted it, or for a day.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use deskpass_core::oidc::{ClientRegistration, SigningAlgorithm};
use deskpass_core::{ClientInfo, NoEntropy, Timestamp};
use deskpass_store::{AuditEvent, LogEntry, LogoutNotice};
use serde_json::{Value, json};

use super::jwt;
use super::logout_queue::{ClaimedLogout, LogoutQueues};
use super::logout_sender::{ATTEMPT_TIMEOUT, LogoutSender, post};
use crate::sweep::CLOCK_SET_GRACE;
use crate::{Auth, AuthEvent, Error, LogoutOutcome};

/// The type of a logout token, in its header.
const LOGOUT_TOKEN_TYPE: &str = "logout+jwt";
/// The event of a logout token.
const LOGOUT_EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";
/// The lifetime of a logout token.
const LOGOUT_TOKEN_LIFETIME: Duration = Duration::from_mins(2);

/// The number of rows that are claimed at once.
const CLAIM_BATCH: i64 = 200;
/// How long a claim lasts: three attempts, one after the other. What was not tried by then is claimed again.
const CLAIM_LEASE: Duration = Duration::from_secs(20);
/// The number of expired grants that are ended at once.
const EXPIRY_BATCH: i64 = 200;
/// The pauses after failed attempts, in seconds; the last one repeats.
const RETRY_PAUSES: [u64; 7] = [1, 5, 30, 2 * 60, 5 * 60, 10 * 60, 30 * 60];
/// The age after which a logout is not tried any more.
const MAX_LOGOUT_AGE: Duration = Duration::from_hours(24);
/// The attempt that is logged as a warning: the client is not just restarting.
const WARNING_ATTEMPT: i64 = 4;
/// Before the address of a client that was removed, in the status of its rows.
const REMOVED_CLIENT: &str = "backchannel:";

/// Where a logout goes.
struct LogoutTarget {
    address: String,
    algorithm: SigningAlgorithm,
}

impl Auth {
    /// Ends expired grants, and gives the logouts that are due to the queues of their clients; returns how many there were. Does not
    /// wait until they are delivered.
    pub async fn deliver_logouts(&self, sender: &LogoutSender) -> Result<usize, Error> {
        let now = self.clock.now();
        let expired = self.store.expire_grants(now, EXPIRY_BATCH).await?;
        let until = now + CLAIM_LEASE;
        let due = self.store.claim_logouts(now, until, CLAIM_BATCH).await?;
        let count = due.len();
        for notice in due {
            let client = notice.client_id.clone();
            if sender.queues.push(ClaimedLogout { notice, until }) {
                sender.start(self.clone().deliver_to_client(sender.http.clone(), Arc::clone(&sender.queues), client));
            }
        }
        Ok(expired + count)
    }

    /// Delivers the logouts in the queue of a client, one after the other.
    async fn deliver_to_client(self, http: reqwest::Client, queues: Arc<LogoutQueues>, client: String) {
        while let Some(ClaimedLogout { notice, until }) = queues.next(&client) {
            if self.clock.now() + ATTEMPT_TIMEOUT > until {
                // It waited for so long that another node may have it.
                continue;
            }
            if let Err(error) = self.deliver_logout(&http, notice).await {
                tracing::warn!(client, %error, "logout postponed: it could not be prepared or recorded");
            }
        }
    }

    /// Makes one attempt to deliver a logout.
    async fn deliver_logout(&self, http: &reqwest::Client, notice: LogoutNotice) -> Result<(), Error> {
        let Some(target) = self.logout_target(&notice).await? else {
            // The client does not want to be told: it finds out when it next uses its tokens.
            return Ok(self.store.delete_logout(notice.sid, notice.at).await?);
        };
        let token = self.logout_token(&notice, target.algorithm).await?;
        let sent = post(http, &target.address, &token).await;
        let is_old = self.clock.now().since(notice.at) > MAX_LOGOUT_AGE && !self.clock.was_set_within(CLOCK_SET_GRACE);
        let outcome = match sent {
            Ok(()) => LogoutOutcome::Delivered,
            Err(_) if is_old => LogoutOutcome::Abandoned,
            Err(_) => LogoutOutcome::Postponed,
        };
        let client = notice.client_id.clone();
        match sent {
            Ok(()) => self.store.delete_logout(notice.sid, notice.at).await?,
            Err(status) if is_old => self.abandon_logout(notice, &status).await?,
            Err(status) => self.postpone_logout(notice, status).await?,
        }
        self.observer.notify(AuthEvent::OidcLogout(client, outcome));
        Ok(())
    }

    /// The address and the algorithm of the client; `None` if it has no address for logouts.
    async fn logout_target(&self, notice: &LogoutNotice) -> Result<Option<LogoutTarget>, Error> {
        let target = |registration: &ClientRegistration| {
            let address = registration.backchannel_logout_uri.clone()?;
            Some(LogoutTarget { address, algorithm: registration.algorithm })
        };
        if let Some(client) = self.policy.oidc.clients.get(&notice.client_id) {
            return Ok(target(&client.registration));
        }
        let rules = self.store.access_rules().await?;
        if let Some(client) = rules.oidc_client(&notice.client_id) {
            return Ok(target(&client.registration));
        }
        let address = notice.status.strip_prefix(REMOVED_CLIENT).map(str::to_owned);
        // Its algorithm went with its registration: the one that every client supports, unless only the other was ever used.
        let has_rsa_key = rules.oidc_keys.iter().any(|row| row.algorithm == SigningAlgorithm::Rs256);
        let algorithm = if has_rsa_key { SigningAlgorithm::Rs256 } else { SigningAlgorithm::Es256 };
        Ok(address.map(|address| LogoutTarget { address, algorithm }))
    }

    /// A logout token. Each attempt has one of its own: a client may refuse an identifier that it has seen.
    async fn logout_token(&self, notice: &LogoutNotice, algorithm: SigningAlgorithm) -> Result<String, Error> {
        let key = self.signing_key(algorithm).await?;
        let id = URL_SAFE_NO_PAD.encode(self.entropy.bytes::<16>()?);
        let claims = logout_claims(&self.policy.oidc.issuer, notice, &id, self.clock.wall());
        jwt::sign(&key, LOGOUT_TOKEN_TYPE, &claims)
    }

    async fn postpone_logout(&self, notice: LogoutNotice, status: String) -> Result<(), Error> {
        let LogoutNotice { sid, client_id, at, tries, status: before, .. } = notice;
        if tries == WARNING_ATTEMPT {
            tracing::warn!(client = client_id, status, "a client does not accept logouts; they are tried for a day");
        } else {
            tracing::debug!(client = client_id, status, tries, "logout postponed");
        }
        // The status of a client that was removed has its address.
        let status = if before.starts_with(REMOVED_CLIENT) { before } else { status };
        Ok(self.store.postpone_logout(sid, at, self.clock.now() + retry_pause(tries), status).await?)
    }

    /// Gives up, and says so in the audit log: the client may still believe that the user is signed in.
    async fn abandon_logout(&self, notice: LogoutNotice, status: &str) -> Result<(), Error> {
        tracing::warn!(client = notice.client_id, status, "logout abandoned: the client has not accepted it for a day");
        self.store.record(self.abandoned_entry(&notice, status)?).await?;
        Ok(self.store.delete_logout(notice.sid, notice.at).await?)
    }

    fn abandoned_entry(&self, notice: &LogoutNotice, status: &str) -> Result<LogEntry, NoEntropy> {
        let (about, service) = (self.deployment_key(), ClientInfo::service());
        let plain = self.plain_entry(AuditEvent::OidcLogoutFailed, &about, self.clock.now(), &service)?;
        let detail =
            format!("client {}, subject {}, {} attempts: {status}", notice.client_id, notice.subject, notice.tries);
        Ok(LogEntry { detail, ..plain })
    }
}

/// The claims of a logout token: with the subject and the session, without a nonce.
fn logout_claims(issuer: &str, notice: &LogoutNotice, id: &str, now: Timestamp) -> Value {
    let seconds = |at: Timestamp| at.millis().div_euclid(1_000);
    json!({
        "iss": issuer,
        "aud": notice.client_id,
        "iat": seconds(now),
        "exp": seconds(now + LOGOUT_TOKEN_LIFETIME),
        "jti": id,
        "events": { LOGOUT_EVENT: {} },
        "sub": notice.subject,
        "sid": notice.sid,
    })
}

/// The pause after this number of attempts.
fn retry_pause(tries: i64) -> Duration {
    let place = usize::try_from(tries.saturating_sub(1)).unwrap_or(0).min(RETRY_PAUSES.len() - 1);
    Duration::from_secs(RETRY_PAUSES.get(place).copied().unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_repeated_quickly_first_and_for_a_day() {
        let seconds: Vec<_> = (1..=9).map(|tries| retry_pause(tries).as_secs()).collect();
        assert_eq!(seconds, [1, 5, 30, 120, 300, 600, 1_800, 1_800, 1_800]);
        assert_eq!([0, -1, i64::MIN].map(|tries| retry_pause(tries).as_secs()), [1; 3]);
        assert_eq!(retry_pause(i64::MAX).as_secs(), 1_800);
    }

    #[test]
    fn a_logout_token_has_what_the_standard_demands_and_no_nonce() {
        let notice = LogoutNotice {
            sid: "session".to_owned(),
            client_id: "desk".to_owned(),
            subject: "person".to_owned(),
            at: Timestamp::from_millis(0),
            tries: 1,
            status: String::new(),
        };
        let claims =
            logout_claims("https://desk.example.com", &notice, "one", Timestamp::from_millis(1_700_000_000_999));
        let expected = json!({
            "iss": "https://desk.example.com", "aud": "desk", "iat": 1_700_000_000, "exp": 1_700_000_120, "jti": "one",
            "events": { "http://schemas.openid.net/event/backchannel-logout": {} }, "sub": "person", "sid": "session",
        });
        assert_eq!(claims, expected);
        assert_eq!(claims.get("nonce"), None);
    }
}
