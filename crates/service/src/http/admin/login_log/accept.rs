//! The format in which the client wants the log.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
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
        Ok(preferred(&parts.headers))
    }
}

impl DescribeInput for AcceptedFormat {}

/// The first format of the highest weight; a page where no supported format is named.
fn preferred(headers: &HeaderMap) -> AcceptedFormat {
    let given = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut best = (0, AcceptedFormat::Page);
    for (form, weight) in given.flat_map(|value| value.split(',')).filter_map(range) {
        if weight > best.0 {
            best = (weight, form);
        }
    }
    best.1
}

/// A format and its weight, in thousandths. Read without a library: a handful of media types, and none of their parameters.
fn range(text: &str) -> Option<(AcceptedFormat, u16)> {
    let mut parts = text.split(';').map(str::trim);
    let form = match &*parts.next()?.to_ascii_lowercase() {
        "application/json" | "application/*" | "*/*" => AcceptedFormat::Page,
        "text/csv" | "text/*" => AcceptedFormat::File(ExportFormat::Csv, "text/csv; charset=utf-8; header=present"),
        "application/x-ndjson" => AcceptedFormat::File(ExportFormat::JsonLines, "application/x-ndjson"),
        "application/jsonl" => AcceptedFormat::File(ExportFormat::JsonLines, "application/jsonl"),
        _ => return None,
    };
    let quality = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
    Some((form, quality.map_or(Some(1000), thousandths)?))
}

/// A weight of RFC 9110: from 0 to 1 with at most three decimal places.
fn thousandths(quality: &str) -> Option<u16> {
    let (whole, rest) = quality.split_once('.').unwrap_or((quality, ""));
    let digits = rest.len() <= 3 && rest.bytes().all(|c| c.is_ascii_digit());
    let behind: u16 = format!("{rest:0<3}").parse().ok().filter(|_| digits)?;
    match whole {
        "0" => Some(behind),
        "1" if behind == 0 => Some(1000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn of(values: &[&'static str]) -> AcceptedFormat {
        let headers = values.iter().map(|value| (ACCEPT, HeaderValue::from_static(value)));
        preferred(&headers.collect())
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
