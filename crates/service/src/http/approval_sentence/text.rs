//! The words of a sentence in both languages.

use deskpass_core::Role;

/// A text in English and Chinese.
pub(super) type Text = [String; 2];

/// The title of a role, as the pages have it.
pub(super) const fn role_title(role: Role) -> [&'static str; 2] {
    match role {
        Role::Admin => ["Administrator", "管理员"],
        Role::Agent => ["Agent", "坐席"],
        Role::User => ["Employee", "员工"],
        Role::Supervisor => ["Supervisor", "主管"],
        Role::Security => ["Security", "安全员"],
    }
}

/// The titles of roles by their names; a name that is no role stays as it is.
pub(super) fn role_titles<'a>(names: impl IntoIterator<Item = &'a str>) -> Text {
    let titles = names.into_iter().map(|name| match Role::from_name(name) {
        Some(role) => role_title(role).map(str::to_owned),
        None => both(name),
    });
    joined(&titles.collect::<Vec<_>>())
}

/// Items as a list in a sentence.
pub(super) fn joined(items: &[Text]) -> Text {
    let english: Vec<_> = items.iter().map(|[english, _]| english.as_str()).collect();
    let english = match english.as_slice() {
        [] => "none".to_owned(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    };
    let chinese: Vec<_> = items.iter().map(|[_, chinese]| chinese.as_str()).collect();
    [english, if chinese.is_empty() { "无".to_owned() } else { chinese.join("、") }]
}

/// A text that is the same in both languages.
pub(super) fn both(text: &str) -> Text {
    [text.to_owned(), text.to_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_listed_as_people_write_lists() {
        assert_eq!(role_titles([]), ["none", "无"]);
        assert_eq!(role_titles(["user"]), ["Employee", "员工"]);
        assert_eq!(role_titles(["admin", "agent", "boss"]), ["Administrator, Agent and boss", "管理员、坐席、boss"]);
    }
}
