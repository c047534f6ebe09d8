//! The connection to PostgreSQL is encrypted and its server verified, or there is no connection.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::harness::{Client, ClusterStore, Process, Servers, binary};

/// A self-signed certificate for this machine.
pub(crate) fn certificate(directory: &Path) -> (String, String) {
    let at = |name: &str| directory.join(name).display().to_string();
    let (key, certificate) = (at("key.pem"), at("certificate.pem"));
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]);
    openssl.args(["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]);
    openssl.args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout", &key, "-out", &certificate]);
    assert!(openssl.stderr(Stdio::null()).status().unwrap().success());
    (key, certificate)
}

/// Has PostgreSQL use TLS from now on.
fn encrypt(place: &ClusterStore, key: &str, certificate: &str) {
    for (name, file) in [("key", key), ("crt", certificate)] {
        let text = std::fs::read_to_string(file).unwrap();
        // The server writes the files, so that it owns them.
        place.query(&format!(
            "COPY (SELECT regexp_split_to_table('{}', E'\\n')) TO PROGRAM 'umask 077; cat > server.{name}'",
            text.trim()
        ));
    }
    place.query("ALTER SYSTEM SET ssl = on");
    place.query("SELECT pg_reload_conf()");
    // The server reloads its settings asynchronously.
    let began = std::time::Instant::now();
    while place.query("SHOW ssl") != ["on"] {
        assert!(began.elapsed() < std::time::Duration::from_secs(10));
    }
}

fn required(place: &ClusterStore) -> ClusterStore {
    ClusterStore { store: format!("{}&sslmode=require", place.store), ..place.clone() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_is_believed_only_with_a_certificate_of_a_trusted_authority() {
    let (servers, directory) = (Servers::private(), tempfile::tempdir().unwrap());
    let place = servers.cluster_store();
    let refusal = |place: &ClusterStore, more: &[(&str, &str)]| {
        let mut command = binary();
        command.args(["migrate", "--dev"]).current_dir(std::env::temp_dir());
        for (key, value) in place.settings().iter().chain(more) {
            command.env(format!("DESKPASS_{}", key.to_uppercase().replace('.', "__")), value);
        }
        let output = command.output().unwrap();
        assert!(!output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let report = refusal(&required(&place), &[]);
    assert!(report.contains("TLS") || report.contains("does not support"), "{report}");

    let (key, authority) = certificate(directory.path());
    encrypt(&place, &key, &authority);
    let report = refusal(&required(&place), &[]);
    assert!(report.contains("certificate"), "{report}");
    let report = refusal(&required(&place), &[("tls.ca_file", "/nowhere/at.all")]);
    assert!(report.contains("tls.ca_file"), "{report}");

    let node = Process::node(&required(&place), &[("tls.ca_file", &authority)]);
    let mut client = Client::connect(&node.address).await;
    let token = client.sign_in("admin01").await;
    assert!(client.is_valid(&token).await);
    let plain = "SELECT count(*) FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid)
        WHERE a.application_name = 'deskpass' AND NOT s.ssl";
    assert_eq!(place.query(plain), ["0"]);
    assert_ne!(place.query(&plain.replace("NOT s.ssl", "s.ssl")), ["0"]);
}
