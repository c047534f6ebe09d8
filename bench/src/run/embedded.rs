//! A single node with embedded stores: checks of sessions, sign-ins, the memory of a session, and QR codes.

use std::sync::Arc;

use super::{BARE, DRAWS, Run, SMALL_CACHE, cached_sessions, template, verify_template, version};
use crate::bare_handler::ResponseTemplates;
use crate::comparison::Comparison;
use crate::connection::Connection;
use crate::error::BenchError;
use crate::load::Load;
use crate::oidc_client::OidcClient;
use crate::plan::{
    CHECK_RATIO, LARGE_CHECK_RATIO, MISS_RATIO, QR_CODE_SECONDS, Rounds, SESSION_BYTES, SESSIONS_EACH,
    SIGN_IN_EMPLOYEES, SIGN_IN_RATIO,
};
use crate::progress::grouped;
use crate::report::{duration, whole};
use crate::requests::{Requests, WordList};
use crate::seed::{self, Layout, SeededStore};
use crate::server::Server;
use crate::sqlite_baseline::SqliteBaseline;
use crate::stats::{float, median};

/// A store whose sessions are checked.
struct CheckedStore {
    store: SeededStore,
    tokens: WordList,
    /// A program whose users they are.
    program: OidcClient,
    /// The target of its checks.
    ratio: f64,
}

impl Run<'_> {
    pub(super) async fn embedded(&mut self) -> Result<(), BenchError> {
        let small = self.checked_store("small", self.plan.small, CHECK_RATIO)?;
        let large = self.checked_store("large", self.plan.large, LARGE_CHECK_RATIO)?;
        self.memory(&large.store, "10 of each employee").await?;
        let sign_ins = Layout { employees: SIGN_IN_EMPLOYEES, sessions: 0 };
        let (ours, theirs) = (self.seed("sign-ins", sign_ins)?, self.seed("sign-ins-alone", sign_ins)?);
        for _ in 0..self.plan.runs {
            self.checks(&small).await?;
            self.misses(&small).await?;
            self.checks(&large).await?;
            self.sign_ins(&ours, &theirs).await?;
        }
        let each = self.seed("worst", Layout { employees: self.plan.large, sessions: self.plan.large })?;
        self.memory(&each, "1 of each employee (worst case)").await?;
        self.qr_codes().await?;
        self.flood().await
    }

    fn checked_store(&self, name: &str, sessions: usize, ratio: f64) -> Result<CheckedStore, BenchError> {
        let store = self.seed(name, Layout { employees: sessions / SESSIONS_EACH, sessions })?;
        let program = OidcClient::add(store.command(&self.workspace))?;
        Ok(CheckedStore { tokens: store.all_tokens(), store, program, ratio })
    }

    /// Compares the three most frequent requests with a bare handler, when all sessions are in memory.
    async fn checks(&mut self, of: &CheckedStore) -> Result<(), BenchError> {
        let server = Server::deskpass(&self.workspace, &of.store.directory)?;
        self.report.version = version(&server).await?;
        self.fill(&server, &of.tokens).await?;
        let drawn = of.tokens.drawn(DRAWS);
        let access_tokens = self.access_tokens(&server, of).await?;
        let verify = Arc::new(Requests::verify(drawn.clone()));
        let me = Arc::new(Requests::me(drawn));
        let userinfo = Arc::new(Requests::userinfo(access_tokens.drawn(DRAWS)));
        let answers = ResponseTemplates {
            verify: template(&server, &verify).await?.0,
            me: template(&server, &me).await?.0,
            userinfo: template(&server, &userinfo).await?.0,
        };
        let bare = Server::bare(&self.workspace, &answers)?;
        for (what, requests) in [("verify", verify), ("me", me), ("userinfo", userinfo)] {
            let name = format!("{what}, {} live sessions", grouped(of.tokens.len()));
            self.against(Comparison::new(name, BARE, Some(of.ratio)), &server, &bare, requests).await?;
        }
        bare.stop()?;
        server.stop()
    }

    /// The access tokens of a program, each of another session and another person.
    async fn access_tokens(&self, server: &Server, of: &CheckedStore) -> Result<WordList, BenchError> {
        let count = self.plan.access_tokens;
        self.progress.step(format_args!("sign in at a program, {} times", grouped(count)));
        let (mut service, mut tokens) = (Connection::open(server.address).await?, None::<WordList>);
        for at in 0..count {
            let session = of.tokens.text(at).ok_or("there are not so many sessions")?;
            let token = of.program.access_token(&mut service, session).await?;
            tokens.get_or_insert_with(|| WordList::new(token.len(), count)).push(&token);
        }
        Ok(tokens.ok_or("no access tokens")?)
    }

    /// Compares sessions that are not in memory with a handler that has the same look-up.
    async fn misses(&mut self, of: &CheckedStore) -> Result<(), BenchError> {
        let directory = &of.store.directory;
        let server = Server::deskpass_with(&self.workspace, directory, &[SMALL_CACHE])?;
        let requests = Arc::new(Requests::verify(of.tokens.clone()));
        let bare = Server::bare_look_up(&self.workspace, directory, &verify_template(&server, &requests).await?)?;
        let name = format!("verify, {} live sessions, every one a miss", grouped(of.tokens.len()));
        let comparison = Comparison::new(name, "bare axum handler with the same look-up", Some(MISS_RATIO));
        self.against(comparison, &server, &bare, requests).await?;
        bare.stop()?;
        server.stop()
    }

    async fn sign_ins(&mut self, ours: &SeededStore, theirs: &SeededStore) -> Result<(), BenchError> {
        let server = Server::deskpass(&self.workspace, &ours.directory)?;
        let load = Load::new(Arc::new(Requests::bind(seed::employees(SIGN_IN_EMPLOYEES).drawn(DRAWS))));
        let mut alone = SqliteBaseline::open(&theirs.directory)?;
        let comparison = Comparison::new("sign-ins (bind)".into(), "SQLite alone", Some(SIGN_IN_RATIO));
        let ours = async |length| load.round(&server, length).await;
        self.compare(comparison, self.plan.long, ours, async |length| alone.round(length)).await?;
        server.stop()
    }

    /// Measures the memory of the cache when it has every session.
    async fn memory(&mut self, store: &SeededStore, layout: &str) -> Result<(), BenchError> {
        let server = Server::deskpass(&self.workspace, &store.directory)?;
        let before = server.resident()?;
        self.fill(&server, &store.all_tokens()).await?;
        let cached = cached_sessions(&server).await?;
        let grown = server.resident()?.saturating_sub(before);
        let each = float(grown) / float(cached.max(1));
        let how = format!("{} MiB for {} cached", grown >> 20, grouped(cached));
        let target = Some((&*format!("{SESSION_BYTES} B"), each <= SESSION_BYTES));
        let name = format!("memory of a cached session, {layout}");
        self.report.figure(&name, &how, &format!("{each:.0} B"), target);
        server.stop()
    }

    async fn qr_codes(&mut self) -> Result<(), BenchError> {
        self.progress.step("QR codes");
        let server = Server::deskpass(&self.workspace, &self.workspace.path().join("qr"))?;
        let (load, mut costs) = (Load::new(Arc::new(Requests::qrcode())), Vec::new());
        let Rounds { count, length } = self.plan.short;
        for round in 0..=count {
            let cost = load.round(&server, length).await?.cpu;
            // The first round is a warm-up.
            if round > 0 {
                costs.push(cost);
            }
        }
        let each = median(costs.into_iter());
        let how = format!("{}/s of one core", grouped(whole(each.recip())));
        let target = Some((&*duration(QR_CODE_SECONDS), each <= QR_CODE_SECONDS));
        self.report.figure("CPU of a QR code with its picture", &how, &duration(each), target);
        server.stop()
    }
}
