//! The password of an encrypted backup, and the key that is derived from it.

use argon2::{Algorithm, Argon2, Params, Version};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use deskpass_core::{Entropy, NoEntropy};
use serde::{Deserialize, Serialize};

use super::BackupFileError;

const ALGORITHM: &str = "argon2id";
/// 64 MiB and three passes: a fraction of a second, once for each file.
const MEMORY_KIB: u32 = 65_536;
const PASSES: u32 = 3;
const LANES: u32 = 1;
/// The most that a file may demand, so that a forged header cannot exhaust the machine.
const MAX_MEMORY_KIB: u32 = 1_048_576;
const MAX_PASSES: u32 = 64;
const SALT_BYTES: usize = 16;

/// The password of a backup.
pub struct BackupPassword(String);

debug_only!(BackupPassword);

/// How the key of a file is derived from its password.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct KeyDerivation {
    algorithm: String,
    memory_kib: u32,
    passes: u32,
    salt: String,
}

impl KeyDerivation {
    /// A derivation with a new salt, and so with a new key for each file.
    pub(crate) fn new(entropy: Entropy) -> Result<Self, NoEntropy> {
        let salt: [u8; SALT_BYTES] = entropy.bytes()?;
        let salt = URL_SAFE_NO_PAD.encode(salt);
        Ok(Self { algorithm: ALGORITHM.to_owned(), memory_kib: MEMORY_KIB, passes: PASSES, salt })
    }

    /// A derivation that takes no time, for tests.
    #[cfg(test)]
    pub(super) fn quick(entropy: Entropy) -> Result<Self, NoEntropy> {
        Ok(Self { memory_kib: 8, passes: 1, ..Self::new(entropy)? })
    }
}

impl BackupPassword {
    /// The shortest password, in characters. The file can be guessed at without limit.
    pub const MIN_CHARS: usize = 12;

    /// A password; `None` if it is too short.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        (text.chars().count() >= Self::MIN_CHARS).then(|| Self(text.to_owned()))
    }

    pub(crate) fn key(&self, how: &KeyDerivation) -> Result<[u8; 32], BackupFileError> {
        let failed = |why: &dyn std::fmt::Display| BackupFileError::Derivation(why.to_string());
        let KeyDerivation { algorithm, memory_kib, passes, salt } = how;
        if algorithm != ALGORITHM || *memory_kib > MAX_MEMORY_KIB || *passes > MAX_PASSES {
            return Err(failed(&"the file names parameters that this deskpass does not support"));
        }
        let salt = URL_SAFE_NO_PAD.decode(salt).map_err(|_| BackupFileError::Damaged)?;
        let params = Params::new(*memory_kib, *passes, LANES, None).map_err(|error| failed(&error))?;
        let mut key = [0; 32];
        let argon = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        argon.hash_password_into(self.0.as_bytes(), &salt, &mut key).map_err(|error| failed(&error))?;
        Ok(key)
    }
}
