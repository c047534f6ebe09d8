//! A cached person. A million of them are in memory, so their texts are in one allocation: a [`Person`] takes twice as much.

use deskpass_core::{Email, EmailSource, EmployeeKey, LeftReason, Person, Role, Roles, Timestamp};

/// A person from the store, as the cache keeps them.
#[derive(Debug, PartialEq, Eq)]
pub struct CachedPerson {
    /// The key of the employee.
    pub key: EmployeeKey,
    /// The texts in the order of [`PersonText`], with a separator after each but the last.
    texts: Box<str>,
    role_ends: Box<[(Role, Timestamp)]>,
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
}

/// PostgreSQL stores no text with this character, and nobody's name has it.
const SEPARATOR: &str = "\0";

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
    /// Empty if there is none.
    Email,
}

impl CachedPerson {
    pub(crate) fn new(person: &Person) -> Self {
        let Person { employee_id, name, department, department_id, avatar, .. } = person;
        let subject = person.subject.as_deref().unwrap_or_default();
        let email = person.email.as_ref().map_or("", |email| &email.address);
        let texts: [&str; 7] = [employee_id, name, department, department_id, avatar, subject, email];
        Self {
            key: person.key.clone(),
            texts: texts.map(|text| text.replace(SEPARATOR, "\u{fffd}")).join(SEPARATOR).into(),
            role_ends: person.role_ends.as_slice().into(),
            roles: person.roles,
            disabled: person.disabled,
            left: person.left,
            seen: person.seen,
            unconfirmed: person.unconfirmed,
            email_source: person.email.as_ref().map(|email| email.source),
        }
    }

    /// The person.
    #[must_use]
    pub fn to_person(&self) -> Person {
        let email = |source| Email { address: self.text(PersonText::Email).to_owned(), source };
        Person {
            key: self.key.clone(),
            employee_id: self.employee_id().to_owned(),
            name: self.name().to_owned(),
            department: self.department().to_owned(),
            department_id: self.department_id().to_owned(),
            avatar: self.avatar().to_owned(),
            roles: self.roles,
            role_ends: self.role_ends.to_vec(),
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
        self.text(PersonText::EmployeeId)
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
        if self.unconfirmed { Roles::NONE } else { self.roles.without_ended(&self.role_ends, now) }
    }

    fn text(&self, which: PersonText) -> &str {
        self.texts.split(SEPARATOR).nth(which as usize).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    prop_compose! {
        fn person()(
            texts in prop::array::uniform7("\\PC{0,12}|[\"\\\\\n a-c]{0,4}|[a-c]{254,258}"),
            id in "[a-c]{0,2}",
            flags in any::<[bool; 5]>(),
            left in prop::option::of(prop::sample::select(LeftReason::ALL.to_vec())),
            roles in prop::sample::subsequence(Role::ALL.to_vec(), 0..=5),
            until in any::<i64>(),
        ) -> Person {
            let [employee_id, name, department, department_id, avatar, subject, address] = texts;
            let [disabled, seen, has_email, has_end, unconfirmed] = flags;
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
            let cached = CachedPerson::new(&person);
            let now = Timestamp::from_millis(now);
            prop_assert_eq!(&cached.to_person(), &person);
            prop_assert_eq!(cached.roles_at(now), person.roles_at(now));
            prop_assert_eq!(cached.employee_id(), &*person.employee_id);
            prop_assert_eq!(cached.name(), &*person.name);
            prop_assert_eq!(cached.subject(), person.subject.as_deref());
            prop_assert_eq!(cached == CachedPerson::new(&other), person == other);
        }
    }

    #[test]
    fn a_separator_in_a_text_does_not_move_the_texts_after_it() {
        let key = EmployeeKey::from_parts("ww", "a");
        let person = Person { name: "a\0b".to_owned(), department: "c".to_owned(), ..Person::new(key, "a") };
        let cached = CachedPerson::new(&person);
        assert_eq!((cached.name(), cached.department()), ("a\u{fffd}b", "c"));
    }
}
