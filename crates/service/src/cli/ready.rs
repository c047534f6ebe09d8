//! `deskpass ready`: asks the service whether it is ready. A container without a shell needs no other program for its health check.

mod any_certificate;

use std::error::Error;
use std::time::Duration;

use clap::Args;
use deskpass_platform::tls_config;
use reqwest::Client;
use reqwest::redirect::Policy;
use rustls::ClientConfig;

use super::{CliError, ServeArgs, output, runtime};
use crate::config;

/// Longer than the service needs to find out that its database does not answer.
const TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Args, Debug)]
pub(super) struct Ready {
    /// Service to ask, such as `http://127.0.0.1:8080` [default: the listening address of the settings].
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    #[command(flatten)]
    serving: ServeArgs,
}

impl Ready {
    pub(super) fn run(&self) -> Result<(), CliError> {
        let (service, tls) = match &self.url {
            Some(url) => (url.trim_end_matches('/').to_owned(), tls_config(url.starts_with("https"))?),
            // Only the address counts: a health check may not see the other settings of the service.
            None => (self.serving.with_sources(config::local_url)?, any_certificate::tls_config()?),
        };
        let (success, report) = runtime()?.block_on(ask(&service, tls))?;
        if success { Ok(output::line(report)?) } else { Err(format!("{service} is not ready: {report}").into()) }
    }
}

/// Returns whether the service is ready, and its report. The environment is ignored: a proxy would answer in its place.
async fn ask(service: &str, tls: ClientConfig) -> Result<(bool, String), CliError> {
    let client = Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(Policy::none())
        .timeout(TIMEOUT)
        .no_proxy()
        .build()?;
    let unreachable = |error: reqwest::Error| format!("{service} does not respond: {}", root_cause(&error));
    let response = client.get(format!("{service}/api/ready")).send().await.map_err(unreachable)?;
    let success = response.status().is_success();
    Ok((success, response.text().await.map_err(unreachable)?.trim_end().to_owned()))
}

/// The innermost error: the outer ones repeat the URL.
fn root_cause(error: &(dyn Error + 'static)) -> String {
    std::iter::successors(Some(error), |&error| error.source()).last().map_or_else(String::new, ToString::to_string)
}
