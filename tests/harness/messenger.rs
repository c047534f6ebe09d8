//! The platform of a test's services, and the words that tests of every platform need: `on_every_platform!` selects it, around the
//! test.

use deskpass_platform::PlatformKind;
use deskpass_simulator::Kind;
use serde_json::Value;

tokio::task_local! {
    static PLATFORM: PlatformKind;
}

/// Runs a test on this platform. Services that it starts in tasks of its own are on WeCom, unless those are run here too.
pub(crate) async fn on_platform<F: Future>(kind: PlatformKind, test: F) -> F::Output {
    PLATFORM.scope(kind, test).await
}

/// The platform of the running test.
pub(crate) fn platform_kind() -> PlatformKind {
    PLATFORM.try_with(|kind| *kind).unwrap_or_default()
}

/// An error code of a platform.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FaultCode {
    Number(i64),
    Word(&'static str),
}

impl From<FaultCode> for Value {
    fn from(code: FaultCode) -> Self {
        match code {
            FaultCode::Number(number) => number.into(),
            FaultCode::Word(word) => word.into(),
        }
    }
}

/// What a test of every platform must know of each: the names of APIs in faults and counts, error codes, and the application.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Messenger {
    pub(crate) kind: PlatformKind,
    pub(crate) simulated: Kind,
    /// The corporation and the application of services in development mode, which also those in production mode have here.
    pub(crate) corp_id: &'static str,
    pub(crate) client_id: &'static str,
    /// Issues the access token of the application.
    pub(crate) app_token: &'static str,
    /// Exchanges a code.
    pub(crate) exchange: &'static str,
    /// Says who the user is.
    pub(crate) identify: &'static str,
    /// A call of each sign-in that needs the access token of the application.
    pub(crate) with_app_token: &'static str,
    /// Reads a member's record, and a department's.
    pub(crate) profile: &'static str,
    pub(crate) department: &'static str,
    /// Sends a message.
    pub(crate) message: &'static str,
    /// The settings with addresses, each with the path at the simulated platform.
    pub(crate) addresses: &'static [(&'static str, &'static str)],
    /// The code is unknown or used: an error of `exchange`.
    pub(crate) bad_code: FaultCode,
    /// The access token of the application is not valid: an error of `with_app_token`.
    pub(crate) void_token: FaultCode,
    /// The secret is wrong: an error of `app_token`.
    pub(crate) wrong_secret: FaultCode,
    /// An administrator must change something at the platform: an error of `exchange`, and one of `message`.
    pub(crate) not_allowed: FaultCode,
    pub(crate) no_messages: FaultCode,
    /// There is no such recipient: an error of `message`.
    pub(crate) no_recipient: FaultCode,
}

const WECOM: Messenger = Messenger {
    kind: PlatformKind::Wecom,
    simulated: Kind::Wecom,
    corp_id: "wwdeskpass",
    client_id: "",
    app_token: "gettoken",
    exchange: "auth/getuserinfo",
    identify: "auth/getuserinfo",
    with_app_token: "auth/getuserinfo",
    profile: "user/get",
    department: "department/get",
    message: "message/send",
    addresses: &[
        ("platform.api_url", ""),
        ("platform.authorize_url", "/connect/oauth2/authorize"),
        ("platform.web_login_url", "/wwlogin/sso/login"),
    ],
    bad_code: FaultCode::Number(40029),
    void_token: FaultCode::Number(40014),
    wrong_secret: FaultCode::Number(40001),
    not_allowed: FaultCode::Number(60020),
    no_messages: FaultCode::Number(60020),
    no_recipient: FaultCode::Number(81013),
};

const DINGTALK: Messenger = Messenger {
    kind: PlatformKind::Dingtalk,
    simulated: Kind::Dingtalk,
    corp_id: "dingdeskpass",
    client_id: "dingclientdeskpass",
    app_token: "v1.0/oauth2/:corpId/token",
    exchange: "v1.0/oauth2/userAccessToken",
    identify: "topapi/user/getbyunionid",
    with_app_token: "topapi/user/getbyunionid",
    profile: "topapi/v2/user/get",
    department: "topapi/v2/department/get",
    message: "topapi/message/corpconversation/asyncsend_v2",
    addresses: &[
        ("platform.api_url", ""),
        ("platform.legacy_api_url", ""),
        ("platform.authorize_url", "/oauth2/auth"),
        ("platform.script_url", "/dingtalk.open.js"),
    ],
    bad_code: FaultCode::Word("invalidParameter.authCode.notFound"),
    void_token: FaultCode::Number(40014),
    wrong_secret: FaultCode::Word("invalid.client"),
    not_allowed: FaultCode::Word("Forbidden.AccessDenied.IpNotInWhiteList"),
    no_messages: FaultCode::Number(60020),
    no_recipient: FaultCode::Number(33012),
};

const FEISHU: Messenger = Messenger {
    kind: PlatformKind::Feishu,
    simulated: Kind::Feishu,
    corp_id: "tenantdeskpass",
    client_id: "cli_deskpass",
    app_token: "open-apis/auth/v3/tenant_access_token/internal",
    exchange: "oauth/v3/token",
    identify: "open-apis/authen/v1/user_info",
    with_app_token: "open-apis/contact/v3/users/:id",
    profile: "open-apis/contact/v3/users/:id",
    department: "open-apis/contact/v3/departments/:id",
    message: "open-apis/im/v1/messages",
    addresses: &[
        ("platform.api_url", ""),
        ("platform.authorize_url", "/open-apis/authen/v1/authorize"),
        ("platform.token_url", "/oauth/v3/token"),
    ],
    bad_code: FaultCode::Number(20003),
    void_token: FaultCode::Number(99_991_663),
    wrong_secret: FaultCode::Number(10014),
    not_allowed: FaultCode::Number(20002),
    no_messages: FaultCode::Number(99_991_672),
    no_recipient: FaultCode::Number(230_013),
};

impl Messenger {
    /// The platform of the running test.
    pub(crate) fn current() -> &'static Self {
        Self::of(platform_kind())
    }

    pub(crate) fn of(kind: PlatformKind) -> &'static Self {
        match kind {
            PlatformKind::Wecom => &WECOM,
            PlatformKind::Dingtalk => &DINGTALK,
            PlatformKind::Feishu => &FEISHU,
        }
    }

    /// Whether the platform compares whole addresses, so that the link in a QR code is one of the service.
    pub(crate) fn registers_addresses(&self) -> bool {
        self.kind != PlatformKind::Wecom
    }

    /// Whether a code is worth nothing in another browser than the one that the platform issued it for.
    pub(crate) fn has_pkce(&self) -> bool {
        self.kind == PlatformKind::Feishu
    }

    /// The path of the page that identifies users, at the simulated platform.
    pub(crate) fn authorize_path(&self) -> String {
        let page = self.addresses.iter().find(|(key, _)| *key == "platform.authorize_url").unwrap().1;
        format!("/sim{page}")
    }

    /// The settings of an application at the platform, without its secret.
    pub(crate) fn application(&self) -> Vec<(&'static str, &'static str)> {
        let mut given = vec![("platform.kind", self.kind.name()), ("platform.corp_id", self.corp_id)];
        if !self.client_id.is_empty() {
            given.push(("platform.client_id", self.client_id));
        }
        if self.kind != PlatformKind::Feishu {
            given.push(("platform.agent_id", "1000002"));
        }
        given
    }

    /// The names of the other platforms, in English and in Chinese.
    pub(crate) fn other_titles(&self) -> Vec<&'static str> {
        PlatformKind::ALL.into_iter().filter(|kind| *kind != self.kind).flat_map(PlatformKind::title).collect()
    }
}

/// The text of a message that the simulated platform received.
pub(crate) fn message_text(message: &Value) -> String {
    let text = &message["text"];
    let text = text["content"].as_str().or(text["text"].as_str()).or(text.as_str());
    text.map_or_else(|| message.to_string(), str::to_owned)
}
