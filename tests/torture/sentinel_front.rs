//! Stands before the Sentinels for one node, and names the node's own proxies in place of the servers: otherwise the node would go
//! around them.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// The fronts of one node. They end with this value.
#[derive(Debug)]
pub(super) struct SentinelFronts {
    /// Hosts and ports, one for each Sentinel.
    pub(super) addresses: Vec<String>,
    _tasks: JoinSet<()>,
}

impl SentinelFronts {
    /// Fronts of these Sentinels; each pair has the address of a server and of the proxy before it.
    pub(super) async fn of(sentinels: &[String], replaced: &[(String, String)]) -> Self {
        let replaced: Vec<_> = replaced.iter().map(|(server, proxy)| (bulk_port(server), bulk_port(proxy))).collect();
        let (mut addresses, mut tasks) = (Vec::new(), JoinSet::new());
        for sentinel in sentinels {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            addresses.push(listener.local_addr().unwrap().to_string());
            tasks.spawn(accept(listener, sentinel.clone(), replaced.clone()));
        }
        Self { addresses, _tasks: tasks }
    }
}

/// The port of an address as Redis writes it: its length, then the digits.
fn bulk_port(address: &str) -> Vec<u8> {
    let (_, port) = address.rsplit_once(':').unwrap();
    format!("${}\r\n{port}\r\n", port.len()).into_bytes()
}

async fn accept(listener: TcpListener, sentinel: String, replaced: Vec<(Vec<u8>, Vec<u8>)>) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        connections.spawn(forward(client, sentinel.clone(), replaced.clone()));
        while connections.try_join_next().is_some() {}
    }
}

async fn forward(mut client: TcpStream, sentinel: String, replaced: Vec<(Vec<u8>, Vec<u8>)>) {
    let Ok(mut server) = TcpStream::connect(&sentinel).await else { return };
    let (mut asked, mut answered) = (vec![0; 4096], vec![0; 4096]);
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let Ok(read @ 1..) = read else { return };
                if server.write_all(&asked[..read]).await.is_err() { return; }
            }
            // The answers are short and come in one piece.
            read = server.read(&mut answered) => {
                let Ok(read @ 1..) = read else { return };
                let answer = replaced.iter().fold(answered[..read].to_vec(), |answer, (of, by)| replace(&answer, of, by));
                if client.write_all(&answer).await.is_err() { return; }
            }
        }
    }
}

/// The bytes with the first occurrence replaced.
fn replace(bytes: &[u8], of: &[u8], by: &[u8]) -> Vec<u8> {
    match bytes.windows(of.len()).position(|window| window == of) {
        Some(at) => [&bytes[..at], by, &bytes[at + of.len()..]].concat(),
        None => bytes.to_vec(),
    }
}

#[test]
fn the_port_of_a_server_is_replaced() {
    let (server, proxy) = (bulk_port("127.0.0.1:6379"), bulk_port("127.0.0.1:40123"));
    let answer = b"*2\r\n$9\r\n127.0.0.1\r\n$4\r\n6379\r\n";
    assert_eq!(replace(answer, &server, &proxy), b"*2\r\n$9\r\n127.0.0.1\r\n$5\r\n40123\r\n");
    assert_eq!(replace(b"+OK\r\n", &server, &proxy), b"+OK\r\n");
}
