//! The service keys of other services, and their scopes.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::is_invisible;
use crate::named_enum::named_enum;

named_enum! {
    /// A scope of a service key. The set is closed.
    ServiceScope {
        /// Introspecting a token.
        Introspect => "introspect",
        /// Sending messages to connected clients.
        Messages => "messages",
    }
}

/// The set of scopes of a service key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ServiceScopes(u8);

impl ServiceScopes {
    /// The empty set.
    pub const NONE: Self = Self(0);

    /// Parses scope names separated by blanks. The error is the first word that is not a scope.
    pub fn parse(text: &str) -> Result<Self, UnknownServiceScope> {
        let scope = |word: &str| ServiceScope::from_name(word).ok_or_else(|| UnknownServiceScope(word.to_owned()));
        text.split_ascii_whitespace().map(scope).collect()
    }

    /// This set with `scope` added.
    #[must_use]
    pub const fn with(self, scope: ServiceScope) -> Self {
        Self(self.0 | 1 << scope as u8)
    }

    /// Whether the set contains `scope`.
    #[must_use]
    pub const fn contains(self, scope: ServiceScope) -> bool {
        self.0 & (1 << scope as u8) != 0
    }

    /// Whether the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The scopes, in canonical order.
    pub fn iter(self) -> impl Iterator<Item = ServiceScope> {
        ServiceScope::ALL.into_iter().filter(move |scope| self.contains(*scope))
    }
}

impl FromIterator<ServiceScope> for ServiceScopes {
    fn from_iter<I: IntoIterator<Item = ServiceScope>>(scopes: I) -> Self {
        scopes.into_iter().fold(Self::NONE, Self::with)
    }
}

impl fmt::Display for ServiceScopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter().enumerate().try_for_each(|(at, scope)| {
            let blank = if at == 0 { "" } else { " " };
            write!(f, "{blank}{scope}")
        })
    }
}

impl Serialize for ServiceScopes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

/// An error: the word is not a scope.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("there is no scope {0:?}")]
pub struct UnknownServiceScope(pub String);

/// The name of a service key: 1 to 64 visible characters, on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceKeyName(String);

impl ServiceKeyName {
    /// The maximum number of characters.
    pub const MAX_CHARS: usize = 64;

    /// Parses a name; `None` when it is empty, too long, begins or ends with a blank, or has an invisible character.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let fits = (1..=Self::MAX_CHARS).contains(&text.chars().count()) && text.trim() == text;
        (fits && !text.chars().any(is_unlistable)).then(|| Self(text.to_owned()))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether a character is unsuitable for a list: invisible, or a blank of another width.
fn is_unlistable(character: char) -> bool {
    is_invisible(character) || (character.is_whitespace() && character != ' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_visible_text_on_a_single_line() {
        for name in ["x", "billing", "Billing (staging) #2", "工单系统", &"长".repeat(64)] {
            assert_eq!(ServiceKeyName::parse(name).as_ref().map(ServiceKeyName::as_str), Some(name));
        }
        for none in
            ["", " ", " x", "x ", "a\nb", "a\tb", "a\u{1b}[2Jb", "a\u{202e}b", "a\u{200b}b", "a\u{a0}b", "a\u{2028}b"]
        {
            assert_eq!(ServiceKeyName::parse(none), None, "{none:?}");
        }
        assert_eq!(ServiceKeyName::parse(&"长".repeat(65)), None);
    }

    #[test]
    fn scopes_are_read_as_they_are_written() {
        let all: ServiceScopes = ServiceScope::ALL.into_iter().collect();
        assert_eq!(all.to_string(), "introspect messages");
        assert_eq!(ServiceScopes::parse("messages  introspect messages"), Ok(all));
        for some in [ServiceScopes::NONE, ServiceScopes::NONE.with(ServiceScope::Messages), all] {
            assert_eq!(ServiceScopes::parse(&some.to_string()), Ok(some));
        }
    }

    #[test]
    fn only_whole_words_are_scopes() {
        for word in ["Introspect", "introspec", "introspect,messages", "admin"] {
            assert_eq!(ServiceScopes::parse(&format!("messages {word}")), Err(UnknownServiceScope(word.to_owned())));
        }
        assert_eq!(ServiceScopes::parse(" "), Ok(ServiceScopes::NONE));
    }

    #[test]
    fn a_set_contains_exactly_its_members() {
        let some = ServiceScopes::NONE.with(ServiceScope::Messages);
        assert!(some.contains(ServiceScope::Messages) && !some.contains(ServiceScope::Introspect) && !some.is_empty());
    }
}
