//! The operator's own pages: the files of `pages.directory`, served below /app/.
//!
//! They are read at start and at a reload. So no request reaches the file system, and a node serves the same files for as long as it runs. In
//! development mode they are read at each request, so that a page can be edited while it is shown.

mod directory;
mod media_type;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use directory::{OwnPagesProblem, writable_by_all};

use super::StartError;
use crate::config::Settings;
use crate::static_file::StaticFile;

/// The page of a directory.
const INDEX: &str = "index.html";

/// The operator's own pages.
#[derive(Debug)]
pub(crate) enum OwnPages {
    /// There are none.
    Off,
    /// The files as they were at start, by their path below /app/.
    Loaded(HashMap<String, Arc<StaticFile>>),
    /// The directory, which is read at each request.
    Live(PathBuf),
}

/// What a path below /app/ leads to.
#[derive(Debug)]
pub(crate) enum OwnPage {
    File(Arc<StaticFile>),
    /// A directory with a page, whose address ends with a slash.
    Directory,
    Missing,
}

impl OwnPage {
    /// What the address of a directory leads to, given what its page is.
    pub(crate) fn without_slash(self) -> Self {
        match self {
            Self::File(_) => Self::Directory,
            other => other,
        }
    }
}

impl OwnPages {
    /// Reads the files, so that a problem is known at start.
    ///
    /// # Errors
    /// When the directory, or something in it, cannot be served.
    pub(crate) fn open(settings: &Settings) -> Result<Self, StartError> {
        let Some(root) = &settings.pages.directory else { return Ok(Self::Off) };
        let files = load(root).map_err(|why| StartError::OwnPages { path: root.clone(), why })?;
        Ok(if settings.development.enabled { Self::Live(root.clone()) } else { Self::Loaded(files) })
    }

    /// Whether these are the same files with the same content. Files that are read at each request always are.
    pub(crate) fn has_content_of(&self, other: &Self) -> bool {
        let (Self::Loaded(own), Self::Loaded(others)) = (self, other) else { return true };
        let same = |(name, file): (&String, &Arc<StaticFile>)| {
            others.get(name).is_some_and(|other| other.plain.tag == file.plain.tag)
        };
        own.len() == others.len() && own.iter().all(same)
    }

    /// Finds the file for a decoded path below /app/.
    ///
    /// # Errors
    /// In development mode, when the directory cannot be served.
    pub(crate) async fn find(&self, path: &str) -> Result<OwnPage, OwnPagesProblem> {
        match self {
            Self::Off => Ok(OwnPage::Missing),
            Self::Loaded(files) => Ok(match lookup(path, |name| files.contains_key(name)) {
                Lookup::File(name) => files.get(&name).map_or(OwnPage::Missing, |file| OwnPage::File(Arc::clone(file))),
                Lookup::Directory => OwnPage::Directory,
                Lookup::Missing => OwnPage::Missing,
            }),
            Self::Live(root) => {
                let (root, path) = (root.clone(), path.to_owned());
                let read = tokio::task::spawn_blocking(move || read_one(&root, &path));
                read.await.unwrap_or(Ok(OwnPage::Missing))
            }
        }
    }
}

/// The warning for the operator if every user of the machine can change the pages.
pub(crate) fn warning(settings: &Settings) -> Option<String> {
    settings.pages.directory.as_deref().and_then(writable_by_all).map(|found| found.warning())
}

/// The number of files in the directory, for reports.
///
/// # Errors
/// When the directory, or something in it, cannot be served.
pub(crate) fn count(root: &Path) -> Result<usize, OwnPagesProblem> {
    load(root).map(|files| files.len())
}

fn load(root: &Path) -> Result<HashMap<String, Arc<StaticFile>>, OwnPagesProblem> {
    let prepare = |(name, file): (String, directory::FoundFile)| {
        let file = prepared(&name, &file)?;
        Ok((name, file))
    };
    directory::scan(root)?.into_iter().map(prepare).collect()
}

fn read_one(root: &Path, path: &str) -> Result<OwnPage, OwnPagesProblem> {
    let found = directory::scan(root)?;
    match lookup(path, |name| found.contains_key(name)) {
        Lookup::File(name) => match found.get(&name) {
            Some(file) => Ok(OwnPage::File(prepared(&name, file)?)),
            None => Ok(OwnPage::Missing),
        },
        Lookup::Directory => Ok(OwnPage::Directory),
        Lookup::Missing => Ok(OwnPage::Missing),
    }
}

fn prepared(name: &str, file: &directory::FoundFile) -> Result<Arc<StaticFile>, OwnPagesProblem> {
    Ok(Arc::new(StaticFile::new(media_type::of(name), file.read()?.into())))
}

/// What a path stands for, by the names of the files.
#[derive(Debug, PartialEq, Eq)]
enum Lookup {
    File(String),
    Directory,
    Missing,
}

/// A path is compared with the names that were found, so that no path can lead out of the directory.
fn lookup(path: &str, exists: impl Fn(&str) -> bool) -> Lookup {
    let is_directory = path.is_empty() || path.ends_with('/');
    let file = if is_directory { format!("{path}{INDEX}") } else { path.to_owned() };
    if exists(&file) {
        Lookup::File(file)
    } else if !is_directory && exists(&format!("{path}/{INDEX}")) {
        Lookup::Directory
    } else {
        Lookup::Missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_file_a_directory_with_a_page_or_nothing() {
        let names = ["index.html", "a.js", "sub/index.html", "bare/a.css"];
        let find = |path| lookup(path, |name| names.contains(&name));
        for (path, file) in
            [("", "index.html"), ("index.html", "index.html"), ("a.js", "a.js"), ("sub/", "sub/index.html")]
        {
            assert_eq!(find(path), Lookup::File(file.to_owned()), "{path}");
        }
        assert_eq!(find("sub"), Lookup::Directory);
        for path in
            ["bare", "bare/", "/", "//", ".", "..", "../index.html", "sub/..", "sub//", "a.js/", "A.js", "sub/../a.js"]
        {
            assert_eq!(find(path), Lookup::Missing, "{path}");
        }
    }
}
