//! The rules of `deny.toml` about dependencies that need no database: bans, licences and sources. `tools/deny` checks them too,
//! with cargo-deny and for every platform; this test needs nothing but cargo.

use std::collections::HashSet;
use std::process::Command;

use serde_json::Value;

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// The packages that a build for this machine needs.
fn packages() -> Vec<Value> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["metadata", "--format-version", "1", "--locked", "--offline"]);
    command.args(["--filter-platform", &format!("{}-unknown-linux-gnu", std::env::consts::ARCH)]);
    let output = command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let Value::Array(packages) = serde_json::from_slice::<Value>(&output.stdout).unwrap()["packages"].take() else {
        panic!("cargo metadata lists no packages");
    };
    packages
}

fn rules() -> toml::Table {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../deny.toml")).unwrap().parse().unwrap()
}

/// Returns whether a licence expression can be satisfied with these licences. `OR` binds weaker than `AND`.
fn allowed(expression: &str, licences: &HashSet<&str>) -> bool {
    if let Some((before, inner, after)) = parenthesised(expression) {
        // Stands for its own result in what remains.
        let result = if allowed(inner, licences) { "yes" } else { "no" };
        return allowed(&format!("{before}{result}{after}"), licences);
    }
    let licence = |name: &str| name == "yes" || licences.contains(name);
    let any = expression.replace('/', " OR ");
    any.split(" OR ").any(|all| all.split(" AND ").all(|name| licence(name.trim())))
}

/// The innermost parentheses of an expression, with what stands before and behind them.
fn parenthesised(expression: &str) -> Option<(&str, &str, &str)> {
    let (start, after) = expression.split_once(')')?;
    let (before, inner) = start.rsplit_once('(')?;
    Some((before, inner, after))
}

#[test]
fn dependencies_keep_the_rules() {
    let rules = rules();
    let names = |list: &toml::Value| -> Vec<String> {
        let name = |entry: &toml::Value| entry.get("name").unwrap_or(entry).as_str().unwrap().to_owned();
        list.as_array().unwrap().iter().map(name).collect()
    };
    let (licences, banned) = (names(&rules["licenses"]["allow"]), names(&rules["bans"]["deny"]));
    let licences: HashSet<_> = licences.iter().map(String::as_str).collect();
    let packages = packages();
    assert!(packages.len() > 100, "only {}: this test looks at nothing", packages.len());
    for package in &packages {
        let name = package["name"].as_str().unwrap();
        assert!(!banned.iter().any(|banned| banned == name), "{name} is banned");
        if package["source"].is_null() {
            let foreign = package["dependencies"].as_array().unwrap().iter().filter(|other| other["path"].is_null());
            let any = foreign.filter(|other| other["req"] == "*").map(|other| &other["name"]).collect::<Vec<_>>();
            assert!(any.is_empty(), "{name} takes any version of {any:?}");
            continue;
        }
        assert_eq!(package["source"], CRATES_IO, "{name}");
        let licence = package["license"].as_str().unwrap_or_default();
        assert!(allowed(licence, &licences), "{name} has the licence {licence:?}");
    }
}

#[test]
fn a_licence_that_is_not_allowed_is_noticed() {
    let licences = HashSet::from(["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"]);
    for good in
        ["MIT", "GPL-3.0 OR MIT", "MIT/GPL-3.0", "(GPL-3.0 OR MIT) AND ISC", "Apache-2.0 WITH LLVM-exception OR X"]
    {
        assert!(allowed(good, &licences), "{good}");
    }
    for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT OR ISC) AND GPL-3.0", "Apache-2.0", "ISC AND (GPL-3.0 OR X)"] {
        assert!(!allowed(bad, &licences), "{bad}");
    }
}
