//! OpenID Connect: the users of access tokens, and tokens for codes.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::{BARE, DRAWS, Run, SIZE_TOLERANCE_BYTES, same_size, template, version};
use crate::bare_handler::ResponseTemplates;
use crate::comparison::Comparison;
use crate::connection::Connection;
use crate::error::BenchError;
use crate::load::Load;
use crate::oidc_client::OidcClient;
use crate::oidc_receiver::LogoutReceiver;
use crate::plan::{Plan, USERINFO_RATIO};
use crate::progress::grouped;
use crate::requests::{Requests, WordList};
use crate::seed::{Layout, seed};
use crate::server::Server;
use crate::signing_baseline::SigningBaseline;

/// The number of codes that are requested at the same time.
const CODE_WORKERS: usize = 16;

impl Run<'_> {
    pub(super) async fn oidc(&mut self) -> Result<(), BenchError> {
        let (tokens, notices) = (self.plan.access_tokens, self.plan.notices);
        // Two sets of sessions are ended; the first ones stay.
        let count = tokens + 2 * notices;
        let store = seed(&self.workspace, "oidc", Layout { employees: count, sessions: count }, &self.progress)?;
        let (mut told, deaf) = (LogoutReceiver::start(true).await?, LogoutReceiver::start(false).await?);
        let add = |name: &str, backchannel: Option<&str>| {
            let mut command = self.workspace.command(&self.workspace.deskpass);
            command.env("DESKPASS_DATA", &store.directory);
            OidcClient::add(command, name, backchannel)
        };
        let (client, told_client) = (add("Program", None)?, add("Told", Some(told.url().as_str()))?);
        let deaf_client = add("Deaf", Some(deaf.url().as_str()))?;
        let server = Server::deskpass(&self.workspace, &store.directory)?;
        self.report.version = version(&server).await?;
        self.userinfo(&server, &client, &store.tokens).await?;
        self.codes_for_tokens(&server, &client, &store.tokens).await?;
        let name = "a logout until a program is told";
        self.notices(name, &server, &[&told_client], &store.tokens, tokens, &mut told).await?;
        let name = "a logout until a program is told, while another never answers";
        let both = [&told_client, &deaf_client];
        self.notices(name, &server, &both, &store.tokens, tokens + notices, &mut told).await?;
        server.stop()
    }

    /// Compares the userinfo endpoint with a bare handler.
    async fn userinfo(&mut self, server: &Server, client: &OidcClient, sessions: &WordList) -> Result<(), BenchError> {
        let count = self.plan.access_tokens;
        self.progress.step(format_args!("sign in at a program, {} times", grouped(count)));
        let mut service = Connection::open(server.address).await?;
        let mut tokens: Option<WordList> = None;
        for at in 0..count {
            let token = client.access_token(&mut service, session(sessions, at)?).await?;
            tokens.get_or_insert_with(|| WordList::new(token.len(), count)).push(&token);
        }
        self.progress.at("sign-in", count, count);
        let tokens = tokens.ok_or("no access tokens")?;
        let requests = Arc::new(Requests::userinfo(tokens.drawn(DRAWS)));
        let told = template(server, &requests).await?.0;
        let bare =
            Server::bare(&self.workspace, &ResponseTemplates { userinfo: told, ..ResponseTemplates::default() })?;
        same_size(server, &bare, &requests, SIZE_TOLERANCE_BYTES).await?;
        let name = format!("userinfo, {} access tokens", grouped(count));
        let comparison = Comparison::new(name, BARE, Some(USERINFO_RATIO));
        let comparison = self.against(comparison, server, &bare, requests).await?;
        self.report.add_comparison(comparison);
        bare.stop()
    }

    /// Compares tokens for codes with the signature that each of them needs.
    async fn codes_for_tokens(
        &mut self,
        server: &Server,
        client: &OidcClient,
        sessions: &WordList,
    ) -> Result<(), BenchError> {
        let (plan, signing) = (self.plan, SigningBaseline::make()?);
        let comparison = Comparison::new("code → tokens".into(), "RS256 signing alone", None);
        let ours = async |_| {
            // A code can be redeemed once, so that each round needs new ones. Requesting them is not measured.
            let codes = codes(server, client, sessions, plan).await?;
            Load::new(Arc::new(client.redeem(codes))).once(server).await
        };
        let theirs = async |length| signing.round(length);
        let comparison = comparison.run(plan.long, &self.progress, ours, theirs).await?;
        let ours = comparison.ours.clone();
        self.report.add_comparison(comparison);
        self.report.per_core("code → tokens of one core", &ours);
        Ok(())
    }
}

/// As many codes as a round redeems.
async fn codes(server: &Server, client: &OidcClient, sessions: &WordList, plan: &Plan) -> Result<WordList, BenchError> {
    let mut workers = JoinSet::new();
    for worker in 0..CODE_WORKERS {
        let (client, address) = (client.clone(), server.address);
        // The first sessions are those that stay.
        let mine = (0..plan.codes).skip(worker).step_by(CODE_WORKERS).map(|at| at % plan.access_tokens.max(1));
        let mine = mine.map(|at| session(sessions, at).map(str::to_owned)).collect::<Result<Vec<_>, _>>()?;
        workers.spawn(async move {
            let (mut service, mut codes) = (Connection::open(address).await?, Vec::with_capacity(mine.len()));
            for token in mine {
                codes.push(client.code(&mut service, &token).await?);
            }
            Ok::<_, BenchError>(codes)
        });
    }
    let mut all: Option<WordList> = None;
    while let Some(worker) = workers.join_next().await {
        for code in worker?? {
            all.get_or_insert_with(|| WordList::new(code.len(), plan.codes)).push(&code);
        }
    }
    Ok(all.ok_or("no codes")?)
}

/// The token of a session.
pub(super) fn session(sessions: &WordList, at: usize) -> Result<&str, BenchError> {
    Ok(sessions.text(at).ok_or("there are not so many sessions")?)
}
