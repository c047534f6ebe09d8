//! The registration of a client in a request.

use deskpass_core::Roles;
use deskpass_core::oidc::{
    ClientKind, ClientRegistration, InvalidRegistration, OidcScopes, PkceRequirement, RoleClaims, SigningAlgorithm,
    SsoMode,
};

use crate::App;
use crate::http::error::{ApiError, FieldError};
use crate::http::request::{Admin, CheckedInput, FromFields, RoleGroups};

/// A registration. What is missing has its default, also in a change.
#[derive(Debug, FromFields)]
pub(crate) struct RegistrationBody {
    name: String,
    /// The kind: `confidential` has a secret; `public` and `native` have none. `confidential` unless given.
    #[field(default = ClientKind::Confidential)]
    kind: ClientKind,
    redirect_uris: Vec<String>,
    #[field(default = Vec::new())]
    post_logout_redirect_uris: Vec<String>,
    backchannel_logout_uri: Option<String>,
    #[field(default = Vec::new())]
    origins: Vec<String>,
    /// The scopes that the client may request; all unless given.
    #[field(default = OidcScopes::all())]
    scopes: OidcScopes,
    /// The roles of which a user needs one; none unless given, and then every user may use the client.
    #[field(default = Roles::NONE)]
    roles: Roles,
    #[field(default = Vec::new())]
    corporations: Vec<String>,
    #[field(default = RoleGroups::default())]
    groups: RoleGroups,
    /// Whether the groups contain the department, as `dept-id:ID`, and as `dept:NAME` if it alone has the name; `false`
    /// unless given.
    #[field(default = false)]
    department_groups: bool,
    /// Which roles the client is told: all `available` ones, or the `active` one; `available` unless given.
    #[field(default = RoleClaims::Available)]
    role_claims: RoleClaims,
    /// The algorithm of ID tokens; `RS256` unless given.
    #[field(default = SigningAlgorithm::Rs256)]
    algorithm: SigningAlgorithm,
    /// Whether PKCE is `required`, or `optional` for requests with a nonce; `required` unless given.
    #[field(default = PkceRequirement::Required)]
    pkce: PkceRequirement,
    /// When a signed-in user is asked: once for each session (`ask`), never (`silent`), or each time with a new sign-in (`off`);
    /// `ask` unless given.
    #[field(default = SsoMode::Ask)]
    sso: SsoMode,
    /// Whether ID tokens contain the claims of the granted scopes; `true` unless given.
    #[field(default = true)]
    id_token_claims: bool,
}

impl From<RegistrationBody> for ClientRegistration {
    fn from(body: RegistrationBody) -> Self {
        let RoleGroups(groups) = body.groups;
        Self {
            name: body.name,
            kind: body.kind,
            redirect_uris: body.redirect_uris,
            post_logout_redirect_uris: body.post_logout_redirect_uris,
            backchannel_logout_uri: body.backchannel_logout_uri,
            origins: body.origins,
            scopes: body.scopes,
            roles: body.roles,
            corporations: body.corporations,
            groups,
            department_groups: body.department_groups,
            role_claims: body.role_claims,
            algorithm: body.algorithm,
            pkce: body.pkce,
            sso: body.sso,
            id_token_claims: body.id_token_claims,
        }
    }
}

/// A valid registration, checked before the one-time password is used.
#[derive(Debug)]
pub(crate) struct CheckedRegistration(pub(super) ClientRegistration);

impl CheckedInput for CheckedRegistration {
    type Fields = RegistrationBody;
    async fn check(body: RegistrationBody, _: &Admin, app: &App) -> Result<Self, ApiError> {
        let registration = ClientRegistration::from(body);
        match registration.check(app.auth.policy.oidc.production) {
            Ok(()) => Ok(Self(registration)),
            Err(problem) => Err(ApiError::field(field(&problem), FieldError::Registration(problem))),
        }
    }
}

/// The field that is invalid.
fn field(problem: &InvalidRegistration) -> &'static str {
    match *problem {
        InvalidRegistration::Name => "name",
        InvalidRegistration::NoRedirectUri => "redirect_uris",
        InvalidRegistration::Address { field, .. } | InvalidRegistration::TooMany(field) => field,
        InvalidRegistration::PkceNeeded => "pkce",
        InvalidRegistration::SilentOnLoopback => "sso",
        InvalidRegistration::OriginsOfConfidential => "origins",
        InvalidRegistration::NoOpenid => "scopes",
        InvalidRegistration::Group => "groups",
    }
}
