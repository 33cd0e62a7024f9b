//! Every Rust file opens with `//!` and a sentence, or with a page that is drawn in as its words.
//!
//! Guarantees: holds for tests, build scripts and examples too.
//! Does not: judge the sentence.

use super::finding::Finding;
use super::source::Tree;

const RULE: &str = "first-words";

/// Finds files that open with something else.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let silent = tree.ending(".rs").filter(|file| {
        let first = file.text.lines().next().unwrap_or_default();
        let sentence = first.strip_prefix("//!").is_some_and(|words| !words.trim().is_empty());
        !sentence && !first.starts_with("#![doc = include_str!(")
    });
    silent
        .map(|file| {
            let says = "the file does not say what it is; \
                        open it with `//!`, one plain sentence, what it guarantees and what not";
            Finding::broken(RULE, (&file.path, 1), says.to_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_does_not_say_what_it_is_fails() {
        let of = |text: &str| check(&Tree::sample(&[("build.rs", text)])).len();
        assert_eq!(of("//! The lease.\nfn a() {}"), 0);
        assert_eq!(of("#![doc = include_str!(\"../page.md\")]"), 0);
        assert_eq!(of("use std::fs;\n//! The lease."), 1);
        assert_eq!(of("//!\n//! The lease."), 1);
        assert_eq!(of(""), 1);
    }
}
