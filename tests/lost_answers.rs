//! The connection to Redis ends after Redis has done what it was asked, and before the answer arrives.

use crate::harness::{Fault, FaultProxy, Servers, TestApp, Trigger, development};

/// The phone gets 503 and tries again; it is not told that the sign-in is decided.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_confirmation_without_an_answer_can_be_repeated_at_once() {
    let place = Servers::shared().cluster_store();
    let [_, redis] = place.addresses();
    let proxy = FaultProxy::to(&redis).await;
    let app = TestApp::at(&place.through(None, Some(&proxy)), development(&[])).await;
    let mut client = app.client().await;
    let code = client.qrcode().await;
    let confirm = client.scan_as(&code, "user01").await;
    // The script that replaces a record.
    let fired = proxy.once(Fault::CloseAfter, Trigger::Request(b"if was == ARGV[2]"));
    client.decide("confirm", &confirm).await.refused(503, 1005);
    assert_eq!(fired.count(), 1);
    client.decide("confirm", &confirm).await.data();
    let status = client.scan_status(code["ticket"].as_str().unwrap()).await;
    assert!(client.is_valid(status["token"].as_str().unwrap()).await);
    assert_eq!(app.query("SELECT count(*) FROM session"), ["1"]);
}
