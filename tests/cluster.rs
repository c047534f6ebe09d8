//! Two nodes of one cluster: each continues what the other began, and of two simultaneous requests on both, exactly one succeeds.

use std::time::{Duration, Instant};

use deskpass_core::Role;
use deskpass_store::Chore;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::harness::{
    Client, Platform, Process, Servers, Stopwatch, StoreBackend, TestApp, fragment, location, rounds, target,
};

/// Runs tests on the scaled-out store.
macro_rules! on_nodes {
    ($(async fn $name:ident() $body:block)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            StoreBackend::ScaledOut.run(Box::pin(async $body)).await;
        }
    )*};
}

mod pending_sign_ins;
mod ten_nodes;

/// Two production nodes and the platform they talk to.
struct Pair {
    nodes: [TestApp; 2],
    platform: Platform,
}

impl Pair {
    async fn start() -> Self {
        // The clock stands still, and all clients have one address.
        let (one, platform) = TestApp::production_with_platform(&[("limits.enabled", "false")]).await;
        let other = one.second_node().await;
        Self { nodes: [one, other], platform }
    }

    async fn clients(&self) -> [Client; 2] {
        [self.nodes[0].client().await, self.nodes[1].client().await]
    }
}

/// Scans a code with a phone and returns its landing page on a node.
async fn scanned(platform: &mut Client, node: &mut Client, qrcode: &Value, who: &str) -> String {
    let back = platform.authorize(qrcode["qrcode_url"].as_str().unwrap(), who).await;
    fragment(location(&node.get(&target(&back), &[("user-agent", "phone")]).await), "confirm")
}

/// Repeats a check until it holds, for the second that another node may take to learn of a change.
pub(crate) async fn soon(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let began = Stopwatch::start();
    loop {
        // The node decides after this moment, so the second is measured from here.
        let asked = began.elapsed();
        if is_so().await {
            return;
        }
        assert!(asked < Duration::from_secs(1), "{what}: another node has not learned of it");
    }
}

/// Returns whether exactly one of two requests succeeded.
fn one_of(statuses: [u16; 2]) -> bool {
    matches!(statuses, [200, 409] | [409, 200])
}

on_nodes! {
    async fn a_code_shown_by_one_node_is_scanned_on_another_and_collected_on_either() {
        let pair = Pair::start().await;
        pair.nodes[0].add("user01", Role::User).await;
        let [mut one, mut other] = pair.clients().await;
        let mut platform = pair.platform.client().await;
        for round in 0..20 {
            let qrcode = one.qrcode().await;
            let ticket = qrcode["ticket"].as_str().unwrap();
            let mut watching = pair.nodes[round % 2].client().await;
            watching
                .start(
                    format!("GET /api/auth/scan/events?ticket={ticket} HTTP/1.1\r\nhost: localhost\r\n\r\n").as_bytes(),
                )
                .await;
            watching.read_until("waiting").await;
            assert_eq!(other.scan_status(ticket).await["status"], "waiting");
            let confirm = scanned(&mut platform, &mut other, &qrcode, "user01").await;
            // The name is shown once the phone has shown the question, by either node.
            assert_eq!(one.scan_status(ticket).await["status"], "waiting");
            let shown = json!({ "confirm": confirm, "shown": true });
            let mut phone = pair.nodes[(round + 1) % 2].client().await;
            phone.post("/api/auth/scan/request", &[], &shown).await.data();
            watching.read_until("scanned").await;
            assert_eq!(one.scan_status(ticket).await["status"], "scanned");
            one.decide("confirm", &confirm).await.data();
            watching.read_until("confirmed").await;
            let collected = other.scan_status(ticket).await;
            assert_eq!(collected["status"], "confirmed");
            let token = collected["token"].as_str().unwrap();
            assert!(one.is_valid(token).await && other.is_valid(token).await);
        }
    }

    async fn a_switch_on_one_node_never_revives_what_a_logout_on_another_ended() {
        let one = TestApp::start().await;
        let other = one.second_node().await;
        let mut workers = JoinSet::new();
        for _ in 0..3 {
            let mut clients = [one.client().await, other.client().await];
            workers.spawn(async move {
                let mut won = 0;
                for round in 0..rounds(700) {
                    clients.swap(0, 1);
                    let [here, there] = &mut clients;
                    let token = here.sign_in("admin01").await;
                    if round % 3 == 0 {
                        assert!(there.is_valid(&token).await);
                    }
                    let (switched, ended) = tokio::join!(here.switch(&token, "agent"), there.logout(&token));
                    ended.data();
                    assert!(switched.status == 200 || switched.code() == 1001, "{switched:?}");
                    won += usize::from(switched.status != 200);
                    assert!(!there.is_valid(&token).await, "a signed-out token came back to life");
                    assert_eq!(here.logout(&token).await.refused(401, 1001).reason(), "signed_out");
                    assert!(!here.is_valid(&token).await);
                }
                won
            });
        }
        let won: usize = workers.join_all().await.into_iter().sum();
        assert!(won > 0, "the logout never came first: this test races nothing");
        assert_eq!(one.query("SELECT count(*) FROM session"), ["0"]);
    }

    async fn of_two_binds_with_one_proof_on_two_nodes_one_succeeds() {
        let pair = Pair::start().await;
        let [mut one, mut other] = pair.clients().await;
        let mut platform = pair.platform.client().await;
        for employee in ["user01", "user02"] {
            pair.nodes[0].add(employee, Role::User).await;
        }
        let identity = deskpass_core::EmployeeKey::from_parts("wwpartner", "partner01");
        let rounds = rounds(500);
        for round in 0..rounds {
            pair.nodes[0].auth().operator().remove_link(identity.clone()).await.unwrap();
            pair.nodes[0].auth().operator().approve_link(identity.clone(), pair.nodes[0].key("user01")).await.unwrap();
            let (link, cookies) = one.begin_oauth("https://desk.example.com/h5/").await;
            let back = platform.authorize(&link, "wwpartner/partner01").await;
            let proof = fragment(location(&one.oauth_callback(&back, &cookies).await), "bind_ticket");
            let ask = json!({ "employee_id": "user01", "bind_ticket": proof });
            let (here, there) =
                tokio::join!(one.post("/api/auth/bind", &[], &ask), other.post("/api/auth/bind", &[], &ask));
            let mut statuses = [here.status, there.status];
            statuses.sort_unstable();
            assert_eq!(statuses, [200, 403], "round {round}: {here:?} {there:?}");
        }
        let log = "SELECT event, count(*) FROM login_log WHERE login_method = 'bind' GROUP BY event ORDER BY event";
        assert_eq!(pair.nodes[0].query(log), [format!("sign_in|{rounds}"), format!("sign_in_refused|{rounds}")]);
    }

    async fn a_link_is_not_removed_during_a_sign_in_by_it() {
        let pair = Pair::start().await;
        let [mut one, _] = pair.clients().await;
        let mut platform = pair.platform.client().await;
        pair.nodes[0].add("user01", Role::User).await;
        let identity = deskpass_core::EmployeeKey::from_parts("wwpartner", "partner01");
        pair.nodes[0].auth().operator().approve_link(identity.clone(), pair.nodes[0].key("user01")).await.unwrap();
        let (link, cookies) = one.begin_oauth("https://desk.example.com/h5/").await;
        let back = platform.authorize(&link, "wwpartner/partner01").await;
        let proof = fragment(location(&one.oauth_callback(&back, &cookies).await), "bind_ticket");
        one.post("/api/auth/bind", &[], &json!({ "employee_id": "user01", "bind_ticket": proof })).await.data();

        let (link, cookies) = one.begin_oauth("https://desk.example.com/h5/").await;
        let back = platform.authorize(&link, "wwpartner/partner01").await;
        let place = pair.nodes[0].cluster_store().clone();
        let held = place.hold("BEGIN; LOCK TABLE session IN SHARE MODE").await;
        let coming = tokio::spawn(async move { location(&one.oauth_callback(&back, &cookies).await).to_owned() });
        // Only of this store: other tests share the server.
        let stuck = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'session'::regclass";
        let began = Instant::now();
        while place.query(stuck) == ["0"] {
            assert!(began.elapsed() < Duration::from_secs(10), "no request waits to write a session");
        }
        // The sign-in already holds a lock on the link, so the removal waits for it.
        let operator = pair.nodes[1].auth().operator();
        let mut removing = std::pin::pin!(operator.remove_link(identity));
        let early = tokio::time::timeout(Duration::from_millis(300), &mut removing).await;
        assert!(early.is_err(), "the link was removed during a sign-in that uses it");
        drop(held);
        assert!(coming.await.unwrap().contains("ticket="));
        assert!(removing.await.unwrap());
    }

    async fn the_platform_is_asked_for_one_token_by_all() {
        let pair = Pair::start().await;
        let mut platform = pair.platform.client().await;
        let mut one = pair.nodes[0].client().await;
        let mut ways = Vec::new();
        // Sign-ins of one person wait for each other, which this test does not measure.
        for who in ["user01", "agent01", "admin01", "supervisor01", "security01"].into_iter().cycle().take(200) {
            let (link, cookies) = one.begin_oauth("https://desk.example.com/h5/").await;
            ways.push((platform.authorize(&link, who).await, cookies));
        }
        let mut all = JoinSet::new();
        for (at, (back, cookies)) in ways.into_iter().enumerate() {
            let mut client = pair.nodes[at % 2].client().await;
            all.spawn(async move { location(&client.oauth_callback(&back, &cookies).await).contains("ticket=") });
        }
        assert!(all.join_all().await.into_iter().all(|signed_in| signed_in));
        assert_eq!(platform.calls("gettoken").await, 1);
    }

    async fn one_node_sweeps_for_all() {
        let one = TestApp::start().await;
        let other = one.second_node().await;
        let mut client = one.client().await;
        for _ in 0..3 {
            client.sign_in("user01").await;
        }
        one.clock.advance(Duration::from_hours(17));
        let swept = one.auth().sweep_with_lease().await.unwrap();
        assert_eq!(swept, 3);
        assert_eq!(one.query("SELECT count(*) FROM session"), ["0"]);
        // One node has swept for both.
        let now = one.clock.now();
        for node in [&one, &other] {
            assert!(!node.auth().store.claim_chore(Chore::Sweep, now, now + Duration::from_secs(50)).await.unwrap());
        }
        let now = now + Duration::from_mins(1);
        let (here, there) = (&one.auth().store, &other.auth().store);
        let until = now + Duration::from_secs(50);
        let sweep = Chore::Sweep;
        let (here, there) = tokio::join!(here.claim_chore(sweep, now, until), there.claim_chore(sweep, now, until));
        assert_ne!(here.unwrap(), there.unwrap(), "one of two");
    }

    async fn an_employee_with_thousands_of_sessions_is_disabled_everywhere() {
        const MANY: usize = 3_000;
        let one = TestApp::start().await;
        let other = one.second_node().await;
        let mut client = other.client().await;
        let token = client.sign_in("user01").await;
        assert!(client.is_valid(&token).await);
        one.query(&format!(
            "INSERT INTO session (digest, corp_id, employee_key, role_id, login_method, login_source, created_at, expires_at,
             proven, lent_role_id) SELECT rpad('many' || n, 43, 'A'), corp_id, employee_key, role_id, login_method, login_source,
             created_at, expires_at, proven, lent_role_id FROM session, generate_series(1, {MANY}) n"
        ));
        assert_eq!(one.auth().operator().disable(one.key("user01")).await.unwrap(), MANY + 1);
        one.auth().operator().enable(one.key("user01")).await.unwrap();
        soon("signed out for good", async || !client.is_valid(&token).await).await;
        assert_eq!(one.query("SELECT count(*) FROM denied_token"), [(MANY + 1).to_string()]);
    }

    async fn what_administrators_change_on_one_node_counts_on_another() {
        let one = TestApp::start().await;
        let other = one.second_node().await;
        let mut client = other.client().await;
        for _ in 0..20 {
            let token = client.sign_in("agent01").await;
            assert!(client.is_valid(&token).await);
            one.auth().operator().revoke(one.key("agent01"), "agent").await.unwrap();
            soon("a role taken away", async || !client.is_valid(&token).await).await;
            one.auth().operator().grant(one.key("agent01"), "agent").await.unwrap();
            soon("a role given back", async || client.is_valid(&token).await).await;
            one.auth().operator().disable(one.key("agent01")).await.unwrap();
            soon("shut out", async || client.me(&token).await.status == 401).await;
            assert_eq!(client.me(&token).await.refused(401, 1001).reason(), "disabled");
            one.auth().operator().enable(one.key("agent01")).await.unwrap();
            soon("let in", async || {
                client.post("/api/dev/login", &[], &json!({ "employee_id": "agent01" })).await.status == 200
            })
            .await;
        }
    }

    async fn what_needs_a_platform_runs_as_a_process_too() {
        let platform = Platform::start("desk.example.com").await;
        let pairs = platform.pairs();
        let pairs: Vec<_> = pairs.iter().map(|(key, value)| (*key, &**value)).collect();
        let place = Servers::shared().cluster_store();
        let node = Process::production_node(&place, &pairs);
        assert_eq!(Client::connect(&node.address).await.get("/api/ready", &[]).await.data()["mode"], "production");
        assert_eq!(place.query("SELECT count(*) FROM employee"), ["0"]);
    }
}
