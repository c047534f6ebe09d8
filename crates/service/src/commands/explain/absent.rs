//! Explains where to look for a reference that no row of the audit log has.

use deskpass_core::Reference;
use deskpass_store::{AuditEvent, LogFilter, LogRow, StoreError};
use serde_json::json;

use super::super::CommandResult;
use super::super::table::plain;
use super::describe::failure;
use super::request_rows::rows_of;
use crate::App;
use crate::config::Language;
use crate::timestamp::local_time;

/// The maximum number of similar references in the output.
const MAX_NEAR: usize = 3;

const SECONDS_PER_DAY: u64 = 86_400;

pub(super) async fn explain(app: &App, reference: Reference, json: bool, language: Language) -> CommandResult {
    let failed = |error: StoreError| failure(error, language);
    let mut near = rows_of(app, &reference.neighbours(), language).await?;
    near.reverse();
    near.truncate(MAX_NEAR);
    let summaries = LogFilter {
        corp: app.auth.policy.home_corp.as_str().to_owned(),
        event: Some(AuditEvent::RefusalsSummarised),
        ..LogFilter::default()
    };
    let summary = app.auth.store.log_page(summaries, None, 1).await.map_err(failed)?.rows.pop();
    let command = format!("journalctl -u deskpass | grep {reference}");
    if json {
        let near: Vec<_> = near.iter().filter_map(|row| row.reference.clone()).collect();
        let answer = json!({
            "reference": reference.to_string(), "found": false, "events": [], "near": near, "next": command,
        });
        return serde_json::to_string_pretty(&answer).map_err(|error| error.to_string());
    }
    let (zone, days) = (app.settings.notices.zone(), app.settings.audit.retention.as_secs() / SECONDS_PER_DAY);
    let place = app.settings.data_location();
    let line = |row: &LogRow| {
        let kind = AuditEvent::from_name(&row.event);
        let event = kind.map_or(&*row.event, |kind| language.of(kind.label()));
        let (at, reference) = (local_time(&zone, row.at), row.reference.as_deref().unwrap_or_default());
        plain(&format!("{reference}  {at}  {event}  {}", row.about.id()))
    };
    let mut parts = vec![text(reference, &command, &place, days, language)];
    if !near.is_empty() {
        let heading = language.of(["If it was mistyped, these are near:", "如输入有误，相近的编号有："]);
        let lines: Vec<_> = near.iter().map(line).collect();
        parts.push(format!("{heading}\n  {}", lines.join("\n  ")));
    }
    parts.extend(summary.map(|row| {
        let (at, detail) = (local_time(&zone, row.at), plain(&row.detail));
        language.of([format!("The last summary, {at}: {detail}"), format!("最近一次汇总，{at}：{detail}")])
    }));
    Ok(parts.join("\n\n"))
}

fn text(reference: Reference, command: &str, place: &str, days: u64, language: Language) -> String {
    language.of([
        format!(
            "No row of the audit log has the reference {reference}.\n\n\
             Look in the service log, on every node:\n  {command}\n\n\
             These answers have a line there and no row: failures (1005), for which `deskpass doctor` finds most causes; \
             invalid requests (1002); invalid or expired tokens (1001); missing objects (1004); rate limits (1006); a missing \
             one-time password (1007); and refusals that name no employee, beyond 60 a minute from one address: a row a minute \
             counts those (refusals_summarised). Lines are limited too, refusals of clients that are not signed in to 20 a \
             minute from one address and 60 from all: a line a minute counts the others (\"more requests were refused\").\n\n\
             Otherwise it is older than the log, which keeps {days} days (audit.retention), or of another service: this \
             command read {place}."
        ),
        format!(
            "审计日志中没有参考编号 {reference}。\n\n\
             请在每个节点的服务日志中查找：\n  {command}\n\n\
             以下情况只有日志行，没有审计记录：内部错误（1005），多数原因可由 `deskpass doctor` 查出；请求不正确（1002）；令牌无效或已过期（1001）；\
             对象不存在（1004）；请求过于频繁（1006）；缺少一次性密码（1007）；以及未涉及具体员工、且同一地址每分钟超过 60 次的拒绝，\
             它们每分钟汇总为一条记录（refusals_summarised）。日志行也有上限：未登录客户端的拒绝，同一地址每分钟 20 行，总计 60 行，\
             其余的每分钟汇总为一行（\"more requests were refused\"）。\n\n\
             除此之外，该编号可能早于审计日志的保留期（{days} 天，audit.retention），或属于另一个服务：本命令读取的是 {place}。"
        ),
    ])
}
