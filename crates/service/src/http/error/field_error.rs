//! The errors of request fields, and their texts.

use std::borrow::Cow;
use std::collections::BTreeMap;

use deskpass_core::oidc::{InvalidRedirectUri, InvalidRegistration};
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
    /// A member of a body that its operation does not read.
    UnknownMember(String),
    NotInteger(u64, u64),
    NotBoolean,
    NotStringList(usize),
    /// The value must be a non-empty subset of these words.
    NotSomeOf(&'static [&'static str]),
    /// The invalid networks, with the error of each.
    Networks(Vec<(String, InvalidNetwork)>),
    /// The registration of an OpenID Connect client is invalid.
    Registration(InvalidRegistration),
    /// The rule that the text breaks, in English and Chinese.
    Format([&'static str; 2]),
    /// What is wrong with a part of the value, in English and Chinese.
    Part([String; 2]),
}

impl FieldError {
    pub(crate) fn text(&self, language: Language) -> String {
        let fixed = |texts: [&str; 2]| language.of(texts).to_owned();
        let listed = |texts: [&str; 2], words: &[&str]| fixed(texts) + &words.join(language.of([", ", "、"]));
        match self {
            Self::Required => fixed(["is required", "必填"]),
            Self::NotString => fixed(["must be a string", "必须是字符串"]),
            Self::Repeated => fixed(["must not be given twice", "不能重复"]),
            Self::NotOneOf(words) => listed(["must be one of ", "必须是以下之一："], words),
            Self::Redirect => fixed([
                "must be a page under /h5/, /itagent/ or /itadmin/ of this service or of a listed origin, or with \
                 pages.directory under /app/ of this service",
                "必须是本服务或已登记来源下 /h5/、/itagent/ 或 /itadmin/ 的页面地址；设置 pages.directory 后也可以是本服务 /app/ 下的页面",
            ]),
            Self::NotHttpUrl => fixed(["must be an http or https address", "必须是 http 或 https 地址"]),
            Self::NoAgentId => {
                fixed(["web needs platform.agent_id in the settings", "web 模式需要在配置中设置 platform.agent_id"])
            }
            Self::TooLong(most) => {
                language.of([format!("must be at most {most} bytes"), format!("不得超过 {most} 字节")])
            }
            Self::CodeOrPassword => {
                fixed(["is required unless a code of the platform is sent", "未提供{platform}授权码（code）时必填"])
            }
            Self::UnknownFields(known) => listed(["must have no other fields than ", "只能包含以下字段："], known),
            Self::UnknownMember(name) => language.of([
                format!("must not have the member {name}, which the operation does not read"),
                format!("不得包含该操作不读取的成员 {name}"),
            ]),
            Self::NotInteger(least, most) => language.of([
                format!("must be a whole number from {least} to {most}"),
                format!("必须是 {least} 到 {most} 的整数"),
            ]),
            Self::NotBoolean => fixed(["must be true or false", "必须是 true 或 false"]),
            Self::NotStringList(most) => language
                .of([format!("must be a list of at most {most} strings"), format!("必须是最多 {most} 个字符串的列表")]),
            Self::NotSomeOf(words) => {
                listed(["must be a list of at least one of ", "必须是列表，至少包含以下之一："], words)
            }
            Self::Networks(bad) => networks(bad, language),
            Self::Registration(problem) => registration(problem, language),
            Self::Format(rule) => fixed(*rule),
            Self::Part(texts) => language.of(texts.clone()),
            Self::Id(rule) => {
                language.of([rule.to_string(), format!("必须是 1 到 64 个字符，只能包含 {}", rule.allowed())])
            }
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

fn registration(problem: &InvalidRegistration, language: Language) -> String {
    let chinese = match (problem, language) {
        (problem, Language::En) => return problem.to_string(),
        (InvalidRegistration::Name, Language::Zh) => "必须是 1 到 64 个可见字符，首尾不得有空格",
        (InvalidRegistration::NoRedirectUri, Language::Zh) => "至少需要一个地址",
        (InvalidRegistration::TooMany(_), Language::Zh) => "条目过多，最多 20 个",
        (InvalidRegistration::PkceNeeded, Language::Zh) => "只有 confidential 客户端可以不使用 PKCE",
        (InvalidRegistration::SilentOnLoopback, Language::Zh) => {
            "native 客户端使用本机回环地址时不能设为 silent：这台电脑上的任何程序都可以监听该地址；请改用 ask"
        }
        (InvalidRegistration::OriginsOfConfidential, Language::Zh) => "只有公开客户端可以登记来源",
        (InvalidRegistration::NoOpenid, Language::Zh) => "必须包含 openid",
        (InvalidRegistration::Group, Language::Zh) => "名称必须是 1 到 64 个可见字符",
        (InvalidRegistration::Address { address, problem, .. }, Language::Zh) => {
            let problem = match problem {
                InvalidRedirectUri::NotAnAddress => "不是规范的 http 或 https 绝对地址",
                InvalidRedirectUri::Fragment => "不得包含片段（#）",
                InvalidRedirectUri::UserInfo => "不得包含用户名或密码",
                InvalidRedirectUri::TooLong => "超过 2048 个字符",
                InvalidRedirectUri::NoProgram => "不得是链路本地、未指定、组播或云元数据地址",
                InvalidRedirectUri::NotAnOrigin => "必须是来源：只含协议、主机和端口，末尾没有斜杠",
                InvalidRedirectUri::PlainHttp => "必须以 https:// 开头（127.0.0.1、[::1] 和 localhost 除外）",
            };
            return format!("{address}：{problem}");
        }
    };
    chinese.to_owned()
}
