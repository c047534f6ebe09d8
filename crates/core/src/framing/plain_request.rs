//! A request of the plainest form, which needs no HTTP library.

use super::head::decimal;
use super::split_line;

/// The fields of a request that programs send again and again, and its body.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlainRequest<'a> {
    /// `Host`.
    pub host: Option<&'a [u8]>,
    /// `Authorization`.
    pub authorization: Option<&'a [u8]>,
    /// `Content-Type`.
    pub content_type: Option<&'a [u8]>,
    /// `X-Request-Id`.
    pub request_id: Option<&'a [u8]>,
    /// `traceparent`.
    pub trace_parent: Option<&'a [u8]>,
    /// `X-Forwarded-For`.
    pub forwarded_for: Option<&'a [u8]>,
    /// Whether it has an `Origin`.
    pub has_origin: bool,
    /// Whether a page of another site sent it.
    pub is_cross_site: bool,
    /// The body.
    pub body: &'a [u8],
    content_length: Option<&'a [u8]>,
}

impl<'a> PlainRequest<'a> {
    /// Reads one whole request that begins with its request line and that [`super::Framing`] has passed on, so its fields are only
    /// split here. `None` if one of them needs more than the plainest treatment: a repeated one, or one that concerns the connection.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        let (_, mut rest) = split_line(bytes).filter(|(request_line, _)| !request_line.is_empty())?;
        let mut request = Self::default();
        loop {
            let (line, after) = split_line(rest)?;
            rest = after;
            if line.is_empty() {
                break;
            }
            request.add_field(line)?;
        }
        // The framing has ensured it; nothing but one whole request may ever be answered.
        let length = request.content_length.map_or(Some(0), decimal)?;
        (u64::try_from(rest.len()) == Ok(length)).then_some(Self { body: rest, ..request })
    }

    fn add_field(&mut self, line: &'a [u8]) -> Option<()> {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let (name, value) = (line.get(..colon)?, line.get(colon + 1..)?.trim_ascii());
        let is = |known: &[u8]| name.eq_ignore_ascii_case(known);
        match name.len() {
            4 if is(b"host") => set_once(&mut self.host, value),
            6 if is(b"origin") => {
                self.has_origin = true;
                Some(())
            }
            6 if is(b"expect") => None,
            7 if is(b"upgrade") => None,
            10 if is(b"connection") => value.eq_ignore_ascii_case(b"keep-alive").then_some(()),
            11 if is(b"traceparent") => set_once(&mut self.trace_parent, value),
            12 if is(b"content-type") => set_once(&mut self.content_type, value),
            12 if is(b"x-request-id") => set_once(&mut self.request_id, value),
            13 if is(b"authorization") => set_once(&mut self.authorization, value),
            14 if is(b"sec-fetch-site") => {
                self.is_cross_site |= value == b"cross-site";
                Some(())
            }
            14 if is(b"content-length") => set_once(&mut self.content_length, value),
            15 if is(b"x-forwarded-for") => set_once(&mut self.forwarded_for, value),
            17 if is(b"transfer-encoding") => None,
            _ => Some(()),
        }
    }
}

fn set_once<'a>(slot: &mut Option<&'a [u8]>, value: &'a [u8]) -> Option<()> {
    slot.replace(value).is_none().then_some(())
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::framing::Framing;

    const NAMES: [&str; 13] = [
        "Authorization",
        "content-type",
        "X-Request-ID",
        "traceparent",
        "x-forwarded-for",
        "origin",
        "sec-fetch-site",
        "x",
        "Connection",
        "expect",
        "content-length",
        "upgrade",
        "transfer-encoding",
    ];

    fn request(fields: &[(&str, String)], body: &[u8]) -> Vec<u8> {
        let fields: Vec<_> = fields.iter().map(|(name, value)| format!("{name}:{value}\r\n")).collect();
        let fields = fields.concat();
        let head = format!("GET / HTTP/1.1\r\nHost: desk\r\n{fields}Content-Length: {}\r\n\r\n", body.len());
        [head.as_bytes(), body].concat()
    }

    proptest! {
        /// Beside the library, which reads every request otherwise.
        #[test]
        fn a_plain_request_reads_as_the_library_does(
            fields in vec((select(NAMES.to_vec()), "[ \\t]?[!-~ \\t]{0,8}"), 0..5),
            body in vec(any::<u8>(), 0..4),
        ) {
            let (bytes, mut framing) = (request(&fields, &body), Framing::default());
            let is_whole = framing.pass(&bytes) == (bytes.len(), Ok(())) && framing.is_between_requests();
            let Some(read) = PlainRequest::read(&bytes).filter(|_| is_whole) else { return Ok(()) };
            let mut headers = [httparse::EMPTY_HEADER; 8];
            let mut library = httparse::Request::new(&mut headers);
            prop_assert_eq!(library.parse(&bytes), Ok(httparse::Status::Complete(bytes.len() - body.len())));
            let header = |name: &str| {
                library.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name)).map(|header| header.value)
            };
            prop_assert_eq!(read.host, header("host"));
            prop_assert_eq!(read.authorization, header("authorization"));
            prop_assert_eq!(read.content_type, header("content-type"));
            prop_assert_eq!(read.request_id, header("x-request-id"));
            prop_assert_eq!(read.trace_parent, header("traceparent"));
            prop_assert_eq!(read.forwarded_for, header("x-forwarded-for"));
            prop_assert_eq!(read.has_origin, header("origin").is_some());
            prop_assert_eq!(read.body, &*body);
        }
    }

    #[test]
    fn only_plain_requests_are_read() {
        let with = |name, value: &str| request(&[(name, value.to_owned())], b"{}");
        for (site, is_cross_site) in [("cross-site", true), ("same-site", false), ("none", false)] {
            let sent = with("Sec-Fetch-Site", site);
            assert_eq!(PlainRequest::read(&sent).map(|read| read.is_cross_site), Some(is_cross_site), "{site}");
        }
        let is_read = |bytes: &[u8]| PlainRequest::read(bytes).is_some();
        for (name, value) in
            [("x", "y"), ("connection", " Keep-Alive"), ("origin", "https://desk"), ("x-request-id", "1")]
        {
            assert!(is_read(&with(name, value)), "{name}");
        }
        for (name, value) in [
            ("connection", "close"),
            ("Expect", "100-continue"),
            ("upgrade", "h2c"),
            ("transfer-encoding", "chunked"),
            ("content-length", "2"),
            ("HOST", "desk"),
        ] {
            assert!(!is_read(&with(name, value)), "{name}");
        }
        let (whole, twice) =
            (request(&[], b"{}"), [("authorization", String::new()), ("Authorization", String::new())]);
        assert!(!is_read(&request(&twice, b"")));
        // Less or more than one request, and an empty line before it.
        assert!(is_read(&whole));
        assert!(!is_read(whole.get(..whole.len() - 1).unwrap_or_default()));
        assert!(!is_read(&[&*whole, b"G"].concat()));
        assert!(!is_read(&[&b"\r\n"[..], &whole].concat()));
    }
}
