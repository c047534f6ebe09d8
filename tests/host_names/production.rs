//! Production mode: which host names are answered, and to whom.

use serde_json::json;

use super::to;
use crate::harness::{Client, PRODUCTION, Process, TestApp, binary, settings, with_settings};

/// Headers with which a request is a browser's.
const BROWSER: [(&str, &str); 4] = [
    ("cookie", "a=b"),
    ("origin", "https://desk.example.com"),
    ("sec-fetch-site", "same-origin"),
    // All that a page under plain http cannot leave out.
    ("accept-language", ""),
];

/// Headers of programs: of `fetch` in Node.js, and of what says that it is a browser.
const PROGRAM: [(&str, &str); 3] =
    [("accept-language", "*"), ("sec-fetch-mode", "cors"), ("user-agent", "Mozilla/4.0 (compatible)")];

const OWN: [(&str, &str); 4] = [
    ("server.settle", "0s"),
    ("server.hosts", "Desk.internal"),
    ("redirect_origins", "https://pages.example.org"),
    ("trusted_proxies", "127.0.0.9"),
];

const OF_OTHERS: [&str; 6] =
    ["evil.test", "evil.test:8080", "sub.desk.example.com", "desk.example.com..", "desk", "localhost.evil.test"];

async fn production() -> TestApp {
    TestApp::with(settings(&[&PRODUCTION[..], &OWN].concat())).await
}

#[tokio::test]
async fn hosts_of_the_service_are_answered() {
    let app = production().await;
    let mut client = Client::connect_from(&app.address, "127.0.0.2").await;
    for host in [
        "desk.example.com",
        "DESK.example.com:8443",
        "desk.example.com.",
        "localhost:1",
        "127.9.9.9",
        "10.0.0.11:8080",
        "[2001:db8::1]",
        "desk.internal:8080",
        "pages.example.org",
    ] {
        for header in BROWSER {
            assert_eq!(client.send(&to(host, "GET", "/", &[header], "")).await.status, 200, "{host} {header:?}");
        }
    }
}

#[tokio::test]
async fn of_others_no_browser_is_answered() {
    let app = production().await;
    // A proxy may pass on the name of a foreign page, and the browser may be on its machine.
    for (peer, host) in ["127.0.0.2", "127.0.0.9"].into_iter().flat_map(|peer| OF_OTHERS.map(|host| (peer, host))) {
        let mut client = Client::connect_from(&app.address, peer).await;
        for header in BROWSER {
            for path in ["/", "/h5/", "/api/auth/qrcode", "/api/auth/me", "/oidc/jwks", "/metrics", "/nothing"] {
                let answer = client.send(&to(host, "GET", path, &[header], "")).await;
                assert_eq!(answer.status, 403, "{host} {path} {header:?}: {answer:?}");
                assert!(answer.body.contains("server.hosts"), "{answer:?}");
            }
            let login = to(host, "POST", "/api/auth/verify", &[header, ("content-type", "application/json")], "{}");
            assert_eq!(client.send(&login).await.refused(403, 1003).reason(), "unknown_host");
            // Health, and what a proxy asks about a request to another host.
            for path in ["/healthz", "/api/ready", "/version", "/api/version"] {
                assert_eq!(client.send(&to(host, "GET", path, &[header], "")).await.status, 200, "{host} {path}");
            }
            let forwarded = client.send(&to(host, "GET", "/api/auth/forward", &[header], "")).await;
            forwarded.refused(401, 1001);
        }
        // A program, such as a back end that uses a name inside the network.
        let verify = to(host, "POST", "/api/auth/verify", &[("content-type", "application/json")], r#"{"token":"x"}"#);
        assert_eq!(client.send(&verify).await.data()["valid"], false);
        for header in PROGRAM {
            client.send(&to(host, "GET", "/api/auth/me", &[header], "")).await.refused(401, 1001);
        }
    }
    let figures = app.client().await.get("/metrics", &[]).await.body;
    let (answered, refused) = (2 * OF_OTHERS.len() * (1 + PROGRAM.len()), 2 * OF_OTHERS.len() * BROWSER.len() * 8);
    for (outcome, count) in [("ok", answered), ("refused", refused)] {
        let line = format!("deskpass_unlisted_host_requests_total{{outcome=\"{outcome}\"}} {count}\n");
        assert!(figures.contains(&line), "{line} is missing in {figures}");
    }
}

/// Whoever is still answered under a name that is not listed is named in the log, and by the doctor while the service runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forgotten_name_is_told_of() {
    let directory = tempfile::tempdir().unwrap();
    let command = |arguments: &[&str]| {
        let mut command = binary();
        command.args(arguments).arg("--data").arg(directory.path()).current_dir(directory.path());
        with_settings(&mut command, PRODUCTION.into_iter().chain(OWN));
        with_settings(&mut command, [("platform.api_url", "http://127.0.0.1:1")]);
        command
    };
    let process = Process::spawn(command(&["serve", "--listen", "127.0.0.1:0"]));
    let doctor = |language: &str| {
        let output = command(&["doctor", "--language", language]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let mut client = Client::connect_from(&process.address, "127.0.0.2").await;
    let json = [("content-type", "application/json")];
    client.send(&to("desk.internal", "POST", "/api/auth/verify", &json, r#"{"token":"x"}"#)).await.data();
    assert!(!doctor("en").contains("host names"), "{}", doctor("en"));
    for _ in 0..3 {
        client.send(&to("Help-Desk:8080", "POST", "/api/auth/verify", &json, r#"{"token":"x"}"#)).await.data();
    }
    // Somebody makes up names; that leaves the others in the list.
    let mut flood = Client::connect_from(&process.address, "127.0.1.2").await;
    for number in 0..40 {
        let host = format!("made-up-{number}.test");
        flood.send(&to(&host, "POST", "/api/auth/verify", &json, r#"{"token":"x"}"#)).await.data();
    }
    // What is refused is not told of: it is no name of the service.
    client.send(&to("evil.test", "GET", "/", &[BROWSER[0]], "")).await.refused(403, 1003);
    let (english, chinese) = (doctor("en"), doctor("zh"));
    assert!(
        english.contains("! host names: ") && english.contains("  help-desk:8080: 3 request(s), the last at "),
        "{english}"
    );
    assert!(english.contains("server.hosts") && !english.contains("evil.test"), "{english}");
    assert!(chinese.contains("! 主机名：") && chinese.contains("help-desk:8080：3"), "{chinese}");
    let (_, log) = process.terminate();
    assert_eq!(log.to_lowercase().matches("help-desk:8080").count(), 1, "once a minute: {log}");
    let lines = log.matches("add it to server.hosts").count();
    assert!((1..=3).contains(&lines), "{lines}: {log}");
}

/// Behind a frequent request that is answered without the HTTP library.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frequent_request_is_answered_as_any_other() {
    let app = TestApp::start().await;
    let mut client = app.client().await;
    let token = client.sign_in("user01").await;
    let bearer = format!("Bearer {token}");
    for _ in 0..3 {
        client.me(&token).await.data();
    }
    let me = |host, more: &[(&str, &str)]| {
        to(host, "GET", "/api/auth/me", &[&[("authorization", &*bearer)], more].concat(), "")
    };
    assert_eq!(client.send(&me("evil.test", &[])).await.refused(403, 1003).reason(), "unknown_host");
    let foreign = client.send(&me("localhost", &[("sec-fetch-site", "cross-site")])).await;
    assert_eq!(foreign.refused(403, 1003).reason(), "foreign_origin");
    let verify = json!({ "token": token }).to_string();
    let headers = [("content-type", "application/json"), ("sec-fetch-site", "cross-site")];
    let verified = client.send(&to("localhost", "POST", "/api/auth/verify", &headers, &verify)).await;
    assert_eq!(verified.refused(403, 1003).reason(), "foreign_origin");
    client.send(&me("localhost", &[("sec-fetch-site", "same-origin")])).await.data();
}
