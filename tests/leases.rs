//! Work that one node at a time does: its lease lasts as long as the work, and ends by the same clock on all nodes.

use std::time::Duration;

use deskpass_core::{Clock, MachineClock};
use deskpass_store::{Chore, Notice, NoticeSubject};

use crate::harness::{StoreBackend, TestApp};

/// The rows of ten batches of a sweep.
const BACKLOG: usize = 5_000;
const SWEEP_LEASE: Duration = Duration::from_secs(50);
const NOTICE_LEASE: Duration = Duration::from_mins(1);

/// Inserts rows that have expired by any clock.
fn insert_expired(app: &TestApp, number: usize) {
    app.query(&format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {number})
         INSERT INTO denied_token (digest, reason, until) SELECT 'expired ' || i, 'kicked', 1 FROM n"
    ));
}

fn expired(app: &TestApp) -> Vec<String> {
    app.query("SELECT count(*) FROM denied_token WHERE until = 1")
}

/// A node whose machine has a simulated clock. Without its server, nothing but the test reads the clock. The lease of the server's own
/// sweep is over.
async fn node_that_sweeps() -> (MachineClock, TestApp) {
    let machine = MachineClock::manual(MachineClock::real().wall());
    let mut app = TestApp::with_clock(Clock::after_record(machine.clone(), None)).await;
    app.stop().await;
    machine.advance(2 * SWEEP_LEASE);
    (machine, app)
}

/// Sweeps while each reading of the clock takes three seconds; returns how many rows were removed, and how long it took.
async fn slow_sweep(machine: &MachineClock, app: &TestApp) -> (usize, Duration) {
    let began_at = app.clock.uptime();
    machine.advance_on_read(Duration::from_secs(3));
    let swept = app.auth().sweep_with_lease().await.unwrap();
    machine.advance_on_read(Duration::ZERO);
    (swept, app.clock.uptime().saturating_sub(began_at))
}

on_every_store! {
    /// The signing keys are maintained before each sweep, so none may last for as long as there is something to remove.
    async fn a_backlog_is_removed_by_several_sweeps() {
        let (machine, app) = node_that_sweeps().await;
        insert_expired(&app, BACKLOG);
        let mut sweeps = 0;
        while expired(&app) != ["0"] {
            let (swept, took) = slow_sweep(&machine, &app).await;
            assert!(swept > 0, "the lease is free for the next sweep");
            assert!(took < Duration::from_mins(2), "{took:?}");
            sweeps += 1;
        }
        assert!(sweeps > 1, "it was removed at once");
        // Nothing is left.
        app.auth().sweep_with_lease().await.unwrap();
        let now = app.clock.lease_now();
        assert!(!app.auth().store.claim_chore(Chore::Sweep, now, now + SWEEP_LEASE).await.unwrap());
        let now = now + 2 * SWEEP_LEASE;
        assert!(app.auth().store.claim_chore(Chore::Sweep, now, now + SWEEP_LEASE).await.unwrap(), "a minute later");
    }

    /// At every moment of a busy day some token expires.
    async fn a_sweep_leaves_what_expires_meanwhile() {
        let (machine, app) = node_that_sweeps().await;
        let now = app.clock.now().millis();
        app.query(&format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3600)
             INSERT INTO denied_token (digest, reason, until) SELECT 'later ' || i, 'kicked', {now} + 1000 * i FROM n"
        ));
        let (_, took) = slow_sweep(&machine, &app).await;
        assert!(took < Duration::from_mins(2), "{took:?}");
        let left: usize = app.query("SELECT count(*) FROM denied_token WHERE reason = 'kicked'")[0].parse().unwrap();
        assert!(left > 3_000, "{left}");
    }
}

/// Two nodes without their servers. The clock of the second is ahead of the first's by more than any lease lasts that is not renewed.
struct Pair {
    machines: [MachineClock; 2],
    nodes: [TestApp; 2],
}

impl Pair {
    async fn start() -> Self {
        let now = MachineClock::real().wall();
        let machines = [now, now + Duration::from_secs(70)].map(MachineClock::manual);
        let [here, there] = machines.clone().map(|machine| Clock::after_record(machine, None));
        let mut one = TestApp::with_clock(here).await;
        let mut other = one.second_node_at(there).await;
        one.stop().await;
        other.stop().await;
        for node in [&one, &other] {
            // As a reading of the database's time does.
            node.clock.align_leases(now);
        }
        one.query("UPDATE chore SET until = 0");
        Self { machines, nodes: [one, other] }
    }

    fn advance(&self, by: Duration) {
        self.machines.iter().for_each(|machine| machine.advance(by));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_whose_clock_is_ahead_does_not_sweep_again() {
    let test = async {
        let pair = Pair::start().await;
        let [one, other] = &pair.nodes;
        insert_expired(one, 1);
        assert_eq!(one.auth().sweep_with_lease().await.unwrap(), 1);
        insert_expired(one, 1);
        assert_eq!(other.auth().sweep_with_lease().await.unwrap(), 0);
        assert_eq!(expired(one), ["1"]);
        pair.advance(SWEEP_LEASE);
        assert_eq!(other.auth().sweep_with_lease().await.unwrap(), 1);
    };
    StoreBackend::ScaledOut.run(Box::pin(test)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_whose_clock_is_ahead_does_not_send_a_notice_again() {
    let test = async {
        let pair = Pair::start().await;
        let [one, other] = &pair.nodes;
        // The node that writes it is ahead of the database, and it is due at once.
        let ahead = one.clock.now() + Duration::from_secs(29);
        let notice = Notice {
            id: "0123456789abcdef".to_owned(),
            employee: one.key("agent01"),
            subject: NoticeSubject::PasswordUsed,
            address: "192.0.2.1".to_owned(),
            user_agent: String::new(),
            at: ahead,
            about: None,
            tries: 0,
        };
        one.auth().store.queue_notices(vec![notice]).await.unwrap();
        // The simulated platform stopped with the server, so no attempt succeeds.
        let deliver = async |node: &TestApp| node.auth().deliver_notices(|_| "text".to_owned()).await.unwrap();
        assert_eq!(deliver(one).await, 1);
        assert_eq!(deliver(other).await, 0);
        assert_eq!(one.query("SELECT tries FROM notice"), ["1"]);
        pair.advance(NOTICE_LEASE);
        assert_eq!(deliver(other).await, 1);
        assert_eq!(one.query("SELECT tries FROM notice"), ["2"]);
    };
    StoreBackend::ScaledOut.run(Box::pin(test)).await;
}
