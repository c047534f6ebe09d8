//! TLS in the server, for sites without a proxy: with openssl's client and with Chromium.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::aws_lc_rs::{DEFAULT_KX_GROUPS, default_provider, kx_group};
use rustls::crypto::{CryptoProvider, SupportedKxGroup};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, NamedGroup, RootCertStore};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::harness::{
    Client, Driver, Feature, Options, Process, binary, finished, handshake, request, until, with_settings,
};
use crate::tls::certificate;

/// A service in development mode that speaks TLS, with its files.
struct Desk {
    directory: TempDir,
    process: Process,
}

/// A new directory with a certificate and its key.
fn with_certificate() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    certificate(directory.path());
    directory
}

/// A command in this directory with the settings of a service that speaks TLS.
fn command(directory: &Path, arguments: &[&str], more: &[(&str, &str)]) -> Command {
    let mut command = binary();
    command.args(arguments).arg("--dev").current_dir(directory);
    let usual = [
        ("server.tls.certificate", "certificate.pem"),
        ("server.tls.key", "key.pem"),
        ("public_url", "https://localhost"),
        ("platform.api_url", "http://127.0.0.1:1/sim"),
        ("listen", "127.0.0.1:0"),
    ];
    with_settings(&mut command, usual.into_iter().chain(more.iter().copied()));
    command
}

impl Desk {
    fn start(more: &[(&str, &str)]) -> Self {
        let directory = with_certificate();
        let process = Process::spawn(command(directory.path(), &["serve"], more));
        Self { directory, process }
    }

    /// Starts openssl's client, which trusts only the certificate in this directory.
    fn openssl(&self, more: &[&str]) -> Child {
        let mut client = Command::new("openssl");
        client.args(["s_client", "-connect", &self.process.address, "-verify_hostname", "localhost"]);
        client.args(["-CAfile", "certificate.pem", "-verify_return_error"]).args(more);
        client.current_dir(self.directory.path()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        client.spawn().unwrap()
    }

    /// Sends a request with openssl's client on a connection of its own; returns the client's output.
    fn send(&self, bytes: &[u8], more: &[&str]) -> (bool, String) {
        let mut client = self.openssl(&[&["-brief", "-ign_eof"], more].concat());
        // It may have failed and ended before this.
        let _ = client.stdin.take().unwrap().write_all(bytes);
        let Output { status, stdout, stderr } = client.wait_with_output().unwrap();
        let text = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        (status.success(), text)
    }

    fn get(&self, path: &str, more: &[&str]) -> (bool, String) {
        self.send(&request("GET", path, &[("connection", "close")], b""), more)
    }

    /// The certificate that a new connection gets, in PEM format.
    fn served(&self) -> String {
        let mut client = Command::new("openssl");
        client.args(["s_client", "-connect", &self.process.address]).stdin(Stdio::null()).stderr(Stdio::null());
        let text = String::from_utf8(client.output().unwrap().stdout).unwrap();
        let pem = text.split_once("-----BEGIN CERTIFICATE-----").and_then(|(_, rest)| rest.split_once("-----END"));
        pem.unwrap_or_else(|| panic!("no certificate: {text}")).0.trim().to_owned()
    }

    /// How keys are agreed on with a client that offers these ways.
    fn key_exchange(&self, offered: &[&'static dyn SupportedKxGroup]) -> NamedGroup {
        let certificate = CertificateDer::from_pem_file(self.directory.path().join("certificate.pem")).unwrap();
        let mut trusted = RootCertStore::empty();
        trusted.add(certificate).unwrap();
        let provider = CryptoProvider { kx_groups: offered.to_vec(), ..default_provider() };
        let client = ClientConfig::builder_with_provider(Arc::new(provider)).with_safe_default_protocol_versions();
        let client = client.unwrap().with_root_certificates(trusted).with_no_client_auth();
        let name = ServerName::try_from("localhost").unwrap();
        let mut client = ClientConnection::new(Arc::new(client), name).unwrap();
        let mut stream = std::net::TcpStream::connect(&self.process.address).unwrap();
        while client.is_handshaking() {
            client.complete_io(&mut stream).unwrap();
        }
        client.negotiated_key_exchange_group().unwrap().name()
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.directory.path().join(name), text).unwrap();
    }

    /// Runs `deskpass reload`; returns whether it succeeded, and its output.
    fn reload(&self) -> (bool, String) {
        let output = command(self.directory.path(), &["reload"], &[]).output().unwrap();
        let text = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat();
        (output.status.success(), text)
    }
}

/// What stands between the first pair of PEM markers.
fn pem(directory: &Path) -> String {
    let text = std::fs::read_to_string(directory.join("certificate.pem")).unwrap();
    text.lines().filter(|line| !line.starts_with('-')).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_two_current_versions_are_spoken_and_no_other() {
    let desk = Desk::start(&[]);
    for (version, name) in [("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3")] {
        let (_, text) = desk.get("/healthz", &[version]);
        assert!(text.contains("HTTP/1.1 200") && text.contains(name), "{text}");
    }
    for refused in [&["-tls1_1", "-cipher", "DEFAULT:@SECLEVEL=0"][..], &["-alpn", "h2"]] {
        let (_, text) = desk.get("/healthz", refused);
        assert!(!text.contains("HTTP/1.1") && text.contains("alert"), "{refused:?}: {text}");
    }
    assert!(desk.get("/healthz", &["-alpn", "h2,http/1.1"]).1.contains("HTTP/1.1 200"));
}

/// What is recorded today stays unreadable for a quantum computer of tomorrow, unless the client is too old for that.
#[test]
fn keys_are_agreed_on_in_a_way_that_quantum_computers_do_not_break() {
    let desk = Desk::start(&[]);
    assert_eq!(desk.key_exchange(DEFAULT_KX_GROUPS), NamedGroup::X25519MLKEM768);
    assert_eq!(desk.key_exchange(&[kx_group::X25519]), NamedGroup::X25519);
}

#[test]
fn a_health_check_asks_a_service_with_tls() {
    let desk = Desk::start(&[]);
    let (directory, elsewhere) = (desk.directory.path(), tempfile::tempdir().unwrap());
    let listen = desk.process.address.as_str();
    let ready = |mut command: Command| {
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        (output.status.success(), text)
    };
    let (success, text) = ready(command(directory, &["ready", "--listen", listen], &[]));
    assert!(success && text.contains("\"ready\":true"), "{text}");
    // It needs no other setting, not even those that production requires, and no file.
    let mut alone = binary();
    alone.arg("ready").current_dir(elsewhere.path());
    with_settings(&mut alone, [("listen", listen), ("server.tls.certificate", "/nowhere/certificate.pem")]);
    let (success, text) = ready(alone);
    assert!(success && text.contains("\"ready\":true"), "{text}");
    // Another service is verified as usual.
    let mut other = binary();
    other.args(["ready", "--url", &format!("https://{listen}")]).current_dir(elsewhere.path());
    let (success, text) = ready(other);
    assert!(!success, "{text}");
}

#[tokio::test]
async fn a_request_without_tls_is_told_so() {
    let desk = Desk::start(&[]);
    let mut client = Client::connect(&desk.process.address).await;
    client.start(&request("GET", "/", &[], b"")).await;
    let answer = client.read().await.unwrap();
    assert_eq!(answer.status, 400);
    assert!(answer.body.contains("use https://"), "{answer:?}");
}

#[test]
fn a_pair_that_cannot_be_used_is_named() {
    let (directory, other) = (with_certificate(), with_certificate());
    let path = directory.path();
    let refused = |more: &[(&str, &str)], words: &[&str]| {
        for arguments in [["serve"].as_slice(), &["config", "check"]] {
            let output = finished(&mut command(path, arguments, more));
            let text = String::from_utf8(output.stderr).unwrap();
            assert!(!output.status.success() && words.iter().all(|word| text.contains(word)), "{words:?} in\n{text}");
        }
    };
    std::fs::write(path.join("empty.pem"), "").unwrap();
    std::fs::copy(other.path().join("key.pem"), path.join("other.pem")).unwrap();
    refused(&[("server.tls.key", "missing.pem")], &["server.tls.key missing.pem", "cannot be read"]);
    refused(&[("server.tls.key", "empty.pem")], &["server.tls.key empty.pem", "no private key"]);
    refused(&[("server.tls.certificate", "empty.pem")], &["server.tls.certificate empty.pem", "no certificate"]);
    refused(&[("server.tls.key", "other.pem")], &["other.pem", "not the key of the first certificate"]);
    refused(&[("public_url", "http://localhost")], &["public_url", "begin it with https://"]);
    let mut alone = command(path, &["config", "check"], &[]);
    let text = String::from_utf8(alone.env_remove("DESKPASS_SERVER__TLS__KEY").output().unwrap().stderr).unwrap();
    assert!(text.contains("set server.tls.key too"), "{text}");
    // It ends in two days, which is no obstacle but reported.
    let checked = command(path, &["config", "check"], &[]).output().unwrap();
    let text = String::from_utf8(checked.stderr).unwrap();
    assert!(checked.status.success() && text.contains("the certificate expires in 1 days"), "{text}");
    let doctor = command(path, &["doctor", "--language", "en"], &[]).output().unwrap();
    let text = String::from_utf8(doctor.stdout).unwrap();
    assert!(text.contains("! certificate: it expires at "), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_certificate_is_served_without_a_restart() {
    let desk = Desk::start(&[]);
    let path = desk.directory.path().to_owned();
    assert_eq!(desk.served(), pem(&path));
    let metric = "deskpass_tls_certificate_expiry_timestamp_seconds";
    assert!(desk.get("/metrics", &[]).1.contains(metric));

    // A broken one changes nothing, whether it is found by a reload or by the service itself.
    let old = pem(&path);
    let (key, whole) = (path.join("key.pem"), std::fs::read_to_string(path.join("certificate.pem")).unwrap());
    desk.write("certificate.pem", "not a certificate");
    let (success, text) = desk.reload();
    assert!(!success && text.contains("server.tls.certificate certificate.pem"), "{text}");
    assert_eq!(desk.served(), old);
    desk.write("certificate.pem", &whole);

    // A reload takes a new one at once.
    let new = with_certificate();
    for name in ["key.pem", "certificate.pem"] {
        std::fs::copy(new.path().join(name), path.join(name)).unwrap();
    }
    let (success, text) = desk.reload();
    assert!(success, "{text}");
    assert_eq!(desk.served(), pem(new.path()));

    // One that has expired does not replace it.
    let mut openssl = Command::new("openssl");
    openssl.current_dir(new.path()).args(["x509", "-in", "certificate.pem", "-signkey", "key.pem", "-days", "0"]);
    assert!(openssl.arg("-out").arg(path.join("certificate.pem")).status().unwrap().success());
    let (success, text) = desk.reload();
    assert!(!success && text.contains("it has expired at "), "{text}");
    assert_eq!(desk.served(), pem(new.path()));

    // Without a reload, the service finds the next one by itself. For a while the two files do not match.
    let newest = with_certificate();
    std::fs::copy(newest.path().join("certificate.pem"), path.join("certificate.pem")).unwrap();
    std::fs::copy(newest.path().join("key.pem"), &key).unwrap();
    until("the newest certificate", async || desk.served() == pem(newest.path())).await;
    let (code, log) = desk.process.terminate();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("certificate replaced") && log.contains("nothing was changed"), "{log}");
}

#[tokio::test]
async fn a_handshake_that_takes_too_long_is_closed() {
    let desk = Desk::start(&[("server.header_timeout", "300ms")]);
    // Nothing, and the beginning of a record.
    for sent in [&b""[..], b"\x16\x03\x01\x02\x00\x01"] {
        let mut stream = TcpStream::connect(&desk.process.address).await.unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut stream, sent).await.unwrap();
        let ended = timeout(Duration::from_secs(10), stream.read_to_end(&mut Vec::new())).await;
        assert!(ended.is_ok(), "{sent:?}: still open");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn held_handshakes_give_way_to_other_clients() {
    let desk = Desk::start(&[("server.max_connections", "4"), ("server.header_timeout", "1h")]);
    let mut held = Vec::new();
    for _ in 0..20 {
        held.push(TcpStream::connect(&desk.process.address).await.unwrap());
    }
    let (_, text) = desk.get("/healthz", &[]);
    assert!(text.contains("HTTP/1.1 200"), "{text}");
}

#[test]
fn a_socket_works_over_tls() {
    let desk = Desk::start(&[]);
    let (json, close) = (("content-type", "application/json"), ("connection", "close"));
    let login = request("POST", "/api/dev/login", &[json, close], br#"{"employee_id":"user01"}"#);
    let (_, text) = desk.send(&login, &[]);
    let body = text.lines().find(|line| line.starts_with('{')).unwrap_or_else(|| panic!("{text}"));
    // What openssl prints at the end may follow in the same line.
    let body = serde_json::Deserializer::from_str(body).into_iter::<Value>().next().unwrap().unwrap();
    let bearer = format!("Bearer {}", body["data"]["token"].as_str().unwrap());
    let mut client = desk.openssl(&["-quiet"]);
    let mut stdin = client.stdin.take().unwrap();
    stdin.write_all(&handshake("/api/ws/employee", &[("authorization", &bearer)])).unwrap();
    let (mut stdout, mut read) = (client.stdout.take().unwrap(), Vec::new());
    while !String::from_utf8_lossy(&read).contains("\"event\":\"ready\"") {
        let mut piece = [0; 512];
        let count = stdout.read(&mut piece).unwrap();
        assert_ne!(count, 0, "it ended: {}", String::from_utf8_lossy(&read));
        read.extend(&piece[..count]);
    }
    assert!(String::from_utf8_lossy(&read).starts_with("HTTP/1.1 101"));
    client.kill().unwrap();
    client.wait().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chromium_shows_the_sign_in_page() {
    let desk = Desk::start(&[]);
    let browser =
        Driver::shared().browser(Options { features: &[Feature::AnyCertificate], ..Options::default() }).await;
    let (_, port) = desk.process.address.rsplit_once(':').unwrap();
    browser.goto(&format!("https://localhost:{port}/")).await;
    // The picture of the QR code comes through the API, and replaces one of a single pixel.
    browser.wait_until("isSecureContext && document.querySelector('#qr')?.naturalWidth > 1").await;
}
