//! Members who are generated, so that the directory is as large as that of a real corporation.

use std::collections::BTreeSet;

use super::{AddressBook, Department, Person, ROOT};
use crate::directory::PersonKind;

pub(crate) const MAX_MEMBERS: usize = 100_000;
/// The department of all generated members; those of their teams follow.
pub(super) const FIRST_DEPARTMENT: u32 = 10_000;
const TEAM_SIZE: usize = 100;

impl AddressBook {
    /// Makes this many generated members, in teams. Those beyond it vanish as if they had never been there.
    pub(crate) fn set_members(&mut self, count: usize) {
        let count = count.min(MAX_MEMBERS);
        let listed = self.people.iter().filter(|who| !who.is_generated).count();
        for gone in self.people.drain(self.people.len().min(listed + count)..) {
            self.places.remove(&gone.id.to_ascii_lowercase());
        }
        self.departments.retain(|department| department.id < FIRST_DEPARTMENT);
        if count > 0 {
            let name = "Members".to_owned();
            self.departments.push(Department { id: FIRST_DEPARTMENT, name, parent: ROOT });
        }
        let teams = (FIRST_DEPARTMENT + 1..).zip(1..=count.div_ceil(TEAM_SIZE));
        self.departments.extend(teams.map(|(id, number)| Department {
            id,
            name: team_name(number),
            parent: FIRST_DEPARTMENT,
        }));
        for number in self.people.len() - listed + 1..=count {
            self.add(member(number));
        }
    }
}

fn team_name(number: usize) -> String {
    format!("Team {number:03}")
}

fn member(number: usize) -> Person {
    let (id, team) = (format!("member{number:05}"), (number - 1) / TEAM_SIZE + 1);
    Person {
        first_id: id.clone(),
        name: format!("Member {number:05}"),
        department: team_name(team),
        department_id: FIRST_DEPARTMENT.saturating_add(u32::try_from(team).unwrap_or_default()),
        email: format!("{id}@example.com"),
        id,
        kind: PersonKind::Member,
        tags: BTreeSet::new(),
        is_generated: true,
    }
}
