//! Allowed redirect targets: hundreds of hostile addresses, none of them accepted in production.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::harness::PRODUCTION;
use crate::harness::{Client, TestApp, encoded, settings};

const HOST: &str = "desk.example.com";

/// Variants of the scheme and the slashes after it.
const SCHEMES: [&str; 17] = [
    "http://",
    "HTTPS://",
    "https:",
    "https:/",
    "https:///",
    "https:\\\\",
    "https:/\\",
    "//",
    "\\\\",
    "ftp://",
    "ws://",
    "javascript:",
    "javascript://",
    "data:text/html,",
    "blob:https://",
    "view-source:https://",
    " https://",
];

/// Variants of the host.
const HOSTS: [&str; 42] = [
    "evil.example",
    "desk.example.com.evil.example",
    "evil-desk.example.com",
    "xdesk.example.com",
    "desk.example.comx",
    "sub.desk.example.com",
    "example.com",
    "desk.example.com.",
    "desk.example.com:443",
    "desk.example.com:80",
    "desk.example.com:8443",
    "desk.example.com:",
    "desk.example.com:0443",
    "DESK.example.com",
    "desk.example.COM",
    "desk%2eexample.com",
    "desk.example%2ecom",
    "desk。example。com",
    "ｄesk.example.com",
    "dеsk.example.com",
    "user@desk.example.com",
    "user:pass@desk.example.com",
    "@desk.example.com",
    ":@desk.example.com",
    "desk.example.com@evil.example",
    "desk.example.com:443@evil.example",
    "desk.example.com%40evil.example",
    "evil.example\\@desk.example.com",
    "evil.example%5c@desk.example.com",
    "desk.example.com\\evil.example",
    "desk.example.com%2f.evil.example",
    "desk.example.com%00.evil.example",
    "desk.example.com\t.evil.example",
    "desk.example.com\n.evil.example",
    "desk.example.com;evil.example",
    "desk.example.com&evil.example",
    "[::1]",
    "127.0.0.1",
    "localhost",
    "0x7f000001",
    "2130706433",
    "[::ffff:127.0.0.1]",
];

/// Variants of the path.
const PATHS: [&str; 69] = [
    "",
    "/",
    "/h5",
    "/H5/",
    "/h5x/",
    "/xh5/",
    "/itadmin",
    "/itagentx/",
    "/admin/",
    "/sim/",
    "/api/",
    "/scan/",
    "/continue/",
    "/approve/",
    "/verify/",
    "/api/auth/logout",
    "/api/auth/oauth2/callback/",
    "/api/auth/oauth2/callback?sid=dps_x",
    "/api/auth/oauth2/callbackx",
    "/api/auth/oauth2/callback#x",
    "/api/auth/oauth2/../logout",
    "//h5/",
    "/./h5/",
    "/../h5/",
    "/h5/../",
    "/h5/..",
    "/h5/../admin/",
    "/h5/%2e%2e/admin/",
    "/h5/%2E%2E/",
    "/h5/.%2e/",
    "/h5/%2e/",
    "/h5/..;/admin/",
    "/h5/..;a=b/admin/",
    "/h5/;/../",
    "/h5//",
    "/h5//evil.example/",
    "/h5/%2f%2fevil.example",
    "/h5/%5c",
    "/h5/\\..\\",
    "/h5\\",
    "\\h5\\",
    "/%68%35/",
    "/h5%2f",
    "/h5/#",
    "/h5/#ticket=x",
    "/h5/#/route",
    "/h5/?next=https://evil.example",
    "/h5/?next=//evil.example",
    "/h5/?next=%68ttps",
    "/h5/?a=b#c",
    "/h5/?a b",
    "/h5/?<script>",
    "/h5/?\"",
    "/h5/ ",
    "/h5/\t",
    "/h5/\r\nLocation: x",
    "/h5/\0",
    "/h5/%00",
    "/h5/%0d%0a",
    "/h5/é",
    "/h5/页",
    "/h5/<",
    "/h5/'",
    "/h5/*",
    "/h5/?code=x&state=auth_login",
    "/h5/?a=b&state=auth_login",
    "/h5/?sid=dps_x",
    "/itadmin/?ticket=dpt_x",
    "/h5/?code",
];

/// All variants, and the combinations that matter.
pub(crate) fn hostile() -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    all.extend(SCHEMES.map(|scheme| format!("{scheme}{HOST}/h5/")));
    all.extend(HOSTS.map(|host| format!("https://{host}/h5/")));
    all.extend(PATHS.map(|path| format!("https://{HOST}{path}")));
    all.extend(
        HOSTS.iter().flat_map(|host| ["/h5/index.html", "/itadmin/?a=b"].map(|path| format!("https://{host}{path}"))),
    );
    all.extend(HOSTS.iter().flat_map(|host| ["http://", "//"].map(|scheme| format!("{scheme}{host}/itagent/"))));
    all.extend(
        ["/h5/", "h5/", "?a", "#", "https", "*", "null", "undefined", "\u{feff}https://desk.example.com/h5/"]
            .map(str::to_owned),
    );
    all.extend(SCHEMES.map(|scheme| format!("{scheme}evil.example/{HOST}/h5/")));
    all.insert(format!("https://{HOST}/h5/{}", "a".repeat(2048)));
    all
}

async fn accepted(client: &mut Client, address: &str) -> bool {
    let answer = client.get(&format!("/api/auth/oauth2/url?redirect_uri={}", encoded(address)), &[]).await;
    if answer.status == 200 {
        return true;
    }
    let fields = answer.refused(400, 1002).json()["data"]["fields"].clone();
    assert!(fields["redirect_uri"].is_string() && answer.header("set-cookie").is_none(), "{answer:?}");
    false
}

on_one_store! {
    async fn no_hostile_address_is_accepted_in_production() {
        let app = TestApp::production().await;
        let mut client = app.client().await;
        let all = hostile();
        assert!(all.len() >= 300, "only {}", all.len());
        for address in &all {
            app.clock.advance(Duration::from_secs(1));
            assert!(!accepted(&mut client, address).await, "{address:?}");
        }
    }

    async fn the_pages_of_the_clients_and_the_callback_are() {
        let app = TestApp::production().await;
        let mut client = app.client().await;
        for path in [
            "/h5/",
            "/itadmin/",
            "/itagent/",
            "/h5/index.html",
            "/itagent/a/b-c_d.e~f",
            "/h5/?a=b&c=d",
            "/api/auth/oauth2/callback",
        ] {
            assert!(accepted(&mut client, &format!("https://{HOST}{path}")).await, "{path}");
        }
    }

    async fn listed_origins_count_exactly_as_they_are_listed() {
        let mut given = PRODUCTION.to_vec();
        given.extend([
            ("redirect_origins", "https://m.example.com:8443,https://other.example.com"),
            ("server.settle", "0s"),
        ]);
        let app = TestApp::with(settings(&given)).await;
        let mut client = app.client().await;
        for address in
            ["https://m.example.com:8443/h5/", "https://other.example.com/itadmin/", "https://desk.example.com/h5/"]
        {
            assert!(accepted(&mut client, address).await, "{address}");
        }
        for address in [
            "https://m.example.com/h5/",
            "https://m.example.com:8444/h5/",
            "http://m.example.com:8443/h5/",
            "https://other.example.com/",
            "https://other.example.com:443/h5/",
            "https://other.example.com/api/auth/oauth2/callback",
            "https://x.other.example.com/h5/",
        ] {
            assert!(!accepted(&mut client, address).await, "{address}");
        }
    }
}

mod properties {
    use proptest::prelude::*;
    use url::Url;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        /// Every accepted address is ours, for every URL parser.
        #[test]
        fn what_is_accepted_is_ours(middle in "[a-z@:/\\\\.%#?;&=2ef0d \\t-]{0,24}", head in 0..4_usize) {
            let head = ["https://desk.example.com", "https://desk.example.com/h5/", "https://", "https://desk.example.com/"][head];
            let address = format!("{head}{middle}");
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let taken = runtime.block_on(async {
                let app = TestApp::production().await;
                accepted(&mut app.client().await, &address).await
            });
            if taken {
                let url = Url::parse(&address).unwrap();
                prop_assert_eq!(url.as_str(), &address);
                prop_assert_eq!(url.host_str(), Some(HOST));
                prop_assert_eq!(address.split('/').nth(2), Some(HOST));
                prop_assert!(!address.contains("..") && !address.contains(['%', '\\', '#', '@', ';', ' ']));
            }
        }
    }
}
