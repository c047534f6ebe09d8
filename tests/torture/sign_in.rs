//! The ways to sign in, each on random nodes. What fails is repeated, as users and browsers do: nothing may happen twice by that.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;

use super::call::{Reply, get, post, send};
use super::history::Outcome;
use super::nodes::NODES;
use super::workload::Worker;
use crate::harness::{cookies, encoded, target};

/// How often a step is repeated.
const ATTEMPTS: usize = 4;
const RETRY_DELAY: Duration = Duration::from_millis(150);

/// The node that made the session, if it was one; what became of the sign-in; and its token.
type Entered = (Option<usize>, Outcome, Option<String>);

/// A sign-in through the platform that did not come to an end may have made a session.
const UNFINISHED: Entered = (None, Outcome::Unknown, None);
/// A sign-in that ended before the person was known has made none.
const NOT_BEGUN: Entered = (None, Outcome::Refused, None);

impl Worker {
    /// Signs in.
    pub(super) async fn enter(&self, token: usize) -> Entered {
        let from = self.address(token);
        match self.below(3) {
            0 => self.by_name(&from).await,
            1 => self.by_oauth(&from).await,
            _ => self.by_phone(&from).await,
        }
    }

    async fn by_name(&self, from: &str) -> Entered {
        let node = self.below(NODES);
        let bytes = post("/api/auth/bind", from, None, &json!({ "employee_id": self.who }));
        let reply = send(&self.scene.nodes.all[node].address, &bytes).await;
        if reply.status() == Some(403) {
            // A command that disabled the person has taken effect late.
            self.operate("enable").await;
        }
        (Some(node), reply.outcome(), reply.data().as_ref().and_then(token_in))
    }

    async fn by_oauth(&self, from: &str) -> Entered {
        let page = encoded("https://desk.example.com/h5/");
        let own = ("sec-fetch-site", "same-origin");
        let begun = self.ask(&get(&format!("/api/auth/oauth2/url?redirect_uri={page}"), from, &[own])).await;
        let (Some(data), Reply::Answer(answer)) = (begun.data(), &begun) else { return NOT_BEGUN };
        let cookies = cookies(answer);
        let link = data["authorize_url"].as_str().unwrap();
        let back = self.scene.platform.client().await.authorize(link, &self.who).await;
        let target = target(&back);
        // The platform sends the browser to the page, which passes everything on.
        let (_, query) = target.split_once('?').unwrap();
        let callback = get(&format!("/api/auth/oauth2/callback?{query}"), from, &[("cookie", &cookies)]);
        let Some(ticket) = self.until(&callback, |landed| landed.fragment("ticket")).await else { return UNFINISHED };
        self.collect(&ticket, from, &[("cookie", &cookies), own]).await
    }

    async fn by_phone(&self, from: &str) -> Entered {
        let Some(code) = self.ask(&get("/api/auth/qrcode", from, &[])).await.data() else { return NOT_BEGUN };
        let link = code["qrcode_url"].as_str().unwrap();
        let back = self.scene.platform.client().await.authorize(link, &self.who).await;
        let scan = get(&target(&back), from, &[("user-agent", "phone")]);
        let Some(confirm) = self.until(&scan, |landed| landed.fragment("confirm")).await else { return NOT_BEGUN };
        let bytes = post("/api/auth/scan/confirm", from, None, &json!({ "confirm": confirm }));
        // Whether the phone is told so or not, the computer may get the session.
        self.until(&bytes, Reply::data).await;
        self.collect(code["ticket"].as_str().unwrap(), from, &[]).await
    }

    /// Asks for the token of a ticket.
    async fn collect(&self, ticket: &str, from: &str, headers: &[(&str, &str)]) -> Entered {
        let bytes = get(&format!("/api/auth/scan/status?ticket={ticket}"), from, headers);
        let collected = self.until(&bytes, |reply| reply.data().as_ref().and_then(token_in)).await;
        collected.map_or(UNFINISHED, |token| (None, Outcome::Done, Some(token)))
    }

    /// Repeats a request on random nodes until the answer has what is asked for.
    async fn until<T>(&self, bytes: &[u8], found: impl Fn(&Reply) -> Option<T>) -> Option<T> {
        for _ in 0..ATTEMPTS {
            if let Some(found) = found(&self.ask(bytes).await) {
                return Some(found);
            }
            sleep(RETRY_DELAY).await;
        }
        None
    }
}

/// The token in an answer.
fn token_in(answer: &Value) -> Option<String> {
    answer["token"].as_str().map(str::to_owned)
}
