//! The API description, as JSON and as a page.

use axum::extract::State;
use axum::response::IntoResponse as _;
use hyper::header::CONTENT_TYPE;
use hyper::{HeaderMap, Uri};

use crate::App;
use crate::config::Language;
use crate::http::error::ApiError;
use crate::http::pages;
use crate::http::request::RequestContext;
use crate::http::response::described_responses;

described_responses! {
    /// The API description as JSON.
    DescriptionJson: |spec| spec.replies_plain("application/json");
    /// The page that shows the API description.
    DocsPage: |spec| spec.replies_plain("text/html");
}

/// Returns the API description.
pub(crate) async fn document(State(context): State<RequestContext>) -> DescriptionJson {
    DescriptionJson(([(CONTENT_TYPE, "application/json")], (context.api_description)()).into_response())
}

/// Returns the page that shows the API description.
pub(crate) async fn docs(app: App, uri: Uri, language: Language, headers: HeaderMap) -> Result<DocsPage, ApiError> {
    pages::page(app, uri, language, headers).await.map(DocsPage)
}
