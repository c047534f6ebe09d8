//! A request as clients and users make it: by a public name, with its certificate.

use std::error::Error as _;
use std::time::Duration;

use deskpass_platform::{Url, tls_config};
use reqwest::{Client, Response};

/// The timeout of each request. A sign-in or a sign-out that takes longer is felt.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// The response, or why there is none. Redirects are not followed.
pub(super) async fn get(address: &str) -> Result<Response, String> {
    let url = Url::parse(address).map_err(|error| error.to_string())?;
    let tls = tls_config(url.scheme() == "https").map_err(|error| error.to_string())?;
    let client = Client::builder()
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
