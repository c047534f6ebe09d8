//! Values that their types reject, and the messages about them.

use super::TestSources;

#[track_caller]
fn in_file(line: &str, what: &str, expected: &str) {
    let name = line.split(" = ").next().unwrap_or_default();
    let problems = TestSources::development().toml(line).problems();
    let told = format!("{name} (deskpass.toml:1): {what}; expected {expected}");
    assert_eq!(problems, told);
}

#[track_caller]
fn in_environment(name: &str, value: &str, what: &str) {
    let problems = TestSources::development().variable(name, value).problems();
    assert!(problems.contains(&format!("(environment {name}): {what}; expected ")), "{problems}");
}

const ADDRESS: &str = r#"an IP address and port such as "127.0.0.1:8080""#;
const NETWORKS: &str = "networks such as \"10.0.0.0/8\" or \"2001:db8::7\" \
                        (a list in the file, separated by commas in the environment)";
const LIFETIME: &str = r#"a duration from 1m to 30d such as "30m" or "1m30s""#;
const BODY: &str = r#"a size from 1KiB to 4MiB such as "64KiB" or 65536 (bytes)"#;
const CACHE: &str = "a whole number from 1000 to 100000000";
const CORP_ID: &str = r#"1 to 64 letters, digits, "_" or "-", such as "ww0123456789abcdef""#;
const AGENT_ID: &str = r#"the application's AgentId, a number such as "1000002""#;
const WEB: &str = r#"an http or https address such as "https://platform.example.com""#;
const ORIGIN: &str = r#"an origin without path such as "https://desk.example.com""#;
const RATE: &str = r#"a rate such as "30/min" or "2/s" (1 to 1000000 per s, min or h), or "off""#;
const KEY: &str = "32 random bytes in base64; make them with: openssl rand -base64 32";

#[test]
fn wrong_types_say_what_was_found_and_expected() {
    in_file("listen = 8080", "a whole number does not fit here", ADDRESS);
    in_file("data = true", "a boolean does not fit here", r#"a path such as "./data""#);
    in_file("default_language = [\"en\"]", "a list does not fit here", r#"one of "en", "zh""#);
    in_file("development.allow_remote = \"true\"", "a string does not fit here", "true or false");
    in_file("session.cache_entries = \"5000\"", "a string does not fit here", CACHE);
    in_file("session.cache_entries = 1.5", "a number with a fraction does not fit here", CACHE);
    in_file("session.lifetime = 3600", "a whole number does not fit here", LIFETIME);
    in_file("limits.bind = 20", "a whole number does not fit here", RATE);
    in_file("server.max_body = 2020-01-01", "a date or time does not fit here", BODY);
    in_file("bind.networks = \"10.0.0.0/8\"", "a string does not fit here", NETWORKS);
    in_file("bind.networks = [10]", "a whole number does not fit here", NETWORKS);
    in_file("encryption_key = 1", "a whole number does not fit here", KEY);
    in_file("session.cache_entries = 99999999999999999999", "so large a number does not fit here", CACHE);
}

#[test]
fn texts_that_do_not_parse_are_quoted() {
    in_file("listen = \"localhost:80\"", "\"localhost:80\" is not an IP address with a port", ADDRESS);
    in_file("data = \"\"", "\"\" is not a path", r#"a path such as "./data""#);
    in_file("log.format = \"JSON\"", "\"JSON\" is not one of the choices", r#"one of "text", "json""#);
    in_file("session.lifetime = \"8 lessons\"", "\"8 lessons\" is not a duration", LIFETIME);
    in_file("server.max_body = \"64KB\"", "\"64KB\" is not a size", BODY);
    in_file("limits.qrcode = \"30/m\"", "\"30/m\" is not a rate", RATE);
    in_file("limits.scan_status = \"0/s\"", "\"0/s\" is out of range", RATE);
    in_file("bind.networks = [\"10/8\"]", "\"10/8\" is not a network", NETWORKS);
    in_file("platform.corp_id = \"ww 1\"", "\"ww 1\" is not an id", CORP_ID);
    in_file("platform.agent_id = \"ten\"", "\"ten\" is not an AgentId", AGENT_ID);
    in_file("platform.agent_id = \"\"", "\"\" is not an AgentId", AGENT_ID);
    in_file("platform.api_url = \"ftp://a\"", "\"ftp://a\" is not such an address", WEB);
    in_file("public_url = \"https://a.b/c\"", "\"https://a.b/c\" is not an origin", ORIGIN);
    in_file("encryption_key = \"AAAA\"", "it holds 3 bytes instead of 32", KEY);
}

#[test]
fn values_out_of_range_are_refused() {
    in_file("session.lifetime = \"59s\"", "\"59s\" is out of range", LIFETIME);
    in_file("session.lifetime = \"31d\"", "\"31d\" is out of range", LIFETIME);
    in_file("session.cache_entries = 999", "999 is out of range", CACHE);
    in_file("session.cache_entries = -1", "-1 is out of range", CACHE);
    in_file("server.max_body = 12", "\"12\" is out of range", BODY);
    in_file("server.max_body = -1", "\"-1\" is not a size", BODY);
    in_file("platform.agent_id = -1", "\"-1\" is not an AgentId", AGENT_ID);
    in_file("platform.agent_id = true", "a boolean does not fit here", AGENT_ID);
    let long = "123456789012345678901";
    in_file(&format!("platform.agent_id = \"{long}\""), &format!("\"{long}\" is not an AgentId"), AGENT_ID);
}

#[test]
fn an_agent_id_may_be_written_with_or_without_quotes() {
    for written in ["1000002", "\"1000002\""] {
        let given = TestSources::development().toml(&format!("platform.agent_id = {written}"));
        assert_eq!(given.settings().platform.agent_id.as_deref(), Some("1000002"), "{written}");
    }
    let given = TestSources::development().variable("DESKPASS_PLATFORM__AGENT_ID", "18446744073709551615");
    assert_eq!(given.settings().platform.agent_id.as_deref(), Some("18446744073709551615"));
}

#[test]
fn the_environment_is_read_by_type() {
    in_environment("DESKPASS_SERVER__MAX_CONNECTIONS", "many", "\"many\" is not a whole number");
    in_environment("DESKPASS_SERVER__MAX_CONNECTIONS", "0", "0 is out of range");
    in_environment("DESKPASS_DEVELOPMENT__ALLOW_REMOTE", "1", "\"1\" is neither true nor false");
    in_environment("DESKPASS_TRUSTED_PROXIES", "10.0.0.0/8,,::1", "\"\" is not a network");
    in_environment("DESKPASS_LISTEN", "", "\"\" is not an IP address with a port");
    in_environment("DESKPASS_PLATFORM__CORP_ID", "企业", "\"企业\" is not an id");
}

#[test]
fn a_long_or_odd_value_stays_on_one_short_line() {
    let value = format!("a\nb{}", "密".repeat(500));
    let problems = TestSources::development().variable("DESKPASS_DATA", "x\0").problems();
    assert_eq!(problems.lines().count(), 1, "{problems}");
    let problems = TestSources::development().variable("DESKPASS_LOG__LEVEL", &value).problems();
    assert_eq!(problems.lines().count(), 1, "{problems}");
    assert!(problems.chars().count() < 250, "{problems}");
}

#[test]
fn syntax_errors_name_their_lines_and_nothing_follows_from_them() {
    let problems = TestSources::default().toml("listen = \n\ndata = \"x\n").problems();
    let lines: Vec<_> = problems.lines().collect();
    assert!(!lines.is_empty());
    for line in &lines {
        assert!(line.starts_with("deskpass.toml:") && line.contains("this is not TOML"), "{line}");
    }
    assert!(problems.contains("deskpass.toml:1") && problems.contains("deskpass.toml:3"), "{problems}");
}

#[test]
fn a_bad_value_that_is_overruled_does_not_matter() {
    let given = TestSources::development().toml("log.level = \"loud\"").variable("DESKPASS_LOG__LEVEL", "warn");
    assert_eq!(given.problems(), "");
}
