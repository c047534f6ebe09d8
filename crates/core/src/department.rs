//! Department ids. Departments are compared by id because two of them may have the same name.

/// The prefix of the id of a department that an operator entered by name. Ids of the platform are numbers.
const ENTERED_ID_PREFIX: &str = "name:";

/// The id of a department that an operator entered by name. It is never an id of the platform, so an employee whose department
/// comes from the platform is never in it, whatever the name of that department is.
#[must_use]
pub fn entered_department_id(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!("{ENTERED_ID_PREFIX}{name}") }
}

/// Whether `id` belongs to a department that an operator entered by name.
#[must_use]
pub fn is_entered_department(id: &str) -> bool {
    id.starts_with(ENTERED_ID_PREFIX)
}

/// Whether a text can be an id of the platform: a number, prefixed for a connected corporation with the name of the connection
/// and a slash.
#[must_use]
pub fn is_platform_department(id: &str) -> bool {
    (1..=64).contains(&id.len()) && id.bytes().all(|c| c.is_ascii_alphanumeric() || b"_-/".contains(&c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_id_of_the_platform_is_that_of_an_entered_department() {
        for name in ["IT", "7", "name:7", "LINKED01/1"] {
            let id = entered_department_id(name);
            assert!(is_entered_department(&id) && !is_platform_department(&id), "{id}");
        }
        for id in ["7", "LINKED01/1", "wr-x_1/20"] {
            assert!(is_platform_department(id) && !is_entered_department(id), "{id}");
        }
        assert_eq!(entered_department_id(""), "", "no name, no department");
        for bad in ["", "name:7", "a b", "é", &"7".repeat(65)] {
            assert!(!is_platform_department(bad), "{bad}");
        }
    }
}
