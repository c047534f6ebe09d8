//! What an operation says, and what is known about the people that it names.

use deskpass_auth::Error;
use deskpass_core::{CorpId, EmployeeId, EmployeeKey, Person, ShownField, is_blank, is_invisible};

use super::text::{Text, both};
use crate::App;

/// The most characters of a name in a sentence.
const MAX_NAME_CHARS: usize = 60;

/// The parameters of the path, and the fields of the body with dots before nested names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OperationParts<'a> {
    pub(crate) params: &'a [(String, String)],
    pub(crate) fields: &'a [ShownField],
}

/// An operation, and the service that knows the people in it.
pub(super) struct Given<'a> {
    pub(super) app: &'a App,
    operation: OperationParts<'a>,
}

impl<'a> Given<'a> {
    pub(super) fn new(app: &'a App, operation: OperationParts<'a>) -> Self {
        Self { app, operation }
    }

    /// A parameter of the path.
    pub(super) fn param(&self, name: &str) -> &'a str {
        let found = self.operation.params.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value.as_str())
    }

    /// A field of the body; `None` if it is missing or null.
    pub(super) fn field(&self, name: &str) -> Option<&'a str> {
        let found = self.operation.fields.iter().find(|field| field.name == name)?;
        Some(found.value.as_str()).filter(|value| *value != "null")
    }

    /// The items of a list in the body.
    pub(super) fn list(&self, name: &str) -> Vec<&'a str> {
        let item = |place: usize| self.field(&format!("{name}.{place}"));
        (0..).map_while(item).collect()
    }

    /// The person that the path names; of the home corporation, if it names none.
    pub(super) async fn person_in_path(&self) -> Result<Text, Error> {
        self.named(self.corp_in_path(), self.param("employee_id")).await
    }

    fn corp_in_path(&self) -> Option<&'a str> {
        Some(self.param("corp_id")).filter(|corp| !corp.is_empty())
    }

    /// The person that the body names.
    pub(super) async fn person_in_body(&self) -> Result<Text, Error> {
        self.named(self.field("corp_id"), self.field("employee_id").unwrap_or_default()).await
    }

    /// The record of the person that the body names.
    pub(super) async fn record_in_body(&self) -> Result<Option<Person>, Error> {
        let id = self.field("employee_id").unwrap_or_default();
        self.record(self.field("corp_id"), id).await
    }

    /// The record of the person that the path names.
    pub(super) async fn record_in_path(&self) -> Result<Option<Person>, Error> {
        self.record(self.corp_in_path(), self.param("employee_id")).await
    }

    /// A person by name, identifier and department, or as the operation writes them if they are unknown.
    pub(super) async fn named(&self, corp: Option<&str>, id: &str) -> Result<Text, Error> {
        let found = self.record(corp, id).await?;
        Ok(found.map_or_else(|| both(&plain(id)), |person| self.name_of(&person)))
    }

    /// A person by name, identifier and department, or by identifier alone if they are unknown.
    pub(super) async fn named_by_key(&self, key: &EmployeeKey) -> Result<Text, Error> {
        let found = self.app.auth.store.person(key).await?;
        Ok(found.map_or_else(|| both(&plain(key.id())), |person| self.name_of(&person)))
    }

    async fn record(&self, corp: Option<&str>, id: &str) -> Result<Option<Person>, Error> {
        let Ok(id) = EmployeeId::parse(id) else { return Ok(None) };
        let corp = corp.and_then(|corp| CorpId::parse(corp).ok());
        let found = self.app.auth.store.person(&self.app.auth.resolve_key(corp.as_ref(), &id)).await?;
        Ok(found.map(|person| Person::clone(&person)))
    }

    /// A person by name, identifier and department, and of another corporation by that as well. Only the identifier tells namesakes of
    /// one department apart; it stands for a missing name.
    fn name_of(&self, person: &Person) -> Text {
        let id = &*person.employee_id;
        let is_named = !person.name.is_empty();
        let name = plain(if is_named { &person.name } else { id });
        let home = self.app.auth.policy.home_corp.as_str();
        let corp = if person.key.corp() == home { "" } else { person.key.corp() };
        let known = [if is_named { id } else { "" }, &*person.department, corp];
        let known: Vec<_> = known.into_iter().filter(|text| !text.is_empty()).map(plain).collect();
        if known.is_empty() {
            return both(&name);
        }
        [format!("{name} ({})", known.join(", ")), format!("{name}（{}）", known.join("，"))]
    }
}

/// A name in which nothing is hidden, and which does not push the rest of the sentence away.
pub(super) fn plain(name: &str) -> String {
    let shown = |character| if is_invisible(character) || is_blank(character) { '\u{fffd}' } else { character };
    let mut text: String = name.chars().take(MAX_NAME_CHARS).map(shown).collect();
    if name.chars().count() > MAX_NAME_CHARS {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_hides_nothing() {
        assert_eq!(plain("Uma\u{202e} User\n"), "Uma\u{fffd} User\u{fffd}");
        assert_eq!(plain(&"字".repeat(61)), format!("{}…", "字".repeat(60)));
    }
}
