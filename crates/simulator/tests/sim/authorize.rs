//! The two authorization links: their checks and their redirects.

use deskpass_simulator::Domains;

use crate::harness::{Sim, authorize, desktop};

#[tokio::test]
async fn the_phone_comes_back_with_code_and_state() {
    let sim = Sim::start().await;
    for link in [authorize(&[("sim_user", "user01")]), desktop(&[("sim_user", "user01")])] {
        let answer = sim.get(&link).await;
        let at = answer.location();
        let pairs: Vec<_> = at.query_pairs().into_owned().collect();
        assert!(at.as_str().starts_with("http://localhost:8080/callback?code="), "{at}");
        assert_eq!((pairs[0].0.as_str(), &pairs[1]), ("code", &("state".to_owned(), "auth_login".to_owned())));
        assert!((16..=512).contains(&pairs[0].1.len()) && pairs.len() == 2);
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    }
    assert_ne!(sim.code("user01").await, sim.code("user01").await);
}

#[tokio::test]
async fn a_refusal_returns_no_code() {
    let sim = Sim::start().await;
    let deny = ("sim_user", "deny");
    assert_eq!(
        sim.get(&authorize(&[deny])).await.location().as_str(),
        "http://localhost:8080/callback?state=auth_login"
    );
    assert_eq!(sim.get(&desktop(&[deny, ("state", "")])).await.location().as_str(), "http://localhost:8080/callback");
}

#[tokio::test]
async fn code_and_state_are_added_between_query_and_fragment() {
    let sim = Sim::start().await;
    for (given, wanted) in [
        ("http://localhost/a", "http://localhost/a?state=s%26x%3D1"),
        ("http://localhost/a?", "http://localhost/a?state=s%26x%3D1"),
        ("http://localhost/a?b=c%20d+e&f", "http://localhost/a?b=c%20d+e&f&state=s%26x%3D1"),
        ("http://localhost/a#/route?x=y", "http://localhost/a?state=s%26x%3D1#/route?x=y"),
        ("http://localhost:81/?b=c#d", "http://localhost:81/?b=c&state=s%26x%3D1#d"),
        ("https://[::1]:444", "https://[::1]:444/?state=s%26x%3D1"),
    ] {
        let link = authorize(&[("redirect_uri", given), ("state", "s&x=1"), ("sim_user", "deny")]);
        assert_eq!(sim.get(&link).await.header("location"), Some(wanted), "{given}");
    }
    let link = authorize(&[("redirect_uri", "http://localhost/?a=b#c"), ("sim_user", "user01")]);
    let at = sim.get(&link).await.location();
    assert!(at.as_str().starts_with("http://localhost/?a=b&code=") && at.as_str().ends_with("&state=auth_login#c"));
}

#[tokio::test]
async fn a_line_break_in_the_state_stays_inside_the_address() {
    let sim = Sim::start().await;
    let answer = sim.get(&authorize(&[("state", "a\r\nset-cookie: b=c"), ("sim_user", "deny")])).await;
    assert_eq!(answer.location().query(), Some("state=a%0D%0Aset-cookie%3A+b%3Dc"));
    assert_eq!(answer.header("set-cookie"), None);
}

#[tokio::test]
async fn a_wrong_link_ends_on_an_error_page() {
    let sim = Sim::start().await;
    for wrong in [
        ("appid", "wwother"),
        ("appid", ""),
        ("agentid", "1000003"),
        ("agentid", "1000002 "),
        ("response_type", "token"),
        ("response_type", ""),
        ("scope", "snsapi_privateinfo"),
        ("scope", ""),
        ("redirect_uri", ""),
    ] {
        let answer = sim.get(&authorize(&[wrong, ("sim_user", "user01")])).await;
        assert_eq!((answer.status, answer.header("location")), (400, None), "{wrong:?}");
        assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    }
    for wrong in [("appid", "x"), ("agentid", ""), ("agentid", "1"), ("login_type", "ServiceApp"), ("redirect_uri", "")]
    {
        let answer = sim.get(&desktop(&[wrong, ("sim_user", "user01")])).await;
        assert_eq!((answer.status, answer.header("location")), (400, None), "{wrong:?}");
    }
}

#[tokio::test]
async fn some_parameters_may_be_left_out() {
    let sim = Sim::start().await;
    assert_eq!(sim.get(&authorize(&[("agentid", ""), ("sim_user", "user01")])).await.status, 302);
    assert_eq!(sim.get(&desktop(&[("login_type", ""), ("sim_user", "user01")])).await.status, 302);
}

#[tokio::test]
async fn hostile_hosts_are_refused_and_never_named_as_a_target() {
    let sim = Sim::start().await;
    for hostile in [
        "http://localhost@evil.example/",
        "http://localhost:80@evil.example/",
        "http://evil.example/",
        "http://evil.example\\@localhost/",
        "http://localhost\\.evil.example/",
        "http:\\\\localhost/",
        "//localhost/",
        "http://localhost.evil.example/",
        "http://notlocalhost/",
        "http://localhost%2eevil.example/",
        "http://evil.example?http://localhost/",
        "http://evil.example#@localhost/",
        "http://loc\talhost/",
        "http://user@localhost/",
        "javascript://localhost/%0aalert(1)",
        "data:text/html,localhost",
        "ftp://localhost/",
        "localhost",
    ] {
        for sim_user in ["user01", "deny", ""] {
            let link = authorize(&[("redirect_uri", hostile), ("sim_user", sim_user)]);
            let answer = sim.get(&link).await;
            assert_eq!((answer.status, answer.header("location")), (400, None), "{hostile} {sim_user}");
            assert!(!answer.body.contains("evil.example"));
        }
    }
}

#[tokio::test]
async fn listed_domains_are_exact() {
    let listed = vec!["desk.example.com".to_owned(), "desk.example.com:8443".to_owned()];
    let sim = Sim::with(Domains::Listed(listed.clone()), "").await;
    let both = Sim::with(Domains::LoopbackAnd(listed), "").await;
    for (address, listed, and_loopback) in [
        ("https://desk.example.com/x", 302, 302),
        ("http://DESK.example.com:8443/", 302, 302),
        ("https://desk.example.com:8444/", 400, 400),
        ("https://desk.example.com:443/", 400, 400),
        ("https://a.desk.example.com/", 400, 400),
        ("https://desk.example.com.evil.example/", 400, 400),
        ("https://xdesk.example.com/", 400, 400),
        ("http://localhost:8080/", 400, 302),
    ] {
        let link = authorize(&[("redirect_uri", address), ("sim_user", "user01")]);
        assert_eq!((sim.get(&link).await.status, both.get(&link).await.status), (listed, and_loopback), "{address}");
    }
}

#[tokio::test]
async fn only_members_of_the_directory_can_authorize() {
    let sim = Sim::start().await;
    for unknown in ["nobody", "USER01", "partner01", "user01 ", "<script>"] {
        let answer = sim.get(&authorize(&[("sim_user", unknown)])).await;
        assert_eq!((answer.status, answer.header("location")), (404, None), "{unknown}");
    }
    // Outside the visible range: silent inside the client, refused in a desktop browser.
    assert_eq!(sim.get(&authorize(&[("sim_user", "hidden01")])).await.status, 302);
    assert_eq!(sim.get(&desktop(&[("sim_user", "hidden01")])).await.status, 403);
}

#[tokio::test]
async fn a_strict_platform_accepts_only_alphanumeric_states() {
    let sim = Sim::start().await;
    assert_eq!(sim.send("PUT", "/switches", r#"{"strict_state":true}"#).await.status, 200);
    for (state, status) in
        [("auth_login", 400), ("AuthLogin1", 302), (&*"x".repeat(128), 302), (&*"x".repeat(129), 400)]
    {
        let answer = sim.get(&authorize(&[("state", state), ("sim_user", "user01")])).await;
        assert_eq!(answer.status, status, "{state}");
        assert_eq!(answer.body.contains("84025"), status == 400);
    }
    sim.send("PUT", "/switches", "{}").await;
    assert_eq!(sim.get(&authorize(&[("sim_user", "user01")])).await.status, 302);
}
