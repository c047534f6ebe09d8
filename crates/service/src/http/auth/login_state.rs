//! The `state` that travels to the platform and back.
//!
//! Where the platform allows any address of a domain, it is a fixed text, and the scan id of a phone is in the address. Where the
//! platform compares whole addresses, the state has parts. Letters say which: `p` that the link had a PKCE challenge, `b` that the
//! binding to the browser follows, `s` that the scan id of a phone follows, `t` that the seal follows, such as
//! `auth_login~pbst~BINDING~SID~SEAL`. Nodes of version 0.2.0 read no seal: as long as there are some, none is written.

use std::fmt;

use deskpass_core::{Digest, Flow, ScanId, Secret};

use super::{state_binding, state_seal};
use crate::App;
use crate::http::response::OAUTH_STATE;

/// Separates the parts. Neither a scan id nor a binding contains it.
const SEPARATOR: char = '~';

/// The `state` of a sign-in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LoginState {
    /// Whether the link had a PKCE challenge.
    pub(super) has_challenge: bool,
    /// What binds the state to the flow cookie of the browser that was sent to the platform.
    pub(super) binding: Option<String>,
    /// The scan id, if a phone scanned a QR code.
    pub(super) scan_id: Option<String>,
    /// That this service wrote the rest, and when.
    seal: Option<String>,
}

impl LoginState {
    /// The state for a browser with this flow cookie, and of a phone that scanned a QR code, or of any other.
    pub(super) fn new(has_challenge: bool, flow: Option<&Secret<Flow>>, scan_id: Option<&Secret<ScanId>>) -> Self {
        Self {
            has_challenge,
            binding: flow.map(state_binding::of),
            scan_id: scan_id.map(|scan_id| scan_id.expose().to_owned()),
            seal: None,
        }
    }

    /// The state with a seal, unless older nodes might have to read it.
    pub(super) fn sealed(self, app: &App) -> Self {
        if app.auth.shared.hears_older_nodes() {
            return self;
        }
        let seal = state_seal::of(&app.settings.sealing_keys(), &self.to_string(), app.auth.clock.now());
        Self { seal: Some(seal), ..self }
    }

    /// The digest of the state, if this service wrote it within the last minutes.
    pub(super) fn sealed_digest(&self, app: &App) -> Option<Digest> {
        self.is_sealed(app).then(|| Digest::of(&[b"state", self.to_string().as_bytes()]))
    }

    fn is_sealed(&self, app: &App) -> bool {
        let text = Self { seal: None, ..self.clone() }.to_string();
        let fits = |seal: &String| state_seal::fits(&app.settings.sealing_keys(), seal, &text, app.auth.clock.now());
        self.seal.as_ref().is_some_and(fits)
    }

    /// Reads a state as the platform returned it; `None` if the service did not write it.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(SEPARATOR);
        if parts.next()? != OAUTH_STATE {
            return None;
        }
        let letters = parts.next().unwrap_or_default();
        let mut read = Self { has_challenge: letters.contains('p'), ..Self::default() };
        if letters.contains('b') {
            read.binding = Some(parts.next()?.to_owned());
        }
        if letters.contains('s') {
            read.scan_id = Some(parts.next()?.to_owned());
        }
        if letters.contains('t') {
            read.seal = Some(parts.next()?.to_owned());
        }
        // There is one way to write each state.
        (read.to_string() == text).then_some(read)
    }
}

impl fmt::Display for LoginState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(OAUTH_STATE)?;
        let Self { has_challenge, binding, scan_id, seal } = self;
        let letters =
            [(*has_challenge, "p"), (binding.is_some(), "b"), (scan_id.is_some(), "s"), (seal.is_some(), "t")];
        let letters: String =
            letters.into_iter().filter(|(is_present, _)| *is_present).map(|(_, letter)| letter).collect();
        let letters = Some(&letters).filter(|letters| !letters.is_empty());
        for part in [letters, binding.as_ref(), scan_id.as_ref(), seal.as_ref()].into_iter().flatten() {
            write!(f, "{SEPARATOR}{part}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_what_is_read() {
        for (has_challenge, binding, scan_id, text) in [
            (false, None, None, "auth_login"),
            (true, None, None, "auth_login~p"),
            (false, Some("x-_y"), None, "auth_login~b~x-_y"),
            (true, Some("x-_y"), None, "auth_login~pb~x-_y"),
            (false, None, Some("dps_a-b_c"), "auth_login~s~dps_a-b_c"),
            (true, None, Some("dps_a-b_c"), "auth_login~ps~dps_a-b_c"),
            (false, Some("x-_y"), Some("dps_a-b_c"), "auth_login~bs~x-_y~dps_a-b_c"),
            (true, Some("x-_y"), Some("dps_a-b_c"), "auth_login~pbs~x-_y~dps_a-b_c"),
        ] {
            let (binding, scan_id) = (binding.map(str::to_owned), scan_id.map(str::to_owned));
            let state = LoginState { has_challenge, binding, scan_id, seal: None };
            assert_eq!(state.to_string(), text);
            assert_eq!(LoginState::parse(text), Some(state.clone()));
            let sealed = LoginState { seal: Some("x_-y".to_owned()), ..state };
            assert_eq!(LoginState::parse(&sealed.to_string()), Some(sealed));
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
            "auth_login~b",
            "auth_login~bs~x",
            "auth_login~t",
            "auth_login~ts~x~dps_a",
            "auth_login~bt~x",
            "auth_login~bb~x",
            "auth_login~bp~x",
            "auth_login~sb~x~dps_a",
            "auth_login~sp~dps_a",
            "auth_login~p~dps_a",
            "auth_login~~dps_a",
            "auth_login~s~dps_a~",
            "auth_login~s~dps_a~dps_b",
            "auth_login~bs~x~dps_a~dps_b",
            "x~auth_login",
        ] {
            assert_eq!(LoginState::parse(text), None, "{text}");
        }
    }
}
