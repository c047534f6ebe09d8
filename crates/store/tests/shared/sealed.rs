//! Reading Redis reveals nothing, and writing to it forges nothing.

use deskpass_core::{Digest, EncryptionKeys};
use deskpass_store::{PlatformToken, RedisSettings, SharedState};

use crate::shared::server::{Desk, Server, at, patient_node, settings};

fn token(value: &str) -> PlatformToken {
    PlatformToken { value: value.to_owned(), asked_at: at(0), expires_at: at(7_200_000) }
}

fn key(name: Digest) -> String {
    format!("test:1:token:{}", name.to_text())
}

#[tokio::test]
async fn a_record_sealed_for_another_key_is_ignored() {
    let server = Server::start(&[]);
    let (node, client) = (patient_node(&server.url()), redis::Client::open(server.url()).unwrap());
    let mut wire = client.get_multiplexed_async_connection().await.unwrap();
    let [a, b] = [Digest::of(&[b"a"]), Digest::of(&[b"b"])];
    assert!(node.tokens.put(a, token("hunter2"), at(0)).await.unwrap());
    assert!(node.tokens.put(b, token("swordfish"), at(0)).await.unwrap());
    let sealed: Vec<u8> = redis::cmd("GET").arg(key(a)).query_async(&mut wire).await.unwrap();
    assert!(!String::from_utf8_lossy(&sealed).contains("hunter2"));
    let mut tampered = sealed.clone();
    *tampered.last_mut().unwrap() ^= 1;
    for forged in [sealed.as_slice(), &tampered, b"", b"{\"value\":\"x\",\"asked_at\":0,\"expires_at\":9999999}"] {
        redis::cmd("SET").arg(key(b)).arg(forged).query_async::<()>(&mut wire).await.unwrap();
        assert_eq!(node.tokens.read_with(&b, at(0), Clone::clone).await.unwrap(), None, "{forged:?}");
        assert!(node.tokens.update(&b, at(0), Ok::<_, ()>).await.unwrap().is_none());
        assert!(node.tokens.watch(&b, at(0)).await.unwrap().is_none());
        // A forged record does not block a valid one.
        assert!(node.tokens.put(b, token("good"), at(0)).await.unwrap());
        assert_eq!(node.tokens.take(&b, at(0)).await.unwrap(), Some(token("good")));
        redis::cmd("SET").arg(key(b)).arg(forged).query_async::<()>(&mut wire).await.unwrap();
        assert_eq!(node.tokens.take(&b, at(0)).await.unwrap(), None);
    }
    assert_eq!(node.tokens.read_with(&a, at(0), Clone::clone).await.unwrap(), Some(token("hunter2")));
}

#[tokio::test]
async fn another_key_or_prefix_is_another_store() {
    let server = Server::start(&[]);
    let name = Digest::of(&[b"a"]);
    assert!(patient_node(&server.url()).tokens.put(name, token("a"), at(0)).await.unwrap());
    let with = |keys| SharedState::redis(RedisSettings { keys, ..settings(&server.url()) }).unwrap();
    let other_key: Desk = with(EncryptionKeys::one([2; 32]));
    let other_prefix: Desk =
        SharedState::redis(RedisSettings { prefix: "other".into(), ..settings(&server.url()) }).unwrap();
    for other in [other_key, other_prefix] {
        assert_eq!(other.tokens.read_with(&name, at(0), Clone::clone).await.unwrap(), None);
    }
    // While the key is changed, nodes with both keys read what either of them sealed, whichever is first.
    for keys in [EncryptionKeys::new([2; 32], [[1; 32]]), EncryptionKeys::new([1; 32], [[2; 32]])] {
        let both: Desk = with(keys);
        assert_eq!(both.tokens.read_with(&name, at(0), Clone::clone).await.unwrap(), Some(token("a")));
    }
}

#[test]
fn nothing_prints_a_secret() {
    let settings = RedisSettings { url: "redis://me:hunter2@host".into(), ..settings("") };
    assert!(!format!("{settings:?} {:?}", token("hunter2")).contains("hunter2"));
}

#[tokio::test]
async fn no_error_contains_the_password() {
    let server = Server::start(&["--requirepass", "right"]);
    let node = patient_node(&format!("redis://:hunter2@127.0.0.1:{}", server.port));
    let error = node.probe().await.unwrap_err();
    assert_eq!(error.kind(), deskpass_store::StoreErrorKind::SharedUnavailable);
    assert!(error.to_string().contains(&format!("127.0.0.1:{}", server.port)), "{error}");
    assert!(!error.to_string().contains("hunter2") && !format!("{error:?} {node:?}").contains("hunter2"), "{error:?}");
    let refused = SharedState::<u32>::redis(settings("http://me:hunter2@host")).unwrap_err();
    assert!(!format!("{refused} {refused:?}").contains("hunter2"), "{refused:?}");
}
