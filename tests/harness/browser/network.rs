//! Bad lines, and what goes over them.

use serde_json::{Value, json};

use super::Browser;

/// How good the line is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Network {
    /// As fast as this machine.
    Fast,
    /// 400 ms there and back, 400 kbit/s.
    Slow3g,
}

impl Network {
    const fn latency(self) -> u32 {
        match self {
            Self::Fast => 0,
            Self::Slow3g => 400,
        }
    }

    /// Bytes in a second; less than none is any number.
    const fn throughput(self) -> i32 {
        match self {
            Self::Fast => -1,
            Self::Slow3g => 50_000,
        }
    }
}

impl Browser {
    /// Cuts the browser off, or lets it on the line again, at full speed. Streams and sockets that are open stay so: to
    /// break those, something must stand in between.
    pub(crate) async fn offline(&self, off: bool) {
        self.conditions(off, Network::Fast).await;
    }

    /// Makes the line slow, or fast again.
    pub(crate) async fn throttle(&self, network: Network) {
        self.conditions(false, network).await;
    }

    async fn conditions(&self, offline: bool, network: Network) {
        let (latency, throughput) = (network.latency(), network.throughput());
        let conditions = json!({ "offline": offline, "latency": latency, "throughput": throughput });
        self.post("/chromium/network_conditions", json!({ "network_conditions": conditions })).await;
    }

    /// Refuses what these patterns name (`*.js`), from the next request on; none of them lets everything through again.
    pub(crate) async fn block(&self, patterns: &[&str]) {
        self.cdp("Network.enable", json!({})).await;
        self.cdp("Network.setBlockedURLs", json!({ "urls": patterns })).await;
    }

    /// When the page first showed something, in milliseconds since it was asked for.
    pub(crate) async fn first_paint(&self) -> f64 {
        let painted = "performance.getEntriesByName('first-contentful-paint')[0]";
        self.wait_until(painted).await;
        self.script(&format!("return {painted}.startTime"), &[]).await.as_f64().unwrap()
    }

    /// What came over the wire since the page was asked for, or since the last look when that was later: each address with
    /// the bytes of its head and its body, as they were sent. Sockets are not in it.
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

/// One request and what has come of it so far.
struct Load {
    id: Value,
    address: String,
    bytes: u64,
}

/// Books an event of the developer tools' protocol.
fn take(loads: &mut Vec<Load>, event: &Value) {
    let about = &event["params"];
    let known = loads.iter_mut().rfind(|load| load.id == about["requestId"]);
    match (event["method"].as_str().unwrap(), known) {
        ("Network.requestWillBeSent", known) => {
            if let Some(load) = known {
                // The same request goes on elsewhere.
                load.bytes = length(&about["redirectResponse"]);
            } else if about["type"] == "Document" {
                loads.clear();
            }
            let address = about["request"]["url"].as_str().unwrap().to_owned();
            loads.push(Load { id: about["requestId"].clone(), address, bytes: 0 });
        }
        // As much as is known while it goes on, which a stream does; at the end the whole is told.
        ("Network.responseReceived", Some(load)) => load.bytes = length(&about["response"]),
        ("Network.dataReceived", Some(load)) => load.bytes += length(about),
        ("Network.loadingFinished", Some(load)) => load.bytes = length(about),
        _ => {}
    }
}

fn length(of: &Value) -> u64 {
    of["encodedDataLength"].as_u64().unwrap_or_default()
}
