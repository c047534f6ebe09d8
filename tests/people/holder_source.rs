//! Ids of people are compared within the application that said them: another one has other ids of the same people.

use deskpass_platform::PlatformKind;
use serde_json::json;

use super::change;
use crate::harness::{Client, Process, binary, fragment, on_platform, with_settings};

/// A service in a process of its own, with an application of DingTalk.
async fn served(data: &std::path::Path, client_id: &str) -> (Process, Client) {
    let mut command = binary();
    command.args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data"]).arg(data);
    with_settings(&mut command, [("platform.kind", "dingtalk"), ("platform.client_id", client_id)]);
    let process = Process::spawn(command);
    let client = Client::connect(&process.address).await;
    (process, client)
}

/// Signs in; returns the roles, or the word of the refusal.
async fn roles_or_refusal(client: &mut Client, who: &str) -> String {
    let qrcode = client.qrcode().await;
    let scanned = client.scan(&qrcode, who).await;
    if !scanned.contains("confirm=") {
        return fragment(&scanned, "error");
    }
    let token = client.sign_in_by_phone(who).await;
    client.verify(&token).await["roles"].to_string()
}

/// Stops a service; returns how many lines of its log say that holders are learned anew.
fn learned_anew(process: Process) -> usize {
    let log = process.terminate().1;
    log.lines().filter(|line| line.contains("another application than before")).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_application_learns_anew_who_holds_an_identifier() {
    let test = async {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("data");
        let another = json!({ "another_person": true });
        let (process, mut client) = served(&data, "dingclientdeskpass").await;
        for who in ["admin01", "supervisor01"] {
            client.sign_in_by_phone(who).await;
        }
        change(&mut client, "supervisor01", &another).await;
        assert_eq!(roles_or_refusal(&mut client, "supervisor01").await, "holder_unconfirmed");
        assert_eq!(learned_anew(process), 0);

        // The simulated platform has forgotten the change, but a doubt is for an operator to settle.
        let (process, mut client) = served(&data, "dinganother").await;
        assert_eq!(roles_or_refusal(&mut client, "supervisor01").await, "holder_unconfirmed");
        change(&mut client, "admin01", &another).await;
        assert!(roles_or_refusal(&mut client, "admin01").await.contains("\"admin\""));
        assert_eq!(learned_anew(process), 1);

        // What was learned is compared, and the log says it once.
        let (process, mut client) = served(&data, "dinganother").await;
        assert_eq!(roles_or_refusal(&mut client, "admin01").await, "holder_unconfirmed");
        assert_eq!(learned_anew(process), 0);
    };
    Box::pin(on_platform(PlatformKind::Dingtalk, test)).await;
}
