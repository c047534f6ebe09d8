//! Scopes.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::named_enum::named_enum;

named_enum! {
    /// A scope that a client may request. The set is closed.
    OidcScope {
        /// Requests OpenID Connect. Required.
        Openid => "openid",
        /// Name, identifier, picture, department and roles.
        Profile => "profile",
        /// The address.
        Email => "email",
        /// The groups.
        Groups => "groups",
        /// A refresh token, which never outlives the session.
        OfflineAccess => "offline_access",
    }
}

/// A set of scopes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct OidcScopes(u8);

impl OidcScopes {
    /// The empty set.
    pub const NONE: Self = Self(0);

    /// Every scope.
    #[must_use]
    pub fn all() -> Self {
        OidcScope::ALL.into_iter().collect()
    }

    /// The known scopes in a list that is separated by blanks; unknown ones are left out, as RFC 6749 permits.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        text.split_ascii_whitespace().filter_map(OidcScope::from_name).collect()
    }

    /// This set with `scope` added.
    #[must_use]
    pub const fn with(self, scope: OidcScope) -> Self {
        Self(self.0 | 1 << scope as u8)
    }

    /// This set without `scope`.
    #[must_use]
    pub const fn without(self, scope: OidcScope) -> Self {
        Self(self.0 & !(1 << scope as u8))
    }

    /// The scopes that are in both sets.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether the set contains `scope`.
    #[must_use]
    pub const fn contains(self, scope: OidcScope) -> bool {
        self.0 & (1 << scope as u8) != 0
    }

    /// The scopes in the set.
    pub fn iter(self) -> impl Iterator<Item = OidcScope> {
        OidcScope::ALL.into_iter().filter(move |scope| self.contains(*scope))
    }
}

impl FromIterator<OidcScope> for OidcScopes {
    fn from_iter<I: IntoIterator<Item = OidcScope>>(scopes: I) -> Self {
        scopes.into_iter().fold(Self::NONE, Self::with)
    }
}

/// The names, separated by blanks, as in the `scope` parameter.
impl fmt::Display for OidcScopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, scope) in self.iter().enumerate() {
            if at > 0 {
                f.write_str(" ")?;
            }
            f.write_str(scope.name())?;
        }
        Ok(())
    }
}

impl Serialize for OidcScopes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for OidcScopes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let names = Vec::<String>::deserialize(deserializer)?;
        let scope = |name: &String| OidcScope::from_name(name).ok_or_else(|| D::Error::custom("not a scope"));
        names.iter().map(scope).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_scopes_are_left_out() {
        let scopes = OidcScopes::parse("openid  email admin offline_access Openid");
        assert_eq!(scopes.to_string(), "openid email offline_access");
        assert!(!scopes.contains(OidcScope::Profile));
        assert_eq!(OidcScopes::all().intersection(scopes), scopes);
    }
}
