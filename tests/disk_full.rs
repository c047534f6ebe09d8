//! A full disk: no acknowledged change is lost, no change is acknowledged that did not happen, and the service recovers
//! without a restart. A disk that fails: nothing is lost either, and the service starts again.

use std::fs::File;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;
use tempfile::TempDir;

use crate::harness::{Client, Process, Response, binary, query, request, until};

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
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let mut command = binary();
        command.args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data"]).arg(directory.path());
        command.env("LD_PRELOAD", failing_sync(directory.path()));
        command.env("FAILS_WHILE", at("broken"));
        command.stderr(File::create(at("log")).unwrap());
        let process = Process::spawn(command);
        Self { directory, process }
    }

    fn database(&self) -> PathBuf {
        self.directory.path().join("deskpass.db")
    }

    /// Signs in until the log of the database has so many MiB; returns the tokens.
    async fn fill_log(&self, client: &mut Client, mebibytes: u64) -> Vec<String> {
        let log = self.directory.path().join("deskpass.db-wal");
        let mut tokens = Vec::new();
        while std::fs::metadata(&log).unwrap().len() < mebibytes << 20 {
            tokens.push(client.sign_in("admin01").await);
            assert!(tokens.len() < 20_000, "the log does not grow: this test looks at nothing");
        }
        tokens
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

/// Asserts that a service that has started knows these tokens and its database is intact.
async fn assert_complete(process: Process, data: &Path, tokens: &[String]) {
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

/// The disk has lost all that was written to the database since it had this content. Another process writes: when one closes a file,
/// the system drops its locks, and so those of its connections to the database.
fn lose_pages(database: &Path, content: &[u8]) {
    let kept = database.with_file_name("kept");
    std::fs::write(&kept, content).unwrap();
    assert!(Command::new("cp").args([&*kept, database]).status().unwrap().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_that_could_not_be_synced_are_copied_again_at_the_next_start() {
    let disk = BrokenDisk::new();
    let (database, content) = (disk.database(), std::fs::read(disk.database()).unwrap());
    let mut client = Client::connect(&disk.process.address).await;
    let (directory, tokens) = disk.sign_in_until_it_ends(&mut client).await;
    lose_pages(&database, &content);
    assert_complete(Process::serve(directory.path(), &[]), directory.path(), &tokens).await;
}

/// The other process keeps the index of the log, which counts the pages as copied that it could see: they are copied but not synced.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn they_are_copied_again_when_no_other_process_has_the_database_open() {
    let disk = BrokenDisk::new();
    let (database, content) = (disk.database(), std::fs::read(disk.database()).unwrap());
    let mut client = Client::connect(&disk.process.address).await;
    let mut tokens = disk.fill_log(&mut client, 12).await;
    let backup = rusqlite::Connection::open_with_flags(&database, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    backup.execute_batch("BEGIN; SELECT count(*) FROM session").unwrap();
    tokens.extend(disk.fill_log(&mut client, 26).await);
    backup.execute_batch("COMMIT").unwrap();
    let (directory, last) = disk.sign_in_until_it_ends(&mut client).await;
    tokens.extend(last);
    lose_pages(&database, &content);

    let log = directory.path().join("next.log");
    let mut command = binary();
    command.args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data"]).arg(directory.path());
    command.stderr(File::create(&log).unwrap());
    let starting = std::thread::spawn(move || Process::spawn(command));
    let waits = async || {
        let told = std::fs::read_to_string(&log).unwrap();
        assert!(!starting.is_finished(), "{told}");
        told.contains("the start waits until no other process")
    };
    until("the start waits", waits).await;
    drop(backup);
    assert_complete(starting.join().unwrap(), directory.path(), &tokens).await;
    assert!(!directory.path().join("deskpass.unsynced").exists());
}
