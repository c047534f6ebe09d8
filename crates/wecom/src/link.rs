//! The two links that start a sign-in.

use url::Url;

use crate::Wecom;

/// The language of the platform's desktop page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lang {
    /// Chinese.
    Zh,
    /// English.
    En,
}

impl Lang {
    const fn name(self) -> &'static str {
        match self {
            Self::Zh => "zh",
            Self::En => "en",
        }
    }
}

impl Wecom {
    /// The link that signs in inside the platform's own browser, with the parameters in the documented order.
    #[must_use]
    pub fn in_client_link(&self, redirect_uri: &str, state: &str) -> String {
        let fixed = [
            ("appid", self.0.corp_id.as_str()),
            ("redirect_uri", redirect_uri),
            ("response_type", "code"),
            ("scope", "snsapi_base"),
            ("state", state),
        ];
        let agent = self.0.agent_id.as_deref().map(|id| ("agentid", id));
        let mut link = with_query(&self.0.hosts.authorize, fixed.into_iter().chain(agent));
        // The platform's browser identifies the user only if this fragment is present.
        link.set_fragment(Some("wechat_redirect"));
        link.into()
    }

    /// The link that signs in a desktop browser; `None` without an agent id, which the platform requires there.
    #[must_use]
    pub fn web_link(&self, redirect_uri: &str, state: &str, lang: Lang) -> Option<String> {
        let parameters = [
            ("login_type", "CorpApp"),
            ("appid", self.0.corp_id.as_str()),
            ("agentid", self.0.agent_id.as_deref()?),
            ("redirect_uri", redirect_uri),
            ("state", state),
            ("lang", lang.name()),
        ];
        Some(with_query(&self.0.hosts.web_login, parameters).into())
    }
}

fn with_query<'a>(page: &Url, parameters: impl IntoIterator<Item = (&'static str, &'a str)>) -> Url {
    let mut link = page.clone();
    link.query_pairs_mut().extend_pairs(parameters);
    link
}
