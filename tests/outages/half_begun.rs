//! Reads of which only the beginning succeeds: PostgreSQL begins a transaction, and refuses the statements after that.

use crate::harness::{Fault, FaultProxy, Servers, TestApp, Trigger, development};

/// The end of what begins a consistent read.
const SETTINGS: &[u8] = b"enable_bitmapscan = off";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_that_began_only_in_part_affects_no_later_one() {
    let place = Servers::shared().cluster_store();
    let proxy = FaultProxy::to(&place.addresses()[0]).await;
    let app = TestApp::at(&place.through(Some(&proxy), None), development(&[])).await;
    let mut client = app.client().await;
    let token = client.sign_in("admin01").await;
    for _ in 0..3 {
        let fired = proxy.once(Fault::Misspell, Trigger::Request(SETTINGS));
        while fired.count() == 0 {
            // Refused, unless the service made such a read by itself at this moment.
            client.get_as(&token, "/api/admin/login-log").await;
        }
        for _ in 0..10 {
            client.get_as(&token, "/api/admin/login-log").await.data();
        }
    }
}
