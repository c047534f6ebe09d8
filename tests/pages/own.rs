//! A page of the operator's own, as the documentation shows it, and the client module that it uses.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{choose, nothing_was_blocked};
use crate::harness::{Driver, Options, Process, binary};

const API: &str = include_str!("../../docs/api.md");
const TYPES: &str = include_str!("../../web/client/deskpass.d.ts");

/// The code block of the documentation that begins with this text.
fn documented(beginning: &str) -> &'static str {
    let blocks = API.split("```").skip(1).step_by(2).filter_map(|block| block.split_once('\n'));
    blocks.map(|(_, text)| text).find(|text| text.starts_with(beginning)).unwrap()
}

/// The functions, classes and constants that the types declare: the parameters of each, as they are named.
fn declared() -> BTreeMap<String, Vec<String>> {
    let mut all = BTreeMap::new();
    for text in TYPES.split("\nexport ").skip(1) {
        let (kind, rest) = text.split_once(' ').unwrap();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap();
        let (name, rest) = rest.split_at(end);
        let named = match kind {
            "function" => parameters(&rest[rest.find('(').unwrap()..]),
            "class" | "const" => Vec::new(),
            _ => continue,
        };
        all.insert(name.to_owned(), named);
    }
    all
}

/// The names of the parameters of a function, from its opening parenthesis on.
fn parameters(text: &str) -> Vec<String> {
    let (mut depth, mut names, mut piece) = (0, Vec::new(), String::new());
    // The arrow of a function's type closes nothing.
    for c in text.replace("=>", "").chars() {
        depth += i32::from("([{<".contains(c)) - i32::from(")]}>".contains(c));
        if depth == 0 || (depth == 1 && c == ',') {
            names.push(std::mem::take(&mut piece));
        } else if depth > 1 || c != '(' {
            piece.push(c);
        }
        if depth == 0 {
            break;
        }
    }
    let name = |piece: &String| piece.trim().split(['?', ':', ' ', '=']).next().unwrap_or_default().to_owned();
    names.iter().map(name).filter(|name| !name.is_empty()).collect()
}

/// Every code that the service may send is in the types, so that a program can tell all of them apart.
#[test]
fn the_types_have_every_code() {
    let described: Value = serde_json::from_str(deskpass::http::description()).unwrap();
    let codes = TYPES.split_once("type ErrorCode =").unwrap().1.split_once(';').unwrap().0;
    let codes: Vec<_> = codes.split('|').map(str::trim).filter(|code| !code.is_empty() && *code != "-1").collect();
    let known: Vec<_> = described["x-codes"].as_object().unwrap().keys().filter(|code| *code != "0").collect();
    assert_eq!(codes, known);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_in_the_directory_signs_in_and_reads_who_it_is() {
    let place = tempfile::tempdir().unwrap();
    let app = place.path().join("app");
    std::fs::create_dir(&app).unwrap();
    std::fs::write(app.join("index.html"), documented("<!doctype html>")).unwrap();
    std::fs::write(app.join("my-desk.js"), documented("// my-desk.js")).unwrap();
    let mut command = binary();
    command.args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data"]).arg(place.path().join("data"));
    command.env("DESKPASS_PAGES__DIRECTORY", &app);
    let service = Process::spawn(command);
    let browser = Driver::shared().browser(Options::default()).await;
    let address = format!("http://{}/app/", service.address);

    browser.goto(&address).await;
    browser.wait_for("#sign-in").await;
    assert_eq!(browser.text("#state").await, "You are not signed in.");
    browser.click("#sign-in").await;
    choose(&browser, "user01").await;
    browser.wait_until("document.querySelector('#state')?.textContent.startsWith('Hello, ')").await;
    assert_eq!(browser.url().await, address, "nothing of the sign-in stays in the address");

    browser.goto(&format!("{address}?state=auth_login")).await;
    browser.wait_for("#sign-in").await;
    assert_eq!(browser.text("#state").await, "Not signed in: denied");
    assert_eq!(browser.url().await, address);
    for (fragment, said) in
        [("ticket=dpt_none", "expired"), ("error=no_role&ref=1", "no_role"), ("error=%3Cb%3E", "internal")]
    {
        browser.goto("about:blank").await;
        browser.goto(&format!("{address}#{fragment}")).await;
        browser.wait_for("#sign-in").await;
        assert_eq!(browser.text("#state").await, format!("Not signed in: {said}"));
    }

    // The types declare what the module exports, with the same parameters.
    let exported = "return import('/assets/deskpass.js').then((all) => Object.entries(all).map(([name, it]) =>
        [name, typeof it === 'function' && !String(it).startsWith('class') ? String(it) : '']))";
    let exported = browser.script(exported, &[]).await;
    let of = |pair: &Value| {
        let (name, source) = (pair[0].as_str().unwrap(), pair[1].as_str().unwrap());
        let taken = source.find('(').map_or_else(Vec::new, |at| parameters(&source[at..]));
        (name.to_owned(), taken)
    };
    let exported: BTreeMap<_, _> = exported.as_array().unwrap().iter().map(of).collect();
    assert_eq!(exported, declared());
    nothing_was_blocked(&browser).await;
}
