//! A platform as a whole.

use std::fmt;

use crate::client::{CallListener, Circuit, ObservedDate};
use crate::{
    Answer, Check, Deployment, Directory, Error, ErrorCode, Explanation, Inbound, Notify, Pending, PlatformKind, SignIn,
};

/// A platform: its capabilities, and what operators need to know about it.
pub trait Messenger: SignIn + Directory + Notify + Inbound + fmt::Debug {
    /// Which platform it is.
    fn kind(&self) -> PlatformKind;

    /// Where the ids of people come from: ids are compared only with those of the same place. Where the platform has none, that of their
    /// names.
    fn holder_source(&self) -> String;

    /// Explains an error code, with the terms of the platform's console.
    fn explain(&self, code: &ErrorCode) -> Explanation;

    /// What to do about a failed call, for an operator, in English and in Chinese; `None` if the explanation of its code says
    /// it all.
    fn advise(&self, error: &Error) -> Option<[String; 2]>;

    /// Whether users cannot sign in through the platform at this moment: it does not respond, or refuses all sign-ins until an
    /// administrator fixes the cause. A result of the last seconds is reused, so this rarely calls the platform.
    fn is_down(&self) -> Pending<'_, bool>;

    /// The state of the circuit breakers.
    fn circuit(&self) -> Circuit;

    /// The time of the platform's clock, as the platform writes it.
    fn date(&self) -> Answer<'_, Option<String>>;

    /// The newest date in a response of the platform, without a call.
    fn last_date(&self) -> Option<ObservedDate>;

    /// Calls `listener` with a report of each call to the platform. There is one listener.
    fn observe_calls(&self, listener: CallListener);

    /// The names of all APIs that the client calls, for metrics.
    fn apis(&self) -> &'static [&'static str];

    /// Checks whether the platform accepts the credentials; a valid token is sufficient proof.
    fn check_credentials(&self) -> Answer<'_, ()>;

    /// Checks the configuration at the platform: permissions, registered addresses, trusted machines.
    fn check_configuration<'a>(&'a self, deployment: &'a Deployment<'a>) -> Pending<'a, Vec<Check>>;
}
