//! Whether the platform is out: what people's sign-ins show, and where they show nothing, what a look shows.
//!
//! An outage opens another way in, so nobody may be able to bring one about. What comes of codes that people bring can only
//! show that the platform is there, or give cause for a look; that it is out is decided by what this service itself asked.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::{Instant, sleep};

use crate::api::{Api, Question};
use crate::errcode::{Actor, meaning};
use crate::flight::{Flight, Needed};
use crate::line::{BUSY, PAUSE};
use crate::{Error, Identity, Unreachable, Wecom};

/// How many attempts without an answer make an outage.
const ATTEMPTS: u32 = 3;
/// A code that is nobody's.
const NOBODYS_CODE: &str = "deskpass-is-looking";

/// The look under way, if there is one.
#[derive(Default)]
pub(crate) struct Lookout(Mutex<Option<Flight<bool>>>);

impl Lookout {
    fn under_way(&self) -> MutexGuard<'_, Option<Flight<bool>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wecom {
    /// Whether people cannot sign in through the platform right now: it gives no answer, or lets nobody in until an
    /// administrator has mended something. A limit that was met is no outage, for anybody can meet it. What was found out
    /// in the last seconds stands, so this asks the platform rarely, and takes no longer than one operation may.
    pub async fn is_out(&self) -> bool {
        // A look that ended without a word, as when the service stops, is no reason to open another way in.
        self.known_or_look().get().await.unwrap_or(false)
    }

    /// What is known, or the look that will show it.
    fn known_or_look(&self) -> Needed<bool> {
        let mut under_way = self.lookout().under_way();
        if let Some(out) = self.breakers().known_out() {
            return Needed::Here(out);
        }
        let look = under_way.clone().filter(Flight::is_under_way);
        Needed::Coming(look.unwrap_or_else(|| under_way.insert(self.begin_look()).clone()))
    }

    fn begin_look(&self) -> Flight<bool> {
        let this = self.clone();
        Flight::depart(async move {
            let out = this.look().await;
            this.breakers().found(out);
            *this.lookout().under_way() = None;
            out
        })
    }

    async fn look(&self) -> bool {
        let deadline = self.deadline();
        for attempt in 1..=ATTEMPTS {
            if let Some(out) = self.attempt(deadline).await {
                return out;
            }
            if attempt == ATTEMPTS || Instant::now() + PAUSE >= deadline {
                break;
            }
            sleep(PAUSE).await;
        }
        self.breakers().gave_up();
        true
    }

    /// Asks what a sign-in asks. An answer that cannot be read, and that the platform is busy, say as little as none.
    async fn attempt(&self, deadline: Instant) -> Option<bool> {
        if let Err(error) = self.token(deadline).await {
            return if is_ours(&error) { Some(false) } else { answered(&error).map(|_| true) };
        }
        let question = Question::get(Api::UserInfo, &[("code", NOBODYS_CODE)]).first();
        let told = self.ask(&question, deadline).await.and_then(|answer| Ok(Identity::read(&answer)?));
        match told {
            Ok(_) => Some(false),
            Err(error) if is_ours(&error) => Some(false),
            Err(error) => answered(&error).map(|errcode| meaning(errcode).actor == Actor::Administrator),
        }
    }
}

/// Whether it says nothing of the platform that there was no answer.
fn is_ours(error: &Error) -> bool {
    matches!(error, Error::Unreachable(Unreachable::Shortage))
}

/// The platform's number for why it refused, where it had the time to look.
fn answered(error: &Error) -> Option<i64> {
    error.errcode().filter(|errcode| !BUSY.contains(errcode))
}
