//! The synchronisation: records follow the directory, those who left are locked out, and nothing is believed that is not complete.

use deskpass_auth::{SyncOptions, SyncReport};
use deskpass_core::LeftReason;
use deskpass_platform::PlatformKind;
use serde_json::json;

use super::{Desk, FRESH, control, synchronise};
use crate::harness::{Messenger, TestApp, platform_kind};

const DRY: SyncOptions = SyncOptions { dry_run: true, force: false };
const REAL: SyncOptions = SyncOptions { dry_run: false, force: false };

/// Everything that a synchronisation may change.
fn state(app: &TestApp) -> Vec<Vec<String>> {
    [
        "SELECT employee_key, name, department, department_id, avatar, left_why, checked_at FROM employee ORDER BY employee_key",
        "SELECT employee_key, role_id, by_hand, by_rule, until FROM user_role ORDER BY employee_key, role_id",
        "SELECT id, parent, name FROM directory_department ORDER BY id",
        "SELECT employee_key, department FROM directory_member ORDER BY employee_key, department",
        "SELECT id, name FROM directory_tag ORDER BY id",
        "SELECT tag, kind, value FROM directory_tag_member ORDER BY tag, kind, value",
        // Where calls are metered, those of a dry run are counted in the state of the re-check.
        "SELECT name, state FROM chore WHERE name <> 'recheck' ORDER BY name",
        "SELECT count(*) FROM login_log",
        "SELECT count(*) FROM session",
    ]
    .map(|sql| app.query(sql))
    .to_vec()
}

/// The fields of user01 that changed.
fn fields(report: &SyncReport) -> Vec<&'static str> {
    let user = report.updated.iter().find(|updated| updated.employee.id() == "user01");
    user.map(|updated| updated.fields.clone()).unwrap_or_default()
}

on_every_platform! {
    both stores:
    async fn names_departments_and_pictures_follow_and_a_dry_run_changes_nothing() {
        let mut desk = Desk::without_events().await;
        let token = desk.client.sign_in_by_phone("user01").await;
        desk.change("user01", &json!({ "name": "Uma Night", "department": "Night Shift" })).await;
        let picture = "https://avatars.example.com/old.png";
        desk.app.query(&format!("UPDATE employee SET avatar = '{picture}' WHERE employee_key = 'admin01'"));
        let before = state(&desk.app);
        let report = synchronise(&desk.app, DRY).await;
        assert_eq!(fields(&report), ["name", "department"]);
        assert_eq!(state(&desk.app), before, "a dry run");
        assert_eq!(synchronise(&desk.app, REAL).await.updated, report.updated);
        let record = |who: &str| desk.app.query(&format!("SELECT name, department FROM employee WHERE employee_key = '{who}'"));
        assert_eq!(record("user01"), ["Uma Night|Night Shift"]);
        // WeCom has no pictures in its lists, so that the known one stays.
        let own = if platform_kind() == PlatformKind::Wecom { picture } else { "https://avatars.example.com/admin01.png" };
        assert_eq!(desk.app.query("SELECT avatar FROM employee WHERE employee_key = 'admin01'"), [own]);
        // The session goes on, with the new name.
        assert_eq!(desk.client.me(&token).await.data()["name"], "Uma Night");
        // Nothing is left to do.
        let before = state(&desk.app);
        assert!(synchronise(&desk.app, REAL).await.updated.is_empty());
        assert_eq!(state(&desk.app), before);
        assert_eq!(desk.client.me(&token).await.data()["department"], "Night Shift");
    }
}

on_every_platform! {
    async fn who_left_is_locked_out_and_who_is_back_is_not() {
        let mut desk = Desk::without_events().await;
        let [gone, here] = [desk.client.sign_in("user01").await, desk.client.sign_in("agent01").await];
        desk.change("user01", &json!({ "state": "left" })).await;
        let report = synchronise(&desk.app, DRY).await;
        assert_eq!(report.left, [(desk.app.key("user01"), "Uma User".to_owned(), LeftReason::Left)]);
        assert!(desk.client.is_valid(&gone).await);
        assert_eq!(synchronise(&desk.app, REAL).await.left, report.left);
        assert_eq!(desk.refusal(&gone).await, "left");
        assert!(desk.client.is_valid(&here).await);
        assert_eq!(desk.rows("user01"), ["employee_left|sync; left; 1 session(s) ended"]);
        desk.change("user01", &json!({ "state": "active" })).await;
        desk.app.clock.advance(FRESH);
        let report = synchronise(&desk.app, REAL).await;
        assert_eq!(report.returned, [(desk.app.key("user01"), "Uma User".to_owned())]);
        assert_eq!(desk.left("user01"), "-");
        desk.client.sign_in("user01").await;
    }

    /// An answer that is not complete is no reason to lock anybody out, or to forget a department.
    async fn an_outage_in_the_middle_changes_nothing() {
        let mut desk = Desk::without_events().await;
        synchronise(&desk.app, REAL).await;
        let before = state(&desk.app);
        let members = match Messenger::current().kind {
            PlatformKind::Wecom => "user/list",
            PlatformKind::Dingtalk => "topapi/v2/user/list",
            PlatformKind::Feishu => "open-apis/contact/v3/users/find_by_department",
        };
        desk.change("user01", &json!({ "name": "Somebody Else", "state": "left" })).await;
        desk.client.set_fault(&json!({ "api": members, "http_status": 502, "body": "", "times": 0 })).await;
        let failed = Box::pin(desk.app.auth().synchronise(REAL, &|_| {})).await;
        assert!(failed.is_err(), "{failed:?}");
        assert_eq!(state(&desk.app), before);
        control(&mut desk.client, "DELETE", "faults", &json!(null)).await;
        // A directory that is empty all of a sudden is not believed either.
        let empty = match Messenger::current().kind {
            PlatformKind::Wecom => json!({ "errcode": 0, "userlist": [] }),
            PlatformKind::Dingtalk => json!({ "errcode": 0, "result": { "has_more": false, "list": [] } }),
            PlatformKind::Feishu => json!({ "code": 0, "data": { "has_more": false, "items": [] } }),
        };
        desk.client.set_fault(&json!({ "api": members, "body": empty.to_string(), "times": 0 })).await;
        let report = synchronise(&desk.app, REAL).await;
        assert!(report.halted && report.members == 0, "{report:?}");
        assert_eq!((state(&desk.app)[3].clone(), desk.left("user01")), (before[3].clone(), "-".to_owned()));
    }
}

on_every_store! {
    /// There are limits to lookups: those who were found to have left are few of all employees, but all of those who were looked up.
    async fn those_who_could_not_be_looked_up_are_not_taken_for_present() {
        let (mut desk, profile) = (Desk::without_events().await, Messenger::current().profile);
        let corp = Messenger::current().corp_id;
        let row = |number: usize| format!("('{corp}', 'gone{number:02}', 'gone{number:02}', 'Gone', 'Sales', '4', '', 0)");
        let rows: Vec<_> = (1..=60).map(row).collect();
        desk.app.query(&format!(
            "INSERT INTO employee (corp_id, employee_key, employee_id, name, department, department_id, avatar, created_at) VALUES {}",
            rows.join(", ")
        ));
        desk.client.set_fault(&json!({ "api": profile, "errcode": 60111, "times": 7 })).await;
        desk.client.set_fault(&json!({ "api": profile, "errcode": 48002, "times": 0 })).await;
        let report = synchronise(&desk.app, REAL).await;
        assert!(report.halted && report.left.len() == 7, "{report:?}");
        assert_eq!(desk.app.query("SELECT count(*) FROM employee WHERE left_at IS NOT NULL"), ["0"]);
    }
}
