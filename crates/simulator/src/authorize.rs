//! What the authorization pages of all platforms share: the choice of a user, and the redirect back to the app.

use std::sync::Arc;

use url::Url;

use crate::address_book::{AddressBook, Person};
use crate::query::QueryParams;

/// The value of `sim_user` that stands for refusing to sign in.
pub(crate) const DENY: &str = "deny";

/// What the visitor chose with the parameter `sim_user`.
#[derive(Clone, Debug)]
pub(crate) enum Choice {
    /// Nothing yet: the page must ask.
    Open,
    /// To refuse.
    Refused,
    /// To sign in as this user.
    Person(Arc<Person>),
    /// A user who does not exist.
    Unknown,
}

impl Choice {
    pub(crate) fn of(query: &QueryParams, book: &AddressBook) -> Self {
        match query.get("sim_user") {
            None => Self::Open,
            Some(DENY) => Self::Refused,
            Some(id) => book.by_id(id).map_or(Self::Unknown, Self::Person),
        }
    }
}

/// The redirect URI with these parameters after its own and before its fragment; a parameter without a value is left out.
pub(crate) fn redirect_target(mut redirect: Url, parameters: &[(&str, Option<&str>)]) -> Url {
    let given: Vec<_> = parameters.iter().filter_map(|(name, value)| Some((*name, (*value)?))).collect();
    if !given.is_empty() {
        redirect.query_pairs_mut().extend_pairs(given);
    }
    redirect
}
