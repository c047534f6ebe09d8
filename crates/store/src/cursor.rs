//! Cursors for paging through lists: the last row's position in an index of ours, as text.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// A position in a list, right after an entry. A page returns it as text, valid for lists in the same order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    order: CursorOrder,
    parts: (String, String),
}

/// A text that is not a cursor of a list in this order.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
#[error("not a cursor of this list")]
pub struct InvalidCursor;

named_enum! {
    /// The sort order of a list, as far as its cursors differ, with its letter in a cursor.
    pub(crate) enum CursorOrder {
        /// By the key of a person; the first part is empty.
        Id = "i",
        Name = "n",
        Login = "l",
        Term = "t",
        CreatedAt = "b",
    }
}

/// The maximum length of a cursor's text. It covers all names.
const MAX_CURSOR_BYTES: usize = 2_000;

impl Cursor {
    pub(crate) fn new(order: CursorOrder, first: impl Into<String>, second: impl Into<String>) -> Self {
        Self { order, parts: (first.into(), second.into()) }
    }

    /// Parses the text of a cursor of a list in this order.
    pub(crate) fn parse(text: &str, order: CursorOrder) -> Result<Self, InvalidCursor> {
        if text.len() > MAX_CURSOR_BYTES {
            return Err(InvalidCursor);
        }
        let json = URL_SAFE_NO_PAD.decode(text).map_err(|_| InvalidCursor)?;
        let (letter, first, second): (String, String, String) =
            serde_json::from_slice(&json).map_err(|_| InvalidCursor)?;
        let fits = match order {
            CursorOrder::Login | CursorOrder::CreatedAt => first.parse::<i64>().is_ok(),
            CursorOrder::Term => first.bytes().all(|c| c.is_ascii_hexdigit()),
            CursorOrder::Id | CursorOrder::Name => true,
        };
        // PostgreSQL does not accept NUL in a text.
        let is_odd = first.contains('\0') || second.contains('\0');
        if CursorOrder::from_name(&letter) != Some(order) || !fits || is_odd {
            return Err(InvalidCursor);
        }
        Ok(Self { order, parts: (first, second) })
    }

    pub(crate) fn to_text(&self) -> String {
        let (first, second) = &self.parts;
        URL_SAFE_NO_PAD.encode(serde_json::json!([self.order.name(), first, second]).to_string())
    }

    /// The parts of the cursor, if it belongs to a list in this order.
    pub(crate) fn texts(&self, order: CursorOrder) -> Result<(&str, &str), InvalidCursor> {
        (self.order == order).then_some((&*self.parts.0, &*self.parts.1)).ok_or(InvalidCursor)
    }

    /// The parts of the cursor, if the first is a number.
    pub(crate) fn number(&self, order: CursorOrder) -> Result<(i64, &str), InvalidCursor> {
        let (first, second) = self.texts(order)?;
        Ok((first.parse().map_err(|_| InvalidCursor)?, second))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_round_trips_only_for_its_own_order() {
        for order in CursorOrder::ALL {
            let cursor = Cursor::new(order, "17", "O'Brien \"x\" 王\\");
            let text = cursor.to_text();
            assert!(text.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-' || c == b'_'), "{text}");
            for other in CursorOrder::ALL {
                let expected = if other == order { Ok(cursor.clone()) } else { Err(InvalidCursor) };
                assert_eq!(Cursor::parse(&text, other), expected);
                assert_eq!(cursor.texts(other).is_ok(), other == order);
            }
        }
    }

    #[test]
    fn texts_that_are_not_cursors_are_refused() {
        let of = |json: &str| URL_SAFE_NO_PAD.encode(json);
        let odd =
            ["", "x", "{}", "[]", r#"["i","a"]"#, r#"["i","a","b","c"]"#, r#"["z","","a"]"#, r#"["i","","a\u0000"]"#];
        for text in odd.map(of).iter().map(String::as_str).chain(["", "=", "%", "王", "W10="]) {
            assert_eq!(Cursor::parse(text, CursorOrder::Id), Err(InvalidCursor), "{text}");
        }
        for first in ["", "x", "1.5", "99999999999999999999"] {
            let text = Cursor::new(CursorOrder::CreatedAt, first, "a").to_text();
            assert_eq!(Cursor::parse(&text, CursorOrder::CreatedAt), Err(InvalidCursor), "{first}");
        }
        let long = Cursor::new(CursorOrder::Id, "", "a".repeat(MAX_CURSOR_BYTES)).to_text();
        assert_eq!(Cursor::parse(&long, CursorOrder::Id), Err(InvalidCursor));
        let cursor = Cursor::new(CursorOrder::Login, "-5", "a");
        assert_eq!(cursor.number(CursorOrder::Login).unwrap(), (-5, "a"));
    }
}
