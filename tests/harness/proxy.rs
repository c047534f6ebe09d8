//! The real proxies, with the files of `deploy/`; only addresses, folders and the user differ.

use std::fs::File;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::servers::root;

/// The timeout for a proxy to start, or to write a log line.
const PROXY_TIMEOUT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Folders that only nginx's default user can write to.
const NGINX_FOLDERS: [&str; 5] = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];

/// A proxy in front of two nodes.
#[derive(Debug)]
pub(crate) struct Proxy {
    child: Child,
    pub(crate) address: String,
    log: PathBuf,
    _directory: TempDir,
}

/// A free address. Its port is below the ephemeral range, from which the system assigns ports to other processes, so that it
/// stays free until it is used.
pub(crate) fn free_address() -> String {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let start = u16::try_from(std::process::id() % 10_000).unwrap();
    let free = std::iter::from_fn(|| {
        let port = 10_240 + (start + NEXT.fetch_add(1, Ordering::Relaxed)) % 20_480;
        Some(format!("127.0.0.1:{port}"))
    });
    free.take(1_000).find(|address| TcpListener::bind(address).is_ok()).expect("a free port")
}

impl Proxy {
    pub(crate) fn haproxy(nodes: [&str; 2]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (address, log) = (free_address(), directory.path().join("log"));
        let mut text = prepared("haproxy.cfg", nodes, ("bind :80", &format!("bind {address}")));
        // Tests see which node responds.
        text = replaced(&text, "balance leastconn", "balance leastconn\n    http-response set-header x-served-by %s");
        let me = command_output(Command::new("id").arg("-un"));
        if me != "root" {
            text = replaced(&text, "user haproxy", &format!("user {me}"));
            text =
                replaced(&text, "group haproxy", &format!("group {}", command_output(Command::new("id").arg("-gn"))));
        }
        let file = write_config(directory.path(), &text);
        let mut command = Command::new(program("haproxy"));
        let start = File::create(directory.path().join("start.log")).unwrap();
        command.arg("-db").arg("-f").arg(file).stdout(File::create(&log).unwrap()).stderr(start);
        Self::start(command, address, log, directory)
    }

    pub(crate) fn nginx(nodes: [&str; 2]) -> Self {
        Self::nginx_with("nginx.conf", nodes, |text| text)
    }

    /// nginx in front of an application, with auth requests to the nodes.
    pub(crate) fn nginx_auth_request(nodes: [&str; 2], application: &str) -> Self {
        Self::nginx_with("nginx-auth-request.conf", nodes, |text| replaced(&text, "10.0.0.21:9000", application))
    }

    fn nginx_with(name: &str, nodes: [&str; 2], led: impl Fn(String) -> String) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let here = directory.path().display();
        let (address, log) = (free_address(), directory.path().join("access.log"));
        let text = led(prepared(name, nodes, ("listen 80;", &format!("listen {address};"))));
        let text = replaced(&text, "/var/log/nginx", &here.to_string());
        let folders = NGINX_FOLDERS.map(|name| format!("{name}_temp_path {here}/{name};")).concat();
        let file = write_config(directory.path(), &replaced(&text, "http {\n", &format!("http {{ {folders}\n")));
        // A single process, so that one signal ends it.
        let ours = format!("daemon off; master_process off; pid {here}/pid;");
        let mut command = Command::new(program("nginx"));
        command.arg("-c").arg(file).args(["-g", &ours, "-e"]).arg(directory.path().join("start.log"));
        Self::start(command, address, log, directory)
    }

    fn start(mut command: Command, address: String, log: PathBuf, directory: TempDir) -> Self {
        command.stdin(Stdio::null());
        let child = command.spawn().expect("the proxy starts; tools/services installs it");
        let mut proxy = Self { child, address, log, _directory: directory };
        wait_until("the proxy listens", || {
            assert_eq!(proxy.child.try_wait().unwrap(), None, "the proxy ended");
            TcpStream::connect(&proxy.address).is_ok()
        });
        proxy
    }

    /// The whole log, once it contains `piece`.
    pub(crate) fn log_with(&self, piece: &str) -> String {
        let read = || std::fs::read_to_string(&self.log).unwrap_or_default();
        wait_until(piece, || read().contains(piece));
        read()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + PROXY_TIMEOUT;
    while !done() {
        assert!(Instant::now() < deadline, "in vain: {what}");
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// A file of `deploy/` with the test's nodes and address.
fn prepared(name: &str, nodes: [&str; 2], (listen, ours): (&str, &str)) -> String {
    let text = std::fs::read_to_string(root().join("deploy").join(name)).unwrap();
    let text = replaced(&text, "10.0.0.11:8080", nodes[0]);
    let text = replaced(&text, "10.0.0.12:8080", nodes[1]);
    replaced(&text, listen, ours)
}

fn replaced(text: &str, given: &str, ours: &str) -> String {
    assert!(text.contains(given), "no {given:?} in the file");
    text.replace(given, ours)
}

fn write_config(directory: &Path, text: &str) -> PathBuf {
    let file = directory.join("proxy.conf");
    std::fs::write(&file, text).unwrap();
    file
}

/// The path of a proxy; Debian installs proxies outside of some users' PATH.
fn program(name: &str) -> PathBuf {
    let places = ["/usr/sbin", "/usr/local/sbin"].map(|place| Path::new(place).join(name));
    places.into_iter().find(|path| path.exists()).unwrap_or_else(|| name.into())
}

fn command_output(command: &mut Command) -> String {
    String::from_utf8(command.output().unwrap().stdout).unwrap().trim().to_owned()
}
