//! The connection to Redis ends after Redis has done what it was asked, and before the answer arrives, or before it is asked; or
//! the answer does not come in time.

use std::time::Duration;

use crate::harness::{ClusterStore, Fault, FaultProxy, Fired, Servers, TestApp, Trigger, development};
use crate::questions::{Asked, CREATE_KEY, Subject, open};

/// A service that reaches Redis through a proxy.
struct Scene {
    place: ClusterStore,
    proxy: FaultProxy,
    app: TestApp,
}

impl Scene {
    async fn start() -> Self {
        Self::at(Servers::shared().cluster_store()).await
    }

    /// The service does not wait long for Redis.
    async fn impatient() -> Self {
        let mut place = Servers::shared().cluster_store();
        place.timeouts[1] = "1s";
        Self::at(place).await
    }

    async fn at(place: ClusterStore) -> Self {
        let [_, redis] = place.addresses();
        let proxy = FaultProxy::to(&redis).await;
        let app = TestApp::at(&place.through(None, Some(&proxy)), development(&[])).await;
        Self { place, proxy, app }
    }

    /// The key of the only sign-in under way.
    fn sign_in(&self) -> String {
        let mut records = self.place.store_records("sign_in");
        assert_eq!(records.len(), 1);
        records.remove(0).0
    }

    /// A change of the sign-in: a script with its key.
    fn change_of_sign_in(&self) -> Trigger {
        let key = self.sign_in();
        Trigger::Request(format!("\r\n1\r\n${}\r\n{key}\r\n", key.len()).leak().as_bytes())
    }

    /// Makes these faults happen at the next changes of the sign-in.
    fn fail_changes(&self, faults: &[Fault]) -> Vec<Fired> {
        faults.iter().map(|fault| self.proxy.once(*fault, self.change_of_sign_in())).collect()
    }

    /// The record by which the phone finds its sign-in is stored.
    fn put_of_claim(&self) -> Trigger {
        let key = self.sign_in();
        let (start, digest) = key.split_once(":sign_in:").unwrap();
        let length = start.len() + ":claim:".len() + digest.len();
        Trigger::Request(format!("\r\nSET\r\n${length}\r\n{start}:claim:").leak().as_bytes())
    }
}

/// An answer that never comes.
const NEVER: Fault = Fault::Delay(Duration::from_hours(1));
/// Nothing goes wrong.
const AT_ONCE: Fault = Fault::Delay(Duration::from_millis(1));

/// The service tries again by itself. If that fails, the phone gets 503 and tries again; it is not told that the sign-in is decided.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_confirmation_without_an_answer_succeeds_or_can_be_repeated_at_once() {
    let scene = Scene::start().await;
    let mut client = scene.app.client().await;
    for lost in [1, 2] {
        scene.place.forget_records("sign_in");
        let code = client.qrcode().await;
        let confirm = client.scan_as(&code, "user01").await;
        let fired = scene.fail_changes(&[Fault::CloseAfter; 2][..lost]);
        let answer = client.decide("confirm", &confirm).await;
        assert!(fired.iter().all(|fired| fired.count() == 1), "{lost}");
        if lost == 1 {
            answer.data();
        } else {
            answer.refused(503, 1005);
            client.decide("confirm", &confirm).await.data();
        }
        let status = client.scan_status(code["ticket"].as_str().unwrap()).await;
        assert!(client.is_valid(status["token"].as_str().unwrap()).await);
        assert_eq!(scene.app.query("SELECT count(*) FROM session"), [lost.to_string()]);
    }
}

/// Redis has done what it was asked. After a timeout, other calls fail at once until there is another connection.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_confirmation_whose_answer_is_late_succeeds() {
    let scene = Scene::impatient().await;
    let mut client = scene.app.client().await;
    // The first change is the confirmation itself, and the second one that the session has begun.
    for (done, faults) in [&[NEVER][..], &[AT_ONCE, NEVER]].into_iter().enumerate() {
        scene.place.forget_records("sign_in");
        let code = client.qrcode().await;
        let confirm = client.scan_as(&code, "user01").await;
        let fired = scene.fail_changes(faults);
        client.decide("confirm", &confirm).await.data();
        assert!(fired.iter().all(|fired| fired.count() == 1), "{faults:?}");
        // The next request is not an attempt of the first one.
        client.decide("confirm", &confirm).await.refused(409, 1019);
        let status = client.scan_status(code["ticket"].as_str().unwrap()).await;
        assert!(client.is_valid(status["token"].as_str().unwrap()).await, "{faults:?}");
        assert_eq!(scene.app.query("SELECT count(*) FROM session"), [(done + 1).to_string()]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancellation_without_an_answer_succeeds_and_has_a_row() {
    let scene = Scene::start().await;
    let mut client = scene.app.client().await;
    for (done, fault) in [Fault::CloseAfter, Fault::CloseBefore].into_iter().enumerate() {
        scene.place.forget_records("sign_in");
        let code = client.qrcode().await;
        let confirm = client.scan_as(&code, "user01").await;
        let fired = scene.fail_changes(&[fault]);
        client.decide("cancel", &confirm).await.data();
        assert!(fired.iter().all(|fired| fired.count() == 1), "{fault:?}");
        client.decide("cancel", &confirm).await.refused(409, 1019);
        let rows = scene.app.query("SELECT count(*) FROM login_log WHERE event = 'sign_in_refused'");
        assert_eq!(rows, [(done + 1).to_string()], "{fault:?}");
    }
}

/// The session has begun: the phone is told so, and the browser gets its token.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_confirmation_whose_session_has_begun_succeeds() {
    let scene = Scene::start().await;
    let mut client = scene.app.client().await;
    for (done, fault) in [Fault::CloseAfter, Fault::CloseBefore].into_iter().enumerate() {
        scene.place.forget_records("sign_in");
        let code = client.qrcode().await;
        let confirm = client.scan_as(&code, "user01").await;
        let fired = scene.fail_changes(&[AT_ONCE, fault]);
        client.decide("confirm", &confirm).await.data();
        assert!(fired.iter().all(|fired| fired.count() == 1), "{fault:?}");
        let status = client.scan_status(code["ticket"].as_str().unwrap()).await;
        assert!(client.is_valid(status["token"].as_str().unwrap()).await, "{fault:?}");
        assert_eq!(scene.app.query("SELECT count(*) FROM session"), [(done + 1).to_string()]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scan_without_an_answer_succeeds() {
    let scene = Scene::start().await;
    let mut client = scene.app.client().await;
    for fault in [Fault::CloseAfter, Fault::CloseBefore] {
        for moment in [Scene::change_of_sign_in, Scene::put_of_claim] {
            scene.place.forget_records("sign_in");
            let code = client.qrcode().await;
            let fired = scene.proxy.once(fault, moment(&scene));
            let confirm = client.scan_as(&code, "user01").await;
            assert_eq!(fired.count(), 1, "{fault:?}");
            client.decide("confirm", &confirm).await.data();
            assert_eq!(client.scan_status(code["ticket"].as_str().unwrap()).await["status"], "confirmed", "{fault:?}");
        }
    }
}

/// An approval that Redis has, although nobody was told. The log says that it has no effect only if it was taken back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_without_an_answer_is_logged_as_what_is_known_of_it() {
    let scene = Scene::start().await;
    let mut client = scene.app.client().await;
    // The first change keeps the answer, and the second one takes it back.
    let unknown = "; it may have had an effect";
    for (faults, status, said) in [
        (&[Fault::CloseAfter][..], "expired", " and has no effect"),
        (&[Fault::CloseAfter, Fault::CloseBefore], "approved", unknown),
        (&[Fault::CloseAfter, Fault::CloseAfter], "expired", unknown),
    ] {
        scene.place.forget_records("question");
        let token = client.sign_in("admin01").await;
        let asked = Asked::of(&CREATE_KEY.ask(&mut client, &token).await);
        let secret = open(&mut client, "admin01").await;
        let key = scene.place.store_records("question").remove(0).0;
        let change = || Trigger::Request(format!("\r\n1\r\n${}\r\n{key}\r\n", key.len()).leak().as_bytes());
        let fired: Vec<_> = faults.iter().map(|fault| scene.proxy.once(*fault, change())).collect();
        Subject::Approval.pick(&mut client, &secret, asked.number).await.refused(503, 1005);
        assert!(fired.iter().all(|fired| fired.count() == 1), "{faults:?}");
        assert_eq!(Subject::Approval.status(&mut client, &token, &asked.id).await, status);
        let rows = scene
            .app
            .query("SELECT detail FROM login_log WHERE event = 'approval_refused' ORDER BY rowid DESC LIMIT 1");
        assert_eq!(rows, [format!("the answer before this row could not be kept{said}")]);
    }
}
