//! The parts of a request that handlers read: tokens, authority, the client's address, fields of body, query and path.

mod access;
mod authority;
mod body;
mod body_buffer;
mod change;
mod client;
mod context;
mod cookies;
mod describe;
mod detached;
pub(crate) mod fields;
mod form;
pub(crate) mod language;
mod opener;
mod origin;
mod query;
mod token;
mod trace;
pub(crate) mod user_agent;

pub use access::RequiredAccess;
pub(crate) use authority::{
    Admin, Developer, HomeAdmin, IntrospectScope, MayKnowState, MessagesScope, Operator, Reader, Service,
};
pub(crate) use body::{FormOrJson, FullRequest, JsonBody, OptionalBody, json_text, raw_body};
pub(crate) use change::{CheckedInput, HighRisk, HomeOnly, InBody, InPath, PathAndBody, PathAndCheckedBody};
pub(crate) use client::{X_FORWARDED_FOR, client_address, client_ip, forwarded_for};
pub(crate) use context::{HighRiskOperation, RequestContext, ReserveConnection};
pub(crate) use cookies::{
    CookieKind, Cookies, OPENER_NAMES, OPENERS, SigningInBrowser, SsoCookie, by_mode, cookie_name,
};
pub(crate) use describe::{BodySpec, DescribeInput, InputSpec};
pub(crate) use detached::run_to_completion;
pub(crate) use fields::{
    FieldKind, FieldSpec, FieldValue, Fields, FormattedText, FromFields, GivenValue, InvalidFields, Members,
    OidcClientId, ReasonText, RoleGroups, ServiceKeyId, SignInId, TextFormat, describe_fields, is_hexadecimal,
    whole_number,
};
pub(crate) use form::OAuthForm;
pub(crate) use opener::Opener;
pub(crate) use origin::AuthorizingBrowser;
pub(crate) use query::{Path, Query, path_fields};
pub(crate) use token::{OptionalSession, SessionIfSent, bearer_token};
pub(crate) use trace::RequestTrace;
