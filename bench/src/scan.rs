//! The steps of a sign-in in which a browser or a phone goes through the platform.

use serde::Deserialize;
use serde_json::Value;
use url::Url;

use crate::connection::Connection;
use crate::error::BenchError;
use crate::requests::{QRCODE, get};

/// The QR code that a browser receives.
#[derive(Debug, Deserialize)]
pub(crate) struct QrCode {
    pub(crate) ticket: String,
    #[serde(rename = "qrcode_url")]
    pub(crate) link: String,
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
