//! The session in the README, run as it stands there.

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

/// An answer's text; what differs from run to run is shown as an ellipsis.
fn shown(answer: &Response) -> String {
    let json = answer.json();
    let differs = [(&json["request_id"], "…"), (&json["data"]["expires_at"], "…"), (&json["data"]["token"], "dpa_…")];
    let differs = differs.into_iter().filter_map(|(value, shown)| Some((value.as_str()?, shown)));
    differs.fold(answer.body.clone(), |body, (value, shown)| {
        body.replace(&format!("\"{value}\""), &format!("\"{shown}\""))
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_session_goes_as_the_readme_says() {
    let readme = include_str!("../README.md");
    let session = readme.split("```console\n").nth(1).unwrap().split("```").next().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let process = Process::serve(directory.path(), &[]);
    let (mut client, mut token, mut compared) = (Client::connect(&process.address).await, String::new(), 0);
    let mut lines = session.lines().filter(|line| !line.is_empty());
    while let Some(line) = lines.next() {
        let Some(command) = line.strip_prefix("$ curl") else { continue };
        let answer = client.send(&curl(&format!("curl{}", command.replace("$TOKEN", &token)))).await;
        if let Some(fresh) = answer.json()["data"]["token"].as_str() {
            fresh.clone_into(&mut token);
        }
        assert_eq!(shown(&answer), lines.next().unwrap(), "{line}");
        compared += 1;
    }
    assert_eq!(compared, 7);
}
