//! The known word that a misspelled one most likely means.

/// The weight of a match of only the last word: `lifetime` means `session.lifetime` rather than `listen`, but a match
/// of the whole name counts more.
const LAST_WORD: f64 = 0.9;

/// The word in the form of keys.
pub(super) fn normalized(given: &str) -> String {
    given.to_ascii_lowercase().replace('-', "_")
}

/// The known word that is most similar to the given one.
pub(super) fn nearest_word(given: &str, known: impl IntoIterator<Item = &'static str>) -> Option<&'static str> {
    let given = normalized(given);
    known.into_iter().max_by(|a, b| likeness(&given, a).total_cmp(&likeness(&given, b)))
}

/// How similar two names are: as a whole, or in their last words.
fn likeness(given: &str, known: &str) -> f64 {
    let whole = strsim::normalized_damerau_levenshtein(given, known);
    let last = strsim::normalized_damerau_levenshtein(last_word(given), last_word(known));
    whole.max(last * LAST_WORD)
}

/// The part of a key after its last dot.
pub(super) fn last_word(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}
