//! The modules of the pages: every import leads to a file, and none leads round in a circle,
//! neither of modules nor of rooms.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// What each module or room imports.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// Modules that the service writes itself, when it starts.
const MADE_BY_THE_SERVICE: &str = "audit-events.js";

fn is_script(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "js")
}

/// The scripts in a folder and below it, by their paths in `web/`.
fn scripts(folder: &Path, web: &Path, found: &mut BTreeMap<String, String>) {
    for path in folder.read_dir().unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            scripts(&path, web, found);
        } else if is_script(&path) {
            let name = path.strip_prefix(web).unwrap().to_str().unwrap().to_owned();
            found.insert(name, std::fs::read_to_string(&path).unwrap());
        }
    }
}

/// The scripts of all pages, by their paths in `web/`.
pub(crate) fn all_scripts() -> BTreeMap<String, String> {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web");
    let mut found = BTreeMap::new();
    scripts(&web, &web, &mut found);
    assert!(found.len() > 100, "this test looks at {}", found.len());
    found
}

/// The paths that a script imports, at once or later.
fn imported(text: &str) -> impl Iterator<Item = &str> {
    let after = ["from '", "import '", "import('"].into_iter().flat_map(|word| text.split(word).skip(1));
    let paths = after.filter_map(|rest| rest.split('\'').next());
    paths.filter(|path| path.starts_with('.') && is_script(Path::new(path)))
}

/// The path in `web/` of what a script imports.
fn target(importer: &str, path: &str) -> String {
    let mut target = PathBuf::from(importer).parent().unwrap().to_owned();
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir => assert!(target.pop(), "{importer}: {path} leaves web/"),
            Component::CurDir => {}
            part => target.push(part),
        }
    }
    target.to_str().unwrap().to_owned()
}

fn imports(scripts: &BTreeMap<String, String>) -> Imports {
    let of = |name: &String, text: &String| imported(text).map(|path| target(name, path)).collect();
    scripts.iter().map(|(name, text)| (name.clone(), of(name, text))).collect()
}

/// The folder of a module.
fn room(module: &str) -> String {
    module.rsplit_once('/').map_or("", |(room, _)| room).to_owned()
}

/// What each room imports from others.
fn between_rooms(modules: &Imports) -> Imports {
    let mut rooms = Imports::new();
    for (module, targets) in modules {
        let others = targets.iter().map(|target| room(target)).filter(|other| *other != room(module));
        rooms.entry(room(module)).or_default().extend(others);
    }
    rooms
}

/// What is in a circle, or between two: the rest imports nothing of it, or is imported by nothing
/// of it.
fn circles(mut imports: Imports) -> Imports {
    loop {
        let importers: BTreeSet<String> = imports.keys().cloned().collect();
        for targets in imports.values_mut() {
            targets.retain(|target| importers.contains(target));
        }
        let imported: BTreeSet<String> = imports.values().flatten().cloned().collect();
        imports.retain(|name, targets| !targets.is_empty() && imported.contains(name));
        if imports.len() == importers.len() {
            return imports;
        }
    }
}

#[test]
fn every_import_leads_to_a_module() {
    let scripts = all_scripts();
    let made_by_the_service = |target: &str| target.rsplit('/').next() == Some(MADE_BY_THE_SERVICE);
    for (name, targets) in imports(&scripts) {
        for target in targets {
            assert!(scripts.contains_key(&target) || made_by_the_service(&target), "{name} imports {target}");
        }
    }
}

#[test]
fn no_module_and_no_room_imports_itself_through_others() {
    let modules = imports(&all_scripts());
    assert_eq!(circles(between_rooms(&modules)), Imports::new(), "rooms that need each other");
    assert_eq!(circles(modules), Imports::new(), "modules that need each other");
}

#[test]
fn a_circle_is_noticed_however_it_is_imported() {
    let scripts = [
        ("a/one.js", "import { two } from '../b/two.js';"),
        ("b/two.js", "export { three } from './three.js';"),
        ("b/three.js", "const { one } = await import('../a/one.js');"),
        ("a/apart.js", "import './one.js';\nimport './none.js';"),
    ];
    let scripts = scripts.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
    let modules = imports(&scripts);
    assert!(modules["a/apart.js"].contains("a/none.js"));
    assert_eq!(circles(between_rooms(&modules)).into_keys().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(circles(modules).into_keys().collect::<Vec<_>>(), ["a/one.js", "b/three.js", "b/two.js"]);
}
