//! The file by which the platform verifies that the domain is ours, at the root under its own name.

use crate::harness::{TestApp, settings};

#[tokio::test]
async fn is_served_as_it_is_and_nothing_beside_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("WW_verify_0123456789abcdef.txt");
    std::fs::write(&path, "0123456789abcdef").unwrap();
    std::fs::write(directory.path().join("WW_verify_other.txt"), "other").unwrap();
    let given = [("development.enabled", "true"), ("platform.verify_file", path.to_str().unwrap())];
    let app = TestApp::with(settings(&given)).await;
    let mut client = app.client().await;
    let answer = client.get("/WW_verify_0123456789abcdef.txt", &[]).await;
    assert_eq!((answer.status, answer.body.as_str()), (200, "0123456789abcdef"));
    assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"));
    for other in [
        "/WW_verify_other.txt",
        "/WW_verify_..%2fpasswd",
        "/WW_verify_0123456789abcdef",
        "/ww_verify_0123456789abcdef.txt",
    ] {
        client.get(other, &[]).await.refused(404, 1004);
    }
}

#[tokio::test]
async fn without_one_there_is_none_and_a_wrong_one_is_refused_at_the_start() {
    let mut app = TestApp::start().await;
    app.client().await.get("/WW_verify_0123456789abcdef.txt", &[]).await.refused(404, 1004);
    app.stop().await;
    let given = [("development.enabled", "true"), ("platform.verify_file", "/etc/passwd")];
    let refusal = app.reopen_error(&given).await;
    assert_eq!(
        refusal,
        "platform.verify_file /etc/passwd: the file must keep the name that the platform gave it, WW_verify_….txt"
    );
}
