//! Framing: which bytes are passed on, and that the result does not depend on how the bytes are split.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::*;
use crate::framing::MalformedHead as Bad;

/// The result for a whole connection: the number of bytes and heads passed on, and the error after them.
type FeedResult = (usize, usize, Option<FramingError>);

/// Feeds the bytes in pieces that end at these positions.
fn feed(bytes: &[u8], ends: &[usize]) -> FeedResult {
    let (mut framing, mut passed) = (Framing::default(), 0);
    for end in ends.iter().copied().chain([bytes.len()]) {
        // Bytes that were passed on are gone; all others are fed again.
        let (more, verdict) = framing.pass(bytes.get(passed..end).unwrap_or_default());
        passed += more;
        if let Err(fault) = verdict {
            return (passed, framing.heads, Some(fault));
        }
    }
    (passed, framing.heads, None)
}

fn feed_whole(text: &str) -> FeedResult {
    feed(text.as_bytes(), &[])
}

const GET: &str = "GET / HTTP/1.1\r\nhost: desk\r\n\r\n";

#[test]
fn good_requests_pass_whole() {
    let good = [
        GET.to_owned(),
        format!("\r\n{GET}"),
        "GET / HTTP/1.0\r\n\r\n".to_owned(),
        "GET /a?b=\"c|d HTTP/1.1\r\nHOST:\t[::1]:80 \r\nx:\r\nX-Empty: \r\ny: caf\u{e9}\r\n\r\n".replace("b=\"", "b="),
        "OPTIONS * HTTP/1.1\r\nhost: desk:80\r\n\r\n".to_owned(),
        "GET http://desk/a?b HTTP/1.1\r\nhost: Desk\r\n\r\n".to_owned(),
        "GET https://desk:8443 HTTP/1.1\r\nhost: desk:8443\r\n\r\n".to_owned(),
        "POST / HTTP/1.1\r\nhost: desk\r\ncontent-length: 5\r\n\r\n\n\n\n\n\n".to_owned(),
        "POST / HTTP/1.1\r\nhost: desk\r\ncontent-length: 0\r\n\r\n".to_owned(),
        "POST / HTTP/1.1\r\nhost: desk\r\nTransfer-Encoding: Chunked\r\n\r\n3;x=y\r\n\n\r\n\r\nA\r\n0123456789\r\n0\r\nt: x\r\n\r\n"
            .to_owned(),
    ];
    for text in good {
        assert_eq!(feed_whole(&text), (text.len(), 1, None), "{text:?}");
        let twice = format!("{text}{GET}");
        assert_eq!(feed_whole(&twice), (twice.len(), 2, None), "{twice:?}");
    }
}

/// Request lines.
const LINES: [(&str, Bad); 21] = [
    ("GET /", Bad::RequestLine),
    ("GET / HTTP/1.2", Bad::RequestLine),
    ("GET / http/1.1", Bad::RequestLine),
    ("PRI * HTTP/2.0", Bad::RequestLine),
    ("GET  / HTTP/1.1", Bad::RequestLine),
    ("GET / HTTP/1.1 ", Bad::RequestLine),
    (" GET / HTTP/1.1", Bad::RequestLine),
    ("GET\t/\tHTTP/1.1", Bad::RequestLine),
    ("G@T / HTTP/1.1", Bad::RequestLine),
    ("\r\n\r\nGET / HTTP/1.1", Bad::RequestLine),
    ("GET x HTTP/1.1", Bad::Target),
    ("GET * HTTP/1.1", Bad::Target),
    ("GET /# HTTP/1.1", Bad::Target),
    ("GET /\0 HTTP/1.1", Bad::Target),
    ("GET /\u{e9} HTTP/1.1", Bad::Target),
    ("GET /<> HTTP/1.1", Bad::Target),
    ("GET ftp://desk/ HTTP/1.1", Bad::Target),
    ("CONNECT desk:443 HTTP/1.1", Bad::Target),
    ("CONNECT / HTTP/1.1", Bad::Target),
    ("GET http://evil/ HTTP/1.1", Bad::HostMismatch),
    ("GET http://u@desk/ HTTP/1.1", Bad::HostMismatch),
];

/// Fields after a valid host.
const FIELDS: [(&str, Bad); 29] = [
    ("x : y", Bad::Field),
    (": y", Bad::Field),
    ("x", Bad::Field),
    ("x: y\r\n folded: z", Bad::Field),
    ("x: y\r\n\tfolded", Bad::Field),
    ("x: a\0b", Bad::Field),
    ("x: a\rb", Bad::Field),
    ("x: a\u{7f}b", Bad::Field),
    ("x\u{e9}: y", Bad::Field),
    ("content-length: +5", Bad::ContentLength),
    ("content-length: -1", Bad::ContentLength),
    ("content-length: 0x5", Bad::ContentLength),
    ("content-length: 5 5", Bad::ContentLength),
    ("content-length: 5, 5", Bad::ContentLength),
    ("content-length:", Bad::ContentLength),
    ("content-length: 99999999999999999999", Bad::ContentLength),
    ("content-length: 5\r\ncontent-length: 5", Bad::ContentLength),
    ("content-length: 5\r\nContent-Length: 6", Bad::ContentLength),
    ("content-length: 5\r\ntransfer-encoding: chunked", Bad::TwoLengths),
    ("transfer-encoding: chunked\r\ncontent-length: 5", Bad::TwoLengths),
    ("transfer-encoding: identity", Bad::TransferEncoding),
    ("transfer-encoding: gzip, chunked", Bad::TransferEncoding),
    ("transfer-encoding: chunked, chunked", Bad::TransferEncoding),
    ("transfer-encoding: xchunked", Bad::TransferEncoding),
    ("transfer-encoding:", Bad::TransferEncoding),
    ("transfer-encoding: chunked\r\ntransfer-encoding: chunked", Bad::TransferEncoding),
    ("transfer-encoding: \"chunked\"", Bad::TransferEncoding),
    ("host: desk", Bad::HostRepeated),
    ("Host: other", Bad::HostRepeated),
];

/// Fields without a valid host.
const HOSTS: [(&str, Bad); 8] = [
    ("x: y", Bad::HostMissing),
    ("host:", Bad::HostInvalid),
    ("host: a b", Bad::HostInvalid),
    ("host: a/b", Bad::HostInvalid),
    ("host: u@a", Bad::HostInvalid),
    ("host: a:x", Bad::HostInvalid),
    ("host: a,b", Bad::HostInvalid),
    ("host: caf\u{e9}", Bad::HostInvalid),
];

/// Heads that are refused, and the error for each.
fn bad_heads() -> Vec<(String, Bad)> {
    let long = format!("GET /{} HTTP/1.1\r\nhost: desk\r\n\r\n", "x".repeat(MAX_TARGET_BYTES));
    let large = format!("GET / HTTP/1.1\r\nhost: desk\r\nx: {}", "x".repeat(MAX_HEAD_BYTES));
    let many = format!("GET / HTTP/1.1\r\nhost: desk\r\n{}\r\n", "x: y\r\n".repeat(MAX_HEAD_FIELDS));
    let line = |line: &str| format!("{line}\r\nhost: desk\r\n\r\n");
    let with = |fields: &str| format!("POST / HTTP/1.1\r\nhost: desk\r\n{fields}\r\n\r\n");
    let host = |fields: &str| format!("GET / HTTP/1.1\r\n{fields}\r\n\r\n");
    let mut cases = vec![(long, Bad::TargetTooLong), (large, Bad::TooLarge), (many, Bad::TooLarge)];
    cases.extend(LINES.map(|(text, bad)| (line(text), bad)));
    cases.extend(FIELDS.map(|(text, bad)| (with(text), bad)));
    cases.extend(HOSTS.map(|(text, bad)| (host(text), bad)));
    let feeds =
        ["GET / HTTP/1.1\nhost: desk\r\n\r\n", "GET / HTTP/1.1\r\nhost: desk\n\r\n", "\nGET", "GET / HTTP/1.1\r\n\n"];
    cases.extend(feeds.map(|text| (text.to_owned(), Bad::LineEnd)));
    cases.push(("POST / HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n".to_owned(), Bad::TransferEncoding));
    cases
}

#[test]
fn what_can_be_read_in_two_ways_is_refused() {
    for (text, bad) in bad_heads() {
        assert_eq!(feed_whole(&text), (0, 0, Some(FramingError::Head(bad))), "{text:?}");
        // The same heads after a request on the same connection, and after a body.
        let body = "POST / HTTP/1.1\r\nhost: desk\r\ncontent-length: 3\r\n\r\nabc";
        for first in [GET, body] {
            assert_eq!(
                feed_whole(&format!("{first}{text}")),
                (first.len(), 1, Some(FramingError::Head(bad))),
                "{text:?}"
            );
        }
    }
}

#[test]
fn chunks_are_framed_in_one_way() {
    let head = "POST / HTTP/1.1\r\nhost: desk\r\ntransfer-encoding: chunked\r\n\r\n";
    for bad in [
        "\r\n",
        "x\r\n",
        "+3\r\nabc\r\n",
        "0x3\r\n",
        "3\nabc\r\n",
        "3\r\nabcd\r\n",
        "3\r\nabc\n",
        "3 \r\n",
        " 3\r\n",
        "-1\r\n",
        "3;a\nb\r\n",
        "3;a\0\r\n",
        "1000000000000000\r\n",
        "0\r\nbad trailer\r\n\r\n",
        "0\r\nx: y\n\r\n",
        "0\r\n folded: x\r\n\r\n",
    ] {
        assert_eq!(feed_whole(&format!("{head}{bad}")).2, Some(FramingError::Chunk), "{bad:?}");
    }
    let endless = format!("{head}3;{}", "x".repeat(MAX_CHUNK_LINE_BYTES));
    assert_eq!(feed_whole(&endless).2, Some(FramingError::Chunk));
    let trailers = format!("{head}0\r\n{}", "x: y\r\n".repeat(MAX_HEAD_BYTES / 6 + 1));
    assert_eq!(feed_whole(&trailers).2, Some(FramingError::Chunk));
}

#[test]
fn after_an_offer_to_switch_the_answer_decides() {
    let offer = "GET /ws HTTP/1.1\r\nhost: desk\r\nupgrade: websocket\r\n\r\n";
    let mut framing = Framing::default();
    let frame = b"\x81\x85\n\n\n\n";
    let both = [offer.as_bytes(), frame].concat();
    assert_eq!(framing.pass(&both), (offer.len(), Ok(())));
    assert!(framing.is_offered());
    assert_eq!(framing.pass(frame), (0, Ok(())), "these may be frames");
    framing.decline();
    assert_eq!(framing.pass(frame), (0, Err(FramingError::Head(Bad::LineEnd))), "they are not");
    let old = "GET /ws HTTP/1.0\r\nupgrade: websocket\r\n\r\n";
    assert_eq!(Framing::default().pass(old.as_bytes()), (old.len(), Ok(())));
}

/// Sequences of valid and invalid requests and pieces of them.
fn connections() -> impl Strategy<Value = Vec<u8>> {
    let pieces: Vec<String> = bad_heads()
        .into_iter()
        .map(|(text, _)| text)
        .filter(|text| text.len() < 200)
        .chain([GET, "\r\n", "\n", "\r", "0\r\n\r\n", "3\r\nabc\r\n", "abc", "\0"].map(str::to_owned))
        .chain([
            "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 7\r\n\r\n1\n34567".to_owned(),
            "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n".to_owned(),
        ])
        .collect();
    vec(select(pieces), 0..5).prop_map(|pieces| pieces.concat().into_bytes())
}

proptest! {
    #[test]
    fn the_verdict_does_not_depend_on_the_pieces(bytes in connections(), cuts in vec(any::<Index>(), 0..6)) {
        let mut ends: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        ends.sort_unstable();
        let every: Vec<_> = (0..bytes.len()).collect();
        let whole = feed(&bytes, &[]);
        prop_assert_eq!(feed(&bytes, &ends), whole);
        prop_assert_eq!(feed(&bytes, &every), whole);
    }

    #[test]
    fn any_bytes_are_judged_without_a_panic_and_in_order(bytes in vec(any::<u8>(), 0..200), cut in any::<Index>()) {
        let whole = feed(&bytes, &[]);
        prop_assert!(whole.0 <= bytes.len());
        prop_assert_eq!(feed(&bytes, &[cut.index(bytes.len() + 1)]), whole);
    }

    /// The library reads every target that is passed on in the same way.
    #[test]
    fn targets_that_pass_are_targets_of_the_library(target in "/[\\x00-\\x7f]{0,12}") {
        let text = format!("GET {target} HTTP/1.1\r\nhost: desk\r\n\r\n");
        if feed_whole(&text).2.is_none() {
            prop_assert!(target.parse::<hyper::Uri>().is_ok(), "{target:?}");
        }
    }
}
