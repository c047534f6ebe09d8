//! Role rules: which departments and tags of the platform give which roles.

use deskpass_auth::{RoleRules, RuleEffect};
use deskpass_core::{Role, RoleRule, Roles, RuleGroup};
use deskpass_store::KnownDepartment;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::App;
use crate::http::error::{ApiError, FieldError};
use crate::http::request::{
    Admin, CheckedInput, FieldKind, FieldSpec, FieldValue, FromFields, GivenValue, HighRisk, HomeAdmin, HomeOnly,
    InBody, JsonBody, run_to_completion, whole_number,
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
    FieldSpec { name: "department", kind: FieldKind::TextOrNumber, required: false, doc: "" },
    FieldSpec { name: "tag", kind: FieldKind::TextOrNumber, required: false, doc: "" },
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
    synchronised: bool,
}

impl From<RoleRules> for RulesShown {
    fn from(RoleRules { file, registered, departments, tags }: RoleRules) -> Self {
        let file = file.into_iter().map(|rule| RuleShown::of(rule, true));
        let registered = registered.into_iter().map(|rule| RuleShown::of(rule, false));
        Self {
            rules: file.chain(registered).collect(),
            synchronised: !departments.is_empty(),
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

/// What is wrong with a rule, in English and Chinese.
type RuleProblem = [String; 2];

/// The error of the rule at an index.
fn rule_error(index: usize, [english, chinese]: RuleProblem) -> FieldError {
    FieldError::Part([format!("rules[{index}]: {english}"), format!("rules[{index}]：{chinese}")])
}

fn problem([english, chinese]: [&str; 2]) -> RuleProblem {
    [english.to_owned(), chinese.to_owned()]
}

/// Reads a rule.
fn parse_rule(given: &Value) -> Result<RoleRule, RuleProblem> {
    let Value::Object(fields) = given else { return Err(problem(["it is not an object", "不是对象"])) };
    let role = match fields.get("role") {
        None | Some(Value::Null) => return Err(problem(["it has no role", "缺少 role"])),
        Some(Value::String(name)) => Role::from_name(name).ok_or_else(|| {
            let names = Role::NAMES.join(", ");
            let name = name.chars().take(MAX_ID_BYTES).collect::<String>();
            [format!("there is no role {name:?}: use one of {names}"), format!("没有角色 {name:?}，可用：{names}")]
        })?,
        Some(_) => return Err(problem(["role is not a text", "role 不是文本"])),
    };
    let group = match (parse_id(fields, "department")?, parse_id(fields, "tag")?) {
        (Some(id), None) => RuleGroup::Department(id),
        (None, Some(id)) => RuleGroup::Tag(id),
        (Some(_), Some(_)) => {
            return Err(problem([
                "it has both a department and a tag: make two rules of it",
                "不能同时包含 department 和 tag，请分为两条规则",
            ]));
        }
        (None, None) => {
            return Err(problem(["it has neither a department nor a tag", "缺少 department 或 tag"]));
        }
    };
    Ok(RoleRule { role, group })
}

/// Reads the id of a group. Consoles show ids as numbers, so a number is accepted too.
fn parse_id(fields: &Map<String, Value>, name: &str) -> Result<Option<String>, RuleProblem> {
    let id = match fields.get(name) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(id)) => id.clone(),
        Some(Value::Number(number)) => match number.as_u64().or_else(|| whole_number(number.as_f64()?)) {
            Some(id) if u32::try_from(id).is_ok() => id.to_string(),
            _ => return Err([format!("{name} {number} is not an id"), format!("{name} {number} 不是编号")]),
        },
        Some(_) => return Err([format!("{name} is not a text"), format!("{name} 不是文本")]),
    };
    if (1..=MAX_ID_BYTES).contains(&id.len()) && !id.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Ok(Some(id));
    }
    Err([
        format!("{name} must be an id of 1 to {MAX_ID_BYTES} bytes without spaces"),
        format!("{name} 必须是 1 到 {MAX_ID_BYTES} 字节且不含空格的编号"),
    ])
}

impl FieldValue for RuleList {
    fn kind() -> FieldKind {
        FieldKind::ObjectList(RULE_FIELDS, MAX_RULES)
    }

    fn read(given: GivenValue) -> Result<Self, FieldError> {
        let rules = match given {
            GivenValue::Json(Value::Array(rules)) if rules.len() <= MAX_RULES => rules,
            _ => return Err(FieldError::Format(RULES_FORMAT)),
        };
        let read = |(index, rule): (usize, &Value)| parse_rule(rule).map_err(|problem| rule_error(index, problem));
        rules.iter().enumerate().map(read).collect::<Result<Vec<_>, _>>().map(Self)
    }
}

/// Refuses rules for groups that the directory does not have; returns whether a directory is known. Registered rules pass, so that a
/// group that is gone does not prevent other changes.
fn require_known_groups(rules: &[RoleRule], known: &RoleRules) -> Result<bool, ApiError> {
    if known.departments.is_empty() {
        return Ok(false);
    }
    for (index, rule) in rules.iter().enumerate().filter(|(_, rule)| !known.registered.contains(rule)) {
        if let Some(problem) = unknown_group(&rule.group, known) {
            return Err(ApiError::field("rules", rule_error(index, problem)));
        }
    }
    Ok(true)
}

/// Rules for groups that the directory has, which is checked before the one-time password or the approval is used.
#[derive(Debug)]
pub(crate) struct KnownRules {
    rules: Vec<RoleRule>,
    /// Whether a directory is known.
    synchronised: bool,
}

impl CheckedInput for KnownRules {
    type Fields = ProposedRules;
    async fn check(fields: ProposedRules, admin: &Admin, app: &App) -> Result<Self, ApiError> {
        let RuleList(rules) = fields.rules;
        let synchronised = require_known_groups(&rules, &admin.administrator(app).role_rules().await?)?;
        Ok(Self { rules, synchronised })
    }
}

/// Why a group is not known; `None` if it is.
fn unknown_group(group: &RuleGroup, known: &RoleRules) -> Option<RuleProblem> {
    let (kind, id, groups): (_, _, Vec<(&str, &str)>) = match group {
        RuleGroup::Department(id) if known.has_department(id) => return None,
        RuleGroup::Department(id) => {
            (["department", "部门"], id, known.departments.iter().map(|one| (&*one.id, &*one.name)).collect())
        }
        // Without any tag, the platform may not tell them.
        RuleGroup::Tag(_) if known.tags.is_empty() => return None,
        RuleGroup::Tag(id) => (["tag", "标签"], id, known.tags.iter().map(|(id, name)| (&**id, &**name)).collect()),
    };
    if groups.iter().any(|(known, _)| known == id) {
        return None;
    }
    let wanted = id.to_lowercase();
    let [english, chinese] = kind;
    if let Some((known, name)) = groups.iter().find(|(_, name)| name.to_lowercase() == wanted) {
        return Some([
            format!("{name:?} is the name of {english} {known}: use the id"),
            format!("{name:?} 是{chinese} {known} 的名称，请使用编号"),
        ]);
    }
    let near = |(known, name): &&(&str, &str)| {
        name.to_lowercase().contains(&wanted) || known.starts_with(id.as_str()) || id.starts_with(known)
    };
    let [near_english, near_chinese] = groups.iter().find(near).map_or_else(Default::default, |(known, name)| {
        [format!("; the nearest is {known} ({name})"), format!("；最接近的是 {known}（{name}）")]
    });
    Some([
        format!("the last synchronisation found no {english} {id:?}{near_english}"),
        format!("最近一次同步未发现{chinese} {id:?}{near_chinese}"),
    ])
}

/// The people whose roles the rules change.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct RuleEffects {
    items: Vec<EffectShown>,
    count: usize,
    synchronised: bool,
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

impl RuleEffects {
    fn new(effects: Vec<RuleEffect>, synchronised: bool) -> Self {
        let shown = |RuleEffect { employee, name, gained, lost, kept_last_admin }: RuleEffect| {
            let (corp_id, employee_id) = (employee.corp().to_owned(), employee.id().to_owned());
            EffectShown { corp_id, employee_id, name, gained, lost, kept_last_admin }
        };
        let count = effects.len();
        Self { count, items: effects.into_iter().take(MAX_SHOWN).map(shown).collect(), synchronised }
    }
}

/// Replaces the registered rules, applies all rules, and returns whose roles changed.
pub(crate) async fn replace(
    app: App,
    HighRisk(admin, HomeOnly(InBody(checked))): HighRisk<HomeOnly<InBody<KnownRules>>>,
) -> Result<Reply<RuleEffects>, ApiError> {
    let KnownRules { rules, synchronised } = checked;
    let work = async move { admin.administrator(&app).set_role_rules(rules).await };
    Ok(Reply(RuleEffects::new(run_to_completion(work).await?, synchronised)))
}

/// Returns whose roles the rules would change, without a change.
pub(crate) async fn dry_run(
    app: App,
    HomeAdmin(admin): HomeAdmin,
    JsonBody(input): JsonBody<ProposedRules>,
) -> Result<Reply<RuleEffects>, ApiError> {
    let RuleList(rules) = input.rules;
    let administrator = admin.administrator(&app);
    let synchronised = require_known_groups(&rules, &administrator.role_rules().await?)?;
    Ok(Reply(RuleEffects::new(administrator.preview_role_rules(rules).await?, synchronised)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_rule_has_a_role_and_one_group() {
        let read = |rules: Value| RuleList::read(GivenValue::Json(rules)).map(|RuleList(rules)| rules);
        let both = json!([{ "role": "agent", "department": 3 }, { "role": "admin", "tag": "t", "department": null }]);
        let rules = [
            RoleRule { role: Role::Agent, group: RuleGroup::Department("3".into()) },
            RoleRule { role: Role::Admin, group: RuleGroup::Tag("t".into()) },
        ];
        assert_eq!(read(both), Ok(rules.to_vec()));
        assert_eq!(read(json!([])), Ok(Vec::new()));
        let too_many = json!(vec![json!({ "role": "agent", "department": "3" }); MAX_RULES + 1]);
        for wrong in [json!({}), json!("x"), too_many] {
            assert_eq!(read(wrong.clone()), Err(FieldError::Format(RULES_FORMAT)), "{wrong}");
        }
        for (wrong, why) in [
            (json!({ "role": "agent" }), "neither a department nor a tag"),
            (json!({ "role": "agent", "department": "3", "tag": "t" }), "both a department and a tag"),
            (json!({ "role": "chief", "department": "3" }), "there is no role \"chief\""),
            (json!({ "department": "3" }), "it has no role"),
            (json!({ "role": "agent", "department": "" }), "department must be an id"),
            (json!({ "role": "agent", "department": "a b" }), "department must be an id"),
            (json!({ "role": "agent", "tag": [] }), "tag is not a text"),
        ] {
            let Err(FieldError::Part([text, _])) = read(json!([{ "role": "agent", "tag": "t" }, wrong])) else {
                panic!("{why}");
            };
            assert!(text.starts_with("rules[1]: ") && text.contains(why), "{text}");
        }
    }

    #[test]
    fn a_group_that_the_directory_does_not_have_is_refused_with_the_nearest() {
        let sales = KnownDepartment { id: "4".into(), parent: Some("1".into()), name: "Sales".into() };
        let known = RoleRules { file: vec![], registered: vec![], departments: vec![sales], tags: vec![] };
        let why = |id: &str| unknown_group(&RuleGroup::Department(id.into()), &known).map(|[text, _]| text);
        assert_eq!((why("4"), why("1")), (None, None), "the root is known as a parent");
        assert_eq!(why("sales").as_deref(), Some("\"Sales\" is the name of department 4: use the id"));
        let text = "the last synchronisation found no department \"44\"; the nearest is 4 (Sales)";
        assert_eq!(why("44").as_deref(), Some(text));
        assert_eq!(unknown_group(&RuleGroup::Tag("t".into()), &known), None);
    }
}
