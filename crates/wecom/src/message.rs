//! Messages to members.

use deskpass_core::EmployeeId;
use serde_json::json;

use crate::api::{Api, ApiCall};
use crate::client::NO_AGENT_ID;
use crate::{Error, Wecom};

/// The maximum length of a text in bytes; the platform truncates the rest, possibly inside a character.
const MAX_TEXT_BYTES: usize = 2_048;
/// The platform's error code for an agent id that is not a number.
const BAD_AGENT_ID: i64 = 40056;
/// The platform's error code for a message without a valid recipient.
const NO_VALID_RECIPIENT: i64 = 81013;

impl Wecom {
    /// Sends a text to a member of this service's own corporation. Needs an agent id; refused without a valid recipient.
    pub async fn notify(&self, userid: &str, text: &str) -> Result<(), Error> {
        let agent_id = self.0.agent_id.as_deref().ok_or(Error::refused(NO_AGENT_ID))?;
        let agent_id: u64 = agent_id.parse().map_err(|_| Error::refused(BAD_AGENT_ID))?;
        // A message to one member must not be read as a list, or as a message to all ("@all").
        if userid.starts_with('@') || EmployeeId::parse(userid).is_err() {
            return Err(Error::refused(NO_VALID_RECIPIENT));
        }
        let text = text.get(..text.floor_char_boundary(MAX_TEXT_BYTES)).unwrap_or_default();
        let body = json!({
            "touser": userid,
            "msgtype": "text",
            "agentid": agent_id,
            "text": { "content": text },
            "safe": 0,
            // A retry after a lost response must not deliver the message twice.
            "enable_duplicate_check": 1,
            "duplicate_check_interval": 14_400,
        });
        let response = self.request(&ApiCall::post(Api::Message, body), self.deadline()).await?;
        // The platform lists identifiers in lower case.
        let is_recipient = |id: &str| id.eq_ignore_ascii_case(userid);
        let misses = |name| response.text(name).is_some_and(|list| list.split('|').any(is_recipient));
        if misses("invaliduser") || misses("unlicenseduser") { Err(Error::refused(NO_VALID_RECIPIENT)) } else { Ok(()) }
    }
}
