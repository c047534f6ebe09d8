//! The description for programs: a validator accepts it, and a client that is generated from it works.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a program of the environment that `tools/openapi` makes, and returns what it wrote.
async fn run(mut command: Command) -> String {
    let shown = format!("{command:?}");
    let ran = tokio::task::spawn_blocking(move || command.output()).await.unwrap();
    let ran = ran.expect("run tools/openapi first");
    let text = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{shown}\n{text}");
    text
}

fn program(name: &str) -> Command {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("openapi");
    Command::new(home.join("bin").join(name))
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests").join(name).canonicalize().unwrap()
}

on_one_store! {
    /// One generation for all, since it takes seconds. The generator leaves out what it does not understand, with a warning, so
    /// warnings are failures.
    async fn a_generated_client_signs_in_is_refused_and_introspects(app) {
        let scratch = tempfile::tempdir().unwrap();
        let (description, client) = (scratch.path().join("openapi.json"), scratch.path().join("deskpass_client"));
        std::fs::write(&description, app.client().await.get("/api/openapi.json", &[]).await.body).unwrap();
        let mut validator = program("openapi-spec-validator");
        validator.arg("--schema").arg("3.1").arg(&description);
        let mut generator = program("openapi-python-client");
        generator.args(["generate", "--meta", "none", "--fail-on-warning", "--path"]).arg(&description);
        generator.arg("--output-path").arg(&client).arg("--config").arg(file("openapi_client.yaml"));
        let (valid, generated) = tokio::join!(run(validator), run(generator));
        assert!(valid.contains("OK"), "{valid}");
        assert!(!generated.to_lowercase().contains("warning"), "{generated}");
        let (introspects, sends) = (app.service_key("introspect").await.0, app.service_key("messages").await.0);
        let mut script = program("python");
        script.arg(file("openapi_client.py")).env("PYTHONPATH", scratch.path());
        // Secrets are not for the list of processes.
        script.env("DESK", format!("http://{}", app.address)).env("KEY", introspects).env("OTHER_KEY", sends);
        let operations: usize = {
            let described: serde_json::Value = serde_json::from_str(deskpass::http::description()).unwrap();
            described["paths"].as_object().unwrap().values().map(|path| path.as_object().unwrap().len()).sum()
        };
        assert_eq!(run(script).await.trim(), format!("{operations} operations"));
    }
}
