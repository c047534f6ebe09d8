//! What is released, packed by `tools/dist` around the program under test: installed, started and asked.

mod contents;
mod service_manager;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::{PRODUCTION, free_address};

const OPERATIONS: &str = include_str!("../docs/operations.md");

/// The longest time from the package to a service in production mode.
const MAX_INSTALL_TIME: Duration = Duration::from_mins(2);

/// The root of the repository.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Runs a command to its end; returns what it printed.
fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let [printed, errors] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(output.status.success(), "{command:?}: {}\n{printed}\n{errors}", output.status);
    printed
}

/// The directory with everything that is released. It is made once, and replaced in the next run.
fn dist() -> &'static Path {
    static DIST: LazyLock<PathBuf> = LazyLock::new(|| {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dist");
        let mut command = Command::new(repository().join("tools/dist"));
        command.args(["--quick", "--binary", env!("CARGO_BIN_EXE_deskpass"), "--out"]).arg(&directory);
        output(command.env("CARGO", env!("CARGO")).env("CARGO_NET_OFFLINE", "true"));
        directory
    });
    &DIST
}

/// The only file of the release whose name ends like this.
fn file(ending: &str) -> PathBuf {
    let files = std::fs::read_dir(dist()).unwrap().map(|entry| entry.unwrap().path());
    let mut files = files.filter(|path| path.to_str().unwrap().ends_with(ending));
    let file = files.next().expect(ending);
    assert_eq!(files.next(), None, "two files end with {ending}");
    file
}

/// A script of this suite that needs root: for mounts, other users and a root directory of its own.
fn as_root(script: &str) -> Command {
    let script = repository().join("tests/packages").join(script);
    if rustix::process::geteuid().is_root() {
        return Command::new(script);
    }
    let mut command = Command::new("sudo");
    command.arg("-n").arg(script);
    command
}

/// The commands of a section of the operations document.
fn commands(heading: &str) -> String {
    let (_, section) = OPERATIONS.split_once(&format!("\n### {heading}\n")).expect(heading);
    let section = section.split("\n##").next().unwrap();
    let blocks = section.split("```sh\n").skip(1);
    blocks.map(|block| block.split_once("```").expect("the end of the block").0).collect()
}

#[test]
fn the_package_installs_and_starts_with_the_documented_commands() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let [desk, platform] = [free_address(), free_address()].map(|address| address.replace("127.0.0.1", ""));
    let typed = commands("Install from a package").replace(":8080", &desk).replace(":8090", &platform);
    let package = format!("deskpass_{}_amd64.deb", env!("CARGO_PKG_VERSION"));
    assert!(typed.contains(&package), "the document names another version than {package}: {typed}");
    let typed = typed.replace(&package, file(".deb").file_name().unwrap().to_str().unwrap());
    let checks = r#"
        { grep -hs -A 8 '^Name:.deskpass$' /proc/[0-9]*/status || true; } | grep -c "^Uid:.$(id -u deskpass)\b"
        stat -c '%U:%G %a' /etc/deskpass/deskpass.toml /var/lib/deskpass
        systemd-analyze verify --man=no deskpass.service deskpass.socket
        systemd-analyze security --offline=yes --threshold=20 /usr/lib/systemd/system/deskpass.service | tail -n 1
        gzip -t /usr/share/man/man1/deskpass-serve.1.gz
        dpkg --purge deskpass
        ls /var/lib/deskpass/deskpass.db
        if ls /usr/bin/deskpass || ls /etc/deskpass; then exit 1; fi"#;
    let script = format!("exec 2>&1\nset -euo pipefail\n{typed}\n{checks}\n");
    let began = Instant::now();
    let text = output(as_root("in_copy_of_root").arg(place.path()).arg(dist()).arg(script));
    assert!(began.elapsed() < MAX_INSTALL_TIME, "it took {:?}\n{text}", began.elapsed());
    for expected in [
        "the settings are valid (production mode)",
        "admin01 was added with admin, user",
        "\"ready\":true",
        "\n1\nroot:deskpass 640\ndeskpass:deskpass 700\n",
        "the data in /var/lib/deskpass is kept",
    ] {
        assert!(text.contains(expected), "{expected:?} is missing in\n{text}");
    }
}

/// A blob of the image, which its digest names.
fn blob(image: &Path, descriptor: &Value) -> Vec<u8> {
    let digest = descriptor["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
    let path = image.join("blobs/sha256").join(digest);
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(descriptor["size"], bytes.len());
    assert!(output(Command::new("sha256sum").arg(&path)).starts_with(digest), "{digest}");
    bytes
}

#[test]
fn the_image_runs_with_a_read_only_root_and_answers() {
    let (image, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap());
    output(Command::new("tar").arg("-xf").arg(file(".oci.tar")).arg("-C").arg(image.path()));
    let json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
    let index = json(&std::fs::read(image.path().join("index.json")).unwrap());
    let manifest = json(&blob(image.path(), &index["manifests"][0]));
    let config = json(&blob(image.path(), &manifest["config"]))["config"].take();
    assert_eq!(config["Labels"]["org.opencontainers.image.version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(config["Healthcheck"]["Test"], serde_json::json!(["CMD", "/usr/bin/deskpass", "ready"]));
    assert_eq!([&config["Entrypoint"][0], &config["Cmd"][0]], ["/usr/bin/deskpass", "serve"]);
    assert_eq!(manifest["layers"].as_array().unwrap().len(), 1, "from scratch");
    let layer = manifest["layers"][0]["digest"].as_str().unwrap().replace(':', "/");
    blob(image.path(), &manifest["layers"][0]);

    let address = free_address();
    let mut command = as_root("in_read_only_root");
    command.arg(place.path()).arg(image.path().join("blobs").join(layer));
    command.arg(config["User"].as_str().unwrap()).arg(&address);
    command.args(config["Env"].as_array().unwrap().iter().map(|variable| variable.as_str().unwrap()));
    command.arg(format!("DESKPASS_LISTEN={address}"));
    command.args(PRODUCTION.map(|(key, value)| format!("DESKPASS_{}={value}", key.to_uppercase().replace('.', "__"))));
    let report = output(&mut command);
    assert!(report.contains("\"ready\":true") && report.contains("\"mode\":\"production\""), "{report}");
}
