//! `deskpass explain login` about people who left at the platform, and people who were disabled here, in both languages.

use serde_json::{Value, json};

use crate::harness::{Client, Operator, Process, fragment};

/// The answer of the platform about a member who left.
fn left(who: &str) -> Value {
    let profile = json!({ "errcode": 0, "errmsg": "ok", "userid": who, "name": "U", "department": [], "status": 5 });
    json!({ "api": "user/get", "body": profile.to_string(), "times": 1 })
}

/// Scans a code with the phone of `who`, who is refused; returns the reference that the phone's page shows.
async fn refused(client: &mut Client, who: &str) -> String {
    let qrcode = client.qrcode().await;
    let page = client.scan(&qrcode, who).await;
    assert_eq!((fragment(&page, "error"), fragment(&page, "code")), ("disabled".to_owned(), "1003".to_owned()));
    fragment(&page, "ref")
}

/// What `explain login` must say, and what it must not, in English and in Chinese.
struct Expected {
    says: [&'static [&'static str]; 2],
    never: &'static [&'static str],
}

fn check(operator: Operator<'_>, who: &str, expected: &Expected) {
    for (language, says) in ["en", "zh"].into_iter().zip(expected.says) {
        let report = operator.succeed(&["explain", "login", who, "--language", language]);
        for words in says {
            assert!(report.contains(words), "no {words:?} in\n{report}");
        }
        for words in expected.never {
            assert!(!report.contains(words), "{words:?} in\n{report}");
        }
        let chinese = report.contains('。') || report.contains('：');
        assert_eq!(chinese, language == "zh", "{report}");
    }
}

/// Who left before they ever signed in: there is nothing to enable, and nobody to add.
const NEVER_HERE: Expected = Expected {
    says: [
        &[
            "There is no such employee.",
            "they have left or are disabled there",
            "refused, left_platform (ref ",
            "通讯录",
        ],
        &["没有该员工。", "显示该成员已离职或已被禁用", "被拒绝，left_platform (ref ", "通讯录"],
    ],
    never: &["employee enable", "employee add"],
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn advice_depends_on_who_disabled_a_person_and_is_not_repeated() {
    let directory = tempfile::tempdir().unwrap();
    let process = Process::serve(&directory.path().join("data"), &[]);
    let operator = Operator::In(directory.path());
    let mut client = Client::connect(&process.address).await;

    // Left before they ever signed in.
    let reference = refused(&mut client, "left01").await;
    check(operator, "left01", &NEVER_HERE);
    assert!(operator.succeed(&["explain", "login", "left01"]).contains(&format!("(ref {reference})")));

    // Left after they had signed in.
    client.sign_in_by_phone("user01").await;
    client.set_fault(&left("user01")).await;
    refused(&mut client, "user01").await;
    let known = Expected {
        says: [
            &[
                "platform     The platform said at ",
                "employee     locked out: they left the corporation at the platform",
            ],
            &["平台    企业微信于 ", "员工    已锁定：已在企业微信离职"],
        ],
        never: &["employee enable", "employee add"],
    };
    check(operator, "user01", &known);

    // Disabled here, too; and then enabled again.
    operator.succeed(&["employee", "disable", "user01"]);
    refused(&mut client, "user01").await;
    let disabled = Expected {
        says: [
            &["disabled here; to enable: deskpass employee enable user01", "refused, disabled_here"],
            &["已在本系统停用；如需启用：deskpass employee enable user01", "被拒绝，disabled_here"],
        ],
        never: &["employee add"],
    };
    check(operator, "user01", &disabled);
    operator.succeed(&["employee", "enable", "user01"]);
    let enabled = Expected {
        says: [&["They are enabled now: ask them to sign in again."], &["现已启用，请让其重新登录。"]],
        never: &["employee enable"],
    };
    check(operator, "user01", &enabled);
    // The platform is believed again only a minute after the departure; the operator need not wait.
    operator.succeed(&["employee", "return", "user01"]);
    let sign_in = client.sign_in_by_phone("user01").await;
    assert!(client.is_valid(&sign_in).await);
    let report = operator.succeed(&["explain", "login", "user01"]);
    assert!(!report.contains("platform     "), "the platform says otherwise by now: {report}");
    let signed_in = Expected {
        says: [&["They have signed in since: there is nothing to do."], &["该员工此后已成功登录，无需处理。"]],
        never: &["通讯录", "ask them to sign in again", "请让其重新登录", "employee enable"],
    };
    check(operator, "user01", &signed_in);
    // Nobody is asked to sign in again while they are disabled.
    operator.succeed(&["employee", "disable", "user01"]);
    let disabled = Expected {
        says: [&["That is settled, but they are disabled here now"], &["该问题已解决，但该员工现已在本系统停用"]],
        never: &["通讯录", "ask them to sign in again", "请让其重新登录"],
    };
    check(operator, "user01", &disabled);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn access_and_tokens_are_explained_in_chinese_by_flag_and_environment() {
    let directory = tempfile::tempdir().unwrap();
    let process = Process::serve(&directory.path().join("data"), &[]);
    let operator = Operator::In(directory.path());
    let mut client = Client::connect(&process.address).await;
    let report = operator.succeed(&["explain", "access", "agent01", "conversation", "read", "all", "--language", "zh"]);
    assert!(
        report.starts_with("agent01（Arno Agent，wwdeskpass）：read conversation，范围 all\n角色：agent, user\n"),
        "{report}"
    );
    assert!(report.contains("agent  拒绝  agent 只能在范围 department 内 read conversation\n"), "{report}");
    let token = client.sign_in("user01").await;
    let explain = ["explain", "token", "--language", "zh"];
    let (success, report) = operator.run_with(&explain, &token);
    assert!(success && report.starts_with("这是访问令牌，即会话的令牌。\n内容完整，没有缺失或输错。"), "{report}");
    assert!(report.contains("它有效。user 的地址限制：不限地址。"), "{report}");
    client.logout(&token).await.data();
    let (_, report) = operator.run_with(&explain, &token);
    assert!(report.contains("它无效（signed_out）。用户已退出登录。\n请重新登录即可。"), "{report}");
    let (success, report) = operator.run_with(&explain, "hello");
    assert!(!success && report.contains("这不是 deskpass 的令牌"), "{report}");
    let mut by_environment = crate::harness::binary();
    by_environment
        .current_dir(directory.path())
        .args(["explain", "login", "user01", "--dev"])
        .env("LC_MESSAGES", "zh_CN.UTF-8");
    let output = by_environment.env_remove("LC_ALL").output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().contains("最近的登录尝试（最新在前）："));
}
