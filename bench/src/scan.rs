//! A sign-in by QR code: a browser that waits and a phone that scans.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use tokio::time::timeout;
use url::Url;

use crate::connection::Connection;
use crate::error::BenchError;
use crate::requests::{QRCODE, Requests, WordList, get};
use crate::server::Server;
use crate::stats::now;

/// The user as whom the simulated platform identifies the phone's owner.
pub(crate) const OWNER: &str = "user01";
/// The time after which a sign-in counts as failed.
const SIGN_IN_TIMEOUT: Duration = Duration::from_secs(10);

/// The QR code that a browser receives.
#[derive(Debug, Deserialize)]
pub(crate) struct QrCode {
    pub(crate) ticket: String,
    #[serde(rename = "qrcode_url")]
    pub(crate) link: String,
    #[serde(rename = "qrcode_png_base64")]
    picture: String,
}

#[derive(Deserialize)]
struct Envelope {
    data: QrCode,
}

impl QrCode {
    pub(crate) async fn ask(browser: &mut Connection) -> Result<Self, BenchError> {
        let answer = browser.exchange(&get(QRCODE)).await?;
        let Envelope { data } = serde_json::from_slice(answer.body())
            .map_err(|error| format!("not a QR code ({error}):\n{}", answer.text()))?;
        Ok(data)
    }

    /// The size of the picture itself: four characters of Base64 are three bytes.
    pub(crate) fn picture_bytes(&self) -> usize {
        self.picture.trim_end_matches('=').len() * 3 / 4
    }
}

/// The latencies after the phone's confirmation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConfirmLatency {
    /// Until the browser was notified.
    pub(crate) told: Duration,
    /// Until the phone received its response.
    pub(crate) answered: Duration,
}

/// Performs a sign-in, from the code on the screen to the token.
pub(crate) async fn sign_in(server: &Server) -> Result<ConfirmLatency, BenchError> {
    let signed_in = timeout(SIGN_IN_TIMEOUT, wait_and_scan(server)).await;
    signed_in
        .map_err(|_| BenchError("the sign-in did not complete".into()))
        .flatten()
        .map_err(|why| why.during("a sign-in by QR code"))
}

async fn wait_and_scan(server: &Server) -> Result<ConfirmLatency, BenchError> {
    let (mut browser, mut phone) = (Connection::open(server.address).await?, Connection::open(server.address).await?);
    let code = QrCode::ask(&mut browser).await?;
    browser.send(&get(&format!("/api/auth/scan/events?ticket={}", code.ticket))).await?;
    browser.read_until(br#""status":"waiting""#).await?;
    let secret = scan(&mut phone, &code.link, OWNER).await?;
    browser.read_until(br#""status":"scanned""#).await?;
    let (confirm, mut request) = (Requests::confirm(WordList::one(&secret)), Vec::new());
    confirm.write(0, &mut request);
    let start = now();
    let answered = async {
        let answer = phone.exchange(&request).await?;
        let elapsed = start.elapsed();
        if confirm.accepts(answer) { Ok(elapsed) } else { Err(BenchError(answer.text())) }
    };
    let told = async {
        browser.read_until(br#""status":"confirmed""#).await?;
        Ok(start.elapsed())
    };
    let (told, answered) = tokio::try_join!(told, answered)?;
    Ok(ConfirmLatency { told, answered })
}

/// Follows a code's link through the platform and back with the phone of this user, and returns the secret with which
/// the phone decides.
pub(crate) async fn scan(phone: &mut Connection, link: &str, owner: &str) -> Result<String, BenchError> {
    let callback = authorize(phone, link, owner).await?;
    let page = redirected(phone, &get(&path_of(&callback))).await?;
    let secret = page.fragment().and_then(|fragment| fragment.strip_prefix("confirm="));
    Ok(secret.ok_or_else(|| format!("the phone has nothing to confirm at {page}"))?.to_owned())
}

/// Opens a link of the platform as this user; returns the URL to which the platform sends the browser back.
pub(crate) async fn authorize(browser: &mut Connection, link: &str, user: &str) -> Result<Url, BenchError> {
    let mut link = Url::parse(link)?;
    link.query_pairs_mut().append_pair("sim_user", user);
    redirected(browser, &get(&path_of(&link))).await
}

/// The redirect target in the response to a request.
pub(crate) async fn redirected(browser: &mut Connection, request: &[u8]) -> Result<Url, BenchError> {
    let answer = browser.exchange(request).await?;
    let next = answer.header("location").ok_or_else(|| format!("the browser is not sent on:\n{}", answer.text()))?;
    Ok(Url::parse(next)?)
}

/// The token in the response to a request for the status of a ticket.
pub(crate) async fn collect_token(browser: &mut Connection, request: &[u8]) -> Result<String, BenchError> {
    let state: Value = serde_json::from_slice(browser.exchange(request).await?.body())?;
    let token = state.pointer("/data/token").and_then(Value::as_str).ok_or_else(|| format!("no token: {state}"))?;
    Ok(token.to_owned())
}

/// The path and the query of a URL.
fn path_of(url: &Url) -> String {
    url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_counted_without_its_padding() {
        let sizes = ["Zg==", "Zm8=", "Zm9v", "Zm9vYg=="].map(|picture| {
            QrCode { ticket: String::new(), link: String::new(), picture: picture.to_owned() }.picture_bytes()
        });
        assert_eq!(sizes, [1, 2, 3, 4]);
    }
}
