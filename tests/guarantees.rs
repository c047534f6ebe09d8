//! Each promise in `docs/guarantees.md` names its tests, and they are there.

use crate::harness::root;

/// The rows of the tables of promises.
fn promises() -> Vec<String> {
    let page = std::fs::read_to_string(root().join("docs/guarantees.md")).unwrap();
    let (_, promised) = page.split_once("\n## What is promised\n").unwrap();
    let (promised, _) = promised.split_once("\n## What is not promised\n").unwrap();
    let rows = promised.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| promise |"));
    rows.map(str::to_owned).collect()
}

/// The tests that a row names: files, folders, and `NAME*` for several files.
fn named(row: &str) -> Vec<&str> {
    let quoted = row.split('`').skip(1).step_by(2);
    quoted.filter(|text| text.starts_with("tests/") || text.starts_with("crates/")).collect()
}

#[test]
fn each_promise_names_its_tests() {
    let promises = promises();
    assert!(promises.len() >= 46, "{}", promises.len());
    for row in promises {
        let named = named(&row);
        assert!(!named.is_empty(), "no test is named: {row}");
        for name in named {
            let path = name.split('*').next().unwrap().trim_end_matches(".rs");
            let there = root().join(path).exists() || root().join(format!("{path}.rs")).exists();
            assert!(there, "{name} is missing: {row}");
        }
    }
}
