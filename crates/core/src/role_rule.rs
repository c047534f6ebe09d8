//! Rules that give roles to the members of a department or of a tag.

use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use crate::{Role, Roles};

/// A rule: the members of a group hold a role for as long as they are members.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RoleRule {
    /// The role.
    pub role: Role,
    /// The group.
    pub group: RuleGroup,
}

/// A group of people at the platform, by the platform's identifier.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleGroup {
    /// A department with all its descendants.
    Department(String),
    /// A tag. Platforms also call it a role or a user group.
    Tag(String),
}

/// The groups that a person belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memberships {
    /// The ids of the person's departments and of all departments above them.
    pub departments: BTreeSet<String>,
    /// The ids of the person's tags.
    pub tags: BTreeSet<String>,
}

impl Memberships {
    /// The memberships of a person with these departments and tags. `parents` has the parent of each department.
    pub fn new<'a>(
        departments: impl IntoIterator<Item = &'a str>,
        tags: impl IntoIterator<Item = &'a str>,
        parents: &'a HashMap<String, String>,
    ) -> Self {
        let mut above = BTreeSet::new();
        for department in departments {
            let mut next = Some(department);
            // A department that was seen ends the walk, so that a tree with a loop ends as well.
            while let Some(id) = next.filter(|id| above.insert((*id).to_owned())) {
                next = parents.get(id).map(String::as_str);
            }
        }
        Self { departments: above, tags: tags.into_iter().map(str::to_owned).collect() }
    }

    /// The roles that these rules give to the person.
    #[must_use]
    pub fn roles(&self, rules: &[RoleRule]) -> Roles {
        let applies = |rule: &&RoleRule| match &rule.group {
            RuleGroup::Department(id) => self.departments.contains(id),
            RuleGroup::Tag(id) => self.tags.contains(id),
        };
        rules.iter().filter(applies).map(|rule| rule.role).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_department_includes_its_descendants_and_a_loop_ends() {
        let parents: HashMap<String, String> =
            [("3", "2"), ("2", "1"), ("8", "9"), ("9", "8")].map(|(of, is)| (of.to_owned(), is.to_owned())).into();
        let rules = [
            RoleRule { role: Role::Agent, group: RuleGroup::Department("2".into()) },
            RoleRule { role: Role::Supervisor, group: RuleGroup::Tag("t".into()) },
            RoleRule { role: Role::Admin, group: RuleGroup::Department("t".into()) },
        ];
        let given = |departments: &[&str], tags: &[&str]| {
            Memberships::new(departments.iter().copied(), tags.iter().copied(), &parents).roles(&rules)
        };
        assert_eq!(given(&["3"], &[]), Roles::NONE.with(Role::Agent));
        assert_eq!(given(&["2"], &["t"]), Roles::NONE.with(Role::Agent).with(Role::Supervisor));
        assert_eq!(given(&["1"], &["2"]), Roles::NONE);
        assert_eq!(given(&["8"], &[]), Roles::NONE);
    }
}
