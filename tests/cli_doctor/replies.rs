//! The check of the back end for replies.

use super::DoctorFixture;
use crate::harness::{BackendAnswer, REPLY_SECRET, ReplyBackend, free_address};

/// The back end for replies is reached, without a reply.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_back_end_for_replies_is_reached() {
    let backend = ReplyBackend::start().await;
    let mut patient = DoctorFixture::new();
    assert!(patient.command(&["migrate", "--create"]).output().unwrap().status.success());
    patient.set("messages.reply_secret", REPLY_SECRET);
    patient.set("messages.reply_url", &backend.url);
    let [english, chinese] = patient.both();
    english.line(&format!("✓ replies: reachable at {}", backend.url));
    chinese.line(&format!("✓ 消息回复：可以访问 {}", backend.url));
    assert!(backend.take().iter().all(|request| request.body.is_empty()));
    // A redirect would be final: the address has to be written as the back end wants it.
    backend.plan(&[BackendAnswer::Redirect, BackendAnswer::Redirect]);
    let [english, chinese] = patient.both();
    english.below(&format!("✗ replies: {} redirects", backend.url), &["messages.reply_url"]);
    chinese.below(&format!("✗ 消息回复：{} 返回重定向", backend.url), &["messages.reply_url"]);
    let nowhere = format!("http://{}/replies", free_address());
    patient.set("messages.reply_url", &nowhere);
    let [english, chinese] = patient.both();
    english.below(&format!("✗ replies: no response from {nowhere}"), &["messages.reply_url"]);
    chinese.below(&format!("✗ 消息回复：{nowhere} 没有响应"), &["messages.reply_url"]);
    for report in [english, chinese] {
        assert!(!report.text.contains(REPLY_SECRET), "{}", report.text);
    }
}
