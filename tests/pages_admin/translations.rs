use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use deskpass_core::LoginMethod;

fn assets() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/assets")
}

#[test]
fn the_log_has_words_for_every_login_method() {
    let all = std::fs::read_dir(assets()).unwrap().map(|asset| std::fs::read_to_string(asset.unwrap().path()).unwrap());
    let words: String = all.collect();
    for method in LoginMethod::NAMES {
        assert!(words.contains(&format!("\n  method_{method}: [")), "{method}");
    }
}

/// All views add their texts to one dictionary: two views with different texts under one key would overwrite each other.
#[test]
fn no_two_modules_mean_different_things_by_a_word() {
    let mut known: BTreeMap<String, (String, String)> = BTreeMap::new();
    for asset in std::fs::read_dir(assets()).unwrap() {
        let path = asset.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // `api.js` has a dictionary of its own.
        if path.extension().is_none_or(|end| end != "js") || name == "api.js" {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        // A long text begins on the next line.
        let text = text.replace(": [\n    '", ": ['");
        for line in text.lines().filter_map(|line| line.strip_prefix("  ")) {
            let word = line.split_once(": ['").filter(|(key, _)| !key.contains([' ', '(', '[']));
            let Some((key, meaning)) = word else { continue };
            let earlier = known.insert(key.to_owned(), (name.clone(), meaning.to_owned()));
            let Some((other, before)) = earlier else { continue };
            // The pages for phones and for the documentation have dictionaries of their own.
            let apart = [&name, &other].iter().any(|name| name.starts_with("ask") || name.starts_with("docs"));
            assert!(apart || before == meaning, "{key} in {other} and in {name}");
        }
    }
}
