//! The client and the simulated platform, over HTTP.

use deskpass_core::{Clock, Entropy, Timestamp};
use deskpass_dingtalk::{Dingtalk, DingtalkSettings, Hosts};
use deskpass_platform::{
    CallbackReturn, Check, CheckOutcome, Department, Deployment, Directory as _, EntryPoint, Error, Identity,
    InvalidResponse, Invitation, LinkLanguage, LinkRequest, Meaning, MemberStatus, Messenger as _, Notify as _,
    SignIn as _, TagMember, Url,
};
use deskpass_simulator::{Domains, Kind, Simulator, SimulatorConfig, serve};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::platform::{AGENT, CLIENT, CORP, Platform, SECRET, redeem};

const CALLBACK: &str = "http://localhost:8080/api/auth/oauth2/callback";

/// A member of the simulated corporation.
fn member(userid: &str) -> Identity {
    Identity::Member { userid: userid.into(), holder_id: Some(format!("simUnion-{userid}")) }
}

/// A simulated platform and its client.
struct Desk {
    address: String,
    dingtalk: Dingtalk,
}

impl Desk {
    async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// A desk with other settings of the client.
    async fn with(change: impl FnOnce(&mut DingtalkSettings)) -> Self {
        let clock = Clock::manual(Timestamp::from_millis(1_800_000_000_000));
        let config = SimulatorConfig {
            kind: Kind::Dingtalk,
            corp_id: CORP.into(),
            client_id: CLIENT.into(),
            secret: SECRET.into(),
            agent_id: AGENT.into(),
            domains: Domains::Loopback,
            base: "/sim".into(),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        tokio::spawn(serve(listener, Simulator::new(config, clock.clone(), Entropy::system()), std::future::pending()));
        let url = |path: &str| Url::parse(&format!("http://{address}/sim{path}")).unwrap();
        let hosts = Hosts {
            api: url("/"),
            legacy_api: url("/"),
            authorize: url("/oauth2/auth"),
            script: url("/dingtalk.open.js"),
        };
        let mut settings = DingtalkSettings { hosts, ..Platform::start().await.settings() };
        change(&mut settings);
        Self { address, dingtalk: Dingtalk::new(settings, clock).unwrap() }
    }

    /// Sends a request to the simulator; returns the head and the body of the response.
    async fn send(&self, method: &str, target: &str, body: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        let length = body.len();
        let head = format!("{method} {target} HTTP/1.1\r\nhost: sim\r\nconnection: close\r\ncontent-length: {length}");
        stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }

    async fn json(&self, method: &str, path: &str, body: &str) -> Value {
        serde_json::from_str(&self.send(method, &format!("/sim/{path}"), body).await.1).unwrap()
    }

    /// What the browser of a user brings back from the login page.
    async fn brings_back(&self, user: &str) -> CallbackReturn {
        let link = LinkRequest {
            entry: EntryPoint::Browser,
            redirect_uri: CALLBACK,
            state: "auth_login~s~abc",
            challenge: None,
            language: LinkLanguage::Zh,
        };
        let link = Url::parse(&self.dingtalk.link(&link).unwrap()).unwrap();
        let target = format!("{}?{}&sim_user={user}", link.path(), link.query().unwrap());
        let (head, _) = self.send("GET", &target, "").await;
        let location = head.lines().find_map(|line| line.strip_prefix("location: ")).unwrap();
        let (callback, query) = location.split_once('?').unwrap();
        assert_eq!(callback, CALLBACK);
        self.dingtalk.read_return(query)
    }

    async fn page_code(&self, user: &str) -> String {
        match self.brings_back(user).await {
            CallbackReturn::Code { code, state } => {
                assert_eq!(state.as_deref(), Some("auth_login~s~abc"));
                code
            }
            other => panic!("{user}: {other:?}"),
        }
    }

    async fn script_code(&self, user: &str) -> String {
        let parameters = self.dingtalk.script().unwrap().parameters;
        let (corp_id, client_id) = (parameters["corpId"].as_str().unwrap(), parameters["clientId"].as_str().unwrap());
        let path = format!("request-auth-code?corpId={corp_id}&clientId={client_id}&sim_user={user}");
        self.json("GET", &path, "").await["code"].as_str().unwrap().to_owned()
    }

    async fn by_page(&self, user: &str) -> Result<Identity, Error> {
        redeem(&self.dingtalk, EntryPoint::Browser, &self.page_code(user).await).await
    }

    async fn switch(&self, switches: Value) {
        self.json("PUT", "switches", &switches.to_string()).await;
    }
}

#[tokio::test]
async fn people_sign_in_through_the_page() {
    let desk = Desk::start().await;
    for id in ["user01", "admin01", "hidden01"] {
        assert_eq!(desk.by_page(id).await, Ok(member(id)));
    }
    for id in ["left01", "outsider01", "wwpartner%2Fpartner01"] {
        assert_eq!(desk.by_page(id).await, Ok(Identity::Outsider), "{id}");
    }
    assert_eq!(desk.brings_back("deny").await, CallbackReturn::Declined);
    let calls = desk.json("GET", "calls", "").await["calls"].take();
    assert_eq!(calls["v1.0/oauth2/:corpId/token"], 1);
    assert_eq!(calls["v1.0/oauth2/userAccessToken"], 6);
    assert_eq!(calls["v1.0/contact/users/me"], 5, "another corporation is not asked for the user");
    assert_eq!(calls["topapi/user/getbyunionid"], 5);
}

#[tokio::test]
async fn codes_count_once_and_only_for_their_kind() {
    let desk = Desk::start().await;
    let (page, script) = (desk.page_code("user01").await, desk.script_code("user01").await);
    for (entry, wrong) in [(EntryPoint::Script, &page), (EntryPoint::Browser, &script)] {
        let error = redeem(&desk.dingtalk, entry, wrong).await.unwrap_err();
        assert!(error.is_refused_as(Meaning::StartAgain), "{error:?}");
    }
    for (entry, code) in [(EntryPoint::Client, &page), (EntryPoint::Script, &script)] {
        assert_eq!(redeem(&desk.dingtalk, entry, code).await, Ok(member("user01")));
        let error = redeem(&desk.dingtalk, entry, code).await.unwrap_err();
        assert!(error.is_refused_as(Meaning::StartAgain), "{error:?}");
    }
}

#[tokio::test]
async fn a_voided_token_is_replaced() {
    let desk = Desk::start().await;
    desk.by_page("user01").await.unwrap();
    desk.json("POST", "void-tokens", "").await;
    assert_eq!(desk.by_page("user01").await, Ok(member("user01")));
    assert_eq!(desk.json("GET", "calls", "").await["calls"]["v1.0/oauth2/:corpId/token"], 2);
}

#[tokio::test]
async fn the_directory_is_read_from_the_top() {
    let desk = Desk::start().await;
    let profile = desk.dingtalk.profile(&member("admin01")).await.unwrap();
    // The name of the directory, and not the one that the user chose.
    assert_eq!((profile.name.as_deref(), profile.status), (Some("Ada Admin"), MemberStatus::Active));
    assert_eq!(profile.department, Department::Known { id: "2".into(), name: Some("IT".into()) });
    assert_eq!(profile.avatar.as_deref(), Some("https://avatars.example.com/admin01.png"));
    for (id, status) in [("left01", MemberStatus::Left), ("hidden01", MemberStatus::OutOfRange)] {
        assert_eq!(desk.dingtalk.profile(&member(id)).await.unwrap().status, status, "{id}");
    }
    let (mut waiting, mut people) = (vec![desk.dingtalk.root_department().to_owned()], Vec::new());
    while let Some(id) = waiting.pop() {
        let children = desk.dingtalk.departments(&id, None).await.unwrap();
        waiting.extend(children.items.into_iter().map(|department| department.id));
        let members = desk.dingtalk.members(&id, None).await.unwrap();
        people.extend(members.items.into_iter().map(|member| member.userid));
    }
    people.sort();
    assert_eq!(people, ["admin01", "agent01", "norole01", "security01", "supervisor01", "user01"]);
}

#[tokio::test]
async fn messages_arrive_and_repeated_ones_do_not() {
    let desk = Desk::start().await;
    for text in ["你好", "你好", "再见"] {
        desk.dingtalk.send("agent01", text).await.unwrap();
    }
    // The platform reports success whoever the recipient is.
    desk.dingtalk.send("nobody", "text").await.unwrap();
    let messages = desk.json("GET", "inbox", "").await["messages"].take();
    let shown = |message: &Value| (message["touser"].clone(), message["text"]["content"].clone());
    let expected = ["你好", "再见"].map(|text| (json!(["agent01"]), json!(text)));
    assert_eq!(messages.as_array().unwrap().iter().map(shown).collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn invitations_arrive_and_roles_are_listed() {
    let desk = Desk::start().await;
    let url = "https://desk.example.com/s/abc";
    for id in ["i1", "i1", "i2"] {
        let invitation = Invitation { id, title: "Is it you?", text: "Pick the number.", button: "Open", url };
        desk.dingtalk.invite("agent01", invitation).await.unwrap();
    }
    let messages = desk.json("GET", "inbox", "").await["messages"].take();
    let shown = |message: &Value| (message["touser"].clone(), message["action_card"]["single_url"].clone());
    let expected = [(json!(["agent01"]), json!(url)), (json!(["agent01"]), json!(url))];
    assert_eq!(messages.as_array().unwrap().iter().map(shown).collect::<Vec<_>>(), expected, "one for each id");

    let roles = desk.dingtalk.tags(None).await.unwrap().items;
    let on_call = roles.iter().find(|role| role.name == "On Call").unwrap();
    let mut members = desk.dingtalk.tag_members(&on_call.id, None).await.unwrap().items;
    members.sort_by_key(|member| format!("{member:?}"));
    assert_eq!(members, ["agent01", "security01"].map(|id| TagMember::Member(id.into())));
}

#[tokio::test]
async fn limits_of_the_platform_are_understood() {
    let desk = Desk::start().await;
    desk.switch(json!({ "trusted_ips": ["192.0.2.1"] })).await;
    let error = desk.by_page("user01").await.unwrap_err();
    assert!(error.is_refused_as(Meaning::Administrator));
    let [english, chinese] = desk.dingtalk.advise(&error).unwrap();
    assert!(english.contains("127.0.0.1") && chinese.contains("127.0.0.1"), "{english}");
    desk.switch(json!({ "dingtalk_limit": "quota" })).await;
    assert!(desk.by_page("user01").await.unwrap_err().is_refused_as(Meaning::Limited));
    assert!(!desk.dingtalk.is_down().await, "any client can use the calls up");
    let desk = Desk::start().await;
    desk.dingtalk.check_credentials().await.unwrap();
    desk.switch(json!({ "dingtalk_limit": "blocked" })).await;
    // The newer API answers with a page, which might be that of any machine in between; the older one says what it is.
    assert_eq!(desk.by_page("user01").await, Err(InvalidResponse::NotJson.into()));
    let error = desk.dingtalk.send("user01", "x").await.unwrap_err();
    assert_eq!((error.meaning(), error.code().unwrap().number()), (Meaning::Limited, Some(1111)));
}

/// The outcomes of the checks by their English names.
async fn checks(desk: &Desk) -> Vec<(&'static str, CheckOutcome)> {
    let deployment = Deployment { public_url: "http://localhost:8080", callback_url: CALLBACK };
    let checks = desk.dingtalk.check_configuration(&deployment).await;
    checks.into_iter().map(|Check { name: [english, _], outcome }| (english, outcome)).collect()
}

#[tokio::test]
async fn a_good_configuration_passes_with_four_calls() {
    let desk = Desk::start().await;
    let found = checks(&desk).await;
    assert_eq!(found.len(), 6);
    for (name, outcome) in &found[..3] {
        assert!(matches!(outcome, CheckOutcome::Good(_)), "{name}: {outcome:?}");
    }
    let redirect = found.iter().find(|(name, _)| *name == "redirect URL").unwrap();
    assert!(matches!(&redirect.1, CheckOutcome::Skipped(text) if text.iter().all(|text| text.contains(CALLBACK))));
    let calls = desk.json("GET", "calls", "").await["calls"].take();
    assert_eq!(calls.as_object().unwrap().values().filter_map(Value::as_u64).sum::<u64>(), 4);
}

#[tokio::test]
async fn what_is_wrong_is_said_with_what_to_do() {
    let changes: [fn(&mut DingtalkSettings); 3] = [
        |settings| settings.secret = "wrong".into(),
        |settings| settings.client_id = "wrong".into(),
        |settings| settings.corp_id = "wrong".into(),
    ];
    for change in changes {
        let desk = Desk::with(change).await;
        let refused = desk.dingtalk.check_credentials().await.unwrap_err();
        assert_eq!(refused.meaning(), Meaning::Administrator);
        for (name, outcome) in &checks(&desk).await[..3] {
            assert_eq!(*outcome, CheckOutcome::Skipped([String::new(), String::new()]), "{name}");
        }
    }
    let desk = Desk::start().await;
    let fault = r#"{"api":"topapi/v2/user/get","errcode":"88/60011"}"#;
    desk.json("PUT", "faults", fault).await;
    let found = checks(&desk).await;
    let (_, outcome) = found.iter().find(|(name, _)| *name == "permission to read members").unwrap();
    let CheckOutcome::Bad { fix, .. } = outcome else { panic!("{outcome:?}") };
    assert!(fix.iter().all(|fix| fix.contains("qyapi_get_member")), "{fix:?}");
    let desk = Desk::with(|settings| settings.hosts.legacy_api = Url::parse("http://127.0.0.1:1/older").unwrap()).await;
    let found = checks(&desk).await;
    let CheckOutcome::Bad { what, fix } = &found[0].1 else { panic!("{found:?}") };
    assert!(fix.iter().all(|fix| fix.contains("http://127.0.0.1:1/older")), "{fix:?}");
    assert!(what[1].contains("钉钉"), "{what:?}");
}
