//! An employee on a morning: signs in, opens a socket, and uses the help desk, which checks the token.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;
use tokio::time::{sleep, timeout};

use super::members::member;
use crate::connection::Connection;
use crate::error::BenchError;
use crate::full_sign_in::{FullSignIn, ask};
use crate::plan::RushPlan;
use crate::redirect_sign_in::sign_in_by_redirect;
use crate::requests::{Requests, WordList, handshake};
use crate::socket::{ClientSocket, SocketReport};
use crate::stats::now;
use crate::step_times::{Step, StepTimes};

/// How often the token of an employee is checked.
const VERIFIES: usize = 5;
/// The time after which an employee counts as failed.
const EMPLOYEE_TIMEOUT: Duration = Duration::from_mins(1);

/// What all employees have in common.
#[derive(Clone, Debug)]
pub(super) struct Morning {
    pub(super) address: SocketAddr,
    pub(super) plan: RushPlan,
    /// The number of employees who open a socket.
    pub(super) sockets: usize,
    /// Gets the events of the sockets.
    pub(super) tell: UnboundedSender<SocketReport>,
}

/// An employee who has signed in.
#[derive(Debug)]
pub(super) struct Arrived {
    pub(super) times: StepTimes,
    pub(super) socket: Option<ClientSocket>,
}

impl Morning {
    /// The employee with this number signs in and works for a while.
    pub(super) async fn arrive(self, number: usize) -> Result<Arrived, BenchError> {
        let done = timeout(EMPLOYEE_TIMEOUT, self.sign_in_and_work(number)).await;
        done.map_err(|_| BenchError("an employee did not get everything in time".into())).flatten()
    }

    async fn sign_in_and_work(&self, number: usize) -> Result<Arrived, BenchError> {
        let (user, mut times) = (member(number + 1), StepTimes::default());
        // Half of them scan a QR code on a computer, the others open the page in the messenger.
        let (mut browser, token) = if number.is_multiple_of(2) {
            self.scan_code(&user, &mut times).await?
        } else {
            self.open_in_messenger(&user, &mut times).await?
        };
        let mut socket = None;
        if number < self.sockets {
            socket = Some(self.open_socket(number, &token, &mut times).await?);
        }
        let verify = Requests::verify(WordList::one(&token));
        for _ in 0..VERIFIES {
            sleep(self.plan.verify_interval).await;
            let began = now();
            ask(&mut browser, &verify).await?;
            times.finish(Step::Verify, began);
        }
        Ok(Arrived { times, socket })
    }

    async fn scan_code(&self, user: &str, times: &mut StepTimes) -> Result<(Connection, String), BenchError> {
        let mut devices = FullSignIn::open(self.address).await?;
        let shown = devices.show_code(times).await?;
        // Meanwhile the user takes the phone out.
        sleep(self.plan.scan_delay).await;
        let token = devices.confirm(shown, user, times).await?;
        Ok((devices.into_browser(), token))
    }

    async fn open_in_messenger(&self, user: &str, times: &mut StepTimes) -> Result<(Connection, String), BenchError> {
        let mut browser = Connection::open(self.address).await?;
        let token = sign_in_by_redirect(&mut browser, self.address, user, times).await?;
        Ok((browser, token))
    }

    async fn open_socket(&self, number: usize, token: &str, times: &mut StepTimes) -> Result<ClientSocket, BenchError> {
        let began = now();
        let mut socket = ClientSocket::open(self.address, number, handshake(token), self.tell.clone()).await?;
        socket.ready().await?;
        times.finish(Step::Socket, began);
        Ok(socket)
    }
}
