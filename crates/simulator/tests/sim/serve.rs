//! The standalone server: limits and shutdown.

use std::time::Duration;

use deskpass_core::{Clock, Entropy, NoEntropy, Timestamp};
use deskpass_simulator::{Domains, Kind, Simulator, SimulatorConfig, SimulatorReply};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::harness::{Sim, authorize};

#[tokio::test]
async fn a_connection_serves_several_requests() {
    let sim = Sim::start().await;
    let mut stream = TcpStream::connect(&sim.address).await.unwrap();
    stream.write_all(b"GET /sim/calls HTTP/1.1\r\nhost: sim\r\n\r\n".repeat(2).as_slice()).await.unwrap();
    stream.write_all(b"GET /sim/inbox HTTP/1.1\r\nhost: sim\r\nconnection: close\r\n\r\n").await.unwrap();
    let mut answers = String::new();
    stream.read_to_string(&mut answers).await.unwrap();
    assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 3, "{answers}");
}

#[tokio::test]
async fn a_body_is_limited() {
    let sim = Sim::start().await;
    let (fits, too_large) = (" ".repeat(64 * 1024), " ".repeat(64 * 1024 + 1));
    assert_eq!(sim.send("PUT", "/faults", &fits).await.status, 400);
    assert_eq!(sim.send("PUT", "/faults", &too_large).await.status, 413);
}

#[tokio::test]
async fn it_stops_on_request_and_does_not_wait_for_idle_connections() {
    let mut sim = Sim::start().await;
    let mut idle = TcpStream::connect(&sim.address).await.unwrap();
    idle.write_all(b"GET /sim/calls HTTP/1.1\r\nhost: sim\r\n\r\n").await.unwrap();
    idle.readable().await.unwrap();
    sim.stop.take().unwrap().send(()).unwrap();
    timeout(Duration::from_secs(2), &mut sim.served).await.expect("sooner than it must").unwrap();
    assert!(TcpStream::connect(&sim.address).await.is_err());
    let mut rest = String::new();
    idle.read_to_string(&mut rest).await.unwrap();
    assert!(rest.starts_with("HTTP/1.1 200 OK"), "{rest}");
}

#[tokio::test]
async fn without_random_bytes_it_is_busy() {
    let config = SimulatorConfig {
        kind: Kind::Wecom,
        corp_id: "wwdeskpass".to_owned(),
        client_id: String::new(),
        secret: "canary".to_owned(),
        agent_id: "1000002".to_owned(),
        domains: Domains::Loopback,
        base: "/sim/".to_owned(),
    };
    let clock = Clock::manual(Timestamp::from_millis(0));
    let simulator = Simulator::new(config, clock, Entropy::from_fn(|_| Err(NoEntropy)));
    assert!(!format!("{simulator:?}").contains("canary"));
    let ask = async |path: &str| {
        let request = http::Request::get(format!("/sim{path}")).body(bytes::Bytes::new()).unwrap();
        match simulator.handle([127, 0, 0, 1].into(), request).await {
            SimulatorReply::Response(response) => response,
            SimulatorReply::HangUp => panic!("hung up"),
        }
    };
    let token = ask("/cgi-bin/gettoken?corpid=wwdeskpass&corpsecret=canary").await;
    assert!(String::from_utf8_lossy(token.body()).contains("\"errcode\":-1"));
    assert_eq!(ask(&authorize(&[("sim_user", "user01")])).await.status(), 503);
}
