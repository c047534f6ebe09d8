//! `deskpass explain ref`: the story behind the reference that a page showed.

use serde_json::{Value, json};

use crate::harness::{
    Client, Operator, Process, Servers, TestSocket, binary, fragment, location, target, until, with_settings,
};

/// A refusal: the reference that the person has, and what the story must say, in English and in Chinese.
struct Refused {
    reference: String,
    reason: &'static str,
    code: u64,
    employee: Option<&'static str>,
    says: [&'static [&'static str]; 2],
}

/// The reference of an API response: its request id begins with it.
fn reference(answer: &Value) -> String {
    answer["request_id"].as_str().unwrap().split('-').next().unwrap().to_owned()
}

/// Scans a code with the phone of `who`; returns the reference that its page shows.
async fn refused_scan(client: &mut Client, who: &str) -> String {
    let qrcode = client.qrcode().await;
    fragment(&client.scan(&qrcode, who).await, "ref")
}

/// Disables `user01`, whose phone is then refused; returns the reference that its page shows.
async fn disabled_scan(operator: Operator<'_>, client: &mut Client) -> String {
    let token = client.sign_in("user01").await;
    operator.succeed(&["employee", "disable", "user01"]);
    until("the node has heard of it", async || !client.is_valid(&token).await).await;
    // The node may use what it knows of a person for up to a second.
    let mut disabled = String::new();
    until("the node refuses the person", async || {
        let qrcode = client.qrcode().await;
        let landed = client.scan(&qrcode, "user01").await;
        let is_refused = landed.contains("ref=");
        if is_refused {
            disabled = fragment(&landed, "ref");
        }
        is_refused
    })
    .await;
    disabled
}

/// Refused sign-ins through the platform.
async fn refused_sign_ins(operator: Operator<'_>, client: &mut Client) -> Vec<Refused> {
    let left = refused_scan(client, "left01").await;
    let outsider = refused_scan(client, "outsider01").await;
    let code = client.get(&target("http://x/api/auth/oauth2/callback?code=made-up&state=auth_login"), &[]).await;
    let code = fragment(location(&code), "ref");
    let disabled = disabled_scan(operator, client).await;
    vec![
        Refused {
            reference: left,
            reason: "left_platform",
            code: 1003,
            employee: Some("left01"),
            says: [
                &["who     left01 of wwdeskpass (no such employee now)", "“Your account is disabled”", "通讯录"],
                &["left01（wwdeskpass）（现无此员工）", "“您的账号已停用”", "登录被拒绝：扫描二维码", "通讯录"],
            ],
        },
        Refused {
            reference: outsider,
            reason: "not_a_member",
            code: 1003,
            employee: None,
            says: [
                &[
                    "not known: the request named no employee",
                    "“This WeCom account is not from our company”",
                    "check platform.corp_id",
                ],
                &["未知：请求未涉及具体员工", "“此企业微信账号不属于本企业”", "请检查 platform.corp_id"],
            ],
        },
        Refused {
            reference: code,
            reason: "invalid_code",
            code: 1003,
            employee: None,
            says: [
                &["link to the platform (OAuth2)", "“This sign-in is no longer valid”", "`deskpass doctor`"],
                &["跳转企业微信（OAuth2）", "“本次登录已失效”", "`deskpass doctor`"],
            ],
        },
        Refused {
            reference: disabled,
            reason: "disabled_here",
            code: 1003,
            employee: Some("user01"),
            says: [
                &["user01 (Uma User) of wwdeskpass", "What to do: To enable: `deskpass employee enable user01`."],
                &["user01（Uma User，wwdeskpass）", "处理办法：如需启用：`deskpass employee enable user01`。"],
            ],
        },
    ]
}

/// Refusals of requests: a password, a list of the administration, a role.
async fn refused_requests(client: &mut Client) -> Vec<Refused> {
    let no_password = reference(&client.agent_login("agent01", "wrong").await.json());
    let stranger = reference(&client.agent_login("nobody", "wrong").await.json());
    let token = client.sign_in("security01").await;
    let switch = reference(&client.switch(&token, "admin").await.refused(403, 1003).json());
    client.switch(&token, "user").await.data();
    let list = reference(&client.get_as(&token, "/api/admin/employees").await.refused(403, 1003).json());
    vec![
        Refused {
            reference: no_password,
            reason: "no_password",
            code: 1012,
            employee: Some("agent01"),
            says: [
                &["Sign-in refused: password", "`deskpass agent reset-password agent01`"],
                &["登录被拒绝：密码", "`deskpass agent reset-password agent01`"],
            ],
        },
        Refused {
            reference: stranger,
            reason: "password_wrong",
            code: 1011,
            employee: Some("nobody"),
            says: [
                &["(no such employee now)", "“the employee id or the password is wrong”"],
                &["“企业微信账号或密码错误”"],
            ],
        },
        Refused {
            reference: switch,
            reason: "role_not_held",
            code: 1003,
            employee: Some("security01"),
            says: [
                &["to switch to another role", "reason  role_not_held (role admin)", "role grant security01 admin`"],
                &["切换到其他角色", "role grant security01 admin`"],
            ],
        },
        Refused {
            reference: list,
            reason: "role_needed",
            code: 1003,
            employee: Some("security01"),
            says: [&["to read or change something in the administration"], &["在管理后台查看或修改内容"]],
        },
    ]
}

/// The first JSON value of an output.
fn parsed(output: &str) -> Value {
    serde_json::Deserializer::from_str(output).into_iter().next().unwrap().unwrap()
}

fn check(operator: Operator<'_>, refused: &Refused) {
    let Refused { reference, reason, code, employee, says } = refused;
    for (language, says) in ["en", "zh"].into_iter().zip(says) {
        let story = operator.succeed(&["explain", "ref", reference, "--language", language]);
        for words in says.iter().chain(&[*reason, &**reference, "127.0.0.1", " UTC"]) {
            assert!(story.contains(words), "no {words:?} in\n{story}");
        }
        assert_eq!(story.contains('：'), language == "zh", "{story}");
        assert!(!story.contains("changed since") && !story.contains("被改动"), "{story}");
    }
    let story = parsed(&operator.succeed(&["explain", "ref", reference, "--json", "--language", "en"]));
    assert_eq!((&story["reference"], &story["found"]), (&json!(reference), &json!(true)), "{story}");
    let [event] = story["events"].as_array().unwrap().as_slice() else { panic!("{story}") };
    assert_eq!((&event["reason"], &event["answer"]["code"]), (&json!(reason), &json!(code)), "{story}");
    assert_eq!((event["employee"]["employee_id"].as_str(), &event["verified"]), (*employee, &json!(true)), "{story}");
    assert!(event["at"].as_str().unwrap().ends_with('Z') && !event["what"].as_str().unwrap().is_empty(), "{story}");
}

/// Advice that was followed is not repeated, and later events are listed.
async fn later_events(operator: Operator<'_>, client: &mut Client, disabled: &str) {
    let story = |language: &str| operator.succeed(&["explain", "ref", disabled, "--language", language]);
    operator.succeed(&["employee", "enable", "user01"]);
    assert!(story("en").contains("Employee enabled") && story("zh").contains("启用员工"), "{}", story("en"));
    assert!(story("en").contains("What to do: They are enabled now: ask them to sign in again."), "{}", story("en"));
    let again = json!({ "employee_id": "user01" });
    until("they are enabled", async || client.post("/api/dev/login", &[], &again).await.status == 200).await;
    let (english, chinese) = (story("en"), story("zh"));
    assert!(english.contains("What to do: They have signed in since: there is nothing to do."), "{english}");
    assert!(
        english.contains("Since then, newest first:\n") && !english.contains("employee enable user01"),
        "{english}"
    );
    assert!(
        chinese.contains("该员工此后已成功登录，无需处理。") && chinese.contains("此后（最新在前）："),
        "{chinese}"
    );
}

/// What operators paste, and references that no row has.
fn forms_and_strangers(operator: Operator<'_>, reference: &str) {
    let upper = reference.to_uppercase();
    for pasted in [
        &[&*format!(" {upper} ")][..],
        &[&*format!("Reference: {reference}")],
        &["Reference", reference],
        &[&*format!("ref={reference}")],
        &[&*format!("参考编号 {reference}")],
        &[&*format!("{reference}-17")],
    ] {
        let story = operator.succeed(&[&["explain", "ref", "--language", "en"], pasted].concat());
        assert!(story.starts_with(&format!("Reference {reference}\n")), "{pasted:?}\n{story}");
    }
    for wrong in [&["1a2b"][..], &["1a2b3c4d", "1a2b3c4e"], &["zhangsan"]] {
        operator.fail(&[&["explain", "ref"], wrong].concat(), "must contain one reference");
    }
    // One digit is wrong.
    let digit = if reference.ends_with('0') { '1' } else { '0' };
    let mistyped = format!("{}{digit}", &reference[..7]);
    let story = operator.succeed(&["explain", "ref", &mistyped, "--language", "en"]);
    assert!(story.contains(&format!("journalctl -u deskpass | grep {mistyped}")), "{story}");
    assert!(story.contains("these are near:") && story.contains(reference), "{story}");
    assert!(story.contains("400 days (audit.retention)"), "{story}");
    let story = operator.succeed(&["explain", "ref", &mistyped, "--language", "zh"]);
    assert!(story.starts_with("审计日志中没有参考编号") && story.contains("如输入有误"), "{story}");
    let story = parsed(&operator.succeed(&["explain", "ref", &mistyped, "--json"]));
    assert_eq!((&story["found"], &story["near"]), (&json!(false), &json!([reference])), "{story}");
}

async fn everything(operator: Operator<'_>, client: &mut Client) -> String {
    let mut all = refused_sign_ins(operator, client).await;
    let disabled = all.last().unwrap().reference.clone();
    all.extend(refused_requests(client).await);
    for refused in &all {
        check(operator, refused);
    }
    later_events(operator, client, &disabled).await;
    forms_and_strangers(operator, &disabled);
    disabled
}

/// Answers without a row: each has one line in the service log, with the employee where one is known.
async fn without_rows(client: &mut Client, address: &str) -> Vec<(String, &'static [&'static str])> {
    let malformed = reference(&client.get_as("dpa_x", "/api/auth/me").await.refused(401, 1001).json());
    let admin = client.sign_in("admin01").await;
    let ask = json!({ "employee_id": "user01", "roles": ["user"] });
    let risky = client.ask_from("127.0.0.1", &admin, "PUT", "/api/admin/roles/user-roles", &ask).await;
    assert_eq!(risky.status, 403, "{risky:?}");
    let token = client.sign_in("agent01").await;
    let mut socket = TestSocket::open(address, "employee", &token).await;
    client.logout(&token).await.data();
    socket.ends_with(4401, "signed_out").await;
    client.set_fault(&json!({ "api": "auth/getuserinfo", "http_status": 500, "times": 9 })).await;
    let failed = client.get(&target("http://x/api/auth/oauth2/callback?code=made-up-2&state=auth_login"), &[]).await;
    vec![
        (malformed, &["refused", "code=1001", "route=\"/api/auth/me\""]),
        (
            reference(&risky.json()),
            &["refused", "employee=wwdeskpass/admin01", "route=\"/api/admin/roles/user-roles\""],
        ),
        (fragment(location(&failed), "ref"), &["sign-in failed", "cause=platform"]),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_story_of_every_kind_of_refusal_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let process = Process::serve(&directory.path().join("data"), &[]);
    let operator = Operator::In(directory.path());
    let mut client = Client::connect(&process.address).await;
    let disabled = everything(operator, &mut client).await;
    assert!(operator.succeed(&["employee", "list"]).contains("user (default)"), "the role without an assignment");
    let chosen = [("x-request-id", "chosen-by-a-proxy")];
    client.post("/api/agents/login", &chosen, &json!({ "employee_id": "agent01", "password": "wrong" })).await;
    let lines = without_rows(&mut client, &process.address).await;
    for (reference, _) in &lines {
        let story = operator.succeed(&["explain", "ref", reference, "--language", "en"]);
        assert!(story.contains(&format!("grep {reference}")), "{story}");
    }
    let (_, log) = process.terminate();
    for (reference, words) in lines {
        let found = log.lines().any(|line| line.contains(&reference) && words.iter().all(|word| line.contains(word)));
        assert!(found, "{reference} {words:?}\n{log}");
    }
    assert!(log.lines().any(|line| line.contains("chosen-by-a-proxy") && line.contains("reference=")), "{log}");
    assert!(log.lines().any(|line| line.contains("socket closed") && line.contains("wwdeskpass/agent01")), "{log}");

    // Times are those of the setting; wrong usage has a status of its own.
    let run = |arguments: &[&str]| {
        let mut command = binary();
        with_settings(&mut command, [("notices.time_zone", "Asia/Shanghai")]);
        command.current_dir(directory.path()).args(arguments).arg("--dev").output().unwrap()
    };
    let story = String::from_utf8(run(&["explain", "ref", &disabled]).stdout).unwrap();
    assert!(story.contains(" UTC+08:00\n"), "{story}");
    let login = String::from_utf8(run(&["explain", "login", "user01"]).stdout).unwrap();
    assert!(login.contains(" UTC+08:00 by "), "{login}");
    assert_eq!(run(&["explain", "ref", "zhangsan"]).status.code(), Some(2));
}

/// A code that came when the budget for codes of others was used up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_story_says_when_the_limit_of_codes_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut serve = binary();
    serve.args(["serve", "--dev", "--listen", "127.0.0.1:0"]).current_dir(directory.path());
    with_settings(&mut serve, [("limits.enabled", "true"), ("limits.foreign_codes", "1/min")]);
    let process = Process::spawn(serve);
    let mut client = Client::connect(&process.address).await;
    let mut shown = Vec::new();
    for number in 0..2 {
        let path = format!("http://x/api/auth/oauth2/callback?code=made-up-{number}&state=auth_login");
        shown.push(fragment(location(&client.get(&target(&path), &[]).await), "ref"));
    }
    let limited = Refused {
        reference: shown.remove(1),
        reason: "codes_limited",
        code: 1006,
        employee: None,
        says: [&["limits.foreign_codes", "not asked"], &["limits.foreign_codes", "未向", "查询"]],
    };
    check(Operator::In(directory.path()), &limited);
    process.kill();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_story_is_told_on_the_pair() {
    let place = Servers::shared().cluster_store();
    let operator = Operator::At(&place);
    operator.succeed(&["migrate", "--create"]);
    let process = Process::node(&place, &[]);
    let mut client = Client::connect(&process.address).await;
    everything(operator, &mut client).await;
}
