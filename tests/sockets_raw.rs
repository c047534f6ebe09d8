//! Sockets whose clients violate the protocol: each gets the right close code, and nothing is left behind.

mod idle_clients;
mod slow_clients;

use std::time::Duration;

use crate::harness::{Client, Frame, Stopwatch, TestApp, TestSocket, handshake, masked, settings};

const MIB: usize = 1 << 20;

/// The resident memory of a process, in bytes.
fn resident(process: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<usize>().unwrap() * 1024
}

/// Waits until a service has this many sockets.
async fn until(app: &TestApp, count: usize) {
    let since = Stopwatch::start();
    while app.auth().sockets.len() != count {
        assert!(since.elapsed() < Duration::from_secs(5), "{} sockets", app.auth().sockets.len());
        tokio::task::yield_now().await;
    }
}

/// The head of a frame that declares this length, with a mask and without a payload.
fn declared(first: u8, length: u64) -> Vec<u8> {
    [&[first, 0x80 | 127][..], &length.to_be_bytes(), &[1, 2, 3, 4]].concat()
}

/// Sends bytes on a fresh socket, and asserts how it is closed: cleanly, so that the client can read the code.
async fn closes(app: &TestApp, token: &str, what: &str, bytes: &[u8], code: u16, word: &str) {
    let mut socket = app.socket("employee", token).await;
    socket.push(bytes).await;
    let (found, why, said) = socket.closed().await;
    assert_eq!((found, &*why, said.len()), (code, word, 0), "{what}");
    assert!(socket.rest().await.is_ok(), "{what}: the line was cut");
}

on_one_store! {
    async fn protocol_violations_are_reported(app) {
        let token = app.client().await.sign_in("user01").await;
        let unmasked = |first: u8| vec![first, 2, b'h', b'i'];
        for (what, bytes) in [
            ("a text without a mask", unmasked(0x81)),
            ("a ping without a mask", unmasked(0x89)),
            ("a goodbye without a mask", vec![0x88, 2, 0x03, 0xe8]),
            ("the first reserved bit", masked(0xc1, b"hi")),
            ("the second reserved bit", masked(0xa1, b"hi")),
            ("the third reserved bit", masked(0x91, b"hi")),
            ("a reserved bit of a ping", masked(0xc9, b"")),
            ("a frame of a kind that there is not", masked(0x83, b"hi")),
            ("another one", masked(0x87, b"")),
            ("a control frame of a kind that there is not", masked(0x8b, b"")),
            ("another of those", masked(0x8f, b"")),
            ("a ping in pieces", masked(0x09, b"hi")),
            ("a pong in pieces", masked(0x0a, b"hi")),
            ("a goodbye in pieces", masked(0x08, b"")),
            ("a ping that is too long", masked(0x89, &[b'a'; 126])),
            ("a pong that is too long", masked(0x8a, &[b'a'; 500])),
            ("a goodbye that is too long", masked(0x88, &[3; 126])),
            ("the end of nothing", masked(0x80, b"hi")),
            ("the middle of nothing", masked(0x00, b"hi")),
            ("a text in the middle of a text", [masked(0x01, b"a"), masked(0x81, b"b")].concat()),
            ("a goodbye of one byte", masked(0x88, b"x")),
        ] {
            closes(&app, &token, what, &bytes, 1002, "protocol_error").await;
        }
        until(&app, 0).await;
    }

    async fn a_goodbye_with_a_code_that_may_not_be_is_no_goodbye(app) {
        let token = app.client().await.sign_in("user01").await;
        for code in [0_u16, 999, 1004, 1005, 1006, 1015, 2999, 5000, 65_535] {
            let mut socket = app.socket("employee", &token).await;
            socket.frame(0x88, &code.to_be_bytes()).await;
            assert_eq!(socket.closed().await.0, 1002, "{code}");
        }
        for code in [1000_u16, 1001, 1003, 1007, 1011, 3000, 4000, 4999] {
            let mut socket = app.socket("employee", &token).await;
            socket.frame(0x88, &code.to_be_bytes()).await;
            assert_eq!(socket.closed().await.0, code);
        }
        let mut socket = app.socket("employee", &token).await;
        socket.frame(0x88, b"").await;
        assert_eq!(socket.any().await, Frame::Close(1005, String::new()));
        closes(&app, &token, "a goodbye that is no text", &masked(0x88, b"\x03\xe8\xff"), 1007, "not_utf8").await;
        until(&app, 0).await;
    }

    async fn invalid_text_is_reported(app) {
        let token = app.client().await.sign_in("user01").await;
        for (what, bytes) in [
            ("a byte that is never", masked(0x81, b"a\xffb")),
            ("half a character", masked(0x81, b"\xe4\xbd")),
            ("half a pair", masked(0x81, b"\xed\xa0\x80")),
            ("an overlong encoding", masked(0x81, b"\xc0\xaf")),
            ("a code point that is too high", masked(0x81, b"\xf4\x90\x80\x80")),
            ("in the second piece", [masked(0x01, b"a"), masked(0x80, b"\xff")].concat()),
            ("across two pieces", [masked(0x01, b"\xe4"), masked(0x80, b"a")].concat()),
            ("cut off in the last piece", [masked(0x01, b"\xe4"), masked(0x00, b"\xbd"), masked(0x80, b"")].concat()),
        ] {
            closes(&app, &token, what, &bytes, 1007, "not_utf8").await;
        }
        closes(&app, &token, "bytes", &masked(0x82, b"hi"), 1003, "text_only").await;
        closes(&app, &token, "bytes in pieces", &[masked(0x02, b"h"), masked(0x80, b"i")].concat(), 1003, "text_only").await;
    }

    /// The service neither buffers nor awaits the payload of a frame that is too long.
    async fn too_long_inputs_are_reported(app) {
        let token = app.client().await.sign_in("user01").await;
        let whole = masked(0x81, &vec![b'a'; 65_537]);
        let megabyte = masked(0x81, &vec![b'a'; 1 << 20]);
        let pieces: Vec<_> = std::iter::once(masked(0x01, &[b'a'; 1_000])).chain((0..70).map(|_| masked(0x00, &[b'a'; 1_000]))).flatten().collect();
        for (what, bytes) in [
            ("one byte too many", whole),
            ("a megabyte", megabyte),
            ("only said to be", declared(0x81, 65_537)),
            ("said to be half of all there is", declared(0x81, 1 << 62)),
            ("said to be longer than may be", declared(0x81, 1 << 63)),
            ("said to be all there is", declared(0x81, u64::MAX)),
            ("a piece", declared(0x01, 1 << 40)),
            ("bytes", declared(0x82, 1 << 40)),
            ("in pieces", pieces),
            ("two pieces", [masked(0x01, &vec![b'a'; 40_000]), masked(0x80, &vec![b'a'; 40_000])].concat()),
        ] {
            closes(&app, &token, what, &bytes, 1009, "too_big").await;
        }
        let mut socket = app.socket("employee", &token).await;
        socket.frame(0x81, &vec![b'a'; 65_536]).await;
        socket.is_quiet().await;
    }

    async fn what_is_allowed_is_not_mistaken_for_anything(app) {
        let token = app.client().await.sign_in("user01").await;
        let mut socket = app.socket("employee", &token).await;
        // In fragments, a character split among them, with pings in between.
        for bytes in [masked(0x01, b"\xe4"), masked(0x89, b"one"), masked(0x00, b"\xbd"), masked(0x00, b""), masked(0x8a, b"uncalled"), masked(0x89, &[b'p'; 125]), masked(0x80, b"\xa0")] {
            socket.push(&bytes).await;
        }
        assert_eq!(socket.any().await, Frame::Pong(b"one".to_vec()));
        assert_eq!(socket.any().await, Frame::Pong(vec![b'p'; 125]));
        socket.is_quiet().await;
        // Byte by byte.
        for byte in masked(0x89, b"slowly") {
            socket.push(&[byte]).await;
            tokio::task::yield_now().await;
        }
        assert_eq!(socket.any().await, Frame::Pong(b"slowly".to_vec()));
        // Empty, with a zero mask, and with a length in a longer form than necessary.
        socket.push(&[0x81, 0x80, 0, 0, 0, 0]).await;
        socket.push(&[0x81, 0xfe, 0, 1, 0, 0, 0, 0, b'a']).await;
        socket.push(&[declared(0x81, 1), vec![b'a' ^ 1]].concat()).await;
        socket.is_quiet().await;
    }

    async fn floods_are_cut_off(app) {
        let token = app.client().await.sign_in("user01").await;
        for (what, frame) in [("texts", masked(0x81, b"x")), ("questions", masked(0x89, b"")), ("answers", masked(0x8a, b"")), ("long ones", masked(0x81, &[b'a'; 10_000]))] {
            let mut socket = app.socket("employee", &token).await;
            let flood = frame.repeat(200);
            socket.push(&flood).await;
            let (code, word, _) = socket.closed().await;
            assert_eq!((code, &*word), (1008, "too_many_messages"), "{what}");
        }
        until(&app, 0).await;
    }

    /// The service stops reading an endless flood.
    async fn a_flood_that_does_not_end_is_cut_off_too(app) {
        let token = app.client().await.sign_in("user01").await;
        for frame in [masked(0x81, b"xxxxxxxxxx"), masked(0x82, &[0; 1_000]), masked(0x91, &[0; 1_000])] {
            let mut socket = app.socket("employee", &token).await;
            let flood = frame.repeat(1_000);
            let since = Stopwatch::start();
            while socket.push(&flood).await {
                assert!(since.elapsed() < Duration::from_secs(5), "it is listened to");
            }
            until(&app, 0).await;
        }
    }

    async fn pieces_of_nothing_without_end_are_cut_off(app) {
        let token = app.client().await.sign_in("user01").await;
        let mut socket = app.socket("employee", &token).await;
        // No fragment is a message that could be counted.
        socket.frame(0x01, b"").await;
        let pieces = masked(0x00, b"").repeat(10_000);
        for _ in 0..200 {
            if !socket.push(&pieces).await {
                break;
            }
        }
        socket.ends_with(1008, "too_many_messages").await;
    }

    async fn a_client_that_disconnects_without_a_close_frees_its_slot(app) {
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        for round in 0..3 {
            let mut sockets = Vec::new();
            for at in 0..10 {
                let mut socket = app.socket("employee", &token).await;
                // In the middle of a head, of a frame, of a message.
                let begun = [vec![], vec![0x81], b"\x81\x85\x01\x02\x03\x04a".to_vec(), masked(0x01, b"a")];
                socket.push(&begun[at % 4]).await;
                sockets.push(socket);
            }
            assert_eq!(app.auth().sockets.len(), 10, "round {round}");
            drop(sockets);
            until(&app, 0).await;
        }
        assert_eq!(client.metric("deskpass_sockets").await, Some(0));
        assert_eq!(client.metric("deskpass_sockets_closed_total{code=\"1006\"}").await, Some(30));
    }

    async fn a_client_that_disconnects_before_the_answer_holds_no_slot(app) {
        let token = app.client().await.sign_in("user01").await;
        for _ in 0..20 {
            let mut client = app.client().await;
            client.start(&handshake("/api/ws/employee", &[("authorization", &format!("Bearer {token}"))])).await;
        }
        // Their slots are free as soon as the disconnect is noticed, whether they were taken by then or not.
        let mut last = app.socket("employee", &token).await;
        until(&app, 1).await;
        last.is_quiet().await;
    }

    async fn a_handshake_that_is_never_finished_is_given_up() {
        let given = [("development.enabled", "true"), ("server.header_timeout", "300ms"), ("server.max_connections", "4")];
        let app = TestApp::with(settings(&given)).await;
        let token = app.client().await.sign_in("user01").await;
        let whole = handshake("/api/ws/employee", &[("authorization", &format!("Bearer {token}"))]);
        let mut begun = Vec::new();
        for cut in [1, 20, whole.len() / 2, whole.len() - 1] {
            let mut client = Client::connect(&app.address).await;
            client.start(&whole[..cut]).await;
            begun.push(client);
        }
        // All connection slots are taken until the handshakes time out.
        let mut socket = app.socket("employee", &token).await;
        socket.is_quiet().await;
        assert_eq!(app.auth().sockets.len(), 1);
    }

    /// Other clients are served as usual.
    async fn a_misbehaving_client_disturbs_no_other(app) {
        let (key, _) = app.service_key("messages").await;
        let mut client = app.client().await;
        let token = client.sign_in("user01").await;
        let mut good = app.socket("employee", &token).await;
        for bytes in [masked(0x83, b""), masked(0x82, b""), declared(0x81, u64::MAX), masked(0x81, b"\xff"), masked(0x89, b"").repeat(150)] {
            let mut bad = app.socket("employee", &token).await;
            bad.push(&bytes).await;
            client.send_card(&key, &serde_json::json!({ "employee_id": "user01" }), &serde_json::json!(1)).await;
            assert_eq!(good.message().await["content"], 1);
            bad.closed().await;
        }
        good.is_quiet().await;
    }
}

/// A service that stops while a client connects says so, and does not crash.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_connects_during_shutdown_learns_so() {
    crate::harness::StoreBackend::ScaledOut.run(come_in_late()).await;
}

async fn come_in_late() {
    let first = TestApp::start().await;
    let token = first.client().await.sign_in("user01").await;
    // A node that has not cached the session has to read it, and the lock prevents that.
    let (mut app, place) = (first.second_node().await, first.cluster_store());
    let lock = place.hold("BEGIN; LOCK TABLE session IN ACCESS EXCLUSIVE MODE").await;
    let (address, bearer) = (app.address.clone(), format!("Bearer {token}"));
    let head = handshake("/api/ws/employee", &[("authorization", &bearer)]);
    let coming = tokio::spawn(async move { TestSocket::try_open(&address, &head).await });
    let waits = "SELECT count(*) FROM pg_locks JOIN pg_class ON pg_class.oid = relation \
        WHERE NOT granted AND relname = 'session' AND relnamespace = current_schema()::regnamespace";
    soon_enough("it looks", || place.query(waits) != ["0"]).await;
    app.ask_to_stop();
    soon_enough("it leaves", || std::net::TcpStream::connect(&app.address).is_err()).await;
    lock.batch_execute("ROLLBACK").await.unwrap();
    let mut socket = coming.await.unwrap().unwrap();
    socket.ends_with(1012, "restarting").await;
    app.stop().await;
}

async fn soon_enough(what: &str, is_so: impl Fn() -> bool) {
    let since = Stopwatch::start();
    while !is_so() {
        assert!(since.elapsed() < Duration::from_secs(5), "in vain: {what}");
        tokio::task::yield_now().await;
    }
}
