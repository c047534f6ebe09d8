//! Five hundred simultaneous password attempts. Hashing takes memory and time on purpose; other requests must not slow down.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::JoinSet;

use crate::harness::{Client, Process, Response, binary, request};

const CROWD: usize = 500;
const WAVES: usize = 3;
/// The number of attempts that are certainly checked when there are no others.
const QUEUE_CAPACITY: usize = 60;
const MIB: usize = 1 << 20;
/// The memory that it takes to hash a password.
const HASH_MEMORY: usize = 19 * MIB;

/// The deadline for a recovery, on a machine that does other things too.
const RECOVERY_TIMEOUT: Duration = Duration::from_mins(1);

fn serve(data: &tempfile::TempDir, environment: &[(&str, &str)]) -> Process {
    let mut command = binary();
    command.args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data"]).arg(data.path());
    // The log is not read here, and a full pipe would block the service.
    command.stderr(Stdio::null()).envs(environment.iter().copied());
    Process::spawn(command)
}

/// The resident memory of a process in bytes.
fn resident(process: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<usize>().unwrap() * 1024
}

/// A password attempt under a unique name, since failed attempts under one name would lead to a lockout.
fn login_request(name: &str) -> Vec<u8> {
    let body = json!({ "employee_id": name, "password": "not the password" }).to_string();
    request("POST", "/api/agents/login", &[("content-type", "application/json")], body.as_bytes())
}

/// Sends this number of attempts at once and collects the responses.
async fn crowd(address: &str, wave: usize, size: usize) -> Vec<Response> {
    let mut clients = Vec::with_capacity(size);
    for _ in 0..size {
        clients.push(Client::connect(address).await);
    }
    let asks = clients.into_iter().enumerate();
    let asks =
        asks.map(|(at, mut client)| async move { client.send(&login_request(&format!("flood-{wave}-{at}"))).await });
    asks.collect::<JoinSet<_>>().join_all().await
}

/// The number of attempts that were checked; asserts that all others were told to retry.
fn looked_at(answers: &[Response]) -> usize {
    let looked_at = answers.iter().filter(|answer| (answer.status, answer.code()) == (401, 1011)).count();
    for answer in answers.iter().filter(|answer| answer.status != 401) {
        assert_eq!(answer.refused(429, 1006).header("retry-after"), Some("1"));
    }
    looked_at
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_passwords_takes_little_memory_and_blocks_no_other_request() {
    let data = tempfile::tempdir().unwrap();
    let process = serve(&data, &[]);
    let mut client = Client::connect(&process.address).await;
    let token = client.sign_in("user01").await;
    // Measured before any hashing, since its memory need not be released at once.
    let before = resident(process.id());
    client.first_password("agent01").await;
    let (mut most, mut checks, mut answers) = (before, 0, Vec::new());
    for wave in 0..WAVES {
        let address = process.address.clone();
        let knocking = tokio::spawn(async move { crowd(&address, wave, CROWD).await });
        while !knocking.is_finished() {
            assert!(client.is_valid(&token).await);
            most = most.max(resident(process.id()));
            checks += 1;
        }
        answers.extend(knocking.await.unwrap());
    }
    let looked_at = looked_at(&answers);
    assert!(looked_at >= QUEUE_CAPACITY && looked_at < answers.len(), "{looked_at} of {}", answers.len());
    assert!(checks > 100, "verify was answered {checks} times");
    let threads = std::thread::available_parallelism().unwrap().get() / 2 + 1;
    assert!(most - before <= 90 * MIB + threads * HASH_MEMORY, "{} MiB more", (most - before) / MIB);
    assert!(most - before >= 10 * MIB, "only {} MiB: this test looks at nothing", (most - before) / MIB);

    client.partial_sign_in("agent01").await;
}

/// The allocator returns freed memory to the system a second later or more, in a call that some thread happens to make then:
/// an idle service keeps it. Here it returns it immediately, so that the memory in use is measured.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_passwords_leaves_no_memory_in_use() {
    let data = tempfile::tempdir().unwrap();
    let process = serve(&data, &[("MIMALLOC_PURGE_DELAY", "0")]);
    let mut client = Client::connect(&process.address).await;
    let token = client.sign_in("user01").await;
    let before = resident(process.id());
    assert_eq!(looked_at(&crowd(&process.address, 0, QUEUE_CAPACITY).await), QUEUE_CAPACITY);
    let over = Instant::now();
    while resident(process.id()) >= before + HASH_MEMORY {
        assert!(over.elapsed() < RECOVERY_TIMEOUT, "{} MiB more to the end", (resident(process.id()) - before) / MIB);
        assert!(client.is_valid(&token).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_people_who_do_not_wait_leaves_the_line_free() {
    let data = tempfile::tempdir().unwrap();
    let process = serve(&data, &[]);
    let mut client = Client::connect(&process.address).await;
    client.first_password("agent01").await;
    for wave in 0..WAVES {
        let gone: JoinSet<_> = (0..CROWD)
            .map(|at| {
                let (address, ask) = (process.address.clone(), login_request(&format!("gone-{wave}-{at}")));
                async move { Client::connect(&address).await.start(&ask).await }
            })
            .collect();
        gone.join_all().await;
    }
    let over = Instant::now();
    // No place in the queue is lost.
    for wave in WAVES.. {
        let answers = crowd(&process.address, wave, QUEUE_CAPACITY).await;
        if looked_at(&answers) == QUEUE_CAPACITY {
            break;
        }
        assert!(over.elapsed() < RECOVERY_TIMEOUT, "only {} of {QUEUE_CAPACITY} find a place", looked_at(&answers));
    }
    client.partial_sign_in("agent01").await;
}
