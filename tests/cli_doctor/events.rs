//! What the doctor says about the platform's events.

use super::fixture::DoctorFixture;
use crate::harness::query;

#[test]
fn the_address_of_events_and_the_last_one_are_told() {
    let mut patient = DoctorFixture::new();
    assert!(patient.command(&["migrate", "--create"]).output().unwrap().status.success());
    let [english, chinese] = patient.both();
    english.line(
        "✓ events: off: a person who left is found by the re-check, within 60 minutes; to be told at once, enter \
         https://desk.example.com/api/platform/events at the platform: 应用管理 → ",
    );
    chinese.line(
        "✓ 事件：未启用：离职人员由定期复查发现，最迟 60 分钟；如需立即获知，请在企业微信中填写 \
         https://desk.example.com/api/platform/events：应用管理 → ",
    );
    patient.set("platform.events.token", "canarytoken");
    patient.set("platform.events.aes_key", &"k".repeat(43));
    let [english, chinese] = patient.both();
    let fields = ["https://desk.example.com/api/platform/events", "接收消息 → 设置API接收", "EncodingAESKey"];
    english.below("! events: none arrived within the last three days", &fields);
    chinese.below("! 事件：最近三天没有收到任何事件", &fields);
    assert!(!format!("{}{}", english.text, chinese.text).contains("canarytoken"));
    let insert = "INSERT INTO platform_event (digest, change, received_at) VALUES ('d', '', 1750000000000)";
    query(&patient.data().join("deskpass.db"), insert);
    patient.examine(&[]).line("✓ events: the last one arrived at 2025-06-1");
    patient.set("platform.events.token", "");
    patient.examine(&[]).below("✗ settings: 1 problem(s)", &["platform.events.token", "it is empty"]);
}
