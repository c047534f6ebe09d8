//! One kind of call: its requests, and what its responses say about themselves.

use fastrand::Rng;
use serde_json::Value;
use url::form_urlencoded::byte_serialize;

use crate::requests::{get, get_as, post_json};

/// The number of items of a page, unless a request says otherwise.
const PAGE_SIZE: usize = 50;

/// The user who calls.
#[derive(Clone, Copy, Debug)]
pub(super) enum Caller {
    Admin,
    Supervisor,
    User,
    /// No user, but a program on the same machine.
    Operator,
}

/// One kind of call.
pub(super) struct Call {
    pub(super) name: &'static str,
    pub(super) caller: Caller,
    requests: RequestSource,
}

/// Where requests come from.
enum RequestSource {
    /// The same path each time.
    Same(String),
    /// Another path each time.
    Drawn(Box<dyn Fn(&mut Rng) -> String>),
    /// The pages of a list, one after the other.
    Pages(String),
    /// The same body each time.
    Post(&'static str, String),
}

impl Call {
    fn new(name: &'static str, requests: RequestSource) -> Self {
        Self { name, caller: Caller::Admin, requests }
    }

    /// A call with the same path each time.
    pub(super) fn same(name: &'static str, path: impl Into<String>) -> Self {
        Self::new(name, RequestSource::Same(path.into()))
    }

    /// A call with another path each time.
    pub(super) fn drawn(name: &'static str, path: impl Fn(&mut Rng) -> String + 'static) -> Self {
        Self::new(name, RequestSource::Drawn(Box::new(path)))
    }

    /// A call for the next page each time. The path has a query.
    pub(super) fn pages(name: &'static str, path: impl Into<String>) -> Self {
        Self::new(name, RequestSource::Pages(path.into()))
    }

    /// A call with the same body each time.
    pub(super) fn post(name: &'static str, path: &'static str, body: String) -> Self {
        Self::new(name, RequestSource::Post(path, body))
    }

    /// The same call by another user than the administrator.
    pub(super) fn by(self, caller: Caller) -> Self {
        Self { caller, ..self }
    }

    /// The next request; `after` is the cursor of the last page.
    pub(super) fn request(&self, rng: &mut Rng, after: Option<&str>, token: Option<&str>) -> Vec<u8> {
        let path = match &self.requests {
            RequestSource::Same(path) => path.clone(),
            RequestSource::Drawn(path) => path(rng),
            RequestSource::Pages(path) => after.map_or_else(
                || path.clone(),
                |after| format!("{path}&after={}", byte_serialize(after.as_bytes()).collect::<String>()),
            ),
            RequestSource::Post(path, body) => return post_json(path, token.unwrap_or_default(), body),
        };
        token.map_or_else(|| get(&path), |token| get_as(&path, token))
    }
}

/// What a response says about itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    /// The number of items.
    pub(super) items: usize,
    /// The cursor of the next page.
    pub(super) next: Option<String>,
    /// Whether the search for items ended before the page was full.
    pub(super) is_page_cut: bool,
    /// Whether a count ended before everything was counted.
    pub(super) is_count_cut: bool,
}

impl Answer {
    pub(super) fn read(body: &[u8]) -> Self {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let list = |pointer| body.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let items = list("/data/items").len();
        let next = body.pointer("/data/next").and_then(Value::as_str).map(str::to_owned);
        let is_false = |value: Option<&Value>| value.and_then(Value::as_bool) == Some(false);
        let is_count_cut = is_false(body.pointer("/data/total_exact"))
            || list("/data/roles").iter().any(|role| is_false(role.get("sessions_exact")));
        Self { items, is_page_cut: next.is_some() && items < PAGE_SIZE, next, is_count_cut }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_says_what_was_cut_off() {
        let whole = Answer::read(br#"{"data":{"items":[1,2],"total":2,"total_exact":true,"next":null}}"#);
        assert_eq!(whole, Answer { items: 2, ..Answer::default() });
        let cut = Answer::read(br#"{"data":{"items":[1],"total":9,"total_exact":false,"next":"c"}}"#);
        assert!(cut.is_page_cut && cut.is_count_cut && cut.next.as_deref() == Some("c"));
        assert!(Answer::read(br#"{"data":{"roles":[{"sessions_exact":true},{"sessions_exact":false}]}}"#).is_count_cut);
        assert_eq!(Answer::read(b"# HELP metrics"), Answer::default());
    }

    #[test]
    fn the_next_page_is_asked_for_by_its_cursor() {
        let (call, mut rng) = (Call::pages("list", "/list?sort=name"), Rng::with_seed(1));
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let (first, next) = (call.request(&mut rng, None, Some("t")), call.request(&mut rng, Some("a+b"), Some("t")));
        assert!(text(first).starts_with("GET /list?sort=name HTTP/1.1\r\n"));
        assert!(text(next).starts_with("GET /list?sort=name&after=a%2Bb HTTP/1.1\r\n"));
    }
}
