//! Permissions: the scope of each operation on each resource, for each role.

use crate::Role;
use crate::named_enum::named_enum;

named_enum! {
    /// The object of an operation.
    Resource {
        /// The messages between employees and agents.
        Conversation => "conversation",
        /// A request by one user that another user decides.
        Approval => "approval",
        /// The knowledge base.
        Knowledge => "knowledge",
        /// Employees, their roles and their devices.
        Account => "account",
    }
}

named_enum! {
    /// The action on a resource.
    Operation {
        /// Reads it.
        Read => "read",
        /// Creates it.
        Create => "create",
        /// Updates it.
        Update => "update",
        /// Deletes it.
        Delete => "delete",
    }
}

named_enum! {
    /// The scope of a permission. A wider scope includes the narrower ones.
    PermissionScope {
        /// The resources of the employee.
        Own => "own",
        /// The resources of the employee's department.
        Department => "department",
        /// All resources.
        All => "all",
    }
}

/// One cell: the widest scope granted, or none.
type Cell = Option<PermissionScope>;

/// The cells of one role: a row per resource, a column per operation, both in their order.
type RolePermissions = [[Cell; Operation::ALL.len()]; Resource::ALL.len()];

/// The widest scope of each role for each operation on each resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionMatrix([RolePermissions; Role::ALL.len()]);

const ALL: Cell = Some(PermissionScope::All);
const DEP: Cell = Some(PermissionScope::Department);
const OWN: Cell = Some(PermissionScope::Own);
const NON: Cell = None;

/// The default matrix, unless an operator replaces it: read, create, update, delete of each resource.
#[rustfmt::skip]
const BUILT_IN: [(Role, RolePermissions); Role::ALL.len()] = [
    //                 conversation          approval              knowledge             account
    (Role::Admin,      [[ALL, ALL, ALL, ALL], [ALL, ALL, ALL, ALL], [ALL, ALL, ALL, ALL], [ALL, ALL, ALL, ALL]]),
    (Role::Supervisor, [[ALL, DEP, DEP, NON], [DEP, DEP, DEP, NON], [ALL, DEP, DEP, DEP], [DEP, NON, NON, NON]]),
    (Role::Agent,      [[DEP, OWN, OWN, NON], [OWN, OWN, OWN, NON], [ALL, OWN, OWN, NON], [OWN, NON, OWN, NON]]),
    (Role::Security,   [[ALL, NON, NON, NON], [ALL, NON, DEP, NON], [ALL, NON, NON, NON], [ALL, NON, DEP, NON]]),
    (Role::User,       [[OWN, OWN, OWN, NON], [OWN, OWN, OWN, NON], [ALL, NON, NON, NON], [OWN, NON, OWN, NON]]),
];

impl PermissionMatrix {
    /// The default matrix, unless an operator replaces it.
    #[must_use]
    pub fn built_in() -> Self {
        Self::from_cells(|role, resource, operation| {
            let (_, row) = BUILT_IN.iter().find(|(of, _)| *of == role)?;
            cell(row, resource, operation)
        })
    }

    /// The matrix with these cells; `cells` is called once for each cell.
    #[must_use]
    pub fn from_cells(mut cells: impl FnMut(Role, Resource, Operation) -> Option<PermissionScope>) -> Self {
        Self(
            Role::ALL.map(|role| {
                Resource::ALL.map(|resource| Operation::ALL.map(|operation| cells(role, resource, operation)))
            }),
        )
    }

    /// The widest scope of `role`, if any.
    #[must_use]
    pub fn granted(&self, role: Role, resource: Resource, operation: Operation) -> Option<PermissionScope> {
        let place = Role::ALL.into_iter().position(|other| other == role)?;
        cell(self.0.get(place)?, resource, operation)
    }

    /// Whether `role` may perform the operation in `scope`.
    #[must_use]
    pub fn allows(&self, role: Role, resource: Resource, operation: Operation, scope: PermissionScope) -> bool {
        self.granted(role, resource, operation).is_some_and(|granted| granted >= scope)
    }
}

fn cell(row: &RolePermissions, resource: Resource, operation: Operation) -> Cell {
    row.get(resource as usize)?.get(operation as usize).copied()?
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    /// The agreed table; `–` means no permission.
    const AGREED: &str = "
        | admin | all all all all | all all all all | all all all all | all all all all |
        | supervisor | all dept dept – | dept dept dept – | all dept dept dept | dept – – – |
        | agent | dept own own – | own own own – | all own own – | own – own – |
        | security | all – – – | all – dept – | all – – – | all – dept – |
        | user | own own own – | own own own – | all – – – | own – own – |";

    #[test]
    fn the_built_in_matrix_equals_the_agreed_matrix_in_every_cell() {
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
    fn each_cell_is_stored_separately() {
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
