//! Many sockets: what they take, how soon they are told, and how soon they end with their sessions.

use std::process::Command;
use std::sync::Arc;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;

use super::{Run, version};
use crate::connection::{Answer, Connection};
use crate::failed::Failed;
use crate::load::Load;
use crate::plan::{SOCKET_SECONDS, SOCKETS_BYTES, SOCKETS_END_SECONDS, SOCKETS_SECONDS};
use crate::progress::grouped;
use crate::report::duration;
use crate::requests::{Requests, Words, message};
use crate::seed::{Layout, TOKEN_WIDTH, employee, seed};
use crate::server::{Server, cpu};
use crate::servers::{Desk, Servers};
use crate::socket::{ADDRESSES, Crowd, LANES, What};
use crate::stats::{float, nanoseconds, now, share};

/// Room for everybody, who all come from a few addresses.
const ROOM: [(&str, &str); 3] = [
    ("DESKPASS_SERVER__MAX_CONNECTIONS", "30000"),
    ("DESKPASS_SERVER__MAX_CONNECTIONS_PER_ADDRESS", "30000"),
    ("DESKPASS_SOCKETS__MAX_PER_ADDRESS", "30000"),
];

/// Files that this process needs besides its sockets.
const RESERVE: usize = 256;
/// Of so many sessions one is ended.
const ENDED: usize = 10;
/// The code that a socket is closed with when its session is over.
const SIGNED_OUT: u16 = 4401;

/// Sockets at one server, of the first so many employees, and another server (or the same) that is told what to tell them.
struct Stage<'a> {
    /// What the figures are of.
    name: String,
    tokens: Words,
    key: String,
    told: &'a Server,
    /// Whether what was promised of one node is promised of this.
    promised: bool,
}

impl Run<'_> {
    pub(super) async fn sockets(&mut self) -> Result<(), Failed> {
        self.sockets_of_one_node().await?;
        self.sockets_of_two_nodes().await
    }

    async fn sockets_of_one_node(&mut self) -> Result<(), Failed> {
        let (wanted, room) = (self.plan.sockets, room());
        let count = wanted.min(room);
        let store = seed(&self.yard, "sockets", Layout { employees: count, sessions: count }, &self.progress)?;
        let mut command = self.yard.command(&self.yard.deskpass);
        command.env("DESKPASS_DATA", &store.directory);
        let key = service_key(command)?;
        let server = Server::deskpass_with(&self.yard, &store.directory, &ROOM)?;
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
        let stage = Stage { name, tokens: store.tokens, key, told: &server, promised: true };

        let (before, cpu_before) = (server.resident()?, server.cpu()?);
        let mut crowd = self.open(&stage, &server).await?;
        let spent = server.cpu()?.saturating_sub(cpu_before);
        let opened = server.resident()?;
        self.tell_one(&stage, &mut crowd).await?;
        self.tell_all(&stage, &mut crowd, &server).await?;
        let most = server.resident()?.max(opened);
        self.report_memory(&stage.name, before, opened, most);
        let each = duration(spent.as_secs_f64() / float(count));
        self.report.figure("opening a socket", "of the service's processor time", &each, None);
        self.end_some(&stage, crowd).await?;
        server.stop()
    }

    /// Sockets at one node, while the other is asked.
    async fn sockets_of_two_nodes(&mut self) -> Result<(), Failed> {
        let count = self.plan.shared_sockets.min(room());
        self.progress.step("start PostgreSQL and Redis");
        let servers = Servers::start(&self.yard, "servers", &["postgres", "redis"])?;
        let (desk, tokens) =
            self.desk(&servers, "shared_sockets", Layout { employees: count, sessions: count }).await?;
        let mut command = self.yard.command(&self.yard.deskpass);
        let Desk { name, store, shared } = &desk;
        command
            .env("DESKPASS_STORE__URL", store)
            .env("DESKPASS_SHARED__URL", shared)
            .env("DESKPASS_SHARED__PREFIX", name);
        let key = service_key(command)?;
        let (here, there) = (Server::node(&self.yard, &desk, &ROOM)?, Server::node(&self.yard, &desk, &ROOM)?);
        let name = format!("{} sockets at another node", grouped(count));
        let stage = Stage { name, tokens, key, told: &here, promised: false };
        let mut crowd = self.open(&stage, &there).await?;
        self.tell_one(&stage, &mut crowd).await?;
        self.tell_all(&stage, &mut crowd, &there).await?;
        self.end_some(&stage, crowd).await?;
        here.stop()?;
        there.stop()
    }

    async fn open(&mut self, stage: &Stage<'_>, server: &Server) -> Result<Crowd, Failed> {
        self.progress.step(format_args!("open {}", stage.name));
        let began = now();
        let crowd = Crowd::open(server.address, &stage.tokens, &self.progress).await?;
        let took = format!("{:.2} s", began.elapsed().as_secs_f64());
        let seen = format!("{LANES} at a time, from {ADDRESSES} addresses");
        self.report.figure(&format!("open {}, until all are told that they are", stage.name), &seen, &took, None);
        Ok(crowd)
    }

    fn report_memory(&mut self, name: &str, before: usize, opened: usize, most: usize) {
        let target = Some((&*format!("{} MiB", SOCKETS_BYTES >> 20), most <= SOCKETS_BYTES));
        let seen = format!("{} MiB before, {} MiB once open; at most, with the messages", before >> 20, opened >> 20);
        self.report.figure(
            &format!("memory of the service with {name}"),
            &seen,
            &format!("{} MiB", most >> 20),
            target,
        );
    }

    /// Times messages to one person, each to somebody else.
    async fn tell_one(&mut self, stage: &Stage<'_>, crowd: &mut Crowd) -> Result<(), Failed> {
        let (turns, count) = (self.plan.messages, stage.tokens.len());
        self.progress.step(format_args!("tell one of {}, {} times", stage.name, grouped(turns)));
        let (mut service, mut times) = (Connection::open(stage.told.address).await?, Vec::with_capacity(turns));
        for turn in 0..turns {
            let socket = turn * 7_919 % count;
            let request = stage.message(&json!({ "employee_id": employee(socket) }));
            let sent = now();
            let (answer, heard) = tokio::join!(service.exchange(&request), crowd.all(What::Message, 1));
            let (sockets, at) = heard?;
            delivered(answer?, 1)?;
            if sockets != [socket] {
                return Err("somebody else was told".into());
            }
            times.push(nanoseconds(at.saturating_duration_since(sent)));
        }
        times.sort_unstable();
        let [median, p99] = [50, 99].map(|percent| share(&times, percent));
        let target = format!("{:.0} ms", SOCKET_SECONDS * 1e3);
        let target = stage.promised.then_some((&*target, median <= SOCKET_SECONDS));
        let figure = format!("{}, p99 {}", duration(median), duration(p99));
        let name = format!("a message to one of {}, until it is there", stage.name);
        self.report.figure(&name, &format!("median of {}", grouped(turns)), &figure, target);
        Ok(())
    }

    /// Times messages to everybody.
    async fn tell_all(&mut self, stage: &Stage<'_>, crowd: &mut Crowd, server: &Server) -> Result<(), Failed> {
        let (rounds, count) = (self.plan.casts, stage.tokens.len());
        self.progress.step(format_args!("tell all of {}, {rounds} times", stage.name));
        let (mut most, began, own, spent) = (0.0_f64, now(), cpu("self")?, server.cpu()?);
        for _ in 0..rounds {
            most = most.max(stage.cast(crowd, count).await?);
        }
        let own = cpu("self")?.saturating_sub(own).as_secs_f64() / began.elapsed().as_secs_f64() * 100.0;
        let each = server.cpu()?.saturating_sub(spent).as_secs_f64() / float(count * rounds);
        let target = format!("{SOCKETS_SECONDS} s");
        let target = stage.promised.then_some((&*target, most <= SOCKETS_SECONDS));
        let seen = format!("the slowest of {rounds}; {} of CPU each; generator {own:.0} %", duration(each));
        let name = format!("a message to all of {}, until the last has it", stage.name);
        self.report.figure(&name, &seen, &duration(most), target);
        Ok(())
    }

    /// Times the end of some, and sees that it is the end of nobody else.
    async fn end_some(&mut self, stage: &Stage<'_>, mut crowd: Crowd) -> Result<(), Failed> {
        let count = stage.tokens.len();
        let mut tokens = Words::new(TOKEN_WIDTH, count / ENDED);
        (0..count).step_by(ENDED).filter_map(|number| stage.tokens.text(number)).for_each(|token| tokens.push(token));
        let ended = tokens.len();
        self.progress.step(format_args!("sign {} of {} out", grouped(ended), stage.name));
        let (began, load) = (now(), Load::new(Arc::new(Requests::logout(tokens))));
        load.all(stage.told, "logout", &self.progress).await?;
        let answered = now();
        let (sockets, last) = crowd.all(What::Closed(SIGNED_OUT), ended).await?;
        if sockets.iter().any(|socket| socket % ENDED != 0) {
            return Err("a socket was closed whose session stands".into());
        }
        // Whoever is left hears this, and nobody hears anything else.
        stage.cast(&mut crowd, count - ended).await?;
        let after = last.saturating_duration_since(answered).as_secs_f64();
        let took = duration((answered - began).as_secs_f64());
        let target = Some((&*format!("{SOCKETS_END_SECONDS} s"), after <= SOCKETS_END_SECONDS));
        let seen = format!("{took} for the logouts; the other {} stayed open", grouped(count - ended));
        let name = format!("{} of {} end with their sessions, after the last logout", grouped(ended), stage.name);
        self.report.figure(&name, &seen, &duration(after), target);
        Ok(())
    }
}

impl Stage<'_> {
    /// The request that has this told.
    fn message(&self, to: &serde_json::Value) -> Vec<u8> {
        let content =
            json!({ "title": "Your laptop is ready", "text": "It waits for you at the desk on the second floor." });
        message(&self.key, &json!({ "to": to, "msg_type": "byod_card", "content": content }).to_string())
    }

    /// Tells everybody, who must be so many; returns how many seconds it took until the last one had it.
    async fn cast(&self, crowd: &mut Crowd, count: usize) -> Result<f64, Failed> {
        let request = self.message(&json!({ "role": "user" }));
        let mut service = Connection::open(self.told.address).await?;
        let sent = now();
        let (answer, heard) = tokio::join!(service.exchange(&request), crowd.all(What::Message, count));
        let (mut sockets, last) = heard?;
        delivered(answer?, count)?;
        sockets.sort_unstable();
        sockets.dedup();
        if sockets.len() != count {
            return Err("somebody was told twice".into());
        }
        Ok(last.saturating_duration_since(sent).as_secs_f64())
    }
}

/// Makes sure that the service says that so many were told.
fn delivered(answer: Answer<'_>, count: usize) -> Result<(), Failed> {
    if answer.is_ok() && answer.has(format!("\"delivered\":{count},").as_bytes()) {
        return Ok(());
    }
    Err(format!("not {count} were told:\n{}", answer.text()).into())
}

/// A key that may send messages, made by a command that knows where.
fn service_key(mut command: Command) -> Result<String, Failed> {
    command.args(["service-key", "create", "bench", "--scope", "messages", "--dev"]);
    let made = command.output()?;
    let told = String::from_utf8_lossy(&made.stdout);
    let key = told.lines().find_map(|line| line.trim().strip_prefix("service key: "));
    Ok(key.ok_or_else(|| format!("no service key: {}", String::from_utf8_lossy(&made.stderr)))?.to_owned())
}

/// How many sockets this process may hold, once it has taken all the files that the system allows. The service does the same.
fn room() -> usize {
    let limit = getrlimit(Resource::Nofile);
    // Without permission the limit stays as it is.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    let allowed = getrlimit(Resource::Nofile).current.and_then(|allowed| usize::try_from(allowed).ok());
    allowed.map_or(usize::MAX, |allowed| allowed.saturating_sub(RESERVE))
}
