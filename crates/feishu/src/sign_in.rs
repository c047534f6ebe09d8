//! Sign-in: the link to the platform's page, and the exchange of a code for an identity, with two calls.

use std::collections::BTreeMap;

use deskpass_core::Digest;
use deskpass_platform::client::ApiCall;
use deskpass_platform::{
    Answer, CallbackReturn, CodeRedemption, EntryPoint, Error, Identity, LinkRequest, RedirectRule, SignIn,
};
use tokio::time::Instant;
use url::form_urlencoded;

use crate::api::{self, USER_INFO};
use crate::user_token::{self, UserToken};
use crate::{Feishu, identity};

impl SignIn for Feishu {
    fn redirect_rule(&self) -> RedirectRule {
        RedirectRule::Exact
    }

    fn supports_pkce(&self) -> bool {
        true
    }

    fn client_marks(&self) -> &'static [&'static str] {
        &["Lark/", "Feishu/"]
    }

    /// The same page serves all browsers: inside the platform's client it sends the browser back at once.
    fn link(&self, request: &LinkRequest<'_>) -> Option<String> {
        if request.entry == EntryPoint::Script {
            return None;
        }
        let mut link = self.0.settings.hosts.authorize.clone();
        // Without a scope the token is good for the name and the identifiers; without `offline_access` it ends soon.
        link.query_pairs_mut()
            .append_pair("client_id", &self.0.settings.app_id)
            .append_pair("response_type", "code")
            .append_pair("redirect_uri", request.redirect_uri)
            .append_pair("state", request.state);
        if let Some(challenge) = request.challenge {
            link.query_pairs_mut()
                .append_pair("code_challenge", challenge)
                .append_pair("code_challenge_method", "S256");
        }
        Some(link.into())
    }

    fn read_return(&self, query: &str) -> CallbackReturn {
        let mut found = BTreeMap::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let repeated = matches!(&*name, "code" | "state" | "error") && found.insert(name, value).is_some();
            if repeated {
                return CallbackReturn::Invalid;
            }
        }
        let mut take = |name: &str| found.remove(name).map(std::borrow::Cow::into_owned);
        let (code, state, error) = (take("code").filter(|code| !code.is_empty()), take("state"), take("error"));
        match (code, error) {
            (Some(_), Some(_)) => CallbackReturn::Invalid,
            (Some(code), None) => CallbackReturn::Code { code, state },
            (None, _) => CallbackReturn::Declined,
        }
    }

    /// A user who may not use the application (20010) is an error of the kind `OutOfRange`, and not an outsider: the user is a
    /// member, the service refuses the sign-in, and the log tells the administrator what to change in the console.
    fn redeem<'a>(&'a self, redemption: CodeRedemption<'a>) -> Answer<'a, Identity> {
        Box::pin(self.identify(redemption))
    }
}

impl Feishu {
    async fn identify(&self, redemption: CodeRedemption<'_>) -> Result<Identity, Error> {
        let CodeRedemption { code, entry, redirect_uri, verifier } = redemption;
        if !is_code(code) {
            return Err(Error::BadCode);
        }
        let deadline = self.0.client.deadline();
        let redirect_uri = (entry != EntryPoint::Script).then_some(redirect_uri);
        // The platform compares all three with what the code was issued for, so only all three together find a token again.
        let parts = [code, redirect_uri.unwrap_or_default(), verifier.unwrap_or_default()].map(str::as_bytes);
        let digest = Digest::of(&parts);
        let token = if let Some(token) = self.0.user_tokens.get(&digest) {
            UserToken::kept(token)
        } else {
            let exchange = user_token::exchange(&self.0.settings, code, redirect_uri, verifier);
            let token = UserToken::read(&self.0.client.request(&exchange, deadline).await?)?;
            self.0.user_tokens.insert(digest, token.as_str());
            token
        };
        let identity = self.identify_by_token(token, deadline).await;
        self.0.user_tokens.settle(&digest, &identity);
        identity
    }

    async fn identify_by_token(&self, token: UserToken, deadline: Instant) -> Result<Identity, Error> {
        let settings = &*self.0.settings;
        let profile = ApiCall::get(USER_INFO, &settings.hosts.api, &api::path(USER_INFO, ""));
        let response = self.0.client.request(&token.authorize(profile), deadline).await?;
        Ok(identity::read(&response, settings)?)
    }
}

/// Whether a text can be a code: no quotes, brackets or paths, which a firewall in front of the platform may take for an attack.
fn is_code(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+=".contains(&byte);
    (1..=512).contains(&text.len()) && text.bytes().all(plain) && !text.contains("..")
}
