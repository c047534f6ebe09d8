//! GET /api/ws/employee, GET /api/ws/agent

mod close_reasons;
mod handshake;
mod limits;
mod origin;
mod resume;
mod roles;
mod token;

use std::time::Duration;

use crate::harness::{Response, Stopwatch, TestApp, TestSocket, handshake};

const EMPLOYEE: &str = "/api/ws/employee";
const AGENT: &str = "/api/ws/agent";

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

/// The response to a handshake with these headers.
async fn ask(app: &TestApp, path: &str, headers: &[(&str, &str)]) -> Response {
    match TestSocket::try_open(&app.address, &handshake(path, headers)).await {
        Ok(socket) => socket.answer,
        Err(answer) => answer,
    }
}

/// The response to a handshake with a token and these headers.
async fn ask_as(app: &TestApp, token: &str, path: &str, headers: &[(&str, &str)]) -> Response {
    let bearer = bearer(token);
    let headers: Vec<_> = [("authorization", &*bearer)].into_iter().chain(headers.iter().copied()).collect();
    ask(app, path, &headers).await
}

impl TestSocket {
    /// Asserts that the socket closes with this code within a second, after an event with the reason where the session ended.
    pub(crate) async fn ends_soon(&mut self, code: u16, reason: &str) {
        let since = Stopwatch::start();
        let (found, why, said) = self.closed().await;
        assert_eq!((found, &*why), (code, reason));
        assert!(since.elapsed() < Duration::from_secs(1), "only after {:?}", since.elapsed());
        if [4401, 4403].contains(&code) {
            let last = &said.last().expect("a last word")["content"];
            assert_eq!((&last["event"], &last["reason"]), (&"ending".into(), &reason.into()));
        }
    }
}
