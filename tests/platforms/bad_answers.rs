//! Whatever the platform answers, nobody is signed in by mistake, and the page gets a word of a closed list in time.

use std::time::{Duration, Instant};

use deskpass_platform::PlatformKind;
use serde_json::{Value, json};

use super::land;
use crate::harness::{Messenger, fragment};

/// Faulty answers that are faulty on every platform, of both calls that identify a user.
fn general() -> Vec<(&'static str, Value)> {
    let deep = "[".repeat(20_000);
    let bodies = [
        ("a page", "<html><body>502 Bad Gateway</body></html>"),
        ("nothing", ""),
        ("half an answer", r#"{"errcode":0,"code":0,"userid":"user0"#),
        ("a deep answer", &*deep),
        ("an array", r#"["user01"]"#),
        ("a text", r#""user01""#),
        ("null", "null"),
        ("no name", "{}"),
    ];
    let mut faults: Vec<_> = bodies.map(|(what, body)| (what, json!({ "body": body }))).into();
    faults.extend([
        ("500", json!({ "http_status": 500, "body": "oops" })),
        ("503 with a page", json!({ "http_status": 503 })),
        ("a redirect", json!({ "http_status": 302, "body": "", "headers": { "location": "http://127.0.0.1:1/" } })),
        ("a dropped connection", json!({ "drop": true })),
    ]);
    faults
}

/// Answers about who the user is that do not say it, or not once.
fn of_platform(kind: PlatformKind) -> Vec<&'static str> {
    match kind {
        PlatformKind::Wecom => vec![
            r#"{"errcode":0,"userid":""}"#,
            r#"{"errcode":0,"userid":7}"#,
            r#"{"errcode":0,"userid":["user01"]}"#,
            r#"{"errcode":0,"userid":"a/b/c"}"#,
            r#"{"errcode":0,"userid":"user01","userid":"admin01"}"#,
            r#"{"errcode":50001,"errmsg":"no","userid":"admin01"}"#,
        ],
        PlatformKind::Dingtalk => vec![
            r#"{"errcode":0,"result":{}}"#,
            r#"{"errcode":0,"result":"user01"}"#,
            r#"{"errcode":0,"result":{"userid":"","contact_type":0}}"#,
            r#"{"errcode":0,"result":{"userid":7,"contact_type":0}}"#,
            r#"{"errcode":0,"result":{"userid":["user01"],"contact_type":0}}"#,
            r#"{"errcode":0,"result":{"userid":"a/b","contact_type":0}}"#,
            r#"{"errcode":0,"result":{"userid":"user01","contact_type":0},"result":{"userid":"admin01","contact_type":0}}"#,
            r#"{"errcode":60020,"errmsg":"no","result":{"userid":"admin01","contact_type":0}}"#,
            r#"{"status":1111,"punish":"deny","source":"x5"}"#,
        ],
        PlatformKind::Feishu => vec![
            r#"{"code":0,"msg":"ok"}"#,
            r#"{"code":0,"data":{}}"#,
            r#"{"code":0,"data":{"user_id":"admin01","open_id":"ou_1"}}"#,
            r#"{"code":0,"data":{"tenant_key":"tenantdeskpass","user_id":"","open_id":"ou_1"}}"#,
            r#"{"code":0,"data":{"tenant_key":"tenantdeskpass","user_id":7,"open_id":"ou_1"}}"#,
            r#"{"code":0,"data":{"tenant_key":"tenantdeskpass","user_id":"a/b","open_id":"ou_1"}}"#,
            r#"{"code":0,"data":{"tenant_key":"tenantdeskpass","user_id":"user01"},"data":{"tenant_key":"tenantdeskpass","user_id":"admin01"}}"#,
            r#"{"code":99991672,"msg":"no","data":{"tenant_key":"tenantdeskpass","user_id":"admin01"}}"#,
        ],
    }
}

/// All faults of both calls; on WeCom they are one call.
fn all() -> Vec<(String, Value)> {
    let messenger = Messenger::current();
    let mut apis = vec![messenger.exchange, messenger.identify];
    apis.dedup();
    // Also the second attempt of a call fails.
    let at = |api: &str, mut fault: Value| {
        (fault["api"], fault["times"]) = (json!(api), json!(0));
        fault
    };
    let mut faults: Vec<_> = apis
        .into_iter()
        .flat_map(|api| general().into_iter().map(move |(what, fault)| (format!("{api}: {what}"), at(api, fault))))
        .collect();
    faults.extend(
        of_platform(messenger.kind)
            .into_iter()
            .map(|body| (body.to_owned(), at(messenger.identify, json!({ "body": body })))),
    );
    let not_allowed = json!({ "errcode": Value::from(messenger.not_allowed) });
    faults.push(("not allowed".to_owned(), at(messenger.exchange, not_allowed)));
    faults
}

on_every_platform! {
    async fn bad_answers_make_no_token_and_a_fixed_word(app) {
        let (mut client, page) = (app.client().await, format!("http://{}/h5/", app.address));
        let token = client.sign_in("agent01").await;
        let faults = all();
        assert!(faults.len() >= 19, "{}", faults.len());
        for (what, fault) in faults {
            client.set_fault(&fault).await;
            let started = Instant::now();
            let landed = land(&mut client, &page, "user01").await;
            assert!(landed.starts_with(&format!("{page}#error=platform_unavailable&code=1005&ref=")), "{what}: {landed}");
            assert!(started.elapsed() < Duration::from_secs(5), "{what}: {:?}", started.elapsed());
            assert!(client.is_valid(&token).await, "{what}");
            crate::platforms::clear(&mut client, "faults").await;
            // A pause after a refusal must not hide the next answer.
            app.clock.advance(Duration::from_mins(11));
        }
        assert_eq!(app.query("SELECT count(*) FROM session"), ["1"]);
    }

    async fn a_code_that_is_no_good_is_an_error_of_the_user_and_no_outage(app) {
        let (mut client, messenger) = (app.client().await, Messenger::current());
        client.set_fault(&json!({ "api": messenger.exchange, "errcode": Value::from(messenger.bad_code) })).await;
        let landed = land(&mut client, &format!("http://{}/h5/", app.address), "user01").await;
        assert_eq!((fragment(&landed, "error"), fragment(&landed, "code")), ("invalid_code".into(), "1003".into()));
        assert_eq!(client.get("/api/ready", &[]).await.data()["dependencies"]["platform"], "ok");
    }

    /// A person whom the platform calls an external contact or a member elsewhere is no member, even with a known identifier.
    async fn a_stranger_with_the_identifier_of_an_administrator_is_no_member(app) {
        let (mut client, messenger) = (app.client().await, Messenger::current());
        let strange: &[&str] = match messenger.kind {
            PlatformKind::Wecom => &[r#"{"errcode":0,"openid":"admin01"}"#],
            PlatformKind::Dingtalk => &[
                r#"{"errcode":0,"result":{"userid":"admin01","contact_type":1}}"#,
                r#"{"errcode":60121,"errmsg":"no such user","result":{"userid":"admin01","contact_type":0}}"#,
            ],
            PlatformKind::Feishu => &[
                r#"{"code":0,"data":{"tenant_key":"tenantother","user_id":"admin01","open_id":"ou_1"}}"#,
                r#"{"code":0,"data":{"tenant_key":"TENANTDESKPASS","user_id":"admin01","open_id":"ou_1"}}"#,
            ],
        };
        for body in strange {
            client.set_fault(&json!({ "api": messenger.identify, "body": body })).await;
            let landed = land(&mut client, &format!("http://{}/h5/", app.address), "admin01").await;
            assert_eq!(fragment(&landed, "error"), "not_a_member", "{body}: {landed}");
        }
        assert_eq!(app.query("SELECT count(*) FROM session"), ["0"]);
    }
}
