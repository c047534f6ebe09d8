//! `deskpass serve`.

use std::fmt::Write as _;

use clap::Args;
use tokio::signal::unix::{SignalKind, signal};

use super::{Common, Failed};
use crate::config::{self, Override, Settings};
use crate::server::Server;
use crate::{Desk, telemetry};
use deskpass_auth::DEV_USERS;

/// Run the service.
#[derive(Args, Debug)]
pub(super) struct Serve {
    #[command(flatten)]
    common: Common,
    /// Where to listen; port 0 takes any free port [default: 127.0.0.1:8080].
    #[arg(long, value_name = "ADDR:PORT")]
    listen: Option<String>,
    /// Let others reach a desk in development mode, on which anyone can sign in as anyone.
    #[arg(long)]
    dev_allow_remote: bool,
}

impl Serve {
    pub(super) fn run(self) -> Result<(), Failed> {
        let mut overrides = Vec::new();
        if let Some(listen) = &self.listen {
            overrides.push(Override { key: "listen", value: listen.clone(), flag: "--listen" });
        }
        if self.dev_allow_remote {
            let (key, flag) = ("development.allow_remote", "--dev-allow-remote");
            overrides.push(Override { key, value: "true".into(), flag });
        }
        let settings = self.common.with_sources(overrides, config::load)?.settings;
        telemetry::start_logging(&settings.log);
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(serve(settings))
    }
}

async fn serve(settings: Settings) -> Result<(), Failed> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let server = Server::bind(Desk::open(settings.clone()).await?).await?;
    println!("deskpass is ready at http://{}", server.address());
    if settings.development {
        print!("{}", next_steps(&settings, &server.address().to_string()));
    }
    let asked = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tokio::spawn(async move {
            // Asked again: leave at once. What was answered is on disk already.
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            std::process::exit(130);
        });
    };
    server.run(asked).await;
    Ok(())
}

fn next_steps(settings: &Settings, address: &str) -> String {
    let mut text = format!(
        "\n  Development mode: anyone who can reach this address can sign in as anyone.\n  Data: {}\n\n  People to sign in as:\n",
        settings.data.display()
    );
    for (id, name, _, roles) in DEV_USERS {
        let roles: Vec<_> = roles.iter().map(|role| role.name()).collect();
        let roles = if roles.is_empty() { "no role".to_owned() } else { roles.join(", ") };
        let _ = writeln!(text, "    {id:<14}{name:<18}{roles}");
    }
    text + &format!(
        "\n  Try:\n    curl -s http://{address}/api/dev/login -H 'content-type: application/json' -d '{{\"employee_id\":\"admin01\"}}'\n    curl -s http://{address}/api/ready\n\n  Stop with Ctrl-C.\n"
    )
}
