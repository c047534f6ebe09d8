//! The contents of a release: manual pages and completions, SBOM and checksums, manifests.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::{dist, file, output, repository};
use crate::harness::binary;

/// The names of a command's subcommands, as its help lists them.
fn subcommands(command: &[String]) -> Vec<String> {
    let help = output(binary().args(command).arg("-h"));
    let Some((_, list)) = help.split_once("\nCommands:\n") else { return Vec::new() };
    let lines = list.lines().take_while(|line| !line.is_empty()).filter_map(|line| line.strip_prefix("  "));
    let names = lines.filter(|line| !line.starts_with(' ')).filter_map(|line| line.split(' ').next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

/// The command and all below it, as the names of their manual pages.
fn pages(command: &[String]) -> BTreeSet<String> {
    let own = [&["deskpass".to_owned()][..], command].concat().join("-") + ".1";
    let below = subcommands(command).into_iter().flat_map(|name| pages(&[command, &[name]].concat()));
    below.chain([own]).collect()
}

#[test]
fn every_command_has_a_manual_page_and_completions() {
    let directory = tempfile::tempdir().unwrap();
    output(binary().arg("man").arg(directory.path()));
    let entries = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let written: BTreeSet<_> = entries.map(|name| name.into_string().unwrap()).collect();
    let expected = pages(&[]);
    assert!(expected.len() > 30 && expected.contains("deskpass-agent-reset-password.1"), "{expected:?}");
    assert_eq!(written, expected);
    for page in &written {
        let text = std::fs::read_to_string(directory.path().join(page)).unwrap();
        assert!(text.contains(".SH NAME") && text.contains(".SH SYNOPSIS"), "{page}: {text}");
    }
    for shell in ["bash", "zsh", "fish"] {
        let script = output(binary().args(["completions", shell]));
        assert!(script.contains("service-key") && script.contains("reset-password"), "{shell}: {script}");
    }
    let mut bash = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn().unwrap();
    let script = output(binary().args(["completions", "bash"]));
    bash.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    assert!(bash.wait().unwrap().success());
}

#[test]
fn the_version_names_the_commit() {
    let text = output(binary().arg("--version"));
    let (version, build) = text.trim_end().split_once(" (commit ").expect(&text);
    assert_eq!(version, concat!("deskpass ", env!("CARGO_PKG_VERSION")));
    let (commit, time) = build.strip_suffix(')').and_then(|build| build.split_once(", ")).expect(&text);
    let known = commit.len() == 12 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    assert!((known || commit == "unknown") && time.starts_with("20") && time.ends_with('Z'), "{text}");
}

#[test]
fn the_sbom_names_what_is_linked_and_the_licences_are_there() {
    let sbom: Value = serde_json::from_slice(&std::fs::read(file(".cdx.json")).unwrap()).unwrap();
    assert_eq!([&sbom["bomFormat"], &sbom["specVersion"]], ["CycloneDX", "1.5"]);
    assert_eq!(sbom["metadata"]["component"]["version"], env!("CARGO_PKG_VERSION"));
    let components = sbom["components"].as_array().unwrap();
    let names: BTreeSet<_> = components.iter().map(|part| part["name"].as_str().unwrap()).collect();
    assert!(["rustls", "tokio", "rusqlite", "deskpass-auth"].iter().all(|name| names.contains(name)), "{names:?}");
    assert!(!names.contains("proptest"), "it is used by tests alone");
    for part in components.iter().filter(|part| !part["name"].as_str().unwrap().starts_with("deskpass")) {
        let is_crate = part["purl"].as_str().unwrap().starts_with("pkg:cargo/");
        assert!(part["licenses"][0].is_object(), "{part}");
        assert_eq!(part["hashes"][0]["content"].is_string(), is_crate, "{part}");
    }
    let sqlite = components.iter().find(|part| part["name"] == "sqlite").expect("the C code inside crates is listed");
    assert_eq!(sqlite["version"], rusqlite::version());
    assert!(names.contains("mimalloc") && components.iter().any(|part| part["cpe"].is_string()), "{names:?}");
    let unpacked = tempfile::tempdir().unwrap();
    output(Command::new("tar").arg("-xf").arg(file(".tar.gz")).arg("-C").arg(unpacked.path()));
    let top = std::fs::read_dir(unpacked.path()).unwrap().next().unwrap().unwrap().path();
    let licences = std::fs::read_to_string(top.join("doc/THIRD-PARTY-LICENSES.txt")).unwrap();
    assert!(licences.contains("\nrustls ") && licences.contains("Permission is hereby granted"));
    let version = output(Command::new(top.join("bin/deskpass")).arg("--version"));
    assert_eq!(version, output(binary().arg("--version")));
    for file in ["LICENSE-MIT", "LICENSE-APACHE", "operations.md", "operations.zh.md"] {
        assert!(top.join("doc").join(file).exists(), "{file}");
    }
    assert!(top.join("deploy/systemd/deskpass.service").exists() && top.join("share/man/man1/deskpass.1").exists());
}

#[test]
fn the_image_is_named_for_every_engine() {
    let image = file(".oci.tar");
    let read = |name: &str| output(Command::new("tar").arg("-xOf").arg(&image).arg(name));
    let json = |name: &str| -> Value { serde_json::from_str(&read(name)).unwrap() };
    let tag = concat!("deskpass:", env!("CARGO_PKG_VERSION"));
    let (index, docker) = (json("index.json"), json("manifest.json"));
    let names = &index["manifests"][0]["annotations"];
    assert_eq!(names["io.containerd.image.name"], format!("docker.io/library/{tag}"));
    // What `docker load` reads, without the store of containerd.
    assert_eq!(docker[0]["RepoTags"][0], tag);
    assert_eq!(json(docker[0]["Config"].as_str().unwrap())["config"]["Entrypoint"][0], "/usr/bin/deskpass");
    let entries = output(Command::new("tar").arg("-tf").arg(&image));
    assert!(entries.lines().any(|entry| docker[0]["Layers"][0] == entry), "{docker} in {entries}");
}

#[test]
fn the_checksums_cover_every_file() {
    let checked = output(Command::new("sha256sum").args(["--check", "SHA256SUMS"]).current_dir(dist()));
    let checked: BTreeSet<_> =
        checked.lines().filter_map(|line| line.strip_suffix(": OK")).map(str::to_owned).collect();
    let listed =
        output(Command::new("find").arg(dist()).args(["-type", "f", "!", "-name", "SHA256SUMS", "-printf", "%P\\n"]));
    assert_eq!(checked, listed.lines().map(str::to_owned).collect::<BTreeSet<_>>());
    for part in ["Containerfile", "compose.yaml", "kubernetes/deployment.yaml"] {
        assert!(checked.contains(part), "{part}: {checked:?}");
    }
}

/// The names of settings in the environment that a text mentions.
fn variables(text: &str) -> BTreeSet<&str> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| word.starts_with("DESKPASS_") && !word.ends_with('_')).collect()
}

#[test]
fn the_manifests_are_valid_and_name_real_settings_and_this_version() {
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    let deploy = repository().join("deploy");
    let kubernetes = std::fs::read_dir(deploy.join("kubernetes")).unwrap().map(|entry| entry.unwrap().path());
    let manifests: Vec<_> = kubernetes.chain([deploy.join("compose.yaml")]).collect();
    // Made by `tools/openapi`, and used because it can parse YAML.
    let python = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("openapi/bin/python");
    let parse = "import sys, yaml\nfor name in sys.argv[1:]: assert isinstance(yaml.safe_load(open(name)), dict), name";
    output(Command::new(python).args(["-c", parse]).args(&manifests));
    let others =
        ["Containerfile", "tools/oci-image", "deploy/systemd/deskpass.service"].map(|name| repository().join(name));
    let example = output(binary().args(["config", "example"]));
    let known = variables(&example);
    for path in manifests.iter().chain(&others) {
        let text = read(path);
        let unknown: Vec<_> = variables(&text).into_iter().filter(|name| !known.contains(name)).collect();
        assert!(unknown.iter().all(|name| *name == "DESKPASS_COMMIT"), "{}: {unknown:?}", path.display());
        let tags =
            text.split("deskpass:").skip(1).filter(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()));
        for tag in tags {
            assert!(tag.starts_with(env!("CARGO_PKG_VERSION")), "{}: deskpass:{tag}", path.display());
        }
    }
}
