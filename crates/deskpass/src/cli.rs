//! The command line.

mod config;
mod employee;
mod serve;

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::Desk;
use crate::config::{Override, Settings, Sources};

/// The sign-in desk of an IT help desk.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true, max_term_width = 100)]
#[command(after_help = "Example: try it with people to sign in as and everything embedded\n  deskpass serve --dev")]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the service.
    #[command(
        after_help = "Examples:\n  deskpass serve --dev\n  deskpass serve --config /etc/deskpass.toml --data /var/lib/deskpass"
    )]
    Serve(Serving),
    /// Bring the data up to date without starting the service (which also does so at its start).
    #[command(after_help = "Example:\n  deskpass migrate --data /var/lib/deskpass")]
    Migrate(Common),
    /// Add, list, disable and enable employees.
    #[command(subcommand)]
    Employee(employee::EmployeeCommand),
    /// Give roles to employees and take them away.
    #[command(subcommand)]
    Role(employee::RoleCommand),
    /// Look at the settings.
    #[command(subcommand)]
    Config(config::ConfigCommand),
}

/// What most commands take.
#[derive(Args, Debug)]
struct Common {
    /// Settings file; without it ./deskpass.toml, when there is one.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Directory of the embedded store [default: ./data].
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Development mode: seeded users, development routes, open binding, data of its own. Never for production.
    #[arg(long)]
    dev: bool,
}

/// What the commands take that start the service or check whether it would start.
#[derive(Args, Debug)]
struct Serving {
    #[command(flatten)]
    common: Common,
    /// Where to listen; port 0 takes any free port [default: 127.0.0.1:8080].
    #[arg(long, value_name = "ADDR:PORT")]
    listen: Option<String>,
    /// Let others reach a desk in development mode, on which anyone can sign in as anyone.
    #[arg(long)]
    dev_allow_remote: bool,
}

/// Why a command failed, ready to be shown.
#[derive(Debug)]
struct Failed(String);

impl<E: Display> From<E> for Failed {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

impl Cli {
    /// Runs the command.
    #[must_use]
    pub fn run(self) -> ExitCode {
        let done = match self.command {
            Command::Serve(serving) => serve::run(&serving),
            Command::Migrate(common) => migrate(&common),
            Command::Employee(command) => command.run(),
            Command::Role(command) => command.run(),
            Command::Config(command) => command.run(),
        };
        match done {
            Ok(()) => ExitCode::SUCCESS,
            Err(Failed(why)) => {
                // Several problems stand in a list, so that each can be seen to begin.
                let several = why.trim_end().contains('\n');
                eprintln!("deskpass: {}", if several { format!("\n{why}").replace('\n', "\n- ") } else { why });
                ExitCode::FAILURE
            }
        }
    }
}

impl Serving {
    fn with_sources<T>(&self, use_them: impl FnOnce(&Sources<'_>) -> T) -> T {
        let mut overrides = Vec::new();
        if let Some(listen) = &self.listen {
            overrides.push(Override { key: "listen", value: listen.clone(), flag: "--listen" });
        }
        if self.dev_allow_remote {
            let (key, flag) = ("development.allow_remote", "--dev-allow-remote");
            overrides.push(Override { key, value: "true".into(), flag });
        }
        self.common.with_sources(overrides, use_them)
    }
}

impl Common {
    fn settings(&self) -> Result<Settings, Failed> {
        Ok(self.with_sources(Vec::new(), crate::config::load)?)
    }

    /// Hands over everything settings can come from, with the flags of a command on top.
    fn with_sources<T>(&self, mut overrides: Vec<Override>, use_them: impl FnOnce(&Sources<'_>) -> T) -> T {
        if let Some(data) = &self.data {
            overrides.push(Override { key: "data", value: data.display().to_string(), flag: "--data" });
        }
        if self.dev {
            overrides.push(Override { key: "development.enabled", value: "true".into(), flag: "--dev" });
        }
        let environment = std::env::vars_os().collect();
        use_them(&Sources {
            file: self.config.clone(),
            environment,
            overrides,
            read: &|path: &Path| std::fs::read_to_string(path),
        })
    }
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

fn migrate(common: &Common) -> Result<(), Failed> {
    let desk = runtime()?.block_on(Desk::open(common.settings()?))?;
    println!("{} is up to date", desk.settings.data.display());
    Ok(())
}
