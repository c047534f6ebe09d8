//! The state of the simulator, and what every request sees of it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use deskpass_core::{Clock, Entropy, HostNames, Timestamp};
use http::Response;

use crate::SimulatorConfig;
use crate::address_book::AddressBook;
use crate::calls::Calls;
use crate::codes::Codes;
use crate::dingtalk::state::DingtalkState;
use crate::event_log::EventLog;
use crate::faults::Faults;
use crate::feishu::state::FeishuState;
use crate::inbox::Inbox;
use crate::rate::CallRates;
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
    pub(crate) book: AddressBook,
    pub(crate) tokens: IssuedTokens,
    pub(crate) user_tokens: UserTokens,
    pub(crate) codes: Codes,
    pub(crate) inbox: Inbox,
    /// WeCom's cards that call back.
    pub(crate) cards: Cards,
    pub(crate) faults: Faults,
    pub(crate) switches: Switches,
    pub(crate) calls: Calls,
    pub(crate) rates: CallRates,
    /// Where events are sent, and those that were sent.
    pub(crate) events: EventLog,
    pub(crate) dingtalk: DingtalkState,
    /// The messages on Feishu.
    pub(crate) feishu: FeishuState,
}

impl SimulatorInner {
    pub(crate) fn state(&self) -> MutexGuard<'_, SimulatorState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SimulatorState {
    /// Whether there were too many calls of this API in this second, if a switch limits them.
    pub(crate) fn is_over_rate(&mut self, api: &'static str, now: Timestamp) -> bool {
        self.switches.calls_per_second.is_some_and(|limit| self.rates.count(api, now) > limit)
    }
}
