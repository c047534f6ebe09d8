//! A normalized text, without the variations that do not make it harder to guess.

/// A text in lower case, with additional readings that replace digits and signs by the letters they stand for. All readings
/// have the same number of characters.
#[derive(Clone)]
pub(super) struct NormalizedText {
    /// The text as written, in lower case.
    pub(super) plain: Vec<char>,
    /// The readings with `1` and `!` as `i` and as `l`, where they differ.
    others: Vec<Vec<char>>,
}

impl NormalizedText {
    pub(super) fn of(text: &str) -> Self {
        Self::read(text.chars().map(lower).collect())
    }

    fn read(plain: Vec<char>) -> Self {
        let read = |one: char| plain.iter().map(|c| fold_lookalike(*c, one)).collect();
        let mut others: Vec<Vec<char>> = vec![read('i'), read('l')];
        others.dedup();
        others.retain(|other| *other != plain);
        Self { plain, others }
    }

    pub(super) fn reversed(&self) -> Self {
        Self::read(self.plain.iter().rev().copied().collect())
    }

    /// The text with each run of the same character reduced to one.
    pub(super) fn without_repeats(&self) -> Self {
        let mut plain = self.plain.clone();
        plain.dedup();
        Self::read(plain)
    }

    /// The readings of a part of the text.
    pub(super) fn stretch(&self, start: usize, end: usize) -> impl Iterator<Item = &[char]> {
        self.readings().filter_map(move |reading| reading.get(start..end))
    }

    /// Whether the text contains the word, in any reading.
    pub(super) fn contains(&self, word: &Self) -> bool {
        let has = |text: &[char], word: &[char]| text.windows(word.len().max(1)).any(|here| here == word);
        self.readings().any(|text| word.readings().any(|word| has(text, word)))
    }

    fn readings(&self) -> impl Iterator<Item = &[char]> {
        [&self.plain].into_iter().chain(&self.others).map(Vec::as_slice)
    }
}

/// Maps one character to one, so that positions match; full-width forms are treated as the character they show.
fn lower(c: char) -> char {
    let narrow = match u32::from(c) {
        wide @ 0xff01..=0xff5e => char::from_u32(wide - 0xfee0).unwrap_or(c),
        0x3000 => ' ',
        _ => c,
    };
    narrow.to_lowercase().next().unwrap_or(narrow)
}

fn fold_lookalike(c: char, one: char) -> char {
    match c {
        '1' | '!' | '|' => one,
        '0' => 'o',
        '3' | '€' => 'e',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        '7' | '+' => 't',
        '8' => 'b',
        '9' => 'g',
        other => other,
    }
}
