//! Receipts: the ends of the chains at some time, to be kept out of reach of anyone with write access to the database.

use std::fmt;

use super::chain::LogKey;
use super::keys::{ChainKeys, LogKeys};

/// First field of a receipt, and that of receipts of the previous version.
const FORMAT: &str = "deskpass-log-2";
const FORMAT_V1: &str = "deskpass-log-1";

/// The ends of all chains: one line of text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Receipt {
    /// Authentication code of the marker that records since when the log is chained. The previous version had none.
    pub(super) marker: Option<String>,
    /// Chain, number and hash of the last row.
    pub(super) ends: Vec<(i64, i64, String)>,
    mac: String,
}

/// Why a text is not a valid receipt.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
pub enum InvalidReceipt {
    /// The text has another format.
    #[error("a receipt begins with {FORMAT} and has no spaces")]
    Form,
    /// The receipt was not made with this key, or is incomplete.
    #[error("it is incomplete or was changed, or it was created with another encryption_key")]
    Mac,
}

impl Receipt {
    pub(super) fn new(key: &LogKey, marker: Option<String>, ends: Vec<(i64, i64, String)>) -> Self {
        let mac = key.hash(&["receipt", &body(marker.as_deref(), &ends)]);
        Self { marker, ends, mac }
    }

    /// Parses a receipt. Verifying the log with it also checks what it was made with.
    pub fn parse(text: &str) -> Result<Self, InvalidReceipt> {
        let (body, mac) = text.trim().rsplit_once(',').ok_or(InvalidReceipt::Form)?;
        let mut parts = body.split(',');
        let marker = match parts.next() {
            Some(FORMAT_V1) => None,
            Some(FORMAT) => Some(parts.next().ok_or(InvalidReceipt::Form)?.to_owned()),
            _ => return Err(InvalidReceipt::Form),
        };
        let ends: Option<Vec<_>> = parts.map(end).collect();
        Ok(Self { marker, ends: ends.ok_or(InvalidReceipt::Form)?, mac: mac.to_owned() })
    }

    /// Checks that the receipt is complete, and was made with a key of the settings or one that was replaced since. All keys of the
    /// settings count: an attacker who has an old key and makes it look like the current one must not invalidate newer receipts.
    pub(super) fn require_genuine(&self, keys: &LogKeys<'_>, configured: &ChainKeys) -> Result<(), InvalidReceipt> {
        let is_genuine =
            keys.all().any(|key| self.is_genuine(key)) || configured.iter().any(|key| self.is_genuine(key));
        if is_genuine { Ok(()) } else { Err(InvalidReceipt::Mac) }
    }

    fn is_genuine(&self, key: &LogKey) -> bool {
        *self == Self::new(key, self.marker.clone(), self.ends.clone())
    }

    /// The end of a chain in this receipt.
    pub(super) fn of(&self, chain: i64) -> Option<(i64, &str)> {
        let found = self.ends.iter().find(|(of, ..)| *of == chain);
        found.map(|(_, seq, hash)| (*seq, &**hash))
    }
}

impl fmt::Display for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", body(self.marker.as_deref(), &self.ends), self.mac)
    }
}

fn body(marker: Option<&str>, ends: &[(i64, i64, String)]) -> String {
    let ends: Vec<_> = ends.iter().map(|(chain, seq, hash)| format!(",{chain}:{seq}:{hash}")).collect();
    let kind = marker.map_or_else(|| FORMAT_V1.to_owned(), |marker| format!("{FORMAT},{marker}"));
    format!("{kind}{}", ends.concat())
}

fn end(text: &str) -> Option<(i64, i64, String)> {
    let (chain, rest) = text.split_once(':')?;
    let (seq, hash) = rest.split_once(':')?;
    Some((chain.parse().ok()?, seq.parse().ok()?, hash.to_owned()))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::login_log::chain::ChainKey;

    #[test]
    fn a_receipt_round_trips_only_with_its_key() {
        let (key, other) = (ChainKey::new(&[1; 32]), ChainKey::new(&[2; 32]));
        let is_genuine = |text: &str, key: &ChainKey| Receipt::parse(text).unwrap().is_genuine(key);
        let ends = vec![(0, 17, "abc".to_owned()), (7, 1, "x-_".to_owned())];
        for (marker, ends) in [(None, vec![]), (Some("m"), vec![]), (None, ends.clone()), (Some("m"), ends)] {
            let receipt = Receipt::new(&key, marker.map(str::to_owned), ends);
            let text = receipt.to_string();
            assert!(!text.contains(char::is_whitespace));
            assert_eq!(Receipt::parse(&format!(" {text}\n")).unwrap(), receipt);
            assert!(is_genuine(&text, &key) && !is_genuine(&text, &other));
            assert!(!is_genuine(text.get(..text.len() - 1).unwrap(), &key));
        }
        let text = Receipt::new(&key, Some("m".to_owned()), vec![(0, 17, "abc".to_owned())]).to_string();
        for changed in [text.replace(":17:", ":16:"), text.replace(",m,", ",n,"), text.replace("log-2,m", "log-1")] {
            assert!(!is_genuine(&changed, &key), "{changed}");
        }
        for text in ["", "deskpass-log-1", "nonsense,x", "deskpass-log-1,0:x:y,z", "deskpass-log-1,0,z"] {
            assert_eq!(Receipt::parse(text), Err(InvalidReceipt::Form), "{text}");
        }
    }
}
