//! Replies over HTTPS, from a real process.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::delivery::documented_check;
use super::{reply, text};
use crate::harness::{Client, Process, REPLY_SECRET, binary, with_settings};
use crate::tls::certificate;

/// A back end in Python that checks replies as the documentation says, and accepts those that are genuine.
const BACKEND: &str = r#"
import http.server, json, ssl, sys
_, secret, key, certificate = sys.argv

class Backend(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        genuine = is_genuine(secret, headers, body) and json.loads(body)["text"]
        self.send_response(204 if genuine else 403)
        self.end_headers()

server = http.server.HTTPServer(("127.0.0.1", 0), Backend)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
"#;

struct PythonBackend {
    child: Child,
    url: String,
}

impl PythonBackend {
    fn start(key: &str, certificate: &str) -> Self {
        let script = format!("{}{BACKEND}", documented_check());
        let mut python = Command::new("python3");
        python.args(["-c", &script, REPLY_SECRET, key, certificate]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = python.spawn().expect("python3");
        let mut port = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Self { child, url: format!("https://localhost:{}/replies", port.trim()) }
    }
}

impl Drop for PythonBackend {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A service that trusts these certificates and logs everything. Its proxy variables lead nowhere.
fn service(data: &Path, trusted: &str, url: &str) -> Process {
    let mut command = binary();
    command.args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data"]).arg(data).env("SSL_CERT_FILE", trusted);
    with_settings(&mut command, [("messages.reply_url", url), ("messages.reply_secret", REPLY_SECRET)]);
    with_settings(&mut command, [("log.level", "trace"), ("log.format", "json")]);
    let nowhere = "http://127.0.0.1:1";
    command.env("HTTPS_PROXY", nowhere).env("https_proxy", nowhere).env("ALL_PROXY", nowhere);
    Process::spawn(command)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_a_back_end_with_a_trusted_certificate_gets_replies() {
    let directory = tempfile::tempdir().unwrap();
    let (key, trusted) = certificate(directory.path());
    let elsewhere = tempfile::tempdir().unwrap();
    let (_, other) = certificate(elsewhere.path());
    let backend = PythonBackend::start(&key, &trusted);
    for (at, (authority, delivered)) in [(&trusted, true), (&other, false)].into_iter().enumerate() {
        let process = service(&directory.path().join(at.to_string()), authority, &backend.url);
        let mut client = Client::connect(&process.address).await;
        let token = client.sign_in("user01").await;
        let answer = reply(&mut client, &token, &text("canary of the employee")).await;
        if delivered {
            answer.data();
        } else {
            answer.refused(504, 1005);
        }
        let (code, log) = process.terminate();
        assert_eq!(code, Some(0));
        let event = if delivered { "reply delivered" } else { "help desk unreachable" };
        let line = log.lines().find(|line| line.contains(event)).unwrap_or_else(|| panic!("no {event:?} in {log}"));
        assert!(line.contains("wwdeskpass/user01"), "{line}");
        // Neither the secret nor the employee's text, at any level.
        assert!(!log.contains("canary"), "{log}");
    }
}
