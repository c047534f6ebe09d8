//! A failure in the middle of a commit: PostgreSQL or Redis executes a request, or does not, and the answer is lost. Nothing happens
//! twice, and a request that says that the outcome is unknown can be repeated.

use std::time::Duration;

use deskpass_store::SignInStep;
use serde_json::json;

use crate::harness::{
    Client, ClusterStore, Fault, FaultProxy, Fired, Response, Servers, TestApp, Trigger, development, fragment,
    location,
};
use crate::questions::{Asked, CREATE_KEY, Subject, open, verify_caller};

/// The faults of two attempts to commit. A request makes the second attempt itself.
const LOST_TWICE: [[Fault; 2]; 3] = [
    [Fault::CloseAfter, Fault::CloseAfter],
    [Fault::CloseBefore, Fault::CloseAfter],
    [Fault::CloseBefore, Fault::CloseBefore],
];

/// A service that reaches PostgreSQL and Redis through proxies.
struct Scene {
    app: TestApp,
    /// The store without the proxies.
    place: ClusterStore,
    postgres: FaultProxy,
    redis: FaultProxy,
}

impl Scene {
    async fn start(given: &[(&'static str, &str)]) -> Self {
        let place = Servers::shared().cluster_store();
        let [postgres, redis] = place.addresses();
        let (postgres, redis) = (FaultProxy::to(&postgres).await, FaultProxy::to(&redis).await);
        let app = TestApp::at(&place.through(Some(&postgres), Some(&redis)), development(given)).await;
        Self { app, place, postgres, redis }
    }

    /// Loses the answers to the next two commits of transactions in which these bytes are sent.
    fn lose_commits(&self, faults: [Fault; 2], of: &'static [u8]) -> [Fired; 2] {
        faults.map(|fault| self.postgres.once(fault, Trigger::CommitOf(of)))
    }

    /// The number of sessions, and of rows about sign-ins in the log.
    fn sign_ins(&self, method: &str) -> [String; 2] {
        let count = |table: &str, and: &str| {
            let sql = format!("SELECT count(*) FROM {table} WHERE login_method = '{method}'{and}");
            self.place.query(&sql).remove(0)
        };
        [count("session", ""), count("login_log", " AND event = 'sign_in'")]
    }

    /// Begins an OAuth sign-in of `user01`; returns the address that the platform leads to, and the browser's cookies.
    async fn oauth(&self, client: &mut Client) -> (String, String) {
        let (link, cookies) = client.begin_oauth(&format!("http://{}/h5/", self.app.address)).await;
        (client.authorize(&link, "user01").await, cookies)
    }
}

fn assert_fired(faults: &[Fired]) {
    assert!(faults.iter().all(|fired| fired.count() == 1), "nothing went wrong: {faults:?}");
}

#[track_caller]
fn assert_unknown(answer: &Response) {
    let message = answer.refused(503, 1005).json()["message"].as_str().unwrap().to_owned();
    assert!(message.contains(": store unavailable, outcome unknown (ref "), "{message}");
}

/// Loads the callback until it signs in; returns where it leads to.
async fn load_again(client: &mut Client, back: &str, cookies: &str) -> String {
    let mut landed = String::new();
    // Twice if the machine was too slow for the second attempt within the first request.
    for _ in 0..2 {
        location(&client.oauth_callback(back, cookies).await).clone_into(&mut landed);
        if landed.contains("#ticket=") {
            break;
        }
    }
    landed
}

/// Collects the token that the ticket in an address stands for.
async fn collect(client: &mut Client, landed: &str, cookies: &str) -> String {
    let path = format!("/api/auth/scan/status?ticket={}", fragment(landed, "ticket"));
    let own_page = [("cookie", cookies), ("sec-fetch-site", "same-origin")];
    let status = client.get(&path, if cookies.is_empty() { &[] } else { &own_page }).await.data();
    status["token"].as_str().unwrap_or_else(|| panic!("{status}")).to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_oauth_sign_in_that_is_tried_again_has_one_session() {
    let scene = Scene::start(&[]).await;
    let mut client = scene.app.client().await;
    for (done, faults) in LOST_TWICE.into_iter().enumerate() {
        let (back, cookies) = scene.oauth(&mut client).await;
        let fired = scene.lose_commits(faults, b"oauth2");
        let landed = location(&client.oauth_callback(&back, &cookies).await).to_owned();
        assert!(landed.contains("#error=internal"), "{faults:?}: {landed}");
        let landed = load_again(&mut client, &back, &cookies).await;
        assert_fired(&fired);
        let token = collect(&mut client, &landed, &cookies).await;
        assert!(client.is_valid(&token).await);
        assert_eq!(scene.sign_ins("oauth2"), [(); 2].map(|()| (done + 1).to_string()), "{faults:?}");
        // The page is loaded once more, and gets the same answer.
        assert_eq!(location(&client.oauth_callback(&back, &cookies).await), landed);
        // A session that no attempt knew to have begun is not counted.
        assert!(counted(&scene.app, SignInStep::SignedIn).await <= done as u64 + 1, "{faults:?}");
    }
}

/// The session has begun, and its ticket cannot be stored.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ticket_that_could_not_be_stored_begins_no_second_session() {
    let scene = Scene::start(&[]).await;
    let mut client = scene.app.client().await;
    for (done, fault) in [(1, Fault::CloseBefore), (2, Fault::CloseAfter)] {
        let (back, cookies) = scene.oauth(&mut client).await;
        let fired = scene.redis.once(fault, Trigger::Request(b":1:sign_in:"));
        let landed = location(&client.oauth_callback(&back, &cookies).await).to_owned();
        assert!(landed.contains("#error=internal"), "{fault:?}: {landed}");
        assert_fired(&[fired]);
        // The next request finds its session, twice, because the answer to the first commit is lost.
        let fired = scene.postgres.once(Fault::CloseAfter, Trigger::CommitOf(b"oauth2"));
        let landed = load_again(&mut client, &back, &cookies).await;
        assert_fired(&[fired]);
        let token = collect(&mut client, &landed, &cookies).await;
        assert!(client.is_valid(&token).await);
        assert_eq!(scene.sign_ins("oauth2"), [(); 2].map(|()| done.to_string()), "{fault:?}");
        assert_eq!(counted(&scene.app, SignInStep::SignedIn).await, done, "{fault:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_continued_sign_in_that_is_tried_again_has_one_session() {
    let scene = Scene::start(&[]).await;
    let mut client = scene.app.client().await;
    for (done, faults) in LOST_TWICE.into_iter().enumerate() {
        let (back, _) = scene.oauth(&mut client).await;
        let pending = fragment(location(&client.oauth_callback(&back, "").await), "continue");
        let ask = json!({ "continue": pending });
        let fired = scene.lose_commits(faults, b"oauth2");
        assert_unknown(&client.post("/api/auth/oauth2/continue", &[], &ask).await);
        let mut answer = client.post("/api/auth/oauth2/continue", &[], &ask).await;
        if answer.status == 503 {
            // The machine was too slow for the second attempt within the first request.
            answer = client.post("/api/auth/oauth2/continue", &[], &ask).await;
        }
        assert_fired(&fired);
        let token = collect(&mut client, answer.data()["redirect_to"].as_str().unwrap(), "").await;
        assert!(client.is_valid(&token).await);
        assert_eq!(scene.sign_ins("oauth2"), [(); 2].map(|()| (done + 1).to_string()), "{faults:?}");
        client.post("/api/auth/oauth2/continue", &[], &ask).await.refused(409, 1019);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_confirmation_on_the_phone_that_is_tried_again_has_one_session() {
    let scene = Scene::start(&[]).await;
    let mut client = scene.app.client().await;
    let code = client.qrcode().await;
    let confirm = client.scan_as(&code, "user01").await;
    let fired = scene.lose_commits([Fault::CloseAfter; 2], b"qrcode");
    assert_unknown(&client.decide("confirm", &confirm).await);
    if client.decide("confirm", &confirm).await.status == 503 {
        client.decide("confirm", &confirm).await.data();
    }
    assert_fired(&fired);
    assert_eq!(client.scan_status(code["ticket"].as_str().unwrap()).await["status"], "confirmed");
    assert_eq!(scene.sign_ins("qrcode"), ["1", "1"]);
}

/// The service tries again by itself, with the same token: the client gets it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sign_in_is_completed_within_its_request() {
    let scene = Scene::start(&[]).await;
    let mut client = scene.app.client().await;
    let who = json!({ "employee_id": "user01" });
    for (done, fault) in [Fault::CloseAfter, Fault::CloseBefore].into_iter().enumerate() {
        let fired = scene.postgres.once(fault, Trigger::CommitOf(b"\0\0\0\x04bind"));
        let bound = client.post("/api/auth/bind", &[], &who).await.data();
        assert_fired(&[fired]);
        assert!(client.is_valid(bound["token"].as_str().unwrap()).await);
        assert_eq!(scene.sign_ins("bind"), [(); 2].map(|()| (done + 1).to_string()), "{fault:?}");
    }
    // The second attempt fails, too: no token is given, and the answer says that there may be a session.
    let fired = scene.lose_commits([Fault::CloseAfter; 2], b"\0\0\0\x04bind");
    assert_unknown(&client.post("/api/auth/bind", &[], &who).await);
    assert_eq!(fired[0].count(), 1);
    assert_eq!(scene.sign_ins("bind"), ["3", "3"]);
    let unknown = r#"deskpass_store_operations_total{operation="write",outcome="outcome_unknown"}"#;
    assert!(client.metric(unknown).await.unwrap() > 0);
}

/// The session uses its partial session up, which the second attempt does not find any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partial_session_is_completed_within_its_request() {
    let scene = Scene::start(&[]).await;
    let device = scene.app.agent_with_device("agent01").await;
    let mut client = scene.app.client().await;
    let half = client.partial_sign_in("agent01").await;
    let fired = scene.postgres.once(Fault::CloseAfter, Trigger::CommitOf(b"itagent"));
    let code = json!({ "code": device.next_code() });
    let whole = client.post_as(&half, "/api/auth/otp-verify", &code).await.data();
    assert_fired(&[fired]);
    assert!(client.is_valid(whole["token"].as_str().unwrap()).await);
    assert_eq!(scene.sign_ins("password"), ["1", "1"]);
}

/// It is unknown whether the device was reset: the verification of the caller is used up in either case.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_verified_caller_is_good_for_one_reset() {
    let scene = Scene::start(&[("verification.before_resets", "true")]).await;
    let mut client = scene.app.client().await;
    let (admin, device) = scene.app.administrator().await;
    let reset = "/api/admin/agents/agent01/reset-otp";
    for fault in [Fault::CloseAfter, Fault::CloseBefore] {
        verify_caller(&mut client, &admin, "agent01").await;
        let fired = scene.postgres.once(fault, Trigger::CommitOf(b"device_reset"));
        assert_unknown(&client.post_with_otp(&admin, reset, Some(&device.next_code())).await);
        assert_fired(&[fired]);
        let again = client.post_with_otp(&admin, reset, Some(&device.next_code())).await;
        assert_eq!(again.refused(403, 1003).reason(), "caller_not_verified", "{fault:?}");
        let rows = scene.place.query("SELECT count(*) FROM login_log WHERE event = 'device_reset'");
        assert_eq!(rows, ["1"], "{fault:?}");
    }
    // The caller is verified once more, and the change is made.
    verify_caller(&mut client, &admin, "agent01").await;
    client.post_with_otp(&admin, reset, Some(&device.next_code())).await.data();
}

/// The rows about the answers of a phone to questions of an approval, without those that only say that one was asked.
fn answers(scene: &Scene) -> Vec<String> {
    let text =
        "SELECT event, detail FROM login_log WHERE event IN ('approval_given', 'approval_refused') ORDER BY rowid";
    scene.place.query(text)
}

/// The phone learns what became of its answer, and so does the asker.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_is_logged_again_settles() {
    let scene = Scene::start(&[]).await;
    let mut client = scene.app.client().await;
    let token = client.sign_in("admin01").await;
    for (done, fault) in [(1, Fault::CloseAfter), (2, Fault::CloseBefore)] {
        let asked = Asked::of(&CREATE_KEY.ask(&mut client, &token).await);
        let secret = open(&mut client, "admin01").await;
        let fired = scene.postgres.once(fault, Trigger::CommitOf(b"approval_given"));
        let answered = Subject::Approval.pick(&mut client, &secret, asked.number).await;
        assert_fired(&[fired]);
        assert_eq!(answered.data(), json!({ "status": "approved" }), "{fault:?}");
        CREATE_KEY.send(&mut client, &token, &asked.id).await.data();
        assert_eq!(answers(&scene), vec!["approval_given|asked from 127.0.0.1"; done], "{fault:?}");
    }
}

/// Where it stays unknown whether the answer was logged, nothing comes of it, and the log says so if it was.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_of_which_it_stays_unknown_whether_it_was_logged_has_no_effect() {
    let scene = Scene::start(&[]).await;
    let mut client = scene.app.client().await;
    for (last, rows) in [(Fault::CloseBefore, 0), (Fault::CloseAfter, 2)] {
        let token = client.sign_in("admin01").await;
        let asked = Asked::of(&CREATE_KEY.ask(&mut client, &token).await);
        let secret = open(&mut client, "admin01").await;
        let fired = scene.lose_commits([Fault::CloseBefore, last], b"approval_given");
        assert_unknown(&Subject::Approval.pick(&mut client, &secret, asked.number).await);
        assert_fired(&fired);
        assert_eq!(Subject::Approval.status(&mut client, &token, &asked.id).await, "expired", "{last:?}");
        CREATE_KEY.send(&mut client, &token, &asked.id).await.refused(401, 1008);
        for _ in 0..2 {
            scene.app.clock.advance(Duration::from_secs(31));
            scene.app.auth().sweep_with_lease().await.unwrap();
            let said = answers(&scene);
            assert_eq!(said.len(), rows, "{said:?}");
        }
    }
    let no_effect = "approval_refused|the answer before this row could not be kept and has no effect";
    assert_eq!(answers(&scene), ["approval_given|asked from 127.0.0.1", no_effect]);
}

/// How often a step of a sign-in was counted.
async fn counted(app: &TestApp, step: SignInStep) -> u64 {
    let (from, to) = (app.clock.now() - Duration::from_hours(2), app.clock.now() + Duration::from_hours(2));
    let hours = app.auth().statistics(from, to).await.unwrap();
    hours.iter().map(|hour| hour.times(step)).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statistics_are_counted_once() {
    let scene = Scene::start(&[]).await;
    let (app, mut client) = (&scene.app, scene.app.client().await);
    for (fault, total) in [(Fault::CloseAfter, 3), (Fault::CloseBefore, 6), (Fault::CloseAfter, 9)] {
        let fired = scene.postgres.once(fault, Trigger::CommitOf(b"qr_shown"));
        for _ in 0..3 {
            client.qrcode().await;
        }
        // This attempt fails, or one that the service made by itself just before.
        drop(app.auth().flush_statistics().await);
        assert_fired(&[fired]);
        assert_eq!(counted(app, SignInStep::QrShown).await, total, "{fault:?}");
        app.auth().flush_statistics().await.unwrap();
        assert_eq!(counted(app, SignInStep::QrShown).await, total, "{fault:?}");
        let written = scene.place.query("SELECT CAST(sum(times) AS BIGINT) FROM sign_in_count WHERE step = 'qr_shown'");
        assert_eq!(written, [total.to_string()], "{fault:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_summary_of_refusals_is_written_once() {
    let scene = Scene::start(&[]).await;
    let (app, mut client) = (&scene.app, scene.app.client().await);
    let mut number = 0;
    for (fault, rows) in [(Fault::CloseAfter, 1), (Fault::CloseBefore, 2)] {
        // More than the 60 that get a row of their own.
        for _ in 0..65 {
            number += 1;
            let target = format!("/api/auth/oauth2/callback?code=made-up-{number}&state=auth_login");
            client.get(&target, &[]).await;
        }
        let fired = scene.postgres.once(fault, Trigger::CommitOf(b"refusals_summarised"));
        assert!(app.auth().summarise_refusals().await.unwrap_err().is_outcome_unknown(), "{fault:?}");
        assert_fired(&[fired]);
        assert_eq!(app.auth().summarise_refusals().await.unwrap(), 5, "{fault:?}");
        assert_eq!(app.auth().summarise_refusals().await.unwrap(), 0, "{fault:?}");
        let details = scene.place.query("SELECT detail FROM login_log WHERE event = 'refusals_summarised'");
        assert_eq!(details.len(), rows, "{fault:?}: {details:?}");
        assert!(details.iter().all(|detail| detail.starts_with("5 more refusals")), "{details:?}");
        app.clock.advance(Duration::from_mins(1));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_has_one_row() {
    let scene = Scene::start(&[]).await;
    let mut client = scene.app.client().await;
    for (number, fault) in [(1, Fault::CloseAfter), (2, Fault::CloseBefore)] {
        let fired = scene.postgres.once(fault, Trigger::CommitOf(b"sign_in_refused"));
        let target = format!("/api/auth/oauth2/callback?code=made-up-{number}&state=auth_login");
        let landed = location(&client.get(&target, &[]).await).to_owned();
        assert_fired(&[fired]);
        assert!(landed.contains("#error=") && !landed.contains("#error=internal"), "{fault:?}: {landed}");
        let rows = scene.place.query("SELECT count(*) FROM login_log WHERE event = 'sign_in_refused'");
        assert_eq!(rows, [number.to_string()], "{fault:?}");
    }
}

/// One step ends a thousand sessions.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ending_all_sessions_goes_on_after_a_lost_answer() {
    let scene = Scene::start(&[]).await;
    let now = scene.app.clock.now().millis();
    for (fault, rows) in [(Fault::CloseAfter, "2"), (Fault::CloseBefore, "4")] {
        scene.place.query(&format!(
            "INSERT INTO session (digest, corp_id, employee_key, role_id, login_method, login_source, created_at, expires_at)
             SELECT md5('{fault:?} ' || number), 'wwdeskpass', 'user01', 3, 'dev', 'H5', {now}, {now} + 3600000
             FROM generate_series(1, 1500) AS number"
        ));
        let fired = scene.postgres.once(fault, Trigger::CommitOf(b"all_sessions_ended"));
        let ended = scene.app.auth().operator().end_all_sessions(None, "a test").await.unwrap();
        assert_fired(&[fired]);
        assert_eq!(ended, 1_500, "{fault:?}");
        assert_eq!(scene.place.query("SELECT count(*) FROM session"), ["0"], "{fault:?}");
        let logged = scene.place.query("SELECT count(*) FROM login_log WHERE event = 'all_sessions_ended'");
        assert_eq!(logged, [rows], "{fault:?}");
    }
}
