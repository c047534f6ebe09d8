//! Sign-in: the platform identifies the user of a browser.

use serde::{Deserialize, Serialize};

use crate::{Answer, Identity};

/// Where a sign-in begins. A platform may issue codes of different kinds, which must not be mixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryPoint {
    /// A page of the platform, in the browser of the platform's own client.
    Client,
    /// A page of the platform, in any other browser.
    Browser,
    /// A script of the platform on a page of this service, in the browser of the platform's own client.
    Script,
}

/// The language of a page of the platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkLanguage {
    /// Chinese.
    Zh,
    /// English.
    En,
}

/// What a link to the platform's page must say.
#[derive(Clone, Copy, Debug)]
pub struct LinkRequest<'a> {
    /// Where the sign-in begins; [`EntryPoint::Script`] has no link.
    pub entry: EntryPoint,
    /// The address to which the platform sends the browser back.
    pub redirect_uri: &'a str,
    /// The text that the platform returns unchanged.
    pub state: &'a str,
    /// The PKCE challenge (S256), where [`SignIn::supports_pkce`].
    pub challenge: Option<&'a str>,
    /// The language of the page, where it can be chosen.
    pub language: LinkLanguage,
}

/// Which addresses an administrator registers at the platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedirectRule {
    /// A domain: every address of it is allowed.
    Domain,
    /// Whole addresses, compared character by character.
    Exact,
}

/// What a browser brought back from the platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallbackReturn {
    /// A code, and the state as it was returned.
    Code {
        /// The code.
        code: String,
        /// The state, if there is one.
        state: Option<String>,
    },
    /// The user declined, or the platform returned no code.
    Declined,
    /// Contradictory or repeated parameters: no code in it can be trusted.
    Invalid,
}

/// A code to be exchanged for an identity.
#[derive(Clone, Copy)]
pub struct CodeRedemption<'a> {
    /// The code.
    pub code: &'a str,
    /// Where the sign-in began.
    pub entry: EntryPoint,
    /// The address to which the platform sent the browser back.
    pub redirect_uri: &'a str,
    /// The PKCE verifier, if the link had a challenge.
    pub verifier: Option<&'a str>,
}

/// What a page needs to obtain a code by the platform's script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryScript {
    /// The address of the platform's script.
    pub script_url: String,
    /// An ES module of the client crate. It exports `async function requestCode(parameters)`, which resolves to a code.
    pub module: &'static str,
    /// What the module needs to know: public identifiers, no secrets.
    pub parameters: serde_json::Value,
}

/// Identifies users.
pub trait SignIn: Send + Sync {
    /// Which addresses are registered at the platform.
    fn redirect_rule(&self) -> RedirectRule;

    /// Whether the platform supports PKCE.
    fn supports_pkce(&self) -> bool {
        false
    }

    /// The parts of a `User-Agent` by which the browser of the platform's own client is recognized.
    fn client_marks(&self) -> &'static [&'static str];

    /// Where a browser with this `User-Agent` begins best.
    fn entry_point(&self, user_agent: &str) -> EntryPoint {
        let is_own = self.client_marks().iter().any(|mark| user_agent.contains(mark));
        match (is_own, self.script()) {
            (false, _) => EntryPoint::Browser,
            (true, None) => EntryPoint::Client,
            (true, Some(_)) => EntryPoint::Script,
        }
    }

    /// The link to the platform's page; `None` if the settings do not allow this entry point.
    fn link(&self, request: &LinkRequest<'_>) -> Option<String>;

    /// The script for [`EntryPoint::Script`], if the platform has one.
    fn script(&self) -> Option<EntryScript> {
        None
    }

    /// The parameters in which the platform sends a code.
    fn code_parameters(&self) -> &'static [&'static str] {
        &["code"]
    }

    /// Reads the query with which the platform sent a browser back.
    fn read_return(&self, query: &str) -> CallbackReturn;

    /// Exchanges a code for an identity, which uses the code up. A malformed code is not sent.
    fn redeem<'a>(&'a self, redemption: CodeRedemption<'a>) -> Answer<'a, Identity>;
}
