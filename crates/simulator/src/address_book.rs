//! The directory as it is now: people, departments and tags, which a tester can change.

mod generated;
mod person;

use std::collections::HashMap;
use std::sync::Arc;

use crate::directory::{DEPARTMENTS, PEOPLE, PersonKind, SimulatedPerson, TAGS};

pub(crate) use generated::MAX_MEMBERS;
pub(crate) use person::{Person, PersonUpdate, State};

/// The department that is the corporation itself.
pub(crate) const ROOT: u32 = 1;

/// A department.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Department {
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) parent: u32,
}

/// A tag, which users have, and to which departments belong with all their members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) departments: Vec<u32>,
}

/// A user before and after a change.
#[derive(Clone, Debug)]
pub(crate) struct ChangedPerson {
    pub(crate) before: Arc<Person>,
    pub(crate) after: Arc<Person>,
}

/// The directory.
#[derive(Debug)]
pub(crate) struct AddressBook {
    people: Vec<Arc<Person>>,
    /// The places of people in the list by their ids in lower case.
    places: HashMap<String, usize>,
    /// The departments, each after its parent.
    departments: Vec<Department>,
    tags: Vec<Tag>,
}

impl Default for AddressBook {
    fn default() -> Self {
        let departments = DEPARTMENTS.map(|(id, name, parent)| Department { id, name: name.to_owned(), parent });
        let tags = (1..).zip(TAGS).map(|(id, (name, _, departments))| {
            let departments = departments.to_vec();
            Tag { id, name: name.to_owned(), departments }
        });
        let (people, places) = (Vec::new(), HashMap::new());
        let mut book = Self { people, places, departments: Vec::from(departments), tags: tags.collect() };
        for who in PEOPLE {
            book.add(book.first_record(who));
        }
        book
    }
}

impl AddressBook {
    /// A user whom the simulator starts with.
    fn first_record(&self, who: &SimulatedPerson) -> Person {
        let tags = (1..).zip(TAGS).filter(|(_, (_, members, _))| members.contains(&who.id));
        Person {
            id: who.id.to_owned(),
            first_id: who.id.to_owned(),
            name: who.name.to_owned(),
            department: who.department.to_owned(),
            department_id: self.department_by_name(who.department).map_or(ROOT, |department| department.id),
            email: who.email.to_owned(),
            kind: who.kind,
            tags: tags.map(|(id, _)| id).collect(),
            is_generated: false,
        }
    }

    fn add(&mut self, person: Person) {
        self.places.insert(person.id.to_ascii_lowercase(), self.people.len());
        self.people.push(Arc::new(person));
    }

    pub(crate) fn people(&self) -> impl Iterator<Item = &Arc<Person>> {
        self.people.iter()
    }

    /// The users whom pages show: not those who were generated, who may be thousands.
    pub(crate) fn listed(&self) -> Vec<Arc<Person>> {
        self.people.iter().filter(|who| !who.is_generated).cloned().collect()
    }

    pub(crate) fn by_id(&self, id: &str) -> Option<Arc<Person>> {
        self.at(id).filter(|who| who.id == id).cloned()
    }

    /// A member of the own corporation; the platform compares their ids case-insensitively.
    pub(crate) fn member(&self, id: &str) -> Option<Arc<Person>> {
        self.at(id).filter(|who| who.kind.is_own()).cloned()
    }

    fn at(&self, id: &str) -> Option<&Arc<Person>> {
        self.places.get(&id.to_ascii_lowercase()).and_then(|place| self.people.get(*place))
    }

    pub(crate) fn departments(&self) -> &[Department] {
        &self.departments
    }

    pub(crate) fn department(&self, id: u32) -> Option<&Department> {
        self.departments.iter().find(|department| department.id == id)
    }

    fn department_by_name(&self, name: &str) -> Option<&Department> {
        self.departments.iter().find(|department| department.name == name)
    }

    /// Whether a department is that one or a descendant of it.
    pub(crate) fn is_within(&self, id: u32, top: u32) -> bool {
        id == top || self.department(id).is_some_and(|department| self.is_within(department.parent, top))
    }

    pub(crate) fn tags(&self) -> &[Tag] {
        &self.tags
    }

    pub(crate) fn tag(&self, id: u32) -> Option<&Tag> {
        self.tags.iter().find(|tag| tag.id == id)
    }

    /// The users in the app's range who have a tag themselves.
    pub(crate) fn tagged(&self, tag: u32) -> Vec<Arc<Person>> {
        let has_tag = |who: &&Arc<Person>| who.kind.is_in_range() && who.tags.contains(&tag);
        self.people.iter().filter(has_tag).cloned().collect()
    }

    /// The users in the app's range who have a tag themselves or by their department.
    pub(crate) fn tagged_at_all(&self, tag: &Tag) -> Vec<Arc<Person>> {
        let by_department = |who: &Person| tag.departments.iter().any(|top| self.is_within(who.department_id, *top));
        let has_tag = |who: &&Arc<Person>| who.tags.contains(&tag.id) || by_department(who);
        self.people.iter().filter(|who| who.kind.is_in_range()).filter(has_tag).cloned().collect()
    }

    /// Changes a user; an error names what cannot be changed.
    pub(crate) fn change(&mut self, id: &str, update: PersonUpdate) -> Result<ChangedPerson, String> {
        let place = self.places.get(&id.to_ascii_lowercase()).copied();
        let (place, before) = place
            .and_then(|place| Some((place, self.people.get(place)?.clone())))
            .ok_or_else(|| format!("there is no person {id:?}"))?;
        let mut after = (*before).clone();
        if let Some(state) = update.state {
            if !before.kind.is_own() {
                return Err(format!("{id} is not a member of this corporation and has no state"));
            }
            after.kind = PersonKind::from(state);
        }
        if let Some(new) = update.userid.filter(|new| *new != before.id) {
            self.check_new_id(&before, &new)?;
            after.id = new;
        }
        after.name = update.name.unwrap_or(after.name);
        after.email = update.email.unwrap_or(after.email);
        if update.another_person {
            after.first_id = self.unused_first_id(&after.first_id);
        }
        if let Some(name) = update.department {
            after.department_id = self.department_named(&name);
            after.department = name;
        }
        if let Some(names) = update.tags {
            after.tags = names.iter().map(|name| self.tag_named(name)).collect();
        }
        self.places.remove(&before.id.to_ascii_lowercase());
        self.places.insert(after.id.to_ascii_lowercase(), place);
        let after = Arc::new(after);
        if let Some(record) = self.people.get_mut(place) {
            record.clone_from(&after);
        }
        Ok(ChangedPerson { before, after })
    }

    /// A first identifier that nobody has: those outside the corporation are made of it.
    fn unused_first_id(&self, former: &str) -> String {
        let is_used = |first_id: &String| self.people.iter().any(|who| who.first_id == *first_id);
        let mut first_id = format!("{former}-2");
        while is_used(&first_id) {
            first_id.push('2');
        }
        first_id
    }

    fn check_new_id(&self, before: &Person, new: &str) -> Result<(), String> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_-@.".contains(&byte);
        if !before.kind.is_own() || new.is_empty() || new.len() > 64 || !new.bytes().all(fits) {
            return Err(format!("{new:?} cannot be the id of {}", before.id));
        }
        match self.at(new).filter(|other| other.id != before.id) {
            Some(_) => Err(format!("{new} already exists")),
            None => Ok(()),
        }
    }

    /// The id of the department with this name, which is created right below the corporation if there is none.
    fn department_named(&mut self, name: &str) -> u32 {
        if let Some(department) = self.department_by_name(name) {
            return department.id;
        }
        let ids = self.departments.iter().map(|department| department.id);
        let id = ids.filter(|id| *id < generated::FIRST_DEPARTMENT).max().unwrap_or(ROOT) + 1;
        self.departments.push(Department { id, name: name.to_owned(), parent: ROOT });
        id
    }

    /// The id of the tag with this name, which is created if there is none.
    fn tag_named(&mut self, name: &str) -> u32 {
        if let Some(tag) = self.tags.iter().find(|tag| tag.name == name) {
            return tag.id;
        }
        let id = self.tags.iter().map(|tag| tag.id).max().unwrap_or_default() + 1;
        self.tags.push(Tag { id, name: name.to_owned(), departments: Vec::new() });
        id
    }

    /// The names of the tags of a user.
    pub(crate) fn tag_names(&self, who: &Person) -> Vec<&str> {
        self.tags.iter().filter(|tag| who.tags.contains(&tag.id)).map(|tag| tag.name.as_str()).collect()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    fn update(json: &str) -> PersonUpdate {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn it_starts_with_the_people_of_the_directory() {
        let book = AddressBook::default();
        assert_eq!(book.people().count(), PEOPLE.len());
        let agent = book.member("AGENT01").unwrap();
        assert_eq!((agent.department_id, book.tag_names(&agent)), (3, vec!["On Call"]));
        assert!(book.by_id("AGENT01").is_none() && book.member("outsider01").is_none());
        let desk = book.tags().iter().find(|tag| tag.name == "Service Desk").unwrap();
        let ids: Vec<_> = book.tagged_at_all(desk).iter().map(|who| who.id.clone()).collect();
        assert_eq!(ids, ["agent01", "supervisor01"]);
    }

    #[test]
    fn a_renamed_person_is_found_by_the_new_id_alone() {
        let mut book = AddressBook::default();
        book.change("user01", update(r#"{"userid":"user02","department":"Night Shift","tags":["New","On Call"]}"#))
            .unwrap();
        assert!(book.member("user01").is_none());
        let who = book.member("user02").unwrap();
        assert_eq!((who.first_id.as_str(), book.tag_names(&who)), ("user01", vec!["On Call", "New"]));
        assert_eq!(book.department(who.department_id).map(|department| department.parent), Some(ROOT));
        assert!(book.change("user02", update(r#"{"userid":"admin01"}"#)).is_err());
        assert!(book.change("outsider01", update(r#"{"state":"left"}"#)).is_err());
    }

    #[test]
    fn generated_members_can_be_thousands_and_fewer_again() {
        let mut book = AddressBook::default();
        let departments = book.departments().len();
        book.set_members(10_000);
        assert_eq!(book.people().count(), PEOPLE.len() + 10_000);
        let last = book.member("member10000").unwrap();
        assert_eq!(last.department, "Team 100");
        assert!(book.is_within(last.department_id, ROOT));
        assert_eq!(book.departments().len(), departments + 101);
        book.set_members(150);
        assert!(book.member("member00150").is_some() && book.member("member00151").is_none());
        assert_eq!(book.departments().len(), departments + 3);
        book.set_members(0);
        assert_eq!((book.people().count(), book.departments().len()), (PEOPLE.len(), departments));
    }
}
