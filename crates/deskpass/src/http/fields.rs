//! Reads a body or a query field by field and reports every bad one, not only the first.

use std::collections::BTreeMap;
use std::fmt;

use deskpass_core::{InvalidId, Password};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;

use crate::config::Language;

/// What is wrong with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    Required,
    NotText,
    Twice,
    Id(InvalidId),
    NotOneOf(&'static [&'static str]),
    Redirect,
    NotWeb,
    NoAgentId,
    TooLong(usize),
    CodeOrPassword,
    Others(&'static [&'static str]),
}

impl Problem {
    pub(super) fn text(self, language: Language) -> String {
        match (self, language) {
            (Self::Required, Language::En) => "is required".into(),
            (Self::Required, Language::Zh) => "必填".into(),
            (Self::NotText, Language::En) => "must be a string".into(),
            (Self::NotText, Language::Zh) => "必须是字符串".into(),
            (Self::Twice, Language::En) => "must not be given twice".into(),
            (Self::Twice, Language::Zh) => "不能重复".into(),
            (Self::NotOneOf(words), Language::En) => format!("must be one of {}", words.join(", ")),
            (Self::NotOneOf(words), Language::Zh) => format!("必须是以下之一：{}", words.join("、")),
            (Self::Redirect, Language::En) => {
                "must be a page under /h5/, /itagent/ or /itadmin/ of this service or of a listed origin".into()
            }
            (Self::Redirect, Language::Zh) => {
                "必须是本服务或已登记来源下 /h5/、/itagent/ 或 /itadmin/ 的页面地址".into()
            }
            (Self::NotWeb, Language::En) => "must be an http or https address".into(),
            (Self::NotWeb, Language::Zh) => "必须是 http 或 https 地址".into(),
            (Self::NoAgentId, Language::En) => "web needs platform.agent_id in the settings".into(),
            (Self::NoAgentId, Language::Zh) => "web 模式需要在配置中设置 platform.agent_id".into(),
            (Self::TooLong(most), Language::En) => format!("must be at most {most} bytes"),
            (Self::TooLong(most), Language::Zh) => format!("不得超过 {most} 字节"),
            (Self::CodeOrPassword, Language::En) => "is required where no code of the platform is sent".into(),
            (Self::CodeOrPassword, Language::Zh) => "未提供平台授权码（code）时必填".into(),
            (Self::Others(known), Language::En) => format!("must have no other fields than {}", known.join(", ")),
            (Self::Others(known), Language::Zh) => format!("只能包含以下字段：{}", known.join("、")),
            (Self::Id(rule), Language::En) => rule.to_string(),
            (Self::Id(rule), Language::Zh) => format!("格式不正确：{rule}"),
        }
    }
}

/// The bad fields of a request, by name.
pub(super) type Problems = BTreeMap<&'static str, Problem>;

/// The fields of a body, and what was wrong with those read so far.
#[derive(Debug)]
pub(super) struct Fields {
    given: Vec<(String, Value)>,
    problems: Problems,
}

/// A body that can be read from its fields.
pub(super) trait Ask: Sized {
    /// Reads what it needs; `None` when something was wrong, which `fields` then knows.
    fn read(fields: &mut Fields) -> Option<Self>;
}

impl Fields {
    /// Reads a whole request.
    pub(super) fn ask<T: Ask>(mut self) -> Result<T, Problems> {
        let ask = T::read(&mut self);
        ask.filter(|_| self.problems.is_empty()).ok_or(self.problems)
    }

    /// A text that must be there.
    pub(super) fn text(&mut self, name: &'static str) -> Option<String> {
        let text = self.maybe_text(name)?;
        if text.is_none() {
            self.problems.insert(name, Problem::Required);
        }
        text
    }

    /// A text that may be missing or null. The outer `None` means that something else stands there.
    #[expect(clippy::option_option, reason = "missing and wrong are two things, and one of them is reported already")]
    pub(super) fn maybe_text(&mut self, name: &'static str) -> Option<Option<String>> {
        let mut found = self.given.iter_mut().filter(|(given, _)| given == name).map(|(_, value)| value.take());
        let (value, again) = (found.next(), found.next());
        let problem = match (value, again) {
            (_, Some(_)) => Problem::Twice,
            (None | Some(Value::Null), None) => return Some(None),
            (Some(Value::String(text)), None) => return Some(Some(text)),
            (Some(_), None) => Problem::NotText,
        };
        self.problems.insert(name, problem);
        None
    }

    /// A password that must be there.
    pub(super) fn password(&mut self, name: &'static str) -> Option<Password> {
        let text = self.text(name)?;
        self.bounded(name, text)
    }

    /// A password that may be missing.
    #[expect(clippy::option_option, reason = "missing and wrong are two things, and one of them is reported already")]
    pub(super) fn maybe_password(&mut self, name: &'static str) -> Option<Option<Password>> {
        match self.maybe_text(name)? {
            None => Some(None),
            Some(text) => self.bounded(name, text).map(Some),
        }
    }

    fn bounded(&mut self, name: &'static str, text: String) -> Option<Password> {
        let password = Password::parse(text);
        if password.is_none() {
            self.refuse(name, Problem::TooLong(Password::LONGEST));
        }
        password
    }

    /// Reports a field that is wrong for another reason.
    pub(super) fn refuse(&mut self, name: &'static str, problem: Problem) {
        self.problems.insert(name, problem);
    }

    /// One of a few words, or none.
    #[expect(clippy::option_option, reason = "missing and wrong are two things, and one of them is reported already")]
    pub(super) fn maybe_word(
        &mut self,
        name: &'static str,
        words: &'static [&'static str],
    ) -> Option<Option<&'static str>> {
        let Some(text) = self.maybe_text(name)? else { return Some(None) };
        let word = words.iter().find(|word| **word == text);
        if word.is_none() {
            self.problems.insert(name, Problem::NotOneOf(words));
        }
        word.map(|word| Some(*word))
    }

    /// One of a few words, which must be there.
    pub(super) fn word(&mut self, name: &'static str, words: &'static [&'static str]) -> Option<&'static str> {
        let word = self.maybe_word(name, words)?;
        if word.is_none() {
            self.problems.insert(name, Problem::Required);
        }
        word
    }

    /// Whether any of these is given.
    pub(super) fn have(&self, names: &[&str]) -> bool {
        self.given.iter().any(|(given, _)| names.contains(&given.as_str()))
    }

    /// Reports fields of a query besides these, where a slip in a name would quietly allow more than was meant.
    pub(super) fn only(&mut self, known: &'static [&'static str]) {
        if self.given.iter().any(|(name, _)| !known.contains(&name.as_str())) {
            self.problems.insert("query", Problem::Others(known));
        }
    }

    /// An identifier that must be there.
    pub(super) fn id<T>(&mut self, name: &'static str, parse: fn(&str) -> Result<T, InvalidId>) -> Option<T> {
        let text = self.text(name)?;
        self.check(name, parse(&text))
    }

    /// An identifier that may be missing.
    #[expect(clippy::option_option, reason = "missing and wrong are two things, and one of them is reported already")]
    pub(super) fn maybe_id<T>(
        &mut self,
        name: &'static str,
        parse: fn(&str) -> Result<T, InvalidId>,
    ) -> Option<Option<T>> {
        match self.maybe_text(name)? {
            None => Some(None),
            Some(text) => self.check(name, parse(&text)).map(Some),
        }
    }

    fn check<T>(&mut self, name: &'static str, parsed: Result<T, InvalidId>) -> Option<T> {
        parsed.map_err(|rule| self.problems.insert(name, Problem::Id(rule))).ok()
    }
}

impl FromIterator<(String, String)> for Fields {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(pairs: I) -> Self {
        let given = pairs.into_iter().map(|(name, value)| (name, Value::String(value))).collect();
        Self { given, problems: Problems::new() }
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut given = Vec::with_capacity(2);
                while let Some(entry) = map.next_entry()? {
                    given.push(entry);
                }
                Ok(Fields { given, problems: Problems::new() })
            }
        }
        deserializer.deserialize_map(Object)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use deskpass_core::EmployeeId;

    use super::*;

    struct Pair(#[expect(dead_code, reason = "only whether it parses matters")] EmployeeId);
    impl Ask for Pair {
        fn read(fields: &mut Fields) -> Option<Self> {
            let (id, role) = (fields.id("id", EmployeeId::parse), fields.maybe_text("role"));
            role?;
            Some(Self(id?))
        }
    }

    fn problems(body: &str) -> Vec<(&'static str, Problem)> {
        let fields: Fields = serde_json::from_str(body).unwrap();
        fields.ask::<Pair>().map_or_else(|problems| problems.into_iter().collect(), |_| Vec::new())
    }

    #[test]
    fn every_bad_field_is_named() {
        assert_eq!(problems(r#"{"id":"a","role":null,"else":[1]}"#), []);
        assert_eq!(problems("{}"), [("id", Problem::Required)]);
        assert_eq!(problems(r#"{"id":1,"role":2}"#), [("id", Problem::NotText), ("role", Problem::NotText)]);
        assert_eq!(problems(r#"{"id":"a","id":"b"}"#), [("id", Problem::Twice)]);
        assert!(matches!(*problems(r#"{"id":"a b"}"#), [("id", Problem::Id(_))]));
    }
}
