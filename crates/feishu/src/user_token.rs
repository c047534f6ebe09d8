//! The token of a user, which a code is exchanged for. It is forgotten once the user is known.

use deskpass_platform::InvalidResponse;
use deskpass_platform::client::{ApiCall, ApiResponse};
use serde_json::json;

use crate::FeishuSettings;
use crate::api::USER_TOKEN;

/// The maximum length of a token in bytes; the platform's documentation advises to expect four thousand.
const MAX_TOKEN_BYTES: usize = 8_192;

/// The call that exchanges a code. A code of a script was sent to no address.
pub(crate) fn exchange(
    settings: &FeishuSettings,
    code: &str,
    redirect_uri: Option<&str>,
    verifier: Option<&str>,
) -> ApiCall {
    let FeishuSettings { app_id, secret, hosts, .. } = settings;
    let mut body = json!({
        "grant_type": "authorization_code",
        "client_id": app_id,
        "client_secret": secret,
        "code": code,
    });
    for (name, value) in [("redirect_uri", redirect_uri), ("code_verifier", verifier)] {
        if let (Some(fields), Some(value)) = (body.as_object_mut(), value) {
            fields.insert(name.to_owned(), value.into());
        }
    }
    let mut origin = hosts.token.clone();
    origin.set_path("");
    let call = ApiCall::post(USER_TOKEN, &origin, hosts.token.path(), body).secret(secret.as_str()).secret(code);
    let call = if let Some(verifier) = verifier { call.secret(verifier) } else { call };
    call.without_token()
}

/// The token of a user. It has no `Debug`: it must not be logged.
pub(crate) struct UserToken(String);

impl UserToken {
    /// Reads the answer of any version of the API: the newer ones are flat, the older ones have everything in `data`.
    pub(crate) fn read(response: &ApiResponse) -> Result<Self, InvalidResponse> {
        let data = response.object("data");
        let nested = data.as_ref().and_then(|data| data.text("access_token"));
        // Of two different tokens neither can be trusted.
        let ((Some(token), None) | (None, Some(token))) = (response.text("access_token"), nested) else {
            return Err(InvalidResponse::MissingField("access_token"));
        };
        let fits = token.len() <= MAX_TOKEN_BYTES && token.bytes().all(|byte| byte.is_ascii_graphic());
        fits.then(|| Self(token.to_owned())).ok_or(InvalidResponse::MissingField("access_token"))
    }

    /// A token that was read before.
    pub(crate) fn kept(token: String) -> Self {
        Self(token)
    }

    /// The token as text, to be kept.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Makes a call on behalf of the user.
    pub(crate) fn authorize(self, call: ApiCall) -> ApiCall {
        call.header("authorization", format!("Bearer {}", self.0)).secret(self.0).without_token()
    }
}
