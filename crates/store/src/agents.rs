//! Support agents, and their credentials for when the platform is unavailable.

mod browser;
mod credentials;
mod device;
mod device_owner;
mod failed_attempts;
mod moving;
mod notice;
pub(crate) mod partial_session;
mod password;
mod plans;
mod record;

pub use credentials::StoredCredentials;
pub use device::{Device, DeviceBinding, PendingDevice, UsedTotpStep};
pub use failed_attempts::AttemptKind;
pub(crate) use failed_attempts::{sweep as sweep_failed_attempts, sweep_statements as sweep_attempts_statements};
pub(crate) use moving::{end_credentials, has_credentials, move_record, require_code};
pub use notice::{Notice, NoticeAbout, NoticeSubject};
pub use partial_session::{PartialSessionLookup, PartialSessionRecord};
pub use password::{NewPassword, PasswordPrecondition};
pub(crate) use plans::statements;
pub use record::{Agent, AgentPage, AgentSelection, ListedAgent};
