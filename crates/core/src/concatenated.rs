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

/// Concatenates a first part and texts, with space for so many more bytes.
#[must_use]
pub fn concatenated_texts(first: &[u8], texts: &[&str], space: usize) -> Vec<u8> {
    let mut all = Vec::with_capacity(first.len() + texts.iter().map(|text| text.len()).sum::<usize>() + space);
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
        let with_space = concatenated_texts(b"a", &["", "bc"], 8);
        assert!(with_space == b"abc" && with_space.capacity() >= 11);
    }
}
