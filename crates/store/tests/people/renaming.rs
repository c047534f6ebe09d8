//! A person with another identifier keeps what they are, and the old record has nothing any more.

use deskpass_core::{Email, EmailSource, EmployeeKey, Holder, IdentifiedPerson, LeftReason, Role, Roles};
use deskpass_store::{
    AuditEvent, ChangeAuthor, EndReason, HolderOutcome, HolderReport, Leaving, LogEntry, NoticeSubject, PendingDevice,
    ReceivedEvent, RenameOutcome, RenameStage, Renaming, SessionLookup, Store,
};

use crate::agents::fixture::{DAY, Fixture, agent01, at, digest, entry, leaving, notice, on_every_store};
use crate::lists::scene::{bulk, sign_in};
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
        asked_at: None,
        identified_at: None,
        seen: false,
        holder: None,
    }
}

async fn rename(store: &Store, from: &EmployeeKey, to: &str) -> bool {
    store.rename_person(renaming(from, to)).await.unwrap() == RenameOutcome::Moved
}

/// As if the person with an identifier had signed in for the first time after the event.
async fn signed_in_early(fixture: &Fixture, id: &str) {
    bulk(fixture, &format!("UPDATE employee SET created_at = 100000 WHERE employee_key = '{id}'"), 0).await;
}

/// The platform was asked at 3 s, and said that the person is active.
fn renaming(from: &EmployeeKey, to: &str) -> Renaming {
    let entry = LogEntry { event: AuditEvent::EmployeeRenamed, at: at(3_000), ..entry() };
    let (from, to, deny_until) = (from.clone(), identified(to), at(DAY));
    Renaming {
        from,
        to,
        happened_at: at(3_000),
        onward_at: None,
        said: None,
        stage: RenameStage::Waiting,
        hold_until: at(DAY),
        asked_at: at(3_000),
        is_active: true,
        leaving: None,
        deny_until,
        code_notices: Vec::new(),
        doubt_notices: Vec::new(),
        entry,
    }
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
        assert!(!rename(store, &agent01(), "agent02").await, "it was recorded before");
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
        signed_in_early(fixture, "agent02").await;
        assert!(store.grant(BY, agent01(), Role::Security, entry()).await.unwrap());
        bulk(fixture, "UPDATE user_role SET by_hand = 0, by_rule = 1 WHERE employee_key = 'agent02'", 0).await;
        assert!(rename(store, &agent01(), "agent02").await);
        let origins = store.role_origins(key("agent02")).await.unwrap();
        let told: Vec<_> = origins.iter().map(|origin| (origin.role, origin.by_hand, origin.by_rule)).collect();
        assert!(told.contains(&(Role::User, true, true)) && told.contains(&(Role::Security, true, false)), "{told:?}");
    }
}

on_every_store! {
    async fn no_credential_stays_behind_or_moves(fixture: &Fixture) {
        let (store, partner) = (fixture.store(), EmployeeKey::from_parts("wwpartner", "p1"));
        fixture.set_password("hash").await;
        fixture.bind("sealed", &[digest("recovery")]).await;
        assert!(fixture.half("half", "hash").await);
        store.remember_browser(digest("browser"), agent01(), at(DAY)).await.unwrap();
        assert!(store.approve_link(BY, partner.clone(), agent01(), entry()).await.unwrap());
        assert!(rename(store, &agent01(), "agent02").await);
        assert!(store.agent(agent01()).await.unwrap().is_none(), "whoever gets the identifier next begins anew");
        assert!(!store.is_browser_known(digest("browser"), at(3_000)).await.unwrap());
        assert!(!fixture.half("half again", "hash").await);
        let agent = store.agent(key("agent02")).await.unwrap().unwrap();
        assert_eq!((agent.role, agent.disabled, agent.device_only), (Role::Agent, false, false));
        assert!(agent.password.is_none() && agent.device.is_none() && agent.recovery_codes == 0);
        assert_eq!(store.link(partner).await.unwrap().unwrap().target, key("agent02"));
        // The platform alone does not decide who holds the next ones.
        assert!(agent.code_needed);
        let pending = || PendingDevice { sealed: "new".to_owned(), until: at(DAY), by: None };
        assert!(!store.begin_device(BY, key("agent02"), pending(), at(4_000)).await.unwrap());
        store.reset_device(BY, key("agent02"), digest("code"), at(DAY), entry()).await.unwrap();
        assert!(!store.begin_device(BY, key("agent02"), pending(), at(4_000)).await.unwrap());
        let by_code = store.begin_device_by_code(BY, key("agent02"), pending(), digest("code"), at(4_000));
        assert!(by_code.await.unwrap());
        // Not even after another identifier.
        let again = Renaming { happened_at: at(4_000), ..renaming(&key("agent02"), "agent03") };
        assert_eq!(store.rename_person(again).await.unwrap(), RenameOutcome::Moved);
        assert!(store.agent(key("agent03")).await.unwrap().unwrap().code_needed);
    }
}

on_every_store! {
    async fn who_had_the_identifier_before_leaves_nothing(fixture: &Fixture) {
        let (store, partner) = (fixture.store(), EmployeeKey::from_parts("wwpartner", "p1"));
        fixture.employ("old").await;
        fixture.set_password("hash").await;
        fixture.bind("sealed", &[digest("recovery")]).await;
        assert!(store.grant(BY, agent01(), Role::Admin, entry()).await.unwrap());
        bulk(fixture, "UPDATE user_role SET by_rule = 1, until = 9000 WHERE employee_key = 'agent01'", 0).await;
        store.subject(agent01(), "subject".to_owned()).await.unwrap();
        let email = Email { address: "agent@example.com".to_owned(), source: EmailSource::Operator };
        store.set_email(BY, agent01(), Some(email), entry()).await.unwrap();
        assert!(store.approve_link(BY, partner.clone(), agent01(), entry()).await.unwrap());
        assert!(store.grant(BY, key("old"), Role::Security, entry()).await.unwrap());
        store.mark_left(leaving(&agent01(), LeftReason::Left, 2_000)).await.unwrap();
        let expected = store.role_origins(key("old")).await.unwrap();
        assert!(rename(store, &key("old"), "agent01").await);
        let new = stored(store, &agent01()).await;
        assert_eq!((new.left, new.roles), (None, Roles::NONE.with(Role::User).with(Role::Security)));
        assert_eq!(store.role_origins(agent01()).await.unwrap(), expected);
        assert_eq!((new.subject, new.email.map(|email| email.address).as_deref()), (None, Some("other@example.com")));
        assert!(store.agent(agent01()).await.unwrap().is_none());
        assert!(store.link(partner).await.unwrap().is_none());
    }
}

on_every_store! {
    async fn whether_the_new_identifier_is_admitted_the_platform_says(fixture: &Fixture) {
        let store = fixture.store();
        let left = |id: &str, at_millis| leaving(&key(id), LeftReason::Suspended, at_millis);
        for id in ["a", "b", "c", "d", "f"] {
            fixture.employ(id).await;
        }
        for id in ["newa", "newb", "newc"] {
            fixture.employ(id).await;
            sign_in(store, id, &key(id), 1_000, "192.0.2.1").await;
        }
        // One who left before the platform was asked is back; one who left since is not.
        store.mark_left(left("newa", 2_999)).await.unwrap();
        assert!(rename(store, &key("a"), "newa").await);
        assert_eq!(stored(store, &key("newa")).await.left, None);
        store.mark_left(left("newb", 3_001)).await.unwrap();
        assert!(rename(store, &key("b"), "newb").await);
        assert_eq!(stored(store, &key("newb")).await.left, Some(LeftReason::Suspended));
        // One who left is locked out at once.
        let gone = Some(Leaving { asked_at: Some(at(3_000)), ..left("newc", 3_000) });
        let renaming_c = Renaming { is_active: false, leaving: gone, ..renaming(&key("c"), "newc") };
        signed_in_early(fixture, "newc").await;
        assert_eq!(store.rename_person(renaming_c).await.unwrap(), RenameOutcome::Moved);
        assert_eq!(stored(store, &key("newc")).await.left, Some(LeftReason::Suspended));
        assert!(matches!(store.session(&digest("newc")).await.unwrap(), SessionLookup::Denied(EndReason::Left)));
        // Without an answer nobody comes back, and nobody leaves.
        store.mark_left(left("d", 2_000)).await.unwrap();
        for (old, new, expected) in [("d", "newd", Some(LeftReason::Suspended)), ("f", "newf", None)] {
            let unknown = Renaming { is_active: false, ..renaming(&key(old), new) };
            assert_eq!(store.rename_person(unknown).await.unwrap(), RenameOutcome::Moved);
            assert_eq!(stored(store, &key(new)).await.left, expected, "{new}");
        }
    }
}

on_every_store! {
    /// As far as the platform has said nothing newer.
    async fn who_left_under_the_new_identifier_begins_locked(fixture: &Fixture) {
        let store = fixture.store();
        let left = |id: &str| ReceivedEvent {
            digest: digest(id),
            happened_at: at(2_000),
            change: "{}".to_owned(),
            is_urgent: true,
            is_immediate: false,
            leaver: Some(key(id)),
            leaving: None,
        };
        store.receive_events(vec![left("newa"), left("newb")], at(2_000)).await.unwrap();
        for (old, new, is_active, expected) in [("a", "newa", false, Some(LeftReason::Left)), ("b", "newb", true, None)] {
            fixture.employ(old).await;
            let renaming = Renaming { is_active, ..renaming(&key(old), new) };
            assert_eq!(store.rename_person(renaming).await.unwrap(), RenameOutcome::Moved);
            assert_eq!(stored(store, &key(new)).await.left, expected, "{new}");
        }
    }
}

on_every_store! {
    async fn a_role_for_good_has_no_end_and_no_reason(fixture: &Fixture) {
        let store = fixture.store();
        fixture.employ("agent02").await;
        signed_in_early(fixture, "agent02").await;
        let timed = "UPDATE user_role SET by_hand = 0, until = 9000, reason = 'on call', told_at = 1
            WHERE employee_key = 'agent02'";
        bulk(fixture, timed, 0).await;
        assert!(rename(store, &agent01(), "agent02").await);
        let origins = store.role_origins(key("agent02")).await.unwrap();
        let [user] = &origins[..] else { panic!("{origins:?}") };
        assert_eq!((user.by_hand, user.until, user.reason.as_deref()), (true, None, None));
    }
}

/// What a person has, in the tests of two people.
async fn held(store: &Store, id: &str) -> (Option<LeftReason>, Roles, Option<String>) {
    let person = stored(store, &key(id)).await;
    (person.left, person.roles, person.subject)
}

/// Two people: `a` is a security officer, and `b` an agent who is signed in.
async fn two_people(fixture: &Fixture) -> [Roles; 2] {
    let store = fixture.store();
    for (id, role) in [("a", Role::Security), ("b", Role::Agent)] {
        fixture.employ(id).await;
        assert!(store.grant(BY, key(id), role, entry()).await.unwrap());
        store.subject(key(id), format!("subject of {id}")).await.unwrap();
    }
    sign_in(store, "b", &key("b"), 1_000, "192.0.2.1").await;
    let user = Roles::NONE.with(Role::User);
    [user.with(Role::Security), user.with(Role::Agent)]
}

fn at_stage(stage: RenameStage, (from, to): (&str, &str), happened_at: i64) -> Renaming {
    let doubt_notices = vec![notice(&format!("doubt {from} {to} {happened_at}"), NoticeSubject::IdentifierPassedOn)];
    // Without the platform's permission to see the status.
    Renaming { stage, doubt_notices, is_active: false, happened_at: at(happened_at), ..renaming(&key(from), to) }
}

on_every_store! {
    async fn two_people_are_never_merged_when_the_holder_is_renamed_as_well(fixture: &Fixture) {
        let (store, [a, b]) = (fixture.store(), two_people(fixture).await);
        let rename = async |stage, change, at| store.rename_person(at_stage(stage, change, at)).await.unwrap();
        for _ in 0..2 {
            assert_eq!(rename(RenameStage::Waiting, ("a", "b"), 2_000).await, RenameOutcome::Waiting);
            assert_eq!(held(store, "b").await, (Some(LeftReason::Renamed), b, Some("subject of b".to_owned())));
        }
        assert!(!fixture.lives("b").await);
        for _ in 0..2 {
            let is_back = store.mark_returned(key("b"), at(2 * DAY), entry()).await.unwrap();
            assert!(!is_back, "a sign-in would be the other's, however late");
            // The lock does not end by the clock, nor by its repair.
            store.repair_clock(at(4_000), at(DAY), entry()).await.unwrap();
        }
        assert_eq!(rename(RenameStage::Waiting, ("b", "c"), 1_500).await, RenameOutcome::Moved);
        assert_eq!(rename(RenameStage::Waiting, ("a", "b"), 2_000).await, RenameOutcome::Moved);
        for _ in 0..2 {
            assert_eq!(held(store, "b").await, (None, a, Some("subject of a".to_owned())));
            assert_eq!(held(store, "c").await, (None, b, Some("subject of b".to_owned())));
            assert_eq!(rename(RenameStage::Over, ("a", "b"), 2_000).await, RenameOutcome::Nothing);
            assert_eq!(rename(RenameStage::Over, ("b", "c"), 1_500).await, RenameOutcome::Nothing);
        }
        assert_eq!(store.pending_notices().await.unwrap(), 0);
    }
}

on_every_store! {
    async fn the_holder_of_an_identifier_that_passed_on_keeps_nothing_once_the_wait_is_over(fixture: &Fixture) {
        let (store, [a, _]) = (fixture.store(), two_people(fixture).await);
        let rename = async |stage, change, at| store.rename_person(at_stage(stage, change, at)).await.unwrap();
        assert_eq!(rename(RenameStage::Waiting, ("a", "b"), 2_000).await, RenameOutcome::Waiting);
        assert_eq!(rename(RenameStage::Over, ("a", "b"), 2_000).await, RenameOutcome::Moved);
        assert!(!fixture.lives("b").await);
        assert_eq!(held(store, "b").await, (None, a, Some("subject of a".to_owned())));
        assert_eq!(store.pending_notices().await.unwrap(), 1);
        // Whatever comes later about the former holder, also of an exchange of two identifiers.
        for (change, happened_at) in [(("b", "c"), 1_500), (("b", "a"), 2_500)] {
            assert_eq!(rename(RenameStage::Over, change, happened_at).await, RenameOutcome::Nothing, "{change:?}");
            assert_eq!(held(store, "b").await.1, a, "{change:?}");
        }
        assert!(store.listed_person(key("c")).await.unwrap().is_none());
        assert_eq!(held(store, "a").await, (None, Roles::NONE, None), "the next holder begins anew");
    }
}

on_every_store! {
    async fn what_cannot_be_decided_ends_for_both(fixture: &Fixture) {
        let (store, _) = (fixture.store(), two_people(fixture).await);
        sign_in(store, "a", &key("a"), 1_000, "192.0.2.1").await;
        let rename = async |stage, change, at| store.rename_person(at_stage(stage, change, at)).await.unwrap();
        assert_eq!(rename(RenameStage::Undecidable, ("b", "a"), 2_000).await, RenameOutcome::Undecided);
        for id in ["a", "b"] {
            assert!(!fixture.lives(id).await, "{id}");
            assert_eq!(held(store, id).await, (None, Roles::NONE, None), "{id}");
        }
        assert_eq!(store.pending_notices().await.unwrap(), 1);
        assert_eq!(rename(RenameStage::Over, ("a", "b"), 2_000).await, RenameOutcome::Nothing);
    }
}

on_every_store! {
    async fn a_record_that_was_added_after_the_event_is_another_persons(fixture: &Fixture) {
        let (store, [a, _]) = (fixture.store(), two_people(fixture).await);
        bulk(fixture, "UPDATE employee SET created_at = 200000 WHERE employee_key = 'a'", 0).await;
        let rename = async |stage, change, at| store.rename_person(at_stage(stage, change, at)).await.unwrap();
        assert_eq!(rename(RenameStage::Waiting, ("a", "c"), 2_000).await, RenameOutcome::Nothing);
        assert_eq!(held(store, "a").await, (None, a, Some("subject of a".to_owned())));
        assert!(store.listed_person(key("c")).await.unwrap().is_none());
        // One that was added about then may be either's.
        assert_eq!(rename(RenameStage::Waiting, ("a", "d"), 190_000).await, RenameOutcome::Undecided);
        assert_eq!(held(store, "a").await.1, Roles::NONE);
    }
}

on_every_store! {
    async fn a_record_that_was_added_after_the_identifier_passed_on_again_is_another_persons(fixture: &Fixture) {
        let store = fixture.store();
        let user = Roles::NONE.with(Role::User);
        let rows = [
            ("passed on", Some(70_000), None, RenameOutcome::Undecided, true, user),
            ("about then", Some(190_000), None, RenameOutcome::Undecided, false, Roles::NONE),
            ("later", Some(300_000), None, RenameOutcome::Moved, false, user.with(Role::Security)),
            ("never", None, None, RenameOutcome::Moved, false, user.with(Role::Security)),
            ("left", None, Some(100_000), RenameOutcome::Undecided, true, user),
        ];
        for (number, (name, onward_at, left_at, expected, lives, roles)) in rows.into_iter().enumerate() {
            let (from, to) = (format!("from{number}"), format!("to{number}"));
            for id in [&from, &to] {
                fixture.employ(id).await;
            }
            assert!(store.grant(BY, key(&from), Role::Security, entry()).await.unwrap());
            bulk(fixture, &format!("UPDATE employee SET created_at = 200000 WHERE employee_key = '{to}'"), 0).await;
            sign_in(store, &to, &key(&to), 1_000, "192.0.2.1").await;
            if let Some(left_at) = left_at {
                store.mark_left(leaving(&key(&from), LeftReason::Left, left_at)).await.unwrap();
            }
            let renaming = at_stage(RenameStage::Over, (&from, &to), 10_000);
            let renaming = Renaming { onward_at: onward_at.map(at), ..renaming };
            assert_eq!(store.rename_person(renaming).await.unwrap(), expected, "{name}");
            assert_eq!((fixture.lives(&to).await, held(store, &to).await.1), (lives, roles), "{name}");
            assert_eq!(held(store, &from).await.1, Roles::NONE, "{name}");
        }
        // The event comes even later: the roles are not the stranger's.
        let later = at_stage(RenameStage::Over, ("to3", "last"), 70_000);
        assert_eq!(store.rename_person(later).await.unwrap(), RenameOutcome::Moved);
        assert_eq!(held(store, "last").await.1, user.with(Role::Security));
        assert_eq!(held(store, "to3").await.1, Roles::NONE);
    }
}

on_every_store! {
    async fn two_changes_of_one_person_may_be_handled_long_afterwards(fixture: &Fixture) {
        let (store, [a, _]) = (fixture.store(), two_people(fixture).await);
        for (from, to, happened_at) in [("a", "c", 2_000), ("c", "d", 3_000)] {
            let renaming = at_stage(RenameStage::Waiting, (from, to), happened_at);
            let late = Renaming { entry: LogEntry { at: at(500_000), ..renaming.entry.clone() }, ..renaming };
            assert_eq!(store.rename_person(late).await.unwrap(), RenameOutcome::Moved, "{from} -> {to}");
        }
        assert_eq!(held(store, "d").await, (None, a, Some("subject of a".to_owned())));
    }
}

on_every_store! {
    async fn an_answer_from_before_an_identifier_passed_on_is_not_about_its_present_holder(fixture: &Fixture) {
        let store = fixture.store();
        assert!(store.grant(BY, agent01(), Role::Admin, entry()).await.unwrap());
        let follow = async |id: &str, name: &str, asked_at: i64| {
            let said = Holder { source: "wecom/ww".to_owned(), name: Some(name.to_owned()), ..Holder::default() };
            let (key, default_role, now, deny_until) = (key(id), None, at(4_000), at(DAY));
            let report = HolderReport { key, said, asked_at: at(asked_at), default_role, now, deny_until };
            store.follow_holder(report, None).await.unwrap()
        };
        assert_eq!(follow("agent01", "Ann", 1_000).await, HolderOutcome::Confirmed);
        assert!(rename(store, &agent01(), "agent02").await);
        assert_eq!(follow("agent02", "Bo", 2_999).await, HolderOutcome::Confirmed, "a former holder");
        let identified_at = |at_millis| IdentifiedPerson { identified_at: Some(at(at_millis)), ..identified("agent02") };
        let bo = |who: IdentifiedPerson| IdentifiedPerson { name: Some("Bo".to_owned()), ..who };
        assert!(!store.upsert_person(bo(identified_at(2_999)), at(4_000)).await.unwrap());
        assert_eq!(stored(store, &key("agent02")).await.name, "New name");
        assert_eq!(follow("agent02", "Ann", 3_000).await, HolderOutcome::Confirmed);
        assert!(matches!(follow("agent02", "Bo", 3_000).await, HolderOutcome::NeedsAlarm(_)));
        assert!(store.upsert_person(bo(identified_at(3_000)), at(4_000)).await.unwrap());
        assert_eq!(stored(store, &key("agent02")).await.name, "Bo");
    }
}

on_every_store! {
    async fn without_an_answer_of_the_platform_nothing_is_decided(fixture: &Fixture) {
        let (store, [a, b]) = (fixture.store(), two_people(fixture).await);
        let rename = async |stage, change, at| store.rename_person(at_stage(stage, change, at)).await.unwrap();
        for _ in 0..3 {
            let unanswered = rename(RenameStage::Unanswered, ("a", "b"), 2_000).await;
            assert_eq!(unanswered, RenameOutcome::Waiting);
        }
        assert_eq!((held(store, "a").await.1, held(store, "b").await.1), (a, b));
        assert_eq!(store.pending_notices().await.unwrap(), 1, "once");
        assert!(!fixture.lives("b").await, "nobody is signed in whose identifier passed on");
        assert_eq!(rename(RenameStage::Waiting, ("b", "c"), 1_500).await, RenameOutcome::Moved);
        assert_eq!(rename(RenameStage::Over, ("a", "b"), 2_000).await, RenameOutcome::Moved);
        assert_eq!((held(store, "b").await.1, held(store, "c").await.1), (a, b));
    }
}

on_every_store! {
    /// A node of version 0.2.0 empties a record and leaves who held the identifier.
    async fn whose_identifier_an_empty_record_had_is_forgotten_with_the_next_holder(fixture: &Fixture) {
        let store = fixture.store();
        for (id, waits) in [("moved", false), ("waiting", true)] {
            fixture.employ(id).await;
            let text = "UPDATE employee SET holder = '{\"source\":\"\",\"name\":\"Ada\"}', claimant = '{\"source\":\"\"}',
                unconfirmed_at = 5, left_at = 2000, left_why = 'renamed'";
            bulk(fixture, &format!("{text} WHERE employee_key = '{id}'"), 0).await;
            if waits {
                let text = "INSERT INTO identifier_change (corp_id, employee_key, changed_at, waits)
                    SELECT corp_id, employee_key, 0, 1 FROM employee WHERE employee_key = 'waiting'";
                bulk(fixture, text, 0).await;
            }
            store.forget_person(&key(id));
            assert_eq!(store.mark_returned(key(id), at(3_000), entry()).await.unwrap(), !waits, "{id}");
            if waits {
                assert!(store.readmit(key(id), entry()).await.unwrap(), "an operator knows");
                assert!(!store.readmit(key(id), entry()).await.unwrap());
                store.mark_left(leaving(&key(id), LeftReason::Left, 4_000)).await.unwrap();
                assert!(store.mark_returned(key(id), at(5_000), entry()).await.unwrap(), "it waits no more");
            }
            assert_eq!(store.unconfirmed_holder(key(id)).await.unwrap().is_some(), waits, "{id}");
        }
    }
}
