//! Content negotiation for the encoding of a file.

use hyper::HeaderMap;
use hyper::header::ACCEPT_ENCODING;

/// Whether the client accepts gzip, with at least the weight of the plain file.
pub(super) fn takes_gzip(headers: &HeaderMap) -> bool {
    let (mut gzip, mut any, mut identity) = (None, None, None);
    let lines = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|line| line.to_str().ok());
    for (coding, quality) in lines.flat_map(|line| line.split(',')).take(32).filter_map(weighted_item) {
        match coding.to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => gzip = Some(quality),
            "*" => any = Some(quality),
            "identity" => identity = Some(quality),
            _ => {}
        }
    }
    let gzip = gzip.or(any).unwrap_or(0.0);
    gzip > 0.0 && gzip >= identity.unwrap_or(0.0)
}

/// A coding and its weight. Read without a library: a file exists in two encodings, so only `gzip` has to be found.
pub(super) fn weighted_item(item: &str) -> Option<(&str, f32)> {
    let (coding, quality) = item.split_once(';').unwrap_or((item, "q=1"));
    let (name, quality) = quality.split_once('=')?;
    let quality = quality.trim().parse().ok().filter(|quality| (0.0..=1.0).contains(quality))?;
    name.trim().eq_ignore_ascii_case("q").then(|| (coding.trim(), quality))
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
