//! The files that the rules look at: all that git tracks or would track.
//!
//! Guarantees: paths are relative, with `/`, in one order; a file that is no text has no text.
//! Does not: read what git ignores.

use std::cell::OnceCell;

use anyhow::{Context, Result};

use super::rust_code;
use crate::stage::{output_of, root};

/// All files.
pub(crate) struct Tree {
    files: Vec<File>,
}

/// One file with its text.
pub(crate) struct File {
    /// From the root of the tree, with `/`.
    pub(crate) path: String,
    /// All of it, empty if it is no UTF-8.
    pub(crate) text: String,
    code: OnceCell<String>,
}

impl Tree {
    /// The working tree.
    ///
    /// # Errors
    /// git is missing or this is no clone; a file cannot be read.
    pub(crate) fn of_git() -> Result<Self> {
        let args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        let listed = output_of("git", &args).context("tidy asks git for the list of files")?;
        let mut files = Vec::new();
        for path in listed.split('\0').filter(|path| !path.is_empty()) {
            let whole = root().join(path);
            // A file removed since the last commit is still listed.
            if whole.is_file() {
                let bytes = std::fs::read(&whole).with_context(|| format!("cannot read {path}"))?;
                files.push(File::new(path, &String::from_utf8(bytes).unwrap_or_default()));
            }
        }
        Ok(Self::new(files))
    }

    fn new(mut files: Vec<File>) -> Self {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Self { files }
    }

    /// Files whose name ends so, for instance `.rs`.
    pub(crate) fn ending(&self, end: &str) -> impl Iterator<Item = &File> {
        self.files.iter().filter(move |file| file.path.ends_with(end))
    }

    /// All files.
    pub(crate) fn all(&self) -> impl Iterator<Item = &File> {
        self.files.iter()
    }

    /// The file at a path.
    pub(crate) fn at(&self, path: &str) -> Option<&File> {
        let found = self.files.binary_search_by(|file| file.path.as_str().cmp(path));
        found.ok().map(|n| &self.files[n])
    }

    /// Whether a file or a folder with files stands at a path; the root is the empty path.
    pub(crate) fn has(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        path.is_empty()
            || self.at(path).is_some()
            || self.files.iter().any(|file| file.path.starts_with(&folder))
    }
}

impl File {
    fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned(), code: OnceCell::new() }
    }

    /// The text of a Rust file with comments and literals blanked, so that only code is left.
    pub(crate) fn code(&self) -> &str {
        self.code.get_or_init(|| rust_code::only_code(&self.text))
    }

    /// Lines with their numbers, from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }
}

#[cfg(test)]
impl Tree {
    /// A tree that exists only in a test.
    pub(crate) fn sample(files: &[(&str, &str)]) -> Self {
        Self::new(files.iter().map(|(path, text)| File::new(path, text)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_stand_where_files_are() {
        let tree = Tree::sample(&[("docs/a.md", ""), ("b.rs", "")]);
        assert!(tree.has("docs") && tree.has("docs/a.md") && tree.has("b.rs") && tree.has(""));
        assert!(!tree.has("doc") && !tree.has("docs/b.md"));
    }

    #[test]
    fn git_lists_this_very_file() {
        let tree = Tree::of_git().unwrap();
        assert!(tree.at("xtask/src/tidy/source.rs").is_some());
        assert!(tree.all().all(|file| !file.path.starts_with("target/")));
    }
}
