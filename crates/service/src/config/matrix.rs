//! The file that replaces the access matrix, and the matrix written as such a file.
//!
//! The file must name every cell: an accidental omission must neither grant a permission nor silently remove one.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use deskpass_core::{Operation, PermissionMatrix, PermissionScope, Resource, Role};
use toml::de::{DeTable, DeValue};

use super::nearest_word::nearest_word;
use super::origin::Origin;
use super::problem::ConfigProblem;
use super::raw::quoted;
use super::section::Setting;
use super::sources::Sources;
use super::toml_source::TomlSource;

/// The word for a cell that grants nothing.
const NOTHING: &str = "none";

/// The hint for a file that is not valid TOML or is incomplete.
const FIX_HINT: &str = "`deskpass config matrix` prints one to start from";

/// The comment at the start of every printed matrix.
const HEAD: &str = "\
# Who may do what at the desk. A cell is the widest scope that a role has:
# \"own\", \"department\", \"all\", or \"none\". Every cell must be there.
# access.matrix_file in the settings names the file; it is read at start and at a reload.
";

/// The matrix in force: the one of the configured file, else the built-in one.
pub(super) fn load_effective(
    file: &Setting<PathBuf>,
    sources: &Sources<'_>,
) -> Result<PermissionMatrix, Vec<ConfigProblem>> {
    let Some(path) = &file.value else { return Ok(PermissionMatrix::built_in()) };
    match (sources.read)(path) {
        Ok(text) => parse(path, &text),
        Err(error) => {
            let what = format!("{} cannot be read: {error}", path.display());
            Err(vec![file.entry.problem(what, "see that it is there and readable, or leave the setting out")])
        }
    }
}

/// Parses a complete file, or returns all its problems.
fn parse(path: &Path, text: &str) -> Result<PermissionMatrix, Vec<ConfigProblem>> {
    let document = TomlSource { path, text };
    let (table, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        return Err(errors.iter().map(|error| document.syntax_error(error, FIX_HINT)).collect());
    }
    let mut reading = MatrixParser { document, cells: BTreeMap::new(), problems: Vec::new() };
    reading.roles(table.get_ref());
    let MatrixParser { cells, problems, .. } = reading;
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(PermissionMatrix::from_cells(|role, resource, operation| {
        *cells.get(&(role.name(), resource.name(), operation.name())).unwrap_or(&None)
    }))
}

/// A closed set of names, and the term for one of them.
struct NameSet<const N: usize> {
    what: &'static str,
    known: [&'static str; N],
}

struct MatrixParser<'a> {
    document: TomlSource<'a>,
    cells: BTreeMap<(&'static str, &'static str, &'static str), Option<PermissionScope>>,
    problems: Vec<ConfigProblem>,
}

/// A known name, with the file's value for it.
struct MatrixNode<'t> {
    name: &'static str,
    /// The name with those above it.
    full: String,
    origin: Origin,
    value: &'t DeValue<'t>,
}

impl MatrixParser<'_> {
    fn roles(&mut self, table: &DeTable<'_>) {
        let names = NameSet { what: "role", known: Role::ALL.map(Role::name) };
        let start = self.document.origin(0..0);
        for role in self.names("", &start, table, &names) {
            self.resources(&role);
        }
    }

    fn resources(&mut self, role: &MatrixNode<'_>) {
        let names = NameSet { what: "resource", known: Resource::ALL.map(Resource::name) };
        let Some(table) = self.table(role, &names) else { return };
        for resource in self.names(&role.full, &role.origin, table, &names) {
            self.operations(role.name, &resource);
        }
    }

    fn operations(&mut self, role: &'static str, resource: &MatrixNode<'_>) {
        let names = NameSet { what: "operation", known: Operation::ALL.map(Operation::name) };
        let Some(table) = self.table(resource, &names) else { return };
        for operation in self.names(&resource.full, &resource.origin, table, &names) {
            let cell = self.cell(&operation);
            self.cells.insert((role, resource.name, operation.name), cell);
        }
    }

    /// The widest scope that a cell grants; `None` also if the cell is invalid, which is recorded as a problem.
    fn cell(&mut self, operation: &MatrixNode<'_>) -> Option<PermissionScope> {
        let words = PermissionScope::ALL.map(PermissionScope::name).into_iter().chain([NOTHING]);
        let expected = format!("expected one of {}", words.clone().map(quoted).collect::<Vec<_>>().join(", "));
        let DeValue::String(word) = operation.value else {
            self.refuse(operation, "this is not a scope".to_owned(), expected);
            return None;
        };
        let scope = PermissionScope::from_name(word);
        if scope.is_none() && word != NOTHING {
            let near = nearest_word(word, words).unwrap_or(NOTHING);
            let what = format!("there is no scope {}", quoted(word));
            self.refuse(operation, what, format!("the nearest known one is {near}"));
        }
        scope
    }

    fn table<'t, const N: usize>(&mut self, above: &MatrixNode<'t>, names: &NameSet<N>) -> Option<&'t DeTable<'t>> {
        if let DeValue::Table(table) = above.value {
            return Some(table);
        }
        let expected = format!("expected a table with every {}: {}", names.what, names.known.join(", "));
        self.refuse(above, "this is not a table".to_owned(), expected);
        None
    }

    /// The file's values for each known name; unknown and missing names are recorded as problems.
    fn names<'t, const N: usize>(
        &mut self,
        above: &str,
        origin: &Origin,
        table: &'t DeTable<'t>,
        names: &NameSet<N>,
    ) -> Vec<MatrixNode<'t>> {
        let full = |name: &str| if above.is_empty() { name.to_owned() } else { format!("{above}.{name}") };
        let mut found = Vec::new();
        for (written, value) in table {
            let (given, origin) = (written.get_ref(), self.document.origin(written.span()));
            match names.known.into_iter().find(|name| name == given) {
                Some(name) => found.push(MatrixNode { name, full: full(name), origin, value: value.get_ref() }),
                None => self.problems.push(unknown(&full(given), given, names).at(&origin)),
            }
        }
        for missing in names.known.into_iter().filter(|name| !found.iter().any(|found| found.name == *name)) {
            let what = format!("this {} is missing, and a matrix names every one", names.what);
            self.problems.push(ConfigProblem::new(full(missing), what, FIX_HINT).at(origin));
        }
        found
    }

    fn refuse(&mut self, found: &MatrixNode<'_>, what: String, fix: String) {
        self.problems.push(ConfigProblem::new(found.full.clone(), what, fix).at(&found.origin));
    }
}

fn unknown<const N: usize>(full: &str, given: &str, names: &NameSet<N>) -> ConfigProblem {
    let near = nearest_word(given, names.known).unwrap_or_default();
    let (what, fix) = (format!("there is no such {}", names.what), format!("the nearest known one is {near}"));
    ConfigProblem::new(full.escape_debug().to_string(), what, fix)
}

/// Formats the matrix as a file that parses to the same matrix.
#[must_use]
pub fn matrix_file(matrix: &PermissionMatrix) -> String {
    let mut file = HEAD.to_owned();
    for role in Role::ALL {
        let lines = Resource::ALL.map(|resource| {
            let cells = Operation::ALL.map(|operation| {
                let granted = matrix.granted(role, resource, operation).map_or(NOTHING, PermissionScope::name);
                format!("{} = \"{granted}\"", operation.name())
            });
            format!("{} = {{ {} }}\n", resource.name(), cells.join(", "))
        });
        // Writing to a string cannot fail.
        let _ = write!(file, "\n[{role}]\n{}", lines.concat());
    }
    file
}
