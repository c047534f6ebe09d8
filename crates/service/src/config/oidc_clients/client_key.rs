//! The keys of a client in the settings file.

/// A key of a client.
pub(in crate::config) struct ClientKey {
    pub(in crate::config) name: &'static str,
    pub(in crate::config) help: &'static str,
    /// The expected form of a value; it ends a sentence.
    pub(in crate::config) expected: &'static str,
    /// The value in the example file, in TOML; `None` for a key that the example file only describes.
    pub(in crate::config) sample: Option<&'static str>,
}

/// Describes the clients in the example file.
pub(in crate::config) const ABOUT: &str = "\
A client of OpenID Connect: a program whose users sign in here. Each client is a table of its own. Clients can also be added \
while the service runs, with `deskpass oidc client add` or in the administration; those of this file cannot be changed there. \
A client that leaves the file loses what it got. No environment variable sets a client.";

/// Every key, in the order of the example file.
pub(in crate::config) static CLIENT_KEYS: [ClientKey; 19] = [
    ClientKey {
        name: "id",
        help: "The identifier, which is entered in the client. Required.",
        expected: r#"1 to 64 letters, digits, "_" or "-", such as "wiki""#,
        sample: Some(r#""wiki""#),
    },
    ClientKey {
        name: "name",
        help: "The name that users see. Default: the identifier.",
        expected: r#"a name of at most 64 characters such as "Wiki""#,
        sample: Some(r#""Wiki""#),
    },
    ClientKey {
        name: "kind",
        help: "How the client authenticates: with a secret (confidential), or with PKCE alone because it cannot keep one \
               (public), or as a program on the user's own computer (native), whose redirect URIs on loopback addresses match \
               with any port and need a press at each sign-in.",
        expected: r#"one of "confidential", "public", "native""#,
        sample: Some(r#""confidential""#),
    },
    ClientKey {
        name: "secret",
        help: "",
        expected: r#"32 to 256 letters, digits, "_" or "-"; make them with: openssl rand -hex 32"#,
        sample: None,
    },
    ClientKey {
        name: "secret_file",
        help: "A file with the secret, which is entered in the client, too. It has one line, or two while the secret is \
               being replaced: both count. `secret` holds it in this file instead. Confidential clients only.",
        expected: r#"a path such as "/etc/deskpass/wiki.secret""#,
        sample: Some(r#""/etc/deskpass/wiki.secret""#),
    },
    ClientKey {
        name: "redirect_uris",
        help: "The addresses that browsers return to with a code, byte by byte. Required.",
        expected: r#"a list of addresses such as ["https://wiki.example.com/callback"]"#,
        sample: Some(r#"["https://wiki.example.com/callback"]"#),
    },
    ClientKey {
        name: "post_logout_redirect_uris",
        help: "The addresses that browsers may be sent to after a sign-out that began in the client.",
        expected: r#"a list of addresses such as ["https://wiki.example.com/"]"#,
        sample: Some(r#"["https://wiki.example.com/"]"#),
    },
    ClientKey {
        name: "backchannel_logout_uri",
        help: "The address that is told when a session ends. Without it a client with the scope offline_access finds out within \
               15 minutes, if the program refreshes; any other is not told and keeps its own session.",
        expected: r#"an address such as "https://wiki.example.com/backchannel-logout""#,
        sample: Some(r#""https://wiki.example.com/backchannel-logout""#),
    },
    ClientKey {
        name: "origins",
        help: "The origins of a program that runs in browsers and calls the token endpoint itself. Public clients only.",
        expected: r#"a list of addresses such as ["https://wiki.example.com"]"#,
        sample: Some("[]"),
    },
    ClientKey {
        name: "scopes",
        help: "The scopes that the client may request.",
        expected: r#"a list of "openid", "profile", "email", "groups", "offline_access""#,
        sample: Some(r#"["openid", "profile", "email", "groups", "offline_access"]"#),
    },
    ClientKey {
        name: "roles",
        help: "The roles of which a user needs one to use the client. Empty: every user.",
        expected: r#"a list of "admin", "agent", "user", "supervisor", "security""#,
        sample: Some("[]"),
    },
    ClientKey {
        name: "corporations",
        help: "The corporations whose users may use the client. Empty: the main one only.",
        expected: r#"a list of the platform's ids such as ["ww0123456789abcdef"]"#,
        sample: Some("[]"),
    },
    ClientKey {
        name: "groups",
        help: "The group that the client is told for a role. A role that is not listed has the group role:NAME.",
        expected: r#"a table of roles and groups such as { admin = "wiki-admins" }"#,
        sample: Some(r#"{ admin = "wiki-admins" }"#),
    },
    ClientKey {
        name: "department_groups",
        help: "Whether the groups contain the department, as dept-id:ID, and as dept:NAME if it alone has the name.",
        expected: "true or false",
        sample: Some("false"),
    },
    ClientKey {
        name: "role_claims",
        help: "Which roles the client is told: all that the user could make active in the session (available), or the active \
               one (active).",
        expected: r#"one of "available", "active""#,
        sample: Some(r#""available""#),
    },
    ClientKey {
        name: "algorithm",
        help: "The algorithm that signs the client's ID tokens. Every client knows RS256.",
        expected: r#"one of "RS256", "ES256""#,
        sample: Some(r#""RS256""#),
    },
    ClientKey {
        name: "pkce",
        help: "Whether PKCE is required. optional is for confidential clients that cannot do it; they must send a nonce.",
        expected: r#"one of "required", "optional""#,
        sample: Some(r#""required""#),
    },
    ClientKey {
        name: "sso",
        help: "When a user who is signed in is asked before the client learns who they are: once for each session (ask), never \
               (silent), or each time with a new sign-in (off).",
        expected: r#"one of "ask", "silent", "off""#,
        sample: Some(r#""ask""#),
    },
    ClientKey {
        name: "id_token_claims",
        help: "Whether ID tokens contain the claims of the granted scopes. The userinfo endpoint always returns them.",
        expected: "true or false",
        sample: Some("true"),
    },
];
