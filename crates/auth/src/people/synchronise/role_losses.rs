//! The guard against taking roles from many people at once: a directory that suddenly lacks a department or a tag is more likely a
//! mistake than the end of the help desk.

use deskpass_core::{Role, Roles};

use super::super::leaver_guard::is_too_many;

/// How many people hold each role by a rule, and how many of them would lose it because of what the directory says now.
#[derive(Debug, Default)]
pub(super) struct RoleLosses {
    holders: [usize; Role::ALL.len()],
    losers: [usize; Role::ALL.len()],
}

impl RoleLosses {
    /// Counts a person who holds these roles `by_rule`, whom the rules gave the roles `before` and give the roles `after`. What is lost
    /// because a rule was removed is not counted: an administrator wanted that.
    pub(super) fn count(&mut self, by_rule: Roles, before: Roles, after: Roles) {
        let counts = self.holders.iter_mut().zip(&mut self.losers);
        for (role, (holders, losers)) in Role::ALL.into_iter().zip(counts) {
            let holds = by_rule.holds(role) && before.holds(role);
            *holders += usize::from(holds);
            *losers += usize::from(holds && !after.holds(role));
        }
    }

    /// How many people would lose a role, if they are so many that the directory is not believed.
    pub(super) fn unbelievable(&self) -> Option<usize> {
        let counts = self.losers.iter().zip(&self.holders);
        counts.filter(|(losers, holders)| is_too_many(**losers, **holders)).map(|(losers, _)| *losers).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGENT: Roles = Roles::NONE.with(Role::Agent);
    const BOTH: Roles = AGENT.with(Role::Admin);

    fn losses(people: &[(usize, Roles, Roles, Roles)]) -> Option<usize> {
        let mut losses = RoleLosses::default();
        for (times, by_rule, before, after) in people {
            (0..*times).for_each(|_| losses.count(*by_rule, *before, *after));
        }
        losses.unbelievable()
    }

    #[test]
    fn a_role_that_many_of_its_holders_lose_is_a_mistake() {
        assert_eq!(losses(&[]), None);
        assert_eq!(losses(&[(5, AGENT, AGENT, Roles::NONE)]), None, "a few");
        assert_eq!(losses(&[(6, AGENT, AGENT, Roles::NONE)]), Some(6));
        assert_eq!(losses(&[(6, AGENT, AGENT, Roles::NONE), (24, AGENT, AGENT, AGENT)]), None, "a fifth");
        // Each role counts for itself: the few administrators are not lost among the agents.
        assert_eq!(losses(&[(8, BOTH, BOTH, AGENT), (1_000, AGENT, AGENT, AGENT)]), Some(8));
    }

    #[test]
    fn roles_of_a_rule_that_was_removed_are_not_counted() {
        assert_eq!(losses(&[(100, AGENT, Roles::NONE, Roles::NONE)]), None);
        assert_eq!(losses(&[(100, Roles::NONE, AGENT, Roles::NONE)]), None, "they do not hold it yet");
    }
}
