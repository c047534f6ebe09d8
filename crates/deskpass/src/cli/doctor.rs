//! `deskpass doctor`: checks whether users can sign in, and prints how to fix what prevents it.

mod data;
mod domain;
mod exposure;
mod key;
mod platform;
mod platform_error;
mod postgres_redis;
mod record;
mod report;

use std::ffi::OsString;

use clap::Args;
use deskpass_core::{Clock, Timestamp};

use super::{CliError, CommonArgs, runtime};
use crate::config::{self, ConfigError, Language, Settings};
use report::{Bilingual, Check, Finding, Report, bilingual};

#[derive(Args, Debug)]
pub(super) struct Doctor {
    #[command(flatten)]
    common: CommonArgs,
    /// Language of the output [default: that of the environment, else that of the settings].
    #[arg(long, value_name = "LANGUAGE", value_parser = ["en", "zh"])]
    language: Option<String>,
}

impl Doctor {
    pub(super) fn run(self) -> Result<(), CliError> {
        let (requested, loaded) = self.common.with_sources(Vec::new(), |sources| {
            let requested =
                self.language.as_deref().map(language_of_tag).or_else(|| environment_language(&sources.environment));
            (requested, config::load(sources))
        });
        let default = loaded.as_ref().map_or(Language::En, |settings| settings.default_language);
        let mut report = Report::new(requested.unwrap_or(default));
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

/// The language of a tag such as `zh` or `zh_CN.UTF-8`.
fn language_of_tag(tag: &str) -> Language {
    if tag.starts_with("zh") { Language::Zh } else { Language::En }
}

/// The environment's language counts only if it is Chinese: most servers have English as a default that no user chose.
fn environment_language(environment: &[(OsString, OsString)]) -> Option<Language> {
    let value = |wanted: &str| {
        let found = environment.iter().find(|(name, value)| name == wanted && !value.is_empty());
        found.map(|(_, value)| value.to_string_lossy())
    };
    let tag = value("LC_ALL").or_else(|| value("LANG"))?;
    Some(language_of_tag(&tag)).filter(|language| *language == Language::Zh)
}

fn settings_finding(loaded: Result<Settings, ConfigError>) -> Finding<Settings> {
    match loaded {
        Ok(settings) if settings.development.enabled => {
            Finding::good(settings, bilingual("valid (development mode)", "正确（开发模式）"))
        }
        Ok(settings) => Finding::good(settings, bilingual("valid (production mode)", "正确（生产模式）")),
        Err(error) => {
            let several = error.problems.len();
            let problems = error.problems.iter().map(|problem| format!("- {problem}")).collect::<Vec<_>>().join("\n");
            let why = bilingual(format!("{several} problem(s)"), format!("{several} 个问题"));
            Finding::bad(why, Bilingual::alike(problems))
        }
    }
}

async fn examine(settings: &Settings, report: &mut Report) {
    let clock = Clock::steady(Timestamp::from_millis(0));
    match &settings.store.url {
        Some(store) => postgres_redis::check(settings, store, clock.now(), report).await,
        None => drop(report.record(Check::Data, data::check(settings, clock.now()).await)),
    }
    if let Some(finding) = key::check(settings).await {
        report.record(Check::Key, finding);
    }
    report.record(Check::SecretFiles, exposure::secret_files(settings));
    if let Some(found) = exposure::proxies(settings) {
        report.record(Check::Proxies, found);
    }
    report.record(Check::PublicUrl, domain::public_url(settings));
    check_platform(settings, clock, report).await;
    report.record(Check::VerifyFile, domain::verify_file(settings));
}

async fn check_platform(settings: &Settings, clock: Clock, report: &mut Report) {
    let reached = report.record(Check::Platform, platform::reach(settings, clock.clone()).await);
    let Some(reached) = reached else {
        report.skip(&[Check::Clock]);
        report.record(Check::Record, record::check(settings, clock.now(), None).await);
        return report.skip(&[Check::Credentials, Check::Api, Check::Application, Check::Domain]);
    };
    let compared = platform::compare(reached.date.as_deref(), clock.now());
    let agrees = (!matches!(compared, Finding::Skipped(_))).then_some(matches!(compared, Finding::Good { .. }));
    report.record(Check::Clock, compared);
    report.record(Check::Record, record::check(settings, clock.now(), agrees).await);
    if report.record(Check::Credentials, platform::credentials(settings, &reached.client).await).is_none() {
        return report.skip(&[Check::Api, Check::Application, Check::Domain]);
    }
    let found = platform::application(settings, &reached.client).await;
    let Some(application) = report.record(Check::Api, found) else {
        return report.skip(&[Check::Application, Check::Domain]);
    };
    report.record(Check::Application, platform::enabled(&application));
    report.record(Check::Domain, domain::trusted(settings, &application.redirect_domain));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(environment: &[(&str, &str)]) -> Option<Language> {
        environment_language(&environment.iter().map(|(name, value)| (name.into(), value.into())).collect::<Vec<_>>())
    }

    #[test]
    fn the_environment_may_wish_for_chinese() {
        assert_eq!(of(&[("LANG", "zh_CN.UTF-8")]), Some(Language::Zh));
        assert_eq!(of(&[("LANG", "zh_CN.UTF-8"), ("LC_ALL", "")]), Some(Language::Zh));
        assert_eq!(of(&[("LANG", "en_US.UTF-8"), ("LC_ALL", "zh_TW")]), Some(Language::Zh));
        for other in [&[("LANG", "zh_CN"), ("LC_ALL", "C")][..], &[("LANG", "en_US.UTF-8")], &[("LANGUAGE", "zh")], &[]]
        {
            assert_eq!(of(other), None, "{other:?}");
        }
    }
}
