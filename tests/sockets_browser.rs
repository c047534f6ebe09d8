//! Sockets in a real browser, held by the module that clients use.

mod fixture;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use self::fixture::{App, BreakableConnection, Home};
use crate::harness::{Browser, Driver, Options, free_address};

/// Has the module open a socket, and records all its events.
const LISTEN: &str = "
    window.heard = []; window.states = []; window.ends = []; window.gaps = 0; window.texts = [];
    return import('/assets/deskpass.js').then(({ connect, Typewriter }) => {
        const typewriter = new Typewriter();
        window.line = connect({
            socket: arguments[0],
            token: arguments[1],
            onMessage: (frame) => heard.push(frame),
            onState: (state) => states.push(state),
            onGap: () => { window.gaps += 1; },
            onEnd: (end) => ends.push(end),
            on: { typewriter: (frame) => texts.push(typewriter.take(frame)) },
        });
    });";
/// Opens a socket without the module; resolves to the subprotocol and the first frame, or to the close event.
const OPEN: &str = "
    const [address, protocols] = arguments;
    return new Promise((resolve) => {
        const socket = new WebSocket(address, protocols);
        socket.onmessage = ({ data }) => { resolve([socket.protocol, JSON.parse(data)]); socket.close(); };
        socket.onclose = ({ code }) => resolve(['closed', code]);
    });";
const LIVE: &str = "states[states.length - 1] === 'live'";

/// A browser on a page of the service, in which the module holds a socket.
async fn listening(driver: &Driver, page: &str, socket: &str, token: &str) -> Browser {
    let browser = driver.browser(Options::default()).await;
    browser.goto(page).await;
    browser.script(LISTEN, &[json!(socket), json!(token)]).await;
    browser
}

/// The texts of all recommendations received, in order.
async fn recommended(browser: &Browser) -> Value {
    let report = "return heard.filter((frame) => frame.msg_type === 'dynamic_recommend').map(({ content }) => content)";
    browser.script(report, &[]).await
}

async fn nothing_was_blocked(browser: &Browser) {
    for line in browser.console().await {
        assert!(!line.contains("Content Security Policy"), "{line}");
    }
}

on_every_store! {
    /// A browser cannot set a header here: the token is sent as a subprotocol, and the response picks one of those offered.
    async fn a_browser_opens_a_socket_by_its_subprotocols() {
        let app = App::start();
        let token = app.client().await.sign_in("agent01").await;
        let bearer = format!("bearer.{token}");
        let driver = Driver::shared();
        let browser = driver.browser(Options::default()).await;
        browser.goto(&app.at("/h5/")).await;
        for (protocols, chosen) in [
            (vec!["deskpass.v1", &bearer], "deskpass.v1"),
            (vec![&bearer, "deskpass.v1"], "deskpass.v1"),
            (vec![&bearer], &bearer),
        ] {
            for socket in ["employee", "agent"] {
                let address = app.at(&format!("/api/ws/{socket}")).replace("http", "ws");
                let opened = browser.script(OPEN, &[json!(address), json!(protocols)]).await;
                assert_eq!(opened[0], chosen, "{opened}");
                assert_eq!(opened[1]["msg_type"], "session");
                assert_eq!(opened[1]["content"]["event"], "ready");
                assert_eq!(opened[1]["content"]["current_role"], "agent");
            }
        }
        nothing_was_blocked(&browser).await;
    }

    async fn messages_reach_the_page_and_so_does_the_end_of_the_session() {
        let app = App::start();
        let token = app.client().await.sign_in("user01").await;
        let driver = Driver::shared();
        let browser = listening(&driver, &app.at("/h5/"), "employee", &token).await;
        browser.wait_until(LIVE).await;
        let extra = json!({ "trace": "8f1", "deep": [{ "列": null }] });
        let message = json!({ "msg_type": "ai_structured", "content": { "text": "which?" }, "extra_data": extra });
        assert_eq!(app.send("user01", message).await["delivered"], 1);
        browser.wait_until("heard.length === 2").await;
        let frame = browser.script("return heard[1]", &[]).await;
        assert_eq!((&frame["content"], &frame["extra_data"]), (&json!({ "text": "which?" }), &extra));

        for (seq, text) in ["Hel", "lo, ", "world"].into_iter().enumerate() {
            let content = json!({ "stream_id": "s", "seq": seq, "text": text, "done": seq == 2 });
            app.send("user01", json!({ "msg_type": "typewriter", "content": content })).await;
        }
        browser.wait_until("texts.length === 3").await;
        let last = browser.script("return texts[2]", &[]).await;
        let whole = json!({ "stream_id": "s", "text": "Hello, world", "added": "world", "done": true, "whole": true });
        assert_eq!(last, whole);

        app.client().await.logout(&token).await.data();
        browser.wait_until("ends.length === 1").await;
        let ends = browser.script("return ends", &[]).await;
        assert_eq!(ends, json!([{ "over": "session", "reason": "signed_out" }]));
        assert_eq!(browser.script("return [states.pop(), gaps]", &[]).await, json!(["ended", 0]));
        nothing_was_blocked(&browser).await;
    }

    /// The connection breaks; where there are two nodes, its node dies. Messages posted meanwhile arrive once and in order.
    async fn a_broken_line_loses_nothing() {
        let mut app = App::start();
        let token = app.client().await.sign_in("agent01").await;
        let line = BreakableConnection::to(&app.process.address).await;
        let driver = Driver::shared();
        let browser = listening(&driver, &format!("http://{}/itagent/", line.address), "agent", &token).await;
        browser.wait_until(LIVE).await;
        app.recommend("agent01", 0..1).await;
        browser.wait_until("heard.length === 2").await;
        for round in 0..3 {
            browser.script("states.length = 0", &[]).await;
            match &app.home {
                Home::Directory(_) => line.cut(),
                Home::Cluster(_) => {
                    let other = app.home.serve(&free_address());
                    std::mem::replace(&mut app.process, other).kill();
                }
            }
            browser.wait_until("states.includes('waiting')").await;
            app.recommend("agent01", round * 3 + 1..round * 3 + 4).await;
            line.lead_to(&app.process.address);
            browser.wait_until(&format!("heard.some(({{ content }}) => content === {})", round * 3 + 3)).await;
        }
        assert_eq!(recommended(&browser).await, json!((0..10).collect::<Vec<_>>()));
        assert_eq!(browser.script("return [gaps, ends]", &[]).await, json!([0, []]));
    }
}

/// The messages that an embedded service kept for reconnecting clients are lost on restart: the page is told to reload its data.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restarted_service_is_found_again_and_the_gap_is_reported() {
    let mut app = App::start();
    let address = app.process.address.clone();
    let token = app.client().await.sign_in("user01").await;
    let driver = Driver::shared();
    let browser = listening(&driver, &app.at("/h5/"), "employee", &token).await;
    browser.wait_until(LIVE).await;
    let (code, _) = app.process.terminate();
    assert_eq!(code, Some(0));
    browser.wait_until("states.includes('waiting')").await;
    app.process = app.home.serve(&address);
    browser.wait_until(LIVE).await;
    assert_eq!(browser.script("return [gaps, ends]", &[]).await, json!([1, []]));
    app.recommend("user01", 0..2).await;
    browser.wait_until("heard.some(({ content }) => content === 1)").await;
    assert_eq!(recommended(&browser).await, json!([0, 1]));
}

/// A browser hides the reason of a refused handshake: the module finds it out, and stops reconnecting.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_handshake_is_reported_with_its_reason() {
    let app = App::start();
    let mut client = app.client().await;
    let employee = client.sign_in("user01").await;
    let gone = client.sign_in("user01").await;
    client.logout(&gone).await.data();
    let driver = Driver::shared();
    for (socket, token, over, reason) in [
        ("agent", &employee, "role", "role_needed"),
        ("employee", &gone, "session", "signed_out"),
        ("agent", &"nonsense".to_owned(), "session", "malformed"),
    ] {
        let browser = listening(&driver, &app.at("/h5/"), socket, token).await;
        browser.wait_until("ends.length === 1").await;
        let report = browser.script("return [ends[0], states]", &[]).await;
        assert_eq!(report, json!([{ "over": over, "reason": reason }, ["connecting", "waiting", "ended"]]));
    }
}

/// A foreign page without a known origin; returns its address.
async fn elsewhere() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 4096]).await;
            let head =
                "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-security-policy: sandbox allow-scripts\r\n";
            let _ =
                stream.write_all(format!("{head}connection: close\r\ncontent-length: 2\r\n\r\nhi").as_bytes()).await;
        }
    });
    at
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_a_foreign_origin_opens_no_socket() {
    let app = App::start();
    let mut client = app.client().await;
    let token = client.sign_in("user01").await;
    let driver = Driver::shared();
    let browser = driver.browser(Options::default()).await;
    browser.goto(&format!("http://{}/", elsewhere().await)).await;
    let address = app.at("/api/ws/employee").replace("http", "ws");
    let protocols = json!(["deskpass.v1", format!("bearer.{token}")]);
    let refused = browser.script(OPEN, &[json!(address), protocols.clone()]).await;
    assert_eq!(refused, json!(["closed", 1006]));
    // The service refused the request; the browser did send it.
    let asked = r#"deskpass_requests_total{method="GET",route="/api/ws/employee",outcome="refused"} 1"#;
    let metrics = client.get("/metrics", &[]).await.body;
    assert!(metrics.contains(asked), "{metrics}");
    browser.goto(&app.at("/h5/")).await;
    assert_eq!(browser.script(OPEN, &[json!(address), protocols]).await[0], "deskpass.v1");
}

/// Our own page shows another role and the end of the session at once, wherever they were caused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_shows_what_happens_to_the_session_elsewhere() {
    let app = App::start();
    let mut client = app.client().await;
    let token = client.sign_in("agent01").await;
    let driver = Driver::shared();
    let browser = driver.browser(Options::default()).await;
    browser.goto(&app.at("/h5/")).await;
    browser.script("sessionStorage.setItem('deskpass.token', arguments[0])", &[json!(token)]).await;
    browser.goto(&app.at("/itagent/")).await;
    browser.wait_for("#live[data-state=live]").await;
    assert_eq!(browser.text("#live").await, "Live");
    // The first is on the agents' socket, which it has to leave, and the second on the employees'.
    for (role, shown) in [("user", "#wrong-role"), ("agent", "[data-role=agent][aria-pressed=true]")] {
        client.switch(&token, role).await.data();
        browser.wait_for(shown).await;
        browser.wait_for("#live[data-state=live]").await;
    }
    client.logout(&token).await.data();
    browser.wait_for("body[data-view=welcome] #notice").await;
    assert!(browser.text("#notice-text").await.contains("signed out elsewhere"));
    assert_eq!(browser.script("return sessionStorage.getItem('deskpass.token')", &[]).await, json!(null));
    nothing_was_blocked(&browser).await;
}

/// A user who opens too many sockets loses the oldest, which does not reconnect by itself, but may be opened again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_newer_socket_takes_the_place_of_the_oldest() {
    let app = App::start();
    let token = app.client().await.sign_in("user01").await;
    let driver = Driver::shared();
    let browser = listening(&driver, &app.at("/h5/"), "employee", &token).await;
    browser.wait_until(LIVE).await;
    let address = app.at("/api/ws/employee").replace("http", "ws");
    let crowd =
        "window.crowd = Array.from({ length: 10 }, () => new WebSocket(arguments[0], ['bearer.' + arguments[1]]))";
    browser.script(crowd, &[json!(address), json!(token)]).await;
    browser.wait_until("ends.length === 1").await;
    let report = browser.script("return [ends[0], states.pop()]", &[]).await;
    assert_eq!(report, json!([{ "over": "place", "reason": "replaced" }, "ended"]));
    browser.script("line.reconnect()", &[]).await;
    browser.wait_until(LIVE).await;
    browser.script("line.close()", &[]).await;
    let closed = r#"deskpass_sockets_closed_total{code="1000"} 1"#;
    let (mut client, deadline) = (app.client().await, Instant::now() + Duration::from_secs(10));
    while !client.get("/metrics", &[]).await.body.contains(closed) {
        assert!(Instant::now() < deadline, "it is still open");
    }
    assert_eq!(browser.script("return ends.length", &[]).await, 1);
}

/// Pieces may arrive twice, too early or in the middle; a missing piece does not hold up the rest for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_typewriter_puts_pieces_in_order() {
    let app = App::start();
    let driver = Driver::shared();
    let browser = driver.browser(Options::default()).await;
    browser.goto(&app.at("/h5/")).await;
    let taken = async |pieces: Value| {
        let take = "return import('/assets/deskpass.js').then(({ Typewriter }) => {
            const typewriter = new Typewriter();
            const take = ([seq, text, done]) => typewriter.take({ content: { stream_id: 's', seq, text, done } });
            return arguments[0].map(take).map((news) => news && [news.text, news.added, news.done, news.whole]);
        });";
        browser.script(take, &[pieces]).await
    };
    let disordered =
        json!([[7, "a", false], [7, "a", false], [6, "x", false], [9, "c", true], [8, "b", false], [10, "d", false]]);
    let report = json!([["a", "a", false, true], null, null, null, ["abc", "bc", true, true], null]);
    assert_eq!(taken(disordered).await, report);
    let unreadable = json!([["0", "a", false], [0, 1, false], [0.5, "a", false]]);
    assert_eq!(taken(unreadable).await, json!([null, null, null]));
    let lost: Vec<_> = [0].into_iter().chain(2..35).map(|seq| json!([seq, "a", false])).collect();
    let report = taken(json!(lost)).await;
    assert_eq!(report[32], json!(null));
    assert_eq!(report[33], json!(["a".repeat(34), "a".repeat(33), false, false]));
    let long = taken(json!([[0, "a".repeat(262_143), false], [1, "bcd", true]])).await;
    assert_eq!(long[1], json!([format!("{}b", "a".repeat(262_143)), "b", true, false]));
}
