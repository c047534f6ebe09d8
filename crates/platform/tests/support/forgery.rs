//! Requests that no platform sent: real ones with changes. The tests of clients include this file.

use proptest::prelude::*;

/// Replaces some bytes: where, how many, and by what.
pub(crate) type Change = (usize, usize, Vec<u8>);

/// So many requests go through each property.
pub(crate) fn ten_thousand() -> ProptestConfig {
    ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() }
}

pub(crate) fn any_change() -> impl Strategy<Value = Change> {
    (any::<usize>(), 0..4_usize, prop::collection::vec(any::<u8>(), 0..4))
}

/// A change after which a text in base64 still looks like one.
pub(crate) fn plain_change() -> impl Strategy<Value = Change> {
    (any::<usize>(), 0..4_usize, "[A-Za-z0-9+/=]{0,3}".prop_map(String::into_bytes))
}

pub(crate) fn changed(bytes: &[u8], (at, removed, inserted): &Change) -> Vec<u8> {
    let start = at % (bytes.len() + 1);
    let end = (start + removed).min(bytes.len());
    [&bytes[..start], inserted.as_slice(), &bytes[end..]].concat()
}

pub(crate) fn changed_text(text: &str, change: &Change) -> String {
    String::from_utf8_lossy(&changed(text.as_bytes(), change)).into_owned()
}
