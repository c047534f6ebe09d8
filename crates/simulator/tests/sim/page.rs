//! The HTML pages.

use deskpass_simulator::{Domains, PEOPLE};
use url::Url;

use crate::harness::{CALLBACK, Sim, authorize, desktop, encode};

/// The targets of all links of a page, as a browser reads them.
fn links(html: &str) -> Vec<String> {
    html.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap().replace("&amp;", "&")).collect()
}

#[tokio::test]
async fn the_page_asks_who_you_are() {
    let sim = Sim::start().await;
    for link in [authorize(&[]), desktop(&[])] {
        let page = sim.get(&link).await;
        assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; style-src 'unsafe-inline'"), "{policy}");
        assert!(page.body.contains("Who are you?") && page.body.contains("localhost:8080"));
        assert!(!page.body.contains("<script") && page.body.contains("name=\"viewport\""));
        for who in PEOPLE {
            assert!(page.body.contains(who.name) && page.body.contains(who.id), "{who:?}");
            assert!(page.body.contains(who.department), "{who:?}");
        }
    }
}

#[tokio::test]
async fn every_button_is_a_link_that_works() {
    let sim = Sim::start().await;
    let path = authorize(&[("state", "a b&c\"<'")]);
    let page = sim.get(&path).await;
    let here: Url = format!("http://{}{path}", sim.address).parse().unwrap();
    let links = links(&page.body);
    assert_eq!(links.len(), PEOPLE.len() + 1);
    for link in &links {
        let there = here.join(link).unwrap();
        let answer = sim.get(&there[url::Position::BeforePath..]).await;
        let at = answer.location();
        assert!(at.as_str().starts_with(CALLBACK), "{at}");
        let state = at.query_pairs().find(|(name, _)| name == "state").unwrap().1.into_owned();
        assert_eq!(state, "a b&c\"<'");
        assert_eq!(at.query_pairs().count(), if link.ends_with("sim_user=deny") { 1 } else { 2 });
    }
}

#[tokio::test]
async fn nothing_that_is_sent_becomes_markup() {
    let sim = Sim::start().await;
    let nasty = "\"><script>alert('1')</script>";
    let at = format!("http://localhost/{nasty}").replace(' ', "");
    for link in [
        authorize(&[("state", nasty), ("redirect_uri", &at), (nasty, nasty)]),
        authorize(&[("state", nasty), ("sim_user", nasty)]),
        authorize(&[("appid", nasty)]),
        desktop(&[("state", nasty), ("lang", nasty)]),
        desktop(&[("agentid", nasty)]),
    ] {
        let page = sim.get(&link).await;
        assert!(!page.body.contains("<script") && !page.body.contains("alert('"), "{}", page.body);
        for link in links(&page.body) {
            assert!(link.starts_with('?') && !link.contains(['<', '>', '\'', ' ']), "{link}");
        }
    }
}

#[tokio::test]
async fn pages_speak_english_and_chinese() {
    let sim = Sim::start().await;
    let (who, wrong) = (authorize(&[]), authorize(&[("redirect_uri", "http://evil.example/")]));
    let zh = "zh-CN,zh;q=0.9,en;q=0.5";
    let page = sim.get_in(zh, &who).await;
    assert!(page.body.contains("你是谁") && page.body.contains("拒绝") && page.body.contains("lang=\"zh-CN\""));
    assert!(sim.get_in("en-GB, zh;q=0.3", &who).await.body.contains("Who are you?"));
    assert!(sim.get_in("fr", &who).await.body.contains("Who are you?"));
    assert!(sim.get_in(zh, &wrong).await.body.contains("redirect_uri 需使用应用可信域名"));
    assert!(sim.get(&wrong).await.body.contains("trusted domain"));
    assert!(sim.get_in("en", &desktop(&[("lang", "zh")])).await.body.contains("你是谁"));
    assert!(sim.get_in(zh, "").await.body.contains("模拟的企业微信"));
}

#[tokio::test]
async fn the_base_explains_itself() {
    for (base, paths) in [("/sim", ["", "/"]), ("", ["/", "/"])] {
        let sim = Sim::with(Domains::Loopback, base).await;
        for path in paths {
            let page = sim.get(path).await;
            assert_eq!(page.status, 200);
            assert!(page.body.contains(&format!("href=\"{base}/inbox\"")));
            assert!(page.body.contains(&format!("href=\"{base}/calls\"")));
            assert!(page.body.contains(&format!("curl -X PUT http://sim{base}/faults")));
            assert!(page.body.contains("sim_user=user01"));
        }
    }
}

#[tokio::test]
async fn a_foreign_host_does_not_appear_in_a_command() {
    let sim = Sim::start().await;
    let page = sim.raw("GET /sim HTTP/1.1\r\nhost: a'$(b)\r\nconnection: close\r\n\r\n").await.unwrap();
    assert!(!page.body.contains("$(b)"), "{page:?}");
}

#[tokio::test]
async fn the_command_uses_the_address_of_the_page() {
    let sim = Sim::start().await;
    for (host, shown) in [
        ("127.0.0.1:9090", "127.0.0.1:9090"),
        ("desk.example.com", "desk.example.com"),
        ("[::1]:9090", "[::1]:9090"),
        ("a'$(b)", "127.0.0.1:8080"),
        ("a\"><script>", "127.0.0.1:8080"),
        ("me@a", "127.0.0.1:8080"),
        ("a:b:c", "127.0.0.1:8080"),
        ("a:99999", "127.0.0.1:8080"),
        (":80", "127.0.0.1:8080"),
        ("", "127.0.0.1:8080"),
    ] {
        let page = sim.raw(&format!("GET /sim HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n")).await.unwrap();
        let back = encode([("redirect_uri", format!("http://{shown}/api/auth/oauth2/callback").as_str())]);
        assert!(page.body.contains(&format!("&amp;{back}&amp;")), "{host}\n{}", page.body);
        assert!(page.body.contains(&format!("http://{shown}/sim/connect/oauth2/authorize?")), "{host}\n{}", page.body);
        assert!(!page.body.contains("localhost:8080"), "{host}\n{}", page.body);
    }
}
