//! A person with another identifier keeps what they are, and the old record has nothing any more.

use deskpass_core::{Email, EmailSource, EmployeeKey, IdentifiedPerson, LeftReason, Role, Roles};
use deskpass_store::{AuditEvent, ChangeAuthor, EndReason, LogEntry, SessionLookup, Store};

use crate::agents::fixture::{DAY, Fixture, agent01, at, digest, entry, on_every_store};
use crate::lists::scene::bulk;
use crate::oidc::scene::{deliver, sid, signed_in};
use crate::people::scene::{details, key, stored};

const BY: ChangeAuthor = ChangeAuthor::NoSession;

fn identified(id: &str) -> IdentifiedPerson {
    IdentifiedPerson {
        key: key(id),
        employee_id: id.to_uppercase(),
        through: None,
        name: Some("New name".to_owned()),
        department: None,
        department_id: None,
        avatar: None,
        email: Some("other@example.com".to_owned()),
    }
}

async fn rename(store: &Store, from: &EmployeeKey, to: &str) -> bool {
    let entry = LogEntry { event: AuditEvent::EmployeeRenamed, at: at(3_000), ..entry() };
    store.rename_person(from.clone(), identified(to), at(DAY), entry).await.unwrap()
}

on_every_store! {
    async fn the_new_record_has_what_the_old_one_had(fixture: &Fixture) {
        let store = fixture.store();
        assert!(store.grant(BY, agent01(), Role::Admin, entry()).await.unwrap());
        assert!(store.grant(BY, agent01(), Role::Security, entry()).await.unwrap());
        let origins = format!("UPDATE user_role SET by_hand = 0, by_rule = 1, until = 9000, reason = 'on call' WHERE role_id = {}", Role::Security.id());
        bulk(fixture, &origins, 0).await;
        let expected = store.role_origins(agent01()).await.unwrap();
        store.subject(agent01(), "subject".to_owned()).await.unwrap();
        let email = Email { address: "agent@example.com".to_owned(), source: EmailSource::Operator };
        store.set_email(BY, agent01(), Some(email.clone()), entry()).await.unwrap();
        signed_in(fixture, "one").await;
        assert!(rename(&fixture.node(1), &agent01(), "agent02").await);
        let (old, new) = (stored(store, &agent01()).await, stored(store, &key("agent02")).await);
        assert_eq!((old.left, old.roles, old.subject, old.email), (Some(LeftReason::Renamed), Roles::NONE, None, None));
        let roles = Roles::NONE.with(Role::User).with(Role::Admin).with(Role::Security);
        assert_eq!((new.left, new.roles), (None, roles));
        assert_eq!((new.subject.as_deref(), new.email), (Some("subject"), Some(email)), "the operator's entry stays");
        assert_eq!((&*new.employee_id, &*new.name), ("AGENT02", "New name"));
        assert_eq!(store.role_origins(key("agent02")).await.unwrap(), expected);
        assert!(matches!(store.session(&digest("one")).await.unwrap(), SessionLookup::Denied(EndReason::Left)));
        assert_eq!(deliver(store).await, [sid("one", "desk")]);
        assert!(rename(store, &agent01(), "agent02").await, "it was recorded before");
        assert_eq!(details(store, "ww", AuditEvent::EmployeeRenamed).await, ["agent01 -> agent02; 1 session(s) ended"]);
        assert!(!rename(store, &key("nobody"), "agent03").await);
        assert!(store.listed_person(key("agent03")).await.unwrap().is_none());
    }
}

on_every_store! {
    async fn a_disabled_person_stays_disabled_under_another_identifier(fixture: &Fixture) {
        let store = fixture.store();
        store.disable(BY, agent01(), true, at(DAY), entry()).await.unwrap();
        assert!(rename(store, &agent01(), "agent02").await);
        let person = stored(store, &key("agent02")).await;
        assert_eq!((person.disabled, person.left), (true, None));
        assert_eq!(person.email.map(|email| email.address).as_deref(), Some("other@example.com"));
    }
}

on_every_store! {
    async fn a_record_that_exists_takes_the_roles_over(fixture: &Fixture) {
        let store = fixture.store();
        fixture.employ("agent02").await;
        assert!(store.grant(BY, agent01(), Role::Security, entry()).await.unwrap());
        bulk(fixture, "UPDATE user_role SET by_hand = 0, by_rule = 1 WHERE employee_key = 'agent02'", 0).await;
        assert!(rename(store, &agent01(), "agent02").await);
        let origins = store.role_origins(key("agent02")).await.unwrap();
        let told: Vec<_> = origins.iter().map(|origin| (origin.role, origin.by_hand, origin.by_rule)).collect();
        assert!(told.contains(&(Role::User, true, true)) && told.contains(&(Role::Security, true, false)), "{told:?}");
    }
}
