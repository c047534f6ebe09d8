//! ID tokens that clients send back to name a user.

use serde_json::Value;

use crate::{Auth, Error};

/// What an ID token says that was issued here. It may have expired long ago.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct IdTokenHint {
    pub(super) client_id: String,
    pub(super) subject: String,
    pub(super) sid: Option<String>,
}

impl Auth {
    /// Reads an ID token; `None` if it was not issued here, or its key is not published any more.
    pub(super) async fn read_hint(&self, token: &str) -> Result<Option<IdTokenHint>, Error> {
        Ok(self.verify_own(token).await?.and_then(|claims| hint(&claims, &self.policy.oidc.issuer)))
    }
}

fn hint(claims: &Value, issuer: &str) -> Option<IdTokenHint> {
    let text = |claim: &str| claims.get(claim).and_then(Value::as_str).map(str::to_owned);
    // A logout token is signed with the same key.
    if claims.get("events").is_some() || text("iss")? != issuer {
        return None;
    }
    Some(IdTokenHint { client_id: text("aud")?, subject: text("sub")?, sid: text("sid") })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_an_id_token_of_this_issuer_is_a_hint() {
        let token = json!({"iss": "https://desk", "aud": "a", "sub": "s", "sid": "x"});
        let read = Some(IdTokenHint { client_id: "a".into(), subject: "s".into(), sid: Some("x".into()) });
        assert_eq!(hint(&token, "https://desk"), read);
        assert_eq!(hint(&token, "https://other"), None);
        let logout_token = json!({"iss": "https://desk", "aud": "a", "sub": "s", "sid": "x", "events": {}});
        assert_eq!(hint(&logout_token, "https://desk"), None);
        assert_eq!(hint(&json!({"iss": "https://desk", "sub": "s"}), "https://desk"), None);
    }
}
