//! `deskpass session`: one employee, or everyone, signs in again, on every node within a second.

use serde_json::Value;

use crate::cli_backup::Place;
use crate::cluster::soon;
use crate::harness::{Client, Operator, Process, Servers, StoreBackend, TestSocket};

async fn open_socket(process: &Process, token: &str) -> TestSocket {
    let mut socket = TestSocket::open(&process.address, "employee", token).await;
    socket.event("ready").await;
    socket
}

on_every_store! {
    async fn everyone_signs_in_again() {
        let place = Place::current();
        let process = place.serve();
        let mut client = Client::connect(&process.address).await;
        let (user, admin) = (client.sign_in("user01").await, client.sign_in("admin01").await);
        client.first_password("agent01").await;
        let half = client.partial_sign_in("agent01").await;
        let mut socket = open_socket(&process, &user).await;
        place.operator().fail(&["session", "end-all"], "nothing was changed");
        let output = place.operator().succeed(&["session", "end-all", "--before", "1h", "--yes"]);
        assert!(output.contains("0 session(s) that began before "), "{output}");
        socket.is_quiet().await;
        assert!(client.is_valid(&user).await);
        assert_eq!(client.get_as(&half, "/api/auth/otp-status").await.status, 401, "a partial session has no start on record");

        let output = place.operator().succeed(&["session", "end-all", "--yes", "--json"]);
        let report: Value = serde_json::from_str(&output).unwrap();
        assert_eq!((&report["ended"], &report["before"]), (&2.into(), &Value::Null), "{output}");
        socket.ends_with(4401, "kicked").await;
        for token in [&user, &admin] {
            assert_eq!(client.me(token).await.refused(401, 1001).reason(), "kicked");
        }
        let fresh = client.sign_in("user01").await;
        assert!(client.is_valid(&fresh).await);
        process.terminate();
        let rows = place.query("SELECT detail FROM login_log WHERE event = 'all_sessions_ended' ORDER BY id");
        assert!(rows.len() == 2 && rows[0].starts_with("began before ") && rows[1] == "2 session(s) ended", "{rows:?}");
        place.operator().succeed(&["audit", "verify"]);
    }

    async fn one_employee_signs_in_again() {
        let place = Place::current();
        let process = place.serve();
        let mut client = Client::connect(&process.address).await;
        let tokens = [client.sign_in("user01").await, client.sign_in("user01").await];
        let other = client.sign_in("admin01").await;
        place.operator().fail(&["session", "end", "nobody"], "there is no employee nobody");
        let output = place.operator().succeed(&["session", "end", "user01"]);
        assert!(output.contains("2 session(s) of user01 ended"), "{output}");
        for token in &tokens {
            assert_eq!(client.me(token).await.refused(401, 1001).reason(), "kicked");
        }
        let again = client.sign_in("user01").await;
        assert!(client.is_valid(&other).await && client.is_valid(&again).await);
        process.terminate();
        assert_eq!(place.query("SELECT employee_key FROM login_log WHERE event = 'sessions_ended'"), ["user01"]);
        place.operator().succeed(&["audit", "verify"]);
    }

    async fn many_sessions_end_in_small_steps() {
        let place = Place::current();
        place.operator().succeed(&["migrate", "--create"]);
        // A time in the future: they have not expired.
        let later = 9_000_000_000_000_i64;
        let digits = |number: &str| match StoreBackend::current() {
            StoreBackend::Embedded => format!("printf('%043d', {number})"),
            StoreBackend::ScaledOut => format!("lpad(({number})::text, 43, '0')"),
        };
        place.query(&format!(
            "INSERT INTO session (digest, corp_id, employee_key, role_id, login_method, login_source, created_at, expires_at, proven)
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
             SELECT {}, 'wwdeskpass', 'user01', 3, 'dev', 'h5', i, {later} + i, 0 FROM n",
            digits("i")
        ));
        let set = "UPDATE agent SET setup_code = 'x', otp_setup_code = 'x', otp_pending = 'x', otp_secret = 'x', otp_step = 7";
        let open = "SELECT COUNT(*) FROM agent WHERE setup_code IS NOT NULL OR otp_setup_code IS NOT NULL
            OR otp_pending IS NOT NULL OR otp_step = 7";
        place.query(set);
        assert_ne!(place.query(open), ["0"]);
        let output = place.operator().succeed(&["session", "end-all", "--before", "1970-01-01T00:00:01.001Z", "--yes"]);
        assert_eq!(place.query(open), ["0"], "they have no start on record");
        place.query(set);
        assert!(output.contains("1000 session(s) that began before 1970-01-01T00:00:01Z ended"), "{output}");
        assert_eq!(place.query("SELECT COUNT(*), MIN(created_at) FROM session"), ["1500|1001"]);
        let output = place.operator().succeed(&["session", "end-all", "--yes"]);
        assert!(output.contains("1500 session(s) ended"), "{output}");
        assert_eq!(place.query(open), ["0"], "what could become a session ends too");
        assert_eq!(place.query("SELECT COUNT(*) FROM session"), ["0"]);
        assert_eq!(place.query("SELECT COUNT(*) FROM denied_token WHERE reason = 'kicked'"), ["2500"]);
        if StoreBackend::current() == StoreBackend::ScaledOut {
            let journal = place.query("SELECT COUNT(*) FROM journal WHERE digest IS NOT NULL")[0].parse::<usize>().unwrap();
            assert!(journal < 10, "one entry for each step, not one for each session: {journal}");
        }
        place.operator().succeed(&["audit", "verify"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_node_knows_within_a_second() {
    let place = Servers::shared().cluster_store();
    let nodes = [Process::node(&place, &[]), Process::node(&place, &[])];
    let mut clients = [Client::connect(&nodes[0].address).await, Client::connect(&nodes[1].address).await];
    let token = clients[0].sign_in("user01").await;
    let mut sockets = [open_socket(&nodes[0], &token).await, open_socket(&nodes[1], &token).await];
    for client in &mut clients {
        assert!(client.is_valid(&token).await);
    }
    Operator::At(&place).succeed(&["session", "end-all", "--yes"]);
    for client in &mut clients {
        soon("the end of all sessions", async || client.me(&token).await.reason() == "kicked").await;
    }
    for socket in &mut sockets {
        socket.ends_with(4401, "kicked").await;
    }
}
