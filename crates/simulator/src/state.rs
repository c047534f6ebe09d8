//! The state of the simulator, and what every request sees of it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use deskpass_core::{Clock, Entropy, HostNames};
use http::Response;

use crate::SimulatorConfig;
use crate::calls::Calls;
use crate::codes::Codes;
use crate::dingtalk::state::DingtalkState;
use crate::faults::Faults;
use crate::feishu::state::FeishuState;
use crate::inbox::Inbox;
use crate::switches::Switches;
use crate::tokens::IssuedTokens;
use crate::user_tokens::UserTokens;
use crate::wecom::cards::Cards;

pub(crate) const MAX_BODY_BYTES: usize = 64 * 1024;

/// The result of a request.
#[derive(Debug)]
pub enum SimulatorReply {
    /// A response.
    Response(Response<Bytes>),
    /// No response: the connection must be closed.
    HangUp,
}

/// The configuration and the state behind a simulator.
pub(crate) struct SimulatorInner {
    pub(crate) config: SimulatorConfig,
    pub(crate) clock: Clock,
    pub(crate) entropy: Entropy,
    pub(crate) state: Mutex<SimulatorState>,
    /// The accepted hosts; `None` if the surrounding service checks them.
    pub(crate) hosts: Option<HostNames>,
}

#[derive(Debug, Default)]
pub(crate) struct SimulatorState {
    pub(crate) tokens: IssuedTokens,
    pub(crate) user_tokens: UserTokens,
    pub(crate) codes: Codes,
    pub(crate) inbox: Inbox,
    /// WeCom's cards that call back.
    pub(crate) cards: Cards,
    pub(crate) faults: Faults,
    pub(crate) switches: Switches,
    pub(crate) calls: Calls,
    pub(crate) dingtalk: DingtalkState,
    /// The messages on Feishu.
    pub(crate) feishu: FeishuState,
}

impl SimulatorInner {
    pub(crate) fn state(&self) -> MutexGuard<'_, SimulatorState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
