//! `deskpass doctor`: whether signing in can work, and what to do where it cannot.

mod data;
mod domain;
mod exposure;
mod key;
mod pair;
mod platform;
mod record;
mod report;
mod trouble;

use std::ffi::OsString;

use clap::Args;
use deskpass_core::{Clock, Timestamp};

use super::{Common, Failed, runtime};
use crate::config::{self, ConfigError, Language, Settings};
use report::{Finding, Report, Said, What, said};

/// Check settings, data and platform, and say how to mend what is wrong.
#[derive(Args, Debug)]
pub(super) struct Doctor {
    #[command(flatten)]
    common: Common,
    /// The language to answer in; without it that of the environment, else that of the settings.
    #[arg(long, value_name = "LANGUAGE", value_parser = ["en", "zh"])]
    language: Option<String>,
}

impl Doctor {
    pub(super) fn run(self) -> Result<(), Failed> {
        let (wished, loaded) = self.common.with_sources(Vec::new(), |sources| {
            let wished = self.language.as_deref().map(spoken).or_else(|| of_environment(&sources.environment));
            (wished, config::load(sources))
        });
        let default = loaded.as_ref().map_or(Language::En, |settings| settings.default_language);
        let mut report = Report::new(wished.unwrap_or(default));
        let runtime = runtime()?;
        match report.note(What::Settings, judged(loaded)) {
            Some(settings) => runtime.block_on(examine(&settings, &mut report)),
            None => report.skip(What::AFTER_SETTINGS),
        }
        // A disk that does not answer must not keep us, either.
        runtime.shutdown_background();
        report.verdict().map_err(Failed::from)
    }
}

/// The language of a tag such as `zh` or `zh_CN.UTF-8`.
fn spoken(tag: &str) -> Language {
    if tag.starts_with("zh") { Language::Zh } else { Language::En }
}

/// Only a wish for Chinese counts: most servers have English set without anybody having wished for it.
fn of_environment(environment: &[(OsString, OsString)]) -> Option<Language> {
    let value = |wanted: &str| {
        let found = environment.iter().find(|(name, value)| name == wanted && !value.is_empty());
        found.map(|(_, value)| value.to_string_lossy())
    };
    let tag = value("LC_ALL").or_else(|| value("LANG"))?;
    Some(spoken(&tag)).filter(|language| *language == Language::Zh)
}

fn judged(loaded: Result<Settings, ConfigError>) -> Finding<Settings> {
    match loaded {
        Ok(settings) if settings.development => {
            Finding::good(settings, said("good (development mode)", "正确（开发模式）"))
        }
        Ok(settings) => Finding::good(settings, said("good (production mode)", "正确（生产模式）")),
        Err(error) => {
            let several = error.problems().len();
            let problems = error.problems().iter().map(|problem| format!("- {problem}")).collect::<Vec<_>>().join("\n");
            let why = said(format!("{several} problem(s)"), format!("{several} 个问题"));
            Finding::bad(why, Said::alike(problems))
        }
    }
}

async fn examine(settings: &Settings, report: &mut Report) {
    let clock = Clock::steady(Timestamp::from_millis(0));
    match &settings.store.url {
        Some(store) => pair::check(settings, store, clock.now(), report).await,
        None => drop(report.note(What::Data, data::check(settings, clock.now()).await)),
    }
    if let Some(finding) = key::check(settings).await {
        report.note(What::Key, finding);
    }
    report.note(What::SecretFiles, exposure::secret_files(settings));
    if let Some(found) = exposure::proxies(settings) {
        report.note(What::Proxies, found);
    }
    report.note(What::PublicUrl, domain::public_url(settings));
    ask_platform(settings, clock, report).await;
    report.note(What::VerifyFile, domain::verify_file(settings));
}

async fn ask_platform(settings: &Settings, clock: Clock, report: &mut Report) {
    let reached = report.note(What::Platform, platform::reach(settings, clock.clone()).await);
    let Some(reached) = reached else {
        report.skip(&[What::Clock]);
        report.note(What::Record, record::check(settings, clock.now(), None).await);
        return report.skip(&[What::Credentials, What::Api, What::Application, What::Domain]);
    };
    let compared = report.note(What::Clock, platform::compare(reached.date.as_deref(), clock.now()));
    report.note(
        What::Record,
        record::check(settings, clock.now(), reached.date.is_some().then_some(compared.is_some())).await,
    );
    if report.note(What::Credentials, platform::credentials(settings, &reached.client).await).is_none() {
        return report.skip(&[What::Api, What::Application, What::Domain]);
    }
    let asked = platform::application(settings, &reached.client).await;
    let Some(application) = report.note(What::Api, asked) else {
        return report.skip(&[What::Application, What::Domain]);
    };
    report.note(What::Application, platform::enabled(&application));
    report.note(What::Domain, domain::trusted(settings, &application.redirect_domain));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(environment: &[(&str, &str)]) -> Option<Language> {
        of_environment(&environment.iter().map(|(name, value)| (name.into(), value.into())).collect::<Vec<_>>())
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
