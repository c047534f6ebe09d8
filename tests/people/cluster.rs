//! Two nodes: what one of them is told counts on the other within a second, also without Redis.

use std::time::Duration;

use serde_json::json;

use super::{change, control, event_settings, receiver};
use crate::cluster::soon;
use crate::harness::{
    Client, ClusterStore, Messenger, OidcClient, Receiver, Servers, TestApp, TestSocket, Tokens, development,
    registration_at, until,
};
use crate::oidc::on_two_nodes;

/// Two nodes in development mode. Both use the platform that is simulated inside the first, which tells the first of changes.
struct Pair {
    nodes: [TestApp; 2],
}

/// What a person has: a session, a socket on the second node, and the tokens of a program.
struct Entered {
    token: String,
    socket: TestSocket,
    tokens: Tokens,
}

impl Pair {
    async fn start(place: &ClusterStore) -> Self {
        let own = [("limits.enabled", "false"), ("public_url", "http://desk.test")];
        let given = [&own[..], &event_settings()[..]].concat();
        let one = TestApp::at(place, development(&given)).await;
        let at = |path: &str| format!("http://{}/sim{path}", one.address);
        let addresses: Vec<_> = Messenger::current().addresses.iter().map(|(key, path)| (*key, at(path))).collect();
        let addresses = addresses.iter().map(|(key, value)| (*key, value.as_str()));
        let given: Vec<_> = given.iter().copied().chain(addresses).collect();
        let other = one.second_node_with(development(&given)).await;
        control(&mut one.client().await, "PUT", "events", &receiver(&one.address)).await;
        Self { nodes: [one, other] }
    }

    async fn clients(&self) -> [Client; 2] {
        [self.nodes[0].client().await, self.nodes[1].client().await]
    }

    async fn enter(&self, program: &OidcClient, who: &str) -> Entered {
        let [mut here, mut there] = self.clients().await;
        let (_, tokens) = self.nodes[0].oidc_sign_in(program, who).await;
        let token = there.sign_in(who).await;
        let socket = self.nodes[1].socket("employee", &token).await;
        assert!(here.is_valid(&token).await && program.is_live(&mut there, &tokens).await);
        Entered { token, socket, tokens }
    }

    /// A person leaves: all that they have ends on both nodes within a second, and the program is told.
    async fn leave(&self, (program, told): (&OidcClient, &Receiver), who: &str, entered: Entered) {
        let ([mut here, mut there], Entered { token, mut socket, tokens }) = (self.clients().await, entered);
        told.forget();
        let events = change(&mut here, who, &json!({ "state": "left" })).await;
        assert_eq!(events[0]["accepted"], true, "{events:?}");
        assert!(!here.is_valid(&token).await);
        soon("a leaver", async || !there.is_valid(&token).await).await;
        soon("a leaver at a program", async || program.is_over(&mut there, &tokens).await).await;
        assert_eq!(there.me(&token).await.refused(401, 1001).reason(), "left");
        socket.ends_with(4401, "left").await;
        until("the program is told", async || !told.logout_tokens().is_empty()).await;
        let again = there.post("/api/dev/login", &[], &json!({ "employee_id": who })).await;
        assert_eq!(again.refused(403, 1003).reason(), "disabled");
    }
}

on_two_nodes! {
    async fn a_leaver_is_refused_on_every_node_with_and_without_redis() {
        let servers = Servers::private();
        let place = servers.cluster_store();
        let pair = Box::pin(Pair::start(&place)).await;
        let told = Receiver::start().await;
        let program = pair.nodes[0].oidc_client(registration_at(&told)).await;
        let (known, mut other) = (program.authorization().with("prompt", "none").path(), pair.nodes[1].client().await);
        soon("a new program", async || other.get(&known, &[]).await.status == 303).await;
        let entered = pair.enter(&program, "user01").await;
        pair.leave((&program, &told), "user01", entered).await;
        // A sign-in for a program waits in Redis, so it is made before.
        let entered = pair.enter(&program, "agent01").await;
        servers.kill_redis();
        pair.leave((&program, &told), "agent01", entered).await;
        assert_eq!(place.query("SELECT count(*) FROM login_log WHERE event = 'employee_left'"), ["2"]);
    }

    async fn an_event_that_arrives_on_two_nodes_at_once_counts_once() {
        let place = Servers::shared().cluster_store();
        let pair = Box::pin(Pair::start(&place)).await;
        let [mut here, mut there] = pair.clients().await;
        let token = there.sign_in("user01").await;
        let event = json!({ "change": "left", "userid": "user01", "times": 5 });
        // The second node has a simulated platform of its own, too, which signs with the same keys and writes the same text.
        control(&mut there, "PUT", "events", &receiver(&pair.nodes[1].address)).await;
        tokio::join!(control(&mut here, "POST", "events/send", &event), control(&mut there, "POST", "events/send", &event));
        assert_eq!(there.me(&token).await.refused(401, 1001).reason(), "left");
        assert_eq!(place.query("SELECT count(*) FROM platform_event"), ["1"]);
        let pending = "SELECT count(*) FROM platform_event WHERE due_at IS NOT NULL";
        until("the event is handled", async || {
            pair.nodes.iter().for_each(|node| node.clock.advance(Duration::from_secs(10)));
            place.query(pending) == ["0"]
        })
        .await;
        let rows = "SELECT event FROM login_log WHERE event IN ('employee_left', 'employee_returned') ORDER BY rowid";
        assert_eq!(place.query(rows), ["employee_left", "employee_returned"]);
    }
}
