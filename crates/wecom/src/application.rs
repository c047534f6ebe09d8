//! The application as registered on the platform, and the checks of its configuration.

use deskpass_platform::client::sanitize;
use deskpass_platform::{Check, CheckOutcome, Deployment, Error};

use crate::advice;
use crate::api::AGENT;
use crate::client::Wecom;

/// The names of the checks.
const CALL: [&str; 2] = ["API call", "接口调用"];
const APPLICATION: [&str; 2] = ["application", "应用状态"];
const DOMAIN: [&str; 2] = ["trusted domain", "可信域名"];

/// The application as registered on the platform.
struct Application {
    name: String,
    /// Whether an administrator disabled it.
    closed: bool,
    /// The domain that may receive codes; empty if none is set.
    redirect_domain: String,
}

impl Wecom {
    /// Checks whether the platform permits calls from this machine, and how the application is registered.
    pub(crate) async fn check_application(&self, deployment: &Deployment<'_>) -> Vec<Check> {
        let Some(agent_id) = self.0.agent_id.as_deref() else {
            return without_application(CheckOutcome::Skipped([
                "platform.agent_id is not set; without it users on a computer can sign in only with a phone, and the \
                 trusted IP and the trusted domain cannot be checked"
                    .to_owned(),
                "未设置 platform.agent_id；因此在电脑上只能用手机扫码登录，也无法检查可信 IP 和可信域名".to_owned(),
            ]));
        };
        match self.application(agent_id).await {
            Ok(application) => {
                let allowed = ["allowed from this machine", "允许从本机调用"].map(str::to_owned);
                vec![
                    Check { name: CALL, outcome: CheckOutcome::Good(allowed) },
                    Check { name: APPLICATION, outcome: enabled(&application) },
                    Check { name: DOMAIN, outcome: trusted(deployment, &application.redirect_domain) },
                ]
            }
            Err(error) => {
                let (what, fix) = (advice::describe(&error), advice::fix(&error));
                without_application(CheckOutcome::Bad { what, fix })
            }
        }
    }

    /// Reads the application. This call fails where a sign-in would fail, unlike the token call, which the platform answers for
    /// any address.
    async fn application(&self, agent_id: &str) -> Result<Application, Error> {
        let response = self.request(&self.0.protocol.get(AGENT).query("agentid", agent_id)).await?;
        let text = |name| sanitize(response.text(name).unwrap_or_default(), 128);
        let closed = response.number("close") == Some(1);
        Ok(Application { name: text("name"), closed, redirect_domain: text("redirect_domain") })
    }
}

/// The checks, where the application cannot be read.
fn without_application(outcome: CheckOutcome) -> Vec<Check> {
    let skipped = |name| Check { name, outcome: CheckOutcome::Skipped(<[String; 2]>::default()) };
    vec![Check { name: CALL, outcome }, skipped(APPLICATION), skipped(DOMAIN)]
}

fn enabled(application: &Application) -> CheckOutcome {
    let name = &application.name;
    if !application.closed {
        return CheckOutcome::Good([format!("{name} is enabled"), format!("{name} 已启用")]);
    }
    CheckOutcome::Bad {
        what: [format!("{name} is disabled"), format!("{name} 已停用")],
        fix: [
            "enable it in the console: 应用管理 → the application".to_owned(),
            "请在管理后台启用：应用管理 → 该应用".to_owned(),
        ],
    }
}

/// Checks that the domain configured at the platform is this service's. The platform compares host and port literally.
fn trusted(deployment: &Deployment<'_>, on_record: &str) -> CheckOutcome {
    // The host, with its port unless that is the default one.
    let domain = deployment.public_url.split_once("://").map_or("", |(_, domain)| domain);
    if on_record.eq_ignore_ascii_case(domain) {
        return CheckOutcome::Good([domain.to_owned(), domain.to_owned()]);
    }
    let what = if on_record.is_empty() {
        ["no domain is set at the platform".to_owned(), "企业微信中尚未设置".to_owned()]
    } else {
        [
            format!("the platform has {on_record}, this service is at {domain}"),
            format!("企业微信中为 {on_record}，本服务为 {domain}"),
        ]
    };
    let fix = [
        format!(
            "enter {domain} in the console: 应用管理 → the application → 网页授权及JS-SDK → 可信域名, and also 企业微信授权登录 → 授权回调域"
        ),
        format!(
            "请在管理后台填写 {domain}：应用管理 → 该应用 → 网页授权及JS-SDK → 可信域名，以及 企业微信授权登录 → 授权回调域"
        ),
    ];
    CheckOutcome::Bad { what, fix }
}
