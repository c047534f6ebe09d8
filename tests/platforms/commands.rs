//! The commands of every platform: `serve --dev --platform`, `simulate --platform` with a service in production mode, `explain`. The
//! doctor has tests of its own.

use std::path::Path;
use std::process::Command;

use deskpass_platform::PlatformKind;

use crate::cli_simulate::{Simulated, settings};
use crate::harness::{
    Client, Messenger, Process, binary, cookies, fragment, free_address, location, on_platform, platform_kind, target,
    with_settings,
};

/// `deskpass serve --dev --platform KIND` on a directory of its own.
fn served(directory: &Path) -> Process {
    Process::serve(&directory.join("data"), &["--platform", platform_kind().name()])
}

/// A command of an operator in that directory.
fn operator(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = binary();
    with_settings(&mut command, [("platform.kind", platform_kind().name())]);
    command.current_dir(directory).args(arguments).arg("--dev");
    command
}

on_every_platform! {
    async fn ready_names_the_platform(app) {
        let ready = app.client().await.get("/api/ready", &[]).await.data();
        assert_eq!((&ready["platform_kind"], &ready["mode"]), (&platform_kind().name().into(), &"development".into()));
    }

    /// What the README promises: one command, and a script that plays the phone.
    async fn one_command_serves_and_a_script_plays_the_phone() {
        let directory = tempfile::tempdir().unwrap();
        let process = served(directory.path());
        let mut client = Client::connect(&process.address).await;
        let token = client.sign_in_by_phone("agent01").await;
        assert_eq!(client.me(&token).await.data()["corp_id"], Messenger::current().corp_id);
        let index = client.get("/sim", &[]).await;
        assert!(platform_kind().title().iter().any(|title| index.body.contains(title)), "{}", index.body);
    }

    /// A refused person tells the reference, and the operator learns why, in words that name the right platform.
    async fn explain_names_the_platform() {
        let directory = tempfile::tempdir().unwrap();
        let process = served(directory.path());
        let mut client = Client::connect(&process.address).await;
        let qrcode = client.qrcode().await;
        let reference = fragment(&client.scan(&qrcode, "outsider01").await, "ref");
        let others = Messenger::current().other_titles();
        for (language, title) in ["en", "zh"].into_iter().zip(platform_kind().title()) {
            let arguments = ["explain", "ref", &reference, "--language", language];
            let output = operator(directory.path(), &arguments).output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(output.status.success() && text.contains(title), "{text}");
            assert!(!others.iter().any(|other| text.contains(other)) && !text.contains("{platform"), "{text}");
        }
    }
}

/// Starts `simulate`, and a service in production mode with nothing but the settings that it prints; signs in with a phone.
async fn with_printed_settings() {
    let directory = tempfile::tempdir().unwrap();
    let port = free_address().split_once(':').unwrap().1.to_owned();
    let public_url = format!("http://localhost:{port}");
    let mut simulated = Simulated::start(&["--platform", platform_kind().name(), "--public-url", &public_url]);
    std::fs::write(directory.path().join("deskpass.toml"), settings(&simulated.until("People"))).unwrap();
    let mut serve = binary();
    serve.current_dir(directory.path()).arg("serve");
    let process = Process::spawn(serve);
    let mut client = Client::connect(&process.address).await;
    let qrcode = client.qrcode().await;
    let (mut link, mut kept) = (qrcode["qrcode_url"].as_str().unwrap().to_owned(), String::new());
    if Messenger::current().registers_addresses() {
        let answer = client.load_on_phone(&target(&link), "").await;
        (link, kept) = (location(&answer).to_owned(), cookies(&answer));
    }
    assert!(link.starts_with(&format!("http://{}/sim/", simulated.address)), "{link}");
    let back = Client::connect(&simulated.address).await.authorize(&link, "user01").await;
    let landed = client.load_on_phone(&target(&back), &kept).await;
    client.decide("confirm", &fragment(location(&landed), "confirm")).await.data();
    let status = client.scan_status(qrcode["ticket"].as_str().unwrap()).await;
    assert_eq!((&status["employee_id"], &status["name"]), (&"user01".into(), &"Uma User".into()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_production_service_with_the_printed_settings_signs_in_on_each_platform() {
    for kind in PlatformKind::ALL {
        on_platform(kind, with_printed_settings()).await;
    }
}
