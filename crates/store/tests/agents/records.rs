//! Agent records: listed, changed, disabled.

use deskpass_core::{EmployeeKey, LoginMethod, Role};
use deskpass_store::{AgentSelection, BeginOutcome, ChangeAuthor, NewSession, Precondition};

use crate::agents::fixture::{DAY, Fixture, agent01, at, digest, entry, new_session, on_every_store};
use crate::lists::scene::bulk;

fn unknown() -> EmployeeKey {
    EmployeeKey::from_parts("ww", "nobody")
}

on_every_store! {
    async fn what_depends_on_a_record_ends_with_it(fixture: &Fixture) {
        let store = fixture.store();
        fixture.session("assigned", LoginMethod::Oauth2, None).await;
        fixture.session("by default", LoginMethod::Oauth2, Some(Role::Agent)).await;
        fixture.session("by password", LoginMethod::Password, None).await;
        store.remember_browser(digest("browser"), agent01(), at(DAY)).await.unwrap();
        assert_eq!(store.agent_role(agent01()).await.unwrap(), Some(Role::Agent));
        assert_eq!(store.disable_agent(ChangeAuthor::NoSession, agent01(), at(DAY), entry()).await.unwrap(), Some(2));
        assert!(fixture.lives("assigned").await && !fixture.lives("by default").await && !fixture.lives("by password").await);
        assert!(!store.is_browser_known_to(digest("browser"), agent01(), at(0)).await.unwrap());
        assert_eq!(store.agent_role(agent01()).await.unwrap(), None);
        assert!(store.agent(agent01()).await.unwrap().unwrap().disabled);
        assert!(store.enable_agent(ChangeAuthor::NoSession, agent01(), entry()).await.unwrap());
        assert_eq!(store.agent_role(agent01()).await.unwrap(), Some(Role::Agent));
        assert_eq!(store.disable_agent(ChangeAuthor::NoSession, unknown(), at(DAY), entry()).await.unwrap(), None);
        assert!(!store.enable_agent(ChangeAuthor::NoSession, unknown(), entry()).await.unwrap());
    }
}

on_every_store! {
    async fn another_role_ends_sessions_in_which_the_old_one_is_lent(fixture: &Fixture) {
        let store = fixture.store();
        fixture.session("by default", LoginMethod::Oauth2, Some(Role::Agent)).await;
        fixture.session("by password", LoginMethod::Password, None).await;
        assert_eq!(store.set_agent_role(ChangeAuthor::NoSession, agent01(), Role::Supervisor, at(DAY), entry()).await.unwrap(), Some(1));
        assert!(!fixture.lives("by default").await && fixture.lives("by password").await);
        assert_eq!(store.agent_role(agent01()).await.unwrap(), Some(Role::Supervisor));
        assert_eq!(store.set_agent_role(ChangeAuthor::NoSession, unknown(), Role::Admin, at(DAY), entry()).await.unwrap(), None);
    }
}

on_every_store! {
    async fn a_session_begins_with_what_its_record_lends_at_that_moment(fixture: &Fixture) {
        let store = fixture.store();
        let begin = async |name, role| {
            let new_session = new_session(name, LoginMethod::Oauth2, Some(role), Precondition::None);
            store.begin_session(NewSession { default_role_from_record: true, ..new_session }).await.unwrap()
        };
        assert_eq!(begin("as it is", Role::Agent).await, BeginOutcome::Begun);
        store.set_agent_role(ChangeAuthor::NoSession, agent01(), Role::Supervisor, at(DAY), entry()).await.unwrap();
        assert_eq!(begin("another role", Role::Agent).await, BeginOutcome::DefaultRoleRevoked);
        store.disable_agent(ChangeAuthor::NoSession, agent01(), at(DAY), entry()).await.unwrap();
        assert_eq!(begin("none", Role::Supervisor).await, BeginOutcome::DefaultRoleRevoked);
        assert!(!fixture.lives("another role").await && !fixture.lives("none").await);
        fixture.session("the usual role", LoginMethod::Oauth2, Some(Role::User)).await;
    }
}

on_every_store! {
    async fn the_list_shows_everything_of_a_record(fixture: &Fixture) {
        let store = fixture.store();
        fixture.set_password("hash").await;
        fixture.bind("sealed", &[digest("a"), digest("b"), digest("c")]).await;
        let listed = store.agents(AgentSelection::Agents, None, 10, at(0)).await.unwrap().agents.remove(0);
        assert_eq!((&*listed.employee_id, &*listed.name), ("AGENT01", "Name of agent01"));
        assert!(!listed.employee_disabled && !listed.locked && listed.shut_until.is_none());
        let agent = listed.agent;
        assert_eq!((agent.key, agent.role, agent.created_at), (agent01(), Role::Agent, at(0)));
        assert_eq!((agent.password.as_deref(), agent.recovery_codes), (Some("hash"), 3));
        assert!(!agent.disabled && agent.device.is_some());
        store.disable(ChangeAuthor::NoSession, agent01(), true, at(DAY), entry()).await.unwrap();
        assert!(store.agents(AgentSelection::Agents, None, 10, at(0)).await.unwrap().agents.remove(0).employee_disabled);
    }
}

on_every_store! {
    async fn a_page_of_agents_scans_a_limited_number_of_devices(fixture: &Fixture) {
        let store = fixture.store();
        for statement in [
            "INSERT INTO employee (corp_id, employee_key, employee_id, name, department, avatar, created_at)
             SELECT 'ww', 'a' || n, 'a' || n, 'Name', '', '', 0 FROM numbers",
            "INSERT INTO agent (corp_id, employee_key, role_id, created_at, device_only)
             SELECT 'ww', 'a' || n, 3, 0, 1 FROM numbers",
        ] {
            bulk(fixture, statement, 10_100).await;
        }
        let page = store.agents(AgentSelection::Agents, None, 10, at(0)).await.unwrap();
        assert!(page.agents.is_empty() && page.next.is_some(), "{page:?}");
        let rest = store.agents(AgentSelection::Agents, page.next, 10, at(0)).await.unwrap();
        assert_eq!((&rest.agents[0].agent.key, rest.agents.len(), rest.next), (&agent01(), 1, None));
    }
}

on_every_store! {
    async fn a_browser_is_known_for_its_agent_and_for_a_while(fixture: &Fixture) {
        let store = fixture.store();
        let browser = digest("browser");
        store.remember_browser(browser, unknown(), at(100)).await.unwrap();
        assert!(!store.is_browser_known_to(browser, unknown(), at(0)).await.unwrap(), "they are no agent");
        store.remember_browser(browser, agent01(), at(100)).await.unwrap();
        assert!(store.is_browser_known_to(browser, agent01(), at(99)).await.unwrap());
        assert!(!store.is_browser_known_to(browser, agent01(), at(100)).await.unwrap());
        assert!(!store.is_browser_known_to(browser, unknown(), at(0)).await.unwrap());
        store.remember_browser(browser, agent01(), at(200)).await.unwrap();
        assert!(store.is_browser_known_to(browser, agent01(), at(199)).await.unwrap());
    }
}
