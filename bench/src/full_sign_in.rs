//! A complete sign-in by QR code: every request of the pages, from the sign-in page to the sign-out.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::connection::Connection;
use crate::error::BenchError;
use crate::requests::{Requests, WordList, get, post_json_anonymously};
use crate::scan::{QrCode, scan};

/// The requests of a sign-in.
pub(crate) const REQUESTS: usize = 14;

/// The time after which a sign-in counts as failed.
const SIGN_IN_TIMEOUT: Duration = Duration::from_secs(10);

/// A browser and a phone that sign in again and again.
#[derive(Debug)]
pub(crate) struct FullSignIn {
    address: SocketAddr,
    browser: Connection,
    phone: Connection,
}

impl FullSignIn {
    pub(crate) async fn open(address: SocketAddr) -> Result<Self, BenchError> {
        let (browser, phone) = (Connection::open(address).await?, Connection::open(address).await?);
        Ok(Self { address, browser, phone })
    }

    /// Signs in and out, with [`REQUESTS`] requests.
    pub(crate) async fn run(&mut self) -> Result<(), BenchError> {
        let done = timeout(SIGN_IN_TIMEOUT, self.sign_in_and_out()).await;
        done.map_err(|_| BenchError("it did not complete".into()))
            .flatten()
            .map_err(|why| why.during("a complete sign-in by QR code"))
    }

    async fn sign_in_and_out(&mut self) -> Result<(), BenchError> {
        let Self { address, browser, phone } = self;
        load_page(browser, "/").await?;
        let code = QrCode::ask(browser).await?;
        let mut events = Connection::open(*address).await?;
        events.send(&get(&format!("/api/auth/scan/events?ticket={}", code.ticket))).await?;
        events.read_until(br#""status":"waiting""#).await?;
        confirm_on(phone, &code).await?;
        events.read_until(br#""status":"confirmed""#).await?;
        let answer = browser.exchange(&get(&format!("/api/auth/scan/status?ticket={}", code.ticket))).await?;
        let state: Value = serde_json::from_slice(answer.body())?;
        let token = state.pointer("/data/token").and_then(Value::as_str).ok_or_else(|| format!("no token: {state}"))?;
        for requests in [Requests::me, Requests::verify, Requests::logout] {
            ask(browser, &requests(WordList::one(token))).await?;
        }
        Ok(())
    }
}

/// Scans a code, reads and confirms the sign-in, and asks for its outcome, without waiting for it: the browser collects the token after
/// this returns.
async fn confirm_on(phone: &mut Connection, code: &QrCode) -> Result<(), BenchError> {
    let secret = scan(phone, &code.link).await?;
    load_page(phone, "/scan/").await?;
    for body in [json!({ "confirm": secret }), json!({ "confirm": secret, "shown": true })] {
        post(phone, "/api/auth/scan/request", &body).await?;
    }
    post(phone, "/api/auth/scan/confirm", &json!({ "confirm": secret })).await?;
    post(phone, "/api/auth/scan/outcome", &json!({ "confirm": secret })).await
}

async fn load_page(connection: &mut Connection, path: &str) -> Result<(), BenchError> {
    let answer = connection.exchange(&get(path)).await?;
    if answer.is_ok() { Ok(()) } else { Err(answer.text().into()) }
}

async fn post(connection: &mut Connection, path: &str, body: &Value) -> Result<(), BenchError> {
    let answer = connection.exchange(&post_json_anonymously(path, &body.to_string())).await?;
    if answer.is_ok() { Ok(()) } else { Err(answer.text().into()) }
}

/// Sends the first of these requests.
async fn ask(connection: &mut Connection, requests: &Requests) -> Result<(), BenchError> {
    let mut request = Vec::new();
    requests.write(0, &mut request);
    let answer = connection.exchange(&request).await?;
    if requests.accepts(answer) { Ok(()) } else { Err(answer.text().into()) }
}
