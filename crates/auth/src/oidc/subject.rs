//! The identifier by which clients know an employee.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use deskpass_store::CachedPerson;

use crate::{Auth, Error, Refusal};

impl Auth {
    /// The subject of an employee: random, given at the first need, never changed and never given to another employee.
    pub async fn subject_of(&self, person: &CachedPerson) -> Result<String, Error> {
        if let Some(subject) = person.subject() {
            return Ok(subject.to_owned());
        }
        let candidate = URL_SAFE_NO_PAD.encode(self.entropy.bytes::<16>()?);
        Ok(self.store.subject(person.key.clone(), candidate).await?.ok_or(Refusal::UnknownEmployee)?)
    }
}
