//! Unknown names of settings.

use super::TestSources;

#[track_caller]
fn file_says(text: &str, expected: &str) {
    assert_eq!(TestSources::development().toml(text).problems(), expected);
}

#[track_caller]
fn variable_says(name: &str, expected: &str) {
    let given = TestSources::development().variable(name, "1");
    assert_eq!(given.problems(), format!("environment {name}: {expected}"));
}

#[test]
fn a_key_in_the_file_is_answered_with_the_nearest() {
    file_says(
        "[session]\nlifetme = \"8h\"",
        "session.lifetme (deskpass.toml:2): there is no such key; the nearest known key is session.lifetime",
    );
    file_says(
        "[sesion]\nlifetime = \"8h\"",
        "sesion.lifetime (deskpass.toml:2): there is no such key; the nearest known key is session.lifetime",
    );
    file_says(
        "lifetime = \"8h\"",
        "lifetime (deskpass.toml:1): there is no such key; the nearest known key is session.lifetime",
    );
    file_says("[lisen]", "lisen (deskpass.toml:1): there is no such key; the nearest known key is listen");
}

#[test]
fn a_section_is_not_a_key_nor_a_key_a_section() {
    file_says(
        "session = \"8h\"",
        "session (deskpass.toml:1): session is a section, not a key; \
         its keys are session.lifetime, session.max_per_employee, session.cache_entries",
    );
    file_says(
        "[[bind]]\nmode = \"off\"",
        "bind (deskpass.toml:1): bind is a section, not a key; its keys are bind.mode, bind.networks",
    );
    file_says(
        "[listen]\nport = 1",
        "listen (deskpass.toml:1): a section does not fit here; \
         expected an IP address and port such as \"127.0.0.1:8080\"",
    );
    variable_says("DESKPASS_BIND", "bind is a section, not a key; its keys are bind.mode, bind.networks");
}

#[test]
fn a_variable_is_answered_with_the_nearest() {
    let meant = "there is no such setting; the nearest known one is DESKPASS_SESSION__LIFETIME; \
                 unset it if it is not for deskpass";
    variable_says("DESKPASS_SESSION_LIFETIME", meant);
    variable_says("DESKPASS_SESSION__LIFETIM", meant);
    variable_says("DESKPASS_LIFETIME", meant);
    variable_says(
        "DESKPASS_PLATFORM_SECRET_FILE",
        "there is no such setting; the nearest known one is DESKPASS_PLATFORM__SECRET_FILE; \
         unset it if it is not for deskpass",
    );
}

#[test]
fn a_variable_in_the_wrong_case_gets_the_right_name_suggested() {
    for (given, meant) in
        [("DESKPASS_listen", "DESKPASS_LISTEN"), ("DESKPASS_platform__secret_FILE", "DESKPASS_PLATFORM__SECRET_FILE")]
    {
        let problems = TestSources::development().variable(given, "1").problems();
        assert!(problems.contains(&format!("the nearest known one is {meant};")), "{problems}");
    }
}

#[test]
fn only_secrets_are_read_from_a_file() {
    variable_says("DESKPASS_LOG__LEVEL_FILE", "only secrets are read from a file; set DESKPASS_LOG__LEVEL itself");
}

#[test]
fn a_flag_of_no_key_is_refused_too() {
    let given = TestSources::development().flag("lisen", "127.0.0.1:1", "--lisen");
    let expected = "lisen (--lisen): there is no such key; the nearest known key is listen";
    assert_eq!(given.problems(), expected);
}

#[test]
fn variables_of_others_and_of_kubernetes_are_left_alone() {
    let given = TestSources::development()
        .variable("PATH", "/bin")
        .variable("DESKPASSPORT", "1")
        .variable("DESKPASS_SERVICE_HOST", "10.0.0.1")
        .variable("DESKPASS_SERVICE_PORT_HTTP", "80")
        .variable("DESKPASS_PORT", "tcp://10.0.0.1:80")
        .variable("DESKPASS_PORT_80_TCP_ADDR", "10.0.0.1")
        .variable("DESKPASS_REDIS_PORT_6379_TCP", "tcp://10.0.0.2:6379");
    assert_eq!(given.problems(), "");
    assert!(!TestSources::development().variable("DESKPASS_PORT", "80").problems().is_empty());
}

#[test]
fn odd_names_stay_on_one_line() {
    let given = TestSources::development().toml("\"a\\nb\" = 1\n\"密.\u{1f511}\" = 2");
    assert_eq!(given.problems().lines().count(), 2, "{}", given.problems());
}
