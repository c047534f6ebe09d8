//! Exchanges a code for an identity. The two kinds of codes are exchanged in different ways, and neither works in the other.

use deskpass_core::{Digest, EmployeeId};
use deskpass_platform::client::{ApiCall, ApiResponse, is_visible_ascii, sanitize};
use deskpass_platform::{EntryPoint, Error, Identity, InvalidResponse, Meaning};
use serde_json::json;
use tokio::time::Instant;

use crate::api;
use crate::client::Dingtalk;

/// The header in which the newer API expects a token.
const TOKEN_HEADER: &str = "x-acs-dingtalk-access-token";
/// The maximum length of a token of a user, in bytes.
const MAX_TOKEN_BYTES: usize = 4_096;
/// The maximum length of the id of a person, in bytes; the platform's are shorter than 32.
const MAX_UNION_ID_BYTES: usize = 128;
/// The maximum length of a corporation's identifier in the log, in characters.
const MAX_CORP_ID_CHARS: usize = 64;
/// The `contact_type` of members; 1 is that of external contacts.
const MEMBER: i64 = 0;

impl Dingtalk {
    /// The identity of the user to whom a code belongs. A malformed code is not sent.
    pub(crate) async fn identify(&self, code: &str, entry: EntryPoint) -> Result<Identity, Error> {
        if !is_code(code) {
            return Err(Error::BadCode);
        }
        let deadline = self.0.client.deadline();
        let identity = match entry {
            EntryPoint::Script => self.identify_by_script(code, deadline).await,
            EntryPoint::Client | EntryPoint::Browser => self.identify_by_page(code, deadline).await,
        };
        match identity {
            // The platform knows the user, but not as a member.
            Err(error) if error.is_refused_as(Meaning::Gone) => Ok(Identity::Outsider),
            identity => identity,
        }
    }

    /// A code of the script, in one call. The platform's client issues it only to members.
    async fn identify_by_script(&self, code: &str, deadline: Instant) -> Result<Identity, Error> {
        let call = self.legacy_call(api::USER_INFO, json!({ "code": code })).secret(code);
        let response = self.0.client.request(&call, deadline).await?;
        let user = response.object("result").ok_or(InvalidResponse::MissingField("result"))?;
        Ok(member(&user, union_id(&user, "unionid"))?)
    }

    /// A code of the login page, in three calls: the user's token, the user, and the member of the corporation that the user
    /// is. The token is forgotten once the user is known.
    async fn identify_by_page(&self, code: &str, deadline: Instant) -> Result<Identity, Error> {
        let digest = Digest::of(&[b"dingtalk code", code.as_bytes()]);
        let token = if let Some(token) = self.0.user_tokens.get(&digest) {
            token
        } else {
            let Some(token) = self.redeem_code(code, deadline).await? else { return Ok(Identity::Outsider) };
            self.0.user_tokens.insert(digest, &token);
            token
        };
        let identity = self.identify_by_token(&token, deadline).await;
        self.0.user_tokens.settle(&digest, &identity);
        identity
    }

    /// The token of a user who signed in with an account of this corporation; `None` for other accounts.
    async fn redeem_code(&self, code: &str, deadline: Instant) -> Result<Option<String>, Error> {
        let issued = self.0.client.request(&self.user_token_call(code), deadline).await?;
        let token = issued.text("accessToken").filter(|token| is_token(token));
        let token = token.ok_or(InvalidResponse::MissingField("accessToken"))?;
        match issued.text("corpId") {
            Some(corp_id) if corp_id == self.0.corp_id => Ok(Some(token.to_owned())),
            Some(corp_id) => {
                let corp_id = sanitize(corp_id, MAX_CORP_ID_CHARS);
                tracing::info!(corp_id, "the user chose another corporation, not platform.corp_id");
                Ok(None)
            }
            None => {
                tracing::info!("the user signed in with an account that belongs to no corporation");
                Ok(None)
            }
        }
    }

    async fn identify_by_token(&self, token: &str, deadline: Instant) -> Result<Identity, Error> {
        let call = ApiCall::get(api::ME, &self.0.hosts.api, api::ME.name).header(TOKEN_HEADER, token).secret(token);
        let user = self.0.client.request(&call.without_token(), deadline).await?;
        let union_id = union_id(&user, "unionId").ok_or(InvalidResponse::MissingField("unionId"))?;
        let found = self.result(api::BY_UNION_ID, json!({ "unionid": union_id }), deadline).await?;
        match found.number("contact_type") {
            Some(MEMBER) => Ok(member(&found, Some(union_id))?),
            Some(_) => Ok(Identity::Outsider),
            None => Err(InvalidResponse::MissingField("contact_type").into()),
        }
    }

    fn user_token_call(&self, code: &str) -> ApiCall {
        let body = json!({
            "clientId": self.0.client_id,
            "clientSecret": self.0.secret,
            "code": code,
            "grantType": "authorization_code",
        });
        let call = ApiCall::post(api::USER_TOKEN, &self.0.hosts.api, api::USER_TOKEN.name, body);
        call.without_token().secret(&self.0.secret).secret(code)
    }
}

/// The id of the person, which stays the same whatever identifier the corporation gives them.
pub(crate) fn union_id(user: &ApiResponse, field: &str) -> Option<String> {
    user.text(field).filter(|id| id.len() <= MAX_UNION_ID_BYTES && is_visible_ascii(id)).map(str::to_owned)
}

fn member(user: &ApiResponse, union_id: Option<String>) -> Result<Identity, InvalidResponse> {
    let userid = user.text("userid").filter(|userid| EmployeeId::parse(userid).is_ok());
    let userid = userid.ok_or(InvalidResponse::MissingField("userid"))?;
    Ok(Identity::Member { userid: userid.to_owned(), holder_id: union_id })
}

/// Whether a text can be a code: nothing in it can look like an attack, such as a path, to a firewall in front of the platform.
fn is_code(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+=".contains(&byte);
    (1..=512).contains(&text.len()) && text.bytes().all(plain) && !text.contains("..")
}

fn is_token(text: &str) -> bool {
    text.len() <= MAX_TOKEN_BYTES && text.bytes().all(|byte| byte.is_ascii_graphic())
}
