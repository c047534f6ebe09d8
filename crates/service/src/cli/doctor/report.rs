//! The output: one line per check as soon as the check is done, and how to fix each problem.

use std::io::Write as _;

use deskpass_platform::{Check as PlatformCheck, CheckOutcome, PlatformKind};

use crate::config::Language;

/// Stands for the name of the platform in texts.
const PLATFORM: &str = "{platform}";

/// What the platform is called while it is not known which it is.
const ANY_PLATFORM: [&str; 2] = ["the platform", "平台"];

/// What an application's credentials are called while the platform is not known.
const ANY_CREDENTIALS: [&str; 2] = ["id and secret", "ID 与 Secret"];

#[derive(Clone, Copy, Debug)]
pub(super) enum Check {
    Settings,
    Data,
    DiskSpace,
    Postgres,
    Tables,
    PostgresClock,
    Redis,
    Eviction,
    RedisClock,
    Corporation,
    Key,
    Administrators,
    SecretFiles,
    Proxies,
    Hosts,
    Metrics,
    Certificate,
    PublicUrl,
    Platform,
    Clock,
    Record,
    Credentials,
    Configuration,
    VerifyFile,
    Events,
    Replies,
    OwnPages,
    Logo,
    OidcKeys,
    Oidc,
    Backchannel,
}

impl Check {
    /// All checks that need the settings.
    pub(super) const AFTER_SETTINGS: &[Self] = &[
        Self::Data,
        Self::SecretFiles,
        Self::PublicUrl,
        Self::Platform,
        Self::Clock,
        Self::Record,
        Self::Credentials,
        Self::Configuration,
    ];

    /// The name of the check; credentials are called as in the platform's console.
    fn name(self, language: Language, platform: Option<PlatformKind>) -> &'static str {
        let (english, chinese) = match self {
            Self::Settings => ("settings", "配置"),
            Self::Data => ("data", "数据"),
            Self::DiskSpace => ("disk space", "磁盘空间"),
            Self::Postgres => ("PostgreSQL", "PostgreSQL"),
            Self::Tables => ("tables", "数据表"),
            Self::PostgresClock => ("PostgreSQL clock", "PostgreSQL 时钟"),
            Self::Redis => ("Redis", "Redis"),
            Self::Eviction => ("Redis memory", "Redis 内存"),
            Self::RedisClock => ("Redis clock", "Redis 时钟"),
            Self::Corporation => ("corporation", "企业"),
            Self::Key => ("encryption key", "加密密钥"),
            Self::Administrators => ("administrators", "管理员"),
            Self::SecretFiles => ("secret files", "密钥文件"),
            Self::Proxies => ("proxies", "代理"),
            Self::Hosts => ("host names", "主机名"),
            Self::Metrics => ("metrics", "指标"),
            Self::Certificate => ("certificate", "证书"),
            Self::PublicUrl => ("public URL", "访问地址"),
            Self::Platform => ("platform", "{platform}连接"),
            Self::Clock => ("clock", "时钟"),
            Self::Record => ("recorded time", "时间记录"),
            Self::Credentials => {
                let [english, chinese] = platform.map_or(ANY_CREDENTIALS, PlatformKind::credentials);
                (english, chinese)
            }
            Self::Configuration => ("platform configuration", "{platform}侧配置"),
            Self::VerifyFile => ("verification file", "域名验证文件"),
            Self::Events => ("events", "事件"),
            Self::Replies => ("replies", "消息回复"),
            Self::OwnPages => ("own pages", "自有页面"),
            Self::Logo => ("logo", "徽标"),
            Self::OidcKeys => ("signing keys", "签名密钥"),
            Self::Oidc => ("OpenID Connect", "OpenID Connect"),
            Self::Backchannel => ("back-channel logout", "退出通知"),
        };
        match language {
            Language::En => english,
            Language::Zh => chinese,
        }
    }
}

#[derive(Debug)]
pub(super) struct Bilingual {
    english: String,
    chinese: String,
}

pub(super) fn bilingual(english: impl Into<String>, chinese: impl Into<String>) -> Bilingual {
    Bilingual { english: english.into(), chinese: chinese.into() }
}

impl Bilingual {
    /// A text that is the same in both languages, or is not translated.
    pub(super) fn alike(text: String) -> Self {
        Self { english: text.clone(), chinese: text }
    }

    pub(super) fn english(&self) -> &str {
        &self.english
    }

    pub(super) fn chinese(&self) -> &str {
        &self.chinese
    }

    fn pick(&self, language: Language) -> &str {
        match language {
            Language::En => &self.english,
            Language::Zh => &self.chinese,
        }
    }
}

#[derive(Debug)]
pub(super) enum Finding<T = ()> {
    /// The check passed; `found` is for the checks that follow.
    Good { found: T, message: Bilingual },
    /// The check failed; `fix` says how to fix it.
    Bad { why: Bilingual, fix: Bilingual },
    /// The check passed, but a setting should be changed.
    Warning { why: Bilingual, fix: Bilingual },
    /// The check was not possible, which does not count as a failure.
    Skipped(Bilingual),
}

impl Finding {
    /// A check that passed and found nothing for others.
    pub(super) fn ok(english: impl Into<String>, chinese: impl Into<String>) -> Self {
        Self::good((), bilingual(english, chinese))
    }
}

impl<T> Finding<T> {
    pub(super) fn good(found: T, message: Bilingual) -> Self {
        Self::Good { found, message }
    }

    pub(super) fn bad(why: Bilingual, fix: Bilingual) -> Self {
        Self::Bad { why, fix }
    }
}

/// Prints the results of the checks, and counts the failures.
#[derive(Debug)]
pub(super) struct Report {
    language: Language,
    platform: Option<PlatformKind>,
    wrong: usize,
}

impl Report {
    /// A report about a service with this platform, if it is known.
    pub(super) fn new(language: Language, platform: Option<PlatformKind>) -> Self {
        Self { language, platform, wrong: 0 }
    }

    pub(super) fn language(&self) -> Language {
        self.language
    }

    /// Prints the result of a check and returns what it found.
    pub(super) fn record<T>(&mut self, what: Check, finding: Finding<T>) -> Option<T> {
        self.record_as(what.name(self.language, self.platform), finding)
    }

    /// Prints the result of a check that the platform's client made.
    pub(super) fn record_platform_check(&mut self, PlatformCheck { name, outcome }: PlatformCheck) {
        let text = |[english, chinese]: [String; 2]| bilingual(english, chinese);
        let finding = match outcome {
            CheckOutcome::Good(message) => Finding::good((), text(message)),
            CheckOutcome::Skipped(because) => Finding::Skipped(text(because)),
            CheckOutcome::Bad { what, fix } => Finding::bad(text(what), text(fix)),
        };
        self.record_as(self.language.of(name), finding);
    }

    fn record_as<T>(&mut self, name: &str, finding: Finding<T>) -> Option<T> {
        match finding {
            Finding::Good { found, message } => {
                self.line('✓', name, message.pick(self.language));
                Some(found)
            }
            Finding::Bad { why, fix } => {
                self.wrong += 1;
                self.line('✗', name, why.pick(self.language));
                self.below(&fix);
                None
            }
            Finding::Warning { why, fix } => {
                self.line('!', name, why.pick(self.language));
                self.below(&fix);
                None
            }
            Finding::Skipped(because) => {
                self.skipped(name);
                self.below(&because);
                None
            }
        }
    }

    /// Prints checks that were skipped because an earlier one failed.
    pub(super) fn skip(&self, skipped: &[Check]) {
        for what in skipped {
            self.skipped(what.name(self.language, self.platform));
        }
    }

    fn skipped(&self, name: &str) {
        self.line('-', name, self.language.of(["skipped", "已跳过"]));
    }

    pub(super) fn verdict(&self) -> Result<(), String> {
        let wrong = self.wrong;
        match (wrong, self.language) {
            (0, _) => Ok(()),
            (_, Language::En) => Err(format!("{wrong} check(s) failed")),
            (_, Language::Zh) => Err(format!("{wrong} 项检查未通过")),
        }
    }

    fn line(&self, mark: char, name: &str, message: &str) {
        self.print(&format!("{mark} {name}{}{message}", self.language.of([": ", "："])));
    }

    fn below(&self, text: &Bilingual) {
        for line in text.pick(self.language).lines() {
            self.print(&format!("  {line}"));
        }
    }

    fn print(&self, line: &str) {
        let platform = self.language.of(self.platform.map_or(ANY_PLATFORM, PlatformKind::title));
        print_line(&line.replace(PLATFORM, platform));
    }
}

/// Standard output is flushed at the end of each line. The exit code is set even if the reader closed the pipe.
fn print_line(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
