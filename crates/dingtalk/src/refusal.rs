//! Reads refusals: the older API hides them in a success, the newer one has words, and a blocked address gets other JSON.

use std::net::{IpAddr, Ipv4Addr};

use deskpass_platform::client::{ApiResponse, PlatformRefusal, sanitize};
use deskpass_platform::{ErrorCode, InvalidResponse};

use crate::errcode::{AUTHENTICATION, BLOCKED, NO_PERMISSION, is_listed};

/// Precedes the missing permissions in the hint of a refusal.
pub(crate) const REQUIRED: &str = "required permissions: ";
/// The maximum length of a request id and of a list of permissions, in characters.
const MAX_REQUEST_ID_CHARS: usize = 64;
const MAX_SCOPES_CHARS: usize = 160;

/// The refusal in a JSON object with the status of a success.
pub(crate) fn in_success(response: &ApiResponse) -> Result<Option<PlatformRefusal>, InvalidResponse> {
    if response.number("status") == Some(BLOCKED) && response.text("punish").is_some() {
        return Ok(Some(blocked()));
    }
    Ok(match response.code("errcode")? {
        0 => None,
        errcode => Some(older(errcode, response)),
    })
}

/// The refusal in a response with another status, or without a JSON object.
pub(crate) fn in_failure(status: u16, body: &[u8]) -> Option<PlatformRefusal> {
    // A page may also come from a proxy or a firewall, so it says nothing about this machine's address.
    let response = ApiResponse::read(body).ok()?;
    if let Some(refusal) = in_success(&response).ok()? {
        return Some(refusal);
    }
    let word = response.text("code").filter(|_| status >= 400)?;
    // An unknown word with such a status is a fault of the platform like any other.
    (status < 500 || is_listed(word)).then(|| newer(word, &response))
}

fn older(errcode: i64, response: &ApiResponse) -> PlatformRefusal {
    let code = if errcode == AUTHENTICATION { cause(response) } else { errcode.into() };
    let message = response.text("sub_msg").or_else(|| response.text("errmsg")).unwrap_or_default();
    let scopes = (code.as_word() == Some(NO_PERMISSION)).then(|| bracketed(message)).flatten();
    let from_ip = (code.number() == Some(60020)).then(|| seen_address(message)).flatten();
    let hint = hint(response.text("request_id"), scopes.as_deref());
    PlatformRefusal { hint, from_ip, ..PlatformRefusal::new(code, message) }
}

/// The cause of a failed authentication. Without one, the platform's own authentication timed out.
fn cause(response: &ApiResponse) -> ErrorCode {
    match (response.number("sub_code"), response.text("sub_code")) {
        (Some(60011), _) => ErrorCode::word(NO_PERMISSION),
        (Some(number), _) if number != 0 => number.into(),
        (None, Some(word)) => ErrorCode::word(word),
        _ => AUTHENTICATION.into(),
    }
}

fn newer(word: &str, response: &ApiResponse) -> PlatformRefusal {
    let message = response.text("message").unwrap_or_default();
    let scopes = response.object("accessdenieddetail").and_then(|detail| {
        detail.texts("requiredScopes").filter(|scopes| !scopes.is_empty()).map(|scopes| scopes.join(", "))
    });
    let from_ip = word.ends_with(".IpNotInWhiteList").then(|| seen_address(message)).flatten();
    let hint = hint(response.text("requestid"), scopes.as_deref());
    PlatformRefusal { hint, from_ip, ..PlatformRefusal::new(ErrorCode::word(word), message) }
}

fn hint(request_id: Option<&str>, scopes: Option<&str>) -> Option<String> {
    let request_id = request_id.map(|id| sanitize(id, MAX_REQUEST_ID_CHARS));
    let scopes = scopes.map(|scopes| format!("{REQUIRED}{}", sanitize(scopes, MAX_SCOPES_CHARS)));
    match (request_id, scopes) {
        (Some(id), Some(scopes)) => Some(format!("{id}; {scopes}")),
        (id, scopes) => id.or(scopes),
    }
}

/// The name of a permission, which the older API writes in brackets.
fn bracketed(message: &str) -> Option<String> {
    let (_, rest) = message.split_once('[')?;
    let (inside, _) = rest.split_once(']')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ',' | ' ');
    (!inside.is_empty() && inside.chars().all(plain)).then(|| inside.to_owned())
}

/// The address in the text about an address that is not allowed; the platform lists no others than IPv4.
fn seen_address(message: &str) -> Option<IpAddr> {
    let mut parts = message.split(|c: char| !c.is_ascii_digit() && c != '.');
    // A dot may end the sentence.
    parts.find_map(|part| part.trim_end_matches('.').parse::<Ipv4Addr>().ok()).map(IpAddr::V4)
}

fn blocked() -> PlatformRefusal {
    PlatformRefusal::new(BLOCKED, "the platform blocks this machine's address")
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn success(body: &str) -> Option<PlatformRefusal> {
        in_success(&ApiResponse::read(body.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn the_cause_of_a_failed_authentication_is_the_error_code() {
        for (body, code) in [
            (r#"{"errcode":88,"sub_code":"40014"}"#, ErrorCode::Number(40014)),
            (r#"{"errcode":88,"sub_code":42001}"#, ErrorCode::Number(42001)),
            (r#"{"errcode":88,"sub_code":""}"#, ErrorCode::Number(88)),
            (r#"{"errcode":88}"#, ErrorCode::Number(88)),
            (r#"{"errcode":88,"sub_code":"0"}"#, ErrorCode::Number(88)),
            (r#"{"errcode":88,"sub_code":"isv.limit"}"#, ErrorCode::word("isv.limit")),
            (r#"{"errcode":88,"sub_code":"60011"}"#, ErrorCode::word(NO_PERMISSION)),
            (r#"{"errcode":60011}"#, ErrorCode::Number(60011)),
            (r#"{"errcode":"60121","sub_code":"1"}"#, ErrorCode::Number(60121)),
            (r#"{"status":1111,"wait":5,"punish":"deny"}"#, ErrorCode::Number(BLOCKED)),
        ] {
            assert_eq!(success(body).unwrap().code, code, "{body}");
        }
        assert_eq!(success(r#"{"errcode":0,"status":1111}"#), None);
        assert_eq!(success("{}"), None);
    }

    #[test]
    fn a_hint_names_missing_permissions() {
        let refusal =
            success(r#"{"errcode":88,"sub_code":"60011","sub_msg":"x：[qyapi_get_member]，y","request_id":"r"}"#);
        assert_eq!(refusal.unwrap().hint.unwrap(), "r; required permissions: qyapi_get_member");
        let body = br#"{"code":"Forbidden.X","requestid":"r","accessdenieddetail":{"requiredScopes":["A.B","C"]}}"#;
        assert_eq!(in_failure(403, body).unwrap().hint.unwrap(), "r; required permissions: A.B, C");
        for text in ["no,request ip=10.1.2.3", "no,request ip=10.1.2.3.", "1.2.3 is none, 10.1.2.3. is one"] {
            let refusal = success(&format!(r#"{{"errcode":60020,"errmsg":"{text}"}}"#)).unwrap();
            assert_eq!((refusal.from_ip, refusal.hint), ("10.1.2.3".parse().ok(), None), "{text}");
        }
    }

    #[test]
    fn a_page_is_no_refusal() {
        for (status, body) in [
            (200, "<html>"),
            (403, " \n<!DOCTYPE HTML><html>"),
            (429, "<html>"),
            (502, "<html>"),
            (200, ""),
            (500, r#"{"code":"something.new"}"#),
            (200, r#"{"code":"something.new"}"#),
        ] {
            assert_eq!(in_failure(status, body.as_bytes()), None, "{status} {body}");
        }
        let blocked = in_failure(403, br#"{"status":1111,"wait":5,"punish":"deny"}"#);
        assert_eq!(blocked.unwrap().code, ErrorCode::Number(BLOCKED));
        assert_eq!(in_failure(500, br#"{"code":"unknownError"}"#).unwrap().code, ErrorCode::word("unknownError"));
    }
}
