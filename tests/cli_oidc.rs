//! `deskpass oidc`: the programs whose users sign in here, and the keys that sign for them.

use std::path::Path;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::cli_doctor::DoctorFixture;
use crate::harness::{Client, Operator, Process, Servers, binary, finished, free_address, until};

/// The id and the secret in the output of `deskpass oidc client add`.
fn made(output: &str) -> (String, Option<String>) {
    let value = |names: [&str; 2]| {
        let found = |line: &str| names.iter().find_map(|name| line.strip_prefix(*name)).map(str::to_owned);
        output.lines().find_map(found)
    };
    let id = value(["client id: ", "客户端标识："]).expect("an id");
    let secret = value(["client secret: ", "客户端密钥："]);
    if let Some(secret) = &secret {
        assert!(secret.starts_with("dpe_") && secret.len() == 53, "{output}");
    }
    (id, secret)
}

/// The options of a client that needs no RSA key, which takes long to make.
const WIKI: [&str; 8] =
    ["oidc", "client", "add", "Wiki", "--redirect-uri", "https://wiki.example.com/cb", "--algorithm", "ES256"];

fn row(operator: Operator<'_>, id: &str) -> Vec<String> {
    let listed = operator.succeed(&["oidc", "client", "list"]);
    let line = listed.lines().find(|line| line.starts_with(id)).unwrap_or_else(|| panic!("{id} in\n{listed}"));
    line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect()
}

/// Runs every command, on either store.
fn a_clients_life(operator: Operator<'_>) {
    let none = operator.succeed(&["oidc", "client", "list"]);
    assert!(none.starts_with("no clients, so OpenID Connect is off"), "{none}");
    let output = operator.succeed(&[&WIKI[..], &["--role", "agent", "--role", "admin"]].concat());
    let (id, secret) = made(&output);
    let secret = secret.expect("a confidential client has a secret");
    assert!(output.contains("/.well-known/openid-configuration") && output.contains("not shown again"), "{output}");
    assert!(output.contains("PKCE (S256) is required") && output.contains("--pkce optional"), "{output}");
    let registered = |name: &str| output.lines().find(|line| line.trim_start().starts_with(name)).map(str::to_owned);
    assert!(registered("post-logout URI").is_some_and(|line| line.ends_with("  none")), "{output}");
    let state = |state: &str| {
        let found = row(operator, &id);
        assert_eq!(found[..5], [&*id, "Wiki", "confidential", state, "registered"], "{found:?}");
    };
    state("enabled");
    let shown = operator.succeed(&["oidc", "client", "show", &id]);
    assert!(shown.contains("https://wiki.example.com/cb") && shown.contains("admin, agent"), "{shown}");
    assert!(shown.contains("/oidc/authorize") && !shown.contains(&secret[4..]), "{shown}");

    let rotated = operator.succeed(&["oidc", "client", "rotate-secret", &id]);
    assert!(rotated.contains("client secret: dpe_") && rotated.contains("stays valid for 7 days"), "{rotated}");
    assert!(!rotated.contains(&secret), "{rotated}");
    assert!(operator.succeed(&["oidc", "client", "show", &id]).contains("old secret"));
    let at_once = operator.succeed(&["oidc", "client", "rotate-secret", &id, "--now"]);
    assert!(at_once.contains("no longer valid"), "{at_once}");
    assert!(!operator.succeed(&["oidc", "client", "show", &id]).contains("old secret"));

    assert!(operator.succeed(&["oidc", "client", "disable", &id]).contains("is disabled"));
    state("disabled");
    assert!(operator.succeed(&["oidc", "client", "enable", &id]).contains("is enabled"));
    state("enabled");

    let keys = operator.succeed(&["oidc", "rotate-keys"]);
    assert!(keys.starts_with("new signing keys, published:"), "{keys}");
    let again = operator.succeed(&["oidc", "rotate-keys"]);
    assert!(again.starts_with("the next key is published already:"), "{again}");
    let keys = operator.succeed(&["oidc", "rotate-keys", "--now"]);
    assert!(keys.contains("sign from now on") && keys.contains("withdrawn"), "{keys}");

    operator.succeed(&["employee", "add", "zhangsan"]);
    let renewed = operator.succeed(&["employee", "new-person", "zhangsan"]);
    assert!(renewed.contains("zhangsan is another person") && renewed.contains("0 session(s) ended"), "{renewed}");
    operator.fail(&["employee", "new-person", "nobody"], "there is no employee nobody");

    operator.fail(&["oidc", "client", "remove", &id], "run the command again with --yes");
    assert!(operator.succeed(&["oidc", "client", "remove", &id, "--yes"]).contains("is removed"));
    assert_eq!(operator.succeed(&["oidc", "client", "list"]), none);
}

fn mistakes(operator: Operator<'_>) {
    let before = operator.succeed(&["oidc", "client", "list"]);
    let secret = format!("dpe_{}", "A".repeat(49));
    let uri = ["--redirect-uri", "https://wiki.example.com/cb"];
    for (arguments, words) in [
        (&["client", "add", "Wiki"][..], "--redirect-uri"),
        (&["client", "add"], "NAME"),
        (&["client", "add", "Wiki", "--redirect-uri", "javascript:alert(1)"], "redirect_uris: javascript:alert(1)"),
        (&["client", "add", "Wiki", "--redirect-uri", "https://wiki.example.com/#x"], "must not have a fragment"),
        (&["client", "add", "", uri[0], uri[1]], "name must be 1 to 64 visible characters"),
        (&["client", "add", "Wiki", uri[0], uri[1], "--role", "boss"], "boss"),
        (&["client", "add", "Wiki", uri[0], uri[1], "--algorithm", "HS256"], "RS256, ES256"),
        (&["client", "add", "Wiki", uri[0], uri[1], "--public", "--pkce", "optional"], "pkce can be optional"),
        (&["client", "add", "Wiki", uri[0], uri[1], "--public", "--native"], "--native"),
        (&["client", "add", "Wiki", uri[0], uri[1], "--corporation", "a b"], "--corporation must be 1 to 64"),
        (&["client", "add", "--for", "zammad"], "--for needs the address of the program"),
        (&["client", "add", "--for", "zammad", "--url", "help.example.com"], "--url must be the address"),
        (
            &["client", "add", "--for", "zammad", "--url", "https://a.example", uri[0], uri[1]],
            "--for generic you name them",
        ),
        (&["client", "add", "--for", "generic", "--url", "https://a.example"], "NAME"),
        (&["client", "add", "Wiki", "--for", "generic", "--url", "https://a.example"], "generic needs --redirect-uri"),
        (&["client", "add", "--for", "jira", "--url", "https://a.example"], "zammad"),
        (&["client", "show", "x"], "there is no client x; see `deskpass oidc client list`"),
        (&["client", "disable", "x"], "there is no client x"),
        (&["client", "rotate-secret", &secret], "never put a secret on a command line"),
        (&["client", "remove", "x", "--yes"], "there is no client x"),
    ] {
        let text = operator.fail(&[&["oidc"], arguments].concat(), words);
        assert!(!text.contains("dpe_A"), "{text}");
    }
    assert!(operator.succeed(&["oidc", "rotate-keys"]).contains("no signing keys to replace"));
    assert_eq!(operator.succeed(&["oidc", "client", "list"]), before, "nothing was done");
}

#[test]
fn clients_are_looked_after_where_no_service_runs() {
    let directory = tempfile::tempdir().unwrap();
    let operator = Operator::In(directory.path());
    operator.succeed(&["migrate", "--create"]);
    mistakes(operator);
    a_clients_life(operator);
}

#[test]
fn clients_are_looked_after_on_the_pair() {
    let place = Servers::shared().cluster_store();
    let operator = Operator::At(&place);
    operator.succeed(&["migrate", "--create"]);
    mistakes(operator);
    a_clients_life(operator);
}

#[test]
fn with_json_there_are_an_id_and_a_secret_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let operator = Operator::In(directory.path());
    operator.succeed(&["migrate", "--create"]);
    for (more, has_secret) in [(&[][..], true), (&["--public"], false), (&["--native"], false)] {
        let text = operator.succeed(&[&WIKI[..], more, &["--json"]].concat());
        let object: Value = serde_json::from_str(text.trim()).unwrap();
        let mut names: Vec<_> = object.as_object().unwrap().keys().collect();
        names.sort();
        assert_eq!(names, ["client_id", "client_secret"]);
        assert_eq!(object["client_secret"].is_string(), has_secret, "{text}");
    }
    let listed = operator.succeed(&["oidc", "client", "list"]);
    let kinds = ["confidential", "public", "native"].map(|kind| listed.matches(kind).count());
    assert_eq!(kinds, [1, 1, 1], "{listed}");
}

#[test]
fn a_program_is_known_by_its_name() {
    let directory = tempfile::tempdir().unwrap();
    let operator = Operator::In(directory.path());
    operator.succeed(&["migrate", "--create"]);
    let add = |program: &str, language: &str| {
        let options = ["--for", program, "--url", "https://help.example.com/", "--algorithm", "ES256"];
        operator.succeed(&[&["oidc", "client", "add"][..], &options, &["--language", language]].concat())
    };
    for (program, title, redirect, backchannel) in [
        ("zammad", "Zammad", "/auth/openid_connect/callback", Some("/auth/openid_connect/backchannel_logout")),
        ("grafana", "Grafana", "/login/generic_oauth", None),
        ("gitlab", "GitLab", "/users/auth/openid_connect/callback", None),
        ("rt", "Request Tracker", "/oidc-callback", Some("/oidc-callback?logout=backchannel")),
        ("glpi", "GLPI", "/oidc-callback", Some("/oidc-callback?logout=backchannel")),
    ] {
        for (language, words) in [("en", "To check it: deskpass doctor"), ("zh", "检查：deskpass doctor")] {
            let output = add(program, language);
            let (id, secret) = made(&output);
            assert!(output.contains(words) && output.contains(title), "{output}");
            assert!(matches!(program, "gitlab" | "rt") || !output.contains('{'), "{output}");
            assert_eq!(secret.is_some(), program != "zammad", "{output}");
            assert!(output.contains(&format!("https://help.example.com{redirect}")), "{output}");
            let post_logout = if language == "en" { "post-logout URI" } else { "退出后返回地址" };
            let line = output.lines().find(|line| line.trim_start().starts_with(post_logout));
            assert!(line.is_some_and(|line| line.contains("https://help.example.com/")), "{output}");
            let shown = operator.succeed(&["oidc", "client", "show", &id]);
            assert!(shown.contains(&format!("https://help.example.com{redirect}")), "{shown}");
            let backchannel = backchannel.map_or("none".to_owned(), |path| format!("https://help.example.com{path}"));
            let line = shown.lines().find(|line| line.starts_with("back-channel URI")).unwrap();
            assert!(line.ends_with(&backchannel), "{shown}");
        }
    }
}

/// The test of Request Tracker runs what its guide says.
#[test]
fn what_is_printed_for_request_tracker_is_what_its_guide_says() {
    let directory = tempfile::tempdir().unwrap();
    let operator = Operator::In(directory.path());
    operator.succeed(&["migrate", "--create"]);
    let add = ["oidc", "client", "add", "--for", "rt", "--url", "https://rt.example.com", "--algorithm", "ES256"];
    let guide = include_str!("../docs/integrations/request-tracker.md");
    let blocks: Vec<_> = guide.split("```perl\n").skip(1).filter_map(|rest| rest.split("\n```").next()).collect();
    assert_eq!(blocks.len(), 2);
    for language in ["en", "zh"] {
        let output = operator.succeed(&[&add[..], &["--language", language]].concat());
        for block in &blocks {
            let indented: Vec<_> = block.lines().map(|line| format!("  {line}").trim_end().to_owned()).collect();
            assert!(output.contains(&indented.join("\n")), "{block}\n is not in\n{output}");
        }
    }
}

/// Whether the service answers as a provider.
async fn is_on(client: &mut Client) -> bool {
    client.get("/.well-known/openid-configuration", &[]).await.status == 200
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_service_knows_at_once_and_its_log_has_no_secret() {
    let directory = tempfile::tempdir().unwrap();
    let process = Process::serve(&directory.path().join("data"), &[]);
    let operator = Operator::In(directory.path());
    let mut client = Client::connect(&process.address).await;
    assert!(!is_on(&mut client).await);
    let (id, secret) = made(&operator.succeed(&WIKI));
    assert!(is_on(&mut client).await);
    let rotated = operator.succeed(&["oidc", "client", "rotate-secret", &id]);
    operator.succeed(&["oidc", "client", "remove", &id, "--yes"]);
    assert!(!is_on(&mut client).await);
    let (_, log) = process.terminate();
    let new = rotated.lines().next().and_then(|line| line.strip_prefix("client secret: ")).unwrap();
    assert!(!log.contains(&secret.unwrap()[4..]) && !log.contains(&new[4..]), "{log}");
    assert!(log.contains("oidc client add Wiki") && log.contains("oidc client rotate-secret"), "{log}");
}

/// Pasted as printed, no two sites encrypt with the same passphrase.
#[test]
fn what_is_printed_for_apache_has_a_passphrase_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let operator = Operator::In(directory.path());
    operator.succeed(&["migrate", "--create"]);
    let passphrase = |program: &str| {
        let url = "https://help.example.com";
        let printed = operator.succeed(&["oidc", "client", "add", "--for", program, "--url", url]);
        let line = printed.lines().find(|line| line.contains("OIDCCryptoPassphrase")).unwrap().to_owned();
        line.split_whitespace().last().unwrap().to_owned()
    };
    let [one, other] = [passphrase("glpi"), passphrase("rt")];
    assert!(one.len() >= 32 && one != other, "{one} {other}");
}

fn serve(directory: &Path) -> Process {
    let mut command = binary();
    command.args(["serve", "--dev", "--listen", "127.0.0.1:0"]).current_dir(directory);
    Process::spawn(command)
}

const IN_FILE: &str = "[[oidc.clients]]\nid = \"wiki\"\nname = \"Wiki\"\nsecret_file = \"wiki.secret\"\nalgorithm = \"ES256\"\n\
                       redirect_uris = [\"https://wiki.example.com/cb\"]\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_of_the_settings_file_is_changed_there_alone() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
    file("wiki.secret", "0123456789-abcdefghijklmnopqrstuvwxyz\n");
    file("deskpass.toml", IN_FILE);
    let process = serve(directory.path());
    let operator = Operator::In(directory.path());
    assert_eq!(row(operator, "wiki")[..5], ["wiki", "Wiki", "confidential", "enabled", "settings file"]);
    for command in [&["disable", "wiki"][..], &["rotate-secret", "wiki"], &["remove", "wiki", "--yes"]] {
        operator.fail(&[&["oidc", "client"], command].concat(), "is in the settings file: change it there");
    }
    let shown = operator.succeed(&["config", "show"]);
    assert!(shown.contains("secret_file = \"wiki.secret\"") && !shown.contains("abcdefghij"), "{shown}");
    let mut client = Client::connect(&process.address).await;
    assert!(is_on(&mut client).await);
    file("deskpass.toml", "");
    assert_eq!(operator.succeed(&["reload"]).trim(), "reloaded: oidc.clients");
    until("the client is gone", async || !is_on(&mut Client::connect(&process.address).await).await).await;
    process.kill();
}

/// A client that holds its request open over a reload is asked about by the new settings.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_was_held_open_over_a_reload_is_one_of_the_new_settings() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
    file("wiki.secret", "0123456789-abcdefghijklmnopqrstuvwxyz\n");
    let other = IN_FILE.replace("wiki\"\nname", "other\"\nname");
    file("deskpass.toml", &format!("{IN_FILE}{other}"));
    let process = serve(directory.path());
    let body =
        "grant_type=refresh_token&refresh_token=x&client_id=wiki&client_secret=0123456789-abcdefghijklmnopqrstuvwxyz";
    let mut held = Vec::new();
    for path in ["/oidc/token", "/oidc/introspect", "/oidc/revoke"] {
        let mut stream = TcpStream::connect(&process.address).await.unwrap();
        let length = body.len();
        let lines = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/x-www-form-urlencoded\r\n\
             content-length: {length}\r\nexpect: 100-continue\r\n\r\n",
            process.address
        );
        stream.write_all(lines.as_bytes()).await.unwrap();
        // The service has begun to read the body: it says so.
        let mut line = [0; 12];
        stream.read_exact(&mut line).await.unwrap();
        assert_eq!(&line, b"HTTP/1.1 100", "{path}");
        held.push((path, stream));
    }
    file("deskpass.toml", &other);
    assert_eq!(Operator::In(directory.path()).succeed(&["reload"]).trim(), "reloaded: oidc.clients");
    for (path, mut stream) in held {
        stream.write_all(body.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.contains("HTTP/1.1 401") && answer.contains("invalid_client"), "{path}: {answer}");
    }
    process.kill();
}

#[test]
fn an_invalid_client_of_the_settings_file_is_named() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("deskpass.toml"), IN_FILE).unwrap();
    let check = || finished(binary().current_dir(directory.path()).args(["config", "check", "--dev"]));
    let text = String::from_utf8(check().stderr).unwrap();
    assert!(text.contains("oidc.clients.wiki.secret_file (deskpass.toml:4): the file cannot be read"), "{text}");
    std::fs::write(directory.path().join("wiki.secret"), "0123456789-abcdefghijklmnopqrstuvwxyz\n").unwrap();
    assert!(check().status.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_reaches_the_issuer_and_the_clients() {
    let directory = tempfile::tempdir().unwrap();
    let process = serve(directory.path());
    let operator = Operator::In(directory.path());
    let doctor = |language: &str| operator.run(&["doctor", "--listen", &process.address, "--language", language]).1;
    assert!(doctor("en").contains("✓ OpenID Connect: off: there is no client"));
    let reachable = format!("http://{}/health", process.address);
    let nowhere = format!("http://{}/logout", free_address());
    operator.succeed(&[&WIKI[..], &["--backchannel-uri", &reachable]].concat());
    operator.succeed(&[&WIKI[..], &["--backchannel-uri", &nowhere]].concat());
    let (english, chinese) = (doctor("en"), doctor("zh"));
    let issuer = format!("http://{}/.well-known/openid-configuration", process.address);
    for (text, lines) in [
        (
            &english,
            [
                "✓ signing keys: 1 can be used".to_owned(),
                format!("✓ OpenID Connect: 2 client(s); metadata at {issuer}"),
                format!("! back-channel logout: {reachable} is not encrypted"),
                format!("✗ back-channel logout: no response from {nowhere}"),
            ],
        ),
        (
            &chinese,
            [
                "✓ 签名密钥：1 个可用".to_owned(),
                format!("✓ OpenID Connect：2 个客户端；元数据地址 {issuer}"),
                format!("! 退出通知：{reachable} 未加密"),
                format!("✗ 退出通知：{nowhere} 没有响应"),
            ],
        ),
    ] {
        for line in lines {
            assert!(text.contains(&line), "{line}\n{text}");
        }
    }
    process.kill();
}

#[test]
fn the_doctor_says_that_an_issuer_is_not_reachable_by_its_name() {
    let mut patient = DoctorFixture::new();
    patient.set("public_url", &format!("http://{}", free_address()));
    let add = [&WIKI[..], &["--json"]].concat();
    assert!(patient.command(&["migrate", "--create"]).output().unwrap().status.success());
    assert!(patient.command(&add).output().unwrap().status.success());
    let [english, chinese] = patient.both();
    english.below("✗ OpenID Connect: no response from", &["start the service", "certificate"]);
    chinese.below("✗ OpenID Connect：", &["证书"]);
}

#[test]
fn an_address_of_an_employee_is_entered_and_removed() {
    let directory = tempfile::tempdir().unwrap();
    let operator = Operator::In(directory.path());
    operator.succeed(&["migrate", "--create"]);
    for who in ["zhangsan", "lisi"] {
        operator.succeed(&["employee", "add", who]);
    }
    let set = operator.succeed(&["employee", "email", "zhangsan", "Zhang.San@Example.com"]);
    assert_eq!(set.trim(), "the address of zhangsan is zhang.san@example.com");
    let listed = operator.succeed(&["employee", "list"]);
    assert!(
        listed.lines().any(|line| line.contains("zhangsan") && line.ends_with("zhang.san@example.com")),
        "{listed}"
    );
    let explained = operator.succeed(&["explain", "login", "zhangsan"]);
    assert!(explained.contains("zhang.san@example.com (entered by an operator)"), "{explained}");
    operator.fail(&["employee", "email", "lisi", "zhang.san@example.com"], "another employee has this address");
    for wrong in ["lisi", "a@b", "李四@example.com", ""] {
        operator.fail(&["employee", "email", "lisi", wrong], "ADDRESS must be an e-mail address");
    }
    operator.fail(&["employee", "email", "nobody", "n@example.com"], "deskpass employee add nobody");
    operator.fail(&["employee", "email", "lisi"], "ADDRESS");
    operator.succeed(&["employee", "email", "zhangsan", "--remove"]);
    assert!(!operator.succeed(&["employee", "list"]).contains("example.com"));
    let again = operator.succeed(&["employee", "email", "zhangsan", "--remove"]);
    assert!(again.contains("there was nothing to remove"), "{again}");
    let explained = operator.succeed(&["explain", "login", "zhangsan"]);
    assert!(explained.contains("none: no address was entered") && explained.contains("email_domain"), "{explained}");
}

#[test]
fn an_address_of_two_employees_is_told_about_neither() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("deskpass.toml"), "[oidc]\nemail_domain = \"example.com\"\n").unwrap();
    let operator = Operator::In(directory.path());
    operator.succeed(&["migrate", "--create"]);
    for who in ["zhangsan", "lisi"] {
        operator.succeed(&["employee", "add", who]);
    }
    let explains = |who: &str, language: &str, words: &str| {
        let explained = operator.succeed(&["explain", "login", who, "--language", language]);
        assert!(explained.contains(words), "{words}\n{explained}");
    };
    explains("lisi", "en", "lisi@example.com (from oidc.email_domain)");
    explains("lisi", "zh", "lisi@example.com（由 oidc.email_domain 生成）");
    let set = operator.succeed(&["employee", "email", "zhangsan", "lisi@example.com"]);
    let warning = "lisi is told this address through oidc.email_domain: neither is told it now";
    assert!(set.contains(warning), "{set}");
    explains("zhangsan", "en", "none: lisi@example.com (entered by an operator) is also that of lisi of ");
    explains("lisi", "en", "none: lisi@example.com through oidc.email_domain is the recorded address of zhangsan of ");
    explains("zhangsan", "zh", "因此两人都不提供");
    explains("lisi", "zh", "因此两人都不提供");
    let set = operator.succeed(&["employee", "email", "lisi", "li.si@example.com"]);
    assert!(!set.contains("warning"), "{set}");
    explains("zhangsan", "en", "lisi@example.com (entered by an operator)");
}

/// A mistake in a program's settings can be found without guessing: the page has a reference, and the log its line.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_ends_on_an_error_page_has_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let process = serve(directory.path());
    let (id, _) = made(&Operator::In(directory.path()).succeed(&WIKI));
    let mut client = Client::connect(&process.address).await;
    let elsewhere = "https%3A%2F%2Felsewhere.example%2Fcb";
    let mut references = Vec::new();
    for query in [
        format!("client_id={id}&redirect_uri={elsewhere}%3Fkey%3Dhidden1&state=hidden2&nonce=hidden3"),
        format!("client_id=hidden4&redirect_uri={elsewhere}"),
        format!("client_id={id}&client_id={id}&redirect_uri={elsewhere}&code_challenge=hidden5"),
    ] {
        let page = client.get(&format!("/oidc/authorize?{query}"), &[]).await;
        let (_, rest) = page.body.split_once("<code id=\"reference\">").expect("a page with a reference");
        assert_eq!(page.status, 400);
        references.push(rest[..8].to_owned());
    }
    let (_, log) = process.terminate();
    for (reference, (reason, names_client)) in
        references.iter().zip([("bad_redirect_uri", true), ("unknown_client", false), ("invalid_request", false)])
    {
        let lines: Vec<_> = log.lines().filter(|line| line.contains(reference.as_str())).collect();
        let [line] = lines[..] else { panic!("{reference} in\n{log}") };
        assert!(line.contains(reason) && line.contains("https://elsewhere.example/cb"), "{line}");
        assert_eq!(line.contains(&id), names_client, "{line}");
    }
    assert!(!log.contains("hidden"), "{log}");
}
