//! The faults of the proxy, with servers that only answer what they got.

use super::*;

/// A server that answers every read with what it got, and says how often it got something.
async fn echo() -> (String, Arc<AtomicUsize>, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, got) = (listener.local_addr().unwrap().to_string(), Arc::new(AtomicUsize::new(0)));
    let (mut tasks, counter) = (JoinSet::new(), Arc::clone(&got));
    tasks.spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let counter = Arc::clone(&counter);
            tokio::spawn(async move {
                let mut piece = vec![0; 1024];
                while let Ok(read @ 1..) = stream.read(&mut piece).await {
                    counter.fetch_add(1, Ordering::SeqCst);
                    let _ = stream.write_all(&piece[..read]).await;
                }
            });
        }
    });
    (address, got, tasks)
}

/// Sends a text; the answer, or nothing if the connection has ended.
async fn ask(stream: &mut TcpStream, text: &str) -> String {
    if stream.write_all(text.as_bytes()).await.is_err() {
        return String::new();
    }
    let mut piece = vec![0; 1024];
    let read = stream.read(&mut piece).await.unwrap_or(0);
    String::from_utf8_lossy(&piece[..read]).into_owned()
}

#[tokio::test]
async fn each_fault_happens_once() {
    let (server, got, _tasks) = echo().await;
    let proxy = FaultProxy::to(&server).await;
    let mut client = TcpStream::connect(proxy.address()).await.unwrap();
    assert_eq!(ask(&mut client, "plain").await, "plain");
    let fired = proxy.once(Fault::CloseBefore, Trigger::Request(b"before"));
    assert_eq!(ask(&mut client, "before").await, "");
    assert_eq!((fired.count(), got.load(Ordering::SeqCst)), (1, 1));
    let mut client = TcpStream::connect(proxy.address()).await.unwrap();
    let fired = proxy.once(Fault::CloseAfter, Trigger::Request(b"after"));
    assert_eq!(ask(&mut client, "after").await, "");
    fired.happened().await;
    assert_eq!(got.load(Ordering::SeqCst), 2);
    let mut client = TcpStream::connect(proxy.address()).await.unwrap();
    let fired = proxy.once(Fault::Duplicate, Trigger::Request(b"twice"));
    assert_eq!(ask(&mut client, "twice").await, "twice");
    assert_eq!((fired.count(), got.load(Ordering::SeqCst)), (1, 4));
    assert_eq!(ask(&mut client, "twice").await, "twice");
    assert_eq!(got.load(Ordering::SeqCst), 5);
    let fired = proxy.once(Fault::Delay(Duration::from_millis(1)), Trigger::Request(b"late"));
    assert_eq!((ask(&mut client, "late").await.as_str(), fired.count()), ("late", 1));
    let fired = proxy.once(Fault::Misspell, Trigger::Request(b"right"));
    assert_eq!((ask(&mut client, "all right!").await.as_str(), fired.count()), ("all righx!", 1));
}

#[tokio::test]
async fn a_commit_counts_with_what_its_transaction_has_sent() {
    let frame = str::from_utf8(COMMIT).unwrap();
    let transcript = format!("BEGIN oauth2 {frame}BEGIN bind {frame}");
    let fresh = COMMIT.len();
    assert!(is_triggered(Trigger::CommitOf(b"bind"), transcript.as_bytes(), fresh));
    assert!(!is_triggered(Trigger::CommitOf(b"oauth2"), transcript.as_bytes(), fresh));
    assert!(!is_triggered(Trigger::CommitOf(b"bind"), format!("{transcript} more").as_bytes(), 5));
    assert!(is_triggered(Trigger::Request(b"split"), b"a split", 2));
    assert!(is_triggered(Trigger::RequestAfter(b"lock", b"beat"), b"a lock, a beat", 4));
    assert!(!is_triggered(Trigger::RequestAfter(b"lock", b"beat"), b"another beat", 4));
}

#[tokio::test]
async fn a_partition_holds_back_and_a_refusal_ends() {
    let (server, _, _tasks) = echo().await;
    let proxy = FaultProxy::to(&server).await;
    let mut client = TcpStream::connect(proxy.address()).await.unwrap();
    proxy.cut();
    let waiting = tokio::time::timeout(Duration::from_millis(50), ask(&mut client, "held")).await;
    assert!(waiting.is_err());
    proxy.mend();
    let mut piece = [0; 4];
    client.read_exact(&mut piece).await.unwrap();
    assert_eq!(&piece, b"held");
    proxy.refuse();
    assert_eq!(ask(&mut client, "gone").await, "");
    let mut late = TcpStream::connect(proxy.address()).await.unwrap();
    assert_eq!(ask(&mut late, "gone").await, "");
    proxy.mend();
    let mut client = TcpStream::connect(proxy.address()).await.unwrap();
    assert_eq!(ask(&mut client, "back").await, "back");
}

/// Several requests may be under way on one connection to Redis.
#[tokio::test]
async fn the_answer_to_an_earlier_request_of_redis_is_not_taken_for_the_one_to_lose() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = FaultProxy::to(&listener.local_addr().unwrap().to_string()).await;
    let mut client = TcpStream::connect(proxy.address()).await.unwrap();
    let (mut server, _) = listener.accept().await.unwrap();
    let fired = proxy.once(Fault::CloseAfter, Trigger::Request(b"SAVE"));
    client.write_all(b"*1\r\n$4\r\nPING\r\n").await.unwrap();
    client.write_all(b"*1\r\n$4\r\nSAVE\r\n").await.unwrap();
    fired.happened().await;
    server.write_all(b"+PONG\r\n").await.unwrap();
    let (mut got, mut piece) = (Vec::new(), [0; 1024]);
    while last_position(&got, MARKER).is_none() {
        let read = server.read(&mut piece).await.unwrap();
        assert!(read > 0, "the connection ended before the answer");
        got.extend_from_slice(&piece[..read]);
    }
    server.write_all(b"+OK\r\n$18\r\nfault-proxy-marker\r\n").await.unwrap();
    assert_eq!(client.read(&mut piece).await.unwrap_or(0), 0);
}
