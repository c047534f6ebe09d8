//! The role rules of the settings file.

use deskpass_core::{Role, RoleRule, RuleGroup};

use super::TestSources;

const TWO: &str =
    "[[role_rules]]\nrole = \"agent\"\ndepartment = 7\n[[role_rules]]\nrole = \"supervisor\"\ntag = \"od-x\"\n";

#[track_caller]
fn refused(text: &str, expected: &str) {
    assert_eq!(TestSources::production().toml(text).problems(), expected);
}

#[test]
fn rules_arrive_and_are_shown() {
    let given = TestSources::production().toml(TWO);
    assert_eq!(
        given.settings().role_rules,
        [
            RoleRule { role: Role::Agent, group: RuleGroup::Department("7".to_owned()) },
            RoleRule { role: Role::Supervisor, group: RuleGroup::Tag("od-x".to_owned()) },
        ]
    );
    assert_eq!(
        given.shown("role_rules[0]"),
        "role_rules[0] = { role = \"agent\", department = \"7\" } # deskpass.toml:1"
    );
    assert_eq!(TestSources::production().toml("role_rules = []").settings().role_rules, []);
    let (_, diff) = TestSources::production().settings().reload(given.settings());
    assert_eq!(diff.reloaded, ["role_rules"]);
}

#[test]
fn a_rule_that_is_not_complete_is_refused_with_its_line() {
    let rule = |lines: &str| format!("[[role_rules]]\n{lines}");
    refused(
        &rule("department = 7"),
        "role_rules[0] (deskpass.toml:1): it has no role; set role to the role that the members hold",
    );
    refused(
        &rule("role = \"agent\""),
        "role_rules[0] (deskpass.toml:1): it has neither a department nor a tag; set one of the two",
    );
    refused(
        &rule("role = \"agent\"\ndepartment = 7\ntag = 8"),
        "role_rules[0] (deskpass.toml:1): it has both a department and a tag; make two rules of it",
    );
    refused(
        &rule("role = \"boss\"\ndepartment = 7"),
        "role_rules[0].role (deskpass.toml:2): there is no role \"boss\"; expected one of \"admin\", \"agent\", \"user\", \
         \"supervisor\", \"security\"",
    );
    refused(
        &rule("role = \"agent\"\ndepartment = \"a b\""),
        "role_rules[0].department (deskpass.toml:3): \"a b\" is not an id; expected an id of the platform such as \"7\"",
    );
    refused(
        &rule("role = \"agent\"\ndepartement = 7"),
        "role_rules[0].departement (deskpass.toml:3): there is no such key; the nearest known key is department",
    );
    refused(
        &format!("{TWO}{}", rule("role = \"agent\"\ndepartment = \"7\"")),
        "role_rules[2] (deskpass.toml:7): another rule says the same; remove one of the two",
    );
}

#[test]
fn an_array_of_tables_is_told_from_anything_else() {
    refused(
        "[role_rules]\nrole = \"agent\"",
        "role_rules (deskpass.toml:1): this is a single table: its name has single brackets; begin each rule with \
         [[role_rules]]",
    );
    refused("role_rules = 1", "role_rules (deskpass.toml:1): this is not a table; begin each rule with [[role_rules]]");
    refused(
        "[[role_rule]]\nrole = \"agent\"",
        "role_rule (deskpass.toml:1): there is no such key; the nearest known key is role_rules",
    );
    let given = TestSources::production().variable("DESKPASS_ROLE_RULES", "agent");
    assert_eq!(
        given.problems(),
        "environment DESKPASS_ROLE_RULES: only the settings file has role rules; begin each with [[role_rules]] there"
    );
}
