//! Odd HTTP: refused, or read in one way, directly and behind the proxies of `deploy/`; and nothing hidden in it becomes a request.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::envelope::assert_shape;
use crate::harness::{Client, Process, Proxy, Response, TestApp, handshake, request};

/// A second request, which gets a response only after a desync.
const HIDDEN: &str = "GET /api/version HTTP/1.1\r\nhost: localhost\r\nx-request-id: hidden\r\n\r\n";

/// The same as the last request of its connection.
const LAST_HIDDEN: &str =
    "GET /api/version HTTP/1.1\r\nhost: localhost\r\nx-request-id: hidden\r\nconnection: close\r\n\r\n";

/// A request to `/api/auth/verify` with these headers instead of a length, and this body.
fn verify(fields: &str, body: &str) -> String {
    format!(
        "POST /api/auth/verify HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{fields}\r\n\r\n{body}"
    )
}

fn get(line: &str, fields: &str) -> String {
    format!("{line}\r\n{fields}\r\n\r\n")
}

const CHUNKED: &str = "d\r\n{\"token\":\"x\"}\r\n0\r\n\r\n";

/// What becomes of an odd request.
#[derive(Clone, Copy, Debug)]
enum Outcome {
    /// The service refuses it with this status, in the envelope.
    Refused(u16),
    /// The HTTP library refuses it with this status, without a body.
    Bare(u16),
    /// It is answered, and so is the next request.
    Answered,
    /// It is answered, and nothing after it is read.
    Last,
}
use Outcome::{Answered, Bare, Last, Refused};

impl Outcome {
    /// The statuses of the answers to the request and to another one after it.
    fn statuses(self) -> Vec<u16> {
        match self {
            Refused(status) | Bare(status) => vec![status],
            Answered => vec![200, 200],
            Last => vec![200],
        }
    }

    /// Checks the answer to the request.
    fn check(self, name: &str, answer: &Response) {
        match self {
            Refused(status) => assert_shape(answer.refused(status, 1002)),
            Bare(status) => assert_eq!((answer.status, &*answer.body), (status, ""), "{name}"),
            Answered | Last => assert_eq!(answer.status, 200, "{name}: {answer:?}"),
        }
        let is_last = !matches!(self, Answered);
        assert_eq!(answer.header("connection"), is_last.then_some("close"), "{name}");
    }
}

/// Odd requests: a name, the bytes, and what becomes of them.
fn odd() -> Vec<(&'static str, String, Outcome)> {
    [odd_heads(), odd_lengths(), odd_sizes()].concat()
}

const LINE: &str = "GET /api/version HTTP/1.1";
const HOST: &str = "host: localhost";

fn odd_heads() -> Vec<(&'static str, String, Outcome)> {
    let (line, host) = (LINE, HOST);
    let json = r#"{"token":"x"}"#;
    vec![
        ("bare LF after the request line", format!("{line}\n{host}\r\n\r\n"), Answered),
        ("bare LF after a field", format!("{line}\r\n{host}\nx: y\r\n\r\n"), Answered),
        ("bare LF at the end", format!("{line}\r\n{host}\r\n\n"), Answered),
        ("bare LFs only", format!("{line}\n{host}\n\n"), Answered),
        ("bare CR in a value", get(line, &format!("{host}\r\nx: a\rb")), Bare(400)),
        ("bare CR as a line end", format!("{line}\r{host}\r\r\n\r\n"), Bare(400)),
        ("no host", get(line, "x: y"), Refused(400)),
        ("two hosts", get(line, &format!("{host}\r\n{host}")), Refused(400)),
        ("two different hosts", get(line, &format!("{host}\r\nhost: other")), Refused(400)),
        ("an empty host", get(line, "host:"), Refused(400)),
        ("a host with a blank", get(line, "host: local host"), Refused(400)),
        ("a host with a path", get(line, "host: localhost/x"), Refused(400)),
        ("a host with a user", get(line, "host: x@localhost"), Refused(400)),
        ("a list of hosts", get(line, "host: localhost, other"), Refused(400)),
        ("a host with a bad port", get(line, "host: localhost:x"), Refused(400)),
        ("another host in the target", get("GET http://other/api/version HTTP/1.1", host), Refused(400)),
        ("a folded line", get(line, &format!("{host}\r\nx: y\r\n z")), Bare(400)),
        ("a blank before a colon", get(line, &format!("{host}\r\nx : y")), Bare(400)),
        ("a blank before the colon of a length", verify("content-length : 13", json), Bare(400)),
        ("a line without a colon", get(line, &format!("{host}\r\nx")), Bare(400)),
        ("NUL in a value", get(line, &format!("{host}\r\nx: a\0b")), Bare(400)),
        ("a control character in a value", get(line, &format!("{host}\r\nx: a\u{1}b")), Bare(400)),
        ("NUL in the target", get("GET /\0 HTTP/1.1", host), Bare(400)),
        ("a fragment in the target", get("GET /api/version#x HTTP/1.1", host), Answered),
        ("two blanks in the request line", get("GET  /api/version HTTP/1.1", host), Bare(400)),
        ("no version", get("GET /api/version", host), Bare(400)),
        ("a version to come", get("GET /api/version HTTP/3.0", host), Bare(400)),
        ("a tunnel", get("CONNECT localhost:80 HTTP/1.1", host), Refused(400)),
    ]
}

fn odd_lengths() -> Vec<(&'static str, String, Outcome)> {
    let json = r#"{"token":"x"}"#;
    let length = "content-length: 13";
    vec![
        ("a length and chunks", verify(&format!("{length}\r\ntransfer-encoding: chunked"), CHUNKED), Last),
        ("chunks and a length", verify("transfer-encoding: chunked\r\ncontent-length: 4", CHUNKED), Last),
        ("two lengths", verify(&format!("{length}\r\ncontent-length: 5"), json), Bare(400)),
        ("the same length twice", verify(&format!("{length}\r\n{length}"), json), Answered),
        ("a list of lengths", verify("content-length: 13, 13", json), Bare(400)),
        ("a length with a sign", verify("content-length: +13", json), Bare(400)),
        ("a negative length", verify("content-length: -13", json), Bare(400)),
        ("a hexadecimal length", verify("content-length: 0xd", json), Bare(400)),
        ("an empty length", verify("content-length:", json), Bare(400)),
        ("an endless length", verify("content-length: 99999999999999999999", json), Bare(400)),
        ("another encoding", verify("transfer-encoding: identity", json), Bare(400)),
        ("an encoding before chunks", verify("transfer-encoding: gzip, chunked", CHUNKED), Last),
        ("chunks twice", verify("transfer-encoding: chunked\r\ntransfer-encoding: chunked", CHUNKED), Last),
        ("almost chunks", verify("transfer-encoding: xchunked", CHUNKED), Bare(400)),
        ("chunks with a control character", verify("transfer-encoding: \u{b}chunked", CHUNKED), Bare(400)),
    ]
}

fn odd_sizes() -> Vec<(&'static str, String, Outcome)> {
    let (line, host) = (LINE, HOST);
    let long = format!("GET /{} HTTP/1.1", "x".repeat(9_000));
    let large = format!("{host}\r\nx: {}", "x".repeat(20_000));
    let many = format!("{host}\r\n{}", "x: y\r\n".repeat(80));
    vec![
        ("a very long target", get(&long, host), Refused(414)),
        ("a large head", get(line, &large), Bare(431)),
        ("many fields", get(line, &many), Bare(431)),
    ]
}

/// All responses until the connection ends.
async fn answers(address: &str, bytes: &[u8]) -> Vec<Response> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The service may close the connection before all bytes are sent.
    let _ = stream.write_all(bytes).await;
    let mut received = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut received)).await;
    let received = String::from_utf8_lossy(&received);
    let (mut rest, mut answers) = (&*received, Vec::new());
    while let Some((head, after)) = rest.split_once("\r\n\r\n") {
        let fields = head.lines().filter_map(|line| line.split_once(": "));
        let headers: Vec<_> = fields.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let Some(status) = head.split(' ').nth(1).and_then(|status| status.parse().ok()) else { break };
        let mut answer = Response { status, headers, body: String::new() };
        let length = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
        after[..length].clone_into(&mut answer.body);
        rest = &after[length..];
        answers.push(answer);
    }
    answers
}

#[tokio::test]
async fn is_refused_or_has_one_meaning() {
    let app = TestApp::start().await;
    for (name, bytes, outcome) in odd() {
        let answers = answers(&app.address, format!("{bytes}{LAST_HIDDEN}").as_bytes()).await;
        let seen: Vec<_> = answers.iter().map(|answer| answer.status).collect();
        assert_eq!(seen, outcome.statuses(), "{name}: {answers:?}");
        outcome.check(name, &answers[0]);
    }
}

/// The outcome is the same when the request follows another, follows a body, or comes in small pieces.
#[tokio::test]
async fn has_the_same_outcome_wherever_it_is_on_a_connection() {
    let app = TestApp::start().await;
    let first = request("GET", "/healthz", &[], b"");
    let json = [("content-type", "application/json")];
    let second = request("POST", "/api/auth/verify", &json, b"{\n\"token\": \"\n\n\r\n\r\n\" }");
    for (name, bytes, outcome) in odd() {
        let all = [&first[..], &second, bytes.as_bytes(), LAST_HIDDEN.as_bytes()].concat();
        let answers = answers(&app.address, &all).await;
        let seen: Vec<_> = answers.iter().map(|answer| answer.status).collect();
        // A line break in a string is invalid JSON, and no reason to close the connection.
        assert_eq!(seen, [vec![200, 400], outcome.statuses()].concat(), "{name}: {answers:?}");
        assert_eq!(answers[1].header("connection"), None, "{name}");
    }
    for wanted in ["no host", "a blank before a colon", "a length and chunks"] {
        let (name, bytes, outcome) = odd().into_iter().find(|(name, ..)| *name == wanted).unwrap();
        let mut client = app.client().await;
        assert_eq!(client.send(&first).await.status, 200);
        for byte in bytes.as_bytes() {
            client.push(&[*byte]).await;
            tokio::task::yield_now().await;
        }
        outcome.check(name, &client.read().await.unwrap());
        assert!(client.read().await.is_none());
    }
}

/// A request with `Transfer-Encoding` is the last of its connection, whatever it is answered with.
#[tokio::test]
async fn nothing_is_read_after_a_body_in_chunks() {
    let app = TestApp::start().await;
    let chunked = |line: &str| format!("{line}\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n");
    for (line, status) in [
        ("GET /healthz HTTP/1.1", 200),
        ("GET /api/auth/me HTTP/1.1", 401),
        ("POST /nowhere HTTP/1.1", 404),
        ("POST /api/auth/verify HTTP/1.1", 415),
    ] {
        for next in [HIDDEN, "GARBAGE", "\r\n\r\n"] {
            let answers = answers(&app.address, format!("{}{next}", chunked(line)).as_bytes()).await;
            let seen: Vec<_> = answers.iter().map(|answer| answer.status).collect();
            assert_eq!(seen, [status], "{line}: {answers:?}");
            assert_eq!(answers[0].header("connection"), Some("close"), "{line}");
        }
    }
}

#[tokio::test]
async fn chunks_that_are_framed_oddly_end_the_request() {
    let app = TestApp::start().await;
    let chunked = |body: &str| verify("transfer-encoding: chunked", body);
    for body in [
        "d\n{\"token\":\"x\"}\r\n0\r\n\r\n",
        "d\r\n{\"token\":\"x\"}\n0\r\n\r\n",
        "d\r\n{\"token\":\"x\"}\r\n0\n\n",
        "d;x\ny\r\n{\"token\":\"x\"}\r\n0\r\n\r\n",
        "+d\r\n{\"token\":\"x\"}\r\n0\r\n\r\n",
        "0xd\r\n{\"token\":\"x\"}\r\n0\r\n\r\n",
        "d\r\n{\"token\":\"x\"}\r\n0\r\nbad trailer\r\n\r\n",
        "fffffffffffffffff\r\n{\"token\":\"x\"}\r\n0\r\n\r\n",
    ] {
        let answers = answers(&app.address, format!("{}{HIDDEN}", chunked(body)).as_bytes()).await;
        assert_eq!(answers.len(), 1, "{body:?}: {answers:?}");
        assert_shape(answers[0].refused(400, 1002));
    }
    let whole = "5;ext=\"a b\"\r\n{\"tok\r\n8\r\nen\":\"x\"}\r\n000\r\nx-trailer: y\r\n\r\n";
    let mut client = app.client().await;
    assert_eq!(client.send(chunked(whole).as_bytes()).await.data(), json!({ "valid": false }));
    assert!(client.read().await.is_none(), "the connection ends");
}

#[tokio::test]
async fn is_not_what_good_clients_send() {
    let app = TestApp::start().await;
    let mut client = app.client().await;
    let good = [
        "GET /api/version HTTP/1.1\r\nHost: LOCALHOST:80\r\n\r\n".to_owned(),
        "\r\nGET /api/version HTTP/1.1\r\nhost:\t127.0.0.1 \r\n\r\n".to_owned(),
        "GET http://localhost/api/version?x=%00&y=a|b HTTP/1.1\r\nhost: localhost\r\n\r\n".to_owned(),
        "GET /api/version HTTP/1.1\r\nhost: [::1]:8080\r\nx_under_score: y\r\nx-obs: caf\u{e9}\r\n\r\n".to_owned(),
        "GET /api/version HTTP/1.1\r\nhost: localhost\r\nconnection: host, content-length\r\n\r\n".to_owned(),
        verify("expect: 100-continue\r\ncontent-length: 13", ""),
    ];
    for text in &good[..5] {
        assert_eq!(client.send(text.as_bytes()).await.status, 200, "{text:?}");
    }
    client.start(good[5].as_bytes()).await;
    assert_eq!(client.read().await.unwrap().status, 100);
    assert_eq!(client.send(br#"{"token":"x"}"#).await.data(), json!({ "valid": false }));
    // An HTTP/1.0 health check of a balancer.
    let old = answers(&app.address, b"GET /api/ready HTTP/1.0\r\n\r\n").await;
    assert_eq!(old.iter().map(|answer| answer.status).collect::<Vec<_>>(), [200]);
}

/// Bytes after an upgrade offer are read as requests when the offer is declined, and as frames when it is accepted.
#[tokio::test]
async fn what_follows_an_offer_to_switch_is_read_as_what_it_is() {
    let app = TestApp::start().await;
    let offer = "GET /api/version HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n";
    let seen = async |bytes: String| {
        let answers = answers(&app.address, bytes.as_bytes()).await;
        answers.iter().map(|answer| answer.status).collect::<Vec<_>>()
    };
    assert_eq!(seen(format!("{offer}{HIDDEN}{offer}{LAST_HIDDEN}")).await, [200; 4]);
    assert_eq!(seen(format!("{offer}{}{HIDDEN}", "GET /api/version HTTP/1.1\r\n\r\n")).await, [200, 400]);

    let token = app.client().await.sign_in("user01").await;
    let bearer = format!("Bearer {token}");
    let shake = handshake("/api/ws/employee", &[("authorization", bearer.as_str())]);
    // A ping whose mask and text look like line ends, sent before the response.
    let early = [&shake[..], b"\x89\x85\n\n\n\n\0\0\0\0\0"].concat();
    let mut client = app.client().await;
    client.start(&early).await;
    client.read_until("\n\n\n\n\n").await;
}

/// The HTTP library has refusals of its own, without an envelope. All others have one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_byte_is_answered_or_refused() {
    let app = TestApp::start().await;
    let good = b"GET /api/version?a=b HTTP/1.1\r\nHost: localhost:80\r\nX-Ab: c d\r\nConnection: close\r\n\r\n";
    let mut statuses = std::collections::BTreeMap::<(u16, bool), usize>::new();
    for at in 0..good.len() - 4 {
        for byte in *b"\0\t\n\r \"#%:;<?@[x{\x7f\xc3" {
            let mut bytes = good.to_vec();
            bytes[at] = byte;
            let mut client = app.client().await;
            client.push(&bytes).await;
            let mut answer =
                client.read().await.unwrap_or_else(|| panic!("no answer to {:?}", String::from_utf8_lossy(&bytes)));
            // A line feed may end the head early, and what follows has an answer of its own.
            answer.body.truncate(answer.header("content-length").map_or(0, |length| length.parse().unwrap()));
            // A page has no envelope, but a request id, which the library's own refusals lack.
            let is_ours = answer.header("x-request-id").is_some();
            assert!(is_ours || answer.body.is_empty(), "{answer:?}");
            if answer.header("content-type") == Some("application/json") {
                assert_shape(&answer);
            }
            *statuses.entry((answer.status, is_ours)).or_default() += 1;
        }
    }
    let seen: Vec<_> = statuses.keys().copied().collect();
    let expected = [(200, true), (400, false), (400, true), (403, true), (404, true), (405, true)];
    assert_eq!(seen, expected, "{statuses:?}");
}

/// Odd requests that end with an answer behind a proxy: the proxy repairs them, so that they are well-formed and unambiguous, or passes
/// on what the service itself answers.
const ANSWERED: [&str; 17] = [
    "bare LF after the request line",
    "bare LF after a field",
    "bare LF at the end",
    "bare LFs only",
    "two hosts",
    "another host in the target",
    "a folded line",
    "a line without a colon",
    "a fragment in the target",
    "two blanks in the request line",
    "a version to come",
    "a length and chunks",
    "chunks and a length",
    "the same length twice",
    "a list of lengths",
    "an encoding before chunks",
    "chunks twice",
];

/// Behind a proxy an odd request has one answer, from the proxy or from us; and the next client on its connections gets the answer to its
/// own request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn is_read_alike_behind_proxies() {
    let data = tempfile::tempdir().unwrap();
    let node = Process::serve(data.path(), &[]);
    let mut wrong = Vec::new();
    for (kind, proxy) in [
        ("haproxy", Proxy::haproxy([&node.address, &node.address])),
        ("nginx", Proxy::nginx([&node.address, &node.address])),
    ] {
        let mut probe = Client::connect(&proxy.address).await;
        for (at, (name, bytes, _)) in odd().into_iter().enumerate() {
            let closing = bytes.replacen('\n', "\nconnection: close\r\n", 1);
            let answers = answers(&proxy.address, format!("{closing}{HIDDEN}").as_bytes()).await;
            let seen: Vec<_> = answers.iter().map(|answer| answer.status).collect();
            if seen.iter().any(|status| *status < 400) && !ANSWERED.contains(&name) || seen.len() > 1 {
                wrong.push(format!("{kind}: {name}: {seen:?}"));
            }
            let id = format!("{kind}-{at}");
            let answer = probe.get("/api/version", &[("x-request-id", &id)]).await;
            assert_eq!(answer.json()["request_id"], id, "{kind}: after {name}");
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A node that keeps what it receives, and answers each request.
async fn recording_node() -> (String, Arc<Mutex<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let received = Arc::new(Mutex::new(Vec::new()));
    let recorded = Arc::clone(&received);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let recorded = Arc::clone(&recorded);
            tokio::spawn(async move {
                let mut piece = [0; 4_096];
                while let Ok(count @ 1..) = stream.read(&mut piece).await {
                    recorded.lock().unwrap().extend_from_slice(&piece[..count]);
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
                }
            });
        }
    });
    (address, received)
}

/// The service reads a bare LF as the end of a line. The proxies never pass one on: they repair it or refuse the request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bare_lf_does_not_pass_a_proxy() {
    let (node, received) = recording_node().await;
    for proxy in [Proxy::haproxy([&node, &node]), Proxy::nginx([&node, &node])] {
        for (name, bytes, _) in odd().into_iter().filter(|(name, ..)| name.starts_with("bare LF")) {
            let closing = bytes.replacen('\n', "\nconnection: close\r\n", 1);
            let answers = answers(&proxy.address, closing.as_bytes()).await;
            assert_eq!(answers.len(), 1, "{name}: {answers:?}");
        }
        // Seen to arrive, so that this test looks at something.
        assert_eq!(Client::connect(&proxy.address).await.get("/api/version", &[]).await.status, 200);
    }
    let received = received.lock().unwrap();
    let feeds = received.windows(1).filter(|one| *one == b"\n").count();
    let ends = received.windows(2).filter(|two| *two == b"\r\n").count();
    assert!(feeds > 0 && feeds == ends, "{}", String::from_utf8_lossy(&received));
}
