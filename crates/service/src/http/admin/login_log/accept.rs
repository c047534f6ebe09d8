//! The format in which the client wants the log.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use deskpass_core::preferred;
use hyper::HeaderMap;
use hyper::header::ACCEPT;
use hyper::http::request::Parts;

use crate::http::request::{DescribeInput, RequestContext};
use crate::log_export::ExportFormat;

/// The format that the client prefers among the supported ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AcceptedFormat {
    /// A page in the envelope.
    Page,
    /// The whole log as a file of this media type.
    File(ExportFormat, &'static str),
}

impl FromRequestParts<RequestContext> for AcceptedFormat {
    type Rejection = Infallible;
    async fn from_request_parts(parts: &mut Parts, _: &RequestContext) -> Result<Self, Infallible> {
        Ok(of_headers(&parts.headers))
    }
}

impl DescribeInput for AcceptedFormat {}

/// The first format of the highest weight; a page where no supported format is named.
fn of_headers(headers: &HeaderMap) -> AcceptedFormat {
    let lines = headers.get_all(ACCEPT).iter().filter_map(|line| line.to_str().ok());
    preferred(lines, format_of).unwrap_or(AcceptedFormat::Page)
}

/// The format of a media type, whatever its parameters are.
fn format_of(media_type: &str) -> Option<AcceptedFormat> {
    match &*media_type.split(';').next()?.trim_end().to_ascii_lowercase() {
        "application/json" | "application/*" | "*/*" => Some(AcceptedFormat::Page),
        "text/csv" | "text/*" => {
            Some(AcceptedFormat::File(ExportFormat::Csv, "text/csv; charset=utf-8; header=present"))
        }
        "application/x-ndjson" => Some(AcceptedFormat::File(ExportFormat::JsonLines, "application/x-ndjson")),
        "application/jsonl" => Some(AcceptedFormat::File(ExportFormat::JsonLines, "application/jsonl")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn of(values: &[&'static str]) -> AcceptedFormat {
        let headers = values.iter().map(|value| (ACCEPT, HeaderValue::from_static(value)));
        of_headers(&headers.collect())
    }

    #[test]
    fn a_request_without_a_preference_gets_a_page() {
        let plain: [&[&str]; 8] = [
            &[],
            &[""],
            &["*/*"],
            &["application/json"],
            &["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"],
            &["image/png"],
            &["text/csv;q=0"],
            &["text/csv;q=2, text/csv;q=0.1234, text/csv;q=x"],
        ];
        for values in plain {
            assert_eq!(of(values), AcceptedFormat::Page, "{values:?}");
        }
    }

    #[test]
    fn the_highest_weight_counts_and_among_equals_the_first() {
        let csv = AcceptedFormat::File(ExportFormat::Csv, "text/csv; charset=utf-8; header=present");
        let lines = AcceptedFormat::File(ExportFormat::JsonLines, "application/jsonl");
        assert_eq!(of(&["text/csv"]), csv);
        assert_eq!(of(&["Text/CSV; charset=utf-8"]), csv);
        assert_eq!(of(&["text/csv, */*;q=0.1"]), csv);
        assert_eq!(of(&["text/csv, application/json"]), csv);
        assert_eq!(of(&["application/json, text/csv"]), AcceptedFormat::Page);
        assert_eq!(of(&["application/json;q=0.5, text/csv;q=0.501"]), csv);
        assert_eq!(of(&["application/json;q=0.5", "application/jsonl"]), lines);
        assert_eq!(
            of(&["application/x-ndjson"]),
            AcceptedFormat::File(ExportFormat::JsonLines, "application/x-ndjson")
        );
        assert_eq!(of(&["text/csv;q=0.9, application/jsonl;q=1.0"]), lines);
    }
}
