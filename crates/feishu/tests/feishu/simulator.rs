//! The client and the simulated platform: what a whole sign-in takes, and what a deployment meets.

use std::collections::BTreeSet;
use std::time::Duration;

use deskpass_core::{Clock, Entropy, Timestamp};
use deskpass_feishu::{Feishu, FeishuSettings, Hosts, UserIdKind};
use deskpass_platform::{
    CheckOutcome, Choice, CodeRedemption, Department, Deployment, Directory as _, EntryPoint, Error, ErrorCode,
    Identity, Invitation, LinkLanguage, LinkRequest, Meaning, MemberStatus, Messenger as _, Notify as _, Question,
    SignIn as _, TagMember, Timeouts, Url,
};
use deskpass_simulator::{Domains, Kind, PEOPLE, PersonKind, Simulator, SimulatorConfig, serve};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

const CALLBACK: &str = "http://localhost:8080/api/auth/oauth2/callback";
/// The example of RFC 7636.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const TENANT_TOKEN: &str = "open-apis/auth/v3/tenant_access_token/internal";

/// A member of the simulated tenant.
fn member(userid: &str) -> Identity {
    let open_id = format!("ou_{}", userid.trim_start_matches("ou_"));
    Identity::Member { userid: userid.into(), holder_id: Some(open_id) }
}

/// A simulated platform, and a client of it.
struct Desk {
    address: String,
    clock: Clock,
    feishu: Feishu,
}

impl Desk {
    async fn start() -> Self {
        Self::with(|settings| settings).await
    }

    async fn with(change: impl FnOnce(FeishuSettings) -> FeishuSettings) -> Self {
        let clock = Clock::manual(Timestamp::from_millis(1_800_000_000_000));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let config = SimulatorConfig {
            kind: Kind::Feishu,
            corp_id: "tenantdeskpass".into(),
            client_id: "cli_deskpass".into(),
            secret: "a-secret".into(),
            agent_id: String::new(),
            domains: Domains::Loopback,
            base: "/sim".into(),
        };
        let simulator = Simulator::new(config, clock.clone(), Entropy::system());
        tokio::spawn(serve(listener, simulator, std::future::pending()));
        let feishu = Feishu::new(change(settings(&address)), clock.clone()).unwrap();
        Self { address, clock, feishu }
    }

    /// Sends a request to a path below the base; returns the head and the body of the response.
    async fn request(&self, method: &str, path: &str, body: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        let fields = format!("host: sim\r\nconnection: close\r\ncontent-length: {}", body.len());
        let request = format!("{method} /sim/{path} HTTP/1.1\r\n{fields}\r\n\r\n{body}");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }

    async fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.request("GET", path, "").await.1).unwrap()
    }

    async fn switch(&self, switches: Value) {
        let (head, body) = self.request("PUT", "switches", &json!({ "feishu": switches }).to_string()).await;
        assert!(head.starts_with("HTTP/1.1 200"), "{body}");
    }

    async fn calls(&self, api: &str) -> u64 {
        self.json("calls").await["calls"][api].as_u64().unwrap_or(0)
    }

    /// A code, obtained as a browser that follows the link; `more` is added to it.
    async fn code(&self, who: &str, challenge: Option<&str>, more: &str) -> String {
        let (entry, state, language) = (EntryPoint::Browser, "auth_login", LinkLanguage::En);
        let request = LinkRequest { entry, redirect_uri: CALLBACK, state, challenge, language };
        let link = Url::parse(&self.feishu.link(&request).unwrap()).unwrap();
        let path = link.path().strip_prefix("/sim/").unwrap();
        let target = format!("{path}?{}&sim_user={who}{more}", link.query().unwrap());
        let (head, body) = self.request("GET", &target, "").await;
        let location =
            head.lines().find_map(|line| line.strip_prefix("location: ")).unwrap_or_else(|| panic!("{body}"));
        let location = Url::parse(location).unwrap();
        let code = location.query_pairs().find(|(name, _)| name == "code").map(|(_, code)| code.into_owned());
        code.unwrap()
    }

    async fn redeem(&self, entry: EntryPoint, code: &str, verifier: Option<&str>) -> Result<Identity, Error> {
        self.feishu.redeem(CodeRedemption { code, entry, redirect_uri: CALLBACK, verifier }).await
    }

    async fn sign_in(&self, who: &str) -> Result<Identity, Error> {
        let code = self.code(who, Some(CHALLENGE), "").await;
        self.redeem(EntryPoint::Browser, &code, Some(VERIFIER)).await
    }
}

fn settings(address: &str) -> FeishuSettings {
    let url = |path: &str| Url::parse(&format!("http://{address}/sim{path}")).unwrap();
    FeishuSettings {
        tenant_key: "tenantdeskpass".into(),
        app_id: "cli_deskpass".into(),
        secret: "a-secret".into(),
        user_id: UserIdKind::UserId,
        hosts: Hosts { api: url(""), authorize: url("/open-apis/authen/v1/authorize"), token: url("/oauth/v3/token") },
        proxy: None,
        timeouts: Timeouts { operation: Duration::from_secs(30), call: Duration::from_secs(20), ..Timeouts::default() },
        events: None,
    }
}

#[tokio::test]
async fn a_sign_in_takes_two_calls_and_a_profile_three_once() {
    let desk = Desk::start().await;
    assert_eq!(desk.sign_in("user01").await, Ok(member("user01")));
    for (api, count) in [("oauth/v3/token", 1), ("open-apis/authen/v1/user_info", 1), (TENANT_TOKEN, 0)] {
        assert_eq!(desk.calls(api).await, count, "{api}");
    }
    let profile = desk.feishu.profile(&member("user01")).await.unwrap();
    assert_eq!((profile.name.as_deref(), profile.status), (Some("Uma User"), MemberStatus::Active));
    let sales = Department::Known { id: "od-4".into(), name: Some("Sales".into()) };
    assert_eq!(profile.department, sales);
    assert!(profile.avatar.is_some());
    desk.feishu.profile(&member("left01")).await.unwrap();
    let (users, departments) = ("open-apis/contact/v3/users/:id", "open-apis/contact/v3/departments/:id");
    for (api, count) in [(TENANT_TOKEN, 1), (users, 2), (departments, 1)] {
        assert_eq!(desk.calls(api).await, count, "{api}");
    }
}

#[tokio::test]
async fn every_version_of_the_token_address_works() {
    for (path, user_id, expected) in [
        ("/oauth/v3/token", UserIdKind::OpenId, "ou_user01"),
        ("/open-apis/authen/v2/oauth/token", UserIdKind::UserId, "user01"),
    ] {
        let desk = Desk::with(|settings| {
            let mut hosts = settings.hosts.clone();
            hosts.token.set_path(&format!("/sim{path}"));
            FeishuSettings { hosts, user_id, ..settings }
        })
        .await;
        assert_eq!(desk.sign_in("user01").await, Ok(member(expected)), "{path}");
        assert_eq!(desk.feishu.profile(&member(expected)).await.unwrap().name.as_deref(), Some("Uma User"));
    }
}

#[tokio::test]
async fn a_code_is_good_once_for_one_browser_and_not_for_long() {
    let desk = Desk::start().await;
    let browser = EntryPoint::Browser;
    let again = |code: i64| Err(Error::refused(code, Meaning::StartAgain));
    let without_hint = |outcome: Result<Identity, Error>| {
        outcome.map_err(|error| Error::refused(error.code().unwrap().clone(), error.meaning()))
    };
    let code = desk.code("user01", Some(CHALLENGE), "").await;
    for verifier in [None, Some("another-verifier-that-is-long-enough-for-the-rfc")] {
        assert_eq!(without_hint(desk.redeem(browser, &code, verifier).await), again(20_049));
    }
    assert_eq!(without_hint(desk.redeem(EntryPoint::Script, &code, Some(VERIFIER)).await), again(20_071));
    assert_eq!(desk.redeem(browser, &code, Some(VERIFIER)).await, Ok(member("user01")));
    assert_eq!(without_hint(desk.redeem(browser, &code, Some(VERIFIER)).await), again(20_065));
    assert_eq!(without_hint(desk.redeem(browser, "made-up", None).await), again(20_003));
    let code = desk.code("user01", None, "").await;
    desk.clock.advance(Duration::from_mins(5));
    assert_eq!(without_hint(desk.redeem(browser, &code, None).await), again(20_004));
    // A code of the script in the client was sent to no address, and ends sooner.
    let script = desk.code("user01", None, "&sim_entry=script").await;
    assert_eq!(desk.redeem(EntryPoint::Script, &script, None).await, Ok(member("user01")));
    let script = desk.code("user01", None, "&sim_entry=script").await;
    desk.clock.advance(Duration::from_mins(3));
    assert_eq!(without_hint(desk.redeem(EntryPoint::Script, &script, None).await), again(20_004));
    // Every refusal carries the number of the platform's log.
    let Err(Error::Refused(refused)) = desk.redeem(browser, "made-up", None).await else { panic!("it is unknown") };
    assert!(refused.hint.is_some_and(|hint| hint.len() == 32));
}

#[tokio::test]
async fn members_of_other_tenants_are_outsiders() {
    let desk = Desk::start().await;
    for who in ["outsider01", "wwpartner/partner01"] {
        assert_eq!(desk.sign_in(who).await, Ok(Identity::Outsider), "{who}");
    }
    let desk = Desk::with(|settings| FeishuSettings { tenant_key: "another".into(), ..settings }).await;
    assert_eq!(desk.sign_in("user01").await, Ok(Identity::Outsider));
}

#[tokio::test]
async fn availability_and_contact_scope_are_two_settings() {
    let desk = Desk::start().await;
    assert_eq!(desk.sign_in("hidden01").await, Ok(member("hidden01")));
    let status = |who: &'static str| {
        let feishu = desk.feishu.clone();
        async move { feishu.profile(&member(who)).await.unwrap().status }
    };
    assert_eq!(status("hidden01").await, MemberStatus::OutOfRange);
    assert_eq!(status("left01").await, MemberStatus::Left);
    desk.switch(json!({ "limited_availability": true })).await;
    let error = desk.sign_in("hidden01").await.unwrap_err();
    assert_eq!((error.code(), error.meaning()), (Some(&ErrorCode::Number(20_010)), Meaning::OutOfRange));
    assert!(!desk.feishu.is_down().await);
    let error = desk.feishu.send("hidden01", "hello").await.unwrap_err();
    assert_eq!((error.code(), error.meaning()), (Some(&ErrorCode::Number(230_013)), Meaning::Rejected));
}

#[tokio::test]
async fn a_missing_permission_and_a_limit_are_recognized() {
    let desk = Desk::start().await;
    desk.switch(json!({ "no_user_id": true })).await;
    let error = desk.sign_in("user01").await.unwrap_err();
    assert_eq!(error.code(), Some(&ErrorCode::word("user_id_missing")));
    let code = desk.code("user01", None, "").await;
    desk.switch(json!({ "rate_limit": 9 })).await;
    let limited = desk.redeem(EntryPoint::Browser, &code, None).await.unwrap_err();
    assert_eq!(limited.meaning(), Meaning::Limited);
    desk.switch(json!({})).await;
    let until = desk.clock.now() + Duration::from_secs(9);
    let paused = Err(Error::CircuitOpen { code: ErrorCode::Number(99_991_400), until });
    assert_eq!(desk.redeem(EntryPoint::Browser, &code, None).await, paused);
    desk.clock.advance(Duration::from_secs(9));
    assert_eq!(desk.redeem(EntryPoint::Browser, &code, None).await, Ok(member("user01")));
}

#[tokio::test]
async fn all_members_are_found_below_the_root() {
    let desk = Desk::start().await;
    let (mut departments, mut people) = (vec![desk.feishu.root_department().to_owned()], BTreeSet::new());
    let mut at = 0;
    while let Some(department) = departments.get(at).cloned() {
        let mut cursor: Option<String> = None;
        loop {
            let page = desk.feishu.members(&department, cursor.as_deref()).await.unwrap();
            people.extend(page.items.into_iter().map(|member| member.userid));
            let Some(next) = page.next else { break };
            cursor = Some(next);
        }
        let children = desk.feishu.departments(&department, None).await.unwrap();
        departments.extend(children.items.into_iter().map(|department| department.id));
        at += 1;
    }
    let expected = PEOPLE.iter().filter(|who| who.kind == PersonKind::Member).map(|who| who.id.to_owned());
    assert_eq!(people, expected.collect::<BTreeSet<_>>());
    assert_eq!(departments.len(), 7);
}

#[tokio::test]
async fn invitations_arrive_and_groups_are_listed() {
    let desk = Desk::start().await;
    let url = "https://desk.example.com/s/abc";
    for id in ["i1", "i1", "i2"] {
        let invitation = Invitation { id, title: "Is it you?", text: "Pick the number.", button: "Open", url };
        assert_eq!(desk.feishu.invite("user01", invitation).await, Ok(()));
    }
    let inbox = desk.json("inbox").await;
    let messages = inbox["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 2, "one for each id: {inbox}");
    assert_eq!(messages[0]["interactive"]["elements"][1]["actions"][0]["url"], url);

    let groups = desk.feishu.tags(None).await.unwrap().items;
    for (name, users, departments) in [("On Call", 2, 0), ("Service Desk", 0, 1)] {
        let group = groups.iter().find(|group| group.name == name).unwrap();
        let (mut found, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let page = desk.feishu.tag_members(&group.id, cursor.as_deref()).await.unwrap();
            found.extend(page.items);
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        let is_user = |member: &&TagMember| matches!(member, TagMember::Member(_));
        let found_users = found.iter().filter(is_user).count();
        assert_eq!((found_users, found.len() - found_users), (users, departments), "{name}: {found:?}");
    }
}

#[tokio::test]
async fn messages_arrive_once_and_cards_can_be_settled() {
    let desk = Desk::start().await;
    for _ in 0..2 {
        assert_eq!(desk.feishu.send("user01", "Your password was changed.").await, Ok(()));
    }
    let choices = [Choice { key: "yes", label: "Yes" }, Choice { key: "no", label: "No" }];
    let question = Question { id: "q1", title: "Sign in?", text: "Was it you?", choices: &choices };
    let handle = desk.feishu.ask("user01", question).await.unwrap().unwrap();
    assert_eq!(desk.feishu.ask("user01", question).await, Ok(Some(handle.clone())));
    assert_eq!(desk.feishu.settle(&handle, "It was you.").await, Ok(()));
    let inbox = desk.json("inbox").await;
    let messages = inbox["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 2, "{inbox}");
    assert_eq!(
        (&messages[0]["touser"], &messages[0]["text"]["content"]),
        (&json!(["user01"]), &json!("Your password was changed."))
    );
    assert!(messages[1]["interactive"].to_string().contains("button"));
    assert!(!messages[1]["updates"][0]["interactive"].to_string().contains("button"), "{inbox}");
    desk.switch(json!({ "no_bot": true })).await;
    let error = desk.feishu.send("user01", "x").await.unwrap_err();
    assert_eq!((error.code(), error.meaning()), (Some(&ErrorCode::Number(230_006)), Meaning::Administrator));
    // A token that the platform dropped is replaced on the way.
    desk.switch(json!({})).await;
    desk.request("POST", "void-tokens", "").await;
    assert_eq!(desk.feishu.send("user01", "again").await, Ok(()));
    assert_eq!(desk.calls(TENANT_TOKEN).await, 2);
}

#[tokio::test]
async fn the_configuration_is_checked_with_two_calls() {
    let deployment = Deployment { public_url: "http://localhost:8080", callback_url: CALLBACK };
    let desk = Desk::start().await;
    let checks = desk.feishu.check_configuration(&deployment).await;
    let good = checks.iter().filter(|check| matches!(check.outcome, CheckOutcome::Good(_)));
    assert_eq!(good.count(), 1, "{checks:?}");
    let told = format!("{checks:?}");
    for text in [CALLBACK, "重定向 URL", "contact:user.employee_id:readonly", "im:message:send_as_bot", "tenant_key"]
    {
        assert!(told.contains(text), "{text}: {told}");
    }
    assert_eq!((desk.calls(TENANT_TOKEN).await, desk.calls("open-apis/contact/v3/scopes").await), (1, 1));

    let desk = Desk::with(|settings| FeishuSettings { secret: "wrong".into(), ..settings }).await;
    let checks = desk.feishu.check_configuration(&deployment).await;
    assert_eq!(checks[0].outcome, CheckOutcome::Skipped([String::new(), String::new()]), "{checks:?}");
    let error = desk.feishu.check_credentials().await.unwrap_err();
    let code = ErrorCode::Number(10_014);
    assert_eq!((error.code(), desk.feishu.explain(&code).text[1].contains("App Secret")), (Some(&code), true));

    let desk = Desk::with(|mut settings| {
        settings.hosts.api.set_path("/sim/typo");
        settings
    })
    .await;
    let error = desk.feishu.check_credentials().await.unwrap_err();
    assert!(desk.feishu.advise(&error).unwrap()[0].contains("platform.api_url"), "{error:?}");
}
