//! The role rules of the settings file: an array of tables, which no environment variable sets.

use deskpass_core::{Role, RoleRule, RuleGroup};
use toml::de::{DeTable, DeValue};

use super::declaration::ROLE_RULES;
use super::nearest_word::nearest_word;
use super::origin::Origin;
use super::problem::ConfigProblem;
use super::raw::{RawSetting, quoted};
use super::toml_source::{TomlSource, raw};

/// The most characters of the id of a department or a tag.
const MAX_ID_CHARS: usize = 64;

const BRACKETS: &str = "begin each rule with [[role_rules]]";

/// A key of a rule.
pub(super) struct RuleKey {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    /// The expected form of a value; it ends a sentence.
    pub(super) expected: &'static str,
    /// The value in the example file, in TOML; `None` for a key that the example file only describes.
    pub(super) sample: Option<&'static str>,
}

/// Describes the rules in the example file.
pub(super) const ABOUT_RULES: &str = "\
A role rule: the members of a department or of a tag hold a role for as long as they are members. Each rule is a table of its own. \
Rules can also be added while the service runs, in the administration; those of this file cannot be changed there. Rules are applied \
at each sign-in and by the synchronisation; `deskpass sync --dry-run` shows what they would change. No environment variable sets a \
rule.";

/// Every key, in the order of the example file.
pub(super) static RULE_KEYS: [RuleKey; 3] = [
    RuleKey {
        name: "role",
        help: "The role that the members hold. Required.",
        expected: r#"one of "admin", "agent", "user", "supervisor", "security""#,
        sample: Some(r#""agent""#),
    },
    RuleKey {
        name: "department",
        help: "The department's id at the platform, with all departments below it. A rule has a department or a tag.",
        expected: r#"an id of the platform such as "7""#,
        sample: Some(r#""7""#),
    },
    RuleKey {
        name: "tag",
        help: "In place of department, the key tag has the id of a tag (标签); of a role (角色) or a user group (用户组), where the \
               platform has those instead.",
        expected: r#"an id of the platform such as "12""#,
        sample: None,
    },
];

/// A rule of the file, with its place.
#[derive(Clone, Debug)]
pub(super) struct ListedRule {
    pub(super) rule: RoleRule,
    pub(super) origin: Origin,
    position: usize,
}

/// Reads the value of [`ROLE_RULES`]; also returns all problems. A rule with a problem is left out.
pub(super) fn read(
    document: &TomlSource<'_>,
    value: &DeValue<'_>,
    origin: &Origin,
) -> (Vec<ListedRule>, Vec<ConfigProblem>) {
    if let DeValue::Table(_) = value {
        let what = "this is a single table: its name has single brackets";
        return (Vec::new(), vec![ConfigProblem::new(ROLE_RULES, what, BRACKETS).at(origin)]);
    }
    let no_table = |origin: &Origin| ConfigProblem::new(ROLE_RULES, "this is not a table", BRACKETS).at(origin);
    let DeValue::Array(items) = value else { return (Vec::new(), vec![no_table(origin)]) };
    let (mut rules, mut problems): (Vec<ListedRule>, _) = (Vec::new(), Vec::new());
    for (position, item) in items.iter().enumerate() {
        let origin = document.origin(item.span());
        let DeValue::Table(table) = item.get_ref() else {
            problems.push(no_table(&origin));
            continue;
        };
        match rule(document, table, &origin, position) {
            Ok(rule) if rules.iter().any(|other| other.rule == rule) => {
                let problem = ConfigProblem::new(name(position), "another rule says the same", "remove one of the two");
                problems.push(problem.at(&origin));
            }
            Ok(rule) => rules.push(ListedRule { rule, origin, position }),
            Err(found) => problems.extend(found),
        }
    }
    (rules, problems)
}

fn rule(
    document: &TomlSource<'_>,
    table: &DeTable<'_>,
    origin: &Origin,
    position: usize,
) -> Result<RoleRule, Vec<ConfigProblem>> {
    let (mut found, mut problems) = (RuleFields::default(), Vec::new());
    for (key, value) in table {
        let (given, at) = (key.get_ref().to_string(), document.origin(key.span()));
        let Some(key) = RULE_KEYS.iter().find(|key| key.name == given) else {
            let near = nearest_word(&given, RULE_KEYS.iter().map(|key| key.name)).unwrap_or_default();
            let subject = format!("{}.{}", name(position), given.escape_debug());
            let fix = format!("the nearest known key is {near}");
            problems.push(ConfigProblem::new(subject, "there is no such key", fix).at(&at));
            continue;
        };
        if let Err(what) = found.set(key.name, &raw(value.get_ref())) {
            let (subject, fix) = (format!("{}.{}", name(position), key.name), format!("expected {}", key.expected));
            problems.push(ConfigProblem::new(subject, what, fix).at(&at));
        }
    }
    if problems.is_empty() {
        return found.complete().map_err(|[what, fix]| {
            let problem = ConfigProblem::new(name(position), what, fix).at(origin);
            vec![problem]
        });
    }
    Err(problems)
}

/// What a table says so far.
#[derive(Default)]
struct RuleFields {
    role: Option<Role>,
    department: Option<String>,
    tag: Option<String>,
}

impl RuleFields {
    fn set(&mut self, key: &str, raw: &RawSetting) -> Result<(), String> {
        match key {
            "role" => {
                let name = raw.text()?;
                let role = Role::from_name(name).ok_or_else(|| format!("there is no role {}", quoted(name)))?;
                self.role = Some(role);
            }
            "department" => self.department = Some(id(raw)?),
            "tag" => self.tag = Some(id(raw)?),
            _ => {}
        }
        Ok(())
    }

    /// The rule, or what is wrong with it as a whole and how to fix it.
    fn complete(self) -> Result<RoleRule, [&'static str; 2]> {
        let role = self.role.ok_or(["it has no role", "set role to the role that the members hold"])?;
        let group = match (self.department, self.tag) {
            (Some(id), None) => RuleGroup::Department(id),
            (None, Some(id)) => RuleGroup::Tag(id),
            (Some(_), Some(_)) => return Err(["it has both a department and a tag", "make two rules of it"]),
            (None, None) => return Err(["it has neither a department nor a tag", "set one of the two"]),
        };
        Ok(RoleRule { role, group })
    }
}

/// Consoles show ids as numbers, so the file may contain them without quotes.
fn id(raw: &RawSetting) -> Result<String, String> {
    let text = raw.text_or_integer()?;
    let is_plain = |character: char| !character.is_whitespace() && !character.is_control();
    let fits = (1..=MAX_ID_CHARS).contains(&text.chars().count()) && text.chars().all(is_plain);
    if fits { Ok(text) } else { Err(format!("{} is not an id", quoted(&text))) }
}

fn name(position: usize) -> String {
    format!("{ROLE_RULES}[{position}]")
}

impl ListedRule {
    /// The name in `config show`.
    pub(super) fn name(&self) -> String {
        name(self.position)
    }

    /// The rule as `config show` prints it.
    pub(super) fn shown(&self) -> String {
        let (kind, id) = match &self.rule.group {
            RuleGroup::Department(id) => ("department", id),
            RuleGroup::Tag(id) => ("tag", id),
        };
        let (role, id) = (toml::Value::from(self.rule.role.name()), toml::Value::from(id.as_str()));
        format!("{{ role = {role}, {kind} = {id} }}")
    }
}
