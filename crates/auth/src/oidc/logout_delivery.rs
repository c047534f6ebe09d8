//! Back-channel logout: tells the clients of a session that it has ended (OpenID Connect Back-Channel Logout 1.0).
//!
//! The end of a session or a grant writes a row for each client in its own transaction. A node claims as many rows as the queue of their
//! client has room for, for a short time. A row stays until its client has accepted it, or for a day.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use deskpass_core::oidc::{ClientRegistration, SigningAlgorithm};
use deskpass_core::{ClientInfo, LEASE_CLOCK_ERROR, NoEntropy, Timestamp};
use deskpass_store::{AuditEvent, LogEntry, LogoutNotice};
use serde_json::{Value, json};

use super::id_token::ID_TOKEN_LIFETIME;
use super::jwt;
use super::logout_queue::{ClaimedLogout, LogoutQueues};
use super::logout_sender::{ATTEMPT_TIMEOUT, LogoutSender, Undelivered, post};
use crate::sweep::CLOCK_SET_GRACE;
use crate::{Auth, AuthEvent, Error, LogoutOutcome};

/// The type of a logout token, in its header.
const LOGOUT_TOKEN_TYPE: &str = "logout+jwt";
/// The event of a logout token.
const LOGOUT_EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";
/// The lifetime of a logout token: a program whose clock is ahead and which accepts ID tokens must accept it as well.
const LOGOUT_TOKEN_LIFETIME: Duration = ID_TOKEN_LIFETIME;

/// The number of clients that are looked at in one round.
const MAX_DUE_CLIENTS: i64 = 1_000;
/// How long a claim lasts, by the time of leases: a full queue fits into it even if no attempt is answered. What was not tried by then is
/// claimed again.
const CLAIM_LEASE: Duration = Duration::from_secs(25);
/// The number of expired grants that are ended at once.
const EXPIRY_BATCH: i64 = 200;
/// The pauses after failed attempts, in seconds; the last one repeats.
const RETRY_PAUSES: [u64; 7] = [1, 5, 30, 2 * 60, 5 * 60, 10 * 60, 30 * 60];
/// The age after which a logout is not tried any more.
const MAX_LOGOUT_AGE: Duration = Duration::from_hours(24);
/// The attempt that is logged as a warning: the client is not just restarting.
const WARNING_ATTEMPT: i64 = 4;
/// The pause before a logout of a client that this node does not know is looked at again.
const UNKNOWN_CLIENT_PAUSE: Duration = Duration::from_mins(1);

/// Where the logouts of a client go.
#[derive(Debug, PartialEq, Eq)]
enum LogoutTarget {
    /// To this address, signed with this algorithm.
    Address(String, SigningAlgorithm),
    /// Nowhere: the client finds out when it next uses its tokens.
    Nowhere,
    /// This node does not know the client. Another node may have newer settings.
    Unknown,
}

impl LogoutTarget {
    fn of(client: Option<&ClientRegistration>) -> Self {
        match client {
            None => Self::Unknown,
            Some(ClientRegistration { backchannel_logout_uri: None, .. }) => Self::Nowhere,
            Some(ClientRegistration { backchannel_logout_uri: Some(address), algorithm, .. }) => {
                Self::Address(address.clone(), *algorithm)
            }
        }
    }
}

impl Auth {
    /// Ends expired grants and those of clients that were changed, and gives the logouts that are due to the queues of their clients;
    /// returns how many there were. Does not wait until they are delivered. What finds no room in a queue stays due; a queue that
    /// becomes empty fires `logouts_due`.
    pub async fn deliver_logouts(&self, sender: &LogoutSender) -> Result<usize, Error> {
        let ended = self.end_grants_of_changed_clients().await?;
        let mut count = ended + self.store.expire_grants(self.clock.now(), EXPIRY_BATCH).await?;
        let leased_at = self.clock.lease_now();
        for client in self.store.due_logout_clients(leased_at, MAX_DUE_CLIENTS).await? {
            count += self.claim_logouts(sender, &client, leased_at).await?;
        }
        Ok(count)
    }

    /// Fills the queue of a client; returns how many logouts were added.
    async fn claim_logouts(&self, sender: &LogoutSender, client: &str, now: Timestamp) -> Result<usize, Error> {
        let (room, until) = (sender.queues.room(client), now + CLAIM_LEASE);
        if room == 0 {
            return Ok(0);
        }
        let due = self.store.claim_logouts_of(client.to_owned(), now, until, room).await?;
        let count = due.len();
        for notice in due {
            if sender.queues.push(ClaimedLogout { notice, until }) {
                let (http, queues) = (sender.http.clone(), Arc::clone(&sender.queues));
                sender.start(self.clone().deliver_to_client(http, queues, client.to_owned()));
            }
        }
        Ok(count)
    }

    /// Delivers the logouts in the queue of a client, one after the other.
    async fn deliver_to_client(self, http: reqwest::Client, queues: Arc<LogoutQueues>, client: String) {
        while let Some(ClaimedLogout { notice, until }) = queues.next(&client) {
            if self.clock.lease_now() + ATTEMPT_TIMEOUT + LEASE_CLOCK_ERROR > until {
                // It waited for so long that another node may have it before the attempt ends.
                continue;
            }
            if let Err(error) = self.deliver_logout(&http, notice).await {
                tracing::warn!(client, %error, "logout postponed: it could not be prepared or recorded");
            }
        }
        // The queue has room again.
        self.logouts_due.notify_one();
    }

    /// Makes one attempt to deliver a logout.
    async fn deliver_logout(&self, http: &reqwest::Client, notice: LogoutNotice) -> Result<(), Error> {
        let sent = match self.logout_target(&notice.client_id).await? {
            LogoutTarget::Nowhere => return Ok(self.store.delete_logout(notice.sid, notice.at).await?),
            LogoutTarget::Address(address, algorithm) => {
                let token = self.logout_token(&notice, algorithm).await?;
                let sent = post(http, &address, &token, self.clock.wall()).await;
                sent.map_err(|why| (why.to_string(), retry_pause(notice.tries + 1)))
            }
            LogoutTarget::Unknown => Err((Undelivered::Unreachable.to_string(), UNKNOWN_CLIENT_PAUSE)),
        };
        let is_old = self.clock.now().since(notice.at) > MAX_LOGOUT_AGE && !self.clock.was_set_within(CLOCK_SET_GRACE);
        let client = notice.client_id.clone();
        let outcome = match sent {
            Ok(()) => {
                self.store.delete_logout(notice.sid, notice.at).await?;
                LogoutOutcome::Delivered
            }
            Err((status, _)) if is_old => {
                self.abandon_logout(notice, &status).await?;
                LogoutOutcome::Abandoned
            }
            Err((status, pause)) => {
                self.postpone_logout(notice, status, pause).await?;
                LogoutOutcome::Postponed
            }
        };
        self.observer.notify(AuthEvent::OidcLogout(client, outcome));
        Ok(())
    }

    /// Where the logouts of a client go. A client that was removed is still told what ended with it.
    async fn logout_target(&self, client: &str) -> Result<LogoutTarget, Error> {
        if let Some(client) = self.policy.oidc.clients.get(client) {
            return Ok(LogoutTarget::of(Some(&client.registration)));
        }
        let rules = self.store.access_rules().await?;
        let known = rules.oidc_client(client).or_else(|| rules.removed_oidc_client(client));
        Ok(LogoutTarget::of(known.map(|known| &known.registration)))
    }

    /// A logout token. Each attempt has one of its own: a client may refuse an identifier that it has seen.
    async fn logout_token(&self, notice: &LogoutNotice, algorithm: SigningAlgorithm) -> Result<String, Error> {
        let key = self.signing_key(algorithm).await?;
        let id = URL_SAFE_NO_PAD.encode(self.entropy.bytes::<16>()?);
        let claims = logout_claims(&self.policy.oidc.issuer, notice, &id, self.clock.wall());
        jwt::sign(&key, LOGOUT_TOKEN_TYPE, &claims)
    }

    async fn postpone_logout(&self, notice: LogoutNotice, status: String, pause: Duration) -> Result<(), Error> {
        let LogoutNotice { sid, client_id, at, tries, .. } = notice;
        if tries + 1 == WARNING_ATTEMPT {
            tracing::warn!(client = client_id, status, "a client does not accept logouts; they are tried for a day");
        } else {
            tracing::debug!(client = client_id, status, tries = tries + 1, "logout postponed");
        }
        Ok(self.store.postpone_logout(sid, at, self.clock.lease_now() + pause, status).await?)
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
        let LogoutNotice { client_id, subject, tries, .. } = notice;
        let detail = format!("client {client_id}, subject {subject}, {} attempts: {status}", tries + 1);
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
    use super::super::logout_queue::{MAX_WAITING, MAX_WORKERS};
    use super::*;

    #[test]
    fn attempts_are_repeated_quickly_first_and_for_a_day() {
        let seconds: Vec<_> = (1..=9).map(|tries| retry_pause(tries).as_secs()).collect();
        assert_eq!(seconds, [1, 5, 30, 120, 300, 600, 1_800, 1_800, 1_800]);
        assert_eq!([0, -1, i64::MIN].map(|tries| retry_pause(tries).as_secs()), [1; 3]);
        assert_eq!(retry_pause(i64::MAX).as_secs(), 1_800);
    }

    #[test]
    fn a_client_that_is_not_known_is_looked_for_again() {
        let silent = ClientRegistration::default();
        let address = "https://desk.example.com/logout".to_owned();
        let told = ClientRegistration {
            backchannel_logout_uri: Some(address.clone()),
            algorithm: SigningAlgorithm::Es256,
            ..Default::default()
        };
        assert_eq!(LogoutTarget::of(None), LogoutTarget::Unknown);
        assert_eq!(LogoutTarget::of(Some(&silent)), LogoutTarget::Nowhere);
        assert_eq!(LogoutTarget::of(Some(&told)), LogoutTarget::Address(address, SigningAlgorithm::Es256));
    }

    /// Otherwise other nodes would claim what waits in a queue.
    #[test]
    fn a_full_queue_is_tried_before_its_claim_ends() {
        let rounds = u32::try_from(MAX_WAITING.div_ceil(MAX_WORKERS)).unwrap_or(u32::MAX);
        assert!(ATTEMPT_TIMEOUT * (rounds + 1) + LEASE_CLOCK_ERROR <= CLAIM_LEASE);
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
            "iss": "https://desk.example.com", "aud": "desk", "iat": 1_700_000_000, "exp": 1_700_000_300, "jti": "one",
            "events": { "http://schemas.openid.net/event/backchannel-logout": {} }, "sub": "person", "sid": "session",
        });
        assert_eq!(claims, expected);
        assert_eq!(claims.get("nonce"), None);
    }
}
