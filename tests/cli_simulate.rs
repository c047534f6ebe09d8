//! `deskpass simulate`: the simulated platform in a process of its own.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout, Command};

use serde_json::{Value, json};

use crate::harness::{Client, Response, binary, location, request};

/// A running `deskpass simulate`.
#[derive(Debug)]
pub(crate) struct Simulated {
    child: Child,
    stdout: BufReader<ChildStdout>,
    pub(crate) address: String,
}

impl Simulated {
    /// Starts it on a free port and waits for its ready line.
    pub(crate) fn start(more: &[&str]) -> Self {
        let mut child = binary().args(["simulate", "--listen", "127.0.0.1:0"]).args(more).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("the simulated platform is ready at http://");
        let address =
            address.and_then(|rest| rest.strip_suffix("/sim")).unwrap_or_else(|| panic!("{line:?}")).to_owned();
        Self { child, stdout, address }
    }

    /// Its output up to a line with this word.
    pub(crate) fn until(&mut self, word: &str) -> String {
        let mut text = String::new();
        while !text.contains(word) {
            assert_ne!(self.stdout.read_line(&mut text).unwrap(), 0, "{word} is missing in\n{text}");
        }
        text
    }

    /// Sets one of its controls, such as `faults`.
    pub(crate) async fn put(&self, control: &str, value: &Value) {
        let body = value.to_string();
        let put = request("PUT", &format!("/sim/{control}"), &[], body.as_bytes());
        let answer = Client::connect(&self.address).await.send(&put).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }

    async fn get(&self, path: &str) -> Response {
        Client::connect(&self.address).await.get(&format!("/sim{path}"), &[]).await
    }

    /// Sends a signal; returns the exit code and the rest of its standard output.
    fn stop(mut self, signal: &str) -> (Option<i32>, String) {
        let sent = Command::new("kill").args(["-s", signal, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }
}

impl Drop for Simulated {
    fn drop(&mut self) {
        // A failing test must not leave the process behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs it where it must fail; returns its error.
fn refused(arguments: &[&str]) -> String {
    let output = binary().arg("simulate").args(arguments).output().unwrap();
    assert!(!output.status.success(), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn it_says_how_to_use_it_and_stops_when_asked() {
    for signal in ["TERM", "INT"] {
        let simulated = Simulated::start(&["--corp", "wwother", "--agent", "7", "--secret", "canary-secret"]);
        let here = format!("http://{}/sim", simulated.address);
        let (code, rest) = simulated.stop(signal);
        assert_eq!(code, Some(0), "{signal}");
        for setting in [
            format!("platform.api_url = \"{here}\""),
            format!("platform.authorize_url = \"{here}/connect/oauth2/authorize\""),
            format!("platform.web_login_url = \"{here}/wwlogin/sso/login\""),
            "platform.corp_id = \"wwother\"".to_owned(),
            "platform.agent_id = \"7\"".to_owned(),
        ] {
            assert!(rest.lines().any(|line| line.trim() == setting), "{setting} is missing in\n{rest}");
        }
        assert!(
            rest.contains("admin01") && rest.contains("wwpartner/partner01") && rest.contains("outsider01"),
            "{rest}"
        );
        assert!(!rest.contains("canary-secret"), "{rest}");
    }
}

/// The settings in its output.
pub(crate) fn settings(text: &str) -> String {
    let setting = |line: &&str| line.starts_with("    ") && (line.contains(" = ") || line.contains('#'));
    text.lines().filter(setting).flat_map(|line| [line, "\n"]).collect()
}

#[test]
fn it_plays_every_platform() {
    for (kind, name, settings_of_kind) in [
        ("wecom", "WeCom", &["platform.agent_id", "platform.web_login_url"][..]),
        (
            "dingtalk",
            "DingTalk",
            &["platform.client_id", "platform.agent_id", "platform.legacy_api_url", "platform.script_url"],
        ),
        ("feishu", "Feishu", &["platform.client_id", "platform.token_url"]),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let mut simulated = Simulated::start(&["--platform", kind, "--public-url", "http://localhost:9000"]);
        let text = simulated.until("People");
        assert!(text.contains(&format!("It plays {name}, for development only")), "{text}");
        let pasted = settings(&text);
        assert!(pasted.contains("    listen = \"127.0.0.1:9000\"\n"), "{pasted}");
        assert!(pasted.contains(&format!("    platform.kind = \"{kind}\"\n")), "{pasted}");
        for key in [settings_of_kind, &["platform.corp_id", "platform.api_url", "platform.authorize_url"]].concat() {
            assert!(pasted.contains(&format!("    {key} = \"")), "{key}\n{pasted}");
        }
        std::fs::write(directory.path().join("deskpass.toml"), &pasted).unwrap();
        let output = binary().current_dir(directory.path()).args(["doctor", "--language", "en"]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && !text.contains('✗'), "{pasted}\n{text}");
        let people = simulated.until("Stop with");
        let partner = people.lines().find(|line| line.contains("Petra Partner")).unwrap();
        assert_eq!(partner.contains("of a connected corporation"), kind == "wecom", "{people}");
        assert_eq!(people.contains("LINK=$(curl"), kind != "wecom", "{people}");
    }
}

#[test]
fn what_it_prints_is_all_that_a_desk_needs() {
    for (arguments, domain, public_url) in [
        (&[][..], "localhost:8080", "http://localhost:8080"),
        (&["--domain", "desk.example.com"], "desk.example.com", "https://desk.example.com"),
        (&["--public-url", "https://desk.example.com:8443"], "desk.example.com:8443", "https://desk.example.com:8443"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let mut simulated = Simulated::start(arguments);
        let pasted = settings(&simulated.until("People"));
        assert!(pasted.contains(&format!("    public_url = \"{public_url}\"\n")), "{pasted}");
        assert!(pasted.contains("    platform.secret = \"simulated\"\n"), "{pasted}");
        std::fs::write(directory.path().join("deskpass.toml"), &pasted).unwrap();
        let output = binary().current_dir(directory.path()).args(["doctor", "--language", "en"]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && !text.contains('✗'), "{pasted}\n{text}");
        assert!(text.contains(&format!("✓ trusted domain: {domain}\n")), "{text}");
    }
}

#[test]
fn each_start_prints_a_key_of_its_own_and_how_to_use_another_address() {
    let (_, rest) = Simulated::start(&[]).stop("TERM");
    assert!(rest.contains("--public-url URL") && rest.contains("must match"), "{rest}");
    let key = |text: &str| text.lines().find(|line| line.contains("encryption_key = ")).unwrap().to_owned();
    let (_, again) = Simulated::start(&[]).stop("TERM");
    assert_ne!(key(&rest), key(&again), "no published key comes into use");
}

#[tokio::test]
async fn it_can_have_many_members() {
    let mut simulated = Simulated::start(&["--people", "250"]);
    let text = simulated.until("generated members");
    assert!(text.contains("member00001 to member00250"), "{text}");
    let people = simulated.get("/people").await.json();
    assert_eq!(people["members"], 250);
}

#[tokio::test]
async fn a_script_can_play_the_phone() {
    let simulated =
        Simulated::start(&["--secret", "made-up", "--domain", "desk.example.com", "--domain", "b.example:8443"]);
    let link = |host: &str| {
        format!(
            "/connect/oauth2/authorize?appid=wwdeskpass&redirect_uri=https%3A%2F%2F{host}%2Fback&response_type=code\
             &scope=snsapi_base&state=auth_login&agentid=1000002&sim_user=user01"
        )
    };
    for host in ["desk.example.com", "b.example%3A8443", "localhost%3A1"] {
        simulated.get(&link(host)).await.header("location").unwrap_or_else(|| panic!("{host}"));
    }
    let strange = simulated.get(&link("b.example")).await;
    assert!(strange.header("location").is_none(), "{strange:?}");

    let back = simulated.get(&link("desk.example.com")).await;
    let code = location(&back).split_once("code=").unwrap().1.split('&').next().unwrap().to_owned();
    let token = simulated.get("/cgi-bin/gettoken?corpid=wwdeskpass&corpsecret=made-up").await.json();
    let token = token["access_token"].as_str().unwrap();
    let who = simulated.get(&format!("/cgi-bin/auth/getuserinfo?access_token={token}&code={code}")).await.json();
    assert_eq!((&who["errcode"], &who["userid"]), (&json!(0), &json!("user01")));
}

#[test]
fn wrong_words_are_named() {
    let text = refused(&["--listen", "0.0.0.0:0"]);
    assert!(text.contains("can sign in as anyone") && text.contains("--allow-remote"), "{text}");
    for (arguments, words) in [
        (&["--listen", "nonsense"][..], "--listen"),
        (&["--corp", "a/b"], "1 to 64 characters"),
        (&["--public-url", "desk.example.com"], "give a scheme and a host alone"),
        (&["--public-url", "https://desk.example.com/h5"], "give a scheme and a host alone"),
        (&["--agent", "ten"], "--agent"),
        (&["--client", "a"], "has no id; leave out --client"),
        (&["--client", "a b", "--platform", "feishu"], "1 to 64 letters"),
        (&["--agent", "7", "--platform", "feishu"], "has no number; leave out --agent"),
        (&["--platform", "slack"], "wecom, dingtalk, feishu"),
        (&["--secret", ""], "--secret"),
        (&["--people", "100001"], "--people"),
        (&["--domain", "https://desk.example.com"], "such as desk.example.com"),
        (&["--domain", "desk.example.com/"], "such as desk.example.com"),
        (&["--domain", ""], "such as desk.example.com"),
    ] {
        let text = refused(arguments);
        assert!(text.contains(words), "{arguments:?}\n{text}");
    }
    let taken = Simulated::start(&[]);
    let text = refused(&["--listen", &taken.address]);
    assert!(text.contains(&taken.address) && text.contains("another address with --listen"), "{text}");
}

#[test]
fn others_reach_it_only_when_allowed_to() {
    let listen = ["--listen", "0.0.0.0:0", "--allow-remote"];
    let mut child = binary().arg("simulate").args(listen).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(line.starts_with("the simulated platform is ready at http://0.0.0.0:"), "{line}");
}

#[test]
fn its_help_has_an_example() {
    let output = binary().args(["simulate", "--help"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("Example") && text.contains("deskpass simulate --listen"), "{text}");
}
