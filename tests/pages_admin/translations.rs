use std::collections::BTreeMap;

use deskpass_core::LoginMethod;

use crate::pages_modules::all_scripts;

#[test]
fn the_log_has_words_for_every_login_method() {
    let words: String = all_scripts().into_values().collect();
    for method in LoginMethod::NAMES {
        assert!(words.contains(&format!("\n  method_{method}: [")), "{method}");
    }
}

/// All views add their texts to one dictionary: two views with different texts under one key would overwrite each other.
#[test]
fn no_two_modules_mean_different_things_by_a_word() {
    let mut known: BTreeMap<String, (String, String)> = BTreeMap::new();
    for (path, text) in all_scripts() {
        let name = path.rsplit('/').next().unwrap().to_owned();
        // `api.js` has a dictionary of its own.
        if name == "api.js" {
            continue;
        }
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
