//! The simulated platform, started for a test.

use std::time::Duration;

use deskpass_core::{Clock, Entropy, Timestamp};
use deskpass_simulator::{Domains, Kind, Simulator, SimulatorConfig, serve};
use deskpass_wecom::{EventSettings, Hosts, Timeouts, Url, Wecom, WecomSettings};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::platform::{AGENT, CORP, SECRET};

/// The simulated platform.
pub(crate) struct Simulated {
    address: String,
    clock: Clock,
}

impl Simulated {
    pub(crate) async fn start() -> Self {
        let clock = Clock::manual(Timestamp::from_millis(1_800_000_000_000));
        let world = SimulatorConfig {
            kind: Kind::Wecom,
            corp_id: CORP.into(),
            client_id: String::new(),
            secret: SECRET.into(),
            agent_id: AGENT.into(),
            domains: Domains::Loopback,
            base: "/sim".into(),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let simulator = Simulator::new(world, clock.clone(), Entropy::system());
        tokio::spawn(serve(listener, simulator, std::future::pending()));
        Self { address, clock }
    }

    /// A client that also receives events.
    pub(crate) fn client(&self) -> Wecom {
        let url = |path: &str| Url::parse(&format!("http://{}{path}", self.address)).unwrap();
        let settings = WecomSettings {
            corp_id: CORP.into(),
            secret: SECRET.into(),
            agent_id: Some(AGENT.into()),
            hosts: Hosts { api: url("/sim/"), ..Hosts::default() },
            proxy: None,
            // Generous, for busy machines.
            timeouts: Timeouts {
                operation: Duration::from_secs(30),
                call: Duration::from_secs(20),
                ..Timeouts::default()
            },
            events: Some(EventSettings { token: "token".into(), aes_key: "k".repeat(43) }),
        };
        Wecom::new(settings, self.clock.clone()).unwrap()
    }

    /// The messages that were delivered.
    pub(crate) async fn inbox(&self) -> Vec<Value> {
        let answer = self.request("GET /sim/inbox", "").await;
        let mut inbox: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
        inbox["messages"].as_array_mut().unwrap().split_off(0)
    }

    /// Makes a request to the simulator itself, with a method and a path.
    pub(crate) async fn request(&self, what: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        let length = body.len();
        let head = format!("{what} HTTP/1.1\r\nhost: sim\r\nconnection: close\r\ncontent-length: {length}\r\n");
        let request = format!("{head}content-type: application/json\r\n\r\n{body}");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }
}
