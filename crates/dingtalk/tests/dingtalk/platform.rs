//! The scripted platform as DingTalk, and clients of it.

use std::ops::Deref;
use std::time::Duration;

use deskpass_core::{Clock, Timestamp};
use deskpass_dingtalk::{Dingtalk, DingtalkSettings, Hosts};
use deskpass_platform::{CodeRedemption, EntryPoint, Error, Identity, SignIn as _, Timeouts, Url};
use serde_json::{Value, json};

use crate::scripted_server::{Reply, ScriptedServer};

pub(crate) const CORP: &str = "dingdesk";
pub(crate) const CLIENT: &str = "dingclient";
pub(crate) const SECRET: &str = "canary-secret-5f1d";
pub(crate) const AGENT: &str = "1000002";
pub(crate) const TOKEN: &str = "v1.0/oauth2/dingdesk/token";
pub(crate) const USER_TOKEN: &str = "v1.0/oauth2/userAccessToken";
pub(crate) const ME: &str = "v1.0/contact/users/me";
pub(crate) const BY_UNION_ID: &str = "topapi/user/getbyunionid";
pub(crate) const USER_INFO: &str = "topapi/v2/user/getuserinfo";
pub(crate) const USER: &str = "topapi/v2/user/get";
pub(crate) const SEND: &str = "topapi/message/corpconversation/asyncsend_v2";

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

/// A refusal of the older API.
pub(crate) fn errcode(code: i64) -> Reply {
    Reply::Json(json!({ "errcode": code, "errmsg": "no", "request_id": "r1", "result": { "userid": "user01" } }))
}

/// A failed authentication at the older API.
pub(crate) fn sub_code(sub_code: &str) -> Reply {
    Reply::Json(json!({ "errcode": 88, "errmsg": "no", "sub_code": sub_code, "sub_msg": "no", "request_id": "r1" }))
}

/// A refusal of the newer API.
pub(crate) fn word(code: &str) -> Reply {
    Reply::Status("400 Bad Request", json!({ "code": code, "message": "no", "requestid": "r1" }))
}

pub(crate) fn token(value: &str, expires_in: u64) -> Reply {
    Reply::Json(json!({ "access_token": value, "expires_in": expires_in }))
}

/// An answer of the older API.
pub(crate) fn result(result: &Value) -> Reply {
    Reply::Json(json!({ "errcode": 0, "errmsg": "ok", "result": result, "request_id": "r1" }))
}

impl Platform {
    /// Starts a platform that issues a token and resolves every code to `user01`.
    pub(crate) async fn start() -> Self {
        let server = ScriptedServer::start().await;
        let clock = Clock::manual(Timestamp::from_millis(1_700_000_000_000));
        server.always(TOKEN, token("canary-token-1", 7_200));
        server.always(USER_TOKEN, Reply::Json(user_token(CORP)));
        server.always(ME, Reply::Json(json!({ "nick": "sunny", "unionId": "union01", "openId": "open01" })));
        server.always(BY_UNION_ID, result(&json!({ "userid": "user01", "contact_type": 0 })));
        server.always(USER_INFO, result(&json!({ "userid": "user01", "unionid": "union01", "name": "Uma" })));
        Self { server, clock }
    }

    pub(crate) fn settings(&self) -> DingtalkSettings {
        let url = |path: &str| Url::parse(&format!("http://{}{path}", self.address)).unwrap();
        DingtalkSettings {
            corp_id: CORP.into(),
            client_id: CLIENT.into(),
            secret: SECRET.into(),
            agent_id: Some(AGENT.into()),
            hosts: Hosts {
                api: url("/"),
                legacy_api: url("/"),
                authorize: url("/oauth2/auth"),
                script: url("/dingtalk.open.js"),
            },
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

    pub(crate) fn client(&self) -> Dingtalk {
        Dingtalk::new(self.settings(), self.clock.clone()).unwrap()
    }

    /// A client with short timeouts.
    pub(crate) fn hasty_client(&self) -> Dingtalk {
        let (call, operation) = (Duration::from_millis(300), Duration::from_millis(500));
        let timeouts = Timeouts { connect: Duration::from_millis(300), call, operation };
        Dingtalk::new(DingtalkSettings { timeouts, ..self.settings() }, self.clock.clone()).unwrap()
    }
}

pub(crate) fn user_token(corp_id: &str) -> Value {
    json!({
        "accessToken": "canary-user-token", "refreshToken": "canary-refresh", "expireIn": 7200, "corpId": corp_id,
    })
}

/// Exchanges a code.
pub(crate) async fn redeem(dingtalk: &Dingtalk, entry: EntryPoint, code: &str) -> Result<Identity, Error> {
    let redirect_uri = "https://desk.example.com/api/auth/oauth2/callback";
    dingtalk.redeem(CodeRedemption { code, entry, redirect_uri, verifier: None }).await
}

pub(crate) async fn by_page(dingtalk: &Dingtalk) -> Result<Identity, Error> {
    redeem(dingtalk, EntryPoint::Browser, "code").await
}

pub(crate) async fn by_script(dingtalk: &Dingtalk) -> Result<Identity, Error> {
    redeem(dingtalk, EntryPoint::Script, "code").await
}

pub(crate) fn member(userid: &str) -> Identity {
    Identity::Member { userid: userid.into(), holder_id: Some("union01".into()) }
}
