//! Request Tracker behind Apache, with the settings that its guide gives.

use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

use deskpass_core::oidc::{ClientRegistration, SigningAlgorithm};
use serde_json::json;
use tempfile::TempDir;

use super::apache_server::{Apache, MODULES, open_to_apache};
use super::program::{installed, scripts};
use super::visitor::{Page, Visitor, exchange};
use super::{DOMAIN, issuer, provider, registration};
use crate::harness::{OidcClient, TestApp, encoded, free_address, query, until};

/// The guide, whose code blocks are used.
const GUIDE: &str = include_str!("../../docs/integrations/request-tracker.md");
/// Where Debian's Request Tracker looks for modules of the site.
const LOCAL: &str = "usr/local/share/request-tracker5/lib/RT/Interface";
/// A name that is more than ASCII.
const NAME: &str = "李雷";

/// A code block of the guide, by its language and number, with the values of a site.
fn block(language: &str, number: usize, values: &[(&str, &str)]) -> String {
    let fence = format!("```{language}\n");
    let block = GUIDE.split(&fence).skip(1).filter_map(|rest| rest.split("```").next()).nth(number).unwrap();
    values.iter().fold(block.to_owned(), |text, (name, value)| {
        assert!(text.contains(name), "{name} is in the guide");
        text.replace(name, value)
    })
}

/// Request Tracker, as a process that waits for Apache.
#[derive(Debug)]
struct RequestTracker {
    child: Child,
    address: SocketAddr,
    site: TempDir,
}

impl RequestTracker {
    /// Starts it for this origin.
    fn start(origin: &str) -> Self {
        let home = installed("request-tracker");
        let site = tempfile::tempdir().unwrap();
        let path = |name: &str| site.path().join(name);
        for folder in
            ["lib/request-tracker5", "cache/request-tracker5/mason_data", "cache/request-tracker5/session_data"]
        {
            fs::create_dir_all(path("var").join(folder)).unwrap();
        }
        fs::create_dir_all(path(LOCAL)).unwrap();
        fs::copy(home.join("empty.sqlite"), path("rt.sqlite")).unwrap();
        let port = origin.rsplit_once(':').unwrap().1;
        let own = format!(
            "Set($DatabaseType, 'SQLite');\nSet($DatabaseName, '{}');\nSet($LogToSyslog, undef);\n\
             Set($MailCommand, 'mbox');\nSet($WebDomain, '127.0.0.1');\nSet($WebPort, {port});\n",
            path("rt.sqlite").display()
        );
        let after_logout = [("https%3A%2F%2Frt.example.com%2F", &*encoded(&format!("{origin}/")))];
        fs::write(path("RT_SiteConfig.pm"), own + &block("perl", 0, &after_logout) + "1;\n").unwrap();
        fs::write(path(LOCAL).join("Web_Local.pm"), block("perl", 1, &[])).unwrap();

        // As FastCGI has it, standard input is the socket on which Apache's requests arrive.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut command = Command::new("perl");
        let environment = fs::read_to_string(home.join("environment")).unwrap();
        command.envs(environment.lines().filter_map(|line| line.split_once('=')));
        command.env("RT_SITE", site.path()).env("RT_SITE_CONFIG", path("RT_SiteConfig.pm"));
        command.arg(home.join("root/usr/share/request-tracker5/libexec/rt-server.fcgi"));
        command.stdin(OwnedFd::from(listener)).stdout(Stdio::null()).stderr(File::create(path("log")).unwrap());
        Self { child: command.spawn().unwrap(), address, site }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.site.path().join("log")).unwrap()
    }

    /// An account: its name, address, and whether it is privileged.
    fn account(&self, name: &str) -> Vec<String> {
        let sql = format!(
            "SELECT u.RealName || '|' || u.EmailAddress || '|' || EXISTS (SELECT 1 FROM GroupMembers m JOIN Groups g \
             ON g.id = m.GroupId WHERE g.Name = 'Privileged' AND m.MemberId = u.id) FROM Users u WHERE u.Name = '{name}'"
        );
        query(&self.site.path().join("rt.sqlite"), &sql)
    }
}

impl Drop for RequestTracker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts Apache with the settings of the guide.
async fn apache(issuer: &str, origin: &str, client: &OidcClient, fcgi: SocketAddr) -> Apache {
    let directory = tempfile::tempdir().unwrap();
    let guide = [
        ("https://desk.example.com", issuer),
        ("https://rt.example.com", origin),
        ("request-tracker-3f9c2a71b0", &client.id),
        ("dpe_…", client.secret.as_deref().unwrap()),
        ("exec:/usr/local/sbin/passphrase", "the cookies of a test"),
    ];
    let text = fs::read_to_string(scripts().join("request_tracker.conf")).unwrap();
    let text = text.replace("{directory}", directory.path().to_str().unwrap()).replace("{modules}", MODULES);
    let text = text.replace("{address}", origin.strip_prefix("http://").unwrap());
    let text = text.replace("{fcgi}", &fcgi.to_string()).replace("{guide}", &block("apache", 0, &guide));
    fs::write(directory.path().join("httpd.conf"), text).unwrap();
    open_to_apache(directory.path());
    Apache::on(directory, vec![origin.to_owned()]).await
}

/// The whole: a service, Request Tracker, and Apache in front of it.
struct Site {
    app: TestApp,
    issuer: String,
    rt: RequestTracker,
    apache: Apache,
}

impl Site {
    async fn start() -> Self {
        let app = provider().await;
        let origin = format!("http://{}", free_address());
        let rt = RequestTracker::start(&origin);
        let registration = ClientRegistration {
            post_logout_redirect_uris: vec![format!("{origin}/")],
            backchannel_logout_uri: Some(format!("{origin}/oidc-callback?logout=backchannel")),
            algorithm: SigningAlgorithm::Es256,
            ..registration("Request Tracker", &origin, "/oidc-callback")
        };
        let client = app.oidc_client(registration).await;
        let issuer = issuer(&app);
        let apache = apache(&issuer, &origin, &client, rt.address).await;
        Self { app, issuer, rt, apache }
    }

    fn at(&self, path: &str) -> String {
        self.apache.at(0, path)
    }

    fn logs(&self) -> String {
        format!("{}\n{}", self.rt.log(), self.apache.log())
    }

    /// Opens Request Tracker, with a sign-in where it is needed; checks who it takes the visitor for, and returns the page.
    async fn enter(&self, visitor: &mut Visitor, user: &str) -> String {
        let Page { answer, .. } = visitor.open(&self.at("/")).await;
        let shown = format!(r#"Logged in as <span class="current-user">{user}</span>"#);
        assert!(answer.status == 200 && answer.body.contains(&shown), "{user} {answer:?}\n{}", self.logs());
        answer.body
    }

    /// Whether Apache lets a visitor through without another sign-in.
    async fn is_open(&self, path: &str, visitor: &mut Visitor) -> bool {
        let answer = visitor.load(&self.at(path)).await;
        let asks = answer.status == 302 && answer.header("location").is_some_and(|to| to.starts_with(&self.issuer));
        // Who asks for HTML gets 406 from the interface for scripts.
        assert!(asks || matches!(answer.status, 200 | 406), "{path} {answer:?}\n{}", self.logs());
        !asks
    }
}

/// The page after the sign-in, and what the scripts of a page may read.
const PATHS: [&str; 2] = ["/SelfService/", "/REST/2.0/user/user01"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn request_tracker_makes_accounts_and_signs_its_users_out() {
    let site = Site::start().await;
    let named = format!(r#"{{"errcode":0,"userid":"user01","name":"{NAME}","department":[4],"status":1}}"#);
    site.app.client().await.set_fault(&json!({ "api": "user/get", "body": named })).await;
    let mut visitor = Visitor::of(&site.app, &site.issuer, "user01").await;
    site.enter(&mut visitor, "user01").await;
    assert_eq!(site.rt.account("user01"), [format!("{NAME}|user01@{DOMAIN}|0")], "{}", site.logs());
    assert_eq!(site.rt.account("root"), ["Enoch Root|root@localhost|1"], "only it is privileged");
    for path in PATHS {
        assert!(site.is_open(path, &mut visitor).await, "{path}");
    }
    site.app.auth().operator().end_sessions_of(site.app.key("user01")).await.unwrap();
    for path in PATHS {
        until("it closes, whatever cookies it gave", async || !site.is_open(path, &mut visitor).await).await;
    }

    // A sign-out with its menu leads to the QR code, and the next person is not taken for the one before.
    let page = site.enter(&mut visitor, "user01").await;
    let link =
        page.split(r#"href=""#).find_map(|rest| rest.split(r#"">Logout</a>"#).next().filter(|link| *link != rest));
    let link = link.unwrap_or_else(|| panic!("no sign-out in {page}"));
    let token = visitor.token();
    visitor.travel(&site.at(link), &format!("{}/?request=", site.issuer)).await;
    assert!(!site.app.client().await.is_valid(&token).await);
    visitor.hand_to("agent01");
    site.enter(&mut visitor, "agent01").await;
    assert_eq!(site.rt.account("agent01"), [format!("Arno Agent|agent01@{DOMAIN}|0")], "{}", site.logs());
}

/// What has no browser comes through, and nothing comes along.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn request_tracker_is_open_to_mail_and_to_tokens_alone() {
    let site = Site::start().await;
    let mut visitor = Visitor::of(&site.app, &site.issuer, "user01").await;
    site.enter(&mut visitor, "user01").await;
    let cookie = visitor.cookies_of(&site.at("/"));
    let own: Vec<_> = cookie.split("; ").filter(|pair| pair.starts_with("RT_SID")).collect();
    assert!(!own.is_empty(), "{cookie}");
    let own = ("cookie", own[0]);

    let form = [("content-type", "application/x-www-form-urlencoded")];
    let gateway = site.at("/REST/1.0/NoAuth/mail-gateway");
    let mail = exchange(
        "POST",
        &gateway,
        &form,
        "queue=General&action=correspond&message=From%3A+a%40b.example%0ASubject%3A+Help%0A%0AHelp",
    )
    .await;
    assert!(mail.status == 200 && mail.body.contains("not ok"), "{mail:?}\n{}", site.logs());
    // Request Tracker itself refuses the token: with the cookie it would say who is signed in.
    let (user, token) = ("/REST/2.0/user/user01", ("authorization", "token 1-2-3"));
    for headers in [&[token][..], &[token, own]] {
        let answer = exchange("GET", &site.at(user), headers, "").await;
        assert!(answer.status == 401 && answer.body.contains("Unauthorized"), "{answer:?}\n{}", site.logs());
    }
    let password = ("authorization", "Basic cm9vdDpwYXNzd29yZA==");
    // Its form for a password is at any other path, however that is written.
    let signs_in = "//REST/2.0/?user=root&pass=password";
    for (path, headers) in
        [(user, &[own][..]), (user, &[own, password]), (signs_in, &[token]), ("/REST/1.0/ticket/1", &[own])]
    {
        let answer = exchange("GET", &site.at(path), headers, "").await;
        let stopped = matches!(answer.status, 302 | 401) && !answer.body.contains("RT/");
        assert!(stopped && answer.body.contains("<!DOCTYPE"), "{path} {answer:?}\n{}", site.logs());
    }
}
