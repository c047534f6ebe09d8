//! Whether the platform is out: what people's sign-ins show, and where they show nothing, what a look shows.
//!
//! An outage opens another way in, so nobody may be able to bring one about. What comes of codes that people bring can only
//! show that the platform is there, or give cause for a look; that it is out is decided by what this service itself asked.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::{Instant, sleep};

use crate::api::{Api, ApiCall};
use crate::errcode::{FixableBy, explain};
use crate::http_transport::{BUSY_ERRCODES, RETRY_PAUSE};
use crate::shared_task::{ReadyOrRunning, SharedTask};
use crate::{Error, Identity, Unreachable, Wecom};

/// How many attempts without a response make an outage.
const MAX_PROBE_ATTEMPTS: u32 = 3;
/// A code that is nobody's.
const PROBE_CODE: &str = "deskpass-is-looking";

/// The look under way, if there is one.
#[derive(Default)]
pub(crate) struct OutageProbe(Mutex<Option<SharedTask<bool>>>);

impl OutageProbe {
    fn running(&self) -> MutexGuard<'_, Option<SharedTask<bool>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wecom {
    /// Whether people cannot sign in through the platform right now: it gives no response, or lets nobody in until an
    /// administrator has mended something. A limit that was met is no outage, for anybody can meet it. What was found out
    /// in the last seconds stands, so this asks the platform rarely, and takes no longer than one operation may.
    pub async fn is_down(&self) -> bool {
        // A look that ended without a word, as when the service stops, is no reason to open another way in.
        self.known_or_probe().get().await.unwrap_or(false)
    }

    /// What is known, or the look that will show it.
    fn known_or_probe(&self) -> ReadyOrRunning<bool> {
        let mut running = self.outage_probe().running();
        if let Some(out) = self.breakers().known_outage() {
            return ReadyOrRunning::Ready(out);
        }
        let probe = running.clone().filter(SharedTask::is_running);
        ReadyOrRunning::Running(probe.unwrap_or_else(|| running.insert(self.start_probe()).clone()))
    }

    fn start_probe(&self) -> SharedTask<bool> {
        let this = self.clone();
        SharedTask::spawn(async move {
            let out = this.probe().await;
            this.breakers().record_probe(out);
            *this.outage_probe().running() = None;
            out
        })
    }

    async fn probe(&self) -> bool {
        let deadline = self.deadline();
        for attempt in 1..=MAX_PROBE_ATTEMPTS {
            if let Some(out) = self.attempt(deadline).await {
                return out;
            }
            if attempt == MAX_PROBE_ATTEMPTS || Instant::now() + RETRY_PAUSE >= deadline {
                break;
            }
            sleep(RETRY_PAUSE).await;
        }
        self.breakers().probe_failed();
        true
    }

    /// Asks what a sign-in asks. A response that cannot be read, and that the platform is busy, say as little as none.
    async fn attempt(&self, deadline: Instant) -> Option<bool> {
        if let Err(error) = self.token(deadline).await {
            return if is_local_error(&error) { Some(false) } else { answered(&error).map(|_| true) };
        }
        let call = ApiCall::get(Api::UserInfo, &[("code", PROBE_CODE)]).urgent();
        let told = self.request(&call, deadline).await.and_then(|response| Ok(Identity::read(&response)?));
        match told {
            Ok(_) => Some(false),
            Err(error) if is_local_error(&error) => Some(false),
            Err(error) => answered(&error).map(|errcode| explain(errcode).fixable_by == FixableBy::Administrator),
        }
    }
}

/// Whether it says nothing of the platform that there was no response.
fn is_local_error(error: &Error) -> bool {
    matches!(error, Error::Unreachable(Unreachable::NoLocalSockets))
}

/// The platform's number for why it refused, where it had the time to look.
fn answered(error: &Error) -> Option<i64> {
    error.errcode().filter(|errcode| !BUSY_ERRCODES.contains(errcode))
}
