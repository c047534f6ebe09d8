//! Role rules: departments and tags of the platform that give roles.

use std::sync::Arc;

use deskpass_core::{EmployeeId, EmployeeKey, IdentifiedPerson, Memberships, Role, RoleRule, Roles};
use deskpass_platform::TagMember;
use deskpass_store::{
    AuditEvent, DirectoryChange, DirectoryTree, KnownTagMember, MemberDepartments, RoleOrigin, RuleEvaluation,
    RuleRolesOutcome, RuleSubject, SubjectPage,
};
use tokio::task::JoinSet;

use crate::{Auth, Error};

const PAGE_SIZE: i64 = 500;
/// How many people's roles change at the same time.
const CONCURRENT_CHANGES: usize = 16;

/// What rules change about a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleEffect {
    /// The person.
    pub employee: EmployeeKey,
    /// The person's name.
    pub name: String,
    /// The roles gained.
    pub gained: Roles,
    /// The roles lost.
    pub lost: Roles,
    /// Whether the person keeps the administrator role as the last administrator.
    pub kept_last_admin: bool,
}

/// All employees of the home corporation, in pages. The tree of departments is read once.
#[derive(Debug)]
pub(super) struct RuleSubjects {
    tree: Arc<DirectoryTree>,
    after: Option<String>,
}

impl RuleSubjects {
    pub(super) async fn of(auth: &Auth) -> Result<Self, Error> {
        let corp = auth.policy.home_corp.as_str().to_owned();
        Ok(Self { tree: Arc::new(auth.store.directory_tree(corp).await?), after: None })
    }

    /// The next page; `None` at the end.
    pub(super) async fn next(&mut self, auth: &Auth) -> Result<Option<Vec<RuleSubject>>, Error> {
        let (corp, after) = (auth.policy.home_corp.as_str().to_owned(), self.after.take());
        let page = SubjectPage { corp, after, limit: PAGE_SIZE, exact: auth.platform.kind().distinguishes_case() };
        let subjects = auth.store.rule_subjects(page, Arc::clone(&self.tree)).await?;
        self.after = subjects.last().map(|subject| subject.key.id().to_owned());
        Ok(Some(subjects).filter(|subjects| !subjects.is_empty()))
    }
}

/// What the department of a profile says, given what the directory knows of the person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Placement {
    /// Nothing new.
    Known,
    /// The person moved since the last synchronisation, or is new: what the former departments gave is over.
    Moved,
    /// The department is new, so that it is not known which departments are above it: what the person has stays until the next
    /// synchronisation, which must be soon.
    NewDepartment,
}

impl Placement {
    fn of(department: &str, MemberDepartments { direct, is_known }: &MemberDepartments) -> Self {
        if direct.contains(department) {
            Self::Known
        } else if *is_known || direct.is_empty() {
            Self::Moved
        } else {
            Self::NewDepartment
        }
    }
}

impl Auth {
    /// The rules of the settings file and the registered ones.
    pub(crate) async fn all_role_rules(&self) -> Result<Vec<RoleRule>, Error> {
        let registered = self.store.access_rules().await?;
        let registered = registered.role_rules(self.policy.home_corp.as_str());
        Ok(self.policy.people.role_rules.iter().chain(registered).cloned().collect())
    }

    /// Gives a person whose record was just read the roles of the rules. Without rules it reads and writes nothing: what the last rule
    /// gave ends when it is removed, or after the start or reload that removed it ([`Auth::apply_rules_of_settings`]).
    pub(crate) async fn apply_rules_to(&self, who: &IdentifiedPerson) -> Result<(), Error> {
        if who.key.corp() != self.policy.home_corp.as_str() {
            return Ok(());
        }
        if self.all_role_rules().await?.is_empty() {
            return Ok(());
        }
        let memberships = self.current_memberships(who).await?;
        self.apply_roles(&who.key, memberships).await.map(drop)
    }

    /// The groups of a person, with the department of the profile.
    async fn current_memberships(&self, who: &IdentifiedPerson) -> Result<Memberships, Error> {
        let corp = who.key.corp();
        let Some(member) = self.member_id(&who.employee_id) else { return Ok(Memberships::default()) };
        let in_directory = EmployeeKey::from_parts(corp, &member);
        let mut known = self.store.memberships_of(in_directory.clone()).await?;
        let Some(department) = who.department_id.clone().filter(|id| !id.is_empty()) else { return Ok(known) };
        let departments = self.store.member_departments(corp.to_owned(), member.clone(), department.clone()).await?;
        let placement = Placement::of(&department, &departments);
        if placement == Placement::Known {
            return Ok(known);
        }
        self.request_synchronisation().await?;
        if placement == Placement::NewDepartment {
            known.departments.insert(department);
            return Ok(known);
        }
        let change = DirectoryChange::SetMember { key: member, departments: vec![department] };
        self.store.change_directory(corp.to_owned(), vec![change]).await?;
        Ok(self.store.memberships_of(in_directory).await?)
    }

    async fn apply_roles(&self, employee: &EmployeeKey, memberships: Memberships) -> Result<RuleRolesOutcome, Error> {
        let now = self.clock.now();
        let entry = self.service_entry(AuditEvent::RuleRoles, employee, now, "")?;
        let file_rules = Arc::clone(&self.policy.people.role_rules);
        let evaluation = RuleEvaluation { key: employee.clone(), memberships, file_rules };
        let outcome = self.store.apply_rule_roles(evaluation, self.deny_until(now), entry).await?;
        if outcome.kept_last_admin {
            tracing::warn!(%employee, "a rule would take the administrator role from the last administrator, who keeps it");
        }
        Ok(outcome)
    }

    /// Gives everyone the roles of the rules after a start or a reload, whose settings may have other rules than before; returns what
    /// changed. Reads little if there are no rules and no one has a role from one.
    pub async fn apply_rules_of_settings(&self) -> Result<Vec<RuleEffect>, Error> {
        let home = self.policy.home_corp.as_str().to_owned();
        if self.all_role_rules().await?.is_empty() && !self.store.has_rule_roles(home).await? {
            return Ok(Vec::new());
        }
        self.apply_rules().await
    }

    /// Gives everyone the roles of the rules; returns what changed.
    pub(crate) async fn apply_rules(&self) -> Result<Vec<RuleEffect>, Error> {
        let rules = self.all_role_rules().await?;
        let (mut effects, mut subjects) = (Vec::new(), RuleSubjects::of(self).await?);
        while let Some(page) = subjects.next(self).await? {
            effects.extend(self.apply_to_page(page, &rules).await?);
        }
        Ok(effects)
    }

    /// Gives people the roles of the rules, several at a time: writes that arrive together share a commit.
    pub(super) async fn apply_to_page(
        &self,
        page: Vec<RuleSubject>,
        rules: &[RoleRule],
    ) -> Result<Vec<RuleEffect>, Error> {
        let (mut changes, mut effects) = (JoinSet::new(), Vec::new());
        for RuleSubject { key, name, by_rule, memberships, .. } in page {
            if memberships.roles(rules) == by_rule {
                continue;
            }
            if changes.len() >= CONCURRENT_CHANGES
                && let Some(Ok(change)) = changes.join_next().await
            {
                effects.extend(change?);
            }
            let auth = self.clone();
            changes.spawn(async move { auth.change_roles(key, name, memberships).await });
        }
        while let Some(joined) = changes.join_next().await {
            // A change that did not run to its end is repeated by the next synchronisation.
            effects.extend(joined.unwrap_or(Ok(None))?);
        }
        effects.sort_by(|one: &RuleEffect, other| one.employee.id().cmp(other.employee.id()));
        Ok(effects)
    }

    async fn change_roles(
        &self,
        employee: EmployeeKey,
        name: String,
        memberships: Memberships,
    ) -> Result<Option<RuleEffect>, Error> {
        let RuleRolesOutcome { gained, lost, kept_last_admin } = self.apply_roles(&employee, memberships).await?;
        let has_effect = !gained.is_empty() || !lost.is_empty() || kept_last_admin;
        Ok(has_effect.then_some(RuleEffect { employee, name, gained, lost, kept_last_admin }))
    }

    /// What these rules would change. `memberships_of` returns the groups of a member, given those that are stored.
    pub(crate) async fn preview_rules(
        &self,
        rules: &[RoleRule],
        memberships_of: impl Fn(&str, Memberships) -> Memberships + Send + Sync,
    ) -> Result<Vec<RuleEffect>, Error> {
        let (mut effects, mut subjects) = (Vec::new(), RuleSubjects::of(self).await?);
        while let Some(page) = subjects.next(self).await? {
            for subject in page {
                let member = self.subject_member(&subject).to_owned();
                let RuleSubject { key, name, held, by_rule, memberships, .. } = subject;
                let given = memberships_of(&member, memberships).roles(rules);
                let (gained, mut lost) = (difference(given, held), difference(by_rule, given));
                if !lost.is_empty() {
                    lost = difference(lost, held_otherwise(&self.store.role_origins(key.clone()).await?));
                }
                if !gained.is_empty() || !lost.is_empty() {
                    effects.push(RuleEffect { employee: key, name, gained, lost, kept_last_admin: false });
                }
            }
        }
        self.keep_last_admin(&mut effects).await?;
        Ok(effects)
    }

    /// The last of those who would lose the administrator role keeps it, if no administrator were left.
    async fn keep_last_admin(&self, effects: &mut [RuleEffect]) -> Result<(), Error> {
        let losers = effects.iter().filter(|effect| effect.lost.holds(Role::Admin)).count();
        let becomes_admin = effects.iter().any(|effect| effect.gained.holds(Role::Admin));
        let Some(last) = effects.iter_mut().rfind(|effect| effect.lost.holds(Role::Admin)) else { return Ok(()) };
        let home = self.policy.home_corp.as_str().to_owned();
        let admins = self.store.administrators(home, self.deployment_key(), losers + 1).await?;
        if admins.len() <= losers && !becomes_admin {
            (last.lost, last.kept_last_admin) = (last.lost.without(Role::Admin), true);
        }
        Ok(())
    }

    /// A member of a tag as it is stored; `None` for a member who cannot be an employee.
    pub(super) fn known_tag_member(&self, member: TagMember) -> Option<KnownTagMember> {
        match member {
            TagMember::Member(userid) => Some(KnownTagMember::Member(self.member_id(&userid)?)),
            TagMember::Department(id) => Some(KnownTagMember::Department(id)),
        }
    }

    /// The identifier of a member in the stored directory: as the platform writes it if the platform distinguishes case, since two
    /// members may have the same key then. `None` for a member who cannot be an employee.
    pub(super) fn member_id(&self, userid: &str) -> Option<String> {
        let id = EmployeeId::parse(userid).ok()?;
        let exact = self.platform.kind().distinguishes_case();
        Some(if exact { id.as_str().to_owned() } else { id.as_str().to_ascii_lowercase() })
    }

    /// The identifier of an employee in the stored directory.
    pub(super) fn subject_member<'a>(&self, subject: &'a RuleSubject) -> &'a str {
        if self.platform.kind().distinguishes_case() { &subject.employee_id } else { subject.key.id() }
    }
}

/// The roles that a person holds for other reasons than rules.
fn held_otherwise(origins: &[RoleOrigin]) -> Roles {
    origins.iter().filter(|origin| origin.by_hand || origin.until.is_some()).map(|origin| origin.role).collect()
}

/// The roles of one set that are not in another.
fn difference(roles: Roles, others: Roles) -> Roles {
    roles.iter().filter(|role| !others.holds(*role)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_up_the_tree_is_a_move_and_a_new_department_keeps_what_there_is() {
        let known = |direct: &[&str], is_known| MemberDepartments {
            direct: direct.iter().map(|id| (*id).to_owned()).collect(),
            is_known,
        };
        for (department, departments, placement) in [
            ("7", known(&["7", "9"], true), Placement::Known),
            // The department above: its role is held already, that of the former one is over.
            ("2", known(&["7"], true), Placement::Moved),
            ("7", known(&[], true), Placement::Moved),
            ("7", known(&[], false), Placement::Moved),
            ("99", known(&["7"], false), Placement::NewDepartment),
            // A department that was read with a member but not listed.
            ("99", known(&["99"], false), Placement::Known),
        ] {
            assert_eq!(Placement::of(department, &departments), placement, "{department} {departments:?}");
        }
    }
}
