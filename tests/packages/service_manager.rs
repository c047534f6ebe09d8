//! The protocols of the service manager: what it is told, and the socket that it passes to each new process.

use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::harness::{Process, binary, finished, free_address, with_settings};

/// The next message to the service manager.
fn receive(socket: &UnixDatagram) -> String {
    let mut message = [0; 4096];
    let length = socket.recv(&mut message).expect("a message in time");
    String::from_utf8(message[..length].to_vec()).unwrap()
}

/// A service tells the service manager behind this socket when it is ready, that it is alive, and that it stops.
fn is_told(socket: &UnixDatagram, name: &str) {
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let data = tempfile::tempdir().unwrap();
    let mut command = binary();
    command.args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data"]).arg(data.path());
    command.env("NOTIFY_SOCKET", name).env("WATCHDOG_USEC", "200000");
    let process = Process::spawn(command);
    assert_eq!(receive(socket), "READY=1");
    for _ in 0..3 {
        assert_eq!(receive(socket), "WATCHDOG=1");
    }
    let next = || std::iter::repeat_with(|| receive(socket)).find(|message| message != "WATCHDOG=1").unwrap();
    process.hang_up();
    assert!(next().starts_with("RELOADING=1\nMONOTONIC_USEC="));
    assert_eq!([next(), next()], ["STATUS=nothing to reload", "READY=1"]);
    let ended = std::thread::spawn(|| process.terminate());
    assert_eq!(next(), "STOPPING=1");
    assert_eq!(ended.join().unwrap().0, Some(0));
}

#[test]
fn the_service_manager_is_told_of_start_life_and_end() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("notify");
    is_told(&UnixDatagram::bind(&path).unwrap(), path.to_str().unwrap());
}

#[test]
fn an_abstract_socket_is_told_too() {
    let name = format!("deskpass-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    is_told(&UnixDatagram::bind_addr(&address).unwrap(), &format!("@{name}"));
}

#[tokio::test]
async fn a_start_that_waits_for_the_database_can_be_stopped() {
    // It accepts connections and says nothing.
    let database = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (data, address) = (tempfile::tempdir().unwrap(), database.local_addr().unwrap());
    let mut command = binary();
    command.args(["serve", "--dev", "--listen", "127.0.0.1:0"]).current_dir(data.path());
    let (store, shared) = (format!("postgres://desk@{address}/desk"), format!("redis://{address}"));
    with_settings(&mut command, [("store.url", &*store), ("shared.url", &*shared)]);
    let mut service = command.spawn().unwrap();
    let connection = timeout(Duration::from_secs(30), database.accept()).await.expect("it connects").unwrap();
    let sent = Command::new("kill").args(["-s", "TERM", &service.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let ended = tokio::task::spawn_blocking(move || service.wait().unwrap());
    let ended = timeout(Duration::from_secs(30), ended).await.expect("it stops").unwrap();
    assert_eq!(ended.code(), Some(0));
    drop(connection);
}

/// A service on a socket that this test holds, passed as systemd does: as file 3.
fn service_on(listener: &TcpListener, data: &Path) -> Command {
    let mut command = Command::new("bash");
    command.env_clear().env("PATH", "/usr/bin:/bin");
    command.args(["-c", r#"exec 3<&0 </dev/null; export LISTEN_FDS=1 LISTEN_PID=$$; exec "$@""#, "bash"]);
    command.args([env!("CARGO_BIN_EXE_deskpass"), "serve", "--dev", "--data"]).arg(data);
    command.stdin(OwnedFd::from(listener.try_clone().unwrap())).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What a client saw.
#[derive(Default)]
struct Seen {
    answered: usize,
    /// Connections that were accepted and closed without a response.
    closed: usize,
    longest: Duration,
}

/// Makes a new connection for each request until told to stop. No connection may be refused.
async fn ask(address: String, enough: Arc<AtomicBool>) -> Seen {
    const REQUEST: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let mut seen = Seen::default();
    while !enough.load(Ordering::Relaxed) {
        let began = Instant::now();
        let mut stream = TcpStream::connect(&address).await.expect("no connection is refused");
        let response: io::Result<String> = async {
            let mut response = String::new();
            stream.write_all(REQUEST).await?;
            stream.read_to_string(&mut response).await?;
            Ok(response)
        }
        .await;
        match response.as_deref() {
            Ok("") | Err(_) => seen.closed += 1,
            Ok(response) => {
                assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
                seen.answered += 1;
            }
        }
        seen.longest = seen.longest.max(began.elapsed());
    }
    seen
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_with_a_held_socket_refuses_no_connection() {
    const CLIENTS: usize = 4;
    const RESTARTS: usize = 3;
    let data = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut process = Process::spawn(service_on(&listener, data.path()));
    assert_eq!(process.address, address, "it does not listen on another socket");
    let (enough, mut clients) = (Arc::new(AtomicBool::new(false)), JoinSet::new());
    for _ in 0..CLIENTS {
        clients.spawn(ask(address.clone(), Arc::clone(&enough)));
    }
    for _ in 0..RESTARTS {
        let (code, log) = tokio::task::spawn_blocking(|| process.terminate()).await.unwrap();
        assert_eq!(code, Some(0), "{log}");
        process = Process::spawn(service_on(&listener, data.path()));
    }
    enough.store(true, Ordering::Relaxed);
    let seen = clients.join_all().await;
    let (answered, closed) = seen.iter().fold((0, 0), |sum, one| (sum.0 + one.answered, sum.1 + one.closed));
    let longest = seen.iter().map(|one| one.longest).max().unwrap();
    println!("{answered} answered, {closed} closed without a response, longest {longest:?}, {RESTARTS} restarts");
    assert!(answered > CLIENTS * RESTARTS, "only {answered} requests: this test looks at nothing");
    // Only a connection that was accepted and had sent nothing yet when the process stopped.
    assert!(closed <= CLIENTS * RESTARTS, "{closed} of {answered} were closed");
}

#[test]
fn development_mode_takes_no_socket_that_others_reach() {
    let data = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let output = finished(&mut service_on(&listener, data.path()));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && text.contains("sign in as anyone"), "{text}");
}

#[test]
fn a_health_check_asks_the_service() {
    let data = tempfile::tempdir().unwrap();
    let process = Process::serve(data.path(), &[]);
    let ready = |arguments: &[&str]| {
        let output = binary().arg("ready").args(arguments).current_dir(data.path()).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    };
    let url = format!("http://{}", process.address);
    for arguments in [&["--url", &*url][..], &["--dev", "--listen", &*process.address]] {
        let (code, text) = ready(arguments);
        assert!(code == Some(0) && text.contains("\"ready\":true"), "{arguments:?}: {text}");
    }
    let nobody = format!("http://{}", free_address());
    let (code, text) = ready(&["--url", &*nobody]);
    assert!(code == Some(1) && text.contains("does not respond"), "{text}");
}
