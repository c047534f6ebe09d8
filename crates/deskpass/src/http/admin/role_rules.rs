//! Role rules: which departments and tags of the platform give which roles.

use deskpass_auth::{RoleRules, RuleEffect};
use deskpass_core::{Role, RoleRule, Roles, RuleGroup};
use deskpass_store::KnownDepartment;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::App;
use crate::http::error::{ApiError, FieldError};
use crate::http::request::{
    FieldKind, FieldSpec, FieldValue, FromFields, GivenValue, HighRisk, HomeAdmin, HomeOnly, JsonBody,
    run_to_completion,
};
use crate::http::response::{Reply, RoleName};

/// The most rules.
const MAX_RULES: usize = 200;
/// The most departments, tags, and people in an answer.
const MAX_SHOWN: usize = 2_000;
/// The longest id of a department or a tag.
const MAX_ID_BYTES: usize = 64;

/// The error of a list of rules.
const RULES_FORMAT: [&str; 2] = [
    "must be a list of at most 200 rules, each with a role and either a department or a tag, by its id at the platform",
    "必须是最多 200 条规则的列表，每条规则包含角色，以及部门或标签之一（使用平台中的编号）",
];

/// The fields of a rule.
const RULE_FIELDS: &[FieldSpec] = &[
    FieldSpec { name: "role", kind: FieldKind::OneOf(&Role::NAMES), required: true, doc: "" },
    FieldSpec { name: "department", kind: FieldKind::Text, required: false, doc: "" },
    FieldSpec { name: "tag", kind: FieldKind::Text, required: false, doc: "" },
];

/// A rule.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "RoleRule")]
pub(crate) struct RuleShown {
    role: RoleName,
    department: Option<String>,
    tag: Option<String>,
    /// Whether the rule is declared in the settings file, and can only be changed there.
    from_file: bool,
}

impl RuleShown {
    fn of(RoleRule { role, group }: RoleRule, from_file: bool) -> Self {
        let (department, tag) = match group {
            RuleGroup::Department(id) => (Some(id), None),
            RuleGroup::Tag(id) => (None, Some(id)),
        };
        Self { role: RoleName(role), department, tag, from_file }
    }
}

/// A department of the platform.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "RuleDepartment")]
pub(crate) struct DepartmentShown {
    id: String,
    parent: Option<String>,
    name: String,
}

impl From<KnownDepartment> for DepartmentShown {
    fn from(KnownDepartment { id, parent, name }: KnownDepartment) -> Self {
        Self { id, parent, name }
    }
}

/// A tag of the platform.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "RuleTag")]
pub(crate) struct TagShown {
    id: String,
    name: String,
}

/// All rules, and the groups that rules can name.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "RoleRules")]
pub(crate) struct RulesShown {
    rules: Vec<RuleShown>,
    departments: Vec<DepartmentShown>,
    department_count: usize,
    tags: Vec<TagShown>,
    tag_count: usize,
}

impl From<RoleRules> for RulesShown {
    fn from(RoleRules { file, registered, departments, tags }: RoleRules) -> Self {
        let file = file.into_iter().map(|rule| RuleShown::of(rule, true));
        let registered = registered.into_iter().map(|rule| RuleShown::of(rule, false));
        Self {
            rules: file.chain(registered).collect(),
            department_count: departments.len(),
            departments: departments.into_iter().take(MAX_SHOWN).map(DepartmentShown::from).collect(),
            tag_count: tags.len(),
            tags: tags.into_iter().take(MAX_SHOWN).map(|(id, name)| TagShown { id, name }).collect(),
        }
    }
}

/// Returns all rules, and the departments and tags as of the last synchronisation.
pub(crate) async fn show(app: App, HomeAdmin(admin): HomeAdmin) -> Result<Reply<RulesShown>, ApiError> {
    Ok(Reply(admin.administrator(&app).role_rules().await?.into()))
}

/// The rules to register, in place of those that are registered. Rules of the settings file stay.
#[derive(Debug, FromFields)]
pub(crate) struct ProposedRules {
    rules: RuleList,
}

/// A list of rules.
#[derive(Debug)]
struct RuleList(Vec<RoleRule>);

/// A rule as a client writes it.
#[derive(Deserialize)]
struct GivenRule {
    role: String,
    department: Option<String>,
    tag: Option<String>,
}

impl GivenRule {
    /// The rule; `None` if it names no role, or not exactly one group.
    fn parse(self) -> Option<RoleRule> {
        let is_id = |id: &String| {
            (1..=MAX_ID_BYTES).contains(&id.len()) && !id.chars().any(|c| c.is_control() || c.is_whitespace())
        };
        let group = match (self.department, self.tag) {
            (Some(id), None) => Some(id).filter(is_id).map(RuleGroup::Department),
            (None, Some(id)) => Some(id).filter(is_id).map(RuleGroup::Tag),
            _ => None,
        };
        Some(RoleRule { role: Role::from_name(&self.role)?, group: group? })
    }
}

impl FieldValue for RuleList {
    fn kind() -> FieldKind {
        FieldKind::ObjectList(RULE_FIELDS, MAX_RULES)
    }

    fn read(given: GivenValue) -> Result<Self, FieldError> {
        let rules: Option<Vec<GivenRule>> = match given {
            GivenValue::Text(_) => None,
            GivenValue::Json(value) => serde_json::from_value(value).ok(),
        };
        let rules = rules.filter(|rules| rules.len() <= MAX_RULES);
        let rules = rules.and_then(|rules| rules.into_iter().map(GivenRule::parse).collect::<Option<Vec<_>>>());
        rules.map(Self).ok_or(FieldError::Format(RULES_FORMAT))
    }
}

/// The people whose roles the rules change.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct RuleEffects {
    items: Vec<EffectShown>,
    count: usize,
}

/// What the rules change for an employee.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "RuleEffect")]
pub(crate) struct EffectShown {
    corp_id: String,
    employee_id: String,
    name: String,
    #[schemars(with = "Vec<RoleName>")]
    gained: Roles,
    #[schemars(with = "Vec<RoleName>")]
    lost: Roles,
    kept_last_admin: bool,
}

impl From<Vec<RuleEffect>> for RuleEffects {
    fn from(effects: Vec<RuleEffect>) -> Self {
        let shown = |RuleEffect { employee, name, gained, lost, kept_last_admin }: RuleEffect| {
            let (corp_id, employee_id) = (employee.corp().to_owned(), employee.id().to_owned());
            EffectShown { corp_id, employee_id, name, gained, lost, kept_last_admin }
        };
        Self { count: effects.len(), items: effects.into_iter().take(MAX_SHOWN).map(shown).collect() }
    }
}

/// Replaces the registered rules, applies all rules, and returns whose roles changed.
pub(crate) async fn replace(
    app: App,
    HighRisk(admin, HomeOnly(JsonBody(input))): HighRisk<HomeOnly<JsonBody<ProposedRules>>>,
) -> Result<Reply<RuleEffects>, ApiError> {
    let RuleList(rules) = input.rules;
    let work = async move { admin.administrator(&app).set_role_rules(rules).await };
    Ok(Reply(run_to_completion(work).await?.into()))
}

/// Returns whose roles the rules would change, without a change.
pub(crate) async fn dry_run(
    app: App,
    HomeAdmin(admin): HomeAdmin,
    JsonBody(input): JsonBody<ProposedRules>,
) -> Result<Reply<RuleEffects>, ApiError> {
    let RuleList(rules) = input.rules;
    Ok(Reply(admin.administrator(&app).preview_role_rules(rules).await?.into()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_rule_has_a_role_and_one_group() {
        let read = |rules: Value| RuleList::read(GivenValue::Json(rules)).map(|RuleList(rules)| rules);
        let both = json!([{ "role": "agent", "department": "3" }, { "role": "admin", "tag": "t", "department": null }]);
        let rules = [
            RoleRule { role: Role::Agent, group: RuleGroup::Department("3".into()) },
            RoleRule { role: Role::Admin, group: RuleGroup::Tag("t".into()) },
        ];
        assert_eq!(read(both), Ok(rules.to_vec()));
        assert_eq!(read(json!([])), Ok(Vec::new()));
        for wrong in [
            json!({}),
            json!("x"),
            json!([{ "role": "agent" }]),
            json!([{ "role": "agent", "department": "3", "tag": "t" }]),
            json!([{ "role": "chief", "department": "3" }]),
            json!([{ "role": "agent", "department": "" }]),
            json!([{ "role": "agent", "department": 3 }]),
            json!([{ "role": "agent", "department": "a b" }]),
            json!(vec![json!({ "role": "agent", "department": "3" }); MAX_RULES + 1]),
        ] {
            assert_eq!(read(wrong.clone()), Err(FieldError::Format(RULES_FORMAT)), "{wrong}");
        }
    }
}
