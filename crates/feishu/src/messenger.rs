//! The platform as a whole.

use deskpass_platform::{
    Answer, CallListener, Check, Circuit, Deployment, Error, ErrorCode, Explanation, Inbound, InboundError,
    InboundRequest, InboundResult, InvalidResponse, Messenger, ObservedDate, Pending, PlatformKind, Refused,
};

use crate::{Feishu, api, check, errcode};

impl Messenger for Feishu {
    fn kind(&self) -> PlatformKind {
        PlatformKind::Feishu
    }

    /// An `open_id` is another one for each application.
    fn holder_source(&self) -> String {
        format!("feishu/{}/{}", self.0.settings.tenant_key, self.0.settings.app_id)
    }

    fn explain(&self, code: &ErrorCode) -> Explanation {
        errcode::explain(code)
    }

    fn advise(&self, error: &Error) -> Option<[String; 2]> {
        match error {
            Error::Refused(refused) => untrusted_address(refused),
            // The platform answers an unknown path with a plain page.
            Error::InvalidResponse(InvalidResponse::Status(404)) => Some([
                "there is no such API at this address: check platform.api_url and platform.token_url".to_owned(),
                "该地址没有此接口：请检查 platform.api_url 和 platform.token_url".to_owned(),
            ]),
            _ => None,
        }
    }

    fn is_down(&self) -> Pending<'_, bool> {
        Box::pin(self.0.client.is_down())
    }

    fn circuit(&self) -> Circuit {
        self.0.client.circuit()
    }

    fn date(&self) -> Answer<'_, Option<String>> {
        Box::pin(self.0.client.date())
    }

    fn last_date(&self) -> Option<ObservedDate> {
        self.0.client.last_date()
    }

    fn observe_calls(&self, listener: CallListener) {
        self.0.client.observe_calls(listener);
    }

    fn apis(&self) -> &'static [&'static str] {
        api::NAMES
    }

    fn check_credentials(&self) -> Answer<'_, ()> {
        Box::pin(self.0.client.check_credentials())
    }

    fn check_configuration<'a>(&'a self, deployment: &'a Deployment<'a>) -> Pending<'a, Vec<Check>> {
        Box::pin(check::configuration(self, deployment))
    }
}

impl Inbound for Feishu {
    fn read_inbound(&self, request: &InboundRequest<'_>) -> Result<InboundResult, InboundError> {
        self.0.events.read(request)
    }
}

fn untrusted_address(refused: &Refused) -> Option<[String; 2]> {
    let address = refused.from_ip.filter(|_| refused.code == ErrorCode::Number(errcode::UNTRUSTED_ADDRESS))?;
    Some([
        format!(
            "enter {address} in the developer console (开发者后台), the application, Security Settings (安全设置), IP allowlist (IP 白名单)"
        ),
        format!("请填写 {address}：开发者后台 → 该应用 → 安全设置 → IP 白名单"),
    ])
}
