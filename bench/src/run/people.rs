//! People who come and go: the time until a leaver is refused on another node, and the time of a synchronisation.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use deskpass_platform::envelope::Envelope;
use fastrand::Rng;
use rusqlite::params;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::logout::{MAX_DELAY_MILLIS, WORKERS, is_valid, refused_after};
use super::{Run, version};
use crate::backends::Backends;
use crate::connection::Connection;
use crate::error::BenchError;
use crate::plan::{LEAVER_SECONDS, SYNC_SECONDS};
use crate::progress::grouped;
use crate::report::duration;
use crate::requests::{Requests, WordList, post_xml, put_json};
use crate::seed::{self, CORP, Layout, seed};
use crate::server::Server;
use crate::stats::{nanoseconds, now, share};

/// What authenticates the events of the platform.
const TOKEN: &str = "eventtoken";
const AES_KEY: &str = "4Ma3YBrSBbX2aez8MJpXGBne5LSDwgGqHbhM9WPYIws";
const KEYS: [(&str, &str); 2] =
    [("DESKPASS_PLATFORM__EVENTS__TOKEN", TOKEN), ("DESKPASS_PLATFORM__EVENTS__AES_KEY", AES_KEY)];

/// The result of `deskpass sync`.
#[derive(Deserialize)]
pub(super) struct Synchronised {
    members: usize,
    pub(super) updated: Vec<IgnoredAny>,
    pub(super) halted: bool,
}

impl Run<'_> {
    pub(super) async fn people(&mut self) -> Result<(), BenchError> {
        self.synchronisations().await?;
        self.progress.step("start PostgreSQL and Redis");
        let mut servers = Backends::start(&self.workspace, "servers", &["postgres", "redis"])?;
        let count = self.plan.leavers;
        let layout = Layout { employees: 2 * count, sessions: 2 * count };
        let (backend, tokens) = self.shared_backend(&servers, "leavers", layout).await?;
        let one = Server::node(&self.workspace, &backend, &KEYS)?;
        let other = Server::node(&self.workspace, &backend, &KEYS)?;
        for node in [&one, &other] {
            self.fill(node, &tokens).await?;
        }
        self.leavers("Redis up", [&one, &other], &tokens, 0).await?;
        servers.kill("redis")?;
        self.leavers("Redis down", [&one, &other], &tokens, count).await?;
        one.stop()?;
        other.stop()
    }

    /// Times synchronisations with a large directory: one in which every record changes, and one in which none does.
    async fn synchronisations(&mut self) -> Result<(), BenchError> {
        let count = self.plan.members;
        let store = seed(&self.workspace, "members", Layout { employees: 0, sessions: 0 }, &self.progress)?;
        store_members(&store.directory, count)?;
        let server = Server::deskpass(&self.workspace, &store.directory)?;
        self.report.version = version(&server).await?;
        generate_members(&server, count).await?;
        for (what, updated) in [("all changed", count), ("none changed", 0)] {
            let name = format!("synchronisation of {} people, {what}", grouped(count));
            self.progress.step(&name);
            let start = now();
            let result = self.synchronise(&store.directory)?;
            let seconds = start.elapsed().as_secs_f64();
            if result.halted || result.members < count || result.updated.len() < updated {
                return Err(format!("{name}: {} members, {} updated", result.members, result.updated.len()).into());
            }
            let target = Some((&*format!("{SYNC_SECONDS} s"), seconds <= SYNC_SECONDS));
            self.report.figure(&name, "one run", &format!("{seconds:.1} s"), target);
        }
        server.stop()
    }

    /// Runs `deskpass sync` on the running service.
    pub(super) fn synchronise(&self, directory: &Path) -> Result<Synchronised, BenchError> {
        let mut command = self.workspace.command(&self.workspace.deskpass);
        let made = command.env("DESKPASS_DATA", directory).args(["sync", "--dev", "--json"]).output()?;
        let told = || String::from_utf8_lossy(&made.stderr).into_owned();
        Ok(serde_json::from_slice(&made.stdout).map_err(|error| format!("no result ({error}): {}", told()))?)
    }

    /// Sends events about people who left to the first node, and times each until the second node refuses the person's token, with
    /// the plan's number of people from `start`.
    async fn leavers(
        &mut self,
        when: &str,
        nodes: [&Server; 2],
        tokens: &WordList,
        start: usize,
    ) -> Result<(), BenchError> {
        let count = self.plan.leavers;
        self.progress.step(format_args!("leave until another node knows, {when}, {} times", grouped(count)));
        let (addresses, verify) = (nodes.map(|node| node.address), Arc::new(Requests::verify(tokens.clone())));
        let envelope = Envelope::new(TOKEN.to_owned(), AES_KEY)?;
        let lanes = (0..WORKERS).map(|lane| {
            let mine = (start..start + count).skip(lane).step_by(WORKERS);
            let rng = Rng::with_seed(u64::try_from(start + lane + 1).unwrap_or(1));
            LeaverWorker { addresses, verify: Arc::clone(&verify), envelope: envelope.clone(), rng }.run(mine)
        });
        let (mut busy, mut times): (JoinSet<_>, _) = (lanes.collect(), Vec::with_capacity(count));
        while let Some(lane) = busy.join_next().await {
            times.extend(lane??);
        }
        self.progress.at("leaver", times.len(), count);
        times.sort_unstable();
        let [median, p99, most] = [50, 99, 100].map(|percent| share(&times, percent));
        let figure = format!("{}, p99 {}, at most {}", duration(median), duration(p99), duration(most));
        let target = Some((&*format!("{LEAVER_SECONDS} s"), most <= LEAVER_SECONDS));
        let name = format!("an event about a leaver until another node refuses, {when}");
        self.report.figure(&name, &format!("median of {}", grouped(count)), &figure, target);
        Ok(())
    }
}

/// Has the simulated platform generate this many members.
pub(super) async fn generate_members(server: &Server, count: usize) -> Result<(), BenchError> {
    let members = json!({ "members": count }).to_string();
    let mut connection = Connection::open(server.address).await?;
    let answer = connection.exchange(&put_json("/sim/people", &members)).await?;
    if answer.is_ok() {
        return Ok(());
    }
    Err(format!("the simulated platform has no such members:\n{}", answer.text()).into())
}

/// The identifier of a generated member; the first one has the number 1.
pub(super) fn member(number: usize) -> String {
    format!("member{number:05}")
}

/// Stores employees who are members of the simulated platform, under another name than there.
pub(super) fn store_members(directory: &Path, count: usize) -> Result<(), BenchError> {
    let (connection, at) = (seed::open(directory)?, seed::now());
    connection.execute_batch("BEGIN")?;
    let mut person = connection.prepare(
        "INSERT INTO employee (corp_id, employee_key, employee_id, name, department, avatar, created_at)
         VALUES (?1, ?2, ?2, 'Former Name', '', '', ?3)",
    )?;
    for number in 1..=count {
        person.execute(params![CORP, member(number), at.millis()])?;
    }
    Ok(connection.execute_batch("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)")?)
}

/// A worker that has people leave in sequence.
struct LeaverWorker {
    addresses: [SocketAddr; 2],
    verify: Arc<Requests>,
    envelope: Envelope,
    rng: Rng,
}

impl LeaverWorker {
    async fn run(mut self, people: impl Iterator<Item = usize>) -> Result<Vec<u32>, BenchError> {
        let [here, there] = self.addresses;
        let (mut here, mut there) = (Connection::open(here).await?, Connection::open(there).await?);
        let mut times = Vec::new();
        for person in people {
            sleep(Duration::from_millis(self.rng.u64(..MAX_DELAY_MILLIS))).await;
            if !is_valid(&self.verify, person, &mut there).await? {
                return Err("a token was refused before its owner left".into());
            }
            let event = self.event(&seed::employee(person));
            let sent = now();
            let answer = here.exchange(&event).await?;
            if !answer.is_ok() {
                return Err(format!("an event was not accepted:\n{}", answer.text()).into());
            }
            times.push(nanoseconds(refused_after(&self.verify, person, &mut there, sent).await?));
        }
        Ok(times)
    }

    /// The event that WeCom sends when a member leaves.
    fn event(&mut self, employee: &str) -> Vec<u8> {
        let seconds = seed::now().millis() / 1_000;
        let text = format!(
            "<xml><ToUserName>{CORP}</ToUserName><FromUserName>{employee}</FromUserName><CreateTime>{seconds}</CreateTime>\
             <MsgType>event</MsgType><Event>unsubscribe</Event></xml>"
        );
        let (timestamp, nonce, random) = (seconds.to_string(), self.rng.u64(..).to_string(), self.rng.u128(..));
        let sealed = self.envelope.seal(&text, CORP, &random.to_be_bytes(), &timestamp, &nonce);
        let query = format!("msg_signature={}&timestamp={timestamp}&nonce={nonce}", sealed.signature);
        let body = format!("<xml><ToUserName>{CORP}</ToUserName><Encrypt>{}</Encrypt></xml>", sealed.encrypted);
        post_xml(&format!("/api/platform/events?{query}"), &body)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn no_two_events_are_the_same() {
        let envelope = Envelope::new(TOKEN.to_owned(), AES_KEY).unwrap();
        let addresses = ["127.0.0.1:1".parse().unwrap(); 2];
        let verify = Arc::new(Requests::verify(WordList::new(1, 0)));
        let mut worker = LeaverWorker { addresses, verify, envelope, rng: Rng::with_seed(1) };
        let (one, other) = (worker.event("bench0000001"), worker.event("bench0000001"));
        assert!(one.starts_with(b"POST /api/platform/events?msg_signature=") && one != other);
    }
}
