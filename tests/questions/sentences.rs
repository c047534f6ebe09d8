//! The sentence with which a phone is asked to approve an operation: it names people, roles and programs, and no path.

use std::collections::BTreeSet;

use deskpass::http::{RequiredAccess, routes};
use deskpass_core::Role;
use serde_json::{Value, json};

use super::{Asked, NEXT_APPROVAL, Operation, open};
use crate::harness::{Client, TestApp};

/// An operation, and what the phone says about it in English and in Chinese. `ROUTE` is the row of the route table.
struct Sentence {
    route: &'static str,
    path: String,
    body: &'static str,
    texts: [&'static str; 2],
}

fn sentence(route: &'static str, body: &'static str, texts: [&'static str; 2]) -> Sentence {
    let path = route.split_once(' ').unwrap().1;
    let path = path.replace("{corp_id}", "wwdeskpass").replace("{employee_id}", "user01");
    Sentence { route, path, body, texts }
}

/// A sentence about something that a path names by its id.
fn about(route: &'static str, id: &str, body: &'static str, texts: [&'static str; 2]) -> Sentence {
    let made = sentence(route, body, texts);
    Sentence { path: made.path.replace("{id}", id), ..made }
}

const UMA: &str = r#"{"employee_id":"user01","roles":["agent","user"]}"#;
const WIKI: &str = r#"{"name":"Wiki","redirect_uris":["https://wiki.example/back"]}"#;

#[expect(clippy::too_many_lines, reason = "a table")]
fn sentences_about_people(session: &str) -> Vec<Sentence> {
    vec![
        sentence(
            "PUT /api/admin/roles/user-roles",
            UMA,
            [
                "Give Uma User (user01, Sales) the role Agent. Now: Employee",
                "为 Uma User（user01，Sales） 添加角色：坐席。当前角色：员工",
            ],
        ),
        sentence(
            "POST /api/admin/roles/temporary",
            r#"{"employee_id":"user01","role":"supervisor","minutes":120,"reason":"on call"}"#,
            [
                "Give Uma User (user01, Sales) the role Supervisor for 2 hours. Reason: on call",
                "授予 Uma User（user01，Sales） 临时角色：主管，期限 2 小时。原因：on call",
            ],
        ),
        sentence(
            "PATCH /api/admin/employees/{corp_id}/{employee_id}",
            r#"{"disabled":true}"#,
            [
                "Disable Uma User (user01, Sales), and end their sessions",
                "停用 Uma User（user01，Sales），并结束其会话",
            ],
        ),
        sentence(
            "POST /api/admin/employees/{corp_id}/{employee_id}/confirm",
            r#"{"digest":"0123456789abcdef"}"#,
            [
                "Confirm that Uma User (user01, Sales) has the employee ID user01 now, with the role Employee",
                "确认员工账号 user01 现由 Uma User（user01，Sales） 使用，角色：员工",
            ],
        ),
        about(
            "DELETE /api/admin/sessions/{id}",
            session,
            "",
            ["End a session of Uma User (user01, Sales)", "结束 Uma User（user01，Sales） 的一个会话"],
        ),
        sentence(
            "DELETE /api/admin/employees/{corp_id}/{employee_id}/sessions",
            "",
            ["End all sessions of Uma User (user01, Sales)", "结束 Uma User（user01，Sales） 的所有会话"],
        ),
        sentence(
            "POST /api/admin/agents",
            r#"{"employee_id":"user01"}"#,
            [
                "Make Uma User (user01, Sales) an agent, with the role Agent",
                "将 Uma User（user01，Sales） 添加为坐席，角色：坐席",
            ],
        ),
        sentence(
            "POST /api/admin/agents/{employee_id}/unlock",
            "",
            ["Unlock Uma User (user01, Sales)", "解锁 Uma User（user01，Sales）"],
        ),
        sentence(
            "POST /api/admin/agents/{employee_id}/reset-otp",
            "",
            [
                "Reset the authenticator of Uma User (user01, Sales), and create a setup code",
                "重置 Uma User（user01，Sales） 的身份验证器，并生成设置码",
            ],
        ),
        sentence(
            "POST /api/admin/agents/{employee_id}/reset-password",
            "",
            [
                "Reset the password of Uma User (user01, Sales), and create a setup code",
                "重置 Uma User（user01，Sales） 的密码，并生成设置码",
            ],
        ),
        sentence(
            "POST /api/admin/links",
            r#"{"corp_id":"wwpartner","user_id":"lisi","employee_id":"user01"}"#,
            [
                "Let lisi of the connected corporation wwpartner act as Uma User (user01, Sales)",
                "允许互联企业 wwpartner 的 lisi 以 Uma User（user01，Sales） 的身份登录",
            ],
        ),
        Sentence {
            path: "/api/admin/links/wwpartner/lisi".to_owned(),
            ..sentence(
                "DELETE /api/admin/links/{corp_id}/{user_id}",
                "",
                [
                    "No longer let lisi of the connected corporation wwpartner act as an employee",
                    "不再允许互联企业 wwpartner 的 lisi 以员工身份登录",
                ],
            )
        },
    ]
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn sentences_about_settings(key: &str, client: &str) -> Vec<Sentence> {
    vec![
        sentence(
            "PUT /api/admin/ip-rules",
            r#"{"admin":["10.0.0.0/8","127.0.0.0/8"],"agent":[],"user":[],"supervisor":[],"security":[]}"#,
            [
                "Limit where roles may be used: Administrator only from 10.0.0.0/8 and 127.0.0.0/8. All others from any address",
                "限制角色的使用地址：管理员仅限 10.0.0.0/8、127.0.0.0/8。其余角色不限",
            ],
        ),
        sentence(
            "PUT /api/admin/role-rules",
            r#"{"rules":[{"role":"agent","department":3},{"role":"admin","tag":"7"}]}"#,
            [
                "Replace the role rules, and apply them to everyone. From now on 2: Agent for department 3 and Administrator for tag 7",
                "修改角色规则并立即应用于所有人，共 2 条：部门 3 为坐席、标签 7 为管理员",
            ],
        ),
        sentence(
            "POST /api/admin/service-keys",
            r#"{"name":"Billing","scopes":["introspect","messages"]}"#,
            [
                "Create the service key “Billing” for introspect and messages, valid for 365 days",
                "创建服务密钥“Billing”，用途：introspect、messages，有效期 365 天",
            ],
        ),
        about(
            "DELETE /api/admin/service-keys/{id}",
            key,
            "",
            ["Revoke the service key “Ticketing”", "吊销服务密钥“Ticketing”"],
        ),
        sentence(
            "POST /api/admin/oidc-clients",
            WIKI,
            [
                "Connect the program “Wiki”, which signs people in at https://wiki.example/back",
                "接入应用“Wiki”，登录后返回 https://wiki.example/back",
            ],
        ),
        about(
            "PUT /api/admin/oidc-clients/{id}",
            client,
            WIKI,
            [
                "Change the program “Grafana”, from now on “Wiki”, which signs people in at https://wiki.example/back",
                "修改应用“Grafana”（改名为“Wiki”），登录后返回 https://wiki.example/back",
            ],
        ),
        about(
            "DELETE /api/admin/oidc-clients/{id}",
            client,
            "",
            ["Remove the program “Grafana”, and sign its users out of it", "移除应用“Grafana”，并使其用户退出"],
        ),
        about(
            "POST /api/admin/oidc-clients/{id}/secret",
            client,
            r#"{"now":true}"#,
            [
                "Give the program “Grafana” a new secret. The old one ends now",
                "更换应用“Grafana”的密钥，旧密钥立即失效",
            ],
        ),
        about(
            "POST /api/admin/oidc-clients/{id}/disable",
            client,
            "",
            ["Disable the program “Grafana”, and sign its users out of it", "停用应用“Grafana”，并使其用户退出"],
        ),
        about(
            "POST /api/admin/oidc-clients/{id}/enable",
            client,
            "",
            ["Enable the program “Grafana” again", "重新启用应用“Grafana”"],
        ),
    ]
}

/// Asks the phone, and reads the sentence in both languages.
async fn read(app: &TestApp, client: &mut Client, token: &str, asked: &Sentence) -> [Value; 2] {
    let method = asked.route.split_once(' ').unwrap().0;
    let operation = Operation { method, path: &asked.path, body: asked.body };
    Asked::of(&operation.ask(client, token).await);
    let secret = open(client, "admin01").await;
    let mut texts = [Value::Null, Value::Null];
    for (language, text) in ["en", "zh"].into_iter().zip(&mut texts) {
        let headers = [("accept-language", language)];
        let shown = client.post("/api/auth/approvals/question", &headers, &json!({ "approval": secret })).await.data();
        *text = shown["what"]["sentence"].clone();
    }
    app.clock.advance(NEXT_APPROVAL);
    texts
}

on_one_store! {
    async fn the_phone_names_people_roles_and_programs_for_every_operation_that_it_can_approve(app) {
        let mut client = app.client().await;
        client.sign_in("user01").await;
        let session = app.query("SELECT digest FROM session")[0].clone();
        let mut token = client.sign_in("admin01").await;
        let make = Operation { method: "POST", path: "/api/admin/service-keys", body: r#"{"name":"Ticketing","scopes":["introspect"]}"# };
        let approval = make.approved(&mut client, &token, "admin01").await;
        let key = make.send(&mut client, &token, &approval).await.data()["id"].as_str().unwrap().to_owned();
        let make = Operation {
            method: "POST", path: "/api/admin/oidc-clients", body: r#"{"name":"Grafana","redirect_uris":["https://grafana.example/"]}"#,
        };
        let approval = make.approved(&mut client, &token, "admin01").await;
        let added = make.send(&mut client, &token, &approval).await.data();
        let program = added["client_id"].as_str().unwrap();
        app.clock.advance(NEXT_APPROVAL * 2);

        let mut sentences = sentences_about_people(&session);
        sentences.extend(sentences_about_settings(&key, program));
        let rows = routes().into_iter().filter(|route| route.access == RequiredAccess::HighRisk);
        let table: BTreeSet<_> = rows.map(|route| format!("{} {}", route.method, route.path)).collect();
        assert_eq!(sentences.iter().map(|one| one.route.to_owned()).collect::<BTreeSet<_>>(), table);
        for asked in &sentences {
            assert_eq!(read(&app, &mut client, &token, asked).await, asked.texts, "{}", asked.route);
            token = client.sign_in("admin01").await;
        }
    }

    async fn what_a_change_of_roles_takes_away_is_said_and_unknown_people_stand_as_they_are_written(app) {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        app.sign_in_at_partner().await;
        app.add_named("zhangwei", "张\u{202e}伟", Role::Agent).await;
        app.add_named("lina", "Li Na", Role::Agent).await;
        app.add_named("lina2", "Li Na", Role::Agent).await;
        let roles = |body| sentence("PUT /api/admin/roles/user-roles", body, [""; 2]);
        for (body, english, chinese) in [
            (
                r#"{"employee_id":"agent01","roles":["admin","user"]}"#,
                "Give Arno Agent (agent01, IT Service Desk) the role Administrator, and take away Agent. Now: Agent and Employee",
                "为 Arno Agent（agent01，IT Service Desk） 添加角色：管理员，并移除：坐席。当前角色：坐席、员工",
            ),
            (
                r#"{"corp_id":null,"employee_id":"AGENT01","roles":[]}"#,
                "Take the roles Agent and Employee from Arno Agent (agent01, IT Service Desk). Now: Agent and Employee",
                "移除 Arno Agent（agent01，IT Service Desk） 的角色：坐席、员工。当前角色：坐席、员工",
            ),
            (
                r#"{"employee_id":"zhangwei","roles":["agent"]}"#,
                "Leave the roles of 张\u{fffd}伟 (zhangwei) as they are. Now: Agent",
                "张\u{fffd}伟（zhangwei） 的角色保持不变。当前角色：坐席",
            ),
            // Namesakes differ by their identifiers.
            (
                r#"{"employee_id":"lina","roles":["agent"]}"#,
                "Leave the roles of Li Na (lina) as they are. Now: Agent",
                "Li Na（lina） 的角色保持不变。当前角色：坐席",
            ),
            (
                r#"{"employee_id":"lina2","roles":["agent"]}"#,
                "Leave the roles of Li Na (lina2) as they are. Now: Agent",
                "Li Na（lina2） 的角色保持不变。当前角色：坐席",
            ),
            (
                r#"{"corp_id":"wwpartner","employee_id":"user01","roles":["admin"]}"#,
                "Give Namesake (user01, wwpartner) the role Administrator, and take away Employee. Now: Employee",
                "为 Namesake（user01，wwpartner） 添加角色：管理员，并移除：员工。当前角色：员工",
            ),
            (
                r#"{"employee_id":"nobody","roles":["agent"]}"#,
                "Give nobody the role Agent. Now: none",
                "为 nobody 添加角色：坐席。当前角色：无",
            ),
        ] {
            assert_eq!(read(&app, &mut client, &token, &roles(body)).await, [english, chinese], "{body}");
        }
    }
}
