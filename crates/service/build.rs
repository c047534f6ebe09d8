//! Notes which commit is built, and when, for `/version` and `--version`, and compresses the pages
//! and the API description.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, fs};

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() -> io::Result<()> {
    // Cargo runs this again at every build if a path does not exist, as in a tarball or a worktree of git, and then compiles
    // and links everything again: only existing paths are named.
    for path in git_state().into_iter().filter(|path| path.exists()) {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    println!("cargo::rerun-if-changed=../../web");
    println!("cargo::rerun-if-changed=../../docs/openapi.json");
    println!("cargo::rerun-if-env-changed=SOURCE_DATE_EPOCH");
    println!("cargo::rerun-if-env-changed=DESKPASS_COMMIT");
    println!("cargo::rustc-env=BUILD_COMMIT={}", commit());
    println!("cargo::rustc-env=BUILD_TIME={}", built_at());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    compress(Path::new("../../docs/openapi.json"), &out.join("openapi.json.gz"))?;
    compress_web(&out)
}

fn compress(file: &Path, into: &Path) -> io::Result<()> {
    fs::write(into, compressed_content(&read(file)?)?)
}

fn read(file: &Path) -> io::Result<Vec<u8>> {
    fs::read(file).map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", file.display())))
}

fn compressed_content(plain: &[u8]) -> io::Result<Vec<u8>> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(plain)?;
    gzip.finish()
}

/// Compresses each file of `web/`, and lists the names and contents of all for `site/files.rs`.
fn compress_web(out: &Path) -> io::Result<()> {
    fs::create_dir_all(out.join("web"))?;
    let mut files = BTreeMap::new();
    find_web_files(Path::new("../../web"), &mut files)?;
    let mut entries = Vec::new();
    for (name, path) in &files {
        let plain = read(path)?;
        let content = if is_script(name) { by_address(&plain) } else { plain };
        let compressed = out.join(format!("web/{name}.gz"));
        fs::write(&compressed, compressed_content(&content)?)?;
        entries.push(format!("({name:?}, include_bytes!(r#\"{}\"#))", compressed.display()));
    }
    fs::write(out.join("web.rs"), format!("&[{}]", entries.join(", ")))
}

/// The files in a folder and below it, by their names. A file is served by its name alone, so no
/// two files have the same.
fn find_web_files(folder: &Path, found: &mut BTreeMap<String, PathBuf>) -> io::Result<()> {
    for file in fs::read_dir(folder)? {
        let file = file?;
        let name = file.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        if file.file_type()?.is_dir() {
            find_web_files(&file.path(), found)?;
        } else if let Some(other) = found.insert(name, file.path()) {
            let problem = format!("{} and {} have the same address", other.display(), file.path().display());
            return Err(io::Error::other(problem));
        }
    }
    Ok(())
}

fn is_script(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|end| end == "js")
}

/// A script whose imports name other scripts by their addresses: in `web/` they stand in folders,
/// and in a browser side by side.
///
/// A file keeps its address when it moves to another folder, so nodes and open pages of an earlier
/// version still find it.
fn by_address(script: &[u8]) -> Vec<u8> {
    let script = String::from_utf8_lossy(script);
    let mut pieces = script.split("'../");
    let mut written = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        match piece.split_once('\'') {
            Some((path, rest)) if is_script(path) => {
                let name = path.rsplit('/').next().unwrap_or(path);
                written.extend(["'./", name, "'", rest]);
            }
            _ => written.extend(["'../", piece]),
        }
    }
    written.into_bytes()
}

/// The files that change when another commit is checked out: `HEAD` and the log of its changes, or without that log the branch.
fn git_state() -> Vec<PathBuf> {
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    let names = ["HEAD", "logs/HEAD", "packed-refs"].into_iter().chain(branch.as_deref());
    names.filter_map(|name| git(&["rev-parse", "--git-path", name])).map(PathBuf::from).collect()
}

/// The commit: given, where a tarball is built, or else asked of git. Without both the build still works.
fn commit() -> String {
    #[expect(clippy::disallowed_methods, reason = "a build without a repository hands the commit in this way")]
    let given = env::var("DESKPASS_COMMIT").ok().filter(|commit| is_commit(commit));
    let short = given.map(|commit| commit.chars().take(12).collect::<String>());
    short.or_else(|| git(&["rev-parse", "--short=12", "HEAD"])).unwrap_or_else(|| "unknown".into())
}

fn is_commit(text: &str) -> bool {
    text.len() >= 7 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The output of git, or nothing if there is no git or no repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn built_at() -> String {
    #[expect(clippy::disallowed_methods, reason = "a build happens outside the program, at the machine's time")]
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    #[expect(clippy::disallowed_methods, reason = "reproducible builds hand the time in this way")]
    let seconds = env::var("SOURCE_DATE_EPOCH").ok().and_then(|text| text.parse().ok()).unwrap_or_else(now);
    jiff::Timestamp::from_second(i64::try_from(seconds).unwrap_or(0)).unwrap_or_default().to_string()
}
