//! Whether the embedded data is there, for commands that must not create it.

use std::io;
use std::path::Path;

use crate::config::Settings;

/// Fails if there is no embedded data although the settings name it: a read-only admin command must not create any.
pub(super) fn require_database(settings: &Settings) -> Result<(), String> {
    let data = &settings.data;
    match data.join("deskpass.db").try_exists() {
        _ if settings.store.url.is_some() => Ok(()),
        Ok(true) => Ok(()),
        Ok(false) => Err(format!("there is no deskpass data in {}; check --data and the settings", data.display())),
        Err(error) => Err(inaccessible(data, &error, "--data and the settings")),
    }
}

pub(super) fn inaccessible(data: &Path, error: &io::Error, look: &str) -> String {
    let fix = match error.kind() {
        io::ErrorKind::PermissionDenied => "run the command as the service's user".to_owned(),
        _ => format!("check {look}"),
    };
    format!("cannot read {}: {error}; {fix}", data.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_of_another_user_is_not_called_empty() {
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        let message = inaccessible(Path::new("/var/lib/deskpass"), &denied, "--data").to_lowercase();
        assert_eq!(message, "cannot read /var/lib/deskpass: permission denied; run the command as the service's user");
    }
}
