//! OpenID Connect: the programs whose users sign in here.

use deskpass_core::Digest;
use deskpass_core::oidc::ClientRegistration;
use deskpass_derive::Section;

use crate::config::value::MailDomain;

/// OpenID Connect: the programs whose users sign in here.
#[derive(Clone, Debug, Section)]
pub struct Oidc {
    /// The domain of e-mail addresses. Clients are told IDENTIFIER@DOMAIN for employees of the main corporation for whom
    /// neither the platform nor `deskpass employee email` has an address. Set it only if every employee's mailbox has this
    /// form: clients find accounts by the address.
    #[setting(example = "example.com")]
    pub email_domain: Option<MailDomain>,
    /// Whether the groups of clients with `department_groups` contain dept:NAME also where several departments have this name,
    /// as before 0.3.0: then their people are in one group. Each department has a group dept-id:ID of its own in any case.
    #[setting(default = false)]
    pub shared_department_names: bool,
    /// The clients of the settings file.
    #[computed(Vec::new())]
    pub clients: Vec<OidcClient>,
}

/// A client of the settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OidcClient {
    /// The identifier.
    pub id: String,
    /// What it is registered with.
    pub registration: ClientRegistration,
    /// The SHA-256 of its secrets: one, or two while it is being replaced; none of a public client.
    pub secrets: Vec<Digest>,
}
