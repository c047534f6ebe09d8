//! The command line.

mod agent;
mod audit;
mod backup;
mod clock;
mod command_runtime;
mod completions;
mod config;
mod copy;
mod core_dumps;
mod doctor;
mod embedded_data;
mod employee;
mod executor;
mod explain;
mod ip_rule;
mod key;
mod language;
mod link;
mod man;
mod migrate;
mod moment;
mod oidc;
mod operator_entry;
mod output;
mod platform_kind;
mod ready;
mod reload;
mod restore;
mod serve;
mod service_key;
mod session;
mod simulate;
mod sync;

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use deskpass_platform::PlatformKind;
use deskpass_store::OpenError;

use crate::app::installation::NewData;
use crate::commands::{AdminCommand, corporation};
use crate::config::{Language, Override, ResolvedSettings, Settings, Sources};
use crate::{App, StartError};
use command_runtime::runtime;
use embedded_data::{inaccessible, require_database};
use platform_kind::platform_kind;

/// Sign-in service for an IT help desk.
#[derive(Debug, Parser)]
#[command(name = "deskpass", version = crate::VERSION, arg_required_else_help = true, max_term_width = 100)]
#[command(
    after_help = "Examples:\n  deskpass serve --dev    try it with seeded users and embedded data\n  deskpass doctor         find out why users cannot sign in"
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the service.
    #[command(
        after_help = "Examples:\n  deskpass serve --dev\n  deskpass serve --dev --platform dingtalk --data ./dingtalk\n  deskpass serve --config /etc/deskpass/deskpass.toml --data /var/lib/deskpass"
    )]
    Serve(ServeArgs),
    /// Have the running service read its settings and the files that they name again.
    ///
    /// Prints what changed and what needs a restart. Invalid settings change nothing.
    #[command(
        after_help = "Examples:\n  deskpass reload --config /etc/deskpass/deskpass.toml\n  systemctl reload deskpass    the same; the result is in the service log"
    )]
    Reload(reload::Reload),
    /// Migrate the data to the current version without starting the service. The service also does this when it starts.
    #[command(after_help = "Example:\n  deskpass migrate --config /etc/deskpass/deskpass.toml")]
    Migrate(migrate::Migrate),
    /// Copy all data from the embedded database to PostgreSQL, including live sessions.
    ///
    /// Signed-in users stay signed in. The copy is a single transaction: if it fails, nothing is copied. The embedded
    /// database does not change.
    #[command(
        after_help = "Examples:\n  deskpass copy --from sqlite:/var/lib/deskpass --config /etc/deskpass/deskpass.toml\n  deskpass copy --from sqlite:./data --to postgres://desk@db.example.com/desk --dev"
    )]
    Copy(copy::CopyArgs),
    /// Write all data to one file, while the service runs.
    ///
    /// The file has the state of one moment, a checksum, and the same format for SQLite and PostgreSQL. It contains no token,
    /// only digests; what needs `encryption_key` in the database needs it in the file too.
    #[command(
        after_help = "Examples:\n  deskpass backup /backup/desk-$(date +%F).backup --config /etc/deskpass/deskpass.toml\n  deskpass backup desk.backup --password-file /etc/deskpass/backup.password\n  deskpass backup - | ssh backup.example.com 'cat > desk.backup'"
    )]
    Backup(backup::Backup),
    /// Create the data from a backup, in an empty directory or database.
    ///
    /// Stop all nodes first. Ends all sessions, revokes all service keys and deletes all recovery codes, since those that ended or
    /// were used after the backup would be valid again; --keep-sessions keeps them. The audit log gets a row about it. A restore
    /// that fails or is interrupted leaves nothing behind.
    #[command(
        after_help = "Examples:\n  deskpass restore /backup/desk-2026-01-31.backup --config /etc/deskpass/deskpass.toml\n  deskpass restore desk.backup --keep-sessions    a planned move: the old service was stopped before the backup"
    )]
    Restore(restore::Restore),
    /// Add, list, disable and enable employees, admit those who return, and set their e-mail addresses.
    #[command(
        subcommand,
        after_help = "Example: the first administrator\n  deskpass employee add zhangsan --role admin --role user"
    )]
    Employee(employee::EmployeeCommand),
    /// Grant roles to employees and revoke them.
    #[command(subcommand, after_help = "Example:\n  deskpass role grant zhangsan admin")]
    Role(employee::RoleCommand),
    /// Bring people up to date with the platform: names, departments, people who left or came back, and roles from rules.
    #[command(after_help = "Examples:\n  deskpass sync --dry-run    show what would change\n  deskpass sync")]
    Sync(sync::SyncArgs),
    /// Manage agents, their passwords, and the authenticators of agents and administrators.
    #[command(
        subcommand,
        after_help = "Examples:\n  deskpass agent list                       shows who can sign in during an outage of the platform\n  deskpass agent reset-password zhangsan    prints a setup code for a new password"
    )]
    Agent(agent::AgentCommand),
    /// Manage which users of a connected corporation may act as which employee.
    #[command(subcommand, after_help = "Example:\n  deskpass link approve wwpartner/lisi zhangsan")]
    Link(link::LinkCommand),
    /// Verify or export the audit log.
    #[command(subcommand, after_help = "Example:\n  deskpass audit verify --config /etc/deskpass/deskpass.toml")]
    Audit(audit::AuditCommand),
    /// Manage the networks from which each role may be active.
    #[command(
        subcommand,
        after_help = "Examples:\n  deskpass ip-rule set admin 10.0.0.0/8\n  deskpass ip-rule clear admin    allow the role from anywhere, after locking yourself out"
    )]
    IpRule(ip_rule::IpRuleCommand),
    /// Create, list and revoke the keys of other services.
    #[command(subcommand, after_help = "Example:\n  deskpass service-key create billing --scope introspect")]
    ServiceKey(service_key::ServiceKeyCommand),
    /// Manage the programs whose users sign in here with OpenID Connect, and the keys that sign for them.
    #[command(
        subcommand,
        after_help = "Examples:\n  deskpass oidc client add --for zammad --url https://help.example.com\n  deskpass oidc client list\n  deskpass oidc rotate-keys"
    )]
    Oidc(oidc::OidcCommand),
    /// Replace the encryption key, and show which key protects what.
    #[command(subcommand, after_help = "Example:\n  deskpass key rotate --config /etc/deskpass/deskpass.toml")]
    Key(key::KeyCommand),
    /// End the sessions of an employee, or of all.
    #[command(
        subcommand,
        after_help = "Examples:\n  deskpass session end zhangsan\n  deskpass session end-all --yes --config /etc/deskpass/deskpass.toml"
    )]
    Session(session::SessionCommand),
    /// Explain why an employee can or cannot sign in, what they may do, the state of a token, or the request behind a
    /// reference. Changes nothing.
    #[command(
        subcommand,
        after_help = "Examples:\n  deskpass explain login zhangsan\n  deskpass explain access zhangsan conversation read all\n  deskpass explain token < token.txt\n  deskpass explain ref 1a2b3c4d"
    )]
    Explain(explain::ExplainCommand),
    /// Recover a service whose clock was wrong.
    #[command(subcommand, after_help = "Example:\n  deskpass clock repair --config /etc/deskpass/deskpass.toml")]
    Clock(clock::ClockCommand),
    /// Check and print the settings.
    #[command(subcommand, after_help = "Example:\n  deskpass config check --config /etc/deskpass/deskpass.toml")]
    Config(config::ConfigCommand),
    /// Check the settings, the data and the platform, and print how to fix each problem.
    ///
    /// Does not migrate data of an earlier version: `deskpass migrate` or the next start of the service does.
    #[command(
        after_help = "Examples:\n  deskpass doctor --config /etc/deskpass/deskpass.toml\n  deskpass doctor --language zh\n  \
                      deskpass doctor --dev --listen 127.0.0.1:9000"
    )]
    Doctor(doctor::Doctor),
    /// Run only the simulated platform. Never use it in production.
    #[command(
        after_help = "Examples:\n  deskpass simulate --listen 127.0.0.1:8090 --domain desk.example.com    for a service in production mode\n  deskpass simulate --platform feishu\n  deskpass simulate --people 10000    with a large directory"
    )]
    Simulate(simulate::Simulate),
    /// Ask the running service whether it is ready, and exit with 0 if it is. For health checks.
    #[command(
        after_help = "Examples:\n  deskpass ready --config /etc/deskpass/deskpass.toml\n  deskpass ready --url http://10.0.0.11:8080"
    )]
    Ready(ready::Ready),
    /// Print completions for a shell.
    #[command(
        hide = true,
        after_help = "Example:\n  deskpass completions bash > ~/.local/share/bash-completion/completions/deskpass"
    )]
    Completions(completions::Completions),
    /// Write manual pages of all commands.
    #[command(hide = true, after_help = "Example:\n  deskpass man ~/.local/share/man/man1")]
    Man(man::Man),
}

/// Options of most commands.
#[derive(Args, Clone, Debug)]
struct CommonArgs {
    /// Settings file [default: ./deskpass.toml, if it exists].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Directory of the embedded database [default: ./data]; ignored when store.url is set.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Development mode: seeded users, development routes, open binding, separate data. Never use it in production.
    #[arg(long)]
    dev: bool,
    /// Enterprise messenger to work with; overrides platform.kind [default: wecom].
    #[arg(long, value_name = "KIND", value_parser = platform_kind())]
    platform: Option<PlatformKind>,
}

/// Options of the commands that start the service or check whether it can start.
#[derive(Args, Clone, Debug)]
struct ServeArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// Address to listen on; port 0 selects a free port [default: 127.0.0.1:8080].
    #[arg(long, value_name = "ADDR:PORT")]
    listen: Option<String>,
    /// Let other machines reach a service in development mode, where anyone can sign in as anyone.
    #[arg(long)]
    dev_allow_remote: bool,
}

/// The reason why a command failed, ready to be printed.
#[derive(Debug)]
struct CliError {
    why: String,
    /// An alternative to suggest to the operator.
    hint: Option<&'static str>,
}

impl<E: Display> From<E> for CliError {
    fn from(error: E) -> Self {
        Self { why: error.to_string(), hint: None }
    }
}

impl Cli {
    /// Runs the command.
    #[must_use]
    pub fn run(self) -> ExitCode {
        core_dumps::disable();
        let done = match self.command {
            Command::Serve(serving) => serve::run(&serving),
            Command::Reload(reload) => reload.run(),
            Command::Migrate(migrate) => migrate.run(),
            Command::Copy(copy) => copy.run(),
            Command::Backup(backup) => backup.run(),
            Command::Restore(restore) => restore.run(),
            Command::Employee(command) => command.run(),
            Command::Role(command) => command.run(),
            Command::Sync(sync) => sync.run(),
            Command::Agent(command) => command.run(),
            Command::Link(command) => command.run(),
            Command::Audit(command) => command.run(),
            Command::IpRule(command) => command.run(),
            Command::ServiceKey(command) => command.run(),
            Command::Session(command) => command.run(),
            Command::Oidc(command) => command.run(),
            Command::Key(command) => command.run(),
            Command::Explain(command) => command.run(),
            Command::Clock(command) => command.run(),
            Command::Config(command) => command.run(),
            Command::Doctor(doctor) => doctor.run(),
            Command::Simulate(simulate) => simulate.run(),
            Command::Ready(ready) => ready.run(),
            Command::Completions(completions) => completions.run(),
            Command::Man(man) => man.run(),
        };
        match done {
            Ok(()) => ExitCode::SUCCESS,
            Err(CliError { why, hint }) => {
                // Several problems are printed as a list, so that the start of each is visible.
                let several = why.trim_end().contains('\n');
                output::note(format_args!(
                    "deskpass: {}",
                    if several { format!("\n{why}").replace('\n', "\n- ") } else { why }
                ));
                if let Some(hint) = hint {
                    output::note(hint);
                }
                ExitCode::FAILURE
            }
        }
    }
}

impl ServeArgs {
    /// Loads the settings. If there are none, the error suggests development mode: the operator may only want to try the service.
    fn settings(&self) -> Result<Settings, CliError> {
        self.resolved().map(|(_, settings)| settings)
    }

    /// The same, with the origins of the settings.
    fn resolved(&self) -> Result<(ResolvedSettings, Settings), CliError> {
        let resolved = self.with_sources(crate::config::resolve);
        let settings = resolved.check().map_err(|error| {
            let hint = error.only_missing().then_some("to try it out without any settings: deskpass serve --dev");
            CliError { hint, ..error.into() }
        })?;
        Ok((resolved, settings))
    }

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

/// Most commands are meant for an installed service, whose settings are elsewhere.
const NO_SETTINGS_FILE: &str =
    "there is no ./deskpass.toml here; to name the settings: --config /etc/deskpass/deskpass.toml";

impl CommonArgs {
    fn settings(&self) -> Result<Settings, CliError> {
        self.with_sources(Vec::new(), crate::config::load).map_err(|error| {
            let no_file = self.config.is_none() && !Path::new("deskpass.toml").exists();
            let hint = (no_file && error.only_missing()).then_some(NO_SETTINGS_FILE);
            CliError { hint, ..error.into() }
        })
    }

    /// Passes all sources of settings to the closure, with the command's flags as the strongest.
    fn with_sources<T>(&self, mut overrides: Vec<Override>, use_them: impl FnOnce(&Sources<'_>) -> T) -> T {
        if let Some(data) = &self.data {
            overrides.push(Override { key: "data", value: data.display().to_string(), flag: "--data" });
        }
        if self.dev {
            overrides.push(Override { key: "development.enabled", value: "true".into(), flag: "--dev" });
        }
        if let Some(kind) = self.platform {
            overrides.push(Override { key: "platform.kind", value: kind.name().to_owned(), flag: "--platform" });
        }
        let environment = std::env::vars_os().collect();
        use_them(&Sources {
            file: self.config.clone(),
            environment,
            overrides,
            read: &|path: &Path| std::fs::read_to_string(path),
        })
    }

    /// Runs an admin command here, or sends it to the service that runs on the same embedded data. `inspect` is the
    /// command that shows the result. A database that nodes share has no owner, so there the command always runs here.
    fn run_or_forward(&self, command: &AdminCommand, inspect: &str) -> Result<(), CliError> {
        self.run_or_forward_in(Some(Language::En), command, inspect)
    }

    /// The same, with the result in this language, or else in that of the settings.
    fn run_or_forward_in(
        &self,
        requested: Option<Language>,
        command: &AdminCommand,
        inspect: &str,
    ) -> Result<(), CliError> {
        let (runtime, settings) = (runtime()?, self.settings()?);
        let language = requested.unwrap_or(settings.default_language);
        // The first employee may be added before there is any data.
        if !matches!(command, AdminCommand::Add { .. }) {
            require_database(&settings)?;
        }
        let (development, corporation) = (settings.development.enabled, Some(corporation(&settings)));
        let message = match runtime.block_on(App::open_with(settings, NewData::Leave)) {
            Ok(app) => runtime.block_on(async {
                app.require_encryption_key().await?;
                Ok::<_, StartError>(command.run(&app, language).await)
            })?,
            Err(StartError::Open(OpenError::InUse(data))) => {
                let sent = command.send_to_service_of(corporation, &data, development, language);
                sent.map_err(|error| {
                    format!(
                        "the service that runs on {} did not respond ({error}); the command may still have taken \
                         effect: check with `{inspect}`, read the service log, or stop the service and try again",
                        data.display()
                    )
                })?
            }
            Err(error) => return Err(error.into()),
        };
        Ok(output::line(message?)?)
    }
}
