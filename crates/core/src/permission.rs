//! Who may do what: for each role, resource and operation, how far it reaches.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::Role;

/// A closed set of words: each has a name, and is found by it.
macro_rules! named_enum {
    ($(#[$doc:meta])* $set:ident { $($(#[$said:meta])* $word:ident = $name:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $set {
            $($(#[$said])* $word,)+
        }

        impl $set {
            /// All of them, in their order.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$word),+];

            /// The words for all of them.
            pub const NAMES: [&'static str; Self::ALL.len()] = [$($name),+];

            /// The word, as clients see it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$word => $name,)+
                }
            }

            /// The one with exactly this name; neither case nor blanks are forgiven.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|word| word.name() == name)
            }
        }

        impl fmt::Display for $set {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl Serialize for $set {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }
    };
}

named_enum! {
    /// What is acted upon.
    Resource {
        /// What employees and agents write to each other.
        Conversation = "conversation",
        /// What somebody asked for and somebody else decides.
        Approval = "approval",
        /// What is known and can be looked up.
        Knowledge = "knowledge",
        /// People, their roles and their devices.
        Account = "account",
    }
}

named_enum! {
    /// What is done to it.
    Operation {
        /// Looks at it.
        Read = "read",
        /// Makes one.
        Create = "create",
        /// Changes it.
        Update = "update",
        /// Takes it away.
        Delete = "delete",
    }
}

named_enum! {
    /// How far a permission reaches. A wider one includes the narrower ones.
    PermissionScope {
        /// What belongs to the person.
        Own = "own",
        /// What belongs to the person's department.
        Department = "department",
        /// Everything.
        All = "all",
    }
}

/// One cell: the widest scope granted, or none.
type Cell = Option<PermissionScope>;

/// The cells of one role: a row per resource, a column per operation, both in their order.
type Row = [[Cell; Operation::ALL.len()]; Resource::ALL.len()];

/// The widest scope that each role has for each operation on each resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionMatrix([Row; Role::ALL.len()]);

const ALL: Cell = Some(PermissionScope::All);
const DEP: Cell = Some(PermissionScope::Department);
const OWN: Cell = Some(PermissionScope::Own);
const NON: Cell = None;

/// What holds unless an operator replaces it: read, create, update, delete of each resource.
#[rustfmt::skip]
const BUILT_IN: [(Role, Row); Role::ALL.len()] = [
    //                 conversation          approval              knowledge             account
    (Role::Admin,      [[ALL, ALL, ALL, ALL], [ALL, ALL, ALL, ALL], [ALL, ALL, ALL, ALL], [ALL, ALL, ALL, ALL]]),
    (Role::Supervisor, [[ALL, DEP, DEP, NON], [DEP, DEP, DEP, NON], [ALL, DEP, DEP, DEP], [DEP, NON, NON, NON]]),
    (Role::Agent,      [[DEP, OWN, OWN, NON], [OWN, OWN, OWN, NON], [ALL, OWN, OWN, NON], [OWN, NON, OWN, NON]]),
    (Role::Security,   [[ALL, NON, NON, NON], [ALL, NON, DEP, NON], [ALL, NON, NON, NON], [ALL, NON, DEP, NON]]),
    (Role::User,       [[OWN, OWN, OWN, NON], [OWN, OWN, OWN, NON], [ALL, NON, NON, NON], [OWN, NON, OWN, NON]]),
];

impl PermissionMatrix {
    /// The matrix that holds unless an operator replaces it.
    #[must_use]
    pub fn built_in() -> Self {
        Self::from_cells(|role, resource, operation| {
            let (_, row) = BUILT_IN.iter().find(|(of, _)| *of == role)?;
            cell(row, resource, operation)
        })
    }

    /// The matrix with these cells; each one is asked for once.
    #[must_use]
    pub fn from_cells(mut cells: impl FnMut(Role, Resource, Operation) -> Option<PermissionScope>) -> Self {
        Self(
            Role::ALL.map(|role| {
                Resource::ALL.map(|resource| Operation::ALL.map(|operation| cells(role, resource, operation)))
            }),
        )
    }

    /// The widest scope that `role` has, if any.
    #[must_use]
    pub fn granted(&self, role: Role, resource: Resource, operation: Operation) -> Option<PermissionScope> {
        let place = Role::ALL.into_iter().position(|other| other == role)?;
        cell(self.0.get(place)?, resource, operation)
    }

    /// Whether `role` may do this as far as `scope` reaches.
    #[must_use]
    pub fn allows(&self, role: Role, resource: Resource, operation: Operation, scope: PermissionScope) -> bool {
        self.granted(role, resource, operation).is_some_and(|granted| granted >= scope)
    }
}

fn cell(row: &Row, resource: Resource, operation: Operation) -> Cell {
    row.get(resource as usize)?.get(operation as usize).copied()?
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    /// The table as people agreed on it; `–` is none.
    const AGREED: &str = "
        | admin | all all all all | all all all all | all all all all | all all all all |
        | supervisor | all dept dept – | dept dept dept – | all dept dept dept | dept – – – |
        | agent | dept own own – | own own own – | all own own – | own – own – |
        | security | all – – – | all – dept – | all – – – | all – dept – |
        | user | own own own – | own own own – | all – – – | own – own – |";

    #[test]
    fn the_built_in_matrix_is_the_agreed_one_in_every_cell() {
        let matrix = PermissionMatrix::built_in();
        let mut cells = 0;
        for line in AGREED.lines().filter(|line| line.contains('|')) {
            let columns: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
            let (role, columns) = columns.split_first().unwrap();
            let role = Role::from_name(role).unwrap();
            for (resource, column) in ["conversation", "approval", "knowledge", "account"].iter().zip(columns) {
                for (operation, word) in ["read", "create", "update", "delete"].iter().zip(column.split(' ')) {
                    let resource = Resource::from_name(resource).unwrap();
                    let operation = Operation::from_name(operation).unwrap();
                    let allowed: [bool; 3] = match word {
                        "all" => [true, true, true],
                        "dept" => [true, true, false],
                        "own" => [true, false, false],
                        "–" => [false, false, false],
                        other => panic!("{other}"),
                    };
                    for (scope, expected) in [PermissionScope::Own, PermissionScope::Department, PermissionScope::All]
                        .into_iter()
                        .zip(allowed)
                    {
                        let actual = matrix.allows(role, resource, operation, scope);
                        assert_eq!(actual, expected, "{role} {resource:?} {operation:?} {scope:?}");
                        cells += 1;
                    }
                }
            }
        }
        assert_eq!(cells, 240);
    }

    #[test]
    fn each_cell_is_kept_in_its_own_place() {
        let places = || {
            let pairs = Resource::ALL.into_iter().flat_map(|r| Operation::ALL.into_iter().map(move |o| (r, o)));
            Role::ALL.into_iter().flat_map(move |role| pairs.clone().map(move |(r, o)| (role, r, o)))
        };
        for only in places() {
            let matrix = PermissionMatrix::from_cells(|role, r, o| {
                ((role, r, o) == only).then_some(PermissionScope::Department)
            });
            for (role, resource, operation) in places() {
                let expected = ((role, resource, operation) == only).then_some(PermissionScope::Department);
                assert_eq!(matrix.granted(role, resource, operation), expected);
            }
        }
    }

    #[test]
    fn names_match_exactly() {
        for scope in PermissionScope::ALL {
            assert_eq!(PermissionScope::from_name(scope.name()), Some(scope));
        }
        for other in ["All", "all ", "", "everything"] {
            assert_eq!(PermissionScope::from_name(other), None, "{other:?}");
        }
        assert!(
            PermissionScope::Own < PermissionScope::Department && PermissionScope::Department < PermissionScope::All
        );
    }
}
