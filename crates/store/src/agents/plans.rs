//! The statements that read many agents, or run often, for the test that requires them to use an index.

use deskpass_core::Timestamp;

use super::AgentSelection;
use super::credentials::NEXT_CREDENTIALS;
use super::device::EVENT_BEFORE_LATEST;
use super::notice::claim;
use super::record::{agents_between, lockouts_between, next_agents, one_agent};
use crate::database::SqlValue;

/// The statements, each with its name and values.
pub(crate) fn statements() -> Vec<(&'static str, String, Vec<SqlValue<'static>>)> {
    let (now, until) = (Timestamp::from_millis(1_000), Timestamp::from_millis(60_000));
    let page = || args!["ww", "person500", 50_i64].to_vec();
    let between = || args!["ww", "person500", "ww", "person501"].to_vec();
    vec![
        ("agent", one_agent(), args!["ww", "person7"].to_vec()),
        ("next agents", next_agents(AgentSelection::Agents), args!["ww", "person500"].to_vec()),
        ("agents", agents_between(AgentSelection::Agents), between()),
        ("agents and devices", agents_between(AgentSelection::AgentsAndDevices), between()),
        ("lockouts of agents", lockouts_between(), between()),
        ("credentials", NEXT_CREDENTIALS.to_owned(), page()),
        ("claim notices", claim(), args![now, until, 10_i64].to_vec()),
        ("latest events of a kind", EVENT_BEFORE_LATEST.to_owned(), args!["ww", "person7", "sign_in", 2_i64].to_vec()),
    ]
}
