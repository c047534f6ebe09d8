//! A complete sign-in by QR code, with every request of the pages.

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::connection::Connection;
use crate::error::BenchError;
use crate::requests::{Requests, get, post_json_anonymously};
use crate::scan::{QrCode, collect_token, scan};
use crate::stats::now;
use crate::step_times::{Step, StepTimes};

/// A browser and a phone that sign in.
#[derive(Debug)]
pub(crate) struct FullSignIn {
    address: SocketAddr,
    browser: Connection,
    phone: Connection,
}

/// A QR code on the screen, and the stream that tells the browser of its scan.
#[derive(Debug)]
pub(crate) struct ShownCode {
    code: QrCode,
    events: Connection,
}

impl FullSignIn {
    pub(crate) async fn open(address: SocketAddr) -> Result<Self, BenchError> {
        let (browser, phone) = (Connection::open(address).await?, Connection::open(address).await?);
        Ok(Self { address, browser, phone })
    }

    /// Loads the page and its QR code, and begins to wait for the phone.
    pub(crate) async fn show_code(&mut self, times: &mut StepTimes) -> Result<ShownCode, BenchError> {
        let began = now();
        load_page(&mut self.browser, "/").await?;
        let loaded = times.finish(Step::Page, began);
        let code = QrCode::ask(&mut self.browser).await?;
        let mut events = Connection::open(self.address).await?;
        events.send(&get(&format!("/api/auth/scan/events?ticket={}", code.ticket))).await?;
        events.read_until(br#""status":"waiting""#).await?;
        times.finish(Step::QrCode, loaded);
        Ok(ShownCode { code, events })
    }

    /// Scans the code with the phone of this user, who confirms; returns the token that the browser gets. The phone
    /// also asks for the outcome, without waiting for it: the browser collects the token after that.
    pub(crate) async fn confirm(
        &mut self,
        shown: ShownCode,
        owner: &str,
        times: &mut StepTimes,
    ) -> Result<String, BenchError> {
        let ShownCode { code, mut events } = shown;
        let Self { browser, phone, .. } = self;
        let began = now();
        let secret = scan(phone, &code.link, owner).await?;
        load_page(phone, "/scan/").await?;
        for body in [json!({ "confirm": secret }), json!({ "confirm": secret, "shown": true })] {
            post(phone, "/api/auth/scan/request", &body).await?;
        }
        let scanned = times.finish(Step::Scan, began);
        for path in ["/api/auth/scan/confirm", "/api/auth/scan/outcome"] {
            post(phone, path, &json!({ "confirm": secret })).await?;
        }
        events.read_until(br#""status":"confirmed""#).await?;
        let token = collect_token(browser, &get(&format!("/api/auth/scan/status?ticket={}", code.ticket))).await?;
        times.finish(Step::Confirm, scanned);
        Ok(token)
    }

    /// The browser's connection, without the phone's.
    pub(crate) fn into_browser(self) -> Connection {
        self.browser
    }
}

pub(crate) async fn load_page(connection: &mut Connection, path: &str) -> Result<(), BenchError> {
    let answer = connection.exchange(&get(path)).await?;
    if answer.is_ok() { Ok(()) } else { Err(answer.text().into()) }
}

async fn post(connection: &mut Connection, path: &str, body: &Value) -> Result<(), BenchError> {
    let answer = connection.exchange(&post_json_anonymously(path, &body.to_string())).await?;
    if answer.is_ok() { Ok(()) } else { Err(answer.text().into()) }
}

/// Sends the first of these requests.
pub(crate) async fn ask(connection: &mut Connection, requests: &Requests) -> Result<(), BenchError> {
    let mut request = Vec::new();
    requests.write(0, &mut request);
    let answer = connection.exchange(&request).await?;
    if requests.accepts(answer) { Ok(()) } else { Err(answer.text().into()) }
}
