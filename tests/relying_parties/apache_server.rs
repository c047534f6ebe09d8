//! Apache with `mod_auth_openidc`, on ports and in a directory of its own.

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use deskpass_core::oidc::{ClientRegistration, SigningAlgorithm};
use tempfile::TempDir;

use super::program::scripts;
use super::registration;
use crate::harness::{TestApp, free_address, until};

/// What a protected page shows: the user, the groups, the name.
const PAGE: &str = concat!(
    r#"<p>user <!--#echo var="REMOTE_USER" --></p><p>groups <!--#echo var="OIDC_CLAIM_groups" --></p>"#,
    r#"<p>name <!--#echo var="OIDC_CLAIM_name" --></p>"#
);
pub(super) const MODULES: &str = "/usr/lib/apache2/modules";

/// A server with hosts that are clients of the service.
#[derive(Debug)]
pub(super) struct Apache {
    directory: TempDir,
    hosts: Vec<String>,
    child: Option<Child>,
}

impl Apache {
    /// Registers a host for each of these algorithms, and starts the server.
    pub(super) async fn start(app: &TestApp, issuer: &str, algorithms: &[SigningAlgorithm]) -> Self {
        let mut hosts = Vec::new();
        let mut text = String::new();
        let template = fs::read_to_string(scripts().join("apache_host.conf")).unwrap();
        for &algorithm in algorithms {
            let address = free_address();
            let origin = format!("http://{address}");
            let registration = ClientRegistration {
                algorithm,
                backchannel_logout_uri: Some(format!("{origin}/cb?logout=backchannel")),
                ..registration(&format!("Apache {}", algorithm.name()), &origin, "/cb")
            };
            let client = app.oidc_client(registration).await;
            let host = template.replace("{address}", &address).replace("{client_id}", &client.id);
            let host = host.replace("{client_secret}", client.secret.as_deref().unwrap());
            text += &host.replace("{algorithm}", algorithm.name());
            hosts.push(origin);
        }
        let directory = tempfile::tempdir().unwrap();
        write_files(directory.path(), issuer, &text);
        Self::on(directory, hosts).await
    }

    /// Starts a server with the settings in this directory, which are for these hosts.
    pub(super) async fn on(directory: TempDir, hosts: Vec<String>) -> Self {
        let mut this = Self { directory, hosts, child: None };
        this.start_again().await;
        this
    }

    /// An address of a host, by its number.
    pub(super) fn at(&self, host: usize, path: &str) -> String {
        format!("{}{path}", self.hosts[host])
    }

    /// Stops the server at once. Its sessions stay in files.
    pub(super) fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Starts it, on the same ports, and waits until it listens.
    pub(super) async fn start_again(&mut self) {
        // One process, without children that would outlive it.
        let mut command = Command::new("/usr/sbin/apache2");
        command.arg("-X").arg("-f").arg(self.directory.path().join("httpd.conf"));
        let errors = fs::File::create(self.directory.path().join("start.log")).unwrap();
        let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
        self.child = Some(command.spawn().expect("run tools/relying-parties first"));
        let port = self.hosts[0].strip_prefix("http://").unwrap();
        until("Apache listens", async || TcpStream::connect(port).is_ok()).await;
    }

    /// What it wrote to its logs.
    pub(super) fn log(&self) -> String {
        let read = |name: &str| fs::read_to_string(self.directory.path().join(name)).unwrap_or_default();
        read("start.log") + &read("log")
    }
}

impl Drop for Apache {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Writes the settings and the pages.
fn write_files(directory: &Path, issuer: &str, hosts: &str) {
    let text = fs::read_to_string(scripts().join("apache.conf")).unwrap();
    let text = text.replace("{directory}", directory.to_str().unwrap()).replace("{modules}", MODULES);
    fs::write(directory.join("httpd.conf"), text.replace("{issuer}", issuer).replace("{hosts}", hosts)).unwrap();
    for folder in ["cache", "pages/staff", "pages/agents"] {
        fs::create_dir_all(directory.join(folder)).unwrap();
    }
    for folder in ["staff", "agents"] {
        fs::write(directory.join("pages").join(folder).join("index.html"), PAGE).unwrap();
    }
    fs::write(directory.join("pages/bye"), "bye").unwrap();
    for folder in [directory.to_owned(), directory.join("cache")] {
        open_to_apache(&folder);
    }
}

/// Lets Apache write to a folder: one that root starts changes to a user of its own.
pub(super) fn open_to_apache(folder: &Path) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).unwrap();
}
