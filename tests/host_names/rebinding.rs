//! DNS rebinding: a hostile page in a real browser, whose host name resolves to this machine.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use crate::harness::{Browser, Driver, Options, PRODUCTION, TestApp, settings};

const PAGE: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\ncontent-length: 16\r\n\r\n<p>evil page</p>";

/// An attacker's server: it has a page of its own, and forwards everything else to the service, as after its name was made to
/// resolve to the service's machine. To the browser both are one origin.
async fn attacker(app: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, app.clone()));
        }
    });
    format!("http://evil.test:{port}")
}

async fn serve(mut stream: TcpStream, app: String) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { return };
        head.push(byte);
    }
    if head.starts_with(b"GET /attack ") {
        drop(stream.write_all(PAGE.as_bytes()).await);
        return;
    }
    let mut app = TcpStream::connect(app).await.unwrap();
    app.write_all(&head).await.unwrap();
    drop(copy_bidirectional(&mut stream, &mut app).await);
}

/// Sends a request from the hostile page, and returns the text that the page could read.
async fn fetched(browser: &Browser, path: &str, options: Value) -> String {
    let script = "return fetch(arguments[0], arguments[1]).then(answer => answer.text(), error => `${error}`)";
    browser.script(script, &[path.into(), options]).await.as_str().unwrap().to_owned()
}

/// Posts a form from the hostile page, as if its visitor had, and waits for the response to be shown.
async fn posted(browser: &Browser, url: &str, text: &str) -> String {
    let script = "const [form, field] = ['form', 'input'].map(name => document.createElement(name)); \
                  Object.assign(form, { method: 'POST', enctype: 'text/plain', action: arguments[0] }); \
                  const [name, value] = arguments[1].split('='); Object.assign(field, { name, value }); \
                  form.append(field); document.body.append(form); form.submit()";
    browser.script(script, &[url.into(), text.into()]).await;
    browser.wait_until("location.hostname !== 'evil.test' && document.readyState === 'complete'").await;
    browser.script("return document.body.innerText", &[]).await.as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gets_no_token_and_changes_nothing() {
    let app = TestApp::start().await;
    let mut client = app.client().await;
    // The platform gets an access token, which an attack could revoke.
    let code = client.qrcode().await;
    client.scan_as(&code, "user01").await;
    let driver = Driver::shared();
    let rules = Some("MAP evil.test 127.0.0.1");
    let browser = driver.browser(Options { resolver_rules: rules, ..Options::default() }).await;
    let evil = attacker(app.address.clone()).await;
    browser.goto(&format!("{evil}/attack")).await;
    assert_eq!(browser.text("p").await, "evil page");

    let login = json!({ "employee_id": "admin01" }).to_string();
    let headers = json!({ "content-type": "application/json" });
    let post = json!({ "method": "POST", "headers": headers, "body": login });
    for (path, options) in [
        ("/api/dev/login", post),
        ("/", json!({})),
        ("/sim/inbox", json!({})),
        ("/sim/faults", json!({ "method": "DELETE" })),
    ] {
        let read = fetched(&browser, path, options).await;
        assert!(read.contains("unknown_host"), "{path}: {read}");
    }

    let at = format!("http://{}", app.address);
    let blind = |method: &str, body: &str| json!({ "method": method, "mode": "no-cors", "body": body });
    fetched(&browser, &format!("{at}/sim/void-tokens"), blind("POST", "")).await;
    fetched(&browser, &format!("{at}/api/dev/login"), blind("POST", &login)).await;
    for path in ["/sim/void-tokens", "/api/dev/login"] {
        browser.goto(&format!("{evil}/attack")).await;
        let shown = posted(&browser, &format!("{at}{path}"), r#"{"employee_id":"admin01","x":"=y"}"#).await;
        assert!(shown.contains("foreign_origin"), "{path}: {shown}");
    }
    // A foreign page may still link to the platform's own page.
    browser.goto(&format!("{evil}/attack")).await;
    browser.script("location.href = arguments[0]", &[format!("{at}/sim").into()]).await;
    browser.wait_until("document.title.includes('simulated platform')").await;

    assert_eq!(app.query("SELECT count(*) FROM session"), ["0"]);
    let voided = client.send(&crate::harness::request("POST", "/sim/void-tokens", &[], b"")).await.json();
    assert_eq!(voided, json!({ "voided": 1 }), "the platform's token was still good");
}

/// The browser is on the machine of the service, whose peers there are trusted proxies. Under plain http it sends neither `Origin` nor
/// `Sec-Fetch-…` for what a page reads from its own origin.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_nothing_in_production() {
    let app = TestApp::with(settings(&[&PRODUCTION[..], &[("server.settle", "0s")]].concat())).await;
    let driver = Driver::shared();
    let rules = Some("MAP evil.test 127.0.0.1");
    let browser = driver.browser(Options { resolver_rules: rules, ..Options::default() }).await;
    let evil = attacker(app.address.clone()).await;
    browser.goto(&format!("{evil}/attack")).await;
    assert_eq!(browser.text("p").await, "evil page");
    let disguised = json!({ "headers": { "user-agent": "curl/8.0", "accept-language": "" } });
    for path in ["/", "/metrics", "/api/auth/qrcode", "/api/auth/me", "/.well-known/openid-configuration"] {
        for options in [json!({}), disguised.clone()] {
            let read = fetched(&browser, path, options).await;
            assert!(read.contains("server.hosts"), "{path}: {read}");
        }
    }
}
