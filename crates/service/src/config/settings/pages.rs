//! Pages of the operator's own.

use std::path::PathBuf;

use deskpass_derive::Section;

/// Pages of your own.
#[derive(Clone, Debug, Section)]
pub struct Pages {
    /// A directory with pages of your own, which are served below /app/. They can do what the service's own pages can, as
    /// the user who is signed in, so only administrators may change them. The files are read at start and at a reload, in
    /// development mode at each request; all nodes need the same ones.
    #[setting(example = "/srv/deskpass/app")]
    pub directory: Option<PathBuf>,
}
