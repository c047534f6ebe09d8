//! A full disk: no acknowledged change is lost, no change is acknowledged that did not happen, and the service recovers
//! without a restart. A disk that fails: nothing is lost either, and the service starts again.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;
use tempfile::TempDir;

use crate::harness::{Client, Process, Response, binary, query, request};

/// A service whose files cannot grow beyond `blocks` of 512 bytes, which has the effect of a full disk.
fn cramped(data: &Path, blocks: usize) -> Process {
    let deskpass = binary();
    let mut shell = Command::new("sh");
    let script = format!("trap '' XFSZ; ulimit -S -f {blocks}; exec \"$@\"");
    shell.args(["-c", &script, "sh"]).arg(deskpass.get_program());
    shell.args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data"]).arg(data);
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Process::spawn(shell)
}

async fn sign_in(client: &mut Client) -> Response {
    client.post("/api/auth/bind", &[], &json!({ "employee_id": "admin01" })).await
}

/// Asserts that an error 1005 contains the endpoint's phrase, a known cause and a reference, and nothing else.
fn assert_fault(answer: &Response, phrase: &str) {
    let message = answer.refused(503, 1005).json()["message"].as_str().unwrap().to_owned();
    let rest =
        message.strip_prefix(&format!("{phrase}: store unavailable (ref ")).unwrap_or_else(|| panic!("{message}"));
    let reference = rest.strip_suffix(')').unwrap();
    assert!(reference.len() == 8 && reference.bytes().all(|c| c.is_ascii_hexdigit()), "{message}");
}

/// Signs in until the disk is full and returns the tokens.
async fn fill_disk(client: &mut Client) -> Vec<String> {
    let mut tokens = Vec::new();
    let full = loop {
        let answer = sign_in(client).await;
        if answer.status != 200 {
            break answer;
        }
        tokens.push(answer.data()["token"].as_str().unwrap().to_owned());
        assert!(tokens.len() < 100_000, "the disk never fills: this test looks at nothing");
    };
    assert_fault(&full, "Binding failed");
    for _ in 0..5 {
        assert_fault(&sign_in(client).await, "Binding failed");
    }
    tokens
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_told_and_survived() {
    let directory = tempfile::tempdir().unwrap();
    let process = cramped(directory.path(), 3_000);
    let mut client = Client::connect(&process.address).await;
    let mut tokens = fill_disk(&mut client).await;
    // Smaller changes may still fit. A change that does not fit is not acknowledged and has not happened.
    let mut role = "admin";
    for next in ["agent", "user"].into_iter().cycle() {
        let answer = client.switch(&tokens[0], next).await;
        if answer.status != 200 {
            assert_fault(&answer, "Role switch failed");
            break;
        }
        role = next;
    }
    assert_eq!(client.verify(&tokens[0]).await["current_role"], role);
    while let Some(token) = tokens.pop() {
        let answer = client.logout(&token).await;
        if answer.status != 200 {
            assert_fault(&answer, "Logout failed");
            assert!(client.is_valid(&token).await);
            tokens.push(token);
            break;
        }
    }
    assert!(!tokens.is_empty());
    let not_ready = loop {
        let answer = client.get("/api/ready", &[]).await;
        if answer.status != 200 {
            break answer;
        }
    };
    assert_fault(&not_ready, "Not ready");
    assert_eq!(not_ready.json()["data"]["dependencies"]["store"], "unavailable");

    let doctor =
        binary().args(["doctor", "--dev", "--language", "en", "--data"]).arg(directory.path()).output().unwrap();
    let text = String::from_utf8_lossy(&doctor.stdout);
    assert!(text.contains("✗ data: the running deskpass cannot write to "), "{text}");
    assert!(text.contains("disk space: ") && text.contains(" are free"), "{text}");

    let healed = Command::new("prlimit").arg(format!("--pid={}", process.id())).arg("--fsize=unlimited").status();
    assert!(healed.unwrap().success());
    tokens.push(sign_in(&mut client).await.data()["token"].as_str().unwrap().to_owned());
    let ended = tokens.swap_remove(0);
    client.logout(&ended).await.data();
    while client.get("/api/ready", &[]).await.status != 200 {}

    process.kill();
    let process = Process::serve(directory.path(), &[]);
    let mut client = Client::connect(&process.address).await;
    for token in &tokens {
        assert!(client.is_valid(token).await, "an acknowledged sign-in was lost");
    }
    assert!(!client.is_valid(&ended).await);
    process.kill();
    assert_eq!(query(&directory.path().join("deskpass.db"), "PRAGMA integrity_check"), ["ok"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_cannot_be_read_makes_no_token_valid() {
    let directory = tempfile::tempdir().unwrap();
    let process = Process::serve(directory.path(), &[]);
    let mut client = Client::connect(&process.address).await;
    let token = client.sign_in("admin01").await;
    process.kill();
    let process = Process::serve(directory.path(), &[]);
    let mut client = Client::connect(&process.address).await;
    // The data is not in the cache yet, and no longer on the disk.
    std::fs::write(directory.path().join("deskpass.db"), vec![7; 100_000]).unwrap();
    std::fs::write(directory.path().join("deskpass.db-wal"), b"").unwrap();
    let answer = client.post("/api/auth/verify", &[], &json!({ "token": token })).await;
    assert_fault(&answer, "Token verification failed");
    assert_fault(&client.me(&token).await, "Reading the current user failed");
}

/// A library that makes syncs of the database fail.
fn failing_sync(directory: &Path) -> PathBuf {
    let library = directory.join("failing_sync.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/disk_full/failing_sync.c");
    let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).status().unwrap();
    assert!(compiled.success());
    library
}

const SIGABRT: i32 = 6;

/// A service on a disk that breaks, in a directory of its own.
struct BrokenDisk {
    directory: TempDir,
    process: Process,
}

impl BrokenDisk {
    /// Once the disk breaks, `syncs` of the database still succeed. After them, each open file fails to be synced once.
    fn after(syncs: usize) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let mut command = binary();
        command.args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data"]).arg(directory.path());
        command.env("LD_PRELOAD", failing_sync(directory.path()));
        command.env("FAILS_WHILE", at("broken")).env("FAILS_AFTER", syncs.to_string());
        command.stderr(File::create(at("log")).unwrap());
        let process = Process::spawn(command);
        Self { directory, process }
    }

    fn database(&self) -> PathBuf {
        self.directory.path().join("deskpass.db")
    }

    /// Breaks the disk, and signs in until the process has ended because of that; returns the tokens.
    async fn sign_in_until_it_ends(self, client: &mut Client) -> (TempDir, Vec<String>) {
        std::fs::write(self.directory.path().join("broken"), "").unwrap();
        let body = json!({ "employee_id": "admin01" }).to_string();
        let sign_in = request("POST", "/api/auth/bind", &[("content-type", "application/json")], body.as_bytes());
        let mut tokens = Vec::new();
        while let Some(answer) = client.try_send(&sign_in).await {
            tokens.push(answer.data()["token"].as_str().unwrap().to_owned());
            assert!(tokens.len() < 20_000, "the log is never copied: this test looks at nothing");
        }
        assert_eq!(self.process.wait().signal(), Some(SIGABRT));
        let log = std::fs::read_to_string(self.directory.path().join("log")).unwrap();
        assert!(log.contains("the database could not be synced: the process ends"), "{log}");
        (self.directory, tokens)
    }
}

/// Starts a service, and asserts that it knows these tokens and its database is intact.
async fn assert_complete(data: &Path, tokens: &[String]) {
    let process = Process::serve(data, &[]);
    let mut client = Client::connect(&process.address).await;
    for token in tokens {
        assert!(client.is_valid(token).await, "an acknowledged sign-in was lost");
    }
    process.kill();
    let database = data.join("deskpass.db");
    assert_eq!(query(&database, "PRAGMA integrity_check"), ["ok"]);
    let sessions: usize = query(&database, "SELECT count(*) FROM session")[0].parse().unwrap();
    assert!(sessions >= tokens.len());
}

/// The disk has lost all that was written to the database since it had this content.
fn lose_pages(database: &Path, content: &[u8]) {
    let file = File::options().write(true).open(database).unwrap();
    file.set_len(content.len().try_into().unwrap()).unwrap();
    file.write_all_at(content, 0).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_that_could_not_be_synced_are_copied_again_at_the_next_start() {
    for syncs in [0, 1] {
        let disk = BrokenDisk::after(syncs);
        let (database, content) = (disk.database(), std::fs::read(disk.database()).unwrap());
        let mut client = Client::connect(&disk.process.address).await;
        let (directory, tokens) = disk.sign_in_until_it_ends(&mut client).await;
        lose_pages(&database, &content);
        assert_complete(directory.path(), &tokens).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn they_are_copied_again_although_another_process_still_reads_the_database() {
    let disk = BrokenDisk::after(0);
    let (database, content) = (disk.database(), std::fs::read(disk.database()).unwrap());
    let mut client = Client::connect(&disk.process.address).await;
    let first = client.sign_in("admin01").await;
    let backup = rusqlite::Connection::open(&database).unwrap();
    backup.execute_batch("BEGIN; SELECT count(*) FROM session").unwrap();
    let (directory, mut tokens) = disk.sign_in_until_it_ends(&mut client).await;
    tokens.push(first);
    lose_pages(&database, &content);
    assert_complete(directory.path(), &tokens).await;
    drop(backup);
    assert_complete(directory.path(), &tokens).await;
}
