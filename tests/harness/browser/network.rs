//! Network conditions, and the bytes transferred.

use serde_json::{Value, json};

use super::Browser;

/// The quality of the network.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Network {
    /// No throttling.
    Fast,
    /// 400 ms round trip, 400 kbit/s.
    Slow3g,
}

impl Network {
    const fn latency(self) -> u32 {
        match self {
            Self::Fast => 0,
            Self::Slow3g => 400,
        }
    }

    /// Bytes per second; a negative value means unlimited.
    const fn throughput(self) -> i32 {
        match self {
            Self::Fast => -1,
            Self::Slow3g => 50_000,
        }
    }
}

impl Browser {
    /// Takes the browser offline, or online again at full speed. Open streams and sockets stay open: to break those, a proxy has
    /// to stand in between.
    pub(crate) async fn offline(&self, off: bool) {
        self.conditions(off, Network::Fast).await;
    }

    /// Sets the quality of the network.
    pub(crate) async fn throttle(&self, network: Network) {
        self.conditions(false, network).await;
    }

    async fn conditions(&self, offline: bool, network: Network) {
        let (latency, throughput) = (network.latency(), network.throughput());
        let conditions = json!({ "offline": offline, "latency": latency, "throughput": throughput });
        self.post("/chromium/network_conditions", json!({ "network_conditions": conditions })).await;
    }

    /// Blocks URLs that match these patterns (`*.js`), from the next request on; an empty list blocks nothing.
    pub(crate) async fn block(&self, patterns: &[&str]) {
        self.cdp("Network.enable", json!({})).await;
        self.cdp("Network.setBlockedURLs", json!({ "urls": patterns })).await;
    }

    /// The time of the first paint, in milliseconds since the navigation.
    pub(crate) async fn first_paint(&self) -> f64 {
        let painted = "performance.getEntriesByName('first-contentful-paint')[0]";
        self.wait_until(painted).await;
        self.script(&format!("return {painted}.startTime"), &[]).await.as_f64().unwrap()
    }

    /// The bytes transferred since the navigation, or since the last call when that was later: each URL with the bytes of its
    /// headers and its body, as sent. Sockets are not included.
    pub(crate) async fn transferred(&self) -> Vec<(String, u64)> {
        let mut loads: Vec<Load> = Vec::new();
        for entry in self.log("performance").await {
            let event: Value = serde_json::from_str(entry["message"].as_str().unwrap()).unwrap();
            take(&mut loads, &event["message"]);
        }
        let loads = loads.into_iter().filter(|load| load.address.starts_with("http"));
        loads.map(|load| (load.address, load.bytes)).collect()
    }
}

/// One request and its state so far.
struct Load {
    id: Value,
    address: String,
    bytes: u64,
}

/// Processes an event of the `DevTools` protocol.
fn take(loads: &mut Vec<Load>, event: &Value) {
    let about = &event["params"];
    let known = loads.iter_mut().rfind(|load| load.id == about["requestId"]);
    match (event["method"].as_str().unwrap(), known) {
        ("Network.requestWillBeSent", known) => {
            if let Some(load) = known {
                // After a redirect the same request continues at another URL.
                load.bytes = length(&about["redirectResponse"]);
            } else if about["type"] == "Document" {
                loads.clear();
            }
            let address = about["request"]["url"].as_str().unwrap().to_owned();
            loads.push(Load { id: about["requestId"].clone(), address, bytes: 0 });
        }
        // The bytes so far while the response goes on, as a stream does; the last event has the total.
        ("Network.responseReceived", Some(load)) => load.bytes = length(&about["response"]),
        ("Network.dataReceived", Some(load)) => load.bytes += length(about),
        ("Network.loadingFinished", Some(load)) => load.bytes = length(about),
        _ => {}
    }
}

fn length(of: &Value) -> u64 {
    of["encodedDataLength"].as_u64().unwrap_or_default()
}
