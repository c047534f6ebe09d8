//! Compares who holds the identifiers of employees with the listing.

use std::collections::HashMap;

use deskpass_core::{EmployeeKey, Holder, HolderChange, Timestamp};
use deskpass_store::ListedPerson;

use super::listing::Listing;
use crate::{Auth, Error, LeaverSource};

impl Auth {
    /// Follows who holds the identifiers of these employees of the home corporation, in a listing for which the
    /// platform was asked at this time; returns the holders, by key, of whom nothing is known yet, and who are to be
    /// written with the record.
    pub(super) async fn follow_holders(
        &self,
        listing: &Listing,
        page: &[ListedPerson],
        asked_at: Timestamp,
    ) -> Result<HashMap<EmployeeKey, Holder>, Error> {
        let mut said: HashMap<EmployeeKey, Holder> = page
            .iter()
            .filter(|listed| listed.person.left.is_none() && !listed.person.unconfirmed)
            .filter_map(|ListedPerson { person, .. }| {
                let member = listing.member(&person.employee_id)?;
                Some((person.key.clone(), self.holder(None, Some(&member.profile))?))
            })
            .collect();
        let home = self.policy.home_corp.as_str();
        let keys = said.keys().map(|key| key.id().to_owned()).collect();
        for (id, known) in self.store.holders(home.to_owned(), keys).await? {
            let key = EmployeeKey::from_parts(home, &id);
            let Some(said) = said.remove(&key) else { continue };
            if is_decided(&known, &said) && Holder::compare(Some(&known), &said, true) != HolderChange::Same {
                self.follow_holder(&key, Some(&said), asked_at, LeaverSource::Sync).await?;
            }
        }
        Ok(said)
    }
}

/// Whether a list says enough: one without addresses does not show that a person with another name is the same one. The next profile
/// will.
fn is_decided(known: &Holder, said: &Holder) -> bool {
    said.has_id() || said.email.is_some() || known.email.is_none()
}
