//! Whether the record under a new identifier, which was added before the change of the identifier was
//! handled, is that of the person who got the identifier. By then it may have passed on again, of which
//! the event is late, or is lost.

use deskpass_core::{EmailSource, EmployeeKey, Holder, Person, Sameness};

use super::rename::Renaming;
use crate::Result;
use crate::database::Tx;
use crate::directory::{find, said_about};

/// Compares the holders of both records, and the one whom the platform named when it was asked about
/// the new identifier. One of them who is another person is enough: sessions under the new identifier
/// may be theirs.
pub(super) fn sameness(tx: &Tx<'_>, Renaming { from, to, said, .. }: &Renaming) -> Result<Sameness> {
    let former = holders(tx, from, said.as_ref())?;
    let mut present = holders(tx, &to.key, said.as_ref())?;
    present.extend(said.clone());
    let all: Vec<_> = present.iter().map(|holder| compare(&former, holder)).collect();
    Ok(if all.contains(&Sameness::Another) {
        Sameness::Another
    } else if all.contains(&Sameness::Same) {
        Sameness::Same
    } else {
        Sameness::Unknown
    })
}

/// Who got the new identifier may be either of two people who are known of the former one, if its
/// holder is unconfirmed.
fn compare(former: &[Holder], present: &Holder) -> Sameness {
    let all: Vec<_> = former.iter().map(|holder| holder.sameness(present)).collect();
    if all.contains(&Sameness::Same) {
        Sameness::Same
    } else if all.is_empty() || all.contains(&Sameness::Unknown) {
        Sameness::Unknown
    } else {
        Sameness::Another
    }
}

/// What is known of the holders of an identifier. Data of version 0.2.0 has a name and an address only,
/// which say something where the platform has no ids of people.
fn holders(tx: &Tx<'_>, key: &EmployeeKey, said: Option<&Holder>) -> Result<Vec<Holder>> {
    let known = said_about(tx, key)?;
    if !known.is_empty() {
        return Ok(known);
    }
    let Some(said) = said.filter(|said| !said.has_id()) else { return Ok(known) };
    let recorded = find(tx, key)?.and_then(|found| recorded(&found.person, &said.source));
    Ok(recorded.into_iter().collect())
}

/// The holder as recorded; `None` if the name is only the identifier, which stands for a name that the
/// platform did not say.
fn recorded(person: &Person, source: &str) -> Option<Holder> {
    let name = Some(person.name.clone()).filter(|name| !name.is_empty() && *name != *person.employee_id)?;
    let email = person.email.as_ref().filter(|email| email.source == EmailSource::Platform);
    let email = email.map(|email| email.address.clone());
    Some(Holder { source: source.to_owned(), id: None, name: Some(name), email })
}
