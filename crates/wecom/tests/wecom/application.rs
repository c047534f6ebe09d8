//! The checks of the application's configuration at the platform.

use deskpass_platform::{Check, CheckOutcome, Deployment, Messenger as _};
use deskpass_wecom::Wecom;
use serde_json::{Value, json};

use crate::platform::{Platform, Reply, errcode};

const AGENT: &str = "agent/get";

async fn checks(wecom: &Wecom) -> Vec<Check> {
    let (public_url, callback_url) = ("https://desk.example.com", "https://desk.example.com/api/auth/oauth2/callback");
    wecom.check_configuration(&Deployment { public_url, callback_url }).await
}

/// The outcome of each check, for an application with this record.
async fn outcomes(record: Value) -> [CheckOutcome; 3] {
    let platform = Platform::start().await;
    platform.always(AGENT, Reply::Json(record));
    let found = checks(&platform.client()).await;
    assert_eq!(platform.calls(AGENT)[0].query[1], ("agentid".into(), "1000002".into()));
    assert_eq!(platform.count(AGENT), 1);
    let names: Vec<_> = found.iter().map(|check| check.name[0]).collect();
    assert_eq!(names, ["API call", "application", "trusted domain"]);
    <[Check; 3]>::try_from(found).unwrap().map(|check| check.outcome)
}

fn good(english: &str, chinese: &str) -> CheckOutcome {
    CheckOutcome::Good([english.to_owned(), chinese.to_owned()])
}

/// What is wrong, and what to do, in English and in Chinese.
fn bad(outcome: &CheckOutcome) -> String {
    let CheckOutcome::Bad { what, fix } = outcome else { panic!("{outcome:?}") };
    format!("{}: {} {}: {}", what[0], fix[0], what[1], fix[1])
}

#[tokio::test]
async fn an_application_that_is_ready_passes_all_checks() {
    let record = json!({ "errcode": 0, "name": "Desk", "close": 0, "redirect_domain": "Desk.example.com" });
    let domain = "desk.example.com";
    assert_eq!(
        outcomes(record).await,
        [
            good("allowed from this machine", "允许从本机调用"),
            good("Desk is enabled", "Desk 已启用"),
            good(domain, domain)
        ]
    );
}

#[tokio::test]
async fn a_disabled_application_and_another_domain_are_reported() {
    let record = json!({ "errcode": 0, "name": "De\nsk", "close": 1, "redirect_domain": "old.example.com:8443" });
    let [call, application, domain] = outcomes(record).await;
    assert_eq!(call, good("allowed from this machine", "允许从本机调用"));
    let text = bad(&application);
    assert!(text.starts_with("Desk is disabled: enable it in the console") && text.contains("Desk 已停用"), "{text}");
    let text = bad(&domain);
    assert!(text.starts_with("the platform has old.example.com:8443, this service is at desk.example.com"), "{text}");
    assert!(text.contains("enter desk.example.com in the console") && text.contains("可信域名"), "{text}");
    let [_, _, none] = outcomes(json!({ "errcode": 0 })).await;
    assert!(bad(&none).starts_with("no domain is set at the platform"), "{none:?}");
}

#[tokio::test]
async fn a_refused_call_says_what_to_do_and_skips_the_rest() {
    let platform = Platform::start().await;
    let skipped = CheckOutcome::Skipped(<[String; 2]>::default());
    for (reply, said) in [
        (errcode(60020), "the platform refused (errcode 60020, hint 123): enter 10.1.2.3 in the console"),
        (errcode(301_002), "the platform refused (errcode 301002, hint 123): The agent id belongs to another"),
        (Reply::Reset, "cannot reach the platform: connection lost: check DNS"),
        (Reply::Body(b"<html>".to_vec()), "cannot read the platform's response: not a JSON object: the response did"),
    ] {
        platform.next(AGENT, [reply]);
        let found = checks(&platform.client()).await;
        let text = bad(&found[0].outcome);
        assert!(text.starts_with(said), "{text}");
        assert!(found.len() == 3 && found[1..].iter().all(|check| check.outcome == skipped), "{found:?}");
    }
}

#[tokio::test]
async fn without_an_agent_id_nothing_is_checked() {
    let platform = Platform::start().await;
    let mut settings = platform.settings();
    settings.agent_id = None;
    let found = checks(&Wecom::new(settings, platform.clock.clone()).unwrap()).await;
    assert!(
        matches!(&found[0].outcome, CheckOutcome::Skipped([why, _]) if why.contains("platform.agent_id is not set"))
    );
    assert!(found.len() == 3 && found.iter().all(|check| matches!(check.outcome, CheckOutcome::Skipped(_))));
    assert_eq!(platform.count("gettoken"), 0);
}
