//! The platform as a whole.

use deskpass_platform::{
    Answer, CallListener, Check, Circuit, Deployment, Error, ErrorCode, Explanation, Inbound, InboundError,
    InboundRequest, InboundResult, Messenger, ObservedDate, Pending, PlatformKind,
};

use crate::client::Dingtalk;
use crate::{api, check, errcode};

impl Inbound for Dingtalk {
    fn read_inbound(&self, request: &InboundRequest<'_>) -> Result<InboundResult, InboundError> {
        self.0.events.read(request)
    }
}

impl Messenger for Dingtalk {
    fn kind(&self) -> PlatformKind {
        PlatformKind::Dingtalk
    }

    /// A `unionId` is the same for all applications of one developer, which nothing shows: so it counts for this one.
    fn holder_source(&self) -> String {
        format!("dingtalk/{}/{}", self.0.corp_id, self.0.client_id)
    }

    fn explain(&self, code: &ErrorCode) -> Explanation {
        errcode::explain(code)
    }

    fn advise(&self, error: &Error) -> Option<[String; 2]> {
        check::advise(error)
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
        Box::pin(self.run_checks(deployment))
    }
}
