//! The story of a request, as text and as JSON.

use serde::Serialize;

use super::super::CommandResult;
use super::super::table::table;
use crate::config::Language;
use crate::timestamp::Rfc3339;

/// The rows of a request, explained.
#[derive(Debug, Serialize)]
pub(super) struct Story {
    pub(super) reference: String,
    pub(super) found: bool,
    pub(super) events: Vec<StoryEvent>,
}

/// A row, explained.
#[derive(Debug, Serialize)]
pub(super) struct StoryEvent {
    pub(super) at: Rfc3339,
    pub(super) local_time: String,
    pub(super) event: String,
    pub(super) attempted: String,
    /// The employee, unless the platform or the client named none.
    pub(super) employee: Option<Who>,
    /// Whether there is such an employee now.
    pub(super) exists: bool,
    /// The employee who caused the event, if it is about another one.
    pub(super) actor: Option<Who>,
    pub(super) address: String,
    pub(super) client: String,
    pub(super) reason: Option<String>,
    pub(super) detail: String,
    /// The title of the page that showed it.
    pub(super) page: Option<String>,
    /// The answer to a program.
    pub(super) answer: Option<Answer>,
    /// Why it was refused.
    pub(super) what: String,
    /// What is so now about the employee.
    #[serde(skip)]
    pub(super) state: Vec<[String; 2]>,
    /// Later events about the employee, newest first.
    pub(super) since: Vec<String>,
    /// What to do now.
    pub(super) next: String,
    /// Whether the row is as it was written.
    pub(super) verified: bool,
}

/// An employee.
#[derive(Debug, Serialize)]
pub(super) struct Who {
    pub(super) corp_id: String,
    pub(super) employee_id: String,
    pub(super) name: Option<String>,
}

/// An answer of the API.
#[derive(Debug, Serialize)]
pub(super) struct Answer {
    pub(super) code: u16,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl Story {
    pub(super) fn json(&self) -> CommandResult {
        serde_json::to_string_pretty(self).map_err(|error| error.to_string())
    }

    pub(super) fn text(&self, language: Language) -> String {
        let reference = &self.reference;
        let heading = language.of([format!("Reference {reference}"), format!("参考编号 {reference}")]);
        let events = self.events.iter().map(|event| event.text(language));
        std::iter::once(heading).chain(events).collect::<Vec<_>>().join("\n\n")
    }
}

impl StoryEvent {
    fn text(&self, language: Language) -> String {
        let mut parts = vec![table(&self.facts(language)), self.what.clone()];
        if !self.state.is_empty() {
            parts.push(format!("{}\n{}", language.of(["Now:", "现在："]), table(&self.state)));
        }
        if !self.since.is_empty() {
            let heading = language.of(["Since then, newest first:", "此后（最新在前）："]);
            parts.push(format!("{heading}\n  {}", self.since.join("\n  ")));
        }
        if !self.next.is_empty() {
            let next = &self.next;
            parts.push(language.of([format!("What to do: {next}"), format!("处理办法：{next}")]));
        }
        parts.retain(|part| !part.is_empty());
        parts.join("\n\n")
    }

    /// When, what, who, from where, and what they saw.
    fn facts(&self, language: Language) -> Vec<[String; 2]> {
        let label = |texts: [&str; 2]| language.of(texts).to_owned();
        let quoted = |text: &String| format!("“{text}”");
        let client = if self.client.is_empty() { String::new() } else { format!(" ({})", self.client) };
        let reason = self.reason.as_ref().map(|reason| {
            let detail = if self.detail.is_empty() { String::new() } else { format!(" ({})", self.detail) };
            format!("{reason}{detail}")
        });
        let answer =
            self.answer.as_ref().map(|Answer { code, reason, message }| format!("{code} {reason} “{message}”"));
        let changed = label([
            "changed since it was written: run `deskpass audit verify`",
            "写入后被改动：请运行 `deskpass audit verify`",
        ]);
        let rows = [
            (["when", "时间"], Some(self.local_time.clone())),
            (["what", "操作"], Some(self.attempted.clone())),
            (["who", "人员"], Some(self.person(language))),
            (["by", "操作人"], self.actor.as_ref().map(|actor| actor.text(language))),
            (["from", "来源"], Some(format!("{}{client}", self.address))),
            (["reason", "原因"], reason),
            (["page", "页面显示"], self.page.as_ref().map(quoted)),
            (["answer", "接口返回"], answer),
            (["record", "记录"], (!self.verified).then_some(changed)),
        ];
        rows.into_iter().filter_map(|(name, fact)| Some([label(name), fact?])).collect()
    }

    fn person(&self, language: Language) -> String {
        let Some(who) = &self.employee else {
            return language.of(["not known: the request named no employee", "未知：请求未涉及具体员工"]).to_owned();
        };
        let absent = if self.exists { "" } else { language.of([" (no such employee now)", "（现无此员工）"]) };
        format!("{}{absent}", who.text(language))
    }
}

impl Who {
    fn text(&self, language: Language) -> String {
        let Self { corp_id: corp, employee_id: id, name } = self;
        match name {
            Some(name) => language.of([format!("{id} ({name}) of {corp}"), format!("{id}（{name}，{corp}）")]),
            None => language.of([format!("{id} of {corp}"), format!("{id}（{corp}）")]),
        }
    }
}
