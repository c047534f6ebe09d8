//! Sign-in: the two links that start it, what a browser brings back, and whose code it is.

use deskpass_platform::client::is_visible_ascii;
use deskpass_platform::{
    Answer, CallbackReturn, CodeRedemption, EntryPoint, Error, Identity, LinkLanguage, LinkRequest, RedirectRule,
    SignIn,
};
use url::{Url, form_urlencoded};

use crate::api::USER_INFO;
use crate::client::Wecom;
use crate::identity;

/// The space that is allocated for a link, in bytes: more than most take.
const LINK_BYTES: usize = 512;

impl SignIn for Wecom {
    fn redirect_rule(&self) -> RedirectRule {
        RedirectRule::Domain
    }

    fn client_marks(&self) -> &'static [&'static str] {
        &["wxwork"]
    }

    fn link(&self, request: &LinkRequest<'_>) -> Option<String> {
        match request.entry {
            EntryPoint::Client => Some(self.in_client_link(request)),
            EntryPoint::Browser => self.web_link(request),
            EntryPoint::Script => None,
        }
    }

    /// A repeated parameter makes the code invalid: of two codes neither can be trusted.
    fn read_return(&self, query: &str) -> CallbackReturn {
        let (mut code, mut state, mut refused) = (None::<String>, None::<String>, false);
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let field = match &*name {
                "code" => &mut code,
                "state" => &mut state,
                "errcode" => {
                    refused = refused || value != "0";
                    continue;
                }
                _ => continue,
            };
            if field.replace(value.into_owned()).is_some() {
                return CallbackReturn::Invalid;
            }
        }
        match code.filter(|code| !refused && !code.is_empty()) {
            Some(code) => CallbackReturn::Code { code, state },
            None => CallbackReturn::Declined,
        }
    }

    fn redeem<'a>(&'a self, redemption: CodeRedemption<'a>) -> Answer<'a, Identity> {
        Box::pin(self.exchange_code(redemption.code))
    }
}

impl Wecom {
    /// The link that signs in inside the platform's own browser, with the parameters in the documented order.
    fn in_client_link(&self, request: &LinkRequest<'_>) -> String {
        let fixed = [
            ("appid", self.corp_id()),
            ("redirect_uri", request.redirect_uri),
            ("response_type", "code"),
            ("scope", "snsapi_base"),
            ("state", request.state),
        ];
        let agent = self.0.agent_id.as_deref().map(|id| ("agentid", id));
        let mut link = with_query(&self.0.hosts.authorize, fixed.into_iter().chain(agent));
        // The platform's browser identifies the user only if this fragment is present.
        link.push_str("#wechat_redirect");
        link
    }

    /// The link that signs in a desktop browser; `None` without an agent id, which the platform requires there.
    fn web_link(&self, request: &LinkRequest<'_>) -> Option<String> {
        let parameters = [
            ("login_type", "CorpApp"),
            ("appid", self.corp_id()),
            ("agentid", self.0.agent_id.as_deref()?),
            ("redirect_uri", request.redirect_uri),
            ("state", request.state),
            ("lang", language(request.language)),
        ];
        Some(with_query(&self.0.hosts.web_login, parameters))
    }

    async fn exchange_code(&self, code: &str) -> Result<Identity, Error> {
        if !is_visible_ascii(code) {
            return Err(Error::BadCode);
        }
        let call = self.0.protocol.get(USER_INFO).query("code", code).secret(code);
        Ok(identity::read(&self.request(&call).await?)?)
    }
}

const fn language(language: LinkLanguage) -> &'static str {
    match language {
        LinkLanguage::Zh => "zh",
        LinkLanguage::En => "en",
    }
}

/// The address of a page with these parameters. The settings admit no page that has a query or a fragment already. A link is part of every
/// QR code: building it as a [`Url`] takes three times as long.
fn with_query<'a>(page: &Url, parameters: impl IntoIterator<Item = (&'static str, &'a str)>) -> String {
    let mut link = String::with_capacity(LINK_BYTES);
    link.push_str(page.as_str());
    link.push('?');
    let query = link.len();
    form_urlencoded::Serializer::for_suffix(link, query).extend_pairs(parameters).finish()
}
