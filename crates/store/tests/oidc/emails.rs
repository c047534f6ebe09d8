//! Email addresses: unique, in lower case, and an operator's entry stays.

use deskpass_core::{Email, EmailSource, EmployeeKey, IdentifiedPerson};
use deskpass_store::{AuditEvent, ChangeAuthor, LogEntry, SetEmailOutcome, Store};

use crate::agents::fixture::{DAY, Fixture, agent01, at, entry, on_every_store};
use crate::oidc::scene::{deliver, grant, logged, sid, signed_in};

fn operator(address: &str) -> Email {
    Email { address: address.to_owned(), source: EmailSource::Operator }
}

fn user01() -> EmployeeKey {
    EmployeeKey::from_parts("ww", "user01")
}

async fn set(store: &Store, key: EmployeeKey, email: Option<Email>) -> SetEmailOutcome {
    store.set_email(ChangeAuthor::NoSession, key, email, entry()).await.unwrap()
}

async fn email(store: &Store, key: EmployeeKey) -> Option<Email> {
    store.person(&key).await.unwrap().unwrap().email.clone()
}

/// The platform tells this address of `user01`.
async fn tell(store: &Store, address: Option<&str>) {
    let who = IdentifiedPerson {
        key: user01(),
        employee_id: "user01".to_owned(),
        through: None,
        name: None,
        department: None,
        department_id: None,
        avatar: None,
        email: address.map(str::to_owned),
        asked_at: None,
        identified_at: None,
        seen: false,
        holder: None,
    };
    store.upsert_person(who, at(1)).await.unwrap();
}

on_every_store! {
    async fn an_address_is_of_one_employee(fixture: &Fixture) {
        let store = fixture.store();
        fixture.employ("user01").await;
        assert_eq!(set(store, agent01(), Some(operator("A.Agent@Example.com"))).await, SetEmailOutcome::Set);
        assert_eq!(email(store, agent01()).await, Some(operator("a.agent@example.com")));
        assert_eq!(store.employee_of_email("a.AGENT@example.com".to_owned()).await.unwrap(), Some(agent01()));
        assert_eq!(set(store, user01(), Some(operator("a.agent@example.com"))).await, SetEmailOutcome::Taken);
        assert_eq!(set(store, agent01(), Some(operator("a.agent@example.com"))).await, SetEmailOutcome::Set, "the same");
        let unknown = EmployeeKey::from_parts("ww", "nobody");
        assert_eq!(set(store, unknown, Some(operator("n@example.com"))).await, SetEmailOutcome::NoSuchEmployee);
        assert_eq!(set(store, agent01(), None).await, SetEmailOutcome::Set);
        assert_eq!((email(store, agent01()).await, store.employee_of_email("a.agent@example.com".to_owned()).await.unwrap()), (None, None));
        assert_eq!(set(store, user01(), Some(operator("a.agent@example.com"))).await, SetEmailOutcome::Set);
    }
}

on_every_store! {
    async fn the_platform_tells_an_address_unless_it_is_entered_or_taken(fixture: &Fixture) {
        let store = fixture.store();
        let platform = |address: &str| Some(Email { address: address.to_owned(), source: EmailSource::Platform });
        tell(store, Some("U.User@Example.com")).await;
        assert_eq!(email(store, user01()).await, platform("u.user@example.com"), "of a new person");
        tell(store, None).await;
        assert_eq!(email(store, user01()).await, platform("u.user@example.com"), "it told nothing");
        assert_eq!(set(store, agent01(), Some(operator("agent@example.com"))).await, SetEmailOutcome::Set);
        tell(store, Some("agent@example.com")).await;
        assert_eq!(email(store, user01()).await, platform("u.user@example.com"), "of another employee");
        tell(store, Some("user@example.com")).await;
        assert_eq!(email(store, user01()).await, platform("user@example.com"));
        tell(store, Some("")).await;
        assert_eq!(email(store, user01()).await, None, "there is none any more");
        assert_eq!(set(store, user01(), Some(operator("entered@example.com"))).await, SetEmailOutcome::Set);
        for told in [Some("user@example.com"), Some(""), None] {
            tell(store, told).await;
            assert_eq!(email(store, user01()).await, Some(operator("entered@example.com")), "{told:?}");
        }
    }
}

on_every_store! {
    async fn a_subject_is_given_once(fixture: &Fixture) {
        let store = fixture.store();
        let subject = async |key, candidate: &str| store.subject(key, candidate.to_owned()).await.unwrap();
        assert_eq!(store.person(&agent01()).await.unwrap().unwrap().subject, None);
        assert_eq!(subject(agent01(), "one").await.as_deref(), Some("one"));
        assert_eq!(subject(agent01(), "two").await.as_deref(), Some("one"));
        assert_eq!(store.person(&agent01()).await.unwrap().unwrap().subject.as_deref(), Some("one"));
        assert_eq!(subject(EmployeeKey::from_parts("ww", "nobody"), "three").await, None);
    }
}

on_every_store! {
    async fn a_user_id_of_another_person_gets_another_subject(fixture: &Fixture) {
        let store = fixture.store();
        signed_in(fixture, "first").await;
        assert_eq!(store.subject(agent01(), "one".to_owned()).await.unwrap().as_deref(), Some("one"));
        assert_eq!(set(store, agent01(), Some(operator("agent@example.com"))).await, SetEmailOutcome::Set);
        let renew = async |key| {
            let entry = LogEntry { event: AuditEvent::SubjectRenewed, ..entry() };
            fixture.node(1).renew_subject(ChangeAuthor::NoSession, key, at(DAY), entry).await.unwrap()
        };
        assert_eq!(renew(EmployeeKey::from_parts("ww", "nobody")).await, None);
        assert_eq!(renew(agent01()).await, Some(1));
        assert_eq!(logged(store, AuditEvent::SubjectRenewed).await, 1);
        store.wait_until_caught_up().await;
        assert_eq!(email(store, agent01()).await, None);
        assert!(!fixture.lives("first").await && grant(store, "first").await.is_none());
        assert_eq!(deliver(store).await, [sid("first", "desk")]);
        assert_eq!(store.subject(agent01(), "two".to_owned()).await.unwrap().as_deref(), Some("two"));
        assert_eq!(renew(agent01()).await, Some(0));
    }
}
