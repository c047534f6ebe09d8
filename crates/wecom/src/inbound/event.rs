//! What an event means.

use deskpass_core::{CorpId, Digest, EmployeeId};
use deskpass_platform::client::is_visible_ascii;
use deskpass_platform::{CardHandle, InboundError, InboundEvent, PersonChange, TimeUnit};

use super::xml::Elements;

/// Reads a decrypted event. One that concerns nobody's access means nothing.
pub(super) fn read(text: &str) -> Result<Vec<InboundEvent>, InboundError> {
    let elements = Elements::parse(text).ok_or(InboundError::Malformed)?;
    // Members may also write messages to an application.
    if elements.text("MsgType").is_some_and(|kind| kind != "event") {
        return Ok(Vec::new());
    }
    let changes = changes(&elements).ok_or(InboundError::Malformed)?;
    let at = elements.text("CreateTime").and_then(|time| TimeUnit::Seconds.parse(time));
    // The documentation advises FromUserName and CreateTime, which two members who leave in the same second share.
    let digest = Digest::of(&[b"wecom event", text.as_bytes()]).to_text();
    let event = |(number, change)| InboundEvent { deduplication_key: format!("{digest}.{number}"), at, change };
    Ok(changes.into_iter().enumerate().map(event).collect())
}

/// `None` if an identifier is missing or is not one.
fn changes(elements: &Elements<'_>) -> Option<Vec<PersonChange>> {
    let member = |name| elements.text(name).filter(|id| EmployeeId::parse(id).is_ok()).map(str::to_owned);
    let change = match (elements.text("Event")?, elements.text("ChangeType").unwrap_or_default()) {
        ("subscribe", _) => PersonChange::Joined { userid: member("FromUserName")? },
        ("unsubscribe", _) => PersonChange::OutOfRange { userid: member("FromUserName")? },
        ("change_contact", "create_user") => PersonChange::Joined { userid: member("UserID")? },
        ("change_contact", "update_user") => {
            let userid = member("UserID")?;
            // Identifiers that differ in case only are the same.
            match member("NewUserID").filter(|new| !new.eq_ignore_ascii_case(&userid)) {
                Some(to) => PersonChange::Renamed { from: userid, to },
                None => PersonChange::Changed { userid },
            }
        }
        ("change_contact", "delete_user") => PersonChange::Left { userid: member("UserID")? },
        ("change_contact", "create_party" | "update_party" | "delete_party") => {
            let id: u64 = elements.text("Id")?.parse().ok()?;
            PersonChange::DepartmentChanged { id: id.to_string() }
        }
        ("change_chain", "remove_corp") => return removed_corporations(elements),
        // The application may also send cards that are not questions of this service.
        ("template_card_event", _) => return Some(answer(elements).into_iter().collect()),
        _ => return Some(Vec::new()),
    };
    Some(vec![change])
}

fn removed_corporations(elements: &Elements<'_>) -> Option<Vec<PersonChange>> {
    let removed = |id: &str| {
        let corp_id = CorpId::parse(id).ok()?.as_str().to_owned();
        Some(PersonChange::CorporationRemoved { corp_id })
    };
    // One identifier that is not valid does not keep the others from being read.
    let read: Vec<_> = elements.texts_in("CorpIds", "CorpId").map(removed).collect();
    let total = read.len();
    let valid: Vec<_> = read.into_iter().flatten().collect();
    if valid.len() < total {
        tracing::debug!(skipped = total - valid.len(), "an event names corporations that are not valid");
    }
    (total == 0 || !valid.is_empty()).then_some(valid)
}

fn answer(elements: &Elements<'_>) -> Option<PersonChange> {
    let text = |name| elements.text(name).filter(|text| is_visible_ascii(text)).map(str::to_owned);
    Some(PersonChange::Answered {
        question: text("TaskId")?,
        choice: text("EventKey")?,
        userid: text("FromUserName").filter(|id| EmployeeId::parse(id).is_ok())?,
        handle: text("ResponseCode").map(CardHandle),
    })
}
