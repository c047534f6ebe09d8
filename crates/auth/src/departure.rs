//! What the status of a person at the platform means for a person who is known here.

use std::time::Duration;

use deskpass_core::{LeftReason, Person, is_entered_department};
use deskpass_platform::{Identity, MemberStatus, Profile};

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

/// As [`departure`], without an event: an application that never saw a person may have no permission to see the person at all, which
/// is no reason to lock the person out.
pub(crate) fn departure_of(person: &Person, status: MemberStatus) -> Option<LeftReason> {
    departure(status).filter(|why| *why != LeftReason::OutOfRange || was_visible(person))
}

/// Whether the application has seen the person. A department that the platform named shows it as well: records from before the platform's
/// profiles were noted have no other sign, and a range of single members names no department.
pub(crate) fn was_visible(person: &Person) -> bool {
    person.seen || !person.department_id.is_empty() && !is_entered_department(&person.department_id)
}

/// Whether a profile shows that the application may see the user. Without a permission a record has no status.
pub(crate) const fn shows_member(profile: &Profile) -> bool {
    match profile.status {
        MemberStatus::Active | MemberStatus::NotActivated | MemberStatus::Suspended => true,
        MemberStatus::Unknown => profile.name.is_some(),
        MemberStatus::Left | MemberStatus::OutOfRange => false,
    }
}

/// Whether the platform says that the person is a member.
pub(crate) const fn is_back(status: MemberStatus) -> bool {
    matches!(status, MemberStatus::Active | MemberStatus::NotActivated)
}

/// What the platform's status of a user who signs in changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatusEffect {
    None,
    /// A user who had left is admitted again.
    Return,
    /// A user who had left stays refused.
    Refuse,
    /// The user is locked and refused.
    Leave(LeftReason),
}

/// What the status of a user changes, given the employee's record, if there is one.
pub(crate) fn status_effect(
    person: Option<&Person>,
    identity: &Identity,
    status: Option<MemberStatus>,
) -> StatusEffect {
    let left = person.and_then(|person| person.left);
    match status {
        Some(MemberStatus::Suspended) => StatusEffect::Leave(LeftReason::Suspended),
        Some(MemberStatus::Left) => StatusEffect::Leave(LeftReason::Left),
        // The platform may name a member whom the application may not see any more.
        Some(MemberStatus::OutOfRange)
            if person.is_some_and(|person| departure_of(person, MemberStatus::OutOfRange).is_some()) =>
        {
            StatusEffect::Leave(LeftReason::OutOfRange)
        }
        Some(MemberStatus::Active | MemberStatus::NotActivated) if left.is_some() => StatusEffect::Return,
        Some(MemberStatus::Unknown) if left.is_some_and(|why| is_seen_again(identity, why)) => StatusEffect::Return,
        _ if left.is_none() => StatusEffect::None,
        _ => StatusEffect::Refuse,
    }
}

/// Whether a user whom the platform has just identified, and whose profile it has shown without a status, is back. The platform shows no
/// status of users of connected corporations: of those who left it knows nothing, and of a corporation that was removed it names
/// nobody. A member who is out of range has no profile.
fn is_seen_again(identity: &Identity, why: LeftReason) -> bool {
    match why {
        LeftReason::OutOfRange => true,
        LeftReason::Left | LeftReason::CorporationRemoved | LeftReason::Renamed => {
            matches!(identity, Identity::Linked { .. })
        }
        LeftReason::Suspended => false,
    }
}

#[cfg(test)]
mod tests {
    use deskpass_core::EmployeeKey;
    use deskpass_platform::Department;

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
        let seen = Person { seen: true, ..in_department("") };
        assert_eq!(departure_of(&seen, out), Some(LeftReason::OutOfRange), "a range of single members");
    }

    #[test]
    fn a_profile_with_a_status_or_a_name_shows_the_person() {
        let shows = |name: Option<&str>, status| {
            let name = name.map(str::to_owned);
            shows_member(&Profile { name, ..Profile::empty(Department::None, status) })
        };
        for status in [MemberStatus::Active, MemberStatus::NotActivated, MemberStatus::Suspended] {
            assert!(shows(None, status));
        }
        assert!(shows(Some("A"), MemberStatus::Unknown) && !shows(None, MemberStatus::Unknown));
        assert!(!shows(None, MemberStatus::OutOfRange) && !shows(None, MemberStatus::Left));
    }

    fn person(department_id: &str, left: Option<LeftReason>) -> Person {
        let key = EmployeeKey::from_parts("ww", "a");
        Person { department_id: department_id.to_owned(), left, ..Person::new(key, "a") }
    }

    #[test]
    fn only_a_member_comes_back_and_an_outage_locks_nobody() {
        let member = Identity::member("a");
        let effect = |left, status| status_effect(Some(&person("", left)), &member, status);
        let gone = Some(LeftReason::Left);
        for left in [None, gone] {
            assert_eq!(effect(left, Some(MemberStatus::Left)), StatusEffect::Leave(LeftReason::Left));
            assert_eq!(effect(left, Some(MemberStatus::Suspended)), StatusEffect::Leave(LeftReason::Suspended));
        }
        for status in [MemberStatus::Active, MemberStatus::NotActivated] {
            assert_eq!(effect(gone, Some(status)), StatusEffect::Return);
            assert_eq!(effect(None, Some(status)), StatusEffect::None);
        }
        for status in [Some(MemberStatus::OutOfRange), Some(MemberStatus::Unknown), None] {
            assert_eq!(effect(gone, status), StatusEffect::Refuse);
            assert_eq!(effect(None, status), StatusEffect::None);
        }
        assert_eq!(status_effect(None, &member, Some(MemberStatus::OutOfRange)), StatusEffect::None, "a new user");
    }

    /// Otherwise a sign-in would clear the department, by which the re-check knows that the member was in range.
    #[test]
    fn a_member_who_was_visible_and_is_not_any_more_leaves_at_the_sign_in() {
        let member = Identity::member("a");
        let of =
            |department: &str| status_effect(Some(&person(department, None)), &member, Some(MemberStatus::OutOfRange));
        assert_eq!(of("2"), StatusEffect::Leave(LeftReason::OutOfRange));
        assert_eq!(of("name:IT"), StatusEffect::None, "an operator entered it");
    }

    #[test]
    fn a_user_without_a_status_is_back_when_the_platform_shows_the_profile() {
        let member = Identity::member("a");
        let linked = Identity::Linked { corp_id: "c".into(), userid: "a".into() };
        let unknown = Some(MemberStatus::Unknown);
        for (why, of_member, of_linked) in [
            (LeftReason::Left, StatusEffect::Refuse, StatusEffect::Return),
            (LeftReason::CorporationRemoved, StatusEffect::Refuse, StatusEffect::Return),
            (LeftReason::OutOfRange, StatusEffect::Return, StatusEffect::Return),
            (LeftReason::Suspended, StatusEffect::Refuse, StatusEffect::Refuse),
        ] {
            let person = person("2", Some(why));
            assert_eq!(status_effect(Some(&person), &member, unknown), of_member, "{why:?}");
            assert_eq!(status_effect(Some(&person), &linked, unknown), of_linked, "{why:?}");
            assert_eq!(status_effect(Some(&person), &linked, None), StatusEffect::Refuse, "{why:?}: no answer");
        }
    }
}
