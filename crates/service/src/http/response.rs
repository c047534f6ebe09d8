//! The responses of handlers: the envelope, error bodies, redirects, pictures.

mod describe;
pub(crate) mod envelope;
mod error_body;
mod error_page;
pub(crate) mod landing;
mod login_result;
mod oauth_body;
pub(crate) mod qr_picture;
pub(crate) mod redirect;
mod schema;
mod set_cookie;

pub(crate) use describe::{DescribeOutput, OutputSpec, SuccessBody, described_responses};
pub(crate) use envelope::{FlatReply, NegativeReply, Outcome, Reply};
pub(crate) use error_body::{ErrorBody, ErrorContext};
pub(crate) use error_page::{ClientMistake, MistakeOutcome};
pub(crate) use login_result::LoginResult;
pub(crate) use oauth_body::oauth_body;
pub(crate) use redirect::{OAUTH_STATE, SCAN_PATH};
pub(crate) use schema::{
    ClientKindName, EarlyEndName, LeftReasonName, MethodName, NeedsName, OidcScopeName, PkceName, RoleClaimsName,
    RoleName, ScopeName, ServiceScopeName, SigningAlgorithmName, SourceName, SsoModeName,
};
pub(crate) use set_cookie::{SetCookie, bind_browser, remember_browser};
