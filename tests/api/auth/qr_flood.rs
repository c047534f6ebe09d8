//! GET /api/auth/qrcode: what a flood of codes displaces.

use std::net::{IpAddr, Ipv6Addr};

use deskpass_core::{ClientAddress, ClientInfo, LoginSource, Networks, UserAgent};
use serde_json::Value;

use crate::harness::{Client, TestApp, development};

/// How many codes of one network are kept.
const SHARE: u64 = 6_250;
/// How many codes a service in one process keeps.
const IN_ALL: usize = 50_000;

/// A code for another address, as the proxy in front of the service reports it.
async fn code_from(client: &mut Client, address: &str) -> Value {
    client.get("/api/auth/qrcode", &[("x-forwarded-for", address)]).await.data()
}

async fn status(client: &mut Client, code: &Value) -> String {
    client.scan_status(code["ticket"].as_str().unwrap()).await["status"].as_str().unwrap().to_owned()
}

/// Shows codes at these addresses, some at a time.
async fn flood(app: &TestApp, addresses: impl Iterator<Item = u128>) {
    let mut addresses = addresses.peekable();
    while addresses.peek().is_some() {
        let codes = addresses.by_ref().take(32).map(|bits| {
            let peer = IpAddr::from(Ipv6Addr::from_bits(bits));
            let address = ClientAddress::read(peer, std::iter::empty(), &Networks::default());
            let visitor = ClientInfo { address, user_agent: UserAgent::default(), reference: None };
            app.auth().issue_ticket(LoginSource::H5, None, visitor, None, false)
        });
        for code in futures_util::future::join_all(codes).await {
            code.unwrap();
        }
    }
}

on_every_store! {
    /// Whoever has a whole IPv6 network asks for each code from another /64 of it.
    async fn a_flood_displaces_only_codes_of_its_network() {
        let settings = development(&[("limits.enabled", "false"), ("trusted_proxies", "127.0.0.1")]);
        let app = TestApp::with(settings).await;
        let mut client = app.client().await;
        let office = code_from(&mut client, "192.0.2.9").await;
        let claimed = code_from(&mut client, "2001:db8:77:a::1").await;
        let confirm = client.scan_as(&claimed, "user01").await;
        let confirmed = code_from(&mut client, "2001:db8:77:b::1").await;
        let by_another = client.scan_as(&confirmed, "agent01").await;
        client.decide("confirm", &by_another).await.data();
        let oldest = code_from(&mut client, "2001:db8:77:c::1").await;

        let network: Ipv6Addr = "2001:db8:77::1".parse().unwrap();
        flood(&app, (0..SHARE).map(|subnet| network.to_bits() | (u128::from(0x100 + subnet) << 64))).await;
        let newest = code_from(&mut client, "2001:db8:77:d::1").await;

        assert_eq!(status(&mut client, &oldest).await, "expired");
        let gone = client.scan(&oldest, "admin01").await;
        assert!(gone.contains("error=invalid_code"), "the id in the code leads nowhere either: {gone}");
        for code in [&newest, &office] {
            assert_eq!(status(&mut client, code).await, "waiting");
        }
        client.decide("confirm", &confirm).await.data();
        for code in [&claimed, &confirmed] {
            assert_eq!(status(&mut client, code).await, "confirmed");
        }
        let confirm = client.scan_as(&office, "admin01").await;
        client.decide("confirm", &confirm).await.data();
        assert_eq!(status(&mut client, &office).await, "confirmed");
    }
}

/// Whoever has an IPv6 /32 has 65 536 networks with a share each.
#[tokio::test]
async fn a_flood_from_everywhere_displaces_neither_an_office_nor_who_is_about_to_confirm() {
    let app = TestApp::start().await;
    let mut client = app.client().await;
    let code = client.qrcode().await;
    let confirm = client.scan_as(&code, "user01").await;
    let early = client.qrcode().await;
    let network: Ipv6Addr = "2a00:1::1".parse().unwrap();
    flood(&app, (0..120_000).map(|number| network.to_bits() + ((number & 0xffff) << 80))).await;
    assert!(app.auth().shared.sign_ins.len() <= IN_ALL);
    assert!(app.auth().shared.scan_ids.len() <= IN_ALL);
    assert_eq!(status(&mut client, &early).await, "waiting");
    client.decide("confirm", &confirm).await.data();
    assert_eq!(status(&mut client, &code).await, "confirmed");
}
