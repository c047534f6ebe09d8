//! Secrets are put in everywhere and must come out nowhere.

use std::process::Stdio;

use serde_json::json;

use crate::harness::{Client, PRODUCTION, Process, binary, cookies, fragment, location, request};

/// Everything a client can do wrong with a token in its hand; returns every answer but the ones that hand the token over.
async fn misuse(client: &mut Client, token: &str) -> Vec<String> {
    let bearer = format!("Bearer {token}");
    let json = ("content-type", "application/json");
    let mut out = Vec::new();
    let mut note = |answer: crate::harness::Response| out.push(format!("{:?} {}", answer.headers, answer.body));
    note(client.post("/api/auth/verify", &[], &json!({ "token": token })).await);
    note(client.me(token).await);
    note(client.switch(token, token).await.clone());
    note(client.post(&format!("/api/auth/{token}"), &[], &json!({})).await);
    note(client.get(&format!("/api/auth/me?token={token}&ticket={token}"), &[("cookie", token)]).await);
    note(client.get("/api/auth/me", &[("authorization", &format!("Basic {token}"))]).await);
    note(client.get("/api/auth/me", &[("authorization", &bearer), ("authorization", &bearer)]).await);
    note(client.send(&request("POST", "/api/auth/verify", &[json], format!("{{\"token\":{token}}}").as_bytes())).await);
    note(client.send(&request("POST", "/api/auth/verify", &[], token.as_bytes())).await);
    note(
        client.post("/api/auth/bind", &[("user-agent", "x")], &json!({ "employee_id": token.replace('_', "/") })).await,
    );
    note(client.post("/api/dev/login", &[], &json!({ "employee_id": "user01", "role": "nothing" })).await);
    note(client.logout(token).await);
    note(client.me(token).await);
    note(client.get("/metrics", &[]).await);
    out
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_reaches_no_log_no_error_no_figure_and_no_file() {
    let directory = tempfile::tempdir().unwrap();
    for format in ["json", "text"] {
        let mut command = binary();
        command.args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data"]).arg(directory.path());
        command.env("DESKPASS_LOG__LEVEL", "trace").env("DESKPASS_LOG__FORMAT", format);
        let log = tempfile::NamedTempFile::new().unwrap();
        command.stderr(Stdio::from(log.reopen().unwrap()));
        let process = Process::spawn(command);
        let mut client = Client::connect(&process.address).await;
        let token = client.sign_in("admin01").await;
        let random = &token[4..47];
        // A role asked for is named in the refusal, so that people see what they mistyped; nothing else is repeated.
        let answers = misuse(&mut client, &token).await;
        let repeated: Vec<_> = answers.iter().filter(|answer| answer.contains(random)).collect();
        assert_eq!(repeated.len(), 1, "{repeated:?}");
        assert!(repeated[0].contains("role_not_held"));
        process.kill();
        let log = std::fs::read_to_string(log.path()).unwrap();
        assert!(log.contains("answered") && log.contains("signed in"), "the log is silent: this test looks at nothing");
        assert!(!log.contains(random), "the log has the token");
        for entry in std::fs::read_dir(directory.path()).unwrap() {
            let path = entry.unwrap().path();
            if !path.is_file() {
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            assert!(!bytes.windows(random.len()).any(|window| window == random.as_bytes()), "{path:?} has the token");
        }
    }
}

#[test]
fn settings_that_are_secret_stay_so() {
    let secrets = [PRODUCTION[1].1, PRODUCTION[3].1];
    let directory = tempfile::tempdir().unwrap();
    let production = |arguments: &[&str]| {
        let mut command = binary();
        command.current_dir(directory.path()).args(arguments);
        for (key, value) in PRODUCTION {
            command.env(format!("DESKPASS_{}", key.to_uppercase().replace('.', "__")), value);
        }
        command.env("DESKPASS_LOG__LEVEL", "trace");
        command
    };
    for arguments in [
        &["config", "show"][..],
        &["config", "check"],
        &["migrate"],
        &["employee", "list"],
        &["serve", "--listen", "nonsense"],
    ] {
        let output = production(arguments).output().unwrap();
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(!text.is_empty());
        for secret in secrets {
            assert!(!text.contains(secret), "{arguments:?} told a secret:\n{text}");
        }
    }
    let process = Process::spawn(production(&["serve", "--listen", "127.0.0.1:0"]));
    let (code, log) = process.terminate();
    assert_eq!(code, Some(0));
    assert!(!secrets.iter().any(|secret| log.contains(secret)));
}

/// Everything that opens something on the way through the platform, as it comes by.
async fn sign_in_every_way(client: &mut Client, address: &str) -> Vec<String> {
    let page = format!("http://{address}/h5/");
    let page_of_ours = client.get("/api/auth/qrcode", &[("sec-fetch-site", "same-origin")]).await;
    let browser = cookies(&page_of_ours);
    let code = client.qrcode().await;
    let scan_id = code["qrcode_url"].as_str().unwrap().split_once("sid%3D").unwrap().1[..53].to_owned();
    let confirm = client.scan_as(&code, "user01").await;
    client.decide("confirm", &confirm).await.data();
    let ticket = code["ticket"].as_str().unwrap().to_owned();
    let token = client.scan_status(&ticket).await["token"].as_str().unwrap().to_owned();
    let (link, flow) = client.set_out(&page).await;
    let back = client.authorize(&link, "user01").await;
    let platform_code = back.split_once("code=").unwrap().1.split('&').next().unwrap().to_owned();
    let landed = location(&client.come_back(&back, &flow).await).to_owned();
    let back = client.authorize(&link, "user01").await;
    let pending = fragment(location(&client.come_back(&back, "").await), "continue");
    let stranger = client.authorize(&link, "wwpartner/partner01").await;
    let proof = cookies(&client.come_back(&stranger, "").await);
    for fault in
        [json!({ "api": "auth/getuserinfo", "errcode": 60020 }), json!({ "drop": true }), json!({ "body": "<html>" })]
    {
        client.fault(&fault).await;
        let back = client.authorize(&link, "user01").await;
        client.come_back(&back, "").await;
    }
    let calls = client.get("/sim/calls", &[]).await.json();
    let access = calls["last"]["auth/getuserinfo"]["pairs"][0][1].as_str().unwrap().to_owned();
    let value = |cookie: &str| cookie.split_once('=').unwrap().1.to_owned();
    let (flow, proof, browser) = (value(&flow), value(&proof), value(&browser));
    vec![
        browser,
        scan_id,
        confirm,
        ticket,
        token,
        flow,
        platform_code,
        fragment(&landed, "ticket"),
        pending,
        proof,
        access,
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_on_the_way_through_the_platform_reaches_log_figure_or_file() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = binary();
    command.args(["serve", "--dev", "--listen", "127.0.0.1:0", "--data"]).arg(directory.path());
    command.env("DESKPASS_LOG__LEVEL", "trace").env("DESKPASS_LOG__FORMAT", "json");
    let log = tempfile::NamedTempFile::new().unwrap();
    command.stderr(Stdio::from(log.reopen().unwrap()));
    let process = Process::spawn(command);
    let mut client = Client::connect(&process.address).await;
    let secrets = sign_in_every_way(&mut client, &process.address).await;
    let figures = client.get("/metrics", &[]).await.body;
    process.kill();
    let log = std::fs::read_to_string(log.path()).unwrap();
    assert!(
        log.contains("signed in") && log.contains("a sign-in failed"),
        "the log is silent: this test looks at nothing"
    );
    assert!(figures.contains("deskpass_platform_sign_ins_refused_total{why=\"platform_unavailable\"} 3"), "{figures}");
    let files: Vec<_> = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    let files: Vec<_> = files.iter().filter(|path| path.is_file()).map(|path| std::fs::read(path).unwrap()).collect();
    for secret in secrets {
        // Our own kinds begin with a prefix that the log may name.
        let random = secret.get(4..47).unwrap_or(&secret);
        assert!(random.len() >= 20, "{secret}");
        for text in [&log, &figures] {
            let at = text.find(random).map(|at| &text[at.saturating_sub(300)..at]);
            assert_eq!(at, None, "{secret} is told");
        }
        assert!(
            !files.iter().any(|file| file.windows(random.len()).any(|window| window == random.as_bytes())),
            "{secret} is on disk"
        );
    }
    // What the platform is asked with is in the address of the question, which nobody may write down.
    assert!(!log.contains("corpsecret") && !log.contains("access_token="), "an address of the platform's is told");
}
