//! GET /api/admin/statistics

use std::time::Duration;

use deskpass_core::Role;
use serde_json::{Value, json};

use super::people::enter;
use crate::harness::{Client, Process, Servers, StoreBackend, TestApp, fragment, location, until};

const STATISTICS: &str = "/api/admin/statistics";

/// The counts of the hour that begins at `at`: shown, scanned, confirmed, collected, signed in, refused.
fn hour(at: u8, times: [u64; 6]) -> Value {
    let [shown, scanned, confirmed, collected, sign_ins, refused] = times;
    json!({
        "at": format!("2027-01-15T{at:02}:00:00Z"), "qr_shown": shown, "qr_scanned": scanned, "qr_confirmed": confirmed,
        "qr_collected": collected, "sign_ins": sign_ins, "refused": refused
    })
}

/// An administrator who signed in at eight; the clock shows nine.
struct Watch {
    client: Client,
    token: String,
}

impl Watch {
    async fn begin(app: &TestApp) -> Self {
        let mut client = app.client().await;
        let token = client.sign_in("admin01").await;
        app.clock.advance(Duration::from_hours(1));
        Self { client, token }
    }

    async fn hours(&mut self, query: &str) -> Value {
        self.client.get_as(&self.token, &format!("{STATISTICS}{query}")).await.data()["items"].clone()
    }

    /// The counts since nine.
    async fn since_nine(&mut self) -> Value {
        self.hours("?from=2027-01-15T09:00:00Z&to=2027-01-15T12:00:00Z").await
    }
}

/// A sign-in of `who` by a QR code: `here` requests and collects it, `there` scans it.
async fn by_code(here: &mut Client, there: &mut Client, who: &str) -> String {
    let code = here.qrcode().await;
    let confirm = there.scan_as(&code, who).await;
    there.decide("confirm", &confirm).await.data();
    let ticket = code["ticket"].as_str().unwrap().to_owned();
    assert_eq!(here.scan_status(&ticket).await["status"], "confirmed");
    ticket
}

/// The totals over all hours.
async fn counted(client: &mut Client) -> [u64; 2] {
    let token = client.sign_in("admin01").await;
    let items = client.get_as(&token, STATISTICS).await.data()["items"].clone();
    ["qr_shown", "sign_ins"].map(|name| items.as_array().unwrap().iter().map(|item| item[name].as_u64().unwrap()).sum())
}

on_every_store! {
    async fn a_whole_sign_in_by_code_takes_every_step_once(app) {
        let mut watch = Watch::begin(&app).await;
        assert_eq!(watch.since_nine().await, json!([]));
        let (mut browser, mut phone) = (app.client().await, app.client().await);
        let ticket = by_code(&mut browser, &mut phone, "user01").await;
        for _ in 0..3 {
            assert_eq!(browser.scan_status(&ticket).await["status"], "confirmed");
        }
        assert_eq!(watch.since_nine().await, json!([hour(9, [1, 1, 1, 1, 1, 0])]));
    }

    async fn a_sign_in_counts_as_far_as_it_comes(app) {
        let mut watch = Watch::begin(&app).await;
        let mut client = app.client().await;
        client.qrcode().await;
        let scanned = client.qrcode().await;
        let confirm = client.scan_as(&scanned, "user01").await;
        assert_eq!(client.scan_status(scanned["ticket"].as_str().unwrap()).await["status"], "scanned");
        client.decide("request", &confirm).await.data();
        assert_eq!(watch.since_nine().await, json!([hour(9, [2, 1, 0, 0, 0, 0])]));
        client.decide("cancel", &confirm).await.data();
        client.decide("cancel", &confirm).await.refused(409, 1019);
        client.decide("confirm", &confirm).await.refused(409, 1019);
        assert_eq!(watch.since_nine().await, json!([hour(9, [2, 1, 0, 0, 0, 1])]));

        let waiting = client.qrcode().await;
        let confirm = client.scan_as(&waiting, "user01").await;
        client.decide("confirm", &confirm).await.data();
        client.decide("confirm", &confirm).await.refused(409, 1019);
        assert_eq!(watch.since_nine().await, json!([hour(9, [3, 2, 1, 0, 1, 1])]));
    }

    async fn an_employee_who_may_not_sign_in_is_refused_and_confirms_nothing(app) {
        let mut watch = Watch::begin(&app).await;
        let mut client = app.client().await;
        let code = client.qrcode().await;
        let confirm = client.scan_as(&code, "user01").await;
        app.auth().operator().disable(app.key("user01")).await.unwrap();
        client.decide("confirm", &confirm).await.refused(403, 1003);
        client.post("/api/auth/bind", &[], &json!({ "employee_id": "nobody" })).await.refused(403, 1003);
        client.post("/api/dev/login", &[], &json!({ "employee_id": "norole01" })).await.refused(403, 1003);
        assert_eq!(watch.since_nine().await, json!([hour(9, [1, 1, 0, 0, 0, 3])]));
        // A refusal to a user who is already signed in is not counted as a refused sign-in.
        watch.client.switch(&watch.token, "security").await.refused(403, 1003);
        assert_eq!(watch.since_nine().await, json!([hour(9, [1, 1, 0, 0, 0, 3])]));
    }

    async fn other_ways_in_are_sign_ins_and_no_codes(app) {
        let mut watch = Watch::begin(&app).await;
        let mut client = app.client().await;
        client.sign_in("user01").await;
        client.post("/api/auth/bind", &[], &json!({ "employee_id": "user01" })).await.data();
        let (link, cookies) = client.begin_oauth(&format!("http://{}/h5/", app.address)).await;
        let back = client.authorize(&link, "user01").await;
        let landed = location(&client.oauth_callback(&back, &cookies).await).to_owned();
        let path = format!("/api/auth/scan/status?ticket={}", fragment(&landed, "ticket"));
        for _ in 0..2 {
            let state = client.get(&path, &[("cookie", &cookies), ("sec-fetch-site", "same-origin")]).await.data();
            assert_eq!(state["status"], "confirmed");
        }
        assert_eq!(watch.since_nine().await, json!([hour(9, [0, 0, 0, 0, 3, 0])]));
    }

    async fn hours_begin_and_end_on_the_clock(app) {
        let mut watch = Watch::begin(&app).await;
        let mut client = app.client().await;
        app.clock.advance(Duration::from_millis(3_599_999));
        client.sign_in("user01").await;
        app.clock.advance(Duration::from_millis(1));
        client.sign_in("user01").await;
        client.sign_in("user01").await;
        app.clock.advance(Duration::from_mins(30));
        let (eight, nine, ten) = (hour(8, [0, 0, 0, 0, 1, 0]), hour(9, [0, 0, 0, 0, 1, 0]), hour(10, [0, 0, 0, 0, 2, 0]));
        for (query, found) in [
            ("", vec![&eight, &nine, &ten]),
            ("?from=2027-01-15T08:30:00Z", vec![&eight, &nine, &ten]),
            ("?from=2027-01-15T08:59:59.999Z&to=2027-01-15T09:00:00Z", vec![&eight]),
            ("?from=2027-01-15T09:00:00Z&to=2027-01-15T10:00:00Z", vec![&nine]),
            ("?from=2027-01-15T09:00:00Z&to=2027-01-15T10:00:00.001Z", vec![&nine, &ten]),
            ("?from=2027-01-15T18:00:00%2B08:00", vec![&ten]),
            ("?to=2027-01-15T08:00:00Z", vec![]),
            ("?from=2027-01-15T11:00:00Z&to=2027-01-15T12:00:00Z", vec![]),
        ] {
            assert_eq!(watch.hours(query).await, json!(found), "{query}");
        }
        // The counts are the same before and after they are flushed.
        app.auth().flush_statistics().await.unwrap();
        app.auth().flush_statistics().await.unwrap();
        client.sign_in("user01").await;
        assert_eq!(watch.hours("").await, json!([eight, nine, hour(10, [0, 0, 0, 0, 3, 0])]));
        let text = watch.client.get_as(&watch.token, STATISTICS).await.data();
        assert_eq!((&text["from"], &text["to"]), (&json!("2027-01-08T10:30:00Z"), &json!("2027-01-15T10:30:00Z")));
    }
}

on_one_store! {
    async fn a_time_that_is_none_or_too_long_is_named(app) {
        let mut watch = Watch::begin(&app).await;
        for (query, field) in [
            ("from=yesterday", "from"), ("to=2027-01-15", "to"), ("from=&to=", "from"),
            ("from=2027-01-15T09:00:00Z", "from"), ("from=2030-01-01T00:00:00Z", "from"),
            ("from=2027-01-15T09:00:00Z&to=2027-01-15T08:00:00Z", "from"),
            ("from=2026-10-14T07:59:59.999Z&to=2027-01-15T08:00:00Z", "from"), ("from=0001-01-01T00:00:00Z", "from"),
            ("to=2027-01-15T08:00:00Z&to=2027-01-15T09:00:00Z", "to"),
        ] {
            let refused = watch.client.get_as(&watch.token, &format!("{STATISTICS}?{query}")).await;
            assert!(refused.refused(400, 1002).json()["data"]["fields"][field].is_string(), "{query} {refused:?}");
        }
        assert_eq!(watch.hours("?from=2026-10-14T08:00:00Z&to=2027-01-15T08:00:00Z").await, json!([]));
        assert_eq!(watch.hours("?to=9999-12-30T00:00:00Z").await, json!([]));
    }
}

on_every_store! {
    async fn they_are_for_readers_of_all_employees(app) {
        enter(&app, "wwpartner", "boss", "Boss", "HQ", &[Role::Admin]).await;
        let mut client = app.client().await;
        let (user, agent) = (client.sign_in("user01").await, client.sign_in("agent01").await);
        let (security, supervisor) = (client.sign_in("security01").await, client.sign_in("supervisor01").await);
        client.switch(&security, "security").await.data();
        client.switch(&supervisor, "supervisor").await.data();
        let boss = client.post("/api/dev/login", &[], &json!({ "employee_id": "boss", "corp_id": "wwpartner" })).await.data();
        app.clock.advance(Duration::from_secs(1));
        client.get_as(&security, STATISTICS).await.data();
        for token in [&*user, &*agent, &*supervisor, boss["token"].as_str().unwrap()] {
            let refused = client.get_as(token, STATISTICS).await;
            assert_eq!(refused.refused(403, 1003).reason(), "role_needed");
        }
        let log = app.query("SELECT count(*) FROM login_log WHERE event = 'administration_refused'");
        assert_eq!(log, ["4"]);
    }

    async fn a_restart_keeps_them_and_goes_on(app) {
        let mut client = app.client().await;
        client.sign_in("user01").await;
        client.qrcode().await;
        let app = app.restart().await;
        assert_eq!(app.query("SELECT step, times FROM sign_in_count ORDER BY step"), ["qr_shown|1", "sign_in|1"]);
        let mut watch = Watch::begin(&app).await;
        app.client().await.qrcode().await;
        assert_eq!(watch.hours("").await, json!([hour(8, [1, 0, 0, 0, 2, 0])]));
        assert_eq!(watch.since_nine().await, json!([hour(9, [1, 0, 0, 0, 0, 0])]));
    }

    /// A store that fails for a while loses no counts and counts nothing twice.
    async fn what_cannot_be_written_down_stays_counted(app) {
        let mut client = app.client().await;
        app.query("ALTER TABLE sign_in_count RENAME TO elsewhere");
        client.qrcode().await;
        assert!(app.auth().flush_statistics().await.is_err());
        client.qrcode().await;
        assert!(app.auth().flush_statistics().await.is_err());
        app.query("ALTER TABLE elsewhere RENAME TO sign_in_count");
        app.auth().flush_statistics().await.unwrap();
        app.auth().flush_statistics().await.unwrap();
        assert_eq!(app.query("SELECT step, times FROM sign_in_count"), ["qr_shown|2"]);
    }

    async fn old_counts_are_swept(app) {
        let mut client = app.client().await;
        client.qrcode().await;
        app.auth().flush_statistics().await.unwrap();
        app.clock.advance(Duration::from_hours(400 * 24));
        app.auth().sweep().await.unwrap();
        assert_eq!(app.query("SELECT count(*) FROM sign_in_count"), ["1"]);
        client.qrcode().await;
        app.auth().flush_statistics().await.unwrap();
        app.clock.advance(Duration::from_millis(1));
        app.auth().sweep().await.unwrap();
        assert_eq!(app.query("SELECT count(*) FROM sign_in_count"), ["1"]);
    }

    async fn counts_survive_a_stop_and_a_kill() {
        let directory = tempfile::tempdir().unwrap();
        let place = (StoreBackend::current() == StoreBackend::ScaledOut).then(|| Servers::shared().cluster_store());
        let start = || match &place {
            None => Process::serve(directory.path(), &[]),
            Some(place) => Process::node(place, &[]),
        };
        let process = start();
        let mut client = Client::connect(&process.address).await;
        client.qrcode().await;
        client.sign_in("user01").await;
        drop(client);
        assert_eq!(tokio::task::spawn_blocking(move || process.terminate()).await.unwrap().0, Some(0));
        let process = start();
        let mut client = Client::connect(&process.address).await;
        assert_eq!(counted(&mut client).await, [1, 2]);
        client.qrcode().await;
        let written = || match &place {
            None => crate::harness::query(&directory.path().join("deskpass.db"), "SELECT CAST(sum(times) AS BIGINT) FROM sign_in_count"),
            Some(place) => place.query("SELECT CAST(sum(times) AS BIGINT) FROM sign_in_count"),
        };
        until("the counts are written", async || written() == ["4"]).await;
        process.kill();
        let process = start();
        assert_eq!(counted(&mut Client::connect(&process.address).await).await, [2, 3]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_add_up() {
    let together = async {
        let one = TestApp::start().await;
        let mut other = one.second_node().await;
        let mut watch = Watch::begin(&one).await;
        let (mut here, mut there) = (one.client().await, other.client().await);
        by_code(&mut here, &mut there, "user01").await;
        by_code(&mut there, &mut here, "user01").await;
        there.sign_in("user01").await;
        drop(there);
        other.stop().await;
        assert_eq!(watch.since_nine().await, json!([hour(9, [2, 2, 2, 2, 3, 0])]));
        one.auth().flush_statistics().await.unwrap();
        assert_eq!(watch.since_nine().await, json!([hour(9, [2, 2, 2, 2, 3, 0])]));
    };
    StoreBackend::ScaledOut.run(Box::pin(together)).await;
}
