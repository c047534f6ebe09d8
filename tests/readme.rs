//! The sessions in the README, run as they stand there, and its pictures.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use crate::harness::{Client, Process, Response, request};

/// The words of a shell line: blanks part them, quotes hold them together, a backslash keeps the next character.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match (character, quote) {
            ('\\', Some('"') | None) => word.get_or_insert_default().extend(characters.next()),
            ('\'' | '"', None) => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (character, Some(open)) if character == open => quote = None,
            (' ', None) => words.extend(word.take()),
            (character, _) => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

/// The bytes of the request that a curl command makes.
fn curl(command: &str) -> Vec<u8> {
    let (mut method, mut path, mut headers, mut body) = (None, String::new(), Vec::new(), None);
    let mut words = words(command).into_iter().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "-s" => {}
            "-X" => method = words.next(),
            "-H" => headers.extend(
                words.next().unwrap().split_once(": ").map(|(name, value)| (name.to_owned(), value.to_owned())),
            ),
            "-d" => body = words.next(),
            address => path += address.strip_prefix("localhost:8080").expect("the README's address"),
        }
    }
    let method = method.unwrap_or_else(|| if body.is_some() { "POST" } else { "GET" }.to_owned());
    let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    request(&method, &path, &headers, body.unwrap_or_default().as_bytes())
}

/// What an answer has that differs from run to run, and how the README shows it.
fn differing(answer: &Response) -> Vec<(String, String)> {
    let json = answer.json();
    let data = &json["data"];
    let mut texts = vec![&json["request_id"], &data["expires_at"], &data["bound_at"], &data["secret"]];
    texts.extend([&data["otpauth_url"], &data["qrcode_png_base64"]]);
    let mut differing: Vec<_> =
        texts.into_iter().filter_map(|text| Some((text.as_str()?.to_owned(), "…".to_owned()))).collect();
    if let Some(token) = data["token"].as_str() {
        differing.push((token.to_owned(), format!("{}…", &token[..4])));
    }
    differing
}

/// An answer's text; what differs from run to run is shown as an ellipsis.
fn shown(answer: &Response) -> String {
    let codes = &answer.json()["data"]["recovery_codes"];
    let body = if codes.is_array() { answer.body.replace(&codes.to_string(), "[…]") } else { answer.body.clone() };
    differing(answer)
        .into_iter()
        .fold(body, |body, (value, shown)| body.replace(&format!("\"{value}\""), &format!("\"{shown}\"")))
}

/// The first session below a heading.
fn session(heading: &str) -> &'static str {
    let (_, below) = include_str!("../README.md").split_once(&format!("\n## {heading}\n")).expect("the heading");
    below.split("```console\n").nth(1).unwrap().split("```").next().unwrap()
}

/// What the person at the keyboard knows.
#[derive(Default)]
struct Memory {
    variables: BTreeMap<String, String>,
    /// What they could copy from the last answer.
    answer: Vec<(String, String)>,
    secret: String,
}

impl Memory {
    fn filled(&self, command: &str) -> String {
        self.variables.iter().fold(command.to_owned(), |text, (name, value)| text.replace(&format!("${name}"), value))
    }

    /// `NAME=…`: what stood there like this, or what oathtool says.
    fn note(&mut self, name: &str, value: &str) {
        let value = match value.strip_prefix("$(oathtool ") {
            Some(rest) => oathtool(&words(&self.filled(rest.strip_suffix(')').unwrap()))),
            None if name == "SECRET" => self.secret.clone(),
            None => self.answer.iter().find(|(_, shown)| shown == value).expect("something to copy").0.clone(),
        };
        self.variables.insert(name.to_owned(), value);
    }

    fn read(&mut self, answer: &Response) {
        self.answer = differing(answer);
        if let Some(secret) = answer.json()["data"]["secret"].as_str() {
            secret.clone_into(&mut self.secret);
        }
    }
}

fn oathtool(arguments: &[String]) -> String {
    let output = Command::new("oathtool").args(arguments).output().expect("oathtool, which tools/services installs");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Types what stands below a heading, and compares every answer; returns how many there were.
async fn types(heading: &str) -> usize {
    let directory = tempfile::tempdir().unwrap();
    let process = Process::serve(directory.path(), &[]);
    let (mut client, mut memory, mut compared) = (Client::connect(&process.address).await, Memory::default(), 0);
    let mut lines = session(heading).lines().filter(|line| !line.is_empty());
    while let Some(line) = lines.next() {
        let command = line.strip_prefix("$ ").expect("a command");
        if let Some((name, value)) = command.split_once('=').filter(|(name, _)| !name.contains(' ')) {
            memory.note(name, value);
            continue;
        }
        let answer = client.send(&curl(&memory.filled(command))).await;
        memory.read(&answer);
        assert_eq!(shown(&answer), lines.next().unwrap(), "{line}");
        compared += 1;
    }
    compared
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_session_goes_as_the_readme_says() {
    assert_eq!(types("The same without a browser").await, 7);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn asking_who_may_do_what_goes_as_the_readme_says() {
    assert_eq!(types("Who may do what").await, 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_day_without_the_platform_goes_as_the_readme_says() {
    assert_eq!(types("When the platform is down").await, 6);
}

/// The text of every test there is.
fn sources(directory: &Path) -> String {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() { sources(&path) } else { std::fs::read_to_string(path).unwrap() }).collect()
}

#[test]
fn every_picture_in_the_readme_is_one_that_a_test_makes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let shown = readme.split("docs/pictures/").skip(1).map(|rest| rest.split_once(".png").unwrap().0);
    let shown: BTreeSet<_> = shown.map(str::to_owned).collect();
    assert!(!shown.is_empty());
    let sources = sources(&root.join("tests"));
    let calls: Vec<_> = sources.split("picture(").skip(1).filter_map(|rest| Some(rest.split_once(';')?.0)).collect();
    for name in &shown {
        let name = format!("\"{name}\"");
        assert!(calls.iter().any(|call| call.contains(&name)), "no test calls picture(…, {name})");
    }
    let kept = std::fs::read_dir(root.join("docs/pictures")).unwrap().map(|entry| entry.unwrap().path());
    let kept: BTreeSet<_> = kept.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    assert_eq!(shown, kept, "docs/pictures holds what the README shows, and nothing else");
}
