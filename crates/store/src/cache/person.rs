//! A cached person, in two allocations: a small record, and one text with the key and everything else that is text.
//!
//! A [`Person`] has six or more allocations, and takes three times as much. Whoever needs one makes it of the record.
//!
//! The record takes 64 bytes with the two counters of its `Arc`. For a size that is not a power of two, mimalloc 3 asks
//! itself for 7 bytes more, to align it: 80 bytes would take 96. The text has such counters as well: up to 48 bytes of
//! text take 64, up to 56 take 80, and up to 72 take 96.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use deskpass_core::{Email, EmailSource, EmployeeKey, LeftReason, Person, Role, Roles, Timestamp};

use super::table::Entry;

/// A person from the store, as the cache keeps them.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about a person")]
pub struct CachedPerson {
    /// The key of the employee. The texts of the person follow it in its tail.
    pub key: EmployeeKey,
    /// What hardly any person has.
    rare: Option<Box<RareParts>>,
    /// How long each of the texts in the tail is, except the last one, unless the rare parts say it.
    lengths: [u8; TEXTS - 1],
    id_place: IdPlace,
    /// As [`Person::roles`].
    pub roles: Roles,
    /// As [`Person::disabled`].
    pub disabled: bool,
    /// As [`Person::left`].
    pub left: Option<LeftReason>,
    /// As [`Person::seen`].
    pub seen: bool,
    /// As [`Person::unconfirmed`].
    pub unconfirmed: bool,
    email_source: Option<EmailSource>,
    is_plain: bool,
    /// Whether this record is in the cache. It is removed, or replaced, when the person changes.
    is_current: AtomicBool,
}

/// The record of a person has these if a role of theirs ends, or a text is longer than a byte can say.
#[derive(Debug, PartialEq, Eq)]
struct RareParts {
    /// As [`Person::role_ends`].
    role_ends: Vec<(Role, Timestamp)>,
    lengths: [usize; TEXTS - 1],
}

/// Where the identifier of the employee is. The corporation mostly writes it as the key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IdPlace {
    /// It is the one in the key, and the text is empty.
    Key,
    Text,
}

/// The number of texts.
const TEXTS: usize = 7;

/// The texts, in their order.
#[derive(Clone, Copy)]
enum PersonText {
    EmployeeId,
    Name,
    Department,
    DepartmentId,
    Avatar,
    /// Empty if there is none.
    Subject,
    /// The same.
    Email,
}

impl CachedPerson {
    pub(crate) fn new(person: &Person) -> Self {
        let Person { key, employee_id, name, department, department_id, avatar, .. } = person;
        let id_place = if employee_id == key.id() { IdPlace::Key } else { IdPlace::Text };
        let id = if id_place == IdPlace::Key { "" } else { employee_id.as_str() };
        let subject = person.subject.as_deref().unwrap_or_default();
        let email = person.email.as_ref().map_or("", |email| email.address.as_str());
        let texts: [&str; TEXTS] = [id, name, department, department_id, avatar, subject, email];
        let ([lengths @ .., _], tail) = (texts.map(str::len), texts.concat());
        let is_rare = !person.role_ends.is_empty() || lengths.iter().any(|length| *length > usize::from(u8::MAX));
        let rare = is_rare.then(|| Box::new(RareParts { role_ends: person.role_ends.clone(), lengths }));
        Self {
            rare,
            lengths: lengths.map(|length| u8::try_from(length).unwrap_or(u8::MAX)),
            id_place,
            roles: person.roles,
            disabled: person.disabled,
            left: person.left,
            seen: person.seen,
            unconfirmed: person.unconfirmed,
            email_source: person.email.as_ref().map(|email| email.source),
            is_plain: [key.corp(), key.id(), tail.as_str()].into_iter().all(is_plain),
            is_current: AtomicBool::new(false),
            key: key.with_tail(&tail),
        }
    }

    /// The person.
    #[must_use]
    pub fn to_person(&self) -> Person {
        let email = |source| Email { address: self.text(PersonText::Email).to_owned(), source };
        Person {
            // Without what follows it here.
            key: self.key.with_tail(""),
            employee_id: self.employee_id().to_owned(),
            name: self.name().to_owned(),
            department: self.department().to_owned(),
            department_id: self.department_id().to_owned(),
            avatar: self.avatar().to_owned(),
            roles: self.roles,
            role_ends: self.role_ends().to_vec(),
            disabled: self.disabled,
            left: self.left,
            seen: self.seen,
            unconfirmed: self.unconfirmed,
            subject: self.subject().map(str::to_owned),
            email: self.email_source.map(email),
        }
    }

    /// As [`Person::employee_id`].
    #[must_use]
    pub fn employee_id(&self) -> &str {
        match self.id_place {
            IdPlace::Key => self.key.id(),
            IdPlace::Text => self.text(PersonText::EmployeeId),
        }
    }

    /// As [`Person::name`].
    #[must_use]
    pub fn name(&self) -> &str {
        self.text(PersonText::Name)
    }

    /// As [`Person::department`].
    #[must_use]
    pub fn department(&self) -> &str {
        self.text(PersonText::Department)
    }

    /// As [`Person::department_id`].
    #[must_use]
    pub fn department_id(&self) -> &str {
        self.text(PersonText::DepartmentId)
    }

    /// As [`Person::avatar`].
    #[must_use]
    pub fn avatar(&self) -> &str {
        self.text(PersonText::Avatar)
    }

    /// As [`Person::subject`].
    #[must_use]
    pub fn subject(&self) -> Option<&str> {
        Some(self.text(PersonText::Subject)).filter(|subject| !subject.is_empty())
    }

    /// As [`Person::roles_at`].
    #[must_use]
    pub fn roles_at(&self, now: Timestamp) -> Roles {
        if self.unconfirmed { Roles::NONE } else { self.roles.without_ended(self.role_ends(), now) }
    }

    /// Whether no text of the person, and not the corporation either, contains a quotation mark, a backslash or a
    /// control character: then they can be put between quotation marks in JSON as they are.
    #[must_use]
    pub fn has_plain_texts(&self) -> bool {
        self.is_plain
    }

    /// Whether both records are of the same person, and say the same.
    #[must_use]
    pub fn is_same_as(&self, other: &Self) -> bool {
        let Self {
            key,
            rare,
            lengths,
            id_place,
            roles,
            disabled,
            left,
            seen,
            unconfirmed,
            email_source,
            is_plain: _,
            is_current: _,
        } = self;
        (*key == other.key && key.tail() == other.key.tail())
            && (*rare == other.rare && *lengths == other.lengths && *id_place == other.id_place)
            && (*roles == other.roles && *email_source == other.email_source)
            && (*disabled == other.disabled && *left == other.left && *seen == other.seen)
            && *unconfirmed == other.unconfirmed
    }

    /// Whether the record is in the cache, and so says what the database does.
    pub(crate) fn is_current(&self) -> bool {
        self.is_current.load(Ordering::Acquire)
    }

    fn role_ends(&self) -> &[(Role, Timestamp)] {
        self.rare.as_ref().map_or(&[], |rare| rare.role_ends.as_slice())
    }

    fn text(&self, which: PersonText) -> &str {
        let which = which as usize;
        let start = (0..which).filter_map(|before| self.length(before)).sum::<usize>();
        let rest = self.key.tail().get(start..).unwrap_or_default();
        self.length(which).map_or(rest, |length| rest.get(..length).unwrap_or_default())
    }

    /// The length of a text; `None` for the last one, which is all the rest.
    fn length(&self, which: usize) -> Option<usize> {
        match &self.rare {
            Some(rare) => rare.lengths.get(which).copied(),
            None => self.lengths.get(which).copied().map(usize::from),
        }
    }
}

impl Entry for Arc<CachedPerson> {
    type Key = EmployeeKey;
    type Value = Self;

    fn key(&self) -> &EmployeeKey {
        &self.key
    }

    fn value(&self) -> Self {
        Self::clone(self)
    }

    fn entered(&self) {
        self.is_current.store(true, Ordering::Release);
    }

    fn left(&self) {
        self.is_current.store(false, Ordering::Release);
    }

    /// Sessions would have to be read again.
    fn is_needed(&self) -> bool {
        Self::strong_count(self) > 1
    }
}

/// Whether JSON contains this text as it is.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    prop_compose! {
        fn person()(
            texts in prop::array::uniform7("\\PC{0,12}|[\"\\\\\n a-c]{0,4}|[a-c]{254,258}"),
            id in "[a-c]{0,2}",
            flags in any::<[bool; 6]>(),
            left in prop::option::of(prop::sample::select(LeftReason::ALL.to_vec())),
            roles in prop::sample::subsequence(Role::ALL.to_vec(), 0..=5),
            until in any::<i64>(),
        ) -> Person {
            let [employee_id, name, department, department_id, avatar, subject, address] = texts;
            let [disabled, seen, has_email, has_end, has_other_id, unconfirmed] = flags;
            let id = if has_other_id { id } else { employee_id.clone() };
            let ends: Vec<_> = roles.iter().map(|role| (*role, Timestamp::from_millis(until))).collect();
            Person {
                name,
                department,
                department_id,
                avatar,
                roles: roles.iter().copied().collect(),
                role_ends: ends.into_iter().filter(|_| has_end).collect(),
                disabled,
                left,
                seen,
                unconfirmed,
                subject: Some(subject).filter(|subject| !subject.is_empty()),
                email: has_email.then_some(Email { address, source: EmailSource::Operator }),
                ..Person::new(EmployeeKey::from_parts("ww", &id), &employee_id)
            }
        }
    }

    proptest! {
        #[test]
        fn a_cached_person_is_the_person(person in person(), other in person(), now in any::<i64>()) {
            let (cached, now) = (CachedPerson::new(&person), Timestamp::from_millis(now));
            prop_assert_eq!(&cached.to_person(), &person);
            prop_assert_eq!(cached.roles_at(now), person.roles_at(now));
            prop_assert_eq!(cached.employee_id(), &*person.employee_id);
            prop_assert_eq!(cached.name(), &*person.name);
            prop_assert_eq!(cached.subject(), person.subject.as_deref());
            let json = serde_json::to_string(&person.name).unwrap_or_default();
            let plain = format!("\"{}\"", person.name);
            prop_assert!(!cached.has_plain_texts() || json == plain);
            prop_assert!(cached.is_same_as(&CachedPerson::new(&person)));
            prop_assert_eq!(cached.is_same_as(&CachedPerson::new(&other)), person == other);
        }
    }

    #[test]
    fn a_record_is_small() {
        assert_eq!(size_of::<CachedPerson>(), 48, "64 with the two counters of an Arc");
    }
}
