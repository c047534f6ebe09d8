//! /api/auth/approvals: asked at the computer, answered on the phone.

use std::time::Duration;

use deskpass_core::Role;
use serde_json::json;

use super::{
    Asked, CREATE_KEY, LIFETIME, NEXT_APPROVAL, Operation, Subject, assert_invalid, assert_over, choices, keys,
    notices_to, open, rows, rows_of,
};
use crate::harness::{Response, fragment};
use crate::notices::settled;

const PATH: &str = "/api/auth/approvals";
const COMPUTER: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/126.0.0.0 Safari/537.36";

/// The name of the field that a request is refused for.
#[track_caller]
fn refused_field(answer: &Response) -> String {
    let fields = answer.refused(400, 1002).json()["data"]["fields"].clone();
    fields.as_object().unwrap().keys().next().unwrap().clone()
}

on_every_store! {
    async fn an_operation_is_asked_about_approved_on_the_phone_and_made(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        let bearer = format!("Bearer {token}");
        let from = [("authorization", &*bearer), ("user-agent", COMPUTER), ("x-forwarded-for", "198.51.100.7")];
        let operation = json!({ "method": "POST", "path": CREATE_KEY.path, "body": CREATE_KEY.body });
        let answer = client.post(PATH, &from, &operation).await;
        let asked = Asked::of(&answer);
        assert!(asked.id.starts_with("dpu_") && (10..=99).contains(&asked.number), "{answer:?}");
        assert_eq!(answer.data()["expires_in"], 120);
        assert_eq!(Subject::Approval.status(&mut client, &token, &asked.id).await, "pending");

        let link = client.link_sent_to("admin01").await;
        let landed = client.follow_link(&link, "admin01").await;
        assert!(landed.starts_with(&format!("http://{}/approve/#answer=dpy_", app.address)), "{landed}");
        let secret = fragment(&landed, "answer");
        for (language, sentence, summary) in [
            ("en", "Create the service key “desk” for introspect, valid for 365 days", "Create a service key, which is shown only once"),
            ("zh", "创建服务密钥“desk”，用途：introspect，有效期 365 天", "创建服务密钥，仅显示一次"),
        ] {
            let body = json!({ "approval": secret });
            let shown = client.post(&format!("{PATH}/question"), &[("accept-language", language)], &body).await.data();
            assert!(choices(&shown).contains(&asked.number), "{shown}");
            assert_eq!(shown, json!({
                "who": { "employee_id": "admin01", "name": "Ada Admin", "department": "IT", "avatar": "" },
                "what": { "sentence": sentence, "summary": summary, "method": "POST", "path": CREATE_KEY.path, "body": CREATE_KEY.body, "fields": [
                    { "name": "name", "value": "desk" }, { "name": "scopes.0", "value": "introspect" },
                ] },
                "client": { "browser": "Chrome 126", "system": "Windows" },
                "ip_address": "198.51.100.7", "asked_at": "2027-01-15T08:00:00Z", "choices": shown["choices"], "expires_in": 120,
            }));
        }
        assert_invalid(&CREATE_KEY.send(&mut client, &token, &asked.id).await);
        let answered = Subject::Approval.pick(&mut client, &secret, asked.number).await;
        assert_eq!(answered.data(), json!({ "status": "approved" }));
        assert_eq!(Subject::Approval.status(&mut client, &token, &asked.id).await, "approved");

        let made = CREATE_KEY.send(&mut client, &token, &asked.id).await.data();
        assert!(made["key"].as_str().unwrap().starts_with("dpk_"));
        assert_eq!(Subject::Approval.status(&mut client, &token, &asked.id).await, "expired");
        assert_invalid(&CREATE_KEY.send(&mut client, &token, &asked.id).await);
        assert_over(&Subject::Approval.question(&mut client, &secret).await);
        assert_eq!(keys(&app), 1);
        assert_eq!(rows(&app, Subject::Approval), [
            "approval_asked|admin01|-|-|POST /api/admin/service-keys",
            "approval_given|admin01|-|-|asked from 198.51.100.7",
        ]);
        let refused = "admin01|approval_invalid|POST /api/admin/service-keys";
        assert_eq!(rows_of(&app, "otp_refused"), [refused; 2]);
        settled(&app).await;
        assert!(notices_to(&mut client, "admin01").await.is_empty(), "nothing was refused on the phone");
    }

    /// One of three guesses would be right, so there is one.
    async fn a_wrong_number_refuses_for_good_and_the_person_is_told(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        let asked = Asked::of(&CREATE_KEY.ask(&mut client, &token).await);
        let secret = open(&mut client, "admin01").await;
        let wrong = Subject::Approval.pick_wrong(&mut client, &secret, &asked).await;
        assert_eq!(wrong.refused(403, 1003).reason(), "wrong_number");
        assert_over(&Subject::Approval.pick(&mut client, &secret, asked.number).await);
        let link = client.link_sent_to("admin01").await;
        assert_eq!(fragment(&client.follow_link(&link, "admin01").await, "error"), "question_over");
        assert_eq!(Subject::Approval.status(&mut client, &token, &asked.id).await, "refused");
        assert_invalid(&CREATE_KEY.send(&mut client, &token, &asked.id).await);
        assert_eq!(keys(&app), 0);
        assert_eq!(rows(&app, Subject::Approval)[1], "approval_refused|admin01|-|wrong_number|asked from 127.0.0.1");
        settled(&app).await;
        let told = notices_to(&mut client, "admin01").await;
        assert_eq!(told.len(), 1, "{told:?}");
        for words in ["a change that was to be approved on your phone was refused", "您的一项手机批准请求已被拒绝", "127.0.0.1"] {
            assert!(told[0].contains(words), "{told:?}");
        }
    }

    async fn a_refusal_refuses_and_the_person_is_told(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        let asked = Asked::of(&CREATE_KEY.ask(&mut client, &token).await);
        let secret = open(&mut client, "admin01").await;
        assert_eq!(Subject::Approval.refuse(&mut client, &secret).await.data(), json!({ "status": "refused" }));
        assert_over(&Subject::Approval.pick(&mut client, &secret, asked.number).await);
        assert_eq!(Subject::Approval.status(&mut client, &token, &asked.id).await, "refused");
        assert_invalid(&CREATE_KEY.send(&mut client, &token, &asked.id).await);
        assert_eq!(rows(&app, Subject::Approval)[1], "approval_refused|admin01|-|-|asked from 127.0.0.1");
        settled(&app).await;
        assert_eq!((notices_to(&mut client, "admin01").await.len(), keys(&app)), (1, 0));
    }

    async fn it_is_over_after_two_minutes_in_every_stage(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        let opened = Asked::of(&CREATE_KEY.ask(&mut client, &token).await);
        let link = client.link_sent_to("admin01").await;
        let secret = open(&mut client, "admin01").await;
        let used = CREATE_KEY.approved(&mut client, &token, "admin01").await;
        let unused = CREATE_KEY.approved(&mut client, &token, "admin01").await;
        app.clock.advance(LIFETIME.saturating_sub(Duration::from_millis(1)));
        CREATE_KEY.send(&mut client, &token, &used).await.data();
        assert_eq!(Subject::Approval.status(&mut client, &token, &unused).await, "approved");
        Subject::Approval.question(&mut client, &secret).await.data();
        app.clock.advance(Duration::from_millis(1));
        assert_invalid(&CREATE_KEY.send(&mut client, &token, &unused).await);
        assert_over(&Subject::Approval.question(&mut client, &secret).await);
        assert_over(&Subject::Approval.pick(&mut client, &secret, opened.number).await);
        let landed = client.follow_link(&link, "admin01").await;
        assert_eq!((fragment(&landed, "error"), fragment(&landed, "code")), ("question_over".into(), "1019".into()));
        for id in [&opened.id, &used, &unused] {
            assert_eq!(Subject::Approval.status(&mut client, &token, id).await, "expired");
        }
        assert_eq!(keys(&app), 1);
    }

    async fn one_more_can_be_asked_for_every_200_seconds_after_three(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        for _ in 0..3 {
            CREATE_KEY.ask(&mut client, &token).await.data();
        }
        for session in [token.clone(), client.sign_in("admin01").await] {
            let answer = CREATE_KEY.ask(&mut client, &session).await;
            assert_eq!(answer.refused(429, 1006).header("retry-after"), Some("200"));
        }
        app.add("admin02", Role::Admin).await;
        let colleague = client.sign_in("admin02").await;
        assert_eq!(CREATE_KEY.ask(&mut client, &colleague).await.refused(403, 1003).reason(), "cannot_ask");
        app.clock.advance(NEXT_APPROVAL);
        CREATE_KEY.ask(&mut client, &token).await.data();
        CREATE_KEY.ask(&mut client, &token).await.refused(429, 1006);
    }
}

on_one_store! {
    async fn only_operations_of_high_risk_that_a_phone_can_show_are_asked_about(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        let named = |length: usize| format!("{{\"name\":\"{}\"}}", "x".repeat(length));
        // The name is the body without eleven bytes.
        let (long, longest) = (named(4_097 - 11), named(4_096 - 11));
        let long_path = format!("{}/{}", CREATE_KEY.path, "a".repeat(512));
        for (method, path, body, field) in [
            ("GET", CREATE_KEY.path, "", "method"),
            ("post", CREATE_KEY.path, "", "method"),
            ("POST", "/api/auth/logout", "", "path"),
            ("POST", "/api/admin/ip-rules/dry-run", "", "path"),
            ("DELETE", CREATE_KEY.path, "", "path"),
            ("POST", "/api/admin/service-keys/", "", "path"),
            ("POST", "https://desk.example.com/api/admin/service-keys", "", "path"),
            ("POST", "", "", "path"),
            ("POST", "/api/admin/service-keys?x=only+reads", "", "path"),
            ("POST", "/api/admin/agents/%61gent01/reset-otp", "", "path"),
            ("DELETE", &*long_path, "", "path"),
            ("POST", CREATE_KEY.path, &*long, "body"),
            ("POST", CREATE_KEY.path, r#"{"name":"a","name":"b"}"#, "body"),
            ("POST", CREATE_KEY.path, "[]", "body"),
            ("POST", CREATE_KEY.path, "name=a", "body"),
        ] {
            let answer = Operation { method, path, body }.ask(&mut client, &token).await;
            assert_eq!(refused_field(&answer), field, "{method} {path}");
        }
        Operation { body: &longest, ..CREATE_KEY }.ask(&mut client, &token).await.data();
        // The body may be left out.
        let unlock = json!({ "method": "POST", "path": "/api/admin/agents/agent01/unlock" });
        client.post_as(&token, PATH, &unlock).await.data();
        for who in ["agent01", "supervisor01", "user01"] {
            let token = client.sign_in(who).await;
            assert_eq!(CREATE_KEY.ask(&mut client, &token).await.refused(403, 1003).reason(), "role_needed", "{who}");
        }
    }

    /// A person could take them for what is done.
    async fn values_that_do_not_count_are_not_shown(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        for (method, path, body, member) in [
            ("POST", "/api/admin/agents/agent01/reset-otp", r#"{"employee_id":"agent02"}"#, "employee_id"),
            ("DELETE", "/api/admin/links/wwpartner/a", r#"{"note":"unused"}"#, "note"),
            ("POST", CREATE_KEY.path, r#"{"name":"a","scopes":["introspect"],"expires":"soon"}"#, "expires"),
            ("POST", CREATE_KEY.path, r#"{"Name":"a"}"#, "Name"),
            ("PUT", "/api/admin/role-rules", r#"{"rules":[{"role":"agent","tag":"1","only":"x"}]}"#, "rules.0.only"),
        ] {
            let answer = Operation { method, path, body }.ask(&mut client, &token).await;
            assert_eq!(refused_field(&answer), "body", "{method} {path}");
            let why = answer.json()["data"]["fields"]["body"].to_string();
            assert!(why.contains(&format!("the member {member},")), "{why}");
        }
        // An empty object shows nothing.
        let path = "/api/admin/agents/agent01/unlock";
        Operation { path, body: "{}", ..CREATE_KEY }.ask(&mut client, &token).await.data();
    }

    /// A text that reads otherwise than it is sent would have the person approve something else.
    async fn the_phone_shows_what_is_meant_and_spells_out_what_is_invisible(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        let body = "{\"name\":\"\\u0061\u{202e}b\u{200b}\u{3164}\",\n\"scopes\":[]}";
        Operation { body, ..CREATE_KEY }.ask(&mut client, &token).await.data();
        let secret = open(&mut client, "admin01").await;
        let shown = Subject::Approval.question(&mut client, &secret).await.data();
        assert_eq!(shown["what"]["body"], "{\"name\":\"\\u0061\\u{202e}b\\u{200b}\\u{3164}\",\n\"scopes\":[]}");
        let fields = json!([{ "name": "name", "value": "a\\u{202e}b\\u{200b}\\u{3164}" }, { "name": "scopes", "value": "[]" }]);
        assert_eq!(shown["what"]["fields"], fields);
    }

    async fn an_answer_is_a_number_or_a_refusal_and_a_mistake_costs_nothing(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        let asked = Asked::of(&CREATE_KEY.ask(&mut client, &token).await);
        let secret = open(&mut client, "admin01").await;
        for (mut body, field) in [
            (json!({}), "number"),
            (json!({ "refuse": false }), "number"),
            (json!({ "number": asked.number, "refuse": true }), "number"),
            (json!({ "number": 9 }), "number"),
            (json!({ "number": 100 }), "number"),
            (json!({ "number": asked.number.to_string() }), "number"),
            (json!({ "refuse": "yes" }), "refuse"),
        ] {
            body["approval"] = json!(secret);
            let answer = client.post(&format!("{PATH}/answer"), &[], &body).await;
            assert_eq!(refused_field(&answer), field, "{body}");
        }
        for made_up in ["", "dpy_x", &asked.id] {
            assert_over(&Subject::Approval.question(&mut client, made_up).await);
            assert_over(&Subject::Approval.pick(&mut client, made_up, asked.number).await);
        }
        Subject::Approval.pick(&mut client, &secret, asked.number).await.data();
        CREATE_KEY.send(&mut client, &token, &asked.id).await.data();
    }
}
