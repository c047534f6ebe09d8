//! When a signing key is published and when it signs.

use std::time::Duration;

use crate::Timestamp;

/// How long a key is published before it signs, so that every node and every client's cache has it.
pub const KEY_PUBLICATION: Duration = Duration::from_hours(24);
/// How long a key signs before the next one replaces it.
pub const KEY_LIFETIME: Duration = Duration::from_hours(90 * 24);
/// How long a replaced key is still published: ID tokens that it signed may be sent back as hints.
pub const KEY_RETENTION: Duration = Duration::from_hours(7 * 24);

/// The times of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyTimes {
    /// When it was made and published.
    pub created_at: Timestamp,
    /// From when on it signs.
    pub active_from: Timestamp,
    /// Since when it is withdrawn, if it leaked: it neither signs nor is published.
    pub withdrawn_at: Option<Timestamp>,
}

/// The position of the key that signs now, among the keys of one algorithm: the last one whose time has come.
#[must_use]
pub fn active_key(keys: &[KeyTimes], now: Timestamp) -> Option<usize> {
    let usable = keys.iter().enumerate().filter(|(_, key)| key.withdrawn_at.is_none() && key.active_from <= now);
    usable.max_by_key(|(_, key)| (key.active_from, key.created_at)).map(|(at, _)| at)
}

/// Whether the key at this position is published: it will sign, signs, or was replaced lately.
#[must_use]
pub fn is_published(keys: &[KeyTimes], at: usize, now: Timestamp) -> bool {
    let Some(key) = keys.get(at) else { return false };
    if key.withdrawn_at.is_some() {
        return false;
    }
    let later = keys.iter().filter(|other| other.withdrawn_at.is_none() && other.active_from > key.active_from);
    let replaced_at = later.map(|other| other.active_from).min();
    replaced_at.is_none_or(|replaced_at| now < replaced_at + KEY_RETENTION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_published_before_it_signs_and_a_week_after() {
        let at = |hours: u64| Timestamp::from_millis(0) + Duration::from_hours(hours);
        let key = |created, active| KeyTimes { created_at: at(created), active_from: at(active), withdrawn_at: None };
        let keys = [key(0, 0), key(100, 124)];
        assert_eq!([99, 123, 124, 400].map(|hour| active_key(&keys, at(hour))), [Some(0), Some(0), Some(1), Some(1)]);
        assert!(is_published(&keys, 1, at(100)) && is_published(&keys, 0, at(124 + 167)));
        assert!(!is_published(&keys, 0, at(124 + 168)));
        let withdrawn = [KeyTimes { withdrawn_at: Some(at(130)), ..keys[0] }, keys[1]];
        assert!(!is_published(&withdrawn, 0, at(131)));
    }
}
