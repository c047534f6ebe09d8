//! Tokens that open sockets, from each source, and keys that send to them.

use serde_json::json;

use super::{Scene, is_in};
use crate::harness::{Client, TestSocket, handshake};

on_every_store! {
    async fn a_token_that_opens_a_socket_reaches_no_log_no_answer_and_no_file() {
        for format in ["json", "text"] {
            let scene = Scene::new();
            let process = scene.serve(format);
            let mut client = Client::connect(&process.address).await;
            let (token, ended) = (client.sign_in("agent01").await, client.sign_in("user01").await);
            client.logout(&ended).await.data();
            let mut answers = Vec::new();
            for token in [&token, &ended] {
                let (auth, offer, basic) = (format!("Bearer {token}"), format!("bearer.{token}"), format!("Basic {token}"));
                let (auth, offer, basic) = (("authorization", &*auth), ("sec-websocket-protocol", &*offer), ("authorization", &*basic));
                let (plain, evil) = (("sec-websocket-protocol", "deskpass.v1"), ("origin", "https://evil.example"));
                for kind in ["employee", "agent"] {
                    let path = format!("/api/ws/{kind}");
                    let (query, last) = (format!("{path}?token={token}"), format!("{path}?last_id={token}"));
                    for head in [
                        handshake(&path, &[auth]), handshake(&path, &[offer]), handshake(&path, &[plain, offer]), handshake(&query, &[]),
                        handshake(&format!("{query}&last_id=1-0"), &[plain]), handshake(&query, &[evil]), handshake(&path, &[offer, evil]),
                        handshake(&path, &[basic, offer]), handshake(&path, &[auth, auth]), handshake(&last, &[auth]),
                        handshake(&format!("{path}/{token}"), &[offer]), handshake(&format!("{query}&token={token}"), &[]),
                        handshake(&path, &[("sec-websocket-protocol", &format!("bearer.{token}x"))]),
                        handshake(&query, &[("sec-websocket-key", "x")]),
                    ] {
                        match TestSocket::try_open(&process.address, &head).await {
                            Ok(mut socket) => {
                                answers.push(socket.text().await.to_string());
                                socket.frame(0x81, token.as_bytes()).await;
                                socket.frame(0x89, &token.as_bytes()[..40]).await;
                                socket.frame(0x83, token.as_bytes()).await;
                                socket.closed().await;
                            }
                            Err(answer) => answers.push(format!("{answer:?}")),
                        }
                    }
                }
            }
            client.send_messages(&token, &json!({ "to": { "employee_id": token }, "msg_type": token })).await.refused(401, 1001);
            answers.push(client.get("/metrics", &[]).await.body);
            let kept = scene.kept();
            let log = scene.log(process);
            assert!(log.contains("socket token sent in the query string"), "no warning about tokens in addresses");
            assert!(log.contains("/api/ws/employee"), "the log is silent: this test looks at nothing");
            for random in [&token[4..47], &ended[4..47]] {
                assert!(!log.contains(random), "the log has the token");
                assert!(!is_in(random, &kept), "the token is kept somewhere");
                let repeated: Vec<_> = answers.iter().filter(|answer| answer.contains(random)).collect();
                assert!(repeated.is_empty(), "{repeated:?}");
            }
        }
    }
}
