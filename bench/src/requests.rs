//! Requests that differ in one word only, so that writing one is copying three pieces.

use crate::connection::HttpResponse;
use crate::rng::Rng;

/// What the generator calls itself.
pub(crate) const AGENT: &str = "deskpass-bench/1";
/// Where a QR code is asked for.
pub(crate) const QRCODE: &str = "/api/auth/qrcode";

/// Many requests of one kind.
#[derive(Debug)]
pub(crate) struct Requests {
    before: Vec<u8>,
    after: Vec<u8>,
    words: WordList,
    /// What the body of a good answer has in it.
    expect: &'static [u8],
}

/// Words of one width in one piece of memory: read in order, they cost the generator next to nothing.
#[derive(Clone, Debug)]
pub(crate) struct WordList {
    width: usize,
    bytes: Vec<u8>,
}

impl WordList {
    /// No words yet, of this width.
    pub(crate) fn new(width: usize, room: usize) -> Self {
        Self { width, bytes: Vec::with_capacity(width * room) }
    }

    /// This one word.
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

    /// The word at a place, as text.
    pub(crate) fn text(&self, at: usize) -> Option<&str> {
        std::str::from_utf8(self.get(at)?).ok()
    }

    fn get(&self, at: usize) -> Option<&[u8]> {
        let start = at * self.width;
        self.bytes.get(start..start + self.width)
    }

    /// `count` of them, each drawn at random from all.
    pub(crate) fn drawn(&self, count: usize) -> Self {
        let (mut rng, mut drawn) = (Rng::seeded(1), Self::new(self.width, count));
        for _ in 0..count {
            drawn.bytes.extend_from_slice(self.get(rng.below(self.len())).unwrap_or_default());
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

    /// Whoever bears these names has another password.
    pub(crate) fn login(employees: WordList) -> Self {
        let open = "{\"password\":\"not the password\",\"employee_id\":\"";
        Self::post_text("/api/agents/login", open, employees, b"\"code\":1011")
    }

    pub(crate) fn me(tokens: WordList) -> Self {
        let before = head("GET", "/api/auth/me") + "Authorization: Bearer ";
        Self { before: before.into(), after: b"\r\n\r\n".into(), words: tokens, expect: b"\"code\":0" }
    }

    pub(crate) fn logout(tokens: WordList) -> Self {
        let before = head("POST", "/api/auth/logout") + "Authorization: Bearer ";
        let after = b"\r\nContent-Length: 0\r\n\r\n".into();
        Self { before: before.into(), after, words: tokens, expect: b"\"success\":true" }
    }

    pub(crate) fn status(tickets: WordList) -> Self {
        let (before, after) = (b"GET /api/auth/scan/status?ticket=".into(), (fields() + "\r\n").into());
        Self { before, after, words: tickets, expect: b"\"status\":\"waiting\"" }
    }

    /// All alike: the one word is the empty line that ends it.
    pub(crate) fn qrcode() -> Self {
        let before = head("GET", QRCODE).into();
        Self { before, after: Vec::new(), words: WordList::one("\r\n"), expect: b"\"qrcode_png_base64\":\"iVBORw0KGgo" }
    }

    pub(crate) fn confirm(secrets: WordList) -> Self {
        Self::post("/api/auth/scan/confirm", "confirm", secrets, b"\"success\":true")
    }

    fn post(path: &str, field: &str, words: WordList, expect: &'static [u8]) -> Self {
        Self::post_text(path, &format!("{{\"{field}\":\""), words, expect)
    }

    /// A body that begins like this and ends with a word.
    fn post_text(path: &str, open: &str, words: WordList, expect: &'static [u8]) -> Self {
        let close = "\"}";
        let length = open.len() + words.width + close.len();
        let kind = format!("Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n");
        Self { before: (head("POST", path) + &kind + open).into(), after: close.into(), words, expect }
    }

    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    /// Writes a request over whatever `into` held; `false` when there are not so many.
    pub(crate) fn write(&self, at: usize, into: &mut Vec<u8>) -> bool {
        let Some(word) = self.words.get(at) else { return false };
        into.clear();
        for piece in [&self.before, word, &self.after] {
            into.extend_from_slice(piece);
        }
        true
    }

    /// Whether this is how such a request should be answered.
    pub(crate) fn accepts(&self, answer: HttpResponse<'_>) -> bool {
        answer.is_ok() && answer.has(self.expect)
    }
}

/// A request for a socket, with a token.
pub(crate) fn handshake(token: &str) -> Vec<u8> {
    let head = head("GET", "/api/ws/employee");
    let switch = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n";
    // Anything will do for a key: nobody here looks at what the service makes of it.
    format!("{head}{switch}Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: Bearer {token}\r\n\r\n").into()
}

/// A request of a service that has somebody told something.
pub(crate) fn message(key: &str, body: &str) -> Vec<u8> {
    let (head, length) = (head("POST", "/api/messages"), body.len());
    let kind = format!("Content-Type: application/json\r\nContent-Length: {length}\r\n");
    format!("{head}{kind}Authorization: Bearer {key}\r\n\r\n{body}").into()
}

/// A request without body for something that is not measured.
pub(crate) fn get(path: &str) -> Vec<u8> {
    (head("GET", path) + "\r\n").into()
}

fn head(method: &str, path: &str) -> String {
    format!("{method} {path}") + &fields()
}

/// What follows a path: the rest of its line, and the fields that every request has.
fn fields() -> String {
    format!(" HTTP/1.1\r\nHost: localhost\r\nUser-Agent: {AGENT}\r\nAccept: */*\r\n")
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
        assert!(Requests::status(words()).write(1, &mut bytes));
        assert!(
            bytes.starts_with(b"GET /api/auth/scan/status?ticket=def HTTP/1.1\r\n") && bytes.ends_with(b"\r\n\r\n")
        );
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
