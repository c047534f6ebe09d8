//! The search terms of employees.
//!
//! An employee is found by a prefix of their identifier or name, or of a word in it: from the start, from a letter or digit
//! after any other character, and from every Chinese character, because Chinese is written without blanks. The search is
//! case-insensitive and uses the first 24 bytes of a term.
//!
//! Terms are written in hexadecimal, so that every database orders them by their bytes.

use std::collections::BTreeSet;

use data_encoding::HEXLOWER;

/// The number of bytes of a term that are compared.
const MAX_TERM_BYTES: usize = 24;
/// The maximum number of terms of an identifier or a name.
const MAX_TERMS: usize = 64;
/// A character that sorts after every hexadecimal digit.
const RANGE_END: char = 'g';

/// The search terms of an employee with this identifier and name.
#[must_use]
pub fn search_terms(employee_id: &str, name: &str) -> BTreeSet<String> {
    [employee_id, name].into_iter().flat_map(beginnings).collect()
}

/// The range of terms that begin with `query`: from the first text, inclusive, to the second, exclusive.
#[must_use]
pub fn search_range(query: &str) -> (String, String) {
    let from = hex(&plain(query));
    let to = format!("{from}{RANGE_END}");
    (from, to)
}

fn beginnings(text: &str) -> Vec<String> {
    let text = plain(text);
    let mut before = None;
    let starts = text.char_indices().filter(|(_, c)| {
        let before = before.replace(*c);
        let apart = before.is_none_or(|before: char| !before.is_alphanumeric() || is_chinese(before));
        before.is_none() || is_chinese(*c) || (apart && c.is_alphanumeric())
    });
    starts.take(MAX_TERMS).filter_map(|(at, _)| text.get(at..)).map(hex).collect()
}

/// Normalizes a text for comparison: lower case, single blanks.
fn plain(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    // Each letter by itself: its lower case must not depend on the letters that follow.
    words.join(" ").chars().flat_map(char::to_lowercase).collect()
}

fn hex(text: &str) -> String {
    let bytes = text.as_bytes();
    HEXLOWER.encode(bytes.get(..MAX_TERM_BYTES).unwrap_or(bytes))
}

fn is_chinese(c: char) -> bool {
    matches!(c, '\u{3005}' | '\u{3007}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{323af}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn finds(query: &str, id: &str, name: &str) -> bool {
        let (from, to) = search_range(query);
        search_terms(id, name).range(from..to).next().is_some()
    }

    #[test]
    fn people_are_found_by_the_beginning_of_a_word() {
        for query in ["li.wei@example.com", "LI", "wei", "example", "com", "@", ".we"] {
            let expected = !query.starts_with(['@', '.']);
            assert_eq!(finds(query, "Li.Wei@example.com", ""), expected, "{query}");
        }
        for query in ["mary", "Mary  Ann", "ann o'b", "O'Brien", "brien", "smith", "(IT)", "it"] {
            let expected = query != "(IT)";
            assert_eq!(finds(query, "x", "Mary Ann  O'Brien-Smith (IT)"), expected, "{query}");
        }
        for query in ["ary", "rien", "mary b", "x y", "smiths"] {
            assert!(!finds(query, "x", "Mary Ann O'Brien-Smith"), "{query}");
        }
        assert!(finds("_x", "_x", "") && finds("x", "_x", ""));
    }

    #[test]
    fn chinese_names_are_found_by_any_end_of_them() {
        for query in ["张", "张三丰", "三丰", "丰", "三", "丰(外", "外包", "包"] {
            assert!(finds(query, "x", "张三丰(外包)"), "{query}");
        }
        for query in ["张丰", "丰三", "王"] {
            assert!(!finds(query, "x", "张三丰(外包)"), "{query}");
        }
        assert!(["tom", "王tom", "2", "王"].into_iter().all(|query| finds(query, "x", "王Tom-2")));
        assert!(!finds("om", "x", "王Tom") && !finds("王 tom", "x", "王Tom"));
    }

    #[test]
    fn very_long_texts_are_truncated() {
        let long = "a".repeat(64);
        assert!(finds(&long, &long, "") && finds(&"a".repeat(25), &"a".repeat(24), ""));
        assert!(!finds(&"a".repeat(24), &"a".repeat(23), ""));
        assert_eq!(search_terms("x", &"王".repeat(1_000)).len(), 1 + 1, "the same beginning");
        let many: String = ('\u{4e00}'..'\u{4f00}').collect();
        assert_eq!(search_terms("x", &many).len(), 1 + MAX_TERMS);
        assert!(search_terms(&long, &many).iter().all(|term| term.len() <= 2 * MAX_TERM_BYTES));
    }

    #[test]
    fn an_empty_query_finds_everyone() {
        assert!(finds("", "x", "") && finds("  ", "x", "y"));
    }

    proptest! {
        #[test]
        fn terms_are_ordered_by_their_bytes(one in "\\PC{0,12}", other in "\\PC{0,12}") {
            let (one, other) = (plain(&one), plain(&other));
            let cut = |text: &str| text.bytes().take(MAX_TERM_BYTES).collect::<Vec<_>>();
            prop_assert_eq!(hex(&one).cmp(&hex(&other)), cut(&one).cmp(&cut(&other)));
        }

        #[test]
        fn every_name_is_found_by_each_of_its_prefixes(name in "[\\PC]{1,30}", length in 0..30_usize) {
            let beginning: String = name.trim().chars().take(length).collect();
            prop_assert!(finds(&beginning, "x", &name));
        }
    }
}
