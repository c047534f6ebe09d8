//! The kinds of bearer values there are.

use serde::{Deserialize, Serialize};

use crate::{Digest, MalformedSecret, Secret};

/// What a secret opens. Each kind has a prefix of its own.
pub trait SecretKind {
    /// Four characters that start every value of this kind.
    const PREFIX: &'static str;
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)+) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            pub struct $name;

            impl SecretKind for $name {
                const PREFIX: &'static str = $prefix;
            }

            const _: () = assert!($prefix.len() == 4);
        )+

        /// The name of a kind, for whoever looks at a value and does not know what it is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum SecretKindName {
            $($(#[$doc])* $name,)+
        }

        impl SecretKindName {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// What its values begin with.
            #[must_use]
            pub const fn prefix(self) -> &'static str {
                match self {
                    $(Self::$name => $prefix,)+
                }
            }

            /// The kind that a text begins like.
            #[must_use]
            pub fn of(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|kind| text.starts_with(kind.prefix()))
            }

            /// What a value of this kind hashes to.
            ///
            /// # Errors
            /// When the text is none.
            pub fn digest(self, text: &str) -> Result<Digest, MalformedSecret> {
                match self {
                    $(Self::$name => Secret::<$name>::parse(text).map(|secret| secret.digest()),)+
                }
            }
        }
    };
}

kinds! {
    /// The token of a full session.
    Access = "dpa_";
    /// The token of somebody with a right password who has still to show a one-time password.
    Half = "dph_";
    /// A browser's cookie that says that an agent has signed in there.
    KnownBrowser = "dpd_";
    /// Collects a sign-in: its holder alone receives the token.
    Ticket = "dpt_";
    /// What a QR code shows: names a sign-in to the phone that scans it, and opens nothing.
    ScanId = "dps_";
    /// Decides about a scanned sign-in: for the phone that scanned it alone.
    Confirm = "dpc_";
    /// A browser's cookie that ties tickets to it.
    Browser = "dpw_";
    /// A browser's cookie that says that it began an OAuth sign-in.
    Flow = "dpf_";
    /// Completes an OAuth sign-in whose browser did not begin it here.
    Pending = "dpn_";
    /// That the platform identified somebody of a connected corporation.
    BindProof = "dpb_";
    /// What another service shows when it asks.
    ServiceKey = "dpk_";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_kinds_begin_alike() {
        let unique: std::collections::HashSet<_> = SecretKindName::ALL.iter().map(|kind| kind.prefix()).collect();
        assert_eq!(unique.len(), SecretKindName::ALL.len());
    }

    #[test]
    fn a_value_is_known_by_how_it_begins_and_read_by_its_kind_alone() {
        let value = Secret::<Half>::generate(&crate::Entropy::system()).unwrap_or_else(|_| panic!("no randomness"));
        assert_eq!(SecretKindName::of(value.expose()), Some(SecretKindName::Half));
        for kind in SecretKindName::ALL {
            let expected = if *kind == SecretKindName::Half { Ok(value.digest()) } else { Err(MalformedSecret) };
            assert_eq!(kind.digest(value.expose()), expected, "{kind:?}");
        }
        assert_eq!(
            (SecretKindName::of("dp"), SecretKindName::of("Bearer dpa_"), SecretKindName::of("")),
            (None, None, None)
        );
    }
}
