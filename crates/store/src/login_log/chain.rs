//! Hash chains of rows: each row has a hash of itself and of the previous row, made with a key that is not in the
//! database. An attacker who changes or removes a row in the database cannot recompute the other hashes.

use std::ops::Deref;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use deskpass_core::{Digest, EncryptionKeys, Entropy, KeyBytes, key_id};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::{Result, Seal, StoreError};

/// The number of chains. With a single chain, nodes that write concurrently would wait for each other.
pub(super) const CHAIN_COUNT: i64 = 8;

/// The chain of the rows that were written before rows were chained. It is made once and never grows.
pub(super) const ADOPTED_CHAIN: i64 = CHAIN_COUNT;

/// The block size of SHA-256, to which HMAC pads a key.
const HMAC_BLOCK_BYTES: usize = 64;

/// The text that is sealed to check the key.
const KEY_CHECK_TEXT: &str = "the key is the same";

/// The part of a key that hashes the rows of the log. It verifies rows and nothing else.
pub(crate) struct LogKey {
    /// The name of the key.
    pub(super) id: String,
    mac: Hmac<Sha256>,
}

impl LogKey {
    /// The key with this name and this secret.
    pub(super) fn new(id: String, secret: &Digest) -> Self {
        // HMAC pads a short key with zeros; with the padding done here, the length cannot be wrong.
        let mut filled = [0; HMAC_BLOCK_BYTES];
        for (to, from) in filled.iter_mut().zip(secret.bytes()) {
            *to = *from;
        }
        Self { id, mac: Hmac::new(&filled.into()) }
    }

    /// The secret that is derived from an encryption key for this purpose.
    pub(super) fn secret(bytes: &KeyBytes) -> Digest {
        Digest::of(&[b"deskpass login log", bytes])
    }

    /// The hash of these parts, encoded unambiguously.
    pub(super) fn hash(&self, parts: &[&str]) -> String {
        let mut mac = self.mac.clone();
        for part in parts {
            mac.update(&part.len().to_be_bytes());
            mac.update(part.as_bytes());
        }
        let hash: [u8; 32] = mac.finalize().into_bytes().into();
        Digest::from_bytes(hash).to_text()
    }
}

debug_only!(LogKey, id);

/// What is derived from one encryption key for the log.
pub(crate) struct ChainKey {
    log: LogKey,
    pub(super) bytes: KeyBytes,
    /// Seals the text by which the key is checked.
    checks: Seal,
    /// Seals the keys that this key has replaced.
    retired: Seal,
}

impl ChainKey {
    /// Derives a key for this purpose.
    pub(super) fn new(bytes: &KeyBytes) -> Self {
        let only = EncryptionKeys::one(*bytes);
        let checks = Seal::new(&only, "deskpass key check", Entropy::system());
        let retired = Seal::new(&only, "deskpass retired keys", Entropy::system());
        Self { log: LogKey::new(key_id(bytes), &LogKey::secret(bytes)), bytes: *bytes, checks, retired }
    }

    /// The part that hashes.
    pub(super) fn log(&self) -> &LogKey {
        &self.log
    }

    /// A new text by which this key can be recognised.
    pub(super) fn new_check(&self) -> Result<String> {
        close(&self.checks, KEY_CHECK_TEXT, KEY_CHECK_TEXT.as_bytes())
    }

    /// Whether the stored text by which the key is checked was sealed with this key.
    pub(super) fn matches_check(&self, check: &str) -> bool {
        URL_SAFE_NO_PAD.decode(check).is_ok_and(|closed| self.checks.open(KEY_CHECK_TEXT, &closed).is_some())
    }

    /// Seals the record of a key that this key has replaced, under the name of that key.
    pub(super) fn seal_retired(&self, id: &str, record: &[u8]) -> Result<String> {
        close(&self.retired, id, record)
    }

    /// Opens such a record; `None` when this key did not seal it.
    pub(super) fn open_retired(&self, id: &str, sealed: &str) -> Option<Vec<u8>> {
        self.retired.open(id, &URL_SAFE_NO_PAD.decode(sealed).ok()?)
    }
}

/// Whatever hashes or names a key needs only that part of it.
impl Deref for ChainKey {
    type Target = LogKey;
    fn deref(&self) -> &LogKey {
        &self.log
    }
}

debug_only!(ChainKey, id);

fn close(seal: &Seal, name: &str, text: &[u8]) -> Result<String> {
    let closed = seal.close(name, text).map_err(|error| StoreError::unavailable(&error))?;
    Ok(URL_SAFE_NO_PAD.encode(closed))
}

/// The hashed content of a row: every column except its hash, as text.
pub(super) struct RowContent<'a> {
    pub(super) id: &'a str,
    pub(super) at: i64,
    pub(super) event: &'a str,
    pub(super) corp: &'a str,
    pub(super) employee: &'a str,
    pub(super) role: i64,
    pub(super) method: &'a str,
    pub(super) source: &'a str,
    pub(super) address: &'a str,
    pub(super) peer: &'a str,
    pub(super) user_agent: &'a str,
    /// Corporation and identifier, if there is an actor.
    pub(super) actor: Option<(&'a str, &'a str)>,
    pub(super) reason: Option<&'a str>,
    pub(super) detail: &'a str,
    /// `None` in rows of the previous version.
    pub(super) v2: Option<RowContentV2<'a>>,
}

/// Content added in the second version of the hash.
#[derive(Clone, Copy)]
pub(super) struct RowContentV2<'a> {
    /// The address that rate limits and allow lists were applied to.
    pub(super) decided: &'a str,
    /// The last row of another chain at that time, and its hash.
    pub(super) seen_seq: i64,
    pub(super) seen_hash: &'a str,
    /// The reference of the request, from the third version of the hash on.
    pub(super) reference: Option<&'a str>,
}

/// First part of a hash of the second version. A hash of the first version begins with the hash of the previous row,
/// which is longer or empty, so the two cannot be confused.
const HASH_VERSION_2: &str = "2";
/// First part of a hash of the third version: rows with a reference. A row without one has a hash of the second version, as
/// nodes of the previous version write it.
const HASH_VERSION_3: &str = "3";

impl RowContent<'_> {
    /// The hash of a row with this content, at this position, after the row with the hash `before`.
    pub(super) fn hash(&self, key: &LogKey, chain: i64, seq: i64, before: &str) -> String {
        let [chain, seq, at, role] = [chain, seq, self.at, self.role].map(|number| number.to_string());
        let (actor_corp, actor) = self.actor.unwrap_or_default();
        // Distinguishes absent from empty values.
        let absent = [self.actor.is_none(), self.reason.is_none()].map(|absent| if absent { "1" } else { "0" });
        let Self { id, event, corp, employee, method, source, address, peer, user_agent, detail, .. } = *self;
        let reason = self.reason.unwrap_or_default();
        let parts = [
            before, &chain, &seq, id, &at, event, corp, employee, &role, method, source, address, peer, user_agent,
            actor_corp, actor, reason, detail,
        ];
        let Some(RowContentV2 { decided, seen_seq, seen_hash, reference }) = self.v2 else {
            return key.hash(&[&parts[..], &absent[..]].concat());
        };
        let seen_seq = seen_seq.to_string();
        let version = if reference.is_some() { HASH_VERSION_3 } else { HASH_VERSION_2 };
        let added = [decided, &seen_seq, seen_hash];
        key.hash(&[&[version], &parts[..], &absent[..], &added[..], reference.as_slice()].concat())
    }
}

/// The chain whose end the row at this position records: each of the others in turn.
pub(super) fn witnessed_chain(chain: i64, seq: i64) -> i64 {
    (chain.rem_euclid(CHAIN_COUNT) + 1 + seq.rem_euclid(CHAIN_COUNT - 1)).rem_euclid(CHAIN_COUNT)
}

/// The end of an identifier is random, so it spreads entries over the chains.
pub(super) fn chain_of(id: &str) -> i64 {
    let last = id.chars().next_back().and_then(|last| last.to_digit(16)).unwrap_or(0);
    i64::from(last) % CHAIN_COUNT
}
