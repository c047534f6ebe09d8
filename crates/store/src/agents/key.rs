//! Whether the configured encryption key is the key that the secrets in the database were sealed with.

use crate::database::Sql;
use crate::{Store, StoreError};

impl Store {
    /// The stored text by which the key is checked.
    pub async fn key_check(&self) -> Result<Option<String>, StoreError> {
        let text = "SELECT key_check FROM desk";
        Ok(self.database.read(move |sql| sql.first(text, &[], |row| row.maybe_text(0))).await?.flatten())
    }

    /// Stores the text by which the key is checked in place of `before`, unless another node replaced it first.
    pub async fn store_key_check(&self, check: String, before: Option<String>) -> Result<(), StoreError> {
        let text = "UPDATE desk SET key_check = $1 WHERE COALESCE(key_check, '') = $2";
        let before = before.unwrap_or_default();
        self.database.write(move |tx| tx.execute(text, &args![&*check, &*before]).map(drop)).await
    }

    /// Whether the database contains anything that only the encryption key opens.
    pub async fn has_sealed_secrets(&self) -> Result<bool, StoreError> {
        let text = "SELECT 1 FROM agent WHERE password_hash IS NOT NULL OR otp_secret IS NOT NULL
            OR otp_pending IS NOT NULL OR setup_code IS NOT NULL OR otp_setup_code IS NOT NULL LIMIT 1";
        let found = move |sql: &Sql<'_>| sql.first(text, &[], |row| row.int(0));
        Ok(self.database.read(found).await?.is_some())
    }
}
