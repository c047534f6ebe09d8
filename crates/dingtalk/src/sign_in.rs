//! Sign-in: the link to the login page, the script inside the platform's own client, and what the browser brings back.

use deskpass_platform::{
    Answer, CallbackReturn, CodeRedemption, EntryPoint, EntryScript, Identity, LinkRequest, RedirectRule, SignIn,
};
use serde_json::json;
use url::form_urlencoded;

use crate::client::Dingtalk;

/// Who the user is, and which corporation the user chose: without `corpid` the platform does not tell the corporation.
const SCOPE: &str = "openid corpid";

impl SignIn for Dingtalk {
    fn redirect_rule(&self) -> RedirectRule {
        RedirectRule::Exact
    }

    fn client_marks(&self) -> &'static [&'static str] {
        &["DingTalk"]
    }

    fn link(&self, request: &LinkRequest<'_>) -> Option<String> {
        if request.entry == EntryPoint::Script {
            return None;
        }
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("client_id", &self.0.client_id)
            .append_pair("redirect_uri", request.redirect_uri)
            .append_pair("response_type", "code")
            .append_pair("scope", SCOPE)
            .append_pair("prompt", "consent")
            .append_pair("state", request.state)
            .finish();
        let mut link = self.0.hosts.authorize.clone();
        // The documentation writes a space as %20. A plus sign of a value is already encoded.
        link.set_query(Some(&query.replace('+', "%20")));
        Some(link.into())
    }

    fn script(&self) -> Option<EntryScript> {
        Some(EntryScript {
            script_url: self.0.hosts.script.to_string(),
            module: include_str!("entry.js"),
            parameters: json!({ "corpId": self.0.corp_id, "clientId": self.0.client_id }),
        })
    }

    fn code_parameters(&self) -> &'static [&'static str] {
        &["authCode", "code"]
    }

    fn read_return(&self, query: &str) -> CallbackReturn {
        let [mut auth_code, mut code, mut state, mut error] = [const { None::<String> }; 4];
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let field = match &*name {
                "authCode" => &mut auth_code,
                "code" => &mut code,
                "state" => &mut state,
                "error" => &mut error,
                _ => continue,
            };
            if field.replace(value.into_owned()).is_some() {
                return CallbackReturn::Invalid;
            }
        }
        // The platform sends the code under one name or both.
        if auth_code.is_some() && code.is_some() && auth_code != code {
            return CallbackReturn::Invalid;
        }
        match (auth_code.or(code).filter(|code| !code.is_empty()), error) {
            (Some(code), None) => CallbackReturn::Code { code, state },
            (Some(_), Some(_)) => CallbackReturn::Invalid,
            (None, _) => CallbackReturn::Declined,
        }
    }

    fn redeem<'a>(&'a self, redemption: CodeRedemption<'a>) -> Answer<'a, Identity> {
        Box::pin(self.identify(redemption.code, redemption.entry))
    }
}
