//! The files of a directory that may be served: regular files without a dot in front, within bounds, and none outside of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirEntry, File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// The bounds of a directory, which is kept in memory.
const MAX_FILES: usize = 2_000;
const MAX_DEPTH: usize = 16;
const MAX_FILE_BYTES: u64 = 8 << 20;
const MAX_TOTAL_BYTES: u64 = 64 << 20;

/// Why the operator's own pages cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum OwnPagesProblem {
    /// Something cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable {
        /// What cannot be read.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A link leads out of the directory, or to something else than a file.
    #[error("{} is a link, but not to a file in this directory; put the file itself there", .0.display())]
    Link(PathBuf),
    /// Something is neither a file nor a directory.
    #[error("{} is neither a file nor a directory", .0.display())]
    NoFile(PathBuf),
    /// A name cannot stand in an address.
    #[error("the name of {} is not UTF-8", .0.display())]
    Name(PathBuf),
    /// A file is too large.
    #[error("{} is larger than {} MiB", .0.display(), MAX_FILE_BYTES >> 20)]
    FileTooLarge(PathBuf),
    /// All files together are too many.
    #[error(
        "it holds more than {} files, more than {} MiB, or directories more than {} levels deep; serve so many files \
         with a proxy",
        MAX_FILES,
        MAX_TOTAL_BYTES >> 20,
        MAX_DEPTH
    )]
    TooMuch,
    /// A file was replaced after it had been found.
    #[error("{} was replaced while it was read; try again", .0.display())]
    Replaced(PathBuf),
}

impl OwnPagesProblem {
    fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |source| Self::Unreadable { path, source }
    }
}

/// A file that may be served.
#[derive(Debug)]
pub(super) struct FoundFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl FoundFile {
    /// Reads the file, provided it is still the one that was found: a link put in its place could lead anywhere.
    pub(super) fn read(&self) -> Result<Vec<u8>, OwnPagesProblem> {
        let unreadable = || OwnPagesProblem::unreadable(&self.path);
        let file = File::open(&self.path).map_err(unreadable())?;
        let opened = file.metadata().map_err(unreadable())?;
        if (opened.dev(), opened.ino()) != (self.device, self.inode) {
            return Err(OwnPagesProblem::Replaced(self.path.clone()));
        }
        let mut bytes = Vec::new();
        file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable())?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(OwnPagesProblem::FileTooLarge(self.path.clone()));
        }
        Ok(bytes)
    }
}

/// The files of a directory, by their path in it.
pub(super) fn scan(root: &Path) -> Result<BTreeMap<String, FoundFile>, OwnPagesProblem> {
    Scan::of(root).map(|scan| scan.files)
}

struct Scan {
    root: PathBuf,
    files: BTreeMap<String, FoundFile>,
    directories: BTreeSet<PathBuf>,
    bytes: u64,
}

impl Scan {
    fn of(root: &Path) -> Result<Self, OwnPagesProblem> {
        let root = fs::canonicalize(root).map_err(OwnPagesProblem::unreadable(root))?;
        let mut scan = Self { root: root.clone(), files: BTreeMap::new(), directories: BTreeSet::new(), bytes: 0 };
        scan.directory(&root, "", 0)?;
        Ok(scan)
    }

    /// Adds the files of a directory, whose names begin with `prefix`.
    fn directory(&mut self, directory: &Path, prefix: &str, depth: usize) -> Result<(), OwnPagesProblem> {
        if depth > MAX_DEPTH {
            return Err(OwnPagesProblem::TooMuch);
        }
        self.directories.insert(directory.to_owned());
        for entry in fs::read_dir(directory).map_err(OwnPagesProblem::unreadable(directory))? {
            let entry = entry.map_err(OwnPagesProblem::unreadable(directory))?;
            let name = entry.file_name().into_string().map_err(|_| OwnPagesProblem::Name(entry.path()))?;
            // Files of editors and version control, and of Kubernetes, which mounts what is meant as links beside them.
            if !name.starts_with('.') {
                self.entry(&entry, &format!("{prefix}{name}"), depth)?;
            }
        }
        Ok(())
    }

    fn entry(&mut self, entry: &DirEntry, name: &str, depth: usize) -> Result<(), OwnPagesProblem> {
        let path = entry.path();
        let kind = entry.file_type().map_err(OwnPagesProblem::unreadable(&path))?;
        if kind.is_dir() {
            return self.directory(&path, &format!("{name}/"), depth + 1);
        }
        let target = if kind.is_symlink() { self.target(&path)? } else { path.clone() };
        let found = fs::symlink_metadata(&target).map_err(OwnPagesProblem::unreadable(&path))?;
        match (found.is_file(), kind.is_symlink()) {
            (true, _) => self.file(name, target, &found),
            (false, true) => Err(OwnPagesProblem::Link(path)),
            (false, false) => Err(OwnPagesProblem::NoFile(path)),
        }
    }

    /// The file that a link leads to, provided it is in the directory.
    fn target(&self, link: &Path) -> Result<PathBuf, OwnPagesProblem> {
        let target = fs::canonicalize(link).map_err(OwnPagesProblem::unreadable(link))?;
        if target.starts_with(&self.root) { Ok(target) } else { Err(OwnPagesProblem::Link(link.to_owned())) }
    }

    fn file(&mut self, name: &str, path: PathBuf, found: &Metadata) -> Result<(), OwnPagesProblem> {
        if found.len() > MAX_FILE_BYTES {
            return Err(OwnPagesProblem::FileTooLarge(path));
        }
        self.bytes = self.bytes.saturating_add(found.len());
        if self.files.len() >= MAX_FILES || self.bytes > MAX_TOTAL_BYTES {
            return Err(OwnPagesProblem::TooMuch);
        }
        let file = FoundFile { path, device: found.dev(), inode: found.ino() };
        self.files.insert(name.to_owned(), file);
        Ok(())
    }
}

/// A directory or a file that every user of the machine can change, and so the pages.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WritableByAll {
    pub(crate) path: PathBuf,
    /// The directory of the pages.
    root: PathBuf,
}

impl WritableByAll {
    /// The command that fixes the permissions.
    pub(crate) fn fix(&self) -> String {
        if self.path.starts_with(&self.root) {
            format!("chmod -R o-w {}", self.root.display())
        } else {
            format!("chmod o-w {}", self.path.display())
        }
    }

    /// The warning for the operator.
    pub(crate) fn warning(&self) -> String {
        let (path, fix) = (self.path.display(), self.fix());
        format!(
            "every user of this machine can change {path}, and so act as any user who opens the pages of \
             pages.directory; run: {fix}"
        )
    }
}

/// The first directory or file by which every user of the machine can change the pages, if there is one: in the directory of the
/// pages, or above it.
pub(crate) fn writable_by_all(root: &Path) -> Option<WritableByAll> {
    let mode = |path: &Path| fs::metadata(path).map_or(0, |found| found.permissions().mode());
    let Scan { root, files, directories: mut within, .. } = Scan::of(root).ok()?;
    // Links lead to files in directories that are not served themselves.
    for file in files.values() {
        within.extend(file.path.ancestors().take_while(|path| path.starts_with(&root)).map(Path::to_owned));
    }
    let inside = within.into_iter().find(|path| mode(path) & 0o002 != 0);
    // Of a directory with the sticky bit, such as /tmp, only the owner of the next one can replace it.
    let above = || root.ancestors().skip(1).find(|path| mode(path) & 0o1002 == 0o002).map(Path::to_owned);
    let path = inside.or_else(above)?;
    Some(WritableByAll { path, root })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn names(root: &Path) -> Vec<String> {
        scan(root).unwrap().into_keys().collect()
    }

    #[test]
    fn hidden_files_are_left_out_and_links_stay_inside() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("app");
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::create_dir_all(root.join(".git")).unwrap();
        for name in ["index.html", "sub/a.js", ".env", ".git/config"] {
            fs::write(root.join(name), name).unwrap();
        }
        // As Kubernetes mounts files: the name is a link into a hidden directory.
        fs::create_dir(root.join("..data")).unwrap();
        fs::write(root.join("..data/b.css"), "b").unwrap();
        symlink("..data/b.css", root.join("b.css")).unwrap();
        assert_eq!(names(&root), ["b.css", "index.html", "sub/a.js"]);
        assert_eq!(scan(&root).unwrap().get("b.css").unwrap().read().unwrap(), b"b");

        for target in [place.path().join("secret"), root.join("sub"), root.join("missing")] {
            fs::write(place.path().join("secret"), "x").unwrap();
            symlink(target, root.join("link")).unwrap();
            let problem = scan(&root).unwrap_err().to_string();
            assert!(problem.contains("link"), "{problem}");
            fs::remove_file(root.join("link")).unwrap();
        }
    }

    #[test]
    fn a_file_that_was_replaced_is_not_read() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("app");
        fs::create_dir(&root).unwrap();
        fs::write(root.join("a.js"), "a").unwrap();
        fs::write(place.path().join("secret"), "s").unwrap();
        let found = scan(&root).unwrap();
        fs::remove_file(root.join("a.js")).unwrap();
        symlink(place.path().join("secret"), root.join("a.js")).unwrap();
        let read = found.get("a.js").unwrap().read();
        assert!(matches!(read, Err(OwnPagesProblem::Replaced(_))), "{read:?}");
    }

    #[test]
    fn the_directory_has_bounds() {
        let place = tempfile::tempdir().unwrap();
        let large = File::create(place.path().join("large.bin")).unwrap();
        large.set_len(MAX_FILE_BYTES + 1).unwrap();
        assert!(matches!(scan(place.path()), Err(OwnPagesProblem::FileTooLarge(_))));
        large.set_len(MAX_FILE_BYTES).unwrap();
        for copy in 0..MAX_TOTAL_BYTES / MAX_FILE_BYTES {
            File::create(place.path().join(format!("{copy}.bin"))).unwrap().set_len(MAX_FILE_BYTES).unwrap();
        }
        assert!(matches!(scan(place.path()), Err(OwnPagesProblem::TooMuch)));
        let deep = tempfile::tempdir().unwrap();
        fs::create_dir_all(deep.path().join("d/".repeat(MAX_DEPTH + 1))).unwrap();
        assert!(matches!(scan(deep.path()), Err(OwnPagesProblem::TooMuch)));
        let none = scan(&deep.path().join("none")).unwrap_err().to_string();
        assert!(none.ends_with("No such file or directory (os error 2)"), "{none}");
    }

    #[test]
    fn every_directory_that_leads_to_a_page_is_checked() {
        let chmod = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        let place = tempfile::tempdir().unwrap();
        let above = fs::canonicalize(place.path()).unwrap().join("above");
        let root = above.join("app");
        for name in ["team/deep", "empty", "..data/v1"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        fs::write(root.join("team/deep/a.js"), "a").unwrap();
        fs::write(root.join("..data/v1/b.css"), "b").unwrap();
        symlink("..data/v1/b.css", root.join("b.css")).unwrap();
        for path in [&above, &root, &root.join("team"), &root.join("empty"), &root.join("..data")] {
            chmod(path, 0o755);
        }
        assert_eq!(writable_by_all(&root), None);
        for (path, inside) in [
            (above.clone(), false),
            (root.clone(), true),
            (root.join("team"), true),
            (root.join("empty"), true),
            (root.join("..data"), true),
            (root.join("team/deep/a.js"), true),
        ] {
            chmod(&path, 0o777);
            let found = writable_by_all(&root).unwrap();
            assert_eq!(found.path, path);
            assert_eq!(found.fix().starts_with("chmod -R o-w "), inside, "{}", found.fix());
            chmod(&path, 0o755);
        }
        chmod(&above, 0o1777);
        assert_eq!(writable_by_all(&root), None, "nobody else can replace the directory");
    }
}
