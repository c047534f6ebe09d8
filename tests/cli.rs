//! The command line.

use std::path::Path;
use std::process::Output;

use crate::harness::{Client, PRODUCTION, Process, binary, finished};

/// Runs the program in a directory; returns whether it succeeded, and its output.
pub(crate) fn run(directory: &Path, arguments: &[&str]) -> (bool, String) {
    output_of(&finished(binary().current_dir(directory).args(arguments)))
}

pub(crate) fn output_of(output: &Output) -> (bool, String) {
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.success(), text)
}

/// Every command that has a help text.
const COMMANDS: &[&[&str]] = &[
    &[],
    &["serve"],
    &["reload"],
    &["migrate"],
    &["copy"],
    &["backup"],
    &["restore"],
    &["session"],
    &["session", "end-all"],
    &["employee", "add"],
    &["employee", "list"],
    &["employee", "disable"],
    &["employee", "enable"],
    &["role", "grant"],
    &["role", "revoke"],
    &["sync"],
    &["config", "check"],
    &["config", "show"],
    &["config", "matrix"],
    &["employee"],
    &["role"],
    &["config"],
    &["link"],
    &["service-key"],
    &["service-key", "create"],
    &["service-key", "list"],
    &["service-key", "revoke"],
    &["oidc"],
    &["oidc", "client"],
    &["oidc", "client", "add"],
    &["oidc", "client", "list"],
    &["oidc", "client", "show"],
    &["oidc", "client", "rotate-secret"],
    &["oidc", "client", "enable"],
    &["oidc", "client", "disable"],
    &["oidc", "client", "remove"],
    &["oidc", "rotate-keys"],
    &["employee", "email"],
    &["ip-rule"],
    &["ip-rule", "list"],
    &["ip-rule", "set"],
    &["ip-rule", "clear"],
    &["clock"],
    &["clock", "repair"],
    &["explain"],
    &["explain", "login"],
    &["explain", "access"],
    &["explain", "token"],
    &["doctor"],
    &["simulate"],
    &["ready"],
    &["completions"],
    &["man"],
];

#[test]
fn every_command_has_help_with_an_example() {
    let directory = tempfile::tempdir().unwrap();
    for command in COMMANDS {
        let (success, text) = run(directory.path(), &[*command, &["--help"]].concat());
        assert!(success && text.contains("Example") && text.contains("deskpass"), "{command:?}\n{text}");
    }
    let (success, text) = run(directory.path(), &["--version"]);
    assert!(success && text.starts_with(concat!("deskpass ", env!("CARGO_PKG_VERSION"), " (commit ")), "{text}");
}

#[test]
fn the_first_administrator_is_made_on_the_command_line() {
    let directory = tempfile::tempdir().unwrap();
    let dev = |arguments: &[&str]| run(directory.path(), &[arguments, &["--dev"]].concat());
    let (success, text) = dev(&["employee", "add", "zhangsan", "--name", "张三", "--role", "admin", "--role", "user"]);
    assert!(success && text.contains("zhangsan was added with admin, user"), "{text}");
    let (success, text) = dev(&["employee", "add", "ZhangSan"]);
    assert!(!success && text.contains("role grant"), "{text}");
    let (_, text) = dev(&["employee", "list"]);
    assert!(
        text.lines().any(|line| line.contains("zhangsan") && line.contains("张三") && line.ends_with("admin, user")),
        "{text}"
    );
    let (_, text) = dev(&["role", "grant", "zhangsan", "security"]);
    assert!(text.contains("zhangsan now holds the role security"), "{text}");
    let (_, text) = dev(&["role", "grant", "zhangsan", "security"]);
    assert!(text.contains("already held the role"), "{text}");
    let (_, text) = dev(&["role", "revoke", "zhangsan", "admin"]);
    assert!(text.contains("no longer holds the role admin"), "{text}");
    let (_, text) = dev(&["employee", "disable", "zhangsan"]);
    assert!(text.contains("zhangsan is disabled; 0 session(s) ended"), "{text}");
    let (_, text) = dev(&["employee", "list"]);
    assert!(
        text.lines()
            .any(|line| line.contains("zhangsan") && line.contains("disabled") && line.ends_with("user, security")),
        "{text}"
    );
}

#[test]
fn mistakes_are_named_and_mended() {
    let directory = tempfile::tempdir().unwrap();
    let dev = |arguments: &[&str]| run(directory.path(), &[arguments, &["--dev"]].concat());
    let (success, text) = dev(&["employee", "list"]);
    assert!(!success && text.contains("there is no deskpass data in ./data"), "{text}");
    assert!(dev(&["migrate", "--create"]).0);
    for (arguments, words) in [
        (&["role", "grant", "nobody", "admin"][..], "deskpass employee add nobody"),
        (&["role", "grant", "user01", "boss"], "the roles are admin, agent, user, supervisor, security"),
        (&["employee", "add", "a b"], "EMPLOYEE must be 1 to 64 characters"),
        (&["employee", "add", "x", "--corp", "a/b"], "--corp must be 1 to 64 characters"),
        (&["employee", "add", "x", "--name", "a\u{202e}b"], "--name must be 1 to 128 visible characters"),
        (&["employee", "add", "x", "--name", ""], "--name must be 1 to 128 visible characters"),
        (&["employee", "add", "x", "--department", "IT\u{200b}"], "--department must be 0 to 128 visible characters"),
        (&["employee", "add", "x", "--department-id", "name:IT"], "--department-id must be the number"),
        (&["employee", "add", "x", "--role", "Admin"], "there is no role Admin"),
        (&["employee", "disable", "nobody"], "there is no employee nobody"),
    ] {
        let (success, text) = dev(arguments);
        assert!(!success && text.contains(words), "{arguments:?}\n{text}");
    }
}

#[test]
fn a_directory_in_use_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let process = Process::serve(directory.path(), &[]);
    let data = directory.path().to_str().unwrap();
    for arguments in [&["serve", "--listen", "127.0.0.1:0"][..], &["migrate"]] {
        let (success, text) = run(directory.path(), &[arguments, &["--dev", "--data", data]].concat());
        assert!(!success && text.contains("is in use by another deskpass process"), "{text}");
    }
    process.kill();
    let (success, text) = run(directory.path(), &["migrate", "--dev", "--data", data]);
    assert!(success && text.contains("is up to date (version "), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_reaches_a_running_service() {
    let directory = tempfile::tempdir().unwrap();
    let process = Process::serve(&directory.path().join("data"), &[]);
    let mut client = Client::connect(&process.address).await;
    let dev = |arguments: &[&str]| run(directory.path(), &[arguments, &["--dev"]].concat());
    let token = client.sign_in("agent01").await;
    assert!(client.is_valid(&token).await);
    let (success, text) = dev(&["role", "revoke", "agent01", "agent"]);
    assert!(success && text.contains("no longer holds the role agent"), "{text}");
    assert!(!client.is_valid(&token).await, "the running service knows at once");
    client.switch(&token, "user").await.data();
    let (_, text) = dev(&["employee", "disable", "agent01"]);
    assert!(text.contains("agent01 is disabled; 1 session(s) ended"), "{text}");
    assert_eq!(client.me(&token).await.refused(401, 1001).reason(), "disabled");
    let (_, text) = dev(&["employee", "list"]);
    assert!(text.lines().any(|line| line.contains("agent01") && line.contains("disabled")), "{text}");
    let (success, text) = dev(&["employee", "disable", "nobody"]);
    assert!(!success && text.contains("there is no employee nobody"), "{text}");
    let mut production = binary();
    for (key, value) in PRODUCTION {
        production.env(format!("DESKPASS_{}", key.to_uppercase().replace('.', "__")), value);
    }
    let (success, text) =
        output_of(&production.current_dir(directory.path()).args(["employee", "list"]).output().unwrap());
    assert!(!success && text.contains("the running service uses development mode; add --dev"), "{text}");
    for (arguments, given) in [
        (&["--platform", "feishu"][..], r#"platform.kind = "feishu" and platform.corp_id = "tenantdeskpass""#),
        (&["--config", "other.toml"], r#"platform.kind = "wecom" and platform.corp_id = "wwother""#),
    ] {
        std::fs::write(directory.path().join("other.toml"), "platform.corp_id = \"wwother\"").unwrap();
        let (success, text) = dev(&[&["employee", "disable", "user01"][..], arguments].concat());
        let own = r#"the running service has platform.kind = "wecom" and platform.corp_id = "wwdeskpass", "#;
        assert!(!success && text.contains(own) && text.contains(given), "{text}");
    }
    // The files of a killed process do not prevent a new start.
    process.kill();
    let process = Process::serve(&directory.path().join("data"), &[]);
    assert!(dev(&["employee", "enable", "agent01"]).0);
    drop(process);
}

#[test]
fn an_address_in_use_is_named() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let process = Process::serve(one.path(), &[]);
    let (success, text) = run(two.path(), &["serve", "--dev", "--listen", &process.address]);
    assert!(!success && text.contains(&process.address) && text.contains("--listen"), "{text}");
}

#[test]
fn production_without_its_secrets_does_not_start_and_says_what_is_missing() {
    let directory = tempfile::tempdir().unwrap();
    for command in [&["serve"][..], &["config", "check"]] {
        let (success, text) = run(directory.path(), command);
        assert!(!success);
        for key in ["platform.corp_id", "platform.secret", "public_url", "encryption_key"] {
            assert!(text.contains(&format!("\n- {key}: ")), "{key} is missing in\n{text}");
        }
        assert!(text.contains("openssl rand -base64 32"), "{text}");
        assert!(text.ends_with("\nto try it out without any settings: deskpass serve --dev\n"), "{text}");
    }
    // A command for a service that is installed needs its settings, not a trial.
    let (success, text) = run(directory.path(), &["employee", "list"]);
    assert!(!success && text.contains("\nthere is no ./deskpass.toml here; to name the settings: --config "), "{text}");
    // The hint about --dev is omitted when another setting is wrong.
    for command in [&["serve", "--listen", "nowhere"][..], &["config", "check", "--listen", "nowhere"]] {
        let (success, text) = run(directory.path(), command);
        assert!(!success && text.contains("\n- listen (") && !text.contains("serve --dev"), "{text}");
    }
    assert!(!directory.path().join("data").exists(), "nothing was made");
}

#[test]
fn development_mode_is_not_for_strangers() {
    let directory = tempfile::tempdir().unwrap();
    let (success, text) = run(directory.path(), &["serve", "--dev", "--listen", "0.0.0.0:0"]);
    assert!(!success && text.contains("--dev-allow-remote"), "{text}");
    let mut command = binary();
    command.current_dir(directory.path()).env("DESKPASS_PLATFORM__SECRET", "real").args(["serve", "--dev"]);
    let (success, text) = output_of(&finished(&mut command));
    assert!(!success && text.contains("platform.secret"), "{text}");
}

#[test]
fn unknown_keys_are_named_with_the_nearest_known_key() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("deskpass.toml"), "[session]\nlifetme = \"4h\"\n").unwrap();
    let (success, text) = run(directory.path(), &["config", "check", "--dev"]);
    assert!(!success && text.contains("session.lifetme") && text.contains("session.lifetime"), "{text}");
    std::fs::write(directory.path().join("deskpass.toml"), "[session]\nlifetime = \"4h\"\n").unwrap();
    let (success, text) = run(directory.path(), &["config", "show", "--dev"]);
    assert!(
        success
            && text.lines().any(|line| line.contains("session.lifetime")
                && line.contains("4h")
                && line.contains("deskpass.toml:2")),
        "{text}"
    );
}

#[test]
fn config_show_says_what_is_wrong_too() {
    let directory = tempfile::tempdir().unwrap();
    let (success, text) = run(directory.path(), &["config", "show"]);
    assert!(!success && text.contains("session.lifetime") && text.contains("public_url: it is not set"), "{text}");
    let (success, text) = run(directory.path(), &["config", "show", "--dev", "--config", "nowhere.toml"]);
    assert!(!success && text.contains("nowhere.toml"), "{text}");
    let (success, text) = run(directory.path(), &["config", "check", "--dev", "--listen", "0.0.0.0:80"]);
    assert!(!success && text.contains("--dev-allow-remote"), "{text}");
}

/// Runs `config check` with production settings and more.
pub(crate) fn checked(directory: &Path, more: &[(&str, &str)]) -> (bool, String) {
    let mut command = binary();
    for (key, value) in PRODUCTION.iter().chain(more) {
        command.env(format!("DESKPASS_{}", key.to_uppercase().replace('.', "__")), value);
    }
    output_of(&command.current_dir(directory).args(["config", "check"]).output().unwrap())
}

#[test]
fn config_check_looks_at_the_verification_file() {
    let directory = tempfile::tempdir().unwrap();
    let check = |name: &str| checked(directory.path(), &[("platform.verify_file", name)]);
    for name in ["WW_verify_a.txt", "other.txt"] {
        std::fs::write(directory.path().join(name), "a").unwrap();
    }
    let (success, text) = check("WW_verify_a.txt");
    assert!(success && text.contains("the settings are valid (production mode)"), "{text}");
    for (name, words) in [("WW_verify_gone.txt", "cannot be read"), ("other.txt", "the file must keep the name")] {
        let (success, text) = check(name);
        assert!(!success && text.contains(name) && text.contains(words) && !text.contains("good"), "{text}");
    }
}

#[test]
fn postgres_without_redis_does_not_start() {
    let directory = tempfile::tempdir().unwrap();
    for (key, value, other) in [
        ("DESKPASS_STORE__URL", "postgres://desk:canary-password@db/desk", "shared.url"),
        ("DESKPASS_SHARED__URL", "redis://:canary-password@redis", "store.url"),
    ] {
        for command in [&["serve", "--dev"][..], &["migrate", "--dev"], &["employee", "list", "--dev"]] {
            let output = finished(binary().current_dir(directory.path()).env(key, value).args(command));
            let (success, text) = output_of(&output);
            assert!(!success && text.contains("half a pair") && text.contains(other), "{text}");
            assert!(!text.contains("canary"), "{text}");
        }
    }
    assert!(!directory.path().join("data").exists(), "nothing was made");
}

#[test]
fn config_show_masks_the_passwords_in_addresses() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = binary();
    command.env("DESKPASS_STORE__URL", "postgres://desk:canary-password@db/desk");
    command.env("DESKPASS_SHARED__URL", "redis://:canary-password@redis");
    let (success, text) =
        output_of(&command.current_dir(directory.path()).args(["config", "show", "--dev"]).output().unwrap());
    assert!(success && !text.contains("canary"), "{text}");
    assert!(text.contains("postgres://desk:***@db/desk") && text.contains("redis://:***@redis"), "{text}");
}

#[test]
fn config_check_refuses_a_secret_with_a_blank() {
    let directory = tempfile::tempdir().unwrap();
    let (success, text) = checked(directory.path(), &[("platform.secret", "canary-corp-secret ")]);
    assert!(!success && text.contains("platform.secret") && text.contains("it contains a blank"), "{text}");
    assert!(!text.contains("canary"), "{text}");
}

#[test]
fn an_agent_id_may_be_a_number() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("deskpass.toml"), "[platform]\nagent_id = 1000002\n").unwrap();
    let (success, text) = checked(directory.path(), &[]);
    assert!(success, "{text}");
}

#[test]
fn open_bind_in_production_wants_to_know_its_proxies() {
    let directory = tempfile::tempdir().unwrap();
    let check = |more: &[(&str, &str)]| checked(directory.path(), more);
    let open = [("bind.mode", "open"), ("bind.networks", "10.1.0.0/16")];
    let (success, text) = check(&open);
    assert!(!success && text.contains("trusted_proxies"), "{text}");
    assert!(check(&[open[0], open[1], ("trusted_proxies", "10.9.9.9")]).0);
    let (success, text) = check(&[("trusted_proxies", "0.0.0.0/0")]);
    assert!(!success && text.contains("everyone"), "{text}");
}
