//! The sessions of the tutorial, run with bash and curl exactly as written; and the README's size and pictures.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::harness::Process;

const TUTORIAL: &str = include_str!("../docs/tutorial.md");

/// The largest README, in bytes: short enough for newcomers to read to the end.
const MAX_README: usize = 9_000;

/// Every console block of the tutorial, with the heading above it.
fn sessions() -> Vec<(&'static str, &'static str)> {
    let mut sessions = Vec::new();
    for section in TUTORIAL.split("\n## ").skip(1) {
        let heading = section.lines().next().unwrap();
        let blocks = section.split("```console\n").skip(1);
        sessions.extend(blocks.map(|block| (heading, block.split_once("\n```").expect("the end of the block").0)));
    }
    assert_eq!(sessions.len(), TUTORIAL.matches("```console").count(), "every console block is below a heading");
    assert!(!sessions.is_empty());
    sessions
}

/// A command, and the lines that the tutorial shows below it.
#[derive(Debug)]
struct Step<'a> {
    command: &'a str,
    shown: Vec<&'a str>,
}

/// The commands of a session. Empty lines only separate them.
fn steps(session: &str) -> Vec<Step<'_>> {
    let mut steps: Vec<Step<'_>> = Vec::new();
    for line in session.lines().filter(|line| !line.is_empty()) {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step { command, shown: Vec::new() });
        } else {
            steps.last_mut().expect("a session begins with a command").shown.push(line);
        }
    }
    assert!(steps.iter().any(|step| !step.shown.is_empty()), "a session shows something: {session}");
    steps
}

/// The search path of bash: `deskpass` is the program under test.
pub(crate) fn search_path() -> OsString {
    let program = Path::new(env!("CARGO_BIN_EXE_deskpass")).parent().unwrap();
    let others = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(std::iter::once(program.to_owned()).chain(std::env::split_paths(&others))).unwrap()
}

/// Separates the outputs of two commands; no response contains it.
const SEPARATOR: char = '\u{1e}';

/// Runs all commands in one bash; returns all output, with separators in between.
fn bash(steps: &[Step<'_>], directory: &Path) -> String {
    let commands: Vec<_> = steps.iter().map(|step| step.command).collect();
    let script = format!("exec 2>&1\nset -euo pipefail\n{}\n", commands.join("\nprintf '\\036'\n"));
    let mut bash = Command::new("bash");
    // Without the environment of the test run: no proxies, no settings of curl or of the service.
    bash.env_clear().env("PATH", search_path()).env("HOME", directory);
    bash.arg("-c").arg(script).current_dir(directory).stdin(Stdio::null());
    let output = bash.output().expect("bash runs");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}: {text}", output.status);
    text
}

/// Whether a line matches the one in the tutorial, where `…` stands for anything.
fn fits(shown: &str, line: &str) -> bool {
    let Some((start, others)) = shown.split_once('…') else { return shown == line };
    let Some(rest) = line.strip_prefix(start) else { return false };
    rest.char_indices().map(|(at, _)| at).chain([rest.len()]).any(|at| fits(others, &rest[at..]))
}

/// Runs a session against a service, whose data is in `data` below the directory, and compares every line.
fn types(heading: &str, session: &str, process: &Process, directory: &Path) {
    let address = &process.address;
    let session = session.replace("localhost:8080", address).replace("127.0.0.1:8080", address);
    let steps = steps(&session);
    let output = bash(&steps, directory);
    let printed: Vec<_> = output.split(SEPARATOR).collect();
    assert_eq!(printed.len(), steps.len(), "{heading}: {output}");
    for (step, printed) in steps.iter().zip(printed) {
        let lines: Vec<_> = printed.lines().filter(|line| !line.is_empty()).collect();
        let same = step.shown.iter().zip(&lines).all(|(shown, line)| fits(shown, line));
        assert!(same && lines.len() == step.shown.len(), "{heading}: {step:#?}\nprinted {lines:#?}");
    }
}

#[test]
fn every_session_of_the_tutorial_works_on_a_fresh_service() {
    for (heading, session) in sessions() {
        let directory = tempfile::tempdir().unwrap();
        let process = Process::serve(&directory.path().join("data"), &[]);
        types(heading, session, &process, directory.path());
    }
}

#[test]
fn the_sessions_of_the_tutorial_work_one_after_another() {
    let directory = tempfile::tempdir().unwrap();
    let process = Process::serve(&directory.path().join("data"), &[]);
    for (heading, session) in sessions() {
        types(heading, session, &process, directory.path());
    }
}

#[test]
fn an_ellipsis_matches_anything_and_nothing_else_does() {
    for (shown, line) in [("a", "a"), ("…", ""), ("a…", "a"), ("a…c…e", "a…ccdee"), ("企…信", "企业微信")]
    {
        assert!(fits(shown, line), "{shown} {line}");
    }
    for (shown, line) in [("a", "b"), ("a", "ab"), ("a…c", "abcd"), ("a…c", "xabc"), ("a…c…e", "ace…"), ("…b", "")]
    {
        assert!(!fits(shown, line), "{shown} {line}");
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn readme() -> String {
    std::fs::read_to_string(root().join("README.md")).unwrap()
}

#[test]
fn the_readme_is_short() {
    let size = readme().len();
    assert!(size <= MAX_README, "README.md has {size} bytes, at most {MAX_README} are allowed");
}

/// The source text of all tests.
fn sources(directory: &Path) -> String {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    // The data of an earlier release is no text.
    let entries = entries.filter(|path| path.file_name().is_none_or(|name| name != "fixtures"));
    entries.map(|path| if path.is_dir() { sources(&path) } else { std::fs::read_to_string(path).unwrap() }).collect()
}

#[test]
fn every_picture_in_the_readme_is_made_by_a_test() {
    let readme = readme();
    let shown = readme.split("docs/pictures/").skip(1).map(|rest| rest.split_once(".png").unwrap().0);
    let shown: BTreeSet<_> = shown.map(str::to_owned).collect();
    assert!(!shown.is_empty());
    let sources = sources(&root().join("tests"));
    let calls: Vec<_> = sources.split("picture(").skip(1).filter_map(|rest| Some(rest.split_once(';')?.0)).collect();
    for name in &shown {
        let name = format!("\"{name}\"");
        assert!(calls.iter().any(|call| call.contains(&name)), "no test calls picture(…, {name})");
    }
    let kept = std::fs::read_dir(root().join("docs/pictures")).unwrap().map(|entry| entry.unwrap().path());
    let kept: BTreeSet<_> = kept.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    assert_eq!(shown, kept, "docs/pictures holds what the README shows, and nothing else");
}
