//! The clients of OpenID Connect in the settings file.

use deskpass_core::oidc::{ClientKind, OidcScope, OidcScopes, PkceRequirement, SigningAlgorithm};
use deskpass_core::{Digest, Role, Roles};
use sha2::{Digest as _, Sha256};

use super::TestSources;

const SECRET: &str = "dpe_Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MDEyMzQ1Njc4";

/// The first lines of a client, which needs nothing else.
const PUBLIC: &str =
    "[[oidc.clients]]\nid = \"wiki\"\nkind = \"public\"\nredirect_uris = [\"https://wiki.example.com/cb\"]\n";

fn confidential(more: &str) -> TestSources {
    let text = format!("[[oidc.clients]]\nid = \"wiki\"\nredirect_uris = [\"https://wiki.example.com/cb\"]\n{more}");
    TestSources::production().toml(&text)
}

fn digest(text: &str) -> Digest {
    Digest::from_bytes(Sha256::digest(text).into())
}

#[track_caller]
fn refused(given: &TestSources, expected: &str) {
    assert_eq!(given.problems(), expected);
}

#[test]
fn a_client_arrives_with_its_defaults_and_without_its_secret() {
    let given = confidential(&format!("secret = \"{SECRET}\""));
    let settings = given.settings();
    let [client] = &settings.oidc.clients[..] else { panic!("{:?}", settings.oidc.clients) };
    assert_eq!((client.id.as_str(), client.registration.name.as_str()), ("wiki", "wiki"));
    assert_eq!(client.secrets, [digest(SECRET)]);
    assert_eq!(client.registration.scopes, OidcScopes::all());
    assert_eq!(settings.secret_files, [std::path::PathBuf::from("deskpass.toml")]);
    let resolved = given.resolve();
    let output = format!("{resolved:?} {settings:?} {}", resolved.show());
    assert!(!output.contains(SECRET), "{output}");
    assert_eq!(
        given.shown("oidc.clients.wiki"),
        "oidc.clients.wiki = { name = \"wiki\", redirect_uris = [\"https://wiki.example.com/cb\"], secret = ******** } \
         # deskpass.toml:1"
    );
}

#[test]
fn every_key_of_a_client_arrives() {
    let text = "[[oidc.clients]]\nid = \"a\"\nname = \"知识库\"\nsecret_file = \"/run/a\"\n\
                redirect_uris = [\"https://a.example/cb\", \"https://a.example/cb2\"]\n\
                post_logout_redirect_uris = [\"https://a.example/\"]\n\
                backchannel_logout_uri = \"https://a.example/out\"\nscopes = [\"openid\", \"email\"]\n\
                roles = [\"agent\", \"admin\"]\ncorporations = [\"wwpartner\"]\ndepartment_groups = true\n\
                role_claims = \"active\"\nalgorithm = \"ES256\"\npkce = \"optional\"\nsso = \"off\"\nid_token_claims = false\n\
                [oidc.clients.groups]\nadmin = \"a-admins\"\n\
                [[oidc.clients]]\nid = \"b\"\nkind = \"native\"\nredirect_uris = [\"http://127.0.0.1/cb\"]\n";
    let given = TestSources::production().toml(text).file("/run/a", &format!("{SECRET}\n{SECRET}x\n"));
    let settings = given.settings();
    let [a, b] = &settings.oidc.clients[..] else { panic!("{:?}", settings.oidc.clients) };
    let client = &a.registration;
    assert_eq!((client.name.as_str(), client.redirect_uris.len()), ("知识库", 2));
    assert_eq!(client.scopes, OidcScopes::NONE.with(OidcScope::Openid).with(OidcScope::Email));
    assert_eq!(client.roles, Roles::NONE.with(Role::Agent).with(Role::Admin));
    assert_eq!(client.groups.get(&Role::Admin).map(String::as_str), Some("a-admins"));
    assert_eq!((client.algorithm, client.pkce), (SigningAlgorithm::Es256, PkceRequirement::Optional));
    assert!(client.department_groups && !client.id_token_claims);
    assert_eq!(a.secrets, [digest(SECRET), digest(&format!("{SECRET}x"))]);
    assert_eq!((b.registration.kind, b.secrets.len()), (ClientKind::Native, 0));
    assert_eq!(settings.secret_files, [std::path::PathBuf::from("/run/a")]);
}

#[test]
fn an_unknown_key_is_answered_with_the_nearest() {
    refused(
        &TestSources::production().toml(&format!("{PUBLIC}redirect_urls = []")),
        "oidc.clients.wiki.redirect_urls (deskpass.toml:5): there is no such key; the nearest known key is redirect_uris",
    );
}

#[test]
fn problems_name_their_line_and_never_the_secret() {
    refused(
        &confidential("kind = \"secret\""),
        "oidc.clients.wiki.kind (deskpass.toml:4): \"secret\" is not one of the choices; expected one of \"confidential\", \
         \"public\", \"native\"",
    );
    refused(
        &confidential("secret = \"hunter2\""),
        "oidc.clients.wiki.secret (deskpass.toml:4): it has fewer than 32 characters; expected 32 to 256 letters, digits, \
         \"_\" or \"-\"; make them with: openssl rand -hex 32",
    );
    refused(
        &confidential("secret_file = \"/gone\""),
        "oidc.clients.wiki.secret_file (deskpass.toml:4): the file cannot be read: entity not found; expected a path such \
         as \"/etc/deskpass/wiki.secret\"",
    );
    refused(
        &confidential(""),
        "oidc.clients.wiki (deskpass.toml:1): a confidential client needs a secret; set secret_file; or kind = \"public\", \
         if the client authenticates with PKCE alone",
    );
    let both = confidential(&format!("secret = \"{SECRET}\"\nsecret_file = \"/run/a\"")).file("/run/a", SECRET);
    assert!(both.problems().contains("the client has both secret and secret_file"), "{}", both.problems());
    let with_secret = TestSources::production().toml(&format!("{PUBLIC}secret = \"{SECRET}\""));
    assert!(with_secret.problems().contains("only a confidential client has a secret"), "{}", with_secret.problems());
    assert!(!with_secret.problems().contains(SECRET));
}

#[test]
fn what_cannot_be_registered_is_refused() {
    let plain = PUBLIC.replace("https://", "http://");
    refused(
        &TestSources::production().toml(&plain),
        "oidc.clients.wiki (deskpass.toml:1): redirect_uris: http://wiki.example.com/cb: must begin with https://, except \
         on 127.0.0.1, [::1] and localhost; `deskpass config example` shows how each key is written",
    );
    refused(&TestSources::development().toml(&plain), "");
    let twice = TestSources::production().toml(&format!("{PUBLIC}{PUBLIC}"));
    refused(
        &twice,
        "oidc.clients.wiki (deskpass.toml:5): another client has the same id; give each client an id of its own",
    );
    let nameless = PUBLIC.replace("id = \"wiki\"\n", "");
    refused(
        &TestSources::production().toml(&nameless),
        "oidc.clients[0] (deskpass.toml:1): it has no id; set id to what is entered in the client",
    );
    for wrong in ["oidc.clients = \"wiki\"", "[oidc.clients]\nid = \"wiki\"", "oidc.clients = [\"wiki\"]"] {
        let problems = TestSources::production().toml(wrong).problems();
        assert!(problems.contains("begin each client with [[oidc.clients]]"), "{problems}");
    }
    let single = TestSources::production().toml("[oidc.clients]\nid = \"wiki\"").problems();
    assert!(single.contains("this is a single table"), "{single}");
    let slip = TestSources::production().toml("[[oidc.client]]\nid = \"wiki\"").problems();
    assert!(slip.contains("the nearest known key is oidc.clients"), "{slip}");
    let variable = TestSources::production().variable("DESKPASS_OIDC__CLIENTS", "wiki").problems();
    assert!(variable.contains("only the settings file has clients"), "{variable}");
}

/// Earlier versions took any address for logouts: the service must start, and says that it tells nobody there.
#[test]
fn a_client_that_cannot_be_told_of_logouts_is_warned_of() {
    let listed = TestSources::production()
        .toml(&format!("{PUBLIC}backchannel_logout_uri = \"https://169.254.169.254/out\""))
        .settings();
    let warnings = listed.warnings();
    assert!(
        matches!(&*warnings, [only] if only.starts_with("oidc.clients.wiki.backchannel_logout_uri ")),
        "{warnings:?}"
    );
    refused(
        &TestSources::production().toml(&format!("{PUBLIC}backchannel_logout_uri = \"http://169.254.169.254/out\"")),
        "oidc.clients.wiki (deskpass.toml:1): backchannel_logout_uri: http://169.254.169.254/out: must begin with https://, \
         except on 127.0.0.1, [::1] and localhost; `deskpass config example` shows how each key is written",
    );
}

#[test]
fn problems_of_clients_are_known_in_chinese() {
    for given in [
        TestSources::production().toml(&PUBLIC.replace("https://", "http://")),
        TestSources::production().toml(&format!("{PUBLIC}{PUBLIC}")),
        TestSources::production().toml(&format!("{PUBLIC}roles = [\"boss\"]")),
        confidential(""),
        confidential("secret = \"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\""),
    ] {
        let Err(error) = given.check() else { panic!("accepted") };
        for problem in &error.problems {
            let chinese = problem.in_chinese();
            let (_, text) = chinese.split_once('）').unwrap_or_default();
            for part in text.trim_start_matches('：').splitn(2, '；') {
                assert!(!part.is_ascii(), "{chinese}");
            }
        }
    }
}

#[test]
fn a_change_of_clients_is_reloaded() {
    let running = TestSources::production().toml(PUBLIC).settings();
    let (merged, diff) = running.reload(TestSources::production().settings());
    assert_eq!(diff.reloaded, ["oidc.clients"]);
    assert!(merged.oidc.clients.is_empty());
    let (_, same) = running.reload(running.clone());
    assert!(same.reloaded.is_empty() && same.need_restart.is_empty(), "{same:?}");
}

#[test]
fn a_domain_of_addresses_has_a_dot() {
    let domain = |text: &str| TestSources::production().variable("DESKPASS_OIDC__EMAIL_DOMAIN", text);
    assert_eq!(domain("Example.COM").settings().oidc.email_domain.as_deref(), Some("example.com"));
    for wrong in ["", "example", "@example.com", "a..b", "-a.b", "例子.com"] {
        let problems = domain(wrong).problems();
        assert!(problems.contains("is not a domain; expected a domain such as \"example.com\""), "{problems}");
    }
}
