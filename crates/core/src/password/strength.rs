//! Estimates how many guesses a password takes when the attacker knows which passwords people use.
//!
//! A password is cut into pieces in the way that is cheapest to guess: listed words, syllables, keyboard runs, dates,
//! repetitions, single characters. Costs are tenths of a bit. The estimate only has to distinguish one listed word with
//! additions from three words, or from a dozen characters without a pattern.

use std::sync::LazyLock;

use super::normalized::NormalizedText;

/// A password of less than 34 bits is rejected: one common word has 12 bits, four digits after it another 13.
const MIN_COST: u32 = 340;
const WORD_COST: u32 = 120;
const SYLLABLE_COST: u32 = 86;
const RUN_COST: u32 = 80;
const YEAR_COST: u32 = 70;
const DATE_COST: u32 = 140;
const REPETITION_COST: u32 = 20;

/// Two adjacent characters are not a run.
const MIN_RUN_CHARS: usize = 3;

/// The length of the longest listed word; a longer run is cut in two.
const MAX_PIECE_CHARS: usize = 26;

/// The most common of Django's list of 20,000 passwords (Royce Williams; BSD licence) and of zxcvbn's list of 30,000 (Dropbox,
/// Daniel Wolf; MIT licence), without the digits and signs around them, all those of twelve characters or more, and words
/// common in Chinese offices.
static WORDS: LazyLock<Vec<&'static str>> = LazyLock::new(|| include_str!("common.txt").lines().collect());

/// The syllables with which Chinese is typed. A few of these form a word or a name.
static SYLLABLES: LazyLock<Vec<&'static str>> = LazyLock::new(|| include_str!("pinyin.txt").lines().collect());

/// Common sequences on the keyboard and in counting, in one direction.
const RUNS: [&str; 13] = [
    "abcdefghijklmnopqrstuvwxyz",
    "012345678901234567890123456789",
    "qwertyuiopasdfghjklzxcvbnm",
    "`1234567890-=",
    "qwertyuiop[]\\",
    "asdfghjkl;'",
    "zxcvbnm,./",
    "~!@#$%^&*()_+",
    "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik,9ol.0p;/",
    "qazwsxedcrfvtgbyhnujmikolp",
    "1q2w3e4r5t6y7u8i9o0p",
    "q1w2e3r4t5y6u7i8o9p0",
    "一二三四五六七八九十",
];

/// The runs in both directions.
static RUNS_BOTH_WAYS: LazyLock<Vec<Vec<char>>> =
    LazyLock::new(|| RUNS.iter().flat_map(|run| [run.chars().collect(), run.chars().rev().collect()]).collect());

/// Whether too few guesses find the password.
pub(super) fn is_too_weak(text: &NormalizedText) -> bool {
    let plain = &text.plain;
    let runs: Vec<usize> = (0..plain.len()).map(|start| longest_run(plain.get(start..).unwrap_or_default())).collect();
    let mut cheapest = vec![0];
    for end in 1..=plain.len() {
        let starts = cheapest.iter().zip(&runs).enumerate().skip(end.saturating_sub(MAX_PIECE_CHARS));
        let cost = starts.filter_map(|(start, (before, run))| Some(before + piece(text, start, end, *run)?)).min();
        cheapest.push(cost.unwrap_or(0));
    }
    cheapest.last().is_none_or(|cost| *cost < MIN_COST)
}

/// The cost of the range as one piece, if it is one. `run` is the length of the run that starts there.
fn piece(text: &NormalizedText, start: usize, end: usize, run: usize) -> Option<u32> {
    let plain = text.plain.get(start..end)?;
    let before = start.checked_sub(plain.len()).and_then(|earlier| text.plain.get(earlier..start));
    let is_word = || text.stretch(start, end).any(|reading| is_listed(&WORDS, reading));
    [
        single(plain),
        (before == Some(plain)).then_some(REPETITION_COST),
        dated(plain),
        (MIN_RUN_CHARS..=run).contains(&plain.len()).then_some(RUN_COST),
        is_listed(&SYLLABLES, plain).then_some(SYLLABLE_COST),
        is_word().then_some(WORD_COST),
    ]
    .into_iter()
    .flatten()
    .min()
}

fn single(piece: &[char]) -> Option<u32> {
    let [c] = piece else { return None };
    Some(match c {
        // The most common signs cost no more than digits.
        '0'..='9' | ' ' | '!' | '@' | '#' | '$' | '&' | '*' | '.' | '-' | '_' => 33,
        'a'..='z' => 47,
        c if c.is_ascii() => 50,
        _ => 80,
    })
}

/// The cost of a year or a date, as in birthdays.
fn dated(piece: &[char]) -> Option<u32> {
    if !matches!(piece.len(), 4 | 8) {
        return None;
    }
    let number = piece.iter().try_fold(0, |number, c| Some(number * 10 + c.to_digit(10)?))?;
    let is_year = |year| (1900..2100).contains(&year);
    let is_day = |one, other| (1..=12).contains(&one) && (1..=31).contains(&other);
    let is_date = |year, one, other| is_year(year) && (is_day(one, other) || is_day(other, one));
    let year_first = is_date(number / 10_000, number / 100 % 100, number % 100);
    let year_last = is_date(number % 10_000, number / 10_000 % 100, number / 1_000_000);
    if is_year(number) { Some(YEAR_COST) } else { (year_first || year_last).then_some(DATE_COST) }
}

/// The number of characters at the start that lie on one run.
fn longest_run(text: &[char]) -> usize {
    let along = |path: &[char]| path.iter().zip(text).take_while(|(on, here)| on == here).count();
    let rest = |path: &'static Vec<char>| {
        let starts = path.iter().enumerate().filter(|(_, on)| Some(*on) == text.first());
        starts.filter_map(|(start, _)| path.get(start..))
    };
    RUNS_BOTH_WAYS.iter().flat_map(rest).map(along).max().unwrap_or(0)
}

fn is_listed(list: &[&str], piece: &[char]) -> bool {
    list.binary_search_by(|word| word.chars().cmp(piece.iter().copied())).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted_and_small() {
        for list in [&*WORDS, &*SYLLABLES] {
            assert!(list.is_sorted_by(|one, next| one < next));
            assert!(list.iter().all(|word| (2..=MAX_PIECE_CHARS).contains(&word.chars().count())));
        }
        assert!(WORDS.len() > 7_000 && SYLLABLES.len() > 400);
        assert!(include_str!("common.txt").len() + include_str!("pinyin.txt").len() <= 64 * 1024);
    }

    #[test]
    fn dates_are_distinguished_from_numbers() {
        let cost = |text: &str| dated(&text.chars().collect::<Vec<_>>());
        for date in ["19900101", "20241231", "31122024", "12312024"] {
            assert_eq!(cost(date), Some(DATE_COST), "{date}");
        }
        assert_eq!(cost("1987"), Some(YEAR_COST));
        for number in ["1899", "2100", "19901313", "19900132", "12345678", "199001011", "19a0", ""] {
            assert_eq!(cost(number), None, "{number}");
        }
    }

    #[test]
    fn runs_go_both_ways() {
        let run = |text: &str| longest_run(&text.chars().collect::<Vec<_>>());
        for (text, length) in
            [("qwe", 3), ("ewq!", 3), ("890123", 6), ("2wsx3e", 6), ("三二一", 3), ("qwa", 2), ("", 0)]
        {
            assert_eq!(run(text), length, "{text}");
        }
    }
}
