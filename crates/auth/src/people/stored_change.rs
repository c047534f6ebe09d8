//! Events of the platform as they are stored until they are handled.

use deskpass_core::LeftReason;
use deskpass_platform::PersonChange;
use serde::{Deserialize, Serialize};

/// An event, as nodes of all versions read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StoredChange {
    /// A member joined, came back, or came into the application's range.
    Joined { userid: String },
    /// The record of a member changed.
    Changed { userid: String },
    /// A member has another identifier. Nodes of version 0.2.0, which would merge two people whose identifiers change at the same time,
    /// know another word, and leave this one to others.
    #[serde(rename = "identifier_changed", alias = "renamed")]
    Renamed { from: String, to: String },
    /// A member left the corporation.
    Left { userid: String },
    /// The account of a member is disabled.
    Suspended { userid: String },
    /// A member is no longer in the application's range.
    OutOfRange { userid: String },
    /// A department changed.
    DepartmentChanged { id: String },
    /// The application may see fewer people.
    RangeReduced,
    /// A connected corporation was removed.
    CorporationRemoved { corp_id: String },
}

impl StoredChange {
    /// What is to be handled; `None` for an answer to a question, since decisions are made on the pages of this service only.
    pub(super) fn new(change: PersonChange) -> Option<Self> {
        Some(match change {
            PersonChange::Joined { userid } => Self::Joined { userid },
            PersonChange::Changed { userid } => Self::Changed { userid },
            PersonChange::Renamed { from, to } => Self::Renamed { from, to },
            PersonChange::Left { userid } => Self::Left { userid },
            PersonChange::Suspended { userid } => Self::Suspended { userid },
            PersonChange::OutOfRange { userid } => Self::OutOfRange { userid },
            PersonChange::DepartmentChanged { id } => Self::DepartmentChanged { id },
            PersonChange::RangeReduced => Self::RangeReduced,
            PersonChange::CorporationRemoved { corp_id } => Self::CorporationRemoved { corp_id },
            PersonChange::Answered { .. } => return None,
        })
    }

    /// The member who is locked out as soon as the event arrives, and why.
    pub(super) fn leaver(&self) -> Option<(&str, LeftReason)> {
        match self {
            Self::Left { userid } => Some((userid, LeftReason::Left)),
            Self::Suspended { userid } => Some((userid, LeftReason::Suspended)),
            Self::OutOfRange { userid } => Some((userid, LeftReason::OutOfRange)),
            _ => None,
        }
    }

    /// The former and the new identifier of a member who has another one.
    pub(super) fn renamed(&self) -> Option<(&str, &str)> {
        if let Self::Renamed { from, to } = self { Some((from, to)) } else { None }
    }

    /// Whether it is handled before all others: the platform need not be asked about it, or the record of a leaver is under another
    /// identifier until it is handled.
    pub(super) const fn is_immediate(&self) -> bool {
        matches!(self, Self::CorporationRemoved { .. } | Self::RangeReduced | Self::Renamed { .. })
    }

    /// The same departure of the member with another identifier; `None` if no one leaves.
    pub(super) fn departure_of(&self, userid: String) -> Option<Self> {
        match self {
            Self::Left { .. } => Some(Self::Left { userid }),
            Self::Suspended { .. } => Some(Self::Suspended { userid }),
            Self::OutOfRange { .. } => Some(Self::OutOfRange { userid }),
            _ => None,
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    /// A node of the previous version may have written these.
    #[test]
    fn events_are_stored_in_a_form_that_stays() {
        let left = StoredChange::new(PersonChange::Left { userid: "a".into() }).unwrap();
        assert_eq!(serde_json::to_string(&left).unwrap(), r#"{"left":{"userid":"a"}}"#);
        let renamed = StoredChange::new(PersonChange::Renamed { from: "a".into(), to: "b".into() }).unwrap();
        assert_eq!(serde_json::to_string(&renamed).unwrap(), r#"{"identifier_changed":{"from":"a","to":"b"}}"#);
        let before: StoredChange = serde_json::from_str(r#"{"renamed":{"from":"a","to":"b"}}"#).unwrap();
        assert_eq!(before, renamed);
        let department = StoredChange::DepartmentChanged { id: "2".into() };
        let read: StoredChange = serde_json::from_str(r#"{"department_changed":{"id":"2"}}"#).unwrap();
        assert_eq!(read, department);
    }

    #[test]
    fn only_leavers_are_locked_at_once() {
        let userid = || "a".to_owned();
        assert_eq!(StoredChange::Left { userid: userid() }.leaver(), Some(("a", LeftReason::Left)));
        assert_eq!(StoredChange::Suspended { userid: userid() }.leaver(), Some(("a", LeftReason::Suspended)));
        assert_eq!(StoredChange::OutOfRange { userid: userid() }.leaver(), Some(("a", LeftReason::OutOfRange)));
        for leaver in [
            StoredChange::Left { userid: userid() },
            StoredChange::Suspended { userid: userid() },
            StoredChange::OutOfRange { userid: userid() },
        ] {
            assert_eq!(leaver.departure_of(userid()), Some(leaver));
        }
        for other in [StoredChange::Joined { userid: userid() }, StoredChange::Changed { userid: userid() }] {
            assert_eq!((other.leaver(), other.departure_of("b".to_owned())), (None, None));
        }
    }
}
