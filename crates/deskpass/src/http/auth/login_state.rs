//! The `state` that travels to the platform and back.
//!
//! Where the platform allows any address of a domain, it is a fixed text, and the scan id of a phone is in the address. Where the
//! platform compares whole addresses, the state has parts: `auth_login~p` says that the link had a PKCE challenge,
//! `auth_login~s~SID` names the scan id of a phone, `auth_login~ps~SID` does both.

use std::fmt;

use deskpass_core::{ScanId, Secret};

use crate::http::response::OAUTH_STATE;

/// Separates the parts. No scan id contains it.
const SEPARATOR: char = '~';

/// The `state` of a sign-in. It is no proof: a cookie binds a callback to its browser.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LoginState {
    /// Whether the link had a PKCE challenge.
    pub(super) has_challenge: bool,
    /// The scan id, if a phone scanned a QR code.
    pub(super) scan_id: Option<String>,
}

impl LoginState {
    /// The state of a phone's link, or of any other.
    pub(super) fn new(has_challenge: bool, scan_id: Option<&Secret<ScanId>>) -> Self {
        Self { has_challenge, scan_id: scan_id.map(|scan_id| scan_id.expose().to_owned()) }
    }

    /// Reads a state as the platform returned it; `None` if the service did not write it.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(SEPARATOR);
        let (name, flags, scan_id, rest) = (parts.next()?, parts.next(), parts.next(), parts.next());
        if name != OAUTH_STATE || rest.is_some() {
            return None;
        }
        let has_challenge = match (flags, scan_id) {
            (None, None) | (Some("s"), Some(_)) => false,
            (Some("p"), None) | (Some("ps"), Some(_)) => true,
            _ => return None,
        };
        Some(Self { has_challenge, scan_id: scan_id.map(str::to_owned) })
    }
}

impl fmt::Display for LoginState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(OAUTH_STATE)?;
        match (self.has_challenge, &self.scan_id) {
            (false, None) => Ok(()),
            (true, None) => write!(f, "{SEPARATOR}p"),
            (false, Some(scan_id)) => write!(f, "{SEPARATOR}s{SEPARATOR}{scan_id}"),
            (true, Some(scan_id)) => write!(f, "{SEPARATOR}ps{SEPARATOR}{scan_id}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_what_is_read() {
        let scan_id = Some("dps_a-b_c".to_owned());
        for (has_challenge, scan_id, text) in [
            (false, None, "auth_login"),
            (true, None, "auth_login~p"),
            (false, scan_id.clone(), "auth_login~s~dps_a-b_c"),
            (true, scan_id, "auth_login~ps~dps_a-b_c"),
        ] {
            let state = LoginState { has_challenge, scan_id };
            assert_eq!(state.to_string(), text);
            assert_eq!(LoginState::parse(text), Some(state));
        }
    }

    #[test]
    fn no_other_text_is_a_state() {
        for text in [
            "",
            "auth",
            "Auth_login",
            "auth_login ",
            "auth_login~",
            "auth_login~x",
            "auth_login~s",
            "auth_login~ps",
            "auth_login~sp~dps_a",
            "auth_login~p~dps_a",
            "auth_login~~dps_a",
            "auth_login~s~dps_a~",
            "auth_login~s~dps_a~dps_b",
            "x~auth_login",
        ] {
            assert_eq!(LoginState::parse(text), None, "{text}");
        }
    }
}
