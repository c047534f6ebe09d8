//! `deskpass doctor`: checks whether users can sign in, and prints how to fix what prevents it.

mod administrators;
mod certificate;
mod corporation;
mod data;
mod disk;
mod domain;
mod events;
mod exposure;
mod key;
mod logo;
mod oidc;
mod own_pages;
mod platform;
mod platform_access;
mod platform_error;
mod postgres_redis;
mod public_request;
mod record;
mod replies;
mod report;

use clap::Args;
use deskpass_core::{Clock, Timestamp};
use deskpass_platform::{Deployment, SettingsError};

use super::language::LanguageArgs;
use super::{CliError, ServeArgs, runtime};
use crate::app::platform::has_verify_file;
use crate::config::{self, ConfigError, ConfigProblem, Language, Settings};
use platform::ReachablePlatform;
use platform_access::PlatformAccess;
use report::{Check, Finding, Report, bilingual};

#[derive(Args, Debug)]
pub(super) struct Doctor {
    #[command(flatten)]
    serving: ServeArgs,
    #[command(flatten)]
    language: LanguageArgs,
}

impl Doctor {
    pub(super) fn run(self) -> Result<(), CliError> {
        let (requested, loaded) =
            self.serving.with_sources(|sources| (self.language.requested(&sources.environment), config::load(sources)));
        let default = loaded.as_ref().map_or(Language::En, |settings| settings.default_language);
        let kind = loaded.as_ref().ok().map(|settings| settings.platform.kind);
        let mut report = Report::new(requested.unwrap_or(default), kind);
        let runtime = runtime()?;
        match report.record(Check::Settings, settings_finding(loaded)) {
            Some(settings) => runtime.block_on(examine(&settings, &mut report)),
            None => report.skip(Check::AFTER_SETTINGS),
        }
        // A disk that does not respond must not block the exit.
        runtime.shutdown_background();
        report.verdict().map_err(CliError::from)
    }
}

fn settings_finding(loaded: Result<Settings, ConfigError>) -> Finding<Settings> {
    match loaded {
        Ok(settings) if settings.development.enabled => {
            Finding::good(settings, bilingual("valid (development mode)", "正确（开发模式）"))
        }
        Ok(settings) => Finding::good(settings, bilingual("valid (production mode)", "正确（生产模式）")),
        Err(error) => {
            let several = error.problems.len();
            let list = |text: fn(&ConfigProblem) -> String| {
                error.problems.iter().map(|problem| format!("- {}", text(problem))).collect::<Vec<_>>().join("\n")
            };
            let why = bilingual(format!("{several} problem(s)"), format!("{several} 个问题"));
            Finding::bad(why, bilingual(list(ConfigProblem::to_string), list(ConfigProblem::in_chinese)))
        }
    }
}

async fn examine(settings: &Settings, report: &mut Report) {
    let clock = Clock::steady(Timestamp::from_millis(0));
    match &settings.store.url {
        Some(store) => postgres_redis::check(settings, store, clock.now(), report).await,
        None => check_data(settings, &clock, report).await,
    }
    if let Some(finding) = corporation::check(settings).await {
        report.record(Check::Corporation, finding);
    }
    if let Some(finding) = key::check(settings).await {
        report.record(Check::Key, finding);
    }
    if let Some(finding) = administrators::check(settings).await {
        report.record(Check::Administrators, finding);
    }
    report.record(Check::SecretFiles, exposure::secret_files(settings));
    if let Some(found) = exposure::proxies(settings, report.language()) {
        report.record(Check::Proxies, found);
    }
    if let Some(found) = exposure::hosts(settings, report.language()) {
        report.record(Check::Hosts, found);
    }
    if let Some(found) = exposure::metrics(settings).await {
        report.record(Check::Metrics, found);
    }
    if let Some(found) = certificate::check(settings, clock.now()) {
        report.record(Check::Certificate, found);
    }
    let access = PlatformAccess::open(settings, clock.clone());
    let rule = access.as_ref().ok().map(|access| access.client.redirect_rule());
    report.record(Check::PublicUrl, domain::public_url(settings, rule));
    check_platform(settings, access, &clock, report).await;
    if has_verify_file(settings.platform.kind) {
        report.record(Check::VerifyFile, domain::verify_file(settings));
    }
    report.record(Check::Events, events::check(settings).await);
    if let Some(found) = replies::check(settings).await {
        report.record(Check::Replies, found);
    }
    if let Some(found) = own_pages::check(settings) {
        report.record(Check::OwnPages, found);
    }
    if let Some(found) = logo::check(settings) {
        report.record(Check::Logo, found);
    }
    oidc::check(settings, clock.now(), report).await;
}

/// Checks the data in the directory of one node, and its disk.
async fn check_data(settings: &Settings, clock: &Clock, report: &mut Report) {
    let told = data::ask_service(settings).await;
    let space = told.as_ref().and_then(|told| told.space);
    let finding = match told {
        Some(told) => data::used_by_service(&settings.data, told),
        None => data::check(settings, clock.now()).await,
    };
    report.record(Check::Data, finding);
    report.record(Check::DiskSpace, disk::check(&settings.data, space));
}

async fn check_platform(
    settings: &Settings,
    access: Result<PlatformAccess, SettingsError>,
    clock: &Clock,
    report: &mut Report,
) {
    let reached = report.record(Check::Platform, platform::reach(settings, access).await);
    let Some(ReachablePlatform { access, date }) = reached else {
        report.skip(&[Check::Clock]);
        report.record(Check::Record, record::check(settings, clock.now(), None).await);
        return report.skip(&[Check::Credentials, Check::Configuration]);
    };
    let compared = platform::compare(date.as_deref(), clock.now());
    let agrees = (!matches!(compared, Finding::Skipped(_))).then_some(matches!(compared, Finding::Good { .. }));
    report.record(Check::Clock, compared);
    report.record(Check::Record, record::check(settings, clock.now(), agrees).await);
    if report.record(Check::Credentials, platform::credentials(&access).await).is_none() {
        return report.skip(&[Check::Configuration]);
    }
    let callback_url = domain::callback_url(settings);
    let deployment = Deployment { public_url: &settings.public_url, callback_url: &callback_url };
    for check in access.client.check_configuration(&deployment).await {
        report.record_platform_check(check);
    }
}
