//! A request as clients and users make it, by a public name, with its certificate; or as the service makes it of a program.

use std::error::Error as _;
use std::time::Duration;

use deskpass_core::oidc::{InvalidRedirectUri, is_written_for_logouts};
use deskpass_platform::{Url, tls_config};
use reqwest::{Client, ClientBuilder, Response};

use crate::app::resolver::Resolver;

/// The timeout of each request. A sign-in or a sign-out that takes longer is felt.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// The response, or why there is none. Redirects are not followed.
pub(super) async fn get(address: &str) -> Result<Response, String> {
    send(address, Client::builder()).await
}

/// The same where the service tells a program of logouts, with the names and addresses that the service uses.
pub(super) async fn get_of_program(address: &str) -> Result<Response, String> {
    if !is_written_for_logouts(address) {
        return Err(InvalidRedirectUri::NoProgram.to_string());
    }
    let resolver = Resolver::for_logouts().map_err(|error| error.to_string())?;
    send(address, Client::builder().dns_resolver(resolver)).await
}

async fn send(address: &str, client: ClientBuilder) -> Result<Response, String> {
    let url = Url::parse(address).map_err(|error| error.to_string())?;
    let tls = tls_config(url.scheme() == "https").map_err(|error| error.to_string())?;
    let client = client
        .tls_backend_preconfigured(tls)
        .redirect(reqwest::redirect::Policy::none())
        .timeout(REQUEST_TIMEOUT)
        .no_proxy()
        .build()
        .map_err(|error| error.to_string())?;
    client.get(url).send().await.map_err(|error| {
        let cause = std::iter::successors(error.source(), |&cause| cause.source()).last();
        cause.map_or_else(|| error.to_string(), ToString::to_string)
    })
}
