//! The time until a program is told that a session ended, also while another program never answers.

use super::Run;
use super::oidc::session;
use crate::connection::Connection;
use crate::error::BenchError;
use crate::oidc_client::OidcClient;
use crate::oidc_receiver::LogoutReceiver;
use crate::plan::NOTICE_SECONDS;
use crate::progress::grouped;
use crate::report::duration;
use crate::requests::{Requests, WordList};
use crate::server::Server;
use crate::stats::{nanoseconds, now, share};

impl Run<'_> {
    /// Ends sessions one after another, with the plan's number of sessions from `start`, each of which is used by all these clients;
    /// times each from the answer to the logout until `told` has the notice.
    pub(super) async fn notices(
        &mut self,
        name: &str,
        server: &Server,
        clients: &[&OidcClient],
        sessions: &WordList,
        start: usize,
        told: &mut LogoutReceiver,
    ) -> Result<(), BenchError> {
        let count = self.plan.notices;
        self.progress.step(format_args!("{name}, {} times", grouped(count)));
        let mut service = Connection::open(server.address).await?;
        for at in start..start + count {
            for client in clients {
                client.access_token(&mut service, session(sessions, at)?).await?;
            }
        }
        let (logout, mut request) = (Requests::logout(sessions.clone()), Vec::new());
        let mut times = Vec::with_capacity(count);
        for at in start..start + count {
            logout.write(at, &mut request);
            let answer = service.exchange(&request).await?;
            if !logout.accepts(answer) {
                return Err(format!("a logout failed:\n{}", answer.text()).into());
            }
            let answered = now();
            // The notice may be there before the answer.
            times.push(nanoseconds(told.arrival().await?.saturating_duration_since(answered)));
        }
        self.progress.at("logout", count, count);
        times.sort_unstable();
        let [median, p99, most] = [50, 99, 100].map(|percent| share(&times, percent));
        let figure = format!("{}, p99 {}, at most {}", duration(median), duration(p99), duration(most));
        let target = Some((&*format!("{NOTICE_SECONDS} s"), most <= NOTICE_SECONDS));
        self.report.figure(name, &format!("median of {}", grouped(count)), &figure, target);
        Ok(())
    }
}
