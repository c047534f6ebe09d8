//! Many sockets: their memory, and the processor time of opening one and of a message.

use std::process::Command;

use serde_json::json;

use super::{Run, version};
use crate::connection::Connection;
use crate::error::BenchError;
use crate::file_limit::{self, max_sockets};
use crate::plan::SOCKETS_BYTES;
use crate::progress::grouped;
use crate::report::duration;
use crate::requests::message;
use crate::seed::Layout;
use crate::server::Server;
use crate::socket::{Received, SocketPool};
use crate::stats::{float, now};

/// Limits that admit all clients, which come from a few addresses.
pub(super) const CONNECTION_LIMITS: [(&str, &str); 3] = [
    ("DESKPASS_SERVER__MAX_CONNECTIONS", "120000"),
    ("DESKPASS_SERVER__MAX_CONNECTIONS_PER_ADDRESS", "120000"),
    ("DESKPASS_SOCKETS__MAX_PER_ADDRESS", "120000"),
];

impl Run<'_> {
    pub(super) async fn sockets(&mut self) -> Result<(), BenchError> {
        file_limit::raise(self.plan.sockets);
        let (wanted, rounds) = (self.plan.sockets, self.plan.broadcasts);
        let count = wanted.min(max_sockets());
        if count < wanted {
            let (how, only) = (format!("{} wanted", grouped(wanted)), format!("{} sockets", grouped(count)));
            self.report.figure("open files that this machine allows (ulimit -Hn)", &how, &only, None);
        }
        let store = self.seed("sockets", Layout { employees: count, sessions: count })?;
        let key = service_key(store.command(&self.workspace))?;
        let server = Server::deskpass_with(&self.workspace, &store.directory, &CONNECTION_LIMITS)?;
        self.report.version = version(&server).await?;

        self.progress.step(format_args!("open {} sockets, and send {rounds} messages to all", grouped(count)));
        let (before, cpu_before) = (server.resident()?, server.cpu()?);
        let mut pool = SocketPool::open(server.address, &store.all_tokens(), &self.progress).await?;
        let (opened, cpu_opened) = (server.resident()?, server.cpu()?);
        let mut slowest = 0.0_f64;
        for _ in 0..rounds {
            slowest = slowest.max(broadcast(&server, &key, &mut pool, count).await?);
        }
        let (most, cpu_told) = (server.resident()?.max(opened), server.cpu()?);

        let each = float(most.saturating_sub(before)) / float(count) / 1e3;
        let how = format!("{} MiB before, {} MiB once open; at most, with the messages", before >> 20, opened >> 20);
        let target = Some((&*format!("{} MiB", SOCKETS_BYTES >> 20), most <= SOCKETS_BYTES));
        let name = format!("memory of the service with {} sockets", grouped(count));
        self.report.figure(&name, &how, &format!("{} MiB, {each:.1} kB each", most >> 20), target);
        let each = duration(cpu_opened.saturating_sub(cpu_before).as_secs_f64() / float(count));
        self.report.figure("opening a socket", "of the service's processor time", &each, None);
        let how = format!("of the service's processor time; the last one has it after {} at most", duration(slowest));
        let each = duration(cpu_told.saturating_sub(cpu_opened).as_secs_f64() / float(count * rounds));
        self.report.figure("a message to all sockets, for each", &how, &each, None);
        server.stop()
    }
}

/// Sends a message to all sockets; returns the seconds until the last one has received it.
async fn broadcast(server: &Server, key: &str, pool: &mut SocketPool, count: usize) -> Result<f64, BenchError> {
    let content =
        json!({ "title": "Your laptop is ready", "text": "It waits for you at the desk on the second floor." });
    let body = json!({ "to": { "role": "user" }, "msg_type": "byod_card", "content": content });
    let request = message(key, &body.to_string());
    let mut service = Connection::open(server.address).await?;
    let sent = now();
    let (answer, heard) = tokio::join!(service.exchange(&request), pool.all(Received::Message, count));
    let (mut sockets, last) = heard?;
    let answer = answer?;
    if !answer.is_ok() || !answer.has(format!("\"delivered\":{count},").as_bytes()) {
        return Err(format!("not {count} were told:\n{}", answer.text()).into());
    }
    sockets.sort_unstable();
    sockets.dedup();
    if sockets.len() != count {
        return Err("a socket received the message twice".into());
    }
    Ok(last.saturating_duration_since(sent).as_secs_f64())
}

/// A service key that may send messages, created by the given command.
fn service_key(mut command: Command) -> Result<String, BenchError> {
    command.args(["service-key", "create", "bench", "--scope", "messages", "--dev"]);
    let made = command.output()?;
    let told = String::from_utf8_lossy(&made.stdout);
    let key = told.lines().find_map(|line| line.trim().strip_prefix("service key: "));
    Ok(key.ok_or_else(|| format!("no service key: {}", String::from_utf8_lossy(&made.stderr)))?.to_owned())
}
