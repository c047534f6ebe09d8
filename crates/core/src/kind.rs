//! The kinds of bearer values there are.

/// What a secret opens. Each kind has a prefix of its own.
pub trait Kind {
    /// Four characters that start every value of this kind.
    const PREFIX: &'static str;
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)+) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            pub struct $name;

            impl Kind for $name {
                const PREFIX: &'static str = $prefix;
            }

            const _: () = assert!($prefix.len() == 4);
        )+

        #[cfg(test)]
        const PREFIXES: &[&str] = &[$($prefix),+];
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
    use super::PREFIXES;

    #[test]
    fn no_two_kinds_begin_alike() {
        let unique: std::collections::HashSet<_> = PREFIXES.iter().collect();
        assert_eq!(unique.len(), PREFIXES.len());
    }
}
