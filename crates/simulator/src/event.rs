//! What an event is about.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::address_book::{ChangedPerson, Person};
use crate::directory::PersonKind;
use crate::kind::Kind;

/// What happened, in words that are the same for all platforms.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Change {
    /// A member joined the corporation, or came back.
    Joined,
    /// A member came into the app's range.
    InRange,
    Changed,
    /// A member has another identifier.
    Renamed,
    Left,
    /// A member dropped out of the app's range. WeCom sends the same when a member leaves.
    OutOfRange,
    DepartmentChanged,
    /// A connected corporation was removed.
    CorporationRemoved,
}

/// What makes an event different from those of the platform.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EventFault {
    /// The signature is wrong.
    Signature,
    /// It is encrypted with another key.
    Key,
    /// It is for another corporation or app.
    Receiver,
    /// It was signed long ago.
    Late,
    /// Its text breaks off.
    Garbled,
}

/// Whom or what an event is about.
#[derive(Clone, Debug)]
pub(crate) struct Subject<'a> {
    /// The member's identifier; empty if it is about no member.
    pub(crate) userid: &'a str,
    /// The member, if there is one with this identifier.
    pub(crate) person: Option<Arc<Person>>,
    /// The member before the change, if it was made here.
    pub(crate) before: Option<Arc<Person>>,
    /// The new identifier of the member.
    pub(crate) to: Option<&'a str>,
    /// The department or the corporation.
    pub(crate) id: Option<&'a str>,
}

/// What a platform tells the app about a change of a member: nothing, in some cases.
pub(crate) fn implied(kind: Kind, change: &ChangedPerson) -> Option<Change> {
    let (before, after) = (&*change.before, &*change.after);
    if before == after || !after.kind.is_own() {
        return None;
    }
    match kind {
        Kind::Wecom => told_by_wecom(before, after),
        Kind::Dingtalk => told_by_dingtalk(before, after),
        Kind::Feishu => told_by_feishu(before, after),
    }
}

/// The app learns who is in its range, and nothing else: what changes inside it, including that an account is disabled, is told
/// to the contacts assistant alone, or to nobody.
fn told_by_wecom(before: &Person, after: &Person) -> Option<Change> {
    match (before.kind.is_in_range(), after.kind.is_in_range()) {
        (true, false) => Some(Change::OutOfRange),
        (false, true) => Some(Change::InRange),
        _ => None,
    }
}

/// The range of the app plays no role.
fn told_by_dingtalk(before: &Person, after: &Person) -> Option<Change> {
    match (before.kind, after.kind) {
        (PersonKind::Left, PersonKind::Left)
        | (PersonKind::Hidden, PersonKind::Member)
        | (PersonKind::Member, PersonKind::Hidden) => None,
        (_, PersonKind::Left) => Some(Change::Left),
        (PersonKind::Left, _) => Some(Change::Joined),
        _ => Some(Change::Changed),
    }
}

/// Only members in the app's range have events.
fn told_by_feishu(before: &Person, after: &Person) -> Option<Change> {
    match (before.kind, after.kind) {
        (PersonKind::Hidden | PersonKind::Left, PersonKind::Hidden | PersonKind::Left) => None,
        (PersonKind::Hidden, _) => Some(Change::InRange),
        (_, PersonKind::Hidden) => Some(Change::OutOfRange),
        (PersonKind::Left, _) => Some(Change::Joined),
        (_, PersonKind::Left) => Some(Change::Left),
        _ if before.id != after.id => Some(Change::Renamed),
        _ => Some(Change::Changed),
    }
}
