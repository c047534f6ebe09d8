//! The file of a backup, for either database:
//!
//! ```text
//! deskpass-backup 1
//! {"deskpass":"0.1.0","schema":16,"mode":"production","created_at":1800000000000,"source":"sqlite","encryption":null}
//! chunk … chunk, checksum
//! ```
//!
//! Two lines of text say what follows. The rest is the tables as lines of JSON, compressed with gzip and cut into chunks. A
//! chunk begins with its length in four bytes, of which the highest bit marks the last chunk. In an encrypted file each chunk
//! is sealed with XChaCha20-Poly1305 under a key that Argon2id derives from a password; its nonce is its number and whether it
//! is the last, and its authenticated data is the SHA-256 of the two lines. So chunks cannot be changed, left out, reordered or
//! taken from another file. The SHA-256 of everything before ends the file, and finds damage in files of both kinds.
//!
//! Reading and writing take memory for one chunk and one batch of rows, whatever the size of the file.

mod chunk_cipher;
mod chunks;
mod error;
mod header;
mod password;
mod records;

pub use error::BackupFileError;
pub use header::BackupHeader;
pub use password::{BackupPassword, KeyDerivation};
pub(crate) use records::{BackupReader, BackupWriter, Record};
