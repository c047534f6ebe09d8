//! What the status of a person at the platform means for a person who is known here.

use std::time::Duration;

use deskpass_core::{LeftReason, Person, is_entered_department};
use deskpass_platform::MemberStatus;

/// How far the clocks of two nodes may be apart: each may differ by half of it. An answer of the platform counts as newer than an event
/// only if it was asked for so much later, since another node may have received the event. Twice the 30 s beyond which a node distrusts
/// its clock. `CLOCK_SKEW` of single uses is longer, because it only lengthens how long they are kept.
pub(crate) const MAX_NODE_CLOCK_SKEW: Duration = Duration::from_mins(1);

/// Why a person with this status may not sign in; `None` if the person may, or the platform did not say.
pub(crate) const fn departure(status: MemberStatus) -> Option<LeftReason> {
    match status {
        MemberStatus::Left => Some(LeftReason::Left),
        MemberStatus::Suspended => Some(LeftReason::Suspended),
        MemberStatus::OutOfRange => Some(LeftReason::OutOfRange),
        MemberStatus::Active | MemberStatus::NotActivated | MemberStatus::Unknown => None,
    }
}

/// As [`departure`], without an event: an application that never saw the department of a person may have no permission to see the
/// person at all, which is no reason to lock the person out.
pub(crate) fn departure_of(person: &Person, status: MemberStatus) -> Option<LeftReason> {
    let was_visible = !person.department_id.is_empty() && !is_entered_department(&person.department_id);
    departure(status).filter(|why| *why != LeftReason::OutOfRange || was_visible)
}

/// Whether the platform says that the person is a member.
pub(crate) const fn is_back(status: MemberStatus) -> bool {
    matches!(status, MemberStatus::Active | MemberStatus::NotActivated)
}

#[cfg(test)]
mod tests {
    use deskpass_core::EmployeeKey;

    use super::*;

    #[test]
    fn without_an_event_only_a_person_who_was_visible_leaves_the_range() {
        let in_department =
            |id: &str| Person { department_id: id.to_owned(), ..Person::new(EmployeeKey::from_parts("ww", "a"), "a") };
        let out = MemberStatus::OutOfRange;
        assert_eq!(departure_of(&in_department("2"), out), Some(LeftReason::OutOfRange));
        for never_seen in ["", "name:IT"] {
            assert_eq!(departure_of(&in_department(never_seen), out), None, "{never_seen}");
            assert_eq!(departure_of(&in_department(never_seen), MemberStatus::Left), Some(LeftReason::Left));
        }
        for status in [MemberStatus::Active, MemberStatus::NotActivated, MemberStatus::Unknown] {
            assert_eq!(departure_of(&in_department("2"), status), None);
        }
    }
}
