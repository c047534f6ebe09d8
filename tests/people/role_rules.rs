//! Role rules: departments and tags of the platform that give roles, beside those that administrators assign.

use deskpass::config::Settings;
use deskpass_auth::SyncOptions;
use deskpass_core::{Role, RoleRule, Roles, RuleGroup};
use serde_json::{Value, json};

use super::{Desk, department, synchronise, tag};
use crate::harness::{Device, Messenger, TestApp, development};

const RULES: &str = "/api/admin/role-rules";
const DRY_RUN: &str = "/api/admin/role-rules/dry-run";
const REAL: SyncOptions = SyncOptions { dry_run: false, force: false };

/// A service whose directory is known, and an administrator.
struct Rules {
    desk: Desk,
    token: String,
    device: Device,
}

impl Rules {
    async fn start() -> Self {
        let desk = Desk::without_events().await;
        synchronise(&desk.app, REAL).await;
        let (token, device) = desk.app.administrator().await;
        Self { desk, token, device }
    }

    /// What rules would change: who gains and who loses which roles.
    async fn preview(&mut self, rules: &Value) -> Vec<String> {
        let body = json!({ "rules": rules });
        shown(&self.desk.client.post_as(&self.token, DRY_RUN, &body).await.data())
    }

    /// Registers rules; returns what they changed.
    async fn set(&mut self, rules: &Value) -> Vec<String> {
        let (body, code) = (json!({ "rules": rules }), self.device.next_code());
        shown(&self.desk.client.admin_request(&self.token, &code, "PUT", RULES, &body).await.data())
    }

    /// The roles of an employee by their origins: `h` by hand, `r` by a rule.
    async fn origins(&mut self, who: &str) -> Vec<String> {
        let path = format!("/api/admin/employees/{}/{who}", Messenger::current().corp_id);
        let details = self.desk.client.get_as(&self.token, &path).await.data();
        let origin = |origin: &Value| {
            let mark = |name: &str, mark: &'static str| if origin[name] == true { mark } else { "" };
            format!("{} {}{}", origin["role"].as_str().unwrap(), mark("by_hand", "h"), mark("by_rule", "r"))
        };
        let mut origins: Vec<_> = details["role_origins"].as_array().unwrap().iter().map(origin).collect();
        origins.sort();
        origins
    }
}

/// The effects of rules, such as `agent01 +security -user`, sorted.
fn shown(effects: &Value) -> Vec<String> {
    let signed = |sign: &str, roles: &Value| -> String {
        let words: Vec<_> = roles.as_array().unwrap().iter().map(|role| role.as_str().unwrap()).collect();
        words.iter().flat_map(|word| [" ", sign, word]).collect()
    };
    let effect = |item: &Value| {
        let kept = if item["kept_last_admin"] == true { " kept" } else { "" };
        format!(
            "{}{}{}{kept}",
            item["employee_id"].as_str().unwrap(),
            signed("+", &item["gained"]),
            signed("-", &item["lost"])
        )
    };
    let mut effects: Vec<_> = effects["items"].as_array().unwrap().iter().map(effect).collect();
    effects.sort();
    effects
}

/// The roles that the store has for everyone.
fn all_roles(app: &TestApp) -> Vec<String> {
    app.query("SELECT employee_key, role_id, by_hand, by_rule, until FROM user_role ORDER BY employee_key, role_id")
}

on_every_platform! {
    both stores:
    /// IT is above the IT Service Desk, whose members are agent01 and supervisor01; admin01 is in IT itself.
    async fn departments_give_roles_with_those_below_them_and_tags_do_too() {
        let mut rules = Rules::start().await;
        let before = all_roles(&rules.desk.app);
        let it = json!([{ "role": "security", "department": department(2) }]);
        let gain = ["admin01 +security", "agent01 +security", "supervisor01 +security"];
        assert_eq!(rules.preview(&it).await, gain);
        assert_eq!(all_roles(&rules.desk.app), before, "a dry run");
        assert_eq!(rules.set(&it).await, gain);
        assert_eq!(rules.origins("agent01").await, ["agent h", "security r", "user h"]);
        let token = rules.desk.sign_in_as_user("agent01").await;
        assert_eq!(rules.desk.roles(&token).await, ["agent", "security", "user"]);

        // On call are agent01 and security01, who holds the role anyhow.
        let on_call = json!([{ "role": "security", "tag": tag(1) }]);
        let loss = ["admin01 -security", "supervisor01 -security"];
        assert_eq!((rules.preview(&on_call).await, rules.set(&on_call).await), (loss.map(str::to_owned).to_vec(), loss.map(str::to_owned).to_vec()));
        assert_eq!(rules.origins("security01").await, ["security hr", "user h"]);
        assert_eq!(rules.desk.roles(&token).await, ["agent", "security", "user"]);
        // Of the tag that a department has, its members are.
        let desk = json!([{ "role": "agent", "tag": tag(2) }]);
        assert_eq!(rules.set(&desk).await, ["agent01 -security", "supervisor01 +agent"]);
        assert_eq!(rules.desk.roles(&token).await, ["agent", "user"]);

        let known = rules.desk.client.get_as(&rules.token, RULES).await.data();
        assert_eq!(known["rules"], json!([{ "role": "agent", "department": null, "tag": tag(2), "from_file": false }]));
        let names = |list: &str| known[list].as_array().unwrap().iter().map(|group| group["name"].clone()).collect::<Vec<_>>();
        assert!(names("departments").contains(&json!("IT Service Desk")) && names("tags").contains(&json!("On Call")), "{known}");
        let rows = "SELECT count(*) FROM login_log WHERE event = 'role_rules_changed'";
        assert_eq!(rules.desk.app.query(rows), ["3"]);
        let rows = "SELECT detail FROM login_log WHERE event = 'rule_roles' AND employee_key = 'supervisor01' ORDER BY rowid";
        assert_eq!(rules.desk.app.query(rows).len(), 3);
        assert_eq!(rules.set(&json!([])).await, ["supervisor01 -agent"]);
        assert_eq!(all_roles(&rules.desk.app), before, "as if there had been no rules");
    }

    async fn a_role_follows_its_member_at_the_next_sign_in_or_synchronisation() {
        let mut rules = Rules::start().await;
        rules.set(&json!([{ "role": "supervisor", "department": department(2) }])).await;
        let user = rules.desk.client.sign_in_by_phone("user01").await;
        assert_eq!(rules.desk.roles(&user).await, ["user"]);
        rules.desk.change("user01", &json!({ "department": "IT Service Desk" })).await;
        rules.desk.client.sign_in_by_phone("user01").await;
        assert_eq!(rules.desk.roles(&user).await, ["supervisor", "user"]);
        // And away again, without a sign-in.
        rules.desk.change("user01", &json!({ "department": "Sales" })).await;
        let report = synchronise(&rules.desk.app, REAL).await;
        let lost: Vec<_> = report.roles.iter().map(|effect| (effect.employee.id(), effect.lost)).collect();
        assert_eq!(lost, [("user01", Roles::NONE.with(Role::Supervisor))], "{report:?}");
        assert_eq!(rules.desk.roles(&user).await, ["user"]);
    }
}

on_every_store! {
    async fn what_was_assigned_by_hand_stays_and_what_a_rule_gives_cannot_be_taken_by_hand() {
        let mut rules = Rules::start().await;
        let desk = json!([{ "role": "agent", "department": "3" }]);
        // agent01 has the role by hand.
        assert_eq!(rules.set(&desk).await, ["supervisor01 +agent"]);
        assert_eq!(rules.origins("agent01").await, ["agent hr", "user h"]);
        let without = json!({ "employee_id": "supervisor01", "roles": ["supervisor", "user"] });
        let code = rules.device.next_code();
        let refused =
            rules.desk.client.admin_request(&rules.token, &code, "PUT", "/api/admin/roles/user-roles", &without).await;
        assert_eq!(refused.refused(409, 1019).reason(), "role_from_rule");
        let revoked = rules.desk.app.auth().operator().revoke(rules.desk.app.key("supervisor01"), "agent").await;
        assert!(revoked.is_err());
        assert_eq!(rules.origins("supervisor01").await, ["agent r", "supervisor h", "user h"]);
        // Assigned by hand as well, it outlives the rule.
        rules.desk.app.auth().operator().grant(rules.desk.app.key("supervisor01"), "agent").await.unwrap();
        assert_eq!(rules.set(&json!([])).await, Vec::<String>::new());
        for who in ["agent01", "supervisor01"] {
            assert!(rules.origins(who).await.contains(&"agent h".to_owned()), "{who}");
        }
    }

    async fn the_last_administrator_keeps_the_role_that_a_rule_gave() {
        let mut rules = Rules::start().await;
        assert_eq!(rules.set(&json!([{ "role": "admin", "department": "5" }])).await, ["security01 +admin"]);
        let operator = rules.desk.app.auth().operator();
        assert!(operator.revoke(rules.desk.app.key("admin01"), "admin").await.unwrap());
        let effects = operator.preview_role_rules(Vec::new()).await.unwrap();
        assert!(effects.len() == 1 && effects[0].kept_last_admin && effects[0].lost.is_empty(), "{effects:?}");
        let effects = operator.set_role_rules(Vec::new()).await.unwrap();
        assert!(effects.len() == 1 && effects[0].kept_last_admin && effects[0].lost.is_empty(), "{effects:?}");
        let token = rules.desk.sign_in_as_user("security01").await;
        assert!(rules.desk.roles(&token).await.contains(&"admin".to_owned()));
        // With another one, the next application of the rules takes it.
        let operator = rules.desk.app.auth().operator();
        operator.grant(rules.desk.app.key("admin01"), "admin").await.unwrap();
        synchronise(&rules.desk.app, REAL).await;
        assert_eq!(rules.desk.roles(&token).await, ["security", "user"]);
    }

    /// The rules of the settings file are shown, and cannot be changed here.
    async fn the_settings_file_has_rules_too() {
        let rule = RoleRule { role: Role::Agent, group: RuleGroup::Department("4".to_owned()) };
        let app = TestApp::with(Settings { role_rules: vec![rule], ..development(&[]) }).await;
        let client = app.client().await;
        let (token, device) = app.administrator().await;
        let mut rules = Rules { desk: Desk { app, client }, token, device };
        let dry = synchronise(&rules.desk.app, SyncOptions { dry_run: true, force: false }).await;
        assert_eq!(dry.roles.iter().map(|effect| effect.employee.id()).collect::<Vec<_>>(), ["user01"], "{dry:?}");
        // A sign-in needs no synchronisation before it.
        let user = rules.desk.client.sign_in_by_phone("user01").await;
        assert_eq!(rules.desk.roles(&user).await, ["agent", "user"]);
        assert_eq!(rules.set(&json!([])).await, Vec::<String>::new());
        let known = rules.desk.client.get_as(&rules.token, RULES).await.data();
        assert_eq!(known["rules"], json!([{ "role": "agent", "department": "4", "tag": null, "from_file": true }]));
        assert_eq!(rules.desk.roles(&user).await, ["agent", "user"]);
        // Without the rule in the file, the role ends.
        let app = rules.desk.app.restart_with(development(&[])).await;
        synchronise(&app, REAL).await;
        assert_eq!(app.query("SELECT role_id FROM user_role WHERE employee_key = 'user01'"), [Role::User.id().to_string()]);
    }

    /// Also if nothing is synchronised, and no sign-in has a rule to apply. The service does it after a start and after a reload.
    async fn without_its_last_rule_a_role_of_the_settings_file_ends() {
        let (rule, given) = (RoleRule { role: Role::Agent, group: RuleGroup::Department("4".to_owned()) }, [("sync.period", "0")]);
        let app = TestApp::with(Settings { role_rules: vec![rule], ..development(&given) }).await;
        app.client().await.sign_in_by_phone("user01").await;
        let held = "SELECT role_id FROM user_role WHERE employee_key = 'user01'";
        assert_eq!(app.query(held).len(), 2);
        let app = app.restart_with(development(&given)).await;
        assert!(app.auth().operator().revoke(app.key("user01"), "agent").await.is_err());
        let effects = app.auth().apply_rules_of_settings().await.unwrap();
        let lost: Vec<_> = effects.iter().map(|effect| (effect.employee.id(), effect.lost)).collect();
        assert_eq!(lost, [("user01", Roles::NONE.with(Role::Agent))]);
        assert_eq!(app.query(held), [Role::User.id().to_string()]);
        assert!(app.auth().apply_rules_of_settings().await.unwrap().is_empty(), "once");
    }

    async fn rules_are_for_administrators_and_need_a_fresh_code() {
        let mut rules = Rules::start().await;
        let body = json!({ "rules": [{ "role": "admin", "department": "4" }] });
        for who in ["user01", "agent01", "supervisor01", "security01"] {
            let token = rules.desk.client.sign_in(who).await;
            rules.desk.client.get_as(&token, RULES).await.refused(403, 1003);
            rules.desk.client.post_as(&token, DRY_RUN, &body).await.refused(403, 1003);
            rules.desk.client.admin_request(&token, &rules.device.next_code(), "PUT", RULES, &body).await.refused(403, 1003);
        }
        let code = rules.device.wrong_code();
        rules.desk.client.admin_request(&rules.token, &code, "PUT", RULES, &body).await.refused(401, 1008);
        for wrong in [json!([{ "role": "boss", "department": "4" }]), json!([{ "role": "agent" }]), json!("4")] {
            let code = rules.device.next_code();
            let body = json!({ "rules": wrong });
            rules.desk.client.admin_request(&rules.token, &code, "PUT", RULES, &body).await.refused(400, 1002);
        }
        assert_eq!(rules.desk.app.query("SELECT count(*) FROM role_rule"), ["0"]);
    }
}
