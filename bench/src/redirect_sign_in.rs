//! A sign-in inside the messenger: the page goes to the platform, comes back with a code, and gets its token.

use std::net::SocketAddr;

use serde_json::Value;
use url::form_urlencoded;

use crate::connection::Connection;
use crate::error::BenchError;
use crate::full_sign_in::load_page;
use crate::requests::{get, get_with_cookie};
use crate::scan::{authorize, collect_token, redirected};
use crate::stats::now;
use crate::step_times::{Step, StepTimes};

/// Signs this user in, with every request of the page; returns the token.
pub(crate) async fn sign_in_by_redirect(
    browser: &mut Connection,
    address: SocketAddr,
    user: &str,
    times: &mut StepTimes,
) -> Result<String, BenchError> {
    let began = now();
    load_page(browser, "/h5/").await?;
    let loaded = times.finish(Step::Page, began);
    let (link, cookie) = begin(browser, address).await?;
    let back = authorize(browser, &link, user).await?;
    let callback = format!("/api/auth/oauth2/callback?{}", back.query().unwrap_or_default());
    let landed = redirected(browser, &get_with_cookie(&callback, &cookie)).await?;
    let ticket = landed.fragment().and_then(|fragment| fragment.strip_prefix("ticket="));
    let ticket = ticket.ok_or_else(|| format!("the browser is not signed in at {landed}"))?;
    let status = format!("/api/auth/scan/status?ticket={ticket}");
    let token = collect_token(browser, &get_with_cookie(&status, &cookie)).await?;
    times.finish(Step::Redirect, loaded);
    Ok(token)
}

/// Begins a sign-in; returns the platform's link, and the cookie that the browser gets.
async fn begin(browser: &mut Connection, address: SocketAddr) -> Result<(String, String), BenchError> {
    let page: String = form_urlencoded::byte_serialize(format!("http://{address}/h5/").as_bytes()).collect();
    let answer = browser.exchange(&get(&format!("/api/auth/oauth2/url?redirect_uri={page}"))).await?;
    let body: Value = serde_json::from_slice(answer.body())?;
    let link = body.pointer("/data/authorize_url").and_then(Value::as_str);
    let cookie = answer.header("set-cookie").and_then(|cookie| cookie.split(';').next());
    let (link, cookie) = link.zip(cookie).ok_or_else(|| format!("no link and cookie:\n{}", answer.text()))?;
    Ok((link.to_owned(), cookie.to_owned()))
}
