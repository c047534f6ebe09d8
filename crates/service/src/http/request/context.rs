//! The context of a request: the service, and what the connection and the head say about the request.

use std::convert::Infallible;
use std::net::IpAddr;

use axum::extract::FromRequestParts;
use hyper::http::request::Parts;

use crate::App;
use crate::config::Language;
use crate::connection_state::ConnectionState;
use crate::http::approval_sentence::ApprovalSentence;
use crate::http::request::fields::FieldSpec;
use crate::http::request::trace::RequestTrace;

/// The input of extractors and handlers besides the request itself.
#[derive(Clone, Debug)]
pub(crate) struct RequestContext {
    pub(crate) app: App,
    pub(crate) peer: IpAddr,
    pub(crate) connection: ConnectionState,
    pub(crate) language: Language,
    pub(crate) trace: RequestTrace,
    /// The parameters of the path, by the names that the route gives them.
    pub(crate) path_params: Vec<(String, String)>,
    /// Returns the API description. It is made from the route table, which handlers do not import.
    pub(crate) api_description: fn() -> &'static str,
    /// Returns an operation of high risk by its method and path; from the route table, too.
    pub(crate) high_risk: fn(&str, &str) -> Option<HighRiskOperation>,
}

impl RequestContext {
    /// The same with the newest settings, for what is decided after a body has arrived.
    pub(crate) fn newest(&self) -> Self {
        Self { app: self.app.newest(), ..self.clone() }
    }
}

/// An operation of high risk, as the route table has it.
#[derive(Debug)]
pub(crate) struct HighRiskOperation {
    /// What it does, in English and Chinese.
    pub(crate) summary: [&'static str; 2],
    /// The sentence with which a phone is asked to approve it.
    pub(crate) sentence: Option<ApprovalSentence>,
    /// The parameters of its path.
    pub(crate) params: Vec<(String, String)>,
    /// The members of the body that it reads; none if it reads no body.
    pub(crate) fields: Vec<FieldSpec>,
}

impl FromRequestParts<RequestContext> for App {
    type Rejection = Infallible;
    async fn from_request_parts(_: &mut Parts, context: &RequestContext) -> Result<Self, Infallible> {
        Ok(context.app.clone())
    }
}

/// Marks a request on a reserve connection, which serves health checks and operators only.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReserveConnection;
