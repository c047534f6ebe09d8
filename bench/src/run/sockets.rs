//! Many sockets: their memory, the latency of messages, and the time until they close with their sessions.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use super::{Run, version};
use crate::backends::{Backends, SharedBackend};
use crate::connection::{Connection, HttpResponse};
use crate::error::BenchError;
use crate::file_limit::{self, max_sockets};
use crate::load::Load;
use crate::plan::{SHARED_SOCKET_SECONDS, SOCKET_SECONDS, SOCKETS_BYTES, SOCKETS_END_SECONDS, SOCKETS_SECONDS};
use crate::progress::grouped;
use crate::report::duration;
use crate::requests::{Requests, WordList, message};
use crate::seed::{Layout, TOKEN_WIDTH, employee, seed};
use crate::server::{Server, cpu};
use crate::socket::{ADDRESSES, MAX_OPENING, Received, SocketPool};
use crate::stats::{float, nanoseconds, now, share};

/// Limits that admit all clients, which come from a few addresses.
pub(super) const CONNECTION_LIMITS: [(&str, &str); 3] = [
    ("DESKPASS_SERVER__MAX_CONNECTIONS", "120000"),
    ("DESKPASS_SERVER__MAX_CONNECTIONS_PER_ADDRESS", "120000"),
    ("DESKPASS_SOCKETS__MAX_PER_ADDRESS", "120000"),
];

/// One of this many sessions is ended.
const ENDED_EVERY: usize = 10;
/// How often at most, and at which interval, two nodes that have just started are asked whether they know each other.
const MAX_INTRODUCTIONS: usize = 100;
const INTRODUCTION_INTERVAL: Duration = Duration::from_millis(100);
/// How many answers in a row must count the other node's socket. A node that does not know the other one counts it by chance, if
/// the other one is faster than itself; within this second both have sent their heartbeats, three each.
const COUNTED_IN_A_ROW: usize = 10;
/// The close code of a socket whose session has ended.
const SIGNED_OUT: u16 = 4401;

/// Sockets on one server, of the first employees, and another server (or the same) that receives the messages.
struct SocketScenario<'a> {
    /// The name of the figures.
    name: String,
    tokens: WordList,
    key: String,
    told: &'a Server,
    /// Whether the targets of a single node apply.
    promised: bool,
}

impl Run<'_> {
    pub(super) async fn sockets(&mut self) -> Result<(), BenchError> {
        file_limit::raise(self.plan.many_sockets);
        self.sockets_of_one_node().await?;
        self.many_sockets().await?;
        self.sockets_of_two_nodes().await
    }

    /// A service with this many people and sessions, their tokens, and a key to send messages with.
    fn service(&self, name: &str, count: usize) -> Result<(Server, WordList, String), BenchError> {
        let store = seed(&self.workspace, name, Layout { employees: count, sessions: count }, &self.progress)?;
        let mut command = self.workspace.command(&self.workspace.deskpass);
        command.env("DESKPASS_DATA", &store.directory);
        let key = service_key(command)?;
        let server = Server::deskpass_with(&self.workspace, &store.directory, &CONNECTION_LIMITS)?;
        Ok((server, store.tokens, key))
    }

    async fn sockets_of_one_node(&mut self) -> Result<(), BenchError> {
        let (wanted, room) = (self.plan.sockets, max_sockets());
        let count = wanted.min(room);
        let (server, tokens, key) = self.service("sockets", count)?;
        self.report.version = version(&server).await?;
        if count < wanted {
            let (wanted, only) = (grouped(wanted), format!("{} sockets", grouped(count)));
            self.report.figure(
                "open files that this machine allows (ulimit -Hn)",
                &format!("{wanted} wanted"),
                &only,
                None,
            );
        }
        let name = format!("{} sockets", grouped(count));
        let scenario = SocketScenario { name, tokens, key, told: &server, promised: true };

        let (before, cpu_before) = (server.resident()?, server.cpu()?);
        let mut pool = self.open(&scenario, &server).await?;
        let spent = server.cpu()?.saturating_sub(cpu_before);
        let opened = server.resident()?;
        self.message_one(&scenario, &mut pool).await?;
        self.message_all(&scenario, &mut pool, &server).await?;
        let most = server.resident()?.max(opened);
        let target = format!("{} MiB", SOCKETS_BYTES >> 20);
        self.report_memory(&scenario, [before, opened, most], Some((&*target, most <= SOCKETS_BYTES)));
        let each = duration(spent.as_secs_f64() / float(count));
        self.report.figure("opening a socket", "of the service's processor time", &each, None);
        self.end_some(&scenario, pool).await?;
        server.stop()
    }

    /// Many more sockets, where the limit of open files allows them: their memory, and a message to all.
    async fn many_sockets(&mut self) -> Result<(), BenchError> {
        let count = self.plan.many_sockets;
        let name = format!("{} sockets", grouped(count));
        if count > max_sockets() {
            let seen = format!("not measured: it takes {} open files (ulimit -Hn)", grouped(file_limit::needed(count)));
            self.report.figure(&format!("memory of the service with {name}"), &seen, "–", None);
            return Ok(());
        }
        let (server, tokens, key) = self.service("many_sockets", count)?;
        let scenario = SocketScenario { name, tokens, key, told: &server, promised: false };
        let before = server.resident()?;
        let mut pool = self.open(&scenario, &server).await?;
        let opened = server.resident()?;
        self.message_all(&scenario, &mut pool, &server).await?;
        let most = server.resident()?.max(opened);
        self.report_memory(&scenario, [before, opened, most], None);
        server.stop()
    }

    /// Sockets on one node, while the other node receives the messages.
    async fn sockets_of_two_nodes(&mut self) -> Result<(), BenchError> {
        let count = self.plan.shared_sockets.min(max_sockets());
        self.progress.step("start PostgreSQL and Redis");
        let servers = Backends::start(&self.workspace, "servers", &["postgres", "redis"])?;
        let (backend, tokens) =
            self.shared_backend(&servers, "shared_sockets", Layout { employees: count, sessions: count }).await?;
        let mut command = self.workspace.command(&self.workspace.deskpass);
        let SharedBackend { name, store, shared } = &backend;
        command
            .env("DESKPASS_STORE__URL", store)
            .env("DESKPASS_SHARED__URL", shared)
            .env("DESKPASS_SHARED__PREFIX", name);
        let key = service_key(command)?;
        let (here, there) = (
            Server::node(&self.workspace, &backend, &CONNECTION_LIMITS)?,
            Server::node(&self.workspace, &backend, &CONNECTION_LIMITS)?,
        );
        let name = format!("{} sockets at another node", grouped(count));
        let scenario = SocketScenario { name, tokens, key, told: &here, promised: false };
        let mut pool = self.open(&scenario, &there).await?;
        scenario.nodes_know_each_other(&mut pool).await?;
        self.message_one(&scenario, &mut pool).await?;
        self.message_all(&scenario, &mut pool, &there).await?;
        self.end_some(&scenario, pool).await?;
        here.stop()?;
        there.stop()
    }

    async fn open(&mut self, scenario: &SocketScenario<'_>, server: &Server) -> Result<SocketPool, BenchError> {
        self.progress.step(format_args!("open {}", scenario.name));
        let began = now();
        let pool = SocketPool::open(server.address, &scenario.tokens, &self.progress).await?;
        let took = format!("{:.2} s", began.elapsed().as_secs_f64());
        let seen = format!("{MAX_OPENING} at a time, from {ADDRESSES} addresses");
        self.report.figure(
            &format!("open {}, until all have received their first frame", scenario.name),
            &seen,
            &took,
            None,
        );
        Ok(pool)
    }

    /// Reports the memory before, once all are open, and at most; and what a socket adds.
    fn report_memory(
        &mut self,
        scenario: &SocketScenario<'_>,
        [before, opened, most]: [usize; 3],
        target: Option<(&str, bool)>,
    ) {
        let seen = format!("{} MiB before, {} MiB once open; at most, with the messages", before >> 20, opened >> 20);
        let each = float(most.saturating_sub(before)) / float(scenario.tokens.len()) / 1e3;
        let figure = format!("{} MiB, {each:.1} kB each", most >> 20);
        self.report.figure(&format!("memory of the service with {}", scenario.name), &seen, &figure, target);
    }

    /// Times messages to a single employee, each to a different one.
    async fn message_one(&mut self, scenario: &SocketScenario<'_>, pool: &mut SocketPool) -> Result<(), BenchError> {
        let (turns, count) = (self.plan.messages, scenario.tokens.len());
        self.progress.step(format_args!("tell one of {}, {} times", scenario.name, grouped(turns)));
        let (mut service, mut times) = (Connection::open(scenario.told.address).await?, Vec::with_capacity(turns));
        for turn in 0..turns {
            let socket = turn * 7_919 % count;
            let request = scenario.message(&json!({ "employee_id": employee(socket) }));
            let sent = now();
            let (answer, heard) = tokio::join!(service.exchange(&request), pool.all(Received::Message, 1));
            let (sockets, at) = heard?;
            delivered(answer?, 1)?;
            if sockets != [socket] {
                return Err("another socket received the message".into());
            }
            times.push(nanoseconds(at.saturating_duration_since(sent)));
        }
        times.sort_unstable();
        let [median, p99] = [50, 99].map(|percent| share(&times, percent));
        let most = if scenario.promised { SOCKET_SECONDS } else { SHARED_SOCKET_SECONDS };
        let target = format!("{:.0} ms", most * 1e3);
        let target = Some((&*target, median <= most));
        let figure = format!("{}, p99 {}", duration(median), duration(p99));
        let name = format!("a message to one of {}, until it is there", scenario.name);
        self.report.figure(&name, &format!("median of {}", grouped(turns)), &figure, target);
        Ok(())
    }

    /// Times messages to all employees.
    async fn message_all(
        &mut self,
        scenario: &SocketScenario<'_>,
        pool: &mut SocketPool,
        server: &Server,
    ) -> Result<(), BenchError> {
        let (rounds, count) = (self.plan.broadcasts, scenario.tokens.len());
        self.progress.step(format_args!("tell all of {}, {rounds} times", scenario.name));
        let (mut most, began, own, spent) = (0.0_f64, now(), cpu("self")?, server.cpu()?);
        for _ in 0..rounds {
            most = most.max(scenario.broadcast(pool, count).await?);
        }
        let own = cpu("self")?.saturating_sub(own).as_secs_f64() / began.elapsed().as_secs_f64() * 100.0;
        let each = server.cpu()?.saturating_sub(spent).as_secs_f64() / float(count * rounds);
        let target = format!("{SOCKETS_SECONDS} s");
        let target = scenario.promised.then_some((&*target, most <= SOCKETS_SECONDS));
        let seen = format!("the slowest of {rounds}; {} of CPU each; generator {own:.0} %", duration(each));
        let name = format!("a message to all of {}, until the last has it", scenario.name);
        self.report.figure(&name, &seen, &duration(most), target);
        Ok(())
    }

    /// Times the end of some sessions, and checks that only their sockets are closed.
    async fn end_some(&mut self, scenario: &SocketScenario<'_>, mut pool: SocketPool) -> Result<(), BenchError> {
        let count = scenario.tokens.len();
        let mut tokens = WordList::new(TOKEN_WIDTH, count / ENDED_EVERY);
        (0..count)
            .step_by(ENDED_EVERY)
            .filter_map(|number| scenario.tokens.text(number))
            .for_each(|token| tokens.push(token));
        let ended = tokens.len();
        self.progress.step(format_args!("sign {} of {} out", grouped(ended), scenario.name));
        let (began, load) = (now(), Load::new(Arc::new(Requests::logout(tokens))));
        load.all(scenario.told, "logout", &self.progress).await?;
        let answered = now();
        let (sockets, last) = pool.all(Received::Closed(SIGNED_OUT), ended).await?;
        if sockets.iter().any(|socket| socket % ENDED_EVERY != 0) {
            return Err("a socket with a valid session was closed".into());
        }
        // All remaining sockets receive this message, and no socket receives anything else.
        scenario.broadcast(&mut pool, count - ended).await?;
        let after = last.saturating_duration_since(answered).as_secs_f64();
        let took = duration((answered - began).as_secs_f64());
        let target = Some((&*format!("{SOCKETS_END_SECONDS} s"), after <= SOCKETS_END_SECONDS));
        let seen = format!("{took} for the logouts; the other {} stayed open", grouped(count - ended));
        let name = format!("{} of {} end with their sessions, after the last logout", grouped(ended), scenario.name);
        self.report.figure(&name, &seen, &duration(after), target);
        Ok(())
    }
}

impl SocketScenario<'_> {
    /// The request that sends a message.
    fn message(&self, to: &serde_json::Value) -> Vec<u8> {
        let content =
            json!({ "title": "Your laptop is ready", "text": "It waits for you at the desk on the second floor." });
        message(&self.key, &json!({ "to": to, "msg_type": "byod_card", "content": content }).to_string())
    }

    /// Sends messages until the node that accepts them counts the socket on the other node, each time.
    async fn nodes_know_each_other(&self, pool: &mut SocketPool) -> Result<(), BenchError> {
        let request = self.message(&json!({ "employee_id": employee(0) }));
        let (mut service, mut counted) = (Connection::open(self.told.address).await?, 0);
        for _ in 0..MAX_INTRODUCTIONS {
            let (answer, heard) = tokio::join!(service.exchange(&request), pool.all(Received::Message, 1));
            heard?;
            counted = if delivered(answer?, 1).is_ok() { counted + 1 } else { 0 };
            if counted == COUNTED_IN_A_ROW {
                return Ok(());
            }
            sleep(INTRODUCTION_INTERVAL).await;
        }
        Err("the nodes do not count each other's sockets".into())
    }

    /// Sends a message to all `count` sockets; returns the seconds until the last one received it.
    async fn broadcast(&self, pool: &mut SocketPool, count: usize) -> Result<f64, BenchError> {
        let request = self.message(&json!({ "role": "user" }));
        let mut service = Connection::open(self.told.address).await?;
        let sent = now();
        let (answer, heard) = tokio::join!(service.exchange(&request), pool.all(Received::Message, count));
        let (mut sockets, last) = heard?;
        delivered(answer?, count)?;
        sockets.sort_unstable();
        sockets.dedup();
        if sockets.len() != count {
            return Err("a socket received the message twice".into());
        }
        Ok(last.saturating_duration_since(sent).as_secs_f64())
    }
}

/// Checks that the service reports this number of recipients.
fn delivered(answer: HttpResponse<'_>, count: usize) -> Result<(), BenchError> {
    if answer.is_ok() && answer.has(format!("\"delivered\":{count},").as_bytes()) {
        return Ok(());
    }
    Err(format!("not {count} were told:\n{}", answer.text()).into())
}

/// A service key that may send messages, created by the given command.
fn service_key(mut command: Command) -> Result<String, BenchError> {
    command.args(["service-key", "create", "bench", "--scope", "messages", "--dev"]);
    let made = command.output()?;
    let told = String::from_utf8_lossy(&made.stdout);
    let key = told.lines().find_map(|line| line.trim().strip_prefix("service key: "));
    Ok(key.ok_or_else(|| format!("no service key: {}", String::from_utf8_lossy(&made.stderr)))?.to_owned())
}
