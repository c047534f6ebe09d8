//! `deskpass doctor` with other platforms than the default one.

use super::DoctorFixture;

/// A production service with a simulated platform of this kind.
fn patient_of(kind: &'static str, client_id: &'static str) -> DoctorFixture {
    let mut patient = DoctorFixture::with(&["--platform", kind, "--domain", "desk.example.com"]);
    patient.settings.retain(|(key, _)| *key != "platform.agent_id");
    let corporation = if kind == "dingtalk" { "dingdeskpass" } else { "tenantdeskpass" };
    for (key, value) in [("platform.kind", kind), ("platform.client_id", client_id), ("platform.corp_id", corporation)]
    {
        patient.set(key, value);
    }
    let api = format!("http://{}/sim", patient.platform.address);
    match kind {
        "dingtalk" => {
            patient.set("platform.agent_id", "1000002");
            patient.set("platform.legacy_api_url", &api);
        }
        _ => patient.set("platform.token_url", &format!("{api}/oauth/v3/token")),
    }
    patient
}

#[test]
fn every_platform_is_examined_and_named() {
    let callback = "https://desk.example.com/api/auth/oauth2/callback";
    for (kind, client_id, name, [credentials, chinese_credentials]) in [
        ("dingtalk", "dingclientdeskpass", "钉钉", ["Client ID and secret", "Client ID 与 Client Secret"]),
        ("feishu", "cli_deskpass", "飞书", ["App ID and secret", "App ID 与 App Secret"]),
    ] {
        let mut patient = patient_of(kind, client_id);
        let [english, chinese] = patient.both();
        for report in [&english, &chinese] {
            report.wrong(&[]);
            assert!(!report.text.contains("{platform}") && !report.text.contains("企业微信"), "{}", report.text);
        }
        english.line(&format!(
            "✓ public URL: https://desk.example.com; the redirect URL to enter at the platform is {callback}"
        ));
        chinese.line(&format!("✓ 访问地址：https://desk.example.com；需在{name}中填写的重定向 URL 为 {callback}"));
        english.line(&format!("✓ {credentials}: accepted"));
        assert_eq!(english.text.contains("- tenant key: skipped"), kind == "feishu", "{}", english.text);
        chinese.line(&format!("✓ {name}连接：可以访问 http://"));
        chinese.line(&format!("✓ 时钟：与{name}相差 "));
        assert!(!english.text.contains("verification file"), "{}", english.text);

        patient.set("platform.secret", "canary-of-another-application");
        let [english, chinese] = patient.both();
        english.wrong(&[&format!("{credentials}: the platform refused (errcode ")]);
        english.line("- platform configuration: skipped");
        chinese.line(&format!("✗ {chinese_credentials}：{name}拒绝了请求（errcode "));
        chinese.line(&format!("- {name}侧配置：已跳过"));
        assert!(!format!("{}{}", english.text, chinese.text).contains("canary"));
    }
}

#[test]
fn a_key_of_another_platform_is_reported_in_both_languages() {
    let mut patient = patient_of("feishu", "cli_deskpass");
    patient.set("platform.agent_id", "1000002");
    let [english, chinese] = patient.both();
    let key = "platform.agent_id (environment DESKPASS_PLATFORM__AGENT_ID)";
    english.below("✗ settings: 1 problem(s)", &[key, "feishu has no AgentId; remove it"]);
    chinese.below("✗ 配置：1 个问题", &["不属于 platform.kind = \"feishu\"", "feishu 没有 AgentId"]);
}
