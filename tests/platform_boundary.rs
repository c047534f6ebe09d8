//! Nothing outside the crates of the platforms knows a platform: neither its hosts, parameters and error codes nor, in texts for
//! people, its name. What is written once then fits every platform, and a new one is a new crate.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The clients of the platforms, each a crate.
const CLIENTS: [&str; 3] = ["wecom", "dingtalk", "feishu"];

/// Addresses of the platforms.
const HOSTS: [&str; 5] = ["weixin.qq.com", "dingtalk.com", "feishu.cn", "larksuite.com", "alicdn.com"];

/// Parameters, headers and paths of the platforms' APIs.
const PARAMETERS: [&str; 15] = [
    "corpsecret",
    "getuserinfo",
    "snsapi",
    "wechat_redirect",
    "appsecret",
    "authCode",
    "requestAuthCode",
    "topapi",
    "x-acs-dingtalk-access-token",
    "app_access_token",
    "open-apis",
    "tenant_access_token",
    "X-Lark-Request-Nonce",
    "X-Lark-Request-Timestamp",
    "X-Lark-Signature",
];

/// The platforms' names for people.
const NAMES: [&str; 6] = ["WeCom", "DingTalk", "Feishu", "企业微信", "钉钉", "飞书"];

/// The types of sources.
const TYPES: [&str; 8] = ["rs", "sql", "txt", "html", "css", "js", "ts", "svg"];

/// Common passwords, among them the names of messengers.
const COMMON_PASSWORDS: &str = "crates/core/src/password/common.txt";

/// The types that an integer literal may name.
const INTEGERS: [&str; 8] = ["", "u8", "u16", "u32", "u64", "i32", "i64", "usize"];

/// Whether this source makes the clients, and so knows which there are.
fn makes_clients(path: &str) -> bool {
    path == "crates/service/src/app/platform.rs" || path.starts_with("crates/service/src/app/platform/")
}

/// Whether this line may name platforms.
fn may_name(path: &str, line: &str) -> bool {
    match path {
        // The names themselves; and browsers, by which people recognise their devices.
        "crates/platform/src/kind.rs" | "crates/service/src/http/request/user_agent.rs" => true,
        "web/components/desk-words.js" => line.starts_with("  program_"),
        // The documentation of a setting says what it is called in each platform's console.
        path if path.starts_with("crates/service/src/config/settings") => line.trim_start().starts_with("///"),
        path => makes_clients(path),
    }
}

/// The value of an integer literal, as decimal digits.
fn integer(word: &str) -> Option<String> {
    let word: String = word.chars().filter(|letter| *letter != '_').collect();
    let end = word.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(word.len());
    let (digits, kind) = word.split_at(end);
    INTEGERS.contains(&kind).then(|| digits.to_owned())
}

/// The integers of five or more digits in a line; smaller ones mean other things, too.
fn large_integers(line: &str) -> impl Iterator<Item = String> {
    let words = line.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter_map(integer).filter(|digits| digits.len() >= 5)
}

/// What a line knows of platforms and must not.
fn faults(path: &str, line: &str, error_codes: &BTreeSet<String>) -> Vec<String> {
    let contained = |words: &[&str]| -> Vec<String> {
        words.iter().filter(|word| line.contains(**word)).map(|word| (*word).to_owned()).collect()
    };
    let mut faults = [contained(&HOSTS), contained(&PARAMETERS)].concat();
    faults.extend(large_integers(line).filter(|number| error_codes.contains(number)));
    if !makes_clients(path) {
        faults
            .extend(CLIENTS.map(|client| format!("deskpass_{client}")).into_iter().filter(|name| line.contains(name)));
    }
    // A variant of an enum is no name for people.
    let line = line.replace("::Feishu", "");
    if !may_name(path, &line) {
        faults.extend(NAMES.iter().filter(|name| line.contains(**name)).map(|name| (*name).to_owned()));
    }
    faults
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The sources below a directory: the path of each below the root, and its text.
fn sources(directory: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let Ok(entries) = directory.read_dir() else { return found };
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|end| TYPES.iter().any(|known| end == *known)) {
            let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
            found.push((name, std::fs::read_to_string(&path).unwrap()));
        }
    }
    found
}

/// The sources that must not know a platform.
fn neutral_sources() -> Vec<(String, String)> {
    let crates = root().join("crates").read_dir().unwrap().map(|entry| entry.unwrap().path());
    let neutral = crates.filter(|path| {
        let name = path.file_name().unwrap();
        name != "simulator" && CLIENTS.iter().all(|client| name != *client)
    });
    let mut all: Vec<_> =
        neutral.flat_map(|path| [path.join("src"), path.join("migrations")]).flat_map(|path| sources(&path)).collect();
    all.extend(sources(&root().join("web")));
    all.retain(|(path, _)| path != COMMON_PASSWORDS);
    all
}

/// The error codes in the tables of the clients.
fn error_codes() -> BTreeSet<String> {
    let clients = CLIENTS.iter().map(|client| root().join("crates").join(client).join("src"));
    let tables = clients.flat_map(|directory| sources(&directory)).filter(|(path, _)| path.ends_with("/table.rs"));
    tables.flat_map(|(_, text)| text.lines().flat_map(large_integers).collect::<Vec<_>>()).collect()
}

#[test]
fn only_the_crates_of_the_platforms_know_a_platform() {
    let (sources, codes) = (neutral_sources(), error_codes());
    assert!(sources.len() > 400 && codes.len() > 50, "this test looks at {} and {}", sources.len(), codes.len());
    let mut all = Vec::new();
    for (path, text) in &sources {
        for (number, line) in (1..).zip(text.lines()) {
            all.extend(faults(path, line, &codes).into_iter().map(|fault| format!("{path}:{number}: {fault}")));
        }
    }
    assert!(
        all.is_empty(),
        "use {{platform}} in texts, and the crate of the platform for the rest:\n{}",
        all.join("\n")
    );
}

#[test]
fn what_a_source_knows_of_a_platform_is_noticed() {
    let codes = BTreeSet::from(["40001".to_owned()]);
    let (source, settings) = ("crates/auth/src/a.rs", "crates/service/src/config/settings/platform.rs");
    let (factory, words) = ("crates/service/src/app/platform/clients.rs", "web/components/desk-words.js");
    for (path, line, found) in [
        (source, "let api = \"https://api.dingtalk.com/\";", "dingtalk.com"),
        (source, "query.get(\"authCode\")", "authCode"),
        (source, "use deskpass_wecom::Error;", "deskpass_wecom"),
        (source, "    zh(\"请通过企业微信登录\"),", "企业微信"),
        (source, "PlatformKind::Feishu => \"Feishu\"", "Feishu"),
        (source, "if code == 40_001_i64 {", "40001"),
        (source, "(errcode 40001)", "40001"),
        (settings, "production = \"https://open.feishu.cn\"", "feishu.cn"),
        (settings, "example = \"WeCom\"", "WeCom"),
        (factory, "errcode == 40001", "40001"),
        (words, "  unknown: ['WeCom', '未知'],", "WeCom"),
    ] {
        assert_eq!(faults(path, line, &codes), [found], "{line}");
    }
    for (path, line) in [
        (source, "PlatformKind::Feishu | PlatformKind::Wecom => name(\"feishu\")"),
        (source, "let limit = 40_002; let id = 0x40001; let a40001 = 400_010;"),
        (source, "zh(\"请通过{{platform}}登录\"),"),
        (settings, "    /// The id of the application: AgentId (WeCom)."),
        (factory, "use deskpass_feishu::Feishu; // Feishu"),
        (words, "  program_WeCom: ['WeCom', '企业微信'],"),
        ("crates/platform/src/kind.rs", "Self::Wecom => [\"WeCom\", \"企业微信\"],"),
    ] {
        assert_eq!(faults(path, line, &codes), [""; 0], "{line}");
    }
}

/// What a new platform touches besides its own crate and its simulator: the enum itself (`crates/platform/src/kind.rs`), the settings,
/// and these. Everything else asks the client.
const KNOWS_KINDS: [&str; 10] = [
    "crates/service/src/app/installation.rs",
    "crates/service/src/app/platform.rs",
    "crates/service/src/app/platform/addresses.rs",
    "crates/service/src/app/platform/verify_file.rs",
    "crates/service/src/cli/doctor/events.rs",
    "crates/service/src/config/event_rules.rs",
    "crates/service/src/config/platform_keys.rs",
    "crates/service/src/config/rules.rs",
    "crates/service/src/config/simulated.rs",
    "crates/service/src/site/platform.rs",
];

#[test]
fn only_a_few_sources_tell_platforms_apart() {
    let variants = ["PlatformKind::Wecom", "PlatformKind::Dingtalk", "PlatformKind::Feishu"];
    let tells = |text: &str| {
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        variants.iter().any(|variant| code.contains(variant))
    };
    let is_test = |path: &str| path.contains("/tests/") || path.ends_with("/tests.rs");
    let sources = neutral_sources();
    let found: BTreeSet<_> = sources.iter().filter(|(path, text)| !is_test(path) && tells(text)).collect();
    let found: Vec<_> = found.into_iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(found, KNOWS_KINDS, "let the client of the platform answer, or say in ARCHITECTURE.md why not");
}
