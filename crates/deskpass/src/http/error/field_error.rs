//! The errors of request fields, and their texts.

use std::borrow::Cow;
use std::collections::BTreeMap;

use deskpass_core::{InvalidId, InvalidNetwork};

use crate::config::Language;

/// The invalid fields of a request, by name.
pub(crate) type FieldErrors = BTreeMap<Cow<'static, str>, FieldError>;

/// What is wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FieldError {
    Required,
    NotString,
    Repeated,
    Id(InvalidId),
    NotOneOf(&'static [&'static str]),
    Redirect,
    NotHttpUrl,
    NoAgentId,
    TooLong(usize),
    CodeOrPassword,
    UnknownFields(Vec<&'static str>),
    NotInteger(u64, u64),
    NotBoolean,
    NotStringList(usize),
    /// The value must be a non-empty subset of these words.
    NotSomeOf(&'static [&'static str]),
    /// The invalid networks, with the error of each.
    Networks(Vec<(String, InvalidNetwork)>),
    /// The rule that the text breaks, in English and Chinese.
    Format([&'static str; 2]),
}

impl FieldError {
    pub(crate) fn text(&self, language: Language) -> String {
        match (self, language) {
            (Self::Required, Language::En) => "is required".into(),
            (Self::Required, Language::Zh) => "必填".into(),
            (Self::NotString, Language::En) => "must be a string".into(),
            (Self::NotString, Language::Zh) => "必须是字符串".into(),
            (Self::Repeated, Language::En) => "must not be given twice".into(),
            (Self::Repeated, Language::Zh) => "不能重复".into(),
            (Self::NotOneOf(words), Language::En) => format!("must be one of {}", words.join(", ")),
            (Self::NotOneOf(words), Language::Zh) => format!("必须是以下之一：{}", words.join("、")),
            (Self::Redirect, Language::En) => {
                "must be a page under /h5/, /itagent/ or /itadmin/ of this service or of a listed origin".into()
            }
            (Self::Redirect, Language::Zh) => {
                "必须是本服务或已登记来源下 /h5/、/itagent/ 或 /itadmin/ 的页面地址".into()
            }
            (Self::NotHttpUrl, Language::En) => "must be an http or https address".into(),
            (Self::NotHttpUrl, Language::Zh) => "必须是 http 或 https 地址".into(),
            (Self::NoAgentId, Language::En) => "web needs platform.agent_id in the settings".into(),
            (Self::NoAgentId, Language::Zh) => "web 模式需要在配置中设置 platform.agent_id".into(),
            (Self::TooLong(most), Language::En) => format!("must be at most {most} bytes"),
            (Self::TooLong(most), Language::Zh) => format!("不得超过 {most} 字节"),
            (Self::CodeOrPassword, Language::En) => "is required where no code of the platform is sent".into(),
            (Self::CodeOrPassword, Language::Zh) => "未提供平台授权码（code）时必填".into(),
            (Self::UnknownFields(known), Language::En) => {
                format!("must have no other fields than {}", known.join(", "))
            }
            (Self::UnknownFields(known), Language::Zh) => format!("只能包含以下字段：{}", known.join("、")),
            (Self::NotInteger(least, most), Language::En) => format!("must be a whole number from {least} to {most}"),
            (Self::NotInteger(least, most), Language::Zh) => format!("必须是 {least} 到 {most} 的整数"),
            (Self::NotBoolean, Language::En) => "must be true or false".into(),
            (Self::NotBoolean, Language::Zh) => "必须是 true 或 false".into(),
            (Self::NotStringList(most), Language::En) => format!("must be a list of at most {most} strings"),
            (Self::NotStringList(most), Language::Zh) => format!("必须是最多 {most} 个字符串的列表"),
            (Self::NotSomeOf(words), Language::En) => format!("must be a list of at least one of {}", words.join(", ")),
            (Self::NotSomeOf(words), Language::Zh) => format!("必须是列表，至少包含以下之一：{}", words.join("、")),
            (Self::Networks(bad), language) => networks(bad, language),
            (Self::Format(rule), language) => language.of(*rule).into(),
            (Self::Id(rule), Language::En) => rule.to_string(),
            (Self::Id(rule), Language::Zh) => format!("格式不正确：{rule}"),
        }
    }
}

/// The most invalid networks that an error names.
const MAX_NAMED_NETWORKS: usize = 10;

/// The most characters of each network that an error shows.
const MAX_SHOWN_CHARS: usize = 64;

fn networks(bad: &[(String, InvalidNetwork)], language: Language) -> String {
    let told = |(text, problem): &(String, InvalidNetwork)| {
        let text: String = text.chars().take(MAX_SHOWN_CHARS).collect();
        match (problem, language) {
            (problem, Language::En) => format!("{text:?} {problem}"),
            (InvalidNetwork::Unreadable, Language::Zh) => format!("{text:?} 不是网络"),
            (InvalidNetwork::Ambiguous { network, host }, Language::Zh) => {
                format!("{text:?} 含义不明确，可能是 {network} 或 {host}")
            }
        }
    };
    let more = bad.len().saturating_sub(MAX_NAMED_NETWORKS);
    let rest = (more > 0).then(|| format!("{} {more}", language.of(["and more like these:", "另有类似的："])));
    let told: Vec<_> = bad.iter().take(MAX_NAMED_NETWORKS).map(told).chain(rest).collect();
    told.join(language.of(["; ", "；"]))
}
