//! Requests that differ in one word only, so that writing a request means copying three pieces.

use fastrand::Rng;

use crate::connection::HttpResponse;

/// The `User-Agent` of the generator.
pub(crate) const AGENT: &str = "deskpass-bench/1";
/// The path that issues a QR code.
pub(crate) const QRCODE: &str = "/api/auth/qrcode";
/// The path that describes the user of an access token.
pub(crate) const USERINFO: &str = "/oidc/userinfo";
/// The path that gives tokens for a code.
pub(crate) const TOKEN: &str = "/oidc/token";

/// Many requests of one kind.
#[derive(Debug)]
pub(crate) struct Requests {
    before: Vec<u8>,
    after: Vec<u8>,
    words: WordList,
    /// The bytes that the body of a correct response contains.
    expect: &'static [u8],
}

/// Words of the same width in contiguous memory: sequential reads cost the generator almost nothing.
#[derive(Clone, Debug)]
pub(crate) struct WordList {
    width: usize,
    bytes: Vec<u8>,
}

impl WordList {
    /// Creates an empty list of words of this width.
    pub(crate) fn new(width: usize, room: usize) -> Self {
        Self { width, bytes: Vec::with_capacity(width * room) }
    }

    /// A list with one word.
    pub(crate) fn one(word: &str) -> Self {
        Self { width: word.len(), bytes: word.into() }
    }

    pub(crate) fn push(&mut self, word: &str) {
        debug_assert_eq!(word.len(), self.width, "words have one width");
        self.bytes.extend_from_slice(word.as_bytes());
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len() / self.width.max(1)
    }

    /// The word at an index, as text.
    pub(crate) fn text(&self, at: usize) -> Option<&str> {
        std::str::from_utf8(self.get(at)?).ok()
    }

    fn get(&self, at: usize) -> Option<&[u8]> {
        let start = at * self.width;
        self.bytes.get(start..start + self.width)
    }

    /// A list of `count` words, each drawn at random from this list: the same ones in every run.
    pub(crate) fn drawn(&self, count: usize) -> Self {
        let (mut rng, mut drawn) = (Rng::with_seed(1), Self::new(self.width, count));
        for _ in 0..count {
            drawn.bytes.extend_from_slice(rng.choice(self.bytes.chunks_exact(self.width)).unwrap_or_default());
        }
        drawn
    }
}

impl Requests {
    pub(crate) fn verify(tokens: WordList) -> Self {
        Self::post("/api/auth/verify", "token", tokens, b"\"valid\":true")
    }

    pub(crate) fn bind(employees: WordList) -> Self {
        Self::post("/api/auth/bind", "employee_id", employees, b"\"code\":0")
    }

    /// Sign-ins with a wrong password for these employees.
    pub(crate) fn login(employees: WordList) -> Self {
        let open = "{\"password\":\"not the password\",\"employee_id\":\"";
        Self::post_text("/api/agents/login", open, employees, b"\"code\":1011")
    }

    pub(crate) fn me(tokens: WordList) -> Self {
        let before = head("GET", "/api/auth/me") + "Authorization: Bearer ";
        Self { before: before.into(), after: b"\r\n\r\n".into(), words: tokens, expect: b"\"code\":0" }
    }

    pub(crate) fn userinfo(tokens: WordList) -> Self {
        let before = head("GET", USERINFO) + "Authorization: Bearer ";
        Self { before: before.into(), after: b"\r\n\r\n".into(), words: tokens, expect: b"\"sub\":" }
    }

    pub(crate) fn logout(tokens: WordList) -> Self {
        let before = head("POST", "/api/auth/logout") + "Authorization: Bearer ";
        let after = b"\r\nContent-Length: 0\r\n\r\n".into();
        Self { before: before.into(), after, words: tokens, expect: b"\"success\":true" }
    }

    /// Identical requests: the word is the empty line that ends the request.
    pub(crate) fn qrcode() -> Self {
        let before = head("GET", QRCODE).into();
        Self { before, after: Vec::new(), words: WordList::one("\r\n"), expect: b"\"qrcode_png_base64\":\"iVBORw0KGgo" }
    }

    fn post(path: &str, field: &str, words: WordList, expect: &'static [u8]) -> Self {
        Self::post_text(path, &format!("{{\"{field}\":\""), words, expect)
    }

    /// Requests with a body that begins with `open` and ends with a word.
    fn post_text(path: &str, open: &str, words: WordList, expect: &'static [u8]) -> Self {
        let close = "\"}";
        let length = open.len() + words.width + close.len();
        let kind = format!("Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n");
        Self { before: (head("POST", path) + &kind + open).into(), after: close.into(), words, expect }
    }

    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    /// Overwrites `into` with a request; `false` when the index is out of range.
    pub(crate) fn write(&self, at: usize, into: &mut Vec<u8>) -> bool {
        let Some(word) = self.words.get(at) else { return false };
        into.clear();
        for piece in [&self.before, word, &self.after] {
            into.extend_from_slice(piece);
        }
        true
    }

    /// Whether the response is correct for such a request.
    pub(crate) fn accepts(&self, answer: HttpResponse<'_>) -> bool {
        answer.is_ok() && answer.has(self.expect)
    }
}

/// A WebSocket handshake with a token.
pub(crate) fn handshake(token: &str) -> Vec<u8> {
    let head = head("GET", "/api/ws/employee");
    let switch = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n";
    // Any key is sufficient: the benchmark does not check the accept header.
    format!("{head}{switch}Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: Bearer {token}\r\n\r\n").into()
}

/// A request of another service that sends a message.
pub(crate) fn message(key: &str, body: &str) -> Vec<u8> {
    let (head, length) = (head("POST", "/api/messages"), body.len());
    let kind = format!("Content-Type: application/json\r\nContent-Length: {length}\r\n");
    format!("{head}{kind}Authorization: Bearer {key}\r\n\r\n{body}").into()
}

/// A form, for calls that are not measured.
pub(crate) fn post_form(path: &str, form: &str) -> Vec<u8> {
    let kind = format!("Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n", form.len());
    (head("POST", path) + &kind + form).into()
}

/// A request with a token and a JSON body, for calls that are not measured.
pub(crate) fn post_json(path: &str, token: &str, body: &str) -> Vec<u8> {
    let (head, length) = (head("POST", path), body.len());
    let kind = format!("Content-Type: application/json\r\nContent-Length: {length}\r\n");
    format!("{head}{kind}Authorization: Bearer {token}\r\n\r\n{body}").into()
}

/// A request with a JSON body and no token, for calls that are not measured.
pub(crate) fn put_json(path: &str, body: &str) -> Vec<u8> {
    with_json(head("PUT", path), body)
}

/// The same with POST.
pub(crate) fn post_json_anonymously(path: &str, body: &str) -> Vec<u8> {
    with_json(head("POST", path), body)
}

fn with_json(head: String, body: &str) -> Vec<u8> {
    let kind = format!("Content-Type: application/json\r\nContent-Length: {}\r\n\r\n", body.len());
    (head + &kind + body).into()
}

/// A request of the platform.
pub(crate) fn post_xml(path: &str, body: &str) -> Vec<u8> {
    let (head, length) = (head("POST", path), body.len());
    format!("{head}Content-Type: text/xml\r\nContent-Length: {length}\r\n\r\n{body}").into()
}

/// A request without a body, for calls that are not measured.
pub(crate) fn get(path: &str) -> Vec<u8> {
    (head("GET", path) + "\r\n").into()
}

/// A request with a token and without a body.
pub(crate) fn get_as(path: &str, token: &str) -> Vec<u8> {
    format!("{}Authorization: Bearer {token}\r\n\r\n", head("GET", path)).into()
}

/// A request with a cookie and without a body.
pub(crate) fn get_with_cookie(path: &str, cookie: &str) -> Vec<u8> {
    format!("{}Cookie: {cookie}\r\n\r\n", head("GET", path)).into()
}

/// The request line, and the headers of every request.
fn head(method: &str, path: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: {AGENT}\r\nAccept: */*\r\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> WordList {
        let mut words = WordList::new(3, 2);
        words.push("abc");
        words.push("def");
        words
    }

    #[test]
    fn a_request_is_its_pieces_around_its_word() {
        let (requests, mut bytes) = (Requests::verify(words()), Vec::new());
        assert!(requests.write(1, &mut bytes) && bytes.ends_with(b"Content-Length: 15\r\n\r\n{\"token\":\"def\"}"));
        assert!(Requests::me(words()).write(0, &mut bytes) && bytes.ends_with(b"Authorization: Bearer abc\r\n\r\n"));
        assert!(!requests.write(2, &mut bytes));
        assert!(
            Requests::logout(words()).write(1, &mut bytes) && bytes.starts_with(b"POST /api/auth/logout HTTP/1.1\r\n")
        );
        assert!(bytes.ends_with(b"Authorization: Bearer def\r\nContent-Length: 0\r\n\r\n"));
        assert!(Requests::qrcode().write(0, &mut bytes) && bytes == get(QRCODE));
    }

    #[test]
    fn draws_are_words_that_were_there() {
        let drawn = words().drawn(50);
        assert_eq!(drawn.len(), 50);
        assert!(
            (0..50).all(|at| drawn.get(at).is_some_and(|word| [b"abc", b"def"].iter().any(|known| word == *known)))
        );
    }
}
