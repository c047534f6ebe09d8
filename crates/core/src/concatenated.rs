//! Parts that are written one after the other, in one piece of memory.
//!
//! The frequent responses are put together by these functions: they are compiled for speed, as all of this crate, while the code around
//! them is compiled for size.

/// Concatenates parts.
#[must_use]
pub fn concatenated(parts: &[&[u8]]) -> Vec<u8> {
    let mut all = Vec::with_capacity(parts.iter().map(|part| part.len()).sum());
    for part in parts {
        all.extend_from_slice(part);
    }
    all
}

/// Concatenates a first part and texts.
#[must_use]
pub fn concatenated_texts(first: &[u8], texts: &[&str]) -> Vec<u8> {
    let mut all = Vec::with_capacity(first.len() + texts.iter().map(|text| text.len()).sum::<usize>());
    all.extend_from_slice(first);
    for text in texts {
        all.extend_from_slice(text.as_bytes());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other() {
        assert_eq!(concatenated(&[b"a", b"", b"bc"]), b"abc");
        assert_eq!(concatenated(&[]), b"");
        assert_eq!(concatenated_texts(b"a", &["", "bc"]), b"abc");
    }
}
