//! What is told: one line for each check as soon as it is done, and how to mend what is wrong.

use std::io::Write as _;

use crate::config::Language;

/// What is checked.
#[derive(Clone, Copy, Debug)]
pub(super) enum Check {
    Settings,
    Data,
    Postgres,
    Tables,
    PostgresClock,
    Redis,
    Eviction,
    RedisClock,
    Key,
    SecretFiles,
    Proxies,
    PublicUrl,
    Platform,
    Clock,
    Record,
    Credentials,
    Api,
    Application,
    Domain,
    VerifyFile,
}

impl Check {
    /// Everything that cannot be checked without settings.
    pub(super) const AFTER_SETTINGS: &[Self] = &[
        Self::Data,
        Self::SecretFiles,
        Self::PublicUrl,
        Self::Platform,
        Self::Clock,
        Self::Record,
        Self::Credentials,
        Self::Api,
        Self::Application,
        Self::Domain,
        Self::VerifyFile,
    ];

    fn name(self, language: Language) -> &'static str {
        let (english, chinese) = match self {
            Self::Settings => ("settings", "配置"),
            Self::Data => ("data", "数据"),
            Self::Postgres => ("PostgreSQL", "PostgreSQL"),
            Self::Tables => ("tables", "数据表"),
            Self::PostgresClock => ("clock of PostgreSQL", "PostgreSQL 时钟"),
            Self::Redis => ("Redis", "Redis"),
            Self::Eviction => ("memory of Redis", "Redis 内存"),
            Self::RedisClock => ("clock of Redis", "Redis 时钟"),
            Self::Key => ("key of the data", "数据密钥"),
            Self::SecretFiles => ("files with secrets", "密钥文件"),
            Self::Proxies => ("proxies", "代理"),
            Self::PublicUrl => ("public URL", "访问地址"),
            Self::Platform => ("platform", "平台连接"),
            Self::Clock => ("clock", "时钟"),
            Self::Record => ("time on record", "时间记录"),
            Self::Credentials => ("corp id and secret", "企业 ID 与 Secret"),
            Self::Api => ("API call", "接口调用"),
            Self::Application => ("application", "应用状态"),
            Self::Domain => ("trusted domain", "可信域名"),
            Self::VerifyFile => ("verification file", "域名验证文件"),
        };
        match language {
            Language::En => english,
            Language::Zh => chinese,
        }
    }
}

/// The same in both languages.
#[derive(Debug)]
pub(super) struct Bilingual {
    english: String,
    chinese: String,
}

/// The same in both languages.
pub(super) fn bilingual(english: impl Into<String>, chinese: impl Into<String>) -> Bilingual {
    Bilingual { english: english.into(), chinese: chinese.into() }
}

impl Bilingual {
    /// What reads alike in both, or is not translated.
    pub(super) fn alike(text: String) -> Self {
        Self { english: text.clone(), chinese: text }
    }

    fn pick(&self, language: Language) -> &str {
        match language {
            Language::En => &self.english,
            Language::Zh => &self.chinese,
        }
    }
}

/// What came out of a check.
#[derive(Debug)]
pub(super) enum Finding<T = ()> {
    /// All is well; something for the checks that follow.
    Good { found: T, told: Bilingual },
    /// Something is wrong, and can be mended.
    Bad { why: Bilingual, fix: Bilingual },
    /// It works, and something should be changed all the same.
    Warning { why: Bilingual, fix: Bilingual },
    /// It could not be checked, which is nobody's fault.
    Skipped(Bilingual),
}

impl<T> Finding<T> {
    pub(super) fn good(found: T, told: Bilingual) -> Self {
        Self::Good { found, told }
    }

    pub(super) fn bad(why: Bilingual, fix: Bilingual) -> Self {
        Self::Bad { why, fix }
    }
}

/// Tells of the checks, and counts those that found something wrong.
#[derive(Debug)]
pub(super) struct Report {
    language: Language,
    wrong: usize,
}

impl Report {
    pub(super) fn new(language: Language) -> Self {
        Self { language, wrong: 0 }
    }

    /// Tells what came out of a check, and hands on what was found.
    pub(super) fn record<T>(&mut self, what: Check, finding: Finding<T>) -> Option<T> {
        match finding {
            Finding::Good { found, told } => {
                self.line('✓', what, told.pick(self.language));
                Some(found)
            }
            Finding::Bad { why, fix } => {
                self.wrong += 1;
                self.line('✗', what, why.pick(self.language));
                self.below(&fix);
                None
            }
            Finding::Warning { why, fix } => {
                self.line('!', what, why.pick(self.language));
                self.below(&fix);
                None
            }
            Finding::Skipped(because) => {
                self.skip(&[what]);
                self.below(&because);
                None
            }
        }
    }

    /// Tells of checks that cannot be made because an earlier one failed.
    pub(super) fn skip(&self, skipped: &[Check]) {
        let told = bilingual("skipped", "已跳过");
        for what in skipped {
            self.line('-', *what, told.pick(self.language));
        }
    }

    /// Whether nothing was wrong.
    pub(super) fn verdict(&self) -> Result<(), String> {
        let wrong = self.wrong;
        match (wrong, self.language) {
            (0, _) => Ok(()),
            (_, Language::En) => Err(format!("{wrong} check(s) failed")),
            (_, Language::Zh) => Err(format!("{wrong} 项检查未通过")),
        }
    }

    fn line(&self, mark: char, what: Check, told: &str) {
        let colon = bilingual(": ", "：");
        print_line(&format!("{mark} {}{}{told}", what.name(self.language), colon.pick(self.language)));
    }

    fn below(&self, text: &Bilingual) {
        for line in text.pick(self.language).lines() {
            print_line(&format!("  {line}"));
        }
    }
}

/// Standard output keeps nothing back after the end of a line. Whoever stopped reading it still gets the exit code.
fn print_line(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
