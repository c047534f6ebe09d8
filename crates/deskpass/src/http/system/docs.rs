//! The API description, as JSON and as a page.

use axum::response::{IntoResponse, Response};
use hyper::header::CONTENT_TYPE;
use hyper::{HeaderMap, Uri};

use crate::http::error::ApiError;
use crate::http::pages;
use crate::http::request::context::ApiDescription;
use crate::http::request::language::ClientLanguage;
use crate::http::response::describe::{DescribeOutput, OutputSpec};

/// The API description as JSON.
pub(crate) struct DescriptionJson(&'static str);

/// Returns the API description.
pub(crate) async fn document(ApiDescription(text): ApiDescription) -> DescriptionJson {
    DescriptionJson(text)
}

impl IntoResponse for DescriptionJson {
    fn into_response(self) -> Response {
        ([(CONTENT_TYPE, "application/json")], self.0).into_response()
    }
}

impl DescribeOutput for DescriptionJson {
    fn describe_output(spec: &mut OutputSpec) {
        spec.replies_plain("application/json");
    }
}

/// The page that shows the API description.
pub(crate) struct DocsPage(Response);

/// Returns the page that shows the API description.
pub(crate) async fn docs(uri: Uri, language: ClientLanguage, headers: HeaderMap) -> Result<DocsPage, ApiError> {
    pages::page(uri, language, headers).await.map(DocsPage)
}

impl IntoResponse for DocsPage {
    fn into_response(self) -> Response {
        self.0
    }
}

impl DescribeOutput for DocsPage {
    fn describe_output(spec: &mut OutputSpec) {
        spec.replies_plain("text/html");
    }
}
