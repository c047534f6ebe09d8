//! The choices of a registration.

use crate::named_enum::named_enum;

named_enum! {
    /// The kind of a client, by how it authenticates.
    ClientKind {
        /// A program on a server that can keep a secret.
        Confidential => "confidential",
        /// A program that cannot keep a secret, such as one in a browser. It authenticates with PKCE alone.
        Public => "public",
        /// A program on the user's own computer: public, and its redirect URIs on the loopback address match with any port.
        Native => "native",
    }
}

named_enum! {
    /// When a signed-in user is asked before a client gets a code.
    SsoMode {
        /// Once for each session.
        Ask => "ask",
        /// Never.
        Silent => "silent",
        /// Each time, with a new sign-in.
        Off => "off",
    }
}

named_enum! {
    /// Whether a client must use PKCE.
    PkceRequirement {
        /// Always.
        Required => "required",
        /// Confidential clients only: not if the request has a nonce.
        Optional => "optional",
    }
}

named_enum! {
    /// The algorithm of a client's ID tokens.
    SigningAlgorithm {
        /// RSA with SHA-256, which every client supports.
        Rs256 => "RS256",
        /// ECDSA on P-256 with SHA-256.
        Es256 => "ES256",
    }
}

named_enum! {
    /// Which roles a client is told.
    RoleClaims {
        /// Those that the user could make active in the session.
        Available => "available",
        /// The active role only.
        Active => "active",
    }
}
