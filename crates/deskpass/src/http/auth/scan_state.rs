//! The state of a sign-in with a QR code, as the browser sees it.

use deskpass_auth::TicketStatus;
use deskpass_core::PersonPreview;
use schemars::JsonSchema;
use serde::Serialize;

/// The state of a sign-in.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub(crate) struct ScanState {
    #[schemars(extend("enum" = ["waiting", "scanned", "confirmed", "expired"]))]
    pub(crate) status: &'static str,
    employee_id: Option<String>,
    name: Option<String>,
    token: Option<String>,
}

impl From<TicketStatus> for ScanState {
    fn from(poll: TicketStatus) -> Self {
        let (status, who, token) = match poll {
            TicketStatus::Waiting => ("waiting", None, None),
            TicketStatus::Scanned(who) => ("scanned", Some(who), None),
            TicketStatus::Confirmed(who, token) => ("confirmed", Some(who), Some(token.expose().to_owned())),
            TicketStatus::Expired => ("expired", None, None),
        };
        let (employee_id, name) = who.map(|PersonPreview { employee_id, name }| (employee_id, name)).unzip();
        Self { status, employee_id, name, token }
    }
}
