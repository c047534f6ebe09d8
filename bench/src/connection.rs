//! A keep-alive connection with a minimal HTTP response parser. A complete client would take more of the processors than the
//! service that it measures.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::error::BenchError;

/// A connection with a reusable buffer for one response.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    answer: Vec<u8>,
}

/// A raw response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HttpResponse<'a> {
    bytes: &'a [u8],
    /// The offset of the body.
    body: usize,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Result<Self, BenchError> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, answer: Vec::with_capacity(4096) })
    }

    /// Sends a request and reads the complete response.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> Result<HttpResponse<'_>, BenchError> {
        self.send(request).await?;
        loop {
            if self.stream.read_buf(&mut self.answer).await? == 0 {
                return Err("the server closed the connection before it answered".into());
            }
            if let Some(body) = body_of_complete(&self.answer)? {
                return Ok(HttpResponse { bytes: &self.answer, body });
            }
        }
    }

    /// Sends a request whose response is streamed.
    pub(crate) async fn send(&mut self, request: &[u8]) -> Result<(), BenchError> {
        self.answer.clear();
        Ok(self.stream.write_all(request).await?)
    }

    /// Reads until these bytes have arrived.
    pub(crate) async fn read_until(&mut self, words: &[u8]) -> Result<(), BenchError> {
        while find(&self.answer, words).is_none() {
            if self.stream.read_buf(&mut self.answer).await? == 0 {
                return Err("the server closed the connection before it told".into());
            }
        }
        Ok(())
    }
}

impl<'a> HttpResponse<'a> {
    /// Whether the status is 200.
    pub(crate) fn is_ok(self) -> bool {
        self.bytes.starts_with(b"HTTP/1.1 200 ")
    }

    pub(crate) fn body(self) -> &'a [u8] {
        self.bytes.get(self.body..).unwrap_or_default()
    }

    /// The size of the response in bytes.
    pub(crate) fn len(self) -> usize {
        self.bytes.len()
    }

    /// Whether the body contains these bytes.
    pub(crate) fn has(self, words: &[u8]) -> bool {
        find(self.body(), words).is_some()
    }

    /// The headers as pairs of name and value.
    pub(crate) fn headers(self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let head = self.bytes.get(..self.body).and_then(|head| std::str::from_utf8(head).ok()).unwrap_or_default();
        head.lines().skip(1).filter_map(|line| line.split_once(": "))
    }

    /// The value of a header.
    pub(crate) fn header(self, name: &str) -> Option<&'a str> {
        self.headers().find_map(|(given, value)| (given == name).then_some(value))
    }

    /// The whole response as text, for an error message.
    pub(crate) fn text(self) -> String {
        String::from_utf8_lossy(self.bytes).into_owned()
    }
}

/// The offset of the body, once the response is complete.
fn body_of_complete(bytes: &[u8]) -> Result<Option<usize>, BenchError> {
    const END: &[u8] = b"\r\n\r\n";
    let Some(end) = find(bytes, END) else { return Ok(None) };
    let body = end + END.len();
    let length = bytes.get(..body).and_then(content_length);
    let length = length.ok_or_else(|| format!("no Content-Length in {:?}", String::from_utf8_lossy(bytes)))?;
    match bytes.len().cmp(&(body + length)) {
        std::cmp::Ordering::Less => Ok(None),
        std::cmp::Ordering::Equal => Ok(Some(body)),
        std::cmp::Ordering::Greater => Err("more came than one answer".into()),
    }
}

fn content_length(head: &[u8]) -> Option<usize> {
    // Both servers use hyper, which writes names in lower case.
    const NAME: &[u8] = b"\r\ncontent-length: ";
    let value = head.get(find(head, NAME)? + NAME.len()..)?;
    let digits = value.iter().take_while(|byte| byte.is_ascii_digit());
    digits.map(|digit| usize::from(digit - b'0')).reduce(|number, digit| number * 10 + digit)
}

/// The offset of these bytes.
pub(crate) fn find(bytes: &[u8], words: &[u8]) -> Option<usize> {
    bytes.windows(words.len()).position(|window| window == words)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_complete_with_its_last_byte_and_not_before() {
        let whole = b"HTTP/1.1 200 OK\r\ncontent-length: 12\r\nx-a: b\r\n\r\n{\"valid\":\r\n}";
        let body = whole.len() - 12;
        for cut in 0..whole.len() {
            assert_eq!(body_of_complete(whole.get(..cut).unwrap()).unwrap(), None, "{cut}");
        }
        assert_eq!(body_of_complete(whole).unwrap(), Some(body));
        let answer = HttpResponse { bytes: whole, body };
        assert!(answer.is_ok() && answer.has(b"\"valid\"") && !answer.has(b"x-a"));
        assert_eq!(answer.headers().collect::<Vec<_>>(), [("content-length", "12"), ("x-a", "b")]);
        assert_eq!((answer.header("x-a"), answer.header("x-b")), (Some("b"), None));
    }

    #[test]
    fn what_cannot_be_measured_is_an_error() {
        assert!(body_of_complete(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
        assert!(body_of_complete(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\nmore").is_err());
    }
}
