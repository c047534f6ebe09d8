//! The scripted platform as Feishu, and clients of it.

use std::ops::Deref;
use std::time::Duration;

use deskpass_core::{Clock, Timestamp};
use deskpass_feishu::{Feishu, FeishuSettings, Hosts, UserIdKind};
use deskpass_platform::{CodeRedemption, EntryPoint, Error, Identity, SignIn as _, Timeouts, Url};
use serde_json::{Value, json};

use crate::scripted_server::{Reply, ScriptedServer};

pub(crate) const TENANT: &str = "tenantdesk";
pub(crate) const APP: &str = "cli_desk";
pub(crate) const SECRET: &str = "canary-secret-5f1d";
pub(crate) const CALLBACK: &str = "https://desk.example.com/api/auth/oauth2/callback";
pub(crate) const TENANT_TOKEN: &str = "open-apis/auth/v3/tenant_access_token/internal";
pub(crate) const USER_TOKEN: &str = "oauth/v3/token";
pub(crate) const USER_INFO: &str = "open-apis/authen/v1/user_info";
pub(crate) const USER: &str = "open-apis/contact/v3/users/user01";
pub(crate) const MESSAGE: &str = "open-apis/im/v1/messages";

/// The platform; clones refer to the same platform.
#[derive(Clone)]
pub(crate) struct Platform {
    server: ScriptedServer,
    pub(crate) clock: Clock,
}

impl Deref for Platform {
    type Target = ScriptedServer;
    fn deref(&self) -> &ScriptedServer {
        &self.server
    }
}

/// A refusal, which contains the fields of a success.
pub(crate) fn refused(code: i64) -> Reply {
    let body = json!({ "code": code, "msg": "no", "access_token": "x", "data": profile("user01") });
    Reply::Status("400 Bad Request", body)
}

/// A refusal with a success status, as the call for the app's token has it.
pub(crate) fn refused_with_success(code: i64) -> Reply {
    Reply::Json(json!({ "code": code, "msg": "no" }))
}

/// A response with these headers, after which the connection ends.
pub(crate) fn with_headers(line: &str, headers: &str, body: &str) -> Reply {
    let length = body.len();
    let head = format!("HTTP/1.1 {line}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n");
    Reply::Bytes(format!("{head}\r\n{body}").into_bytes())
}

pub(crate) fn data(data: &Value) -> Reply {
    Reply::Json(json!({ "code": 0, "msg": "success", "data": data }))
}

pub(crate) fn token(value: &str, expire: u64) -> Reply {
    Reply::Json(json!({ "code": 0, "msg": "ok", "tenant_access_token": value, "expire": expire }))
}

pub(crate) fn user_token(value: &str) -> Reply {
    Reply::Json(json!({ "code": 0, "access_token": value, "expires_in": 7200, "token_type": "Bearer", "scope": "" }))
}

pub(crate) fn profile(user_id: &str) -> Value {
    json!({ "name": "Uma", "open_id": "ou_1", "union_id": "on_1", "user_id": user_id, "tenant_key": TENANT })
}

impl Platform {
    /// Starts a platform that issues tokens and resolves every code to `user01`.
    pub(crate) async fn start() -> Self {
        let server = ScriptedServer::start().await;
        let clock = Clock::manual(Timestamp::from_millis(1_700_000_000_000));
        server.always(TENANT_TOKEN, token("canary-token-1", 7_200));
        server.always(USER_TOKEN, user_token("canary-user-token"));
        server.always(USER_INFO, data(&profile("user01")));
        server.always(USER, data(&json!({ "user": { "user_id": "user01", "name": "Uma" } })));
        Self { server, clock }
    }

    pub(crate) fn settings(&self) -> FeishuSettings {
        let url = |path: &str| Url::parse(&format!("http://{}{path}", self.address)).unwrap();
        FeishuSettings {
            tenant_key: TENANT.into(),
            app_id: APP.into(),
            secret: SECRET.into(),
            user_id: UserIdKind::UserId,
            hosts: Hosts { api: url("/"), authorize: url("/page"), token: url("/oauth/v3/token") },
            proxy: None,
            // Generous, for busy machines: tests that wait for a timeout set their own.
            timeouts: Timeouts {
                operation: Duration::from_secs(30),
                call: Duration::from_secs(20),
                ..Timeouts::default()
            },
            events: None,
        }
    }

    pub(crate) fn client(&self) -> Feishu {
        Feishu::new(self.settings(), self.clock.clone()).unwrap()
    }

    /// A client that knows members by their open id.
    pub(crate) fn open_id_client(&self) -> Feishu {
        Feishu::new(FeishuSettings { user_id: UserIdKind::OpenId, ..self.settings() }, self.clock.clone()).unwrap()
    }

    /// A client with short timeouts.
    pub(crate) fn hasty_client(&self) -> Feishu {
        let (call, operation) = (Duration::from_millis(300), Duration::from_millis(500));
        let timeouts = Timeouts { connect: Duration::from_millis(300), call, operation };
        Feishu::new(FeishuSettings { timeouts, ..self.settings() }, self.clock.clone()).unwrap()
    }
}

/// Exchanges a code of the platform's page.
pub(crate) async fn redeem(feishu: &Feishu, code: &str) -> Result<Identity, Error> {
    feishu.redeem(CodeRedemption { code, entry: EntryPoint::Browser, redirect_uri: CALLBACK, verifier: None }).await
}

pub(crate) fn member(userid: &str) -> Identity {
    Identity::Member { userid: userid.into(), holder_id: Some("ou_1".into()) }
}
