//! A call of a platform's API: what it consists of, and the faults that replace its answer.

use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use deskpass_core::{Entropy, Timestamp};
use http::{HeaderMap, Response};

use crate::SimulatorConfig;
use crate::faults::FaultCode;
use crate::query::QueryParams;
use crate::state::{SimulatorInner, SimulatorReply};

/// A call of the API.
pub(crate) struct ApiCall<'a> {
    pub(crate) config: &'a SimulatorConfig,
    pub(crate) entropy: Entropy,
    pub(crate) now: Timestamp,
    pub(crate) peer: IpAddr,
    pub(crate) query: &'a QueryParams,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: &'a [u8],
}

/// What call statistics keep of the parameters of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recorded {
    /// Their names.
    Names,
    /// Their names and values, except those of secrets.
    Values,
}

/// Counts a call, and applies a fault that is queued for it. `None`: the call must be answered as usual. `refusal` is the
/// platform's answer with an error code; the fault may change its status.
pub(crate) async fn apply_fault(
    inner: &SimulatorInner,
    api: &'static str,
    parameters: &QueryParams,
    recorded: Recorded,
    refusal: impl FnOnce(&FaultCode) -> Response<Bytes>,
) -> Option<SimulatorReply> {
    let fault = {
        let mut state = inner.state();
        state.calls.count(api, parameters, recorded == Recorded::Values);
        state.faults.take(api)
    }?;
    tokio::time::sleep(Duration::from_millis(fault.delay_ms)).await;
    if fault.drop {
        return Some(SimulatorReply::HangUp);
    }
    fault.answers().then(|| SimulatorReply::Response(fault.answer(fault.errcode.as_ref().map(refusal))))
}
