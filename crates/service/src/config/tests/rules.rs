//! Combinations that the service refuses to start with.

use super::TestSources;

#[track_caller]
fn refused(given: &TestSources, expected: &str) {
    assert_eq!(given.problems(), expected);
}

#[test]
fn production_names_everything_that_it_lacks() {
    refused(
        &TestSources::default(),
        "public_url: it is not set, and production needs it; set it in the settings file or as \
         DESKPASS_PUBLIC_URL; expected an origin without path such as \"https://desk.example.com\"\n\
         encryption_key: it is not set, and production needs it; set it in the settings file or as \
         DESKPASS_ENCRYPTION_KEY or DESKPASS_ENCRYPTION_KEY_FILE; expected 32 random bytes in base64; \
         make them with: openssl rand -base64 32\n\
         platform.corp_id: it is not set, and production needs it; set it in the settings file or as \
         DESKPASS_PLATFORM__CORP_ID; expected 1 to 64 letters, digits, \"_\" or \"-\", such as \
         \"ww0123456789abcdef\"\n\
         platform.secret: it is not set, and production needs it; set it in the settings file or as \
         DESKPASS_PLATFORM__SECRET or DESKPASS_PLATFORM__SECRET_FILE; expected a string on one line without blanks",
    );
}

#[test]
fn production_with_all_that_it_requires_starts() {
    assert!(!TestSources::production().settings().development.enabled);
}

#[test]
fn postgres_without_redis_or_the_reverse_is_refused() {
    for given in [TestSources::development(), TestSources::production()] {
        let given = given.toml("store.url = \"postgres://desk:hunter2@db/desk\"");
        refused(
            &given,
            "store.url (deskpass.toml:1): PostgreSQL without Redis is half a pair: nodes that share their data also share \
             sign-ins under way and limits; set shared.url too, or leave out both for the embedded database of one node",
        );
        refused(&given.variable("DESKPASS_SHARED__URL", "redis://redis"), "");
    }
    refused(
        &TestSources::production().variable("DESKPASS_SHARED__URL", "redis://redis"),
        "shared.url (environment DESKPASS_SHARED__URL): Redis without PostgreSQL is half a pair: in Redis is only what may \
         be lost, and the embedded database belongs to one node; set store.url too, or leave out both",
    );
}

#[test]
fn a_pair_with_a_bad_half_is_one_problem() {
    let given = TestSources::development().toml("store.url = \"postgres://\"\nshared.url = \"redis://redis\"");
    let problems = given.problems();
    assert!(problems.starts_with("store.url (deskpass.toml:1): it names no host; expected an address"), "{problems}");
    assert_eq!(problems.lines().count(), 1, "{problems}");
}

#[test]
fn development_refuses_a_real_secret() {
    let expected = "platform.secret (environment DESKPASS_PLATFORM__SECRET): development mode lets \
                    anyone sign in, so it must not hold a real secret; remove the secret, or leave \
                    development mode (no --dev, development.enabled = false)";
    let given = TestSources::development().variable("DESKPASS_PLATFORM__SECRET", "real");
    refused(&given, expected);
}

#[test]
fn development_refuses_strangers() {
    let expected = "listen (--listen): development mode lets anyone who reaches 0.0.0.0:8080 sign in \
                    as anyone; listen on 127.0.0.1, or accept that with --dev-allow-remote \
                    (development.allow_remote = true)";
    let given = TestSources::development().flag("listen", "0.0.0.0:8080", "--listen");
    refused(&given, expected);
    let allowed = given.flag("development.allow_remote", "true", "--dev-allow-remote");
    refused(&allowed, "");
    for local in ["127.0.0.1:0", "127.9.9.9:1", "[::1]:8080", "[::ffff:127.0.0.1]:8080"] {
        refused(&TestSources::development().flag("listen", local, "--listen"), "");
    }
    let by_name = TestSources::development().flag("listen", "[::]:8080", "--listen");
    assert!(by_name.problems().starts_with("listen (--listen)"));
}

#[test]
fn production_may_listen_anywhere() {
    refused(&TestSources::production().flag("listen", "0.0.0.0:80", "--listen"), "");
}

#[test]
fn remote_development_without_development_is_refused() {
    let given = TestSources::production().flag("development.allow_remote", "true", "--dev-allow-remote");
    refused(
        &given,
        "development.allow_remote (--dev-allow-remote): it means nothing outside development mode; \
         remove it, or turn development mode on with --dev (development.enabled = true)",
    );
}

#[test]
fn production_refuses_an_unencrypted_public_url() {
    let with_url = |url| TestSources::production().flag("public_url", url, "--public-url");
    refused(
        &with_url("http://desk.example.com"),
        "public_url (--public-url): http://desk.example.com would carry tokens and cookies \
         unencrypted; use https; http is only for localhost, 127.0.0.1 and [::1]",
    );
    for local in ["http://localhost:8080", "http://127.0.0.1", "http://[::1]:8080"] {
        refused(&with_url(local), "");
    }
    let development = TestSources::development().toml("public_url = \"http://desk.example.com\"");
    refused(&development, "");
}

#[test]
fn open_bind_outside_development_needs_networks() {
    let given = TestSources::production().toml("bind.mode = \"open\"\ntrusted_proxies = []");
    refused(
        &given,
        "bind.mode (deskpass.toml:1): open lets anyone sign in as any employee; \
         list who may in bind.networks, or use bind.mode = \"proof\"",
    );
    refused(&given.variable("DESKPASS_BIND__NETWORKS", "10.1.0.0/16"), "");
    refused(&TestSources::development().toml("bind.mode = \"open\""), "");
}

#[test]
fn open_bind_outside_development_needs_to_know_its_proxies() {
    let given = TestSources::production().toml("bind.mode = \"open\"\nbind.networks = [\"10.1.0.0/16\"]");
    refused(
        &given,
        "bind.mode (deskpass.toml:1): open goes by addresses, and behind a proxy that is not listed every client has \
         the address of the proxy; list your proxies, and only those, in trusted_proxies ([] when there are none)",
    );
    refused(&given.variable("DESKPASS_TRUSTED_PROXIES", "10.9.9.9"), "");
}

#[test]
fn trusted_proxies_must_not_be_everyone() {
    refused(
        &TestSources::production().variable("DESKPASS_TRUSTED_PROXIES", "10.0.0.0/8,::/0"),
        "trusted_proxies (environment DESKPASS_TRUSTED_PROXIES): ::/0 is everyone, who could then claim any address; \
         list only your proxies",
    );
}

#[test]
fn bind_networks_must_not_be_everyone() {
    for everyone in ["0.0.0.0/0", "::/0"] {
        let list = format!("10.0.0.0/8,{everyone}");
        let given = TestSources::production().variable("DESKPASS_BIND__NETWORKS", &list);
        refused(
            &given,
            &format!(
                "bind.networks (environment DESKPASS_BIND__NETWORKS): {everyone} is everyone; \
                 list only the networks whose people may bind"
            ),
        );
    }
    let mapped = TestSources::development().toml("bind.networks = [\"::ffff:0.0.0.0/96\"]");
    assert!(mapped.problems().contains("0.0.0.0/0 is everyone"));
}

#[test]
fn all_problems_are_told_at_once() {
    let problems = TestSources::default()
        .toml("lisen = 1\nlog.level = \"loud\"\nbind.mode = \"open\"")
        .variable("DESKPASS_NONE", "1")
        .problems();
    let subjects: Vec<_> =
        problems.lines().map(|line| line.split([':', '(']).next().unwrap_or_default().trim()).collect();
    let expected = [
        "lisen",
        "environment DESKPASS_NONE",
        "log.level",
        "public_url",
        "encryption_key",
        "platform.corp_id",
        "platform.secret",
        "bind.mode",
        "bind.mode",
    ];
    assert_eq!(subjects, expected);
}

#[test]
fn an_unreadable_profile_is_one_problem_not_five() {
    let given = TestSources::default().variable("DESKPASS_DEVELOPMENT__ENABLED", "yes");
    refused(
        &given,
        "development.enabled (environment DESKPASS_DEVELOPMENT__ENABLED): \
         \"yes\" is neither true nor false; expected true or false",
    );
}

#[test]
fn replies_need_a_secret_and_encryption() {
    let (url, secret) = ("DESKPASS_MESSAGES__REPLY_URL", "DESKPASS_MESSAGES__REPLY_SECRET");
    let long = "k".repeat(32);
    for given in [TestSources::development, TestSources::production] {
        refused(
            &given().variable(url, "https://desk.example.com/replies"),
            "messages.reply_url (environment DESKPASS_MESSAGES__REPLY_URL): without messages.reply_secret the back end \
             could not know who sends the replies; set messages.reply_secret too; make one with: openssl rand -hex 32",
        );
        refused(
            &given().variable(secret, &long),
            "messages.reply_secret (environment DESKPASS_MESSAGES__REPLY_SECRET): it signs replies, and no back end \
             receives them; set messages.reply_url too, or remove it",
        );
        refused(
            &given().variable(secret, &long).variable(url, "http://desk.example.com/replies"),
            "messages.reply_url (environment DESKPASS_MESSAGES__REPLY_URL): what employees reply would travel \
             unencrypted; use https; http is only for localhost, 127.0.0.1 and [::1]",
        );
        for safe in
            ["https://desk.example.com/replies", "http://localhost:9000/r", "http://127.0.0.1:9000", "http://[::1]:1"]
        {
            refused(&given().variable(secret, &long).variable(url, safe), "");
        }
        let short = given().variable(secret, "short").variable(url, "https://desk.example.com/replies").problems();
        assert!(short.contains("it has fewer than 32 characters") && !short.contains("short;"), "{short}");
    }
}
