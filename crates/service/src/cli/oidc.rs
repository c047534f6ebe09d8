//! `deskpass oidc`: manages the clients of OpenID Connect and the keys that sign for them.

use clap::{Args, Subcommand};
use deskpass_core::oidc::{ClientKind, ClientRegistration, PkceRequirement, SigningAlgorithm, SsoMode};
use deskpass_core::{CorpId, Role, Roles};

use super::language::LanguageArgs;
use super::{CliError, CommonArgs};
use crate::commands::{AdminCommand, GENERIC, NewClient, OidcAdminCommand, PROGRAMS, Recipe};

const INSPECT_COMMAND: &str = "deskpass oidc client list";

#[derive(Debug, Subcommand)]
pub(super) enum OidcCommand {
    /// Add, list, disable and remove clients: the programs whose users sign in here.
    ///
    /// The administration page changes a registration.
    #[command(
        subcommand,
        after_help = "Example:\n  deskpass oidc client add --for zammad --url https://help.example.com"
    )]
    Client(ClientCommand),
    /// Replace the keys that sign ID tokens and logout tokens. The service does it by itself every 90 days.
    ///
    /// New keys are published for a day before they sign, so that every client has fetched them.
    #[command(
        after_help = "Examples:\n  deskpass oidc rotate-keys\n  deskpass oidc rotate-keys --now    after a leak: the old keys are withdrawn"
    )]
    RotateKeys {
        /// Sign with the new keys at once, and withdraw the old ones. Clients that keep keys for long refuse sign-ins for a while.
        #[arg(long)]
        now: bool,
        #[command(flatten)]
        common: CommonArgs,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum ClientCommand {
    /// Register a client, and print its id, its secret and what to enter in the program.
    ///
    /// The secret is printed once. With --for, the addresses follow from --url.
    #[command(
        after_help = "Examples:\n  deskpass oidc client add --for zammad --url https://help.example.com\n  deskpass oidc client add Wiki --redirect-uri https://wiki.example.com/callback --role agent\n  deskpass oidc client add Wiki --redirect-uri https://wiki.example.com/callback --json"
    )]
    Add(Box<AddClient>),
    /// List clients, their state, and the sign-outs that they do not know of yet.
    #[command(after_help = "Example:\n  deskpass oidc client list")]
    List(CommonArgs),
    /// Show what a client is registered with, and the addresses to enter in the program.
    #[command(after_help = "Example:\n  deskpass oidc client show wiki-3f9c2a71b0")]
    Show(ClientArgs),
    /// Give a client a new secret and print it once. The old one stays valid for 7 days.
    #[command(after_help = "Example:\n  deskpass oidc client rotate-secret wiki-3f9c2a71b0")]
    RotateSecret {
        #[command(flatten)]
        target: ClientArgs,
        /// End the old secret at once, after a leak.
        #[arg(long)]
        now: bool,
    },
    /// Enable a client again.
    #[command(after_help = "Example:\n  deskpass oidc client enable wiki-3f9c2a71b0")]
    Enable(ClientArgs),
    /// Disable a client, and end what it got, on every node within a second.
    #[command(after_help = "Example:\n  deskpass oidc client disable wiki-3f9c2a71b0")]
    Disable(ClientArgs),
    /// Remove a client, and end what it got. A client that is added again has another id.
    #[command(after_help = "Example:\n  deskpass oidc client remove wiki-3f9c2a71b0 --yes")]
    Remove {
        #[command(flatten)]
        target: ClientArgs,
        /// Confirm that the program can no longer sign users in.
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Args, Debug)]
pub(super) struct ClientArgs {
    /// The client's id, as shown by the list.
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Args, Debug)]
pub(super) struct AddClient {
    /// Name that users see: 1 to 64 characters [default with --for: the name of the program].
    #[arg(value_name = "NAME", required_unless_present = "program")]
    name: Option<String>,
    /// Address that browsers return to with a code. Can be repeated.
    #[arg(long = "redirect-uri", value_name = "URL", required_unless_present = "program")]
    redirect_uris: Vec<String>,
    /// The client cannot keep a secret; it authenticates with PKCE alone.
    #[arg(long)]
    public: bool,
    /// The client runs on the user's own computer; redirect URIs on 127.0.0.1, `[::1]` and localhost match with any port.
    #[arg(long, conflicts_with = "public")]
    native: bool,
    /// Address that browsers may be sent to after a sign-out. Can be repeated.
    #[arg(long = "post-logout-uri", value_name = "URL")]
    post_logout_uris: Vec<String>,
    /// Address that is told when a session ends.
    #[arg(long, value_name = "URL")]
    backchannel_uri: Option<String>,
    /// Origin of a program in browsers that calls the token endpoint itself. Can be repeated.
    #[arg(long = "origin", value_name = "ORIGIN")]
    origins: Vec<String>,
    /// Role of which users need one: admin, agent, user, supervisor or security. Can be repeated [default: every user].
    #[arg(long = "role", value_name = "ROLE", value_parser = Role::NAMES)]
    roles: Vec<String>,
    /// Corporation whose users may use the client. Can be repeated [default: the main one].
    #[arg(long = "corporation", value_name = "CORP")]
    corporations: Vec<String>,
    /// Algorithm of ID tokens [default: RS256, which every program knows].
    #[arg(long, value_name = "ALGORITHM", value_parser = SigningAlgorithm::NAMES)]
    algorithm: Option<String>,
    /// When users who are signed in are asked: once for each session, never, or each time with a new sign-in [default: ask].
    #[arg(long, value_name = "MODE", value_parser = SsoMode::NAMES)]
    sso: Option<String>,
    /// Whether PKCE is required [default: required]; optional is for programs that cannot do it.
    #[arg(long, value_name = "PKCE", value_parser = PkceRequirement::NAMES)]
    pkce: Option<String>,
    /// Program whose addresses and settings are known.
    #[arg(long = "for", value_name = "PROGRAM", value_parser = PROGRAMS)]
    program: Option<String>,
    /// Address of the program, which its other addresses follow from.
    #[arg(long, value_name = "URL", requires = "program")]
    url: Option<String>,
    /// Print the id and the secret as a JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    language: LanguageArgs,
    #[command(flatten)]
    common: CommonArgs,
}

const CONFIRM: &str = "nothing was changed; the program can then no longer sign users in: run the command again with --yes. \
                       `deskpass oidc client disable` can be undone";
const GENERIC_NEEDS_NAME: &str = "--for generic needs a name that users see: NAME";
const GENERIC_NEEDS_URI: &str =
    "--for generic needs --redirect-uri, which the program's documentation names: --url does not tell it";
const NEEDS_URL: &str = "--for needs the address of the program: --url https://help.example.com";

impl OidcCommand {
    pub(super) fn run(self) -> Result<(), CliError> {
        match self {
            Self::Client(command) => command.run(),
            Self::RotateKeys { now, common } => forward(&common, OidcAdminCommand::RotateKeys { now }),
        }
    }
}

impl ClientCommand {
    fn run(self) -> Result<(), CliError> {
        match self {
            Self::Add(new) => new.run(),
            Self::List(common) => forward(&common, OidcAdminCommand::ListClients),
            Self::Show(target) => target.run(|id| OidcAdminCommand::ShowClient { id }),
            Self::RotateSecret { target, now } => target.run(|id| OidcAdminCommand::RotateSecret { id, now }),
            Self::Enable(target) => target.run(|id| OidcAdminCommand::SetEnabled { id, enabled: true }),
            Self::Disable(target) => target.run(|id| OidcAdminCommand::SetEnabled { id, enabled: false }),
            Self::Remove { yes: false, .. } => Err(CONFIRM.into()),
            Self::Remove { target, yes: true } => target.run(|id| OidcAdminCommand::RemoveClient { id }),
        }
    }
}

fn forward(common: &CommonArgs, command: OidcAdminCommand) -> Result<(), CliError> {
    common.run_or_forward(&AdminCommand::Oidc(command), INSPECT_COMMAND)
}

impl ClientArgs {
    fn run(self, command: impl FnOnce(String) -> OidcAdminCommand) -> Result<(), CliError> {
        if self.id.starts_with("dpe_") {
            return Err(
                "ID is the client's id, which `deskpass oidc client list` shows; never put a secret on a command line"
                    .into(),
            );
        }
        forward(&self.common, command(self.id))
    }
}

impl AddClient {
    fn run(self) -> Result<(), CliError> {
        let registration = self.registration()?;
        let Self { program, json, language, common, .. } = self;
        let requested = language.requested(&std::env::vars_os().collect::<Vec<_>>());
        let command = OidcAdminCommand::AddClient(NewClient { registration, program, json });
        common.run_or_forward_in(requested, &AdminCommand::Oidc(command), INSPECT_COMMAND)
    }

    /// What the recipe of the program says. The addresses of a program that is known belong together.
    fn of_recipe(&self, program: &str) -> Result<ClientRegistration, CliError> {
        let client = Recipe::find(program).registration(self.url.as_deref())?;
        if program == GENERIC {
            return match (&self.name, self.redirect_uris.is_empty()) {
                (None, _) => Err(GENERIC_NEEDS_NAME.into()),
                (Some(_), true) => Err(GENERIC_NEEDS_URI.into()),
                (Some(_), false) => Ok(client),
            };
        }
        if !self.redirect_uris.is_empty() {
            let text = format!(
                "--redirect-uri and --for {program} exclude each other: the addresses follow from --url; with --for generic you \
                 name them yourself"
            );
            return Err(text.into());
        }
        if client.redirect_uris.is_empty() { Err(NEEDS_URL.into()) } else { Ok(client) }
    }

    /// What the recipe of the program says, replaced by what is given.
    fn registration(&self) -> Result<ClientRegistration, CliError> {
        let mut client = match &self.program {
            Some(program) => self.of_recipe(program)?,
            None => ClientRegistration::default(),
        };
        client.kind = match (self.public, self.native) {
            (true, _) => ClientKind::Public,
            (_, true) => ClientKind::Native,
            _ => client.kind,
        };
        if let Some(name) = &self.name {
            client.name.clone_from(name);
        }
        for (field, given) in [
            (&mut client.redirect_uris, &self.redirect_uris),
            (&mut client.post_logout_redirect_uris, &self.post_logout_uris),
            (&mut client.origins, &self.origins),
            (&mut client.corporations, &self.corporations),
        ] {
            if !given.is_empty() {
                field.clone_from(given);
            }
        }
        client.backchannel_logout_uri = self.backchannel_uri.clone().or(client.backchannel_logout_uri);
        client.roles = self.roles.iter().filter_map(|name| Role::from_name(name)).collect::<Roles>();
        // The names were checked when the command line was parsed.
        let chosen = |name: &Option<String>| name.clone().unwrap_or_default();
        client.algorithm = SigningAlgorithm::from_name(&chosen(&self.algorithm)).unwrap_or(client.algorithm);
        client.sso = SsoMode::from_name(&chosen(&self.sso)).unwrap_or(client.sso);
        client.pkce = PkceRequirement::from_name(&chosen(&self.pkce)).unwrap_or(client.pkce);
        match client.corporations.iter().find_map(|corp| CorpId::parse(corp).err()) {
            Some(invalid) => Err(format!("--corporation {invalid}").into()),
            None => Ok(client),
        }
    }
}
