//! `deskpass doctor`: with a platform whose faults the test controls.

mod events;
mod fixture;
mod logo;
mod platforms;
mod postgres_redis;
mod replies;

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::thread;

use serde_json::json;

use crate::harness::{Process, binary};
pub(crate) use fixture::DoctorFixture;
use fixture::examined;

#[test]
fn a_healthy_desk_passes_every_check() {
    let patient = DoctorFixture::new();
    assert!(patient.command(&["migrate", "--create"]).output().unwrap().status.success());
    let first = patient.command(&["employee", "add", "zhangsan", "--role", "admin"]).output().unwrap();
    assert!(first.status.success(), "{first:?}");
    let [english, chinese] = patient.both();
    let api = format!("http://{}/sim", patient.platform.address);
    let lines = [
        ("✓ settings: valid (production mode)".to_owned(), "✓ 配置：正确（生产模式）".to_owned()),
        ("✓ data: ./data can be opened and written".to_owned(), "✓ 数据：./data 可以打开并写入".to_owned()),
        ("✓ disk space: ".to_owned(), "✓ 磁盘空间：共 ".to_owned()),
        (
            "✓ encryption key: encryption_key is the key that the data was written with".to_owned(),
            "✓ 加密密钥：encryption_key 与写入数据时一致".to_owned(),
        ),
        ("✓ administrators: there is one".to_owned(), "✓ 管理员：已有管理员".to_owned()),
        ("✓ secret files: not readable by other users".to_owned(), "✓ 密钥文件：其他用户无法读取".to_owned()),
        (
            "✓ public URL: https://desk.example.com; the callback domain to enter at the platform is desk.example.com"
                .to_owned(),
            "✓ 访问地址：https://desk.example.com；需在企业微信中填写的回调域名为 desk.example.com".to_owned(),
        ),
        (format!("✓ platform: reachable at {api}"), format!("✓ 企业微信连接：可以访问 {api}")),
        ("✓ clock: ".to_owned(), "✓ 时钟：与企业微信相差 ".to_owned()),
        (
            "✓ recorded time: the newest differs from this machine's time by ".to_owned(),
            "✓ 时间记录：最新记录与本机时间相差 ".to_owned(),
        ),
        ("✓ corp id and secret: accepted".to_owned(), "✓ 企业 ID 与 Secret：已通过".to_owned()),
        ("✓ API call: allowed from this machine".to_owned(), "✓ 接口调用：允许从本机调用".to_owned()),
        ("✓ application: Deskpass is enabled".to_owned(), "✓ 应用状态：Deskpass 已启用".to_owned()),
        ("✓ trusted domain: desk.example.com".to_owned(), "✓ 可信域名：desk.example.com".to_owned()),
        ("✓ verification file: none configured".to_owned(), "✓ 域名验证文件：未配置".to_owned()),
        ("✓ events: off: a person who left is found".to_owned(), "✓ 事件：未启用：离职人员由定期复查发现".to_owned()),
        ("✓ OpenID Connect: off: there is no client".to_owned(), "✓ OpenID Connect：未启用：没有客户端".to_owned()),
    ];
    for (at, (line, line_zh)) in lines.iter().enumerate() {
        for (report, line) in [(&english, line), (&chinese, line_zh)] {
            let found = report.text.lines().nth(at).unwrap_or_default();
            assert!(found.starts_with(line), "{line} expected at {at} in\n{}", report.text);
        }
    }
    for report in [english, chinese] {
        report.wrong(&[]);
        assert_eq!(report.text.lines().count(), lines.len(), "{}", report.text);
    }
}

#[test]
fn bad_settings_are_all_named_and_nothing_else_is_tried() {
    let directory = tempfile::tempdir().unwrap();
    let examine =
        |language: &str| examined(binary().current_dir(directory.path()).args(["doctor", "--language", language]));
    let report = examine("en");
    report.wrong(&["settings: 4 problem(s)"]);
    for key in ["platform.corp_id", "platform.secret", "public_url", "encryption_key"] {
        assert!(
            report.text.lines().any(|line| line.starts_with(&format!("  - {key}: it is not set"))),
            "{}",
            report.text
        );
    }
    for what in ["data", "public URL", "platform", "clock", "platform configuration"] {
        report.line(&format!("- {what}: skipped"));
    }
    let report = examine("zh");
    report.wrong(&["配置：4 个问题"]);
    report.line("- 数据：已跳过");
    report.line("- 平台连接：已跳过");
    for key in ["platform.corp_id", "platform.secret", "public_url", "encryption_key"] {
        let problem = format!("  - {key}：未设置，而生产模式需要它；请在配置文件中设置");
        assert!(report.text.lines().any(|line| line.starts_with(&problem)), "{}", report.text);
    }
    assert!(report.text.ends_with("1 项检查未通过\n"), "{}", report.text);
    assert!(!directory.path().join("data").exists(), "nothing was made");
}

#[test]
fn data_in_use_is_left_alone_and_data_that_is_not_there_is_not_made() {
    let patient = DoctorFixture::new();
    let report = patient.examine(&[]);
    report.wrong(&[]);
    report.line("✓ data: ./data has no data yet");
    assert!(!patient.data().exists());
    let process = Process::spawn(patient.command(&["serve", "--listen", "127.0.0.1:0"]));
    let [english, chinese] = patient.both();
    english.line("✓ data: in use by a running deskpass, which can write to it");
    chinese.line("✓ 数据：正由运行中的 deskpass 使用，可以写入");
    english.line("✓ disk space: ");
    english.wrong(&[]);
    process.kill();
}

/// The first administrator can only come from the command line: whoever starts the service or examines it reads how.
#[test]
fn a_desk_without_administrator_says_how_to_appoint_one() {
    let patient = DoctorFixture::new();
    let advice = "deskpass role grant EMPLOYEE admin";
    patient.examine(&[]).below("! administrators: nobody administers the desk yet", &[advice]);
    let process = Process::spawn(patient.command(&["serve", "--listen", "127.0.0.1:0"]));
    let [english, chinese] = patient.both();
    english.below("! administrators: nobody administers the desk yet", &[advice]);
    chinese.below("! 管理员：服务台还没有管理员", &[advice]);
    english.wrong(&[]);
    let add = patient.command(&["employee", "add", "zhangsan", "--role", "admin"]).output().unwrap();
    assert!(add.status.success(), "{add:?}");
    patient.examine(&[]).line("✓ administrators: there is one");
    let (_, log) = process.terminate();
    assert!(log.contains(advice), "{log}");
    let process = Process::spawn(patient.command(&["serve", "--listen", "127.0.0.1:0"]));
    let (_, log) = process.terminate();
    assert!(!log.contains(advice), "{log}");
}

#[test]
fn postgres_without_redis_is_reported_and_nothing_else_is_tried() {
    let mut patient = DoctorFixture::new();
    patient.set("store.url", "postgres://desk:canary-password@127.0.0.1:1/desk");
    let [english, chinese] = patient.both();
    english.wrong(&["settings: 1 problem(s)"]);
    english.below("✗ settings", &["half a pair", "shared.url"]);
    chinese.below("✗ 配置：1 个问题", &["shared.url"]);
    assert!(!format!("{}{}", english.text, chinese.text).contains("canary"));
}

#[test]
fn an_unreachable_pair_is_reported_and_the_rest_checked() {
    let mut patient = DoctorFixture::new();
    // A free port: bound and released again, so that no server listens there.
    let nowhere = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    patient.set("store.url", &format!("postgres://desk:canary-password@{nowhere}/desk"));
    patient.set("shared.url", &format!("redis://:canary-password@{nowhere}"));
    let [english, chinese] = patient.both();
    english.wrong(&[
        &format!("PostgreSQL: postgres://desk:***@{nowhere}/desk cannot be used"),
        &format!("Redis: redis://:***@{nowhere} cannot be used"),
    ]);
    english.below("✗ PostgreSQL", &["store.url", "password", "tls.ca_file"]);
    english.below("✗ Redis", &["shared.url", "firewall"]);
    for what in ["tables", "PostgreSQL clock", "Redis memory", "Redis clock"] {
        english.line(&format!("- {what}: skipped"));
    }
    english.line("✓ trusted domain");
    chinese.below(&format!("✗ PostgreSQL：无法使用 postgres://desk:***@{nowhere}/desk"), &["store.url"]);
    chinese.line("- 数据表：已跳过");
    assert!(!format!("{}{}", english.text, chinese.text).contains("canary"));
    assert!(!patient.data().exists(), "the embedded database is not touched");
}

#[test]
fn data_that_does_not_open_is_explained() {
    let patient = DoctorFixture::new();
    std::fs::write(patient.directory.path().join("file"), "").unwrap();
    let report = patient.examine(&["--data", "file/data"]);
    report.wrong(&["data: "]);
    report.below("✗ data: ", &["--data"]);
    report.line("✓ trusted domain");

    assert!(patient.command(&["migrate", "--create"]).output().unwrap().status.success());
    std::fs::write(patient.data().join("deskpass.db"), "not a database".repeat(1_000)).unwrap();
    let [english, chinese] = patient.both();
    english.wrong(&["data: ./data/deskpass.db cannot be opened"]);
    english.below("✗ data: ", &["restore it from a backup"]);
    chinese.below("✗ 数据：无法打开 ./data/deskpass.db", &["从备份恢复"]);
    std::fs::remove_file(patient.data().join("deskpass.db")).unwrap();
    patient
        .examine(&[])
        .below("✗ data: ./data/deskpass.db existed before and is now missing or empty", &["restore it from a backup"]);
}

#[test]
fn data_of_the_other_mode_is_explained() {
    let patient = DoctorFixture::new();
    let made = binary().current_dir(patient.directory.path()).args(["migrate", "--create", "--dev"]).output().unwrap();
    assert!(made.status.success());
    patient.examine(&[]).below("✗ data: ./data was created in development mode", &["--data", "--dev"]);
}

#[tokio::test]
async fn an_untrusted_address_is_reported_with_where_to_enter_it() {
    let patient = DoctorFixture::new();
    patient.platform.put("switches", &json!({ "trusted_ips": ["192.0.2.1"] })).await;
    let [english, chinese] = patient.both();
    english.wrong(&["API call: the platform refused (errcode 60020"]);
    english.below("✗ API call", &["enter 127.0.0.1", "管理后台 → 应用管理 → the application → 企业可信IP"]);
    chinese.below("✗ 接口调用：企业微信拒绝了请求（errcode 60020", &["请填写 127.0.0.1", "企业可信IP"]);
    for report in ["- application: skipped", "- trusted domain: skipped", "✓ verification file"] {
        english.line(report);
    }
    chinese.line("- 应用状态：已跳过");
}

#[test]
fn a_wrong_secret_is_reported_without_it() {
    let mut patient = DoctorFixture::new();
    patient.set("platform.secret", "canary-of-contacts-sync");
    let [english, chinese] = patient.both();
    english.wrong(&["corp id and secret: the platform refused (errcode 40001"]);
    english.below("✗ corp id and secret", &["The secret is wrong", "not that of contacts sync"]);
    chinese.below("✗ 企业 ID 与 Secret：企业微信拒绝了请求（errcode 40001", &["Secret 错误", "通讯录同步"]);
    assert!(!format!("{}{}", english.text, chinese.text).contains("canary"));
    english.line("- platform configuration: skipped");
    chinese.line("- 企业微信侧配置：已跳过");
}

#[test]
fn a_wrong_corporation_is_reported() {
    let mut patient = DoctorFixture::new();
    patient.set("platform.corp_id", "wwelsewhere");
    let [english, chinese] = patient.both();
    english.below("✗ corp id and secret: the platform refused (errcode 40013", &["The corp id is wrong"]);
    chinese.below("✗ 企业 ID 与 Secret：企业微信拒绝了请求（errcode 40013", &["企业 ID（CorpID）错误"]);
}

#[test]
fn an_agent_id_of_another_application_is_reported() {
    let mut patient = DoctorFixture::new();
    patient.set("platform.agent_id", "1000003");
    let [english, chinese] = patient.both();
    english.wrong(&["API call: the platform refused (errcode 301002"]);
    english.below("✗ API call", &["belongs to another application than the secret"]);
    chinese.below("✗ 接口调用：企业微信拒绝了请求（errcode 301002", &["不属于同一应用"]);
}

#[test]
fn without_an_agent_id_it_says_what_is_lost() {
    let mut patient = DoctorFixture::new();
    patient.settings.retain(|(key, _)| *key != "platform.agent_id");
    let [english, chinese] = patient.both();
    english.wrong(&[]);
    english.below("- API call: skipped", &["platform.agent_id is not set", "on a computer"]);
    english.line("- trusted domain: skipped");
    chinese.below("- 接口调用：已跳过", &["platform.agent_id", "电脑"]);
}

#[test]
fn another_trusted_domain_is_reported_with_where_to_enter_ours() {
    let patient = DoctorFixture::with(&["--domain", "old.example.com"]);
    let [english, chinese] = patient.both();
    english.wrong(&["trusted domain: the platform has old.example.com, this service is at desk.example.com"]);
    let places = ["网页授权及JS-SDK → 可信域名", "企业微信授权登录 → 授权回调域", "desk.example.com"];
    english.below("✗ trusted domain", &places);
    chinese.below("✗ 可信域名：企业微信中为 old.example.com，本服务为 desk.example.com", &places);
}

#[test]
fn the_port_is_part_of_the_domain() {
    let mut patient = DoctorFixture::with(&["--domain", "desk.example.com:8443"]);
    patient.examine(&[]).wrong(&["trusted domain"]);
    patient.set("public_url", "https://desk.example.com:8443");
    let report = patient.examine(&[]);
    report.wrong(&[]);
    report.line("✓ trusted domain: desk.example.com:8443");
}

#[tokio::test]
async fn an_application_that_is_off_and_has_no_domain_is_reported() {
    let patient = DoctorFixture::new();
    let record = json!({ "errcode": 0, "name": "Desk", "close": 1, "redirect_domain": "" }).to_string();
    patient.platform.put("faults", &json!({ "api": "agent/get", "body": record, "times": 0 })).await;
    let [english, chinese] = patient.both();
    english.wrong(&["application: Desk is disabled", "trusted domain: no domain is set at the platform"]);
    english.below("✗ application", &["应用管理"]);
    assert!(english.text.ends_with("deskpass: 2 check(s) failed\n"), "{}", english.text);
    chinese.wrong(&["应用状态：Desk 已停用", "可信域名：企业微信中尚未设置"]);
}

#[tokio::test]
async fn a_page_in_place_of_an_answer_is_reported() {
    let patient = DoctorFixture::new();
    patient.platform.put("faults", &json!({ "api": "gettoken", "http_status": 200, "times": 0 })).await;
    let [english, chinese] = patient.both();
    english.wrong(&["corp id and secret: cannot read the platform's response: not a JSON object"]);
    english.below("✗ corp id and secret", &["platform.api_url", "sign-in page"]);
    chinese.below("✗ 企业 ID 与 Secret：企业微信的响应无法识别：不是 JSON 对象", &["platform.api_url"]);
}

#[tokio::test]
async fn a_platform_that_takes_its_time_is_not_waited_for() {
    let patient = DoctorFixture::new();
    patient.platform.put("faults", &json!({ "api": "gettoken", "delay_ms": 60_000, "times": 0 })).await;
    let report = patient.examine(&["--language", "zh"]);
    report.wrong(&["企业 ID 与 Secret：无法连接企业微信：超时"]);
    report.below("✗ 企业 ID 与 Secret", &["platform.proxy"]);
}

#[test]
fn an_unreachable_platform_is_reported() {
    let mut patient = DoctorFixture::new();
    // A free port: bound and released again, so that no server listens there.
    let nowhere = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    patient.set("platform.api_url", &format!("http://{nowhere}"));
    let [english, chinese] = patient.both();
    english.wrong(&["platform: cannot reach the platform: no connection"]);
    english.below("✗ platform", &["firewall", "platform.proxy"]);
    chinese.below("✗ 企业微信连接：无法连接企业微信：无法建立连接", &["platform.proxy"]);
    for what in ["clock", "corp id and secret", "platform configuration"] {
        english.line(&format!("- {what}: skipped"));
    }
}

/// Responds to every request with a page and this status line.
fn page_with(head: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.read(&mut [0; 4096]);
            let _ = write!(stream, "HTTP/1.1 200 OK\r\n{head}content-length: 2\r\nconnection: close\r\n\r\nhi");
        }
    });
    format!("http://{address}")
}

#[test]
fn a_clock_that_is_wrong_is_reported_by_how_much() {
    let mut patient = DoctorFixture::new();
    patient.set("platform.api_url", &page_with("date: Sat, 01 Jan 2000 00:00:00 GMT\r\n"));
    let [english, chinese] = patient.both();
    english.wrong(&["ahead of the platform", "corp id and secret"]);
    english.below("✗ clock: this machine is ", &["NTP", "one-time passwords"]);
    chinese.below("✗ 时钟：本机时间比企业微信快 ", &["NTP", "一次性密码"]);
    patient.set("platform.api_url", &page_with(""));
    let report = patient.examine(&[]);
    report.below("- clock: skipped", &["did not report its time"]);
    report.wrong(&["corp id and secret"]);
}

#[test]
fn the_verification_file_is_looked_at() {
    let mut patient = DoctorFixture::new();
    let file = |name: &str| patient.directory.path().join(name);
    let (good, large) = (file("WW_verify_0123456789abcdef.txt"), file("WW_verify_large.txt"));
    let (missing, other) = (file("WW_verify_missing.txt"), file("verify.txt"));
    for (path, bytes) in [(&good, 16), (&large, 5_000), (&other, 16)] {
        std::fs::write(path, "x".repeat(bytes)).unwrap();
    }
    let mut with = |path: &Path| {
        patient.set("platform.verify_file", path.to_str().unwrap());
        patient.both()
    };
    let [english, chinese] = with(&good);
    english.wrong(&[]);
    english.line("✓ verification file: served at https://desk.example.com/WW_verify_0123456789abcdef.txt");
    chinese.line("✓ 域名验证文件：访问地址 https://desk.example.com/WW_verify_0123456789abcdef.txt");
    for (path, english_words, chinese_words) in [
        (&large, "too large", "过大"),
        (&missing, "cannot be read", "无法读取"),
        (&other, "the file must keep the name", "文件名不正确"),
    ] {
        let [english, chinese] = with(path);
        english.wrong(&[english_words]);
        chinese.wrong(&[chinese_words]);
    }
}

#[test]
fn the_language_is_that_of_the_flag_the_environment_or_the_settings() {
    let mut patient = DoctorFixture::new();
    let first = |command: &mut Command| examined(command).text.lines().next().unwrap_or_default().starts_with("✓ 配置");
    assert!(first(patient.command(&["doctor"]).env("LANG", "zh_CN.UTF-8")));
    assert!(first(patient.command(&["doctor"]).env("LANG", "en_US.UTF-8").env("LC_ALL", "zh_CN")));
    assert!(!first(patient.command(&["doctor", "--language", "en"]).env("LANG", "zh_CN.UTF-8")));
    assert!(!first(&mut patient.command(&["doctor"])));
    patient.set("default_language", "zh");
    assert!(first(&mut patient.command(&["doctor"])));
    let report = patient.examine(&["--language", "fr"]);
    assert!(report.code == Some(2) && report.text.contains("en, zh"), "{}", report.text);
}

#[test]
fn in_development_mode_the_platform_is_the_running_service() {
    let directory = tempfile::tempdir().unwrap();
    let examine = |listen: &str, language: &str| {
        let mut command = binary();
        command.current_dir(directory.path()).env("DESKPASS_PUBLIC_URL", "http://localhost");
        examined(command.args(["doctor", "--dev", "--listen", listen, "--language", language]))
    };
    let nowhere = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let report = examine(&nowhere, "en");
    report.wrong(&["platform: no response from http://"]);
    report.below("✗ platform", &["start `deskpass serve --dev` first"]);
    examine(&nowhere, "zh").below("✗ 企业微信连接：", &["请先运行 `deskpass serve --dev`"]);

    let mut command = binary();
    command.args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data"]).arg(directory.path().join("data"));
    command.env("DESKPASS_PUBLIC_URL", "http://localhost");
    let process = Process::spawn(command);
    let report = examine(&process.address, "en");
    report.wrong(&[]);
    report.line("✓ settings: valid (development mode)");
    report.line("✓ data: in use by a running deskpass");
    report.line("✓ trusted domain: localhost");
    process.kill();
}

#[test]
fn its_help_has_an_example() {
    let output = binary().args(["doctor", "--help"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("Example") && text.contains("deskpass doctor --config"), "{text}");
    let output = binary().arg("--help").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("Example") && text.contains("deskpass doctor"), "{text}");
}

/// A proxy in front that publishes the metrics: the doctor reads what every client can read.
#[test]
fn metrics_that_everyone_can_read_are_reported() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let public_url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for mut stream in listener.incoming().map(Result::unwrap) {
            let mut head = [0; 1024];
            let read = stream.read(&mut head).unwrap();
            let is_asked = head[..read].starts_with(b"GET /metrics ");
            let body = if is_asked { "deskpass_connections 1\n" } else { "" };
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        }
    });
    let mut patient = DoctorFixture::new();
    let [english, _] = patient.both();
    assert!(!english.text.contains("metrics:"), "{}", english.text);
    patient.set("public_url", &public_url);
    let [english, chinese] = patient.both();
    english.below(&format!("! metrics: everyone can read {public_url}/metrics"), &["proxy"]);
    chinese.below(&format!("! 指标：任何人都可以读取 {public_url}/metrics"), &["代理"]);
}
