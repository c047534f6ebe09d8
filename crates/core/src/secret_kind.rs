//! The kinds of bearer secrets.

use serde::{Deserialize, Serialize};

/// A kind of secret. Each kind has its own prefix.
pub trait SecretKind {
    /// The four characters at the start of every secret of this kind.
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

        /// The name of a kind, for code that must determine the kind of a value.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum SecretKindName {
            $($(#[$doc])* $name,)+
        }

        impl SecretKindName {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The prefix of its values.
            #[must_use]
            pub const fn prefix(self) -> &'static str {
                match self {
                    $(Self::$name => $prefix,)+
                }
            }

            /// The kind whose prefix the text has.
            #[must_use]
            pub fn of(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|kind| text.starts_with(kind.prefix()))
            }
        }
    };
}

kinds! {
    /// The token of a full session.
    Access = "dpa_";
    /// The token of a partial session: the password was correct, and the one-time password is still missing.
    Half = "dph_";
    /// A browser's cookie that shows that an agent has signed in there before.
    KnownBrowser = "dpd_";
    /// Collects a sign-in: only its holder receives the token.
    Ticket = "dpt_";
    /// The value in a QR code: identifies a sign-in to the phone that scans it, and grants nothing.
    ScanId = "dps_";
    /// Decides about a scanned sign-in: only for the phone that scanned it.
    Confirm = "dpc_";
    /// A browser's cookie that binds tickets to it.
    Browser = "dpw_";
    /// A browser's cookie that shows that it started an OAuth sign-in.
    Flow = "dpf_";
    /// Completes an OAuth sign-in in a browser that did not start it.
    Pending = "dpn_";
    /// Proves that the platform identified a user of a connected corporation.
    BindProof = "dpb_";
    /// The key with which another service authenticates.
    ServiceKey = "dpk_";
    /// Identifies an authorization request of an OpenID Connect client to the page that signs the user in.
    AuthorizationRequestId = "dpq_";
    /// An authorization code of an OpenID Connect client.
    AuthorizationCode = "dpo_";
    /// An access token of an OpenID Connect client.
    OidcAccess = "dpi_";
    /// A refresh token of an OpenID Connect client.
    RefreshToken = "dpr_";
    /// The secret with which an OpenID Connect client authenticates.
    ClientSecret = "dpe_";
    /// A browser's cookie for single sign-on of OpenID Connect clients. It opens no API.
    SingleSignOn = "dpg_";
    /// Identifies a question to a phone to the session that asked it.
    Question = "dpu_";
    /// Answers a question: only for the phone of the person who was asked.
    Answer = "dpy_";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_kinds_begin_alike() {
        let unique: std::collections::HashSet<_> = SecretKindName::ALL.iter().map(|kind| kind.prefix()).collect();
        assert_eq!(unique.len(), SecretKindName::ALL.len());
    }
}
