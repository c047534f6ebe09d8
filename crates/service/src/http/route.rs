//! A row of the route table.

use std::fmt;

use axum::extract::Request;
use axum::response::Response;
use deskpass_core::Rate;
use futures_util::future::BoxFuture;
use hyper::Method;

use crate::config::Limits;
use crate::http::approval_sentence::ApprovalSentence;
use crate::http::handler::{DescribedHandler, OperationSpec};
use crate::http::request::{RequestContext, RequiredAccess};

/// A row of the table.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the route")]
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path.
    pub path: &'static str,
    /// Who may call it.
    pub access: RequiredAccess,
    /// How often a client may call it.
    pub limit: RateLimit,
    /// The title of an unexpected error, in English and Chinese.
    pub error_title: [&'static str; 2],
    /// Whether a request changes something, even a GET: then HEAD and prefetching are refused.
    pub has_side_effects: bool,
    /// Whether people go there with their browser: then only navigations are served, and a failure of the service is a page.
    pub is_visited: bool,
    /// What pages of other sites may do with it.
    pub other_sites: OtherSites,
    /// Whether it answers under every host name, also in production.
    pub any_host: bool,
    /// Whether its body may bring a code of the platform.
    pub(crate) brings_code: bool,
    /// The tag of the API description that it stands under, in English and Chinese.
    pub(crate) tag: [&'static str; 2],
    /// What it does, in English and Chinese.
    pub(crate) summary: [&'static str; 2],
    /// What a phone is asked to approve, if it is an operation of high risk.
    pub(crate) sentence: Option<ApprovalSentence>,
    /// The codes with which it refuses for reasons of its own.
    pub(crate) refusals: &'static [u16],
    /// Describes what the handler reads and replies with.
    pub(crate) describe: fn(&mut OperationSpec),
    pub(crate) handler: Box<dyn Fn(Request, RequestContext) -> BoxFuture<'static, Response> + Send + Sync>,
}

/// Declares a constructor of routes for each method.
macro_rules! methods {
    ($($name:ident: $method:ident;)*) => {$(
        pub(crate) fn $name<H: DescribedHandler<T> + Sync, T: 'static>(
            path: &'static str,
            access: RequiredAccess,
            handler: H,
        ) -> Self {
            Self::new(Method::$method, path, access, handler)
        }
    )*};
}

impl Route {
    methods! {
        get: GET;
        post: POST;
        put: PUT;
        patch: PATCH;
        delete: DELETE;
    }

    /// A route without a limit, a tag or side effects.
    pub(crate) fn new<H: DescribedHandler<T> + Sync, T: 'static>(
        method: Method,
        path: &'static str,
        access: RequiredAccess,
        handler: H,
    ) -> Self {
        let handler = Box::new(move |request, context| handler.clone().answer(request, context));
        Self {
            method,
            path,
            access,
            limit: RateLimit::Unlimited,
            error_title: ["Request failed", "请求失败"],
            has_side_effects: false,
            is_visited: false,
            other_sites: OtherSites::by_default(path),
            any_host: false,
            brings_code: false,
            tag: [""; 2],
            summary: [""; 2],
            sentence: None,
            refusals: &[],
            describe: H::describe,
            handler,
        }
    }

    /// Limits how often a client may call it.
    pub(crate) fn limit(self, limit: RateLimit) -> Self {
        Self { limit, ..self }
    }

    /// Marks a GET that changes something.
    pub(crate) fn with_side_effects(self) -> Self {
        Self { has_side_effects: true, ..self }
    }

    /// Marks an address that people go to with their browser.
    pub(crate) fn visited(self) -> Self {
        Self { is_visited: true, other_sites: OtherSites::Lead, ..self }
    }

    /// Marks an address that links and redirects of other sites lead to.
    pub(crate) fn linked(self) -> Self {
        Self { other_sites: OtherSites::Lead, ..self }
    }

    /// Lets pages of other sites call it: it decides about their origin itself, or answers everyone the same.
    pub(crate) fn open_to_other_sites(self) -> Self {
        Self { other_sites: OtherSites::Call, ..self }
    }

    /// Answers under every host name, in production too.
    pub(crate) fn under_any_host(self) -> Self {
        Self { any_host: true, ..self }
    }

    /// Marks a route whose body may bring a code of the platform, in `code`: it is claimed before the limits count.
    pub(crate) fn brings_code(self) -> Self {
        Self { brings_code: true, ..self }
    }

    /// Sets the summary.
    pub(crate) fn summary(self, english: &'static str, chinese: &'static str) -> Self {
        Self { summary: [english, chinese], ..self }
    }

    /// Sets the sentence with which a phone is asked to approve it.
    pub(crate) fn sentence(self, sentence: ApprovalSentence) -> Self {
        Self { sentence: Some(sentence), ..self }
    }

    /// Sets the title of an unexpected error.
    pub(crate) fn error_title(self, english: &'static str, chinese: &'static str) -> Self {
        Self { error_title: [english, chinese], ..self }
    }

    /// Names the codes with which it refuses for reasons of its own.
    pub(crate) fn refuses(self, refusals: &'static [u16]) -> Self {
        Self { refusals, ..self }
    }

    /// Puts it under a tag of the API description.
    pub(crate) fn tag(self, tag: [&'static str; 2]) -> Self {
        Self { tag, ..self }
    }

    /// Whether the API description contains it.
    pub(crate) fn is_described(&self) -> bool {
        self.path.starts_with("/api/")
    }
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({:?})", self.method, self.path, self.access)
    }
}

/// What pages of other sites may do with a route. Otherwise any page could use up the limits of everyone behind its visitor's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherSites {
    /// Nothing.
    Refused,
    /// Lead their visitor to it.
    Lead,
    /// Call it.
    Call,
}

impl OtherSites {
    /// For a row that does not say it: the pages and their files may be used by all, the interfaces may not.
    fn by_default(path: &str) -> Self {
        let is_interface = ["/api/", "/oidc/"].iter().any(|root| path.starts_with(root));
        if is_interface { Self::Refused } else { Self::Call }
    }
}

/// The rate limit of a route. Routes with the same limit share their counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateLimit {
    /// None.
    Unlimited,
    /// Requests for a QR code.
    QrCode,
    /// Requests for the address of the platform.
    OauthUrl,
    /// Steps of a sign-in.
    SignIn,
    /// Reads of the state of a ticket.
    ScanStatus,
    /// Bindings of a person to an employee.
    Bind,
    /// Sign-ins of agents.
    AgentsLogin,
    /// Requests that make, use or remove an authenticator. Reading its state is not limited: pages do that before each change.
    Otp,
    /// Replies to messages.
    Replies,
    /// Authorization requests and logouts of OpenID Connect clients. Their invalid tokens are counted apart.
    Oidc,
    /// Questions to phones, and their answers.
    Questions,
    /// Requests of the platform that are refused. Accepted ones do not count: the platform would give them up.
    Events,
    /// Verifications of invalid tokens. Valid ones do not count.
    Verify,
}

impl RateLimit {
    /// The key under which the counts of a client are stored, and the configured rate; `None` where the limit is off. The key must
    /// stay the same across versions, since nodes share it.
    pub(crate) fn key_and_rate(self, limits: &Limits) -> Option<(&'static [u8], Rate)> {
        let (key, rate): (&[u8], _) = match self {
            Self::Unlimited => return None,
            Self::QrCode => (b"qrcode", limits.qrcode),
            Self::OauthUrl => (b"oauth_url", limits.oauth_url),
            Self::SignIn => (b"sign_in", limits.sign_in),
            Self::ScanStatus => (b"scan_status", limits.scan_status),
            Self::Bind => (b"bind", limits.bind),
            Self::AgentsLogin => (b"agents_login", limits.agents_login),
            Self::Otp => (b"otp", limits.otp),
            Self::Replies => (b"replies", limits.replies),
            Self::Oidc => (b"oidc", limits.oidc),
            Self::Questions => (b"questions", limits.questions),
            Self::Events => (b"events", limits.events),
            Self::Verify => (b"verify", limits.verify),
        };
        rate.filter(|_| limits.enabled).map(|rate| (key, rate))
    }
}
