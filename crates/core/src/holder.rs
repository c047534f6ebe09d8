//! Who holds an identifier according to the platform. Platforms let a corporation give an identifier to another person, who must
//! not get the account of the former holder. So what the platform says about the holder is kept, and compared each time.

use serde::{Deserialize, Serialize};

/// What the platform says about who holds an identifier.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Holder {
    /// The platform, the corporation and, if its ids differ between applications, the application that said it.
    pub source: String,
    /// An id that the platform gives to a person and to nobody else: `None` at a platform that has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The email address that the corporation assigned, in lower case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
}

/// What follows from what the platform says now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HolderChange {
    /// Nothing says that it is another person.
    Same,
    /// This is to be kept from now on.
    Learn(Holder),
    /// It seems to be another person.
    Another,
}

/// Whether what the platform says about the holders of two identifiers is about one person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sameness {
    /// It is about one person.
    Same,
    /// It does not say.
    Unknown,
    /// It seems to be about two people.
    Another,
}

impl Holder {
    /// Whether the platform has an id for the person.
    #[must_use]
    pub const fn has_id(&self) -> bool {
        self.id.is_some()
    }

    /// Compares what the platform says now with what is known. Where it has no id for the person, another name means another person,
    /// unless the email address is the same; but only `if_named_differently`, since names also change for other reasons.
    #[must_use]
    pub fn compare(known: Option<&Self>, said: &Self, if_named_differently: bool) -> HolderChange {
        let Some(known) = known.filter(|known| known.source == said.source) else {
            return HolderChange::Learn(said.clone());
        };
        match (&known.id, &said.id) {
            (Some(known), Some(said)) if known == said => HolderChange::Same,
            (Some(_), Some(_)) => HolderChange::Another,
            (Some(_), None) => HolderChange::Same,
            (None, Some(_)) => HolderChange::Learn(said.clone()),
            (None, None) => known.compare_names(said, if_named_differently),
        }
    }

    /// Compares what is known of the holder of one identifier with that of another one. Stricter than
    /// [`Self::compare`], which asks whether there is a reason for doubt: here, silence is no answer.
    #[must_use]
    pub fn sameness(&self, other: &Self) -> Sameness {
        let both = |one: &Option<String>, other: &Option<String>| {
            one.as_ref().zip(other.as_ref()).map(|(one, other)| one == other)
        };
        let is_same = match both(&self.id, &other.id) {
            Some(has_same_id) => has_same_id,
            None if self.has_id() || other.has_id() => false,
            None => match (both(&self.name, &other.name), both(&self.email, &other.email)) {
                (Some(_), Some(true)) => true,
                (has_same_name, has_same_email) => has_same_name == Some(true) && has_same_email.is_none(),
            },
        };
        if Self::compare(Some(self), other, true) == HolderChange::Another {
            Sameness::Another
        } else if is_same && self.source == other.source {
            Sameness::Same
        } else {
            Sameness::Unknown
        }
    }

    /// The name and the address stay as they were when the person was known to be the same: if one of them changes today and the
    /// other tomorrow, both have changed.
    fn compare_names(&self, said: &Self, if_named_differently: bool) -> HolderChange {
        if said.name.is_none() {
            return HolderChange::Same;
        }
        let has_same_name = self.name == said.name;
        match (&self.email, &said.email) {
            _ if self.name.is_none() => HolderChange::Learn(said.clone()),
            (None, Some(_)) if has_same_name => HolderChange::Learn(said.clone()),
            _ if has_same_name => HolderChange::Same,
            (Some(known), Some(said)) if known == said => HolderChange::Same,
            _ if if_named_differently => HolderChange::Another,
            _ => HolderChange::Learn(said.clone()),
        }
    }

    /// This with what `earlier` knew besides. A list of members need not have everything that a profile has.
    #[must_use]
    pub fn completed(self, earlier: &Self) -> Self {
        let is_named_differently = self.name.is_some() && self.name != earlier.name;
        if self.source != earlier.source || self.id != earlier.id || is_named_differently {
            return self;
        }
        let (name, email) = (self.name.or_else(|| earlier.name.clone()), self.email.or_else(|| earlier.email.clone()));
        Self { source: self.source, id: self.id, name, email }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, email: &str) -> Holder {
        let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Holder { source: "wecom/ww".to_owned(), id: None, name: given(name), email: given(email) }
    }

    fn with_id(source: &str, id: &str) -> Holder {
        Holder { source: source.to_owned(), id: Some(id.to_owned()), ..Holder::default() }
    }

    #[test]
    fn an_id_decides_where_there_is_one_and_another_application_is_learnt_anew() {
        let known = with_id("feishu/t/app", "ou_1");
        let of = |said: &Holder| Holder::compare(Some(&known), said, false);
        assert_eq!(of(&Holder { name: Some("Other".to_owned()), ..known.clone() }), HolderChange::Same);
        assert_eq!(of(&with_id("feishu/t/app", "ou_2")), HolderChange::Another);
        assert_eq!(of(&Holder { id: None, ..known.clone() }), HolderChange::Same, "it did not say");
        let elsewhere = with_id("feishu/t/other", "ou_2");
        assert_eq!(of(&elsewhere), HolderChange::Learn(elsewhere.clone()));
        assert_eq!(Holder::compare(None, &known, true), HolderChange::Learn(known.clone()));
    }

    #[test]
    fn without_an_id_another_name_and_address_mean_another_person() {
        let known = named("Ann", "ann@example.com");
        let of = |said: &Holder| Holder::compare(Some(&known), said, true);
        assert_eq!(of(&known), HolderChange::Same);
        assert_eq!(of(&named("Ann", "other@example.com")), HolderChange::Same);
        assert_eq!(of(&named("Bo", "ann@example.com")), HolderChange::Same, "a person with another name");
        assert_eq!(of(&named("", "bo@example.com")), HolderChange::Same, "it did not say");
        assert_eq!(of(&named("Bo", "bo@example.com")), HolderChange::Another);
        assert_eq!(of(&named("Bo", "")), HolderChange::Another);
        let unaddressed = named("Ann", "");
        assert_eq!(Holder::compare(Some(&unaddressed), &named("Bo", "bo@example.com"), true), HolderChange::Another);
        assert_eq!(Holder::compare(Some(&unaddressed), &known, true), HolderChange::Learn(known.clone()));
        let bo = named("Bo", "bo@example.com");
        assert_eq!(Holder::compare(Some(&known), &bo, false), HolderChange::Learn(bo), "nothing to protect");
    }

    #[test]
    fn two_identifiers_are_one_persons_only_if_the_platform_says_so() {
        let ann = named("Ann", "ann@example.com");
        let namesake = named("Ann", "other@example.com");
        assert_eq!(ann.sameness(&ann), Sameness::Same);
        assert_eq!(ann.sameness(&named("Bo", "ann@example.com")), Sameness::Same, "a person with another name");
        assert_eq!(ann.sameness(&named("Ann", "")), Sameness::Same);
        assert_eq!(ann.sameness(&named("Bo", "bo@example.com")), Sameness::Another);
        for unknown in [&namesake, &named("", "ann@example.com"), &with_id("wecom/ww", "1"), &named("", "")] {
            assert_eq!(ann.sameness(unknown), Sameness::Unknown, "{unknown:?}");
        }
        assert_eq!(ann.sameness(&Holder { source: "elsewhere".to_owned(), ..ann.clone() }), Sameness::Unknown);
        let known = with_id("feishu/t/app", "ou_1");
        assert_eq!(known.sameness(&known), Sameness::Same);
        assert_eq!(known.sameness(&with_id("feishu/t/app", "ou_2")), Sameness::Another);
        assert_eq!(known.sameness(&with_id("feishu/t/other", "ou_1")), Sameness::Unknown);
        assert_eq!(known.sameness(&Holder { id: None, ..known.clone() }), Sameness::Unknown, "it did not say");
    }

    #[test]
    fn what_the_platform_does_not_say_takes_nothing_away() {
        let full = named("Bo", "bo@example.com");
        assert_eq!(named("Bo", "").completed(&full), full);
        assert_eq!(named("Cy", "").completed(&full), named("Cy", ""));
        let full = Holder { id: Some("ou_1".to_owned()), ..full };
        assert_eq!(
            Holder { name: None, email: None, ..full.clone() }.completed(&full),
            full,
            "no profile was answered"
        );
    }
}
