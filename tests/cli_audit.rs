//! `deskpass audit`: beside a running service, and on a log that an attacker tampers with.

use std::process::Output;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Client, ClusterStore, Process, Servers, binary, query, with_settings};

/// A service with a log, and an attacker who changes its database directly.
struct Scene {
    process: Process,
    directory: tempfile::TempDir,
    place: Option<ClusterStore>,
}

impl Scene {
    fn embedded() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let process = Process::serve(&directory.path().join("data"), &[]);
        Self { process, directory, place: None }
    }

    fn scaled_out() -> Self {
        let place = Servers::shared().cluster_store();
        Self { process: Process::node(&place, &[]), directory: tempfile::tempdir().unwrap(), place: Some(place) }
    }

    async fn sign_in(&self, times: usize) {
        let mut client = Client::connect(&self.process.address).await;
        for _ in 0..times {
            client.sign_in("user01").await;
        }
    }

    fn sql(&self, text: &str) -> Vec<String> {
        match &self.place {
            Some(place) => place.query(text),
            None => query(&self.directory.path().join("data/deskpass.db"), text),
        }
    }

    fn audit(&self, arguments: &[&str], settings: &[(&str, &str)]) -> Output {
        let mut command = binary();
        command.current_dir(self.directory.path()).arg("audit").args(arguments).arg("--dev");
        if let Some(place) = &self.place {
            with_settings(&mut command, place.settings());
        }
        with_settings(&mut command, settings.iter().copied());
        command.output().unwrap()
    }

    /// Verifies the log; returns the exit code, standard output and standard error.
    fn verify(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        output_of(&self.audit(&[&["verify"], arguments].concat(), &[]))
    }

    /// The receipt of an intact log.
    fn receipt(&self) -> String {
        let (code, text, _) = self.verify(&[]);
        assert_eq!(code, Some(0), "{text}");
        text.lines().find_map(|line| line.strip_prefix("receipt: ")).unwrap().to_owned()
    }

    /// The longest chain, which has enough rows to remove some, and its last sequence number.
    fn chain(&self) -> (i64, i64) {
        let row = self.sql("SELECT chain, seq FROM log_chain ORDER BY seq DESC LIMIT 1").remove(0);
        let (chain, seq) = row.split_once('|').unwrap();
        (chain.parse().unwrap(), seq.parse().unwrap())
    }
}

fn output_of(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Runs a test on each kind of store.
macro_rules! on_both {
    ($(fn $name:ident($scene:ident) $body:block)*) => {$(
        mod $name {
            use super::*;

            async fn test($scene: Scene) $body

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn embedded() {
                test(Scene::embedded()).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn scaled_out() {
                test(Scene::scaled_out()).await;
            }
        }
    )*};
}

on_both! {
    fn an_untouched_log_is_as_it_was_written(scene) {
        let (code, text, _) = scene.verify(&[]);
        assert!(code == Some(0) && text.contains("the audit log is intact: "), "{text}");
        scene.sign_in(30).await;
        let receipt = scene.receipt();
        scene.sign_in(5).await;
        let (code, text, _) = scene.verify(&["--receipt", &receipt]);
        assert!(code == Some(0) && text.contains(", including all rows covered by the receipt; 0 expired"), "{text}");
        assert!(text.contains("Keep the receipt where no one who can change the database can reach it."), "{text}");
        // This also works while no service runs.
        let Scene { process, directory, place } = scene;
        assert_eq!(process.terminate().0, Some(0));
        let elsewhere = Scene { process: Scene::embedded().process, directory, place };
        let (code, text, error) = elsewhere.verify(&["--receipt", &receipt]);
        assert_eq!(code, Some(0), "{text}{error}");
    }

    fn tampering_is_reported_while_the_service_runs(scene) {
        scene.sign_in(40).await;
        let (chain, end) = scene.chain();
        let at = |seq: i64| format!("chain = {chain} AND seq = {seq}");
        let id = scene.sql(&format!("SELECT id FROM login_log WHERE {}", at(2))).remove(0);
        scene.sql(&format!("UPDATE login_log SET ip_address = '203.0.113.9' WHERE {}", at(2)));
        let (code, text, error) = scene.verify(&[]);
        assert_eq!(code, Some(1), "{text}");
        assert!(text.contains("THE AUDIT LOG WAS CHANGED: 1 fault(s) in "), "{text}");
        assert!(text.contains(&format!("- chain {chain}, row 2, id {id}, 2")), "{text}");
        assert!(text.contains(": changed; the row or its hash was changed") && text.contains("What to do: copy the \
             database"), "{text}");
        assert!(!text.contains("receipt: "), "a log that was changed gets none: {text}");
        assert!(error.contains("deskpass: the audit log failed verification"), "{error}");
        scene.sql(&format!("DELETE FROM login_log WHERE {}", at(2)));
        scene.sql(&format!("DELETE FROM login_log WHERE {}", at(end)));
        let (code, text, _) = scene.verify(&[]);
        assert!(code == Some(1) && text.contains("2 fault(s)"), "{text}");
        assert!(text.contains(&format!("- chain {chain}, row 2, before 2")) && text.contains(": missing; "), "{text}");
        assert!(text.contains(&format!("- chain {chain}, row {end}: cut off the end; ")), "{text}");
    }

    fn rows_cut_off_the_end_are_found_with_a_receipt(scene) {
        scene.sign_in(40).await;
        let receipt = scene.receipt();
        let (chain, end) = scene.chain();
        scene.sql(&format!("DELETE FROM login_log WHERE chain = {chain} AND seq = {end}"));
        let hash = format!("(SELECT hash FROM login_log WHERE chain = {chain} AND seq = {})", end - 1);
        scene.sql(&format!("UPDATE log_chain SET seq = {}, hash = {hash} WHERE chain = {chain}", end - 1));
        let (code, text, _) = scene.verify(&["--receipt", &receipt]);
        assert!(code == Some(1) && text.contains(&format!("- chain {chain}, row {end}: lost since the receipt; ")), "{text}");
        for (text, words) in [("nonsense", "a receipt begins with"), (&receipt[..receipt.len() - 3], "it is \
             incomplete or was changed")] {
            let (code, _, error) = scene.verify(&["--receipt", text]);
            assert!(code == Some(1) && error.contains("invalid --receipt: ") && error.contains(words), "{error}");
        }
    }

    fn another_key_is_reported_at_once(scene) {
        let key = ("encryption_key", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
        for times in [0, 10] {
            scene.sign_in(times).await;
            let (code, text, error) = output_of(&scene.audit(&["verify"], &[key]));
            assert!(code == Some(1) && text.is_empty(), "{text}");
            assert!(error.contains("encryption_key is not the key that the audit log in "), "{error}");
            let (code, text, error) = output_of(&scene.audit(&["export", "--format", "csv"], &[key]));
            assert!(code == Some(0) && text.lines().skip(1).all(|row| row.contains(",false,")), "{text}");
            assert!(error.contains("encryption_key is not the key that the audit log was written with"), "{error}");
        }
    }

    fn a_log_that_was_changed_is_not_begun_anew_with_its_own_key(scene) {
        scene.sign_in(10).await;
        let Scene { process, directory, place } = scene;
        process.terminate();
        let scene = Scene { process: Scene::embedded().process, directory, place };
        // The marker shows the key; without the marker the stored key check does.
        for sql in ["UPDATE login_log SET ip_address = '192.0.2.99'", "DELETE FROM log_marker"] {
            scene.sql(sql);
            let (code, _, error) = output_of(&scene.audit(&["restart", "--key-is-lost"], &[]));
            assert!(code == Some(1) && error.contains("encryption_key is the key that the audit log"), "{error}");
            assert_eq!(scene.verify(&[]).0, Some(1));
        }
        let (code, text, error) = output_of(&scene.audit(&["restart", "--key-is-lost", "--accept-unverified-rows"], &[]));
        assert_eq!(code, Some(0), "{text}{error}");
        assert_eq!(scene.verify(&[]).0, Some(0));
        let detail = scene.sql("SELECT detail FROM login_log WHERE event = 'log_restarted'");
        assert_eq!(detail, ["chains restarted; earlier rows accepted without verification"]);
    }

    fn a_log_that_is_taken_out_of_its_chains_is_reported(scene) {
        scene.sign_in(10).await;
        scene.sql("UPDATE login_log SET chain = NULL, seq = NULL, hash = NULL");
        scene.sql("DELETE FROM log_chain");
        for marker in [true, false] {
            if !marker {
                scene.sql("DELETE FROM log_marker");
            }
            let (code, text, error) = scene.verify(&[]);
            assert!(code == Some(1) && error.contains("the audit log failed verification"), "{text}{error}");
            assert!(text.contains("- chain 3: another end; ") && text.contains(": in no chain; ") && !text.contains("receipt: "), "{text}");
            assert_eq!(!marker, text.contains("- the audit log: the marker is missing; "), "{text}");
        }
        let (code, text, _) = output_of(&scene.audit(&["export", "--format", "csv"], &[]));
        assert_eq!(code, Some(0));
        let rows: Vec<_> = text.split_terminator("\r\n").skip(1).collect();
        assert!(rows.len() >= 10 && rows.iter().all(|row| row.contains(",false,")), "{text}");
    }

    fn the_log_is_written_out_for_others(scene) {
        let mut client = Client::connect(&scene.process.address).await;
        let ask = json!({ "employee_id": "agent01" });
        client.post("/api/dev/login", &[("user-agent", "=cmd(\"x\"),y")], &ask).await.data();
        scene.sign_in(5).await;
        let (code, text, error) = output_of(&scene.audit(&["export", "--format", "csv"], &[]));
        assert_eq!(code, Some(0), "{error}");
        let lines: Vec<_> = text.split_terminator("\r\n").collect();
        let rows: usize = scene.sql("SELECT count(*) FROM login_log").remove(0).parse().unwrap();
        assert_eq!(lines.len(), rows + 1);
        assert!(lines[0].starts_with("id,at,event,corp_id,employee_id,current_role,"), "{}", lines[0]);
        assert!(lines[1].contains(",sign_in,wwdeskpass,user01,user,dev,"), "newest first: {}", lines[1]);
        assert!(text.contains(",\"'=cmd(\"\"x\"\"),y\","), "{text}");
        let (code, text, _) = output_of(&scene.audit(&["export", "--format", "jsonl", "--employee", "AGENT01"], &[]));
        let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((code, rows.len()), (Some(0), 1));
        assert_eq!((&rows[0]["employee_id"], &rows[0]["user_agent"]), (&json!("agent01"), &json!("=cmd(\"x\"),y")));
        let nothing = ["--to", "2020-01-01"];
        let (code, text, _) = output_of(&scene.audit(&[&["export", "--format", "jsonl"][..], &nothing].concat(), &[]));
        assert_eq!((code, &*text), (Some(0), ""));
        let (code, _, error) = output_of(&scene.audit(&["export", "--format", "csv", "--from", "yesterday"], &[]));
        assert!(code == Some(2) && error.contains("a date such as 2026-07-01"), "{error}");
    }
}

on_every_store! {
    async fn rows_go_when_they_are_old_enough(app) {
        let mut client = app.client().await;
        for _ in 0..3 {
            client.sign_in("user01").await;
        }
        app.clock.advance(Duration::from_hours(399 * 24));
        client.sign_in("user01").await;
        app.auth().sweep().await.unwrap();
        assert_eq!(app.query("SELECT count(*) FROM login_log"), ["4"]);
        app.clock.advance(Duration::from_hours(2 * 24));
        app.auth().sweep().await.unwrap();
        assert_eq!(app.query("SELECT count(*) FROM login_log"), ["1"]);
        assert_eq!(app.query("SELECT sum(pruned_seq) FROM log_chain"), ["3"]);
    }
}

#[test]
fn where_there_is_no_data_none_is_made() {
    let directory = tempfile::tempdir().unwrap();
    for arguments in [&["verify"][..], &["export", "--format", "csv"]] {
        let output = binary().current_dir(directory.path()).arg("audit").args(arguments).arg("--dev").output().unwrap();
        let (code, _, error) = output_of(&output);
        assert!(code == Some(1) && error.contains("there is no deskpass data in ./data"), "{error}");
    }
    assert!(!directory.path().join("data").exists());
}

#[test]
fn data_of_the_other_mode_and_older_data_are_reported() {
    let scene = Scene::embedded();
    let mut command = binary();
    command.current_dir(scene.directory.path()).args(["audit", "verify"]);
    with_settings(&mut command, crate::harness::PRODUCTION);
    let (code, _, error) = output_of(&command.output().unwrap());
    assert!(code == Some(1) && error.contains("was created in development mode"), "{error}");
    scene.sql("DELETE FROM migration WHERE id > 4");
    let (code, _, error) = scene.verify(&[]);
    assert!(code == Some(1) && error.contains("run `deskpass migrate`"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_was_copied_to_postgresql_is_as_it_was_written() {
    let scene = Scene::embedded();
    scene.sign_in(20).await;
    let receipt = scene.receipt();
    let Scene { process, directory, .. } = scene;
    process.terminate();
    let place = Servers::shared().cluster_store();
    let mut copy = binary();
    copy.current_dir(directory.path()).args(["copy", "--dev", "--from", "sqlite:data", "--to", &place.store]);
    assert!(copy.output().unwrap().status.success());
    let scene = Scene { process: Process::node(&place, &[]), directory, place: Some(place) };
    let (code, text, error) = scene.verify(&["--receipt", &receipt]);
    assert_eq!(code, Some(0), "{text}{error}");
    // The check value of the key was copied too.
    let check = query(&scene.directory.path().join("data/deskpass.db"), "SELECT key_check FROM desk");
    assert!(check != ["-"] && scene.sql("SELECT key_check FROM desk") == check, "{check:?}");
}
