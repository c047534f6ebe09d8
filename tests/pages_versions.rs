//! Pages of this version and of the previous release during an upgrade: a page that was loaded from
//! one node takes its files from all of them, and a page that was open before takes the files that
//! it still needs from new ones.

use std::collections::{BTreeMap, BTreeSet};

use crate::harness::TestApp;
use crate::pages_modules::all_scripts;

/// Each file of the previous release with the names that it exported. A file is found by its name,
/// in whichever room it stands.
const PREVIOUS: &str = include_str!("fixtures/0.2.0/modules.txt");

/// Imports that a node of the previous release cannot serve, as (module, what it imports). The page
/// says that this view could not be loaded, and offers to load the page again.
const ONLY_AFTER_THE_UPGRADE: [(&str, &str); 5] = [
    ("caller.js", "kept-callers.js"),
    ("people.js", "unconfirmedTag"),
    ("person-page.js", "holderNames"),
    ("person-page.js", "unconfirmedTag"),
    ("wrong-role.js", "not-set-up.js"),
];

/// The names that each file exported.
fn previous() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    let split = |line: &'static str| {
        let mut words = line.split(' ');
        (words.next().unwrap(), words.collect())
    };
    PREVIOUS.lines().map(split).collect()
}

/// Our scripts by the names of their files.
fn ours() -> BTreeMap<String, String> {
    let name = |path: String| path.rsplit('/').next().unwrap().to_owned();
    all_scripts().into_iter().map(|(path, text)| (name(path), text)).collect()
}

/// The names in a list of imports or exports; of a renamed one the name in the other module, which
/// is the `part` of `a as b`.
fn listed(list: &str, part: usize) -> BTreeSet<String> {
    let names = list.split(',').map(|name| name.split(" as ").collect::<Vec<_>>());
    names.map(|name| name.get(part).or(name.first()).unwrap().trim().to_owned()).collect()
}

/// The names that a script exports.
fn exported(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for rest in text.lines().filter_map(|line| line.strip_prefix("export ")) {
        if let Some((list, _)) = rest.strip_prefix("{ ").and_then(|rest| rest.split_once(" }")) {
            names.extend(listed(list, 1));
            continue;
        }
        let declared = rest.trim_start_matches("async ").split_once(' ').unwrap().1;
        let end = declared.find(|letter: char| !letter.is_ascii_alphanumeric() && !"_$".contains(letter));
        names.insert(declared[..end.unwrap_or(declared.len())].to_owned());
    }
    names
}

/// What a script imports at once: the name of each file, and the names that it takes from it.
fn imported(text: &str) -> Vec<(String, BTreeSet<String>)> {
    let import = |line: &str| {
        let (list, path) = line.strip_prefix("import ")?.strip_suffix("';")?.rsplit_once('\'')?;
        let names = list.strip_prefix("{ ").and_then(|list| list.strip_suffix(" } from "));
        Some((path.rsplit('/').next()?.to_owned(), names.map(|names| listed(names, 0)).unwrap_or_default()))
    };
    text.lines().filter_map(import).collect()
}

#[tokio::test]
async fn an_open_page_of_the_previous_release_finds_its_files() {
    let app = TestApp::start().await;
    let mut client = app.client().await;
    for name in previous().into_keys() {
        let answer = client.get(&format!("/assets/000000000000/{name}"), &[]).await;
        assert_eq!((answer.status, answer.header("cache-control")), (200, Some("no-cache")), "{name}");
    }
}

#[test]
fn an_open_page_of_the_previous_release_finds_what_it_imports() {
    let ours = ours();
    for (name, names) in previous() {
        let Some(text) = ours.get(name) else { continue };
        let exported = exported(text);
        for wanted in names {
            assert!(exported.contains(wanted), "{name} does not export {wanted} any more");
        }
    }
}

#[test]
fn a_page_loads_beside_a_node_of_the_previous_release() {
    let previous = previous();
    let mut missing = BTreeSet::new();
    for (importer, text) in &ours() {
        // No module of the previous release imports a new one.
        for (file, names) in imported(text).into_iter().filter(|_| previous.contains_key(&**importer)) {
            match previous.get(&*file) {
                None => missing.extend([(importer.clone(), file)]),
                Some(known) => {
                    let unknown = names.into_iter().filter(|name| !known.contains(&**name));
                    missing.extend(unknown.map(|name| (importer.clone(), name)));
                }
            }
        }
    }
    let expected = ONLY_AFTER_THE_UPGRADE.map(|(importer, what)| (importer.to_owned(), what.to_owned()));
    assert_eq!(missing, expected.into());
}
