//! Content negotiation for the encoding of a file.

use deskpass_core::preferences;
use hyper::HeaderMap;
use hyper::header::ACCEPT_ENCODING;

/// Whether the client accepts gzip, with at least the weight of the plain file.
pub(super) fn takes_gzip(headers: &HeaderMap) -> bool {
    let (mut gzip, mut any, mut identity) = (None, None, None);
    let lines = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|line| line.to_str().ok());
    for (coding, weight) in preferences(lines) {
        match coding.to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => gzip = Some(weight),
            "*" => any = Some(weight),
            "identity" => identity = Some(weight),
            _ => {}
        }
    }
    let gzip = gzip.or(any).unwrap_or(0);
    gzip > 0 && gzip >= identity.unwrap_or(0)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn takes(lines: &[&str]) -> bool {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(ACCEPT_ENCODING, line.parse().unwrap());
        }
        takes_gzip(&headers)
    }

    #[test]
    fn gzip_is_sent_where_it_is_accepted() {
        let yes =
            ["gzip", "gzip, deflate, br, zstd", "GZIP;q=0.5", "x-gzip", "*", "br;q=1, *;q=0.1", "identity;q=0.5, gzip"];
        for line in yes.into_iter().chain(["gzip ; q = 1.0", "identity;q=0, *", "deflate,,;,gzip"]) {
            assert!(takes(&[line]), "{line}");
        }
        assert!(takes(&["br", "gzip"]));
    }

    #[test]
    fn plain_text_is_sent_otherwise() {
        let no = [
            "",
            "identity",
            "br",
            "gzip;q=0",
            "gzip;q=0.000",
            "*;q=0",
            "gzip;q=0, *",
            "gzipped",
            "identity, gzip;q=0.5",
        ];
        let hostile =
            ["gzip;q=NaN", "gzip;q=inf", "gzip;q=-1", "gzip;q=2", "gzip;q=", "gzip;level=9", ";q=1", "gzip q=1"];
        for line in no.into_iter().chain(hostile) {
            assert!(!takes(&[line]), "{line}");
        }
        assert!(!takes(&[]));
        let long = format!("{}gzip", "br,".repeat(40));
        assert!(!takes(&[&long]), "more encodings than a client needs");
    }
}
