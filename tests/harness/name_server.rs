//! A name server: every name is this machine, except for silent ones, for which it never answers.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

/// The bytes in front of the first question (RFC 1035 §4.1.1).
const HEADER_BYTES: usize = 12;
/// A response without an error, which offers recursion.
const FLAGS: [u8; 2] = [0x81, 0x80];
const TYPE_A: [u8; 2] = [0, 1];
/// What a record begins with: the name of the question, its type, its class, and that it must not be kept.
const RECORD: [u8; 10] = [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0];

/// A name server at a port of its own.
#[derive(Debug)]
pub(crate) struct NameServer {
    pub(crate) address: SocketAddr,
    silent: Arc<Mutex<Vec<String>>>,
    serving: JoinHandle<()>,
}

impl NameServer {
    /// Never answers for names that begin with this word.
    pub(crate) async fn silent_about(word: &'static str) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let silent = Arc::<Mutex<Vec<String>>>::default();
        let unanswered = Arc::clone(&silent);
        let serving = tokio::spawn(async move {
            let mut packet = [0; 512];
            while let Ok((length, client)) = socket.recv_from(&mut packet).await {
                let query = &packet[..length];
                let name = name_in(query);
                if name.starts_with(word) {
                    unanswered.lock().unwrap().push(name);
                } else {
                    socket.send_to(&answer(query), client).await.unwrap();
                }
            }
        });
        Self { address, silent, serving }
    }

    /// The names that it was asked for and did not answer, each once, sorted.
    pub(crate) fn unanswered(&self) -> Vec<String> {
        let mut names = self.silent.lock().unwrap().clone();
        names.sort();
        names.dedup();
        names
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// The labels of the question, each behind its length.
fn labels(query: &[u8]) -> Vec<&[u8]> {
    let mut rest = &query[HEADER_BYTES..];
    let mut labels = Vec::new();
    while rest[0] > 0 {
        let end = 1 + usize::from(rest[0]);
        labels.push(&rest[1..end]);
        rest = &rest[end..];
    }
    labels
}

fn name_in(query: &[u8]) -> String {
    let labels: Vec<_> = labels(query).into_iter().map(String::from_utf8_lossy).collect();
    labels.join(".").to_ascii_lowercase()
}

/// The address of this machine; of the other types there is nothing.
fn answer(query: &[u8]) -> Vec<u8> {
    let name_bytes: usize = labels(query).iter().map(|label| 1 + label.len()).sum();
    let after_name = HEADER_BYTES + name_bytes + 1;
    let question = &query[HEADER_BYTES..after_name + 4];
    let is_v4 = query[after_name..after_name + 2] == TYPE_A;
    let counts = [0, 1, 0, u8::from(is_v4), 0, 0, 0, 0];
    let mut answer = [&query[..2], &FLAGS, &counts, question].concat();
    if is_v4 {
        answer.extend([&RECORD[..], &[0, 4], &Ipv4Addr::LOCALHOST.octets()].concat());
    }
    answer
}
