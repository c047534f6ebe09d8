//! The registration of a client.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::backchannel::is_written_for_logouts;
use super::client_choice::{ClientKind, PkceRequirement, RoleClaims, SigningAlgorithm, SsoMode};
use super::redirect_uri::{InvalidRedirectUri, check_origin, check_web_address, is_on_loopback};
use super::scope::{OidcScope, OidcScopes};
use crate::{Role, Roles, is_invisible};

/// What a client is registered with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientRegistration {
    /// The name that users see.
    pub name: String,
    /// The kind.
    pub kind: ClientKind,
    /// The addresses that codes may be sent to. They are compared byte by byte.
    pub redirect_uris: Vec<String>,
    /// The addresses that a browser may be sent to after a sign-out. They are compared byte by byte.
    pub post_logout_redirect_uris: Vec<String>,
    /// The address that is told when a session ends.
    pub backchannel_logout_uri: Option<String>,
    /// The origins of browser programs that may call the token endpoint. Public clients only.
    pub origins: Vec<String>,
    /// The scopes that the client may request.
    pub scopes: OidcScopes,
    /// The roles of which a user needs one; empty for all users.
    pub roles: Roles,
    /// The corporations whose users may use the client; empty for the home corporation only.
    pub corporations: Vec<String>,
    /// The group for each role. Roles that are not listed have the group `role:NAME`.
    pub groups: BTreeMap<Role, String>,
    /// Whether the groups contain the department, as `dept-id:ID`, and as `dept:NAME` if it alone has the name.
    pub department_groups: bool,
    /// Which roles the client is told.
    pub role_claims: RoleClaims,
    /// The algorithm of ID tokens.
    pub algorithm: SigningAlgorithm,
    /// Whether PKCE is required.
    pub pkce: PkceRequirement,
    /// When a signed-in user is asked.
    pub sso: SsoMode,
    /// Whether ID tokens contain the claims of the granted scopes. The userinfo endpoint always returns them.
    pub id_token_claims: bool,
}

impl Default for ClientRegistration {
    fn default() -> Self {
        Self {
            name: String::new(),
            kind: ClientKind::Confidential,
            redirect_uris: Vec::new(),
            post_logout_redirect_uris: Vec::new(),
            backchannel_logout_uri: None,
            origins: Vec::new(),
            scopes: OidcScopes::all(),
            roles: Roles::NONE,
            corporations: Vec::new(),
            groups: BTreeMap::new(),
            department_groups: false,
            role_claims: RoleClaims::Available,
            algorithm: SigningAlgorithm::Rs256,
            pkce: PkceRequirement::Required,
            sso: SsoMode::Ask,
            id_token_claims: true,
        }
    }
}

/// Why a registration is invalid, and the field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRegistration {
    /// The name is empty, too long, or has invisible characters.
    #[error(
        "name must be 1 to {} visible characters without leading or trailing spaces",
        ClientRegistration::MAX_NAME_CHARS
    )]
    Name,
    /// There is no redirect URI.
    #[error("redirect_uris needs at least one address")]
    NoRedirectUri,
    /// An address is invalid.
    #[error("{field}: {address}: {problem}")]
    Address {
        /// The field.
        field: &'static str,
        /// The address.
        address: String,
        /// The problem.
        problem: InvalidRedirectUri,
    },
    /// A list is too long.
    #[error("{0} has more than {max} entries", max = ClientRegistration::MAX_ENTRIES)]
    TooMany(&'static str),
    /// A public or native client cannot leave PKCE out.
    #[error("pkce can be optional for confidential clients only")]
    PkceNeeded,
    /// A native client on loopback cannot sign users in without a press.
    #[error(
        "sso cannot be silent for a native client on the loopback address: every program on the user's computer can \
         listen there; use ask"
    )]
    SilentOnLoopback,
    /// Only a public client has origins.
    #[error("origins are for public clients only")]
    OriginsOfConfidential,
    /// The scope `openid` is missing.
    #[error("scopes must contain openid")]
    NoOpenid,
    /// The name of a group is invalid.
    #[error("groups: a name must be 1 to {} visible characters", ClientRegistration::MAX_NAME_CHARS)]
    Group,
}

impl ClientRegistration {
    /// The maximum length of a name.
    pub const MAX_NAME_CHARS: usize = 64;
    /// The maximum number of entries of a list.
    pub const MAX_ENTRIES: usize = 20;

    /// Checks the registration. `production` permits plain HTTP on the loopback address only.
    pub fn check(&self, production: bool) -> Result<(), InvalidRegistration> {
        self.check_listed(production)?;
        check_each("backchannel_logout_uri", self.untold_address(), |_| Err(InvalidRedirectUri::NoProgram))
    }

    /// The address for logouts, if no program may be told there.
    #[must_use]
    pub fn untold_address(&self) -> Option<&String> {
        self.backchannel_logout_uri.as_ref().filter(|address| !is_written_for_logouts(address))
    }

    /// Checks a registration of the settings file. It may have an [untold address](Self::untold_address): earlier versions took one,
    /// and the service must start.
    pub fn check_listed(&self, production: bool) -> Result<(), InvalidRegistration> {
        if !is_name(&self.name) {
            return Err(InvalidRegistration::Name);
        }
        if self.redirect_uris.is_empty() {
            return Err(InvalidRegistration::NoRedirectUri);
        }
        for (field, list) in [
            ("redirect_uris", &self.redirect_uris),
            ("post_logout_redirect_uris", &self.post_logout_redirect_uris),
            ("origins", &self.origins),
            ("corporations", &self.corporations),
        ] {
            if list.len() > Self::MAX_ENTRIES {
                return Err(InvalidRegistration::TooMany(field));
            }
        }
        self.check_addresses(production)?;
        if self.kind != ClientKind::Confidential && self.pkce != PkceRequirement::Required {
            return Err(InvalidRegistration::PkceNeeded);
        }
        if self.sso == SsoMode::Silent && self.redirect_uris.iter().any(|address| self.always_presses(address)) {
            return Err(InvalidRegistration::SilentOnLoopback);
        }
        if self.kind == ClientKind::Confidential && !self.origins.is_empty() {
            return Err(InvalidRegistration::OriginsOfConfidential);
        }
        if !self.scopes.contains(OidcScope::Openid) {
            return Err(InvalidRegistration::NoOpenid);
        }
        if self.groups.values().all(|group| is_name(group)) { Ok(()) } else { Err(InvalidRegistration::Group) }
    }

    fn check_addresses(&self, production: bool) -> Result<(), InvalidRegistration> {
        let check = |address: &String| check_web_address(address, production);
        check_each("redirect_uris", &self.redirect_uris, check)?;
        check_each("post_logout_redirect_uris", &self.post_logout_redirect_uris, check)?;
        check_each("origins", &self.origins, |origin| check_origin(origin, production))?;
        check_each("backchannel_logout_uri", &self.backchannel_logout_uri, check)
    }

    /// Whether the client authenticates with a secret.
    #[must_use]
    pub fn has_secret(&self) -> bool {
        self.kind == ClientKind::Confidential
    }

    /// Whether the user presses a button each time before a code goes to this address. Every program on the user's computer can listen
    /// on loopback and use the identifier of a native client (RFC 8252 §8.6).
    #[must_use]
    pub fn always_presses(&self, redirect_uri: &str) -> bool {
        self.kind == ClientKind::Native && is_on_loopback(redirect_uri)
    }

    /// The group of a role.
    #[must_use]
    pub fn group_of(&self, role: Role) -> String {
        self.groups.get(&role).cloned().unwrap_or_else(|| format!("role:{role}"))
    }

    /// Whether users of this corporation may use the client.
    #[must_use]
    pub fn serves(&self, corporation: &str, home: &str) -> bool {
        if self.corporations.is_empty() {
            corporation == home
        } else {
            self.corporations.iter().any(|served| served == corporation)
        }
    }

    /// Whether a user with these roles may use the client.
    #[must_use]
    pub fn admits(&self, roles: Roles) -> bool {
        self.roles.is_empty() || self.roles.iter().any(|role| roles.holds(role))
    }
}

/// Checks each address of a field.
fn check_each<'a>(
    field: &'static str,
    addresses: impl IntoIterator<Item = &'a String>,
    check: impl Fn(&String) -> Result<(), InvalidRedirectUri>,
) -> Result<(), InvalidRegistration> {
    addresses.into_iter().try_for_each(|address| {
        check(address).map_err(|problem| InvalidRegistration::Address { field, address: address.clone(), problem })
    })
}

fn is_name(text: &str) -> bool {
    let count = text.chars().count();
    (1..=ClientRegistration::MAX_NAME_CHARS).contains(&count) && text.trim() == text && !text.chars().any(is_invisible)
}

/// Whether a text can be a client's identifier: characters that need no encoding in an address, a form or Basic authentication.
#[must_use]
pub fn is_client_id(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|c| c.is_ascii_alphanumeric() || b"_-".contains(&c))
}
