//! Role rules: departments and tags of the platform that give roles.

use deskpass_core::{EmployeeId, EmployeeKey, IdentifiedPerson, Memberships, Role, RoleRule, Roles, RuleGroup};
use deskpass_platform::TagMember;
use deskpass_store::{AuditEvent, DirectoryChange, KnownTagMember, RoleOrigin, RuleRolesOutcome, RuleSubject};
use tokio::task::JoinSet;

use crate::{Auth, Error};

const PAGE_SIZE: i64 = 500;
/// How many people's roles change at the same time.
const CONCURRENT_CHANGES: usize = 16;
/// The most pages of members of a tag: more are a mistake.
const MAX_TAG_PAGES: usize = 1_000;

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

impl Auth {
    /// The rules of the settings file and the registered ones.
    pub(crate) async fn all_role_rules(&self) -> Result<Vec<RoleRule>, Error> {
        let registered = self.store.access_rules().await?;
        let registered = registered.role_rules(self.policy.home_corp.as_str());
        Ok(self.policy.people.role_rules.iter().chain(registered).cloned().collect())
    }

    /// Gives a person whose record was just read the roles of the rules. Without rules it reads and writes nothing.
    pub(crate) async fn apply_rules_to(&self, who: &IdentifiedPerson) -> Result<(), Error> {
        if who.key.corp() != self.policy.home_corp.as_str() {
            return Ok(());
        }
        let rules = self.all_role_rules().await?;
        if rules.is_empty() {
            return Ok(());
        }
        let roles = self.current_memberships(who).await?.roles(&rules);
        self.apply_roles(&who.key, roles).await.map(drop)
    }

    /// The groups of a person, with the department of the profile.
    async fn current_memberships(&self, who: &IdentifiedPerson) -> Result<Memberships, Error> {
        let known = self.store.memberships_of(who.key.clone()).await?;
        let is_new = |id: &&str| !id.is_empty() && !known.departments.contains(*id);
        let Some(department) = who.department_id.as_deref().filter(is_new) else { return Ok(known) };
        // The person moved since the last synchronisation, or is new. What the former departments gave is over.
        let (key, departments) = (who.key.id().to_owned(), vec![department.to_owned()]);
        let change = DirectoryChange::SetMember { key, departments };
        self.store.change_directory(who.key.corp().to_owned(), vec![change]).await?;
        self.request_synchronisation().await?;
        Ok(self.store.memberships_of(who.key.clone()).await?)
    }

    async fn apply_roles(&self, employee: &EmployeeKey, roles: Roles) -> Result<RuleRolesOutcome, Error> {
        let now = self.clock.now();
        let entry = self.service_entry(AuditEvent::RuleRoles, employee, now, "")?;
        let outcome = self.store.apply_rule_roles(employee.clone(), roles, self.deny_until(now), entry).await?;
        if outcome.kept_last_admin {
            tracing::warn!(%employee, "a rule would take the administrator role from the last administrator, who keeps it");
        }
        Ok(outcome)
    }

    /// Gives everyone the roles of the rules; returns what changed. `progress` gets the number of people so far.
    pub(crate) async fn apply_rules(&self, progress: impl Fn(usize) + Send + Sync) -> Result<Vec<RuleEffect>, Error> {
        let rules = self.all_role_rules().await?;
        let (mut effects, mut after, mut done) = (Vec::new(), None, 0);
        loop {
            let page = self.rule_subjects(after).await?;
            done += page.len();
            after = page.last().map(|subject| subject.key.id().to_owned());
            effects.extend(self.apply_to_page(page, &rules).await?);
            progress(done);
            if after.is_none() {
                return Ok(effects);
            }
        }
    }

    /// Gives people the roles of the rules, several at a time: writes that arrive together share a commit.
    async fn apply_to_page(&self, page: Vec<RuleSubject>, rules: &[RoleRule]) -> Result<Vec<RuleEffect>, Error> {
        let (mut changes, mut effects) = (JoinSet::new(), Vec::new());
        for RuleSubject { key, name, by_rule, memberships, .. } in page {
            let roles = memberships.roles(rules);
            if roles == by_rule {
                continue;
            }
            if changes.len() >= CONCURRENT_CHANGES
                && let Some(Ok(change)) = changes.join_next().await
            {
                effects.extend(change?);
            }
            let auth = self.clone();
            changes.spawn(async move { auth.change_roles(key, name, roles).await });
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
        roles: Roles,
    ) -> Result<Option<RuleEffect>, Error> {
        let RuleRolesOutcome { gained, lost, kept_last_admin } = self.apply_roles(&employee, roles).await?;
        let has_effect = !gained.is_empty() || !lost.is_empty() || kept_last_admin;
        Ok(has_effect.then_some(RuleEffect { employee, name, gained, lost, kept_last_admin }))
    }

    /// What these rules would change. `memberships_of` returns the groups of a person, given those that are stored.
    pub(crate) async fn preview_rules(
        &self,
        rules: &[RoleRule],
        memberships_of: impl Fn(&EmployeeKey, Memberships) -> Memberships + Send + Sync,
    ) -> Result<Vec<RuleEffect>, Error> {
        let (mut effects, mut after) = (Vec::new(), None);
        loop {
            let page = self.rule_subjects(after).await?;
            after = page.last().map(|subject| subject.key.id().to_owned());
            for RuleSubject { key, name, held, by_rule, memberships, .. } in page {
                let roles = memberships_of(&key, memberships).roles(rules);
                let (gained, mut lost) = (difference(roles, held), difference(by_rule, roles));
                if !lost.is_empty() {
                    lost = difference(lost, held_otherwise(&self.store.role_origins(key.clone()).await?));
                }
                if !gained.is_empty() || !lost.is_empty() {
                    effects.push(RuleEffect { employee: key, name, gained, lost, kept_last_admin: false });
                }
            }
            if after.is_none() {
                self.keep_last_admin(&mut effects).await?;
                return Ok(effects);
            }
        }
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

    async fn rule_subjects(&self, after: Option<String>) -> Result<Vec<RuleSubject>, Error> {
        let corp = self.policy.home_corp.as_str().to_owned();
        Ok(self.store.rule_subjects(corp, after, PAGE_SIZE).await?)
    }

    /// Reads the members of tags in these rules that are not known yet, so that the rules have an effect before the next
    /// synchronisation. A failure of the platform is no reason to refuse the rules.
    pub(crate) async fn read_new_tags(&self, rules: &[RoleRule]) -> Result<(), Error> {
        let corp = self.policy.home_corp.as_str();
        for rule in rules {
            let RuleGroup::Tag(tag) = &rule.group else { continue };
            if !self.store.known_tag_members(corp.to_owned(), tag.clone()).await?.is_empty() {
                continue;
            }
            match self.tag_members(tag).await {
                Ok(members) => {
                    let members = members.into_iter().filter_map(|member| self.known_tag_member(member)).collect();
                    let change = DirectoryChange::SetTagMembers { tag: tag.clone(), members };
                    self.store.change_directory(corp.to_owned(), vec![change]).await?;
                }
                Err(error) => tracing::info!(%error, tag, "could not read the members of a tag from the platform"),
            }
        }
        Ok(())
    }

    async fn tag_members(&self, tag: &str) -> Result<Vec<TagMember>, deskpass_platform::Error> {
        let (mut members, mut cursor) = (Vec::new(), None);
        for _ in 0..MAX_TAG_PAGES {
            let page = self.platform.tag_members(tag, cursor.as_deref()).await?;
            members.extend(page.items);
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        Ok(members)
    }

    /// A member of a tag as it is stored; `None` for a member who cannot be an employee.
    pub(super) fn known_tag_member(&self, member: TagMember) -> Option<KnownTagMember> {
        match member {
            TagMember::Member(userid) => Some(KnownTagMember::Member(self.member_key(&userid)?)),
            TagMember::Department(id) => Some(KnownTagMember::Department(id)),
        }
    }

    /// The key of a member of the home corporation; `None` for a member who cannot be an employee.
    pub(super) fn member_key(&self, userid: &str) -> Option<String> {
        Some(self.resolve_key(None, &EmployeeId::parse(userid).ok()?).id().to_owned())
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
